/* The C backend: a program as the text of a C11 file that stands alone. */
#ifndef KILN_CODEGEN_C_C_EMIT_H
#define KILN_CODEGEN_C_C_EMIT_H

#include "ir/stmt.h"

/* The text of NAME.c, which includes NAME.h: program->name is the function in it, program->title is NAME. The program
 * is flattened; mathematical functions may be there. In the arena. Bails out of the context where the program is none
 * that lowering makes. */
const char *c_emit(const Program *program, Arena *arena);

#endif
