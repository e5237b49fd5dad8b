/* SPDX-License-Identifier: MIT */
/* What the parts of the generator of schedules share: schedule_loops.c (the loops of a definition), schedule_gpu.c
 * (which of them are a kernel's) and generate_schedule.c (where functions are computed and stored). */
#ifndef KILN_TESTS_FUZZ_SCHEDULE_DRAFT_H
#define KILN_TESTS_FUZZ_SCHEDULE_DRAFT_H

#include "gen.h"
#include "generate_schedule.h"

enum { MOST_LOOPS = 14, MOST_CHAIN = 60, NAME_SIZE = 24, CARELESS = 2 /* percent */, MOST_BOUND = 80 };

typedef struct Loop {
    char    name[NAME_SIZE];
    bool    is_reduction;
    bool    stays_inside; /* over points of which steps read others: inside all reduction loops */
    bool    is_parallel, is_vector, is_block, is_thread;
    bool    is_closed; /* followed by loops without a name: nothing is computed inside */
    int64_t extent;    /* where it is known; else 0 */
} Loop;

/* One definition and its loops, outermost first. */
typedef struct Def Def;
struct Def {
    const Func   *func;   /* of a copy: what it copies */
    const char   *name;   /* "f", "f.stage" */
    const Update *update; /* NULL: the pure one */
    int           index;  /* -1: the pure one */
    Loop          loops[MOST_LOOPS];
    int           count;
    bool          is_known;     /* the order of the loops */
    bool          other_points; /* it reads itself at other points of some free variables: they stay inside */
    bool          combines;     /* it is f(…) = f(…) op e, and reads itself nowhere else */
    bool          has_vector;   /* one of its loops, or a part of one, is a vector */
    bool          is_changed;   /* loops are not those of its variables any more */
    bool          is_open;      /* functions may be computed in its loops */
    bool is_plain; /* its directives are those between these places of the text, and make the same loops of another with
                      its arguments */
    size_t     begin, end;
    const Def *with; /* its loops down to `shared` are those of that one */
    int        shared;
};

/* A loop of a definition, on the way from the root inwards. */
typedef struct Link {
    const Def  *def;
    const Loop *loop;
} Link;

typedef struct Chain {
    Link at[MOST_CHAIN];
    int  count;
} Chain;

/* One function. */
typedef struct Draft {
    const Func *func;
    Def        *defs;    /* 1 + update_count */
    Chain       place;   /* the loops around where it is computed; of an inlined one, around all that read it */
    Chain       readers; /* the loops around all that read it */
    bool        is_read, is_output, is_inlined;
    bool        is_with;       /* it runs in the loops of another */
    bool        is_silent;     /* nothing is said of it */
    bool        is_prefetched; /* it is to be stored, and read as it is */
    Def        *copy;          /* f.stage, which one of its readers reads in its place; NULL: there is none */
    char        copy_name[40];
} Draft;

/* How often, in percent, a schedule does what. */
typedef struct Style {
    const char *name;
    uint8_t     silent;            /* a function is not spoken of */
    uint8_t     beside;            /* computed where another is that it can be computed with */
    uint8_t     inlines, at, deep; /* else inlined; computed in a loop; of these, in the innermost one possible */
    uint8_t     stores, outermost, folds; /* stored outside that; of these, as far out as possible; folded */
    uint8_t     copies;                   /* of those that can be: stage */
    uint8_t     rare;                     /* each of: specialize, bound, align_bounds, prefetch, store_in, … */
    uint8_t     loops;                    /* a definition has other loops than its variables */
    uint8_t     reductions;               /* rfactor, separate, atomic, of what they are for */
} Style;

typedef struct Scheduler {
    Gen          g;
    kn_pipeline *p;
    const Reach *reach; /* by function id, as are: */
    Draft       *drafts;
    const Style *style;
    int          numbered;
    const char
        *owner; /* the chain of directives that is being written: its function, its update, and if it has begun */
    int  update;
    bool is_begun;
    bool gpu;            /* for a device */
    const Chain *around; /* the loops around the definition whose loops are chosen; NULL: none */
} Scheduler;

/* ---- Writing chains of directives ---- */

/* What follows is about this definition: "f", its update or -1. */
void speak_of(Scheduler *s, const char *name, int update);
/* .name( of the definition spoken of */
void directive(Scheduler *s, const char *name);
void end_chain(Scheduler *s);

/* ---- Definitions ---- */

void begin_def(Scheduler *s, Def *d, const Func *f, int index);
/* f.stage: a pure definition with the arguments of f, that reads f. */
void begin_copy(Def *d, const Func *f, const char *name);
/* Does the definition read g in what is computed at each point, or (bounds) in the bounds of its loops? */
bool def_reads(Scheduler *s, const Def *d, const Func *g, bool bounds);
/* Its loops: split, fused, in another order, vectors, parallel …; rfactor, separate, double, specialize, prefetch. */
void schedule_loops(Scheduler *s, Def *d);

int some_factor(Gen *g);

/* ---- schedule_gpu.c: kernels ---- */

/* Is there a loop over threads, or else one of any kernel? */
bool is_inside(const Chain *c, bool thread);
/* Where to compute instead of at `depth`, so that a constant bounds what is stored in a kernel, rather; or outside
 * kernels. */
int depth_in_kernel(Scheduler *s, const Chain *c, int depth, int deepest, bool on_host);
/* The depth of the innermost thread loop, where what is computed in a loop inside it is to be stored: then its window
 * marches along in registers. 0: not this time. */
int depth_of_march(Scheduler *s, const Chain *c, int deepest);
/* For what is stored inside the first `depth` of these loops. */
const char *some_memory(Scheduler *s, const Chain *c, int depth);
/* Loops over blocks and threads, of what is not inside threads; `steps`: also those of the reduction. */
void share_loops(Scheduler *s, Def *d, bool steps);

/* By the style: does something rare happen? */
bool rarely(Scheduler *s);

#endif
