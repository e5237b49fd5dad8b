/* A draft: a schedule as the schedulers think of it. They all fill this one form; from it come the text, the prediction
 * and the explanation.
 *
 * The nodes are parted into groups. A group has a head, whose loops run over all of it, and members that are read
 * inside the group only. A member is inlined, or is computed inside one of the head's loops and stored inside the same
 * one (an overlapped tile, or a row at a time) or one further out (a sliding window: Sioutas et al. 2019, section 3;
 * the parallelogram tiles of Jangda and Bondhugula 2020, section 5.2). A head is computed at root. So a sliding window
 * in strips, overlapped tiles of any number of dimensions, two levels of tiles and plain rows are all the same form
 * with other numbers.
 *
 * Micro choices (micro_kernels.c makes them for all schedulers; all zero is a member with the loops of the default
 * schedule, inside the head's): nest        a member may have loops of its own, reduction variables among them: a tile
 * of a sum in registers, with the loops over its steps outside at          a member may be computed inside the loops of
 * another member instead of the head's: inside the steps of a sum, or beside the vectors of a row memory      a node
 * may lie in memory in another order of dimensions, so that what is read as a vector is dense copies      a node or an
 * input may be copied in the order of its use for one reader, as a whole or for each piece prefetched     a large input
 * may be asked for some rows before they are read */
#ifndef KILN_SCHEDULERS_DRAFT_H
#define KILN_SCHEDULERS_DRAFT_H

#include "schedulers/graph.h"
#include "schedulers/machine.h"

enum { MOST_GROUP_LOOPS = 2 * KN_MAX_RANK + 2 };

/* A loop of a head, or of a member's nest. The loops of one dimension d, from the outside: each runs in steps of its
 * `step` over the step of the one before; the last has step 1, or is the vector loop with as many lanes. The place of
 * the vector loop is that of the loop over vectors: the lanes are innermost, inside all that comes after. */
typedef struct GroupLoop {
    int dim; /* in a nest also STEP_DIM + i: reduction variable i of the main definition; its last loop may be unrolled
                if its steps are a constant few */
    int64_t step;
    bool    parallel, vector, unroll;
    bool    fused; /* the vector loop: one loop runs over it and the loop before it, which is the faster one: of a pure
                      definition, both whole dimensions and the last loops */
} GroupLoop;

enum { STEP_DIM = KN_MAX_RANK, CHAIN_ROWS = 8 /* that a link of a chain keeps */ };

/* The loops of a member's main definition (draft_main), outermost first; its pure definition has the same ones without
 * those over steps, other updates those of the default schedule. A nest without loops over steps has them inside all
 * others but copies; draft_legalize writes them out. Never changed once a choice points to it, so that copies of drafts
 * can share it. */
typedef struct MemberNest {
    int       count;
    GroupLoop loops[MOST_GROUP_LOOPS];
} MemberNest;

typedef enum Where {
    WHERE_ROOT,
    WHERE_INLINE,
    WHERE_INSIDE,
    WHERE_DEFAULT /* left to the compiler: a reduction beside the loop of its one reader */
} Where;

typedef struct Choice {
    Where where;
    int   group;          /* its group; of an inlined node too */
    int   compute, store; /* WHERE_INSIDE: loops of the head, store <= compute (0 is outermost); or of a member: */
    int   at; /* WHERE_INSIDE: 0: loops of the head; else 1 + the member, of the same group and with a nest, whose loops
                 `compute` and `store` are */
    int lanes;        /* of its vector loop, along its first dimension; 0: the default's. Without a nest only */
    int align;        /* > 1: what is computed of it along its first dimension begins and ends at multiples of this
                         (align_bounds) */
    int  shares_with; /* WHERE_INSIDE: 1 + the member whose loops it shares (compute_with: shared_loops.h); 0: none */
    bool chain; /* WHERE_INSIDE with a nest: computed inside the outermost loop of its one reader, which is of the chain
                   too, or the head; kept where `store` says (choose_chains.c) */
    const MemberNest *nest;   /* WHERE_INSIDE: its own loops; NULL: the default's */
    const int        *memory; /* its dimensions in memory, innermost first; NULL: as they are. Not of outputs */
} Choice;

/* A copy of node `of` (an input, or at root) that the main definition of `reader` reads in its place. */
typedef struct StagedCopy {
    int of, reader;
    int compute; /* the loop of the head of the reader's group in which it is made, as much as that iteration needs; -1:
                    at root, before the group */
    int        lanes;  /* along the first dimension in memory */
    const int *memory; /* as above; its loops are nested in that order too */
} StagedCopy;

