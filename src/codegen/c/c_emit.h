/* The C backend: a program as the text of a C11 file that stands alone. */
#ifndef KILN_CODEGEN_C_C_EMIT_H
#define KILN_CODEGEN_C_C_EMIT_H

#include "codegen/backend.h"

/* The row `c` of the backends. What it emits is the text of NAME.c, which includes NAME.h: program->name is the
 * function in it, program->title is NAME. The program is flattened; mathematical functions may be there. */
CodegenEntry c_codegen;

#endif
