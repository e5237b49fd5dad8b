/* A reader for the part of the language that the tests of the analysis need, so that they are tables of texts and depend on nothing above src/pipeline:
 *
 *     input in : u8(x, y)   param k : i32   output out
 *     f(x, y) = expression                        first: the pure definition
 *     f(x, r) = expression for r in a..b where c  later: updates
 *
 * with if-then-else, || && comparisons + - * / %, calls, casts, min max clamp abs floor and in.x.extent. A text must be right. */
#ifndef KILN_TESTS_TINY_H
#define KILN_TESTS_TINY_H

#include "pipeline/pipeline.h"

kn_pipeline *tiny_parse(kn_context *cx, const char *text);
/* Frees the pipeline (may be NULL) and its context. */
void tiny_free(kn_context *cx, kn_pipeline *p);

#endif
