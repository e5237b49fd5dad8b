/* SPDX-License-Identifier: MIT */
/* A program with its arguments, as check.c and check_schedule.c run it. */
#ifndef KILN_TESTS_FUZZ_CASES_H
#define KILN_TESTS_FUZZ_CASES_H

#include "check.h"
#include "number.h"

enum { MOST_PORTS = 32, MOST_POINTS = 60000, GAP = 0xA5 };

/* Memory that is counted, and fails when told to. */
typedef struct MemoryUse {
    int64_t live, count;
    int64_t fail_at; /* the number of the allocation that fails; -1: none */
} MemoryUse;

kn_context *context_with(MemoryUse *m);

/* What stands in the comments. */
typedef struct Slot {
    char     kind[8], name[32]; /* "input", "param" or "output" */
    uint64_t number;            /* an input's seed, a parameter's value */
    int      rank;
    kn_dim   dim[KN_MAX_RANK];
} Slot;

typedef struct Case {
    Slot     slots[MOST_PORTS];
    int      count;
    uint64_t layout; /* of the buffers in memory: grid_allocate's; "//@ layout 7", else 0 */
} Case;

Case read_comments(const char *text);
/* The slot of a port; of best.1 it is that of best. */
const Slot *find_slot(const Case *c, const char *port);
Slot       *change_slot(Case *c, const char *port); /* the same one, to be changed */

/* A buffer with memory of its own, between pages that nobody may touch. */
typedef struct Grid {
    kn_buffer      b;
    unsigned char *block;
    size_t         size;
    void          *mapped;
    size_t         mapped_size;
} Grid;

uint64_t mix(uint64_t v);
/* Sets strides and memory by mins and extents: dense, or (layout not 0) in another order, with gaps, some backwards. A
 * box without points has no memory, or (layout odd) some that must not be touched. */
void    grid_allocate(Grid *g, uint64_t layout);
void    grid_free(Grid *g);
int64_t grid_points(const kn_buffer *b);
double  region_points(const kn_region *regions, int count); /* of all of them */
/* The coordinates of the n-th point, x fastest. */
void           grid_point(const kn_buffer *b, int64_t n, int64_t *at);
unsigned char *grid_at(const kn_buffer *b, const int64_t *at);

typedef struct Run {
    MemoryUse   *memory;
    kn_context  *cx;
    kn_pipeline *p;
    kn_module   *m;
    int          count;
    Grid         grid[MOST_PORTS]; /* by port; none for parameters */
    kn_arg       args[MOST_PORTS];
    Report      *report;
} Run;

/* Reads and compiles; r->m is NULL if that was refused. */
void run_begin(Run *r, MemoryUse *memory, Report *report, const char *text);
void run_free_grids(Run *r);
void run_end(Run *r);
/* Sets the shape of every argument; inputs are `margin` larger on every side than the comment says. */
bool      run_shape(Run *r, const Case *c, int margin);
void      run_allocate(Run *r, const Case *c, uint64_t layout);
kn_status run_go(Run *r);
bool      is_output(const Run *r, int i);
/* Finds shapes that suffice, and are not too large. */
Verdict find_shape(Run *r, const Case *c, int *margin);

__attribute__((format(printf, 3, 4))) Verdict fail(Report *r, const char *kind, const char *format, ...);
/* Where `part` has a point, `whole` has the same value. */
Verdict compare(const Run *part, const Run *whole, const char *kind);
/* What a refusal of a call that should have gone well means. */
Verdict judge(Report *report, kn_context *cx, kn_status status, const char *kind);

#endif
