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
    isl_ast_expr ***scratch; /* by access: subscripts of scratch, or NULL; one that is NULL is as the source has it */
} Instance;

/* A name of isl's loops and the name for it in the text. */
typedef struct ShownName {
    const char *isl, *text;
} ShownName;

/* A mark and the depth of the loop that it is about, in the schedule. isl drops loops of one iteration: a mark holds
 * for the loop of its own depth, never for one further in. */
typedef struct LoopMark {
    const char *name;
    int         depth;
} LoopMark;

/* A place in the loops that has tiles: which ones. */
typedef struct TilePlace {
    int      group; /* Scratch.tile */
    isl_set *tiles;
} TilePlace;

typedef VEC(const CSymbol *) PrivateList;

typedef struct Writer {
    const Tiled    *tiled;
    Arena          *arena;
    Text           *out;
    int             indent;
    bool            failed; /* isl has given up, or made what is not expected */
    bool            in_parallel;
    bool            alone; /* what is written next is all that its block has: its names need no block of their own */
    bool            uses_min, uses_max, uses_floor, uses_stream;
    isl_ast_node   *around;          /* the body of the loop around, or NULL */
    const Instance *instance;        /* that is being written */
    const Instance *streamed;        /* whose values go past the caches, or NULL */
    const char     *streamed_target; /* what it assigns to instead */
    VEC(Instance *) instances;
    VEC(ShownName) names;   /* parameters, then the loops around */
    VEC(LoopMark) marks;    /* while isl makes the loops: the marks around, the innermost last */
    const char    *prefix;  /* of each line */
    const char    *integer; /* the type of bounds */
    struct Device *device;  /* of text for a device: cuda.h */
    VEC(TilePlace) places;
} Writer;

/* ---- lines.c ---- */
void begin_line(Writer *w);
void line(Writer *w, const char *text);
void open_block(Writer *w, const char *header);
void close_block(Writer *w);

/* ---- emit_c.c: what texts for other targets share ---- */
/* isl's loops, with each statement's instances and each loop's marks noted. NULL: isl has given up. */
isl_ast_node *make_loops(Writer *w);
void          write_node(Writer *w, isl_ast_node *node);
/* A leaf of a statement's expression (ExprHooks); a statement that copies. */
bool print_leaf(void *writer, Text *out, const CExpr *e, bool subscript);
void copy_statement(Writer *w, const Instance *n);
/* The loop's name in the text: the source's iterator that its variable is, or isl's name. */
const char *loop_name(Writer *w, const char *variable, isl_ast_node *body);
/* A loop's end: its text, or a name for it that is declared here. */
const char *bound(Writer *w, isl_ast_expr *e, const char *variable, const char *what);
void        loop_body(Writer *w, const char *variable, const char *name, isl_ast_node *body);
/* A loop: its one value as a constant, or by `counted`. */
typedef void CountedLoop(Writer *w, isl_ast_node *node, const char *variable, const char *name, isl_ast_node *body);
void         loop_node(Writer *w, isl_ast_node *node, CountedLoop *counted);
void         if_node(Writer *w, isl_ast_node *node);
/* The variables that each iteration of the loop has for itself: those that it writes. One that it only reads was set
 * outside. false: one that it writes is also accessed beside it, in the loop around it; the iterations then cannot have
 * it for themselves. */
bool private_symbols(const Writer *w, isl_ast_node *body, PrivateList *own);
/* Does a statement of the tile have something in that scratch? */
bool scratch_used(isl_ast_node *tile, const Scratch *s);
/* Is the array itself accessed by the tiled program? */
bool is_accessed(const Tiled *t, const CSymbol *array);
void widen_parameters(Writer *w);
void define_macros(Writer *w, Text *out);

/* ---- cuda_kernel.c ---- */
/* Writes what a device needs otherwise; false: nothing, write it as for a processor. */
bool device_node(Writer *w, isl_ast_node *node);

/* ---- instances.c ---- */
isl_ast_node   *note_instance(isl_ast_node *node, isl_ast_build *build, void *writer); /* isl calls it for each */
const Instance *instance_of(isl_ast_node *node);
void            free_instances(Writer *w); /* and places */

/* ---- marks.c ---- */
/* The schedule with marks that know their depth. Takes it. */
isl_schedule *number_marks(Writer *w, isl_schedule *schedule);
/* isl calls these while it makes the loops. */
isl_stat      mark_begins(isl_id *mark, isl_ast_build *build, void *writer);
isl_ast_node *mark_ends(isl_ast_node *node, isl_ast_build *build, void *writer);
isl_ast_node *loop_ends(isl_ast_node *loop, isl_ast_build *build, void *writer);
/* Has the loop that mark? */
bool loop_is(isl_ast_node *loop, const char *mark);

/* ---- alias.c ---- */
/* What must hold so that no two arrays overlap of which one is written; NULL: the source says so. */
const char *disjoint_condition(Writer *w);
/* All elements of the array that the region accesses. */
isl_set *accessed(const Scop *scop, const CSymbol *array);
/* A value over the parameters as text. Takes it. */
const char *end_text(Writer *w, isl_pw_aff *end);

/* ---- stream.c ---- */
/* A loop, as text, and the statement whose values go past the caches. */
typedef struct StreamLoop {
    const Instance *streamed;
    const char     *name, *first, *last, *privates;
    bool            less; /* `last` is one more */
} StreamLoop;

/* The statement of the loop whose values are to be stored past the caches, or NULL. */
const Instance *streamed(Writer *w, isl_ast_node *loop, const char *variable, isl_ast_node *body);
/* The name of a piece's first iteration; what stands before and behind the body; `start`: the element it writes. */
const char *stream_from(Writer *w, const StreamLoop *loop);
void        stream_begins(Writer *w, const StreamLoop *loop, const char *start);
void        stream_ends(Writer *w, const StreamLoop *loop, const char *start);
void        define_stream(const Writer *w, Text *out);

/* ---- ast_text.c ---- */
/* isl's expression as C; `around`: how tightly the operator around it binds, 0 for none. */
const char *ast_string(Writer *w, isl_ast_expr *e, int around);

#endif
