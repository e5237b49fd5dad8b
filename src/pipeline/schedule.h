/* The directives of schedules: their names and the shape of their arguments. */
#ifndef KILN_PIPELINE_SCHEDULE_H
#define KILN_PIPELINE_SCHEDULE_H

#include "pipeline/pipeline.h"

/* One letter per argument:
 *     v  a loop variable that exists        n  a new loop variable          d  an argument of the function (storage)
 *     i  a positive integer                 e  any integer expression (known sizes, inputs, parameters)
 *     f  a function                         l  a loop of the function named just before
 *     c  a condition                        m  a memory: stack, heap, register
 *  '*' after a letter: one or more; '?' after a letter: may be left out. */
typedef struct DirectiveInfo {
    const char *name;
    const char *shape;
    bool        tail;     /* takes `tail: …` */
    bool        whole;    /* of the function as a whole: not of an update */
    bool        consumes; /* its `v`s are gone afterwards */
} DirectiveInfo;

extern const DirectiveInfo directive_table[];
extern const int           directive_count;
extern const char *const   tail_names[]; /* NULL at the end */
extern const char *const   memory_names[];

const DirectiveInfo *directive_find(const char *name);

/* ".split(x, xo, xi, 8)" */
void directive_print(Text *out, const Directive *d);

#endif
