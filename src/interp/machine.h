/* The machine that runs lowered code (execute.h): values in lanes, code for the expressions of one statement, and
 * memory that knows of every element who touched it.
 *
 * Outside vector loops there is one lane. A vector loop of n iterations in a place that has w lanes has w*n of them,
 * its own fastest; what was bound or allocated where there were fewer lanes is found by dividing. */
#ifndef KILN_INTERP_MACHINE_H
#define KILN_INTERP_MACHINE_H

#include "interp/call_c.h"
#include "interp/execute.h"
#include "interp/formula.h"

/* One value per lane. `bad`: it depends on memory that was never written. */
typedef struct Value {
    Lane    *lane;
    uint8_t *bad;
} Value;

/* A variable. */
typedef struct Slot {
    int   width;
    Value value;
} Slot;

/* What is known of one element of memory. */
typedef struct Shadow {
    uint8_t  exists;         /* false between the elements of a port with gaps */
    uint8_t  defined;        /* has a value that is one */
    uint8_t  atomic;         /* the last store was atomic */
    uint8_t  definitions;    /* who stored to it: bit 0 the pure definition, then the updates, modulo 8 */
    uint32_t writer, reader; /* the last strands that did */
    uint32_t event;          /* the store statement, numbered as executed, that wrote it last */
} Shadow;

/* The elements low .. high of a buffer, as one lane sees it. */
typedef struct Room {
    char   *data; /* of index 0 */
    int64_t low, high;
    Shadow *shadow; /* of index low */
} Room;

typedef struct Store {
    const Buffer *buffer;
    BufferCounts *counts;
    int           width;
    Room         *rooms; /* NULL where the buffer is not allocated */
} Store;

/* Iterations of parallel loops form a tree: strand 0 is the function, each iteration a child of the strand that met the
 * loop. Two strands may run at the same time iff they descend from different iterations of one execution of a loop. */
typedef struct Strand {
    uint32_t parent, loop; /* loop: numbers the executions of parallel loops, from 1 */
} Strand;

typedef struct Code Code;

typedef struct Machine {
    kn_context      *cx;
    Program         *program;
    Arena            arena;
    Store           *stores; /* by Buffer.id */
    Map              slots;  /* name -> Slot, of what is bound here */
    const kn_scalar *params;
    ExecuteCounts   *counts;
    VEC(Strand) strands;
    uint32_t          strand, loop_count, event;
    bool              in_atomic;
    Formula          *formulas[EX_COUNT][KN_TYPE_COUNT]; /* of the mathematical functions that were met */
    DefinitionCounts *producing;
    int64_t           bytes; /* allocated now */
} Machine;

/* Ends the run. */
__attribute__((noreturn, format(printf, 2, 3))) void machine_mistake(Machine *m, const char *format, ...);

/* Values of `width` lanes, in the machine's arena. */
Value value_new(Machine *m, int width);

/* ---- code.c: expressions ---- */

/* Code for the expressions of one statement, in a place of `width` lanes. Each node is computed once, operands
 * first. */
Code *code_new(Machine *m, int width);
/* The value that `e` has after code_run; it stays where it is. */
Value code_add(Machine *m, Code *code, const Expr *e);
/* Computes all of it. Memory is read in the lanes that are active; what lies in the others means nothing. */
void code_run(Machine *m, const Code *code, const uint8_t *active);

/* ---- memory.c ---- */

/* The port's buffer, and which of its elements exist. */
void room_of_port(Machine *m, Room *room, const kn_buffer *b, bool is_output);
/* `count` elements of garbage, in an arena of their own. */
void room_allocate(Arena *arena, Room *room, kn_type type, int64_t count);

/* The room of a store that lane `lane` of `width` uses. */
static inline Room *store_room(const Store *s, int lane, int width)
{
    return &s->rooms[width == s->width ? lane : lane / (width / s->width)];
}

Lane memory_load(Machine *m, const Store *s, int lane, int width, int64_t index, uint8_t *bad);
/* The value that was loaded is used: it must not be what another strand changes. */
void memory_watch(Machine *m, const Store *s, int lane, int width, int64_t index);
void memory_store(Machine *m, const Store *s, int lane, int width, int64_t index, Lane v, bool bad);

#endif