typedef struct Group {
    int       head;
    int       loop_count; /* 0: the loops are left to the compiler */
    GroupLoop loops[MOST_GROUP_LOOPS];
    bool      stream;        /* its output goes past the cache */
    int       prefetched;    /* 1 + the node outside the group that is prefetched ahead; 0: none */
    int       prefetch_loop; /* … as much as the iteration of this loop needs that comes so many later: */
    int       ahead;
} Group;

/* Adds a loop inside those there are. Gives its index. */
static inline int group_add_loop(Group *gr, int dim, int64_t step, bool parallel, bool vector)
{
    gr->loops[gr->loop_count] = (GroupLoop){ .dim = dim, .step = step, .parallel = parallel, .vector = vector };
    return gr->loop_count++;
}

typedef struct Draft {
    const Graph            *graph;
    const struct FuncFacts *facts;       /* per node: def_facts.h */
    int                     vector_bits; /* of the machine it is for: the default's lanes */
    int                     group_count;
    Group                  *groups;  /* has room for one per node */
    Choice                 *choices; /* per node */
    int                     copy_count;
    const StagedCopy       *copies;
    struct Pattern         *patterns; /* per node: pattern.h */
} Draft;

/* Every node by itself: inlined where that costs nothing, else at root with the loops of the default schedule. The
 * start of all schedulers. */
Draft draft_plain(const Graph *g, const Machine *m, Arena *arena);

/* A draft of its own: changing or legalizing the copy leaves `d` as it is. What no draft changes once it is made
 * (nests, orders in memory, the list of copies) is shared. */
Draft draft_copy(const Draft *d, Arena *arena);

/* The definition of a head that its loops are of: -1 the pure one, else the update with the most work; NO_DEF where
 * nothing can be inside its loops (no dimensions, a scan, a scatter, C code). */
enum { NO_DEF = -2 };
int draft_main(const Draft *d, int s);

/* The node whose loops the level of a member (WHERE_INSIDE) counts. */
int draft_loop_owner(const Draft *d, int s);
/* The loop of the head inside which a member is computed, by itself or by way of its hosts. */
int draft_head_level(const Draft *d, int s);

/* May node s be inlined at all (no output, nothing that C code reads, updates of few steps only)? The default's and
 * the schedulers' question whether it should is another one. */
bool draft_may_inline(const Draft *d, int s);

/* May node s be inside loops of the head of that group at all (no extern stage, no scan or scatter of which parts
 * would have to be computed again, all its readers in the group …), so that the schedule is legal? Readers that are
 * inlined stand for those that they are inlined into. */
bool draft_may_join(const Draft *d, int s, int group);

/* The one node whose pure definition reads s, through what is inlined; -1: there is none. */
int draft_chain_reader(const Draft *d, int s);
/* Can node s be a link of a chain of stencils, as far as its readers decide it? */
bool draft_may_chain(const Draft *d, int s);

/* The micro choices that all schedulers share (micro_kernels.c), for every group and member. Schedulers call it before
 * draft_legalize. */
void draft_choose_micro_kernels(Draft *d, const Machine *m);

/* Makes legal what is not: what may not be inlined or inside is at root, levels enclose all readers, storage is inside
 * every parallel loop, loops have the kinds that they can have. Schedulers end with it, so that what is predicted is
 * what is run. */
void draft_legalize(Draft *d);

/* The lanes of a node's vector loops where none are said: a register full of its narrowest type, or of places in a
 * small table; four of its widest at most. */
int draft_lanes(const Draft *d, int s);

/* Elements whose multiple a row of a member has in memory: rows that are kept, or are read in windows, begin at a cache
 * line each. 1: any number. */
int64_t draft_row_unit(const Draft *d, int s);

/* Is a node at root best written past the cache: because nobody reads it again, and it is larger than what the
 * second caches keep? Rows that do not begin at lines never are: most of their stores would go the usual way, and
 * their ends are parts of lines. */
bool draft_streams(const Draft *d, int s, const Machine *m);

/* The name of the loop around the rows of a pure node that is at root or inside: what a row needs can be computed
 * there. *level: which of its loops that is, if the draft says them. NULL: there is none. */
int         draft_row_level(const GroupLoop *loops, int count); /* of these loops; -1: there is none */
const char *draft_row_loop(Arena *arena, const Draft *d, int s, int *level);

/* The draft, legalized, as the text of a schedule, with a comment per group. kn_schedule_parse and plan_make accept it:
 * what a draft can say is legal by construction. */
void draft_print(Text *out, const Draft *d);

#endif
