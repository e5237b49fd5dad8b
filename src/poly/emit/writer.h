/* SPDX-License-Identifier: MIT */
/* Inside the writer of C text. */
#ifndef KILN_POLY_EMIT_WRITER_H
#define KILN_POLY_EMIT_WRITER_H

#include "poly/emit/emit.h"

#include <isl/ast.h>
#include <isl/ast_build.h>

/* A statement in the loops: what isl says of its instances when it makes the loops. */
typedef struct Instance {
    const TiledStatement *statement;
    int                   count, access_count;
    isl_ast_expr        **iterators; /* of the source's statement; of a copy: the element's coordinates */
    isl_ast_expr       ***scratch;   /* by access: subscripts of scratch, or NULL */
} Instance;

/* A name of isl's loops and the name for it in the text. */
typedef struct ShownName {
    const char *isl, *text;
} ShownName;

typedef struct Writer {
    const Tiled    *tiled;
    Arena          *arena;
    Text           *out;
    int             indent;
    bool            failed;           /* isl has given up, or made what is not expected */
    bool            parallel, vector; /* marks above the next loop */
    bool            in_parallel;
    bool            alone; /* what is written next is all that its block has: its names need no block of their own */
    bool            uses_min, uses_max, uses_floor;
    const Instance *instance; /* that is being written */
    VEC(Instance *) instances;
    VEC(ShownName) names; /* parameters, then the loops around */
} Writer;

/* ---- instances.c ---- */
isl_ast_node   *note_instance(isl_ast_node *node, isl_ast_build *build, void *writer); /* isl calls it for each */
const Instance *instance_of(isl_ast_node *node);
void            free_instances(Writer *w);

/* ---- ast_text.c ---- */
/* isl's expression as C; `around`: how tightly the operator around it binds, 0 for none. */
const char *ast_string(Writer *w, isl_ast_expr *e, int around);

#endif
