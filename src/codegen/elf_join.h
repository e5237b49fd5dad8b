/* SPDX-License-Identifier: MIT */
/* Joining objects into one. */
#ifndef KILN_CODEGEN_ELF_JOIN_H
#define KILN_CODEGEN_ELF_JOIN_H

#include "codegen/backend.h"

/* One relocatable ELF object of several, malloc's; false if one of them is none, or there is no memory. */
bool elf_join(const Emitted *objects, int count, Emitted *out);

#endif
