/* SPDX-License-Identifier: MIT */
/* A draft: a schedule as data. Every scheduler fills this form; the text, the prediction and the explanation come from
 * it.
 *
 * Nodes are partitioned into groups. A group has a head, whose loops run over all of it, and members, which only the
 * group reads. The head is computed at root. A member is inlined, or is computed inside a loop of the head and stored
 * there or at a loop further out:
 *
 *     compute = store     an overlapped tile, or a row at a time
 *     store outside       a sliding window (Sioutas et al. 2019, section 3; the parallelogram tiles of Jangda and
 *                         Bondhugula 2020, section 5.2)
 *
 * Sliding windows in strips, overlapped tiles of any rank, two levels of tiles and plain rows are this form with other
 * numbers.
 *
 * Micro kernels (rules/rules.h: chosen the same way for all schedulers). All zero: the loops of the default schedule.
 *
 *     nest        a member has its own loops, over reduction variables too: a register tile of sums with the loops over
 *                 steps outside
 *     at          a member is computed inside the loops of another member: inside the steps of a sum, or next to the
 *                 vectors of a row
 *     memory      a node has another order of dimensions in memory, so that vectors are dense
 *     copies      a node or an input is copied into its order of use for one reader, whole or tile by tile
 *     prefetched  rows of a large input are prefetched some iterations ahead */
#ifndef KILN_SCHEDULERS_DRAFT_H
#define KILN_SCHEDULERS_DRAFT_H

#include "schedulers/graph/graph.h"

enum { MOST_GROUP_LOOPS = 2 * KN_MAX_RANK + 2 };

/* A loop of a head, or of a member's nest. The loops of one dimension, outermost first: each strip-mines the step of
 * the one before. The last has step 1, or is the vector loop, whose step is its lanes. The index of the vector loop is
 * that of the loop over vectors; the lanes are innermost, inside all later loops. */
typedef struct GroupLoop {
    int dim; /* in a nest also STEP_DIM + i: reduction variable i of the main definition; its last loop may be unrolled
                if its trip count is a small constant */
    int64_t step;
    bool    parallel, vector, unroll;
    bool given; /* in a nest, of the last loop, over steps: there is a version for the values that parameters have now,
                   and in it the loop is unrolled (given_steps.h) */
    bool fused; /* vector loop only: fused with the loop before it, which is the faster one. Of pure definitions; both
                   are whole dimensions and the last loops */
} GroupLoop;

enum { STEP_DIM = KN_MAX_RANK };

/* The loops of a member's main definition (draft_main), outermost first. Its pure definition has the same ones without
 * those over steps; other updates have those of the default schedule. A nest without loops over steps has them inside
 * all others but unrolled ones; draft_legalize adds them. It is immutable and made once (draft_nest), so that drafts
 * share it. */
typedef struct MemberNest {
    int       count;
    GroupLoop loops[MOST_GROUP_LOOPS];
} MemberNest;

typedef enum Where {
    WHERE_ROOT,
    WHERE_INLINE,
    WHERE_INSIDE,
    WHERE_DEFAULT /* left to the compiler: a reduction next to the loop of its one reader */
} Where;

typedef struct Choice {
    Where where;
    int   group;          /* its group, also where it is inlined */
    int   compute, store; /* WHERE_INSIDE: loops, 0 is outermost, store <= compute */
    int at; /* WHERE_INSIDE: whose loops `compute` and `store` count. 0: the head's; else 1 + a member of the same group
               that has a nest */
    int lanes; /* of its vector loop, along its first dimension; 0: the default's. Only without a nest */
    int align; /* > 1: the computed range along its first dimension begins and ends at multiples of this (align_bounds)
                */
    int  shares_with; /* WHERE_INSIDE: 1 + the member whose loops it shares (compute_with: shared_loops.h); 0: none */
    bool chain; /* WHERE_INSIDE with a nest: computed inside the outermost loop of its one reader, which is in the chain
                   too or is the head; stored where `store` says (micro_chains.c) */
    const MemberNest *nest;   /* WHERE_INSIDE: its own loops; NULL: the default's */
    const int        *memory; /* its dimensions in memory, innermost first; NULL: the declared order. Not of outputs */
    int time_size, time_dim, time_update; /* > 0: this update's steps in diamonds of that size along that dimension */
    int time_piece;                       /* > 0: diamonds in pieces of that size, along the next dimension inside */
    int time_slope; /* coordinates that its reads are away, for each step: a diamond has time_size / time_slope steps */
} Choice;

/* A copy of node `of` (an input, or at root) that the main definition of `reader` reads instead. */
typedef struct StagedCopy {
    int of, reader;
    int compute;       /* the loop of the head of the reader's group in which it is made, with the footprint of that
                          iteration; -1: at root, before the group */
    int        lanes;  /* along the first dimension in memory */
    const int *memory; /* as in Choice; its loops are nested in that order too */
} StagedCopy;

typedef struct Group {
    int       head;
    int       loop_count; /* 0: the loops are left to the compiler */
    GroupLoop loops[MOST_GROUP_LOOPS];
    bool      stream;        /* its output is written by streaming stores */
    int       prefetched;    /* 1 + the node outside the group that is prefetched; 0: none */
    int       prefetch_loop; /* the footprint of the iteration of this loop that comes `ahead` iterations later */
    int       ahead;
    double    prefetches; /* prefetch instructions for each vector of the head */
} Group;

/* Adds an innermost loop. Gives its index. */
static inline int group_add_loop(Group *gr, int dim, int64_t step, bool parallel, bool vector)
{
    gr->loops[gr->loop_count] = (GroupLoop){ .dim = dim, .step = step, .parallel = parallel, .vector = vector };
    return gr->loop_count++;
}

/* The rules; rules/rules.h has a row for each. */
typedef enum RuleId {
    RULE_PRIVATIZE,
    RULE_SCANS,
    RULE_SEPARATE,
    RULE_GRIDS,
    RULE_SCAN_READERS,
    RULE_GRID_READERS,
    RULE_REGISTER_TILES,
    RULE_STEP_PRODUCERS,
    RULE_ROW_BLOCKS,
    RULE_SUMS_BY_VECTORS,
    RULE_ALIGNED_ROWS,
    RULE_CHAINS,
    RULE_ROW_WINDOWS,
    RULE_MEMBER_ROWS,
    RULE_CHANNELS,
    RULE_PREFETCH,
    RULE_TIME_TILES,
    RULE_GIVEN_STEPS,
    RULE_SHARED_LOOPS,
    RULE_SLICES,
    RULE_ROW_COPIES,
    RULE_STREAMS,
    RULE_DOUBLE,
    RULE_IDS
} RuleId;

/* What has become of a rule in a draft. */
typedef struct RuleUse {
    int    applied, refused; /* places: groups or functions */
    double without, with;    /* predicted ns of the groups that it changes, where it was refused last */
} RuleUse;

typedef struct Draft {
    const Graph            *graph;
    const struct FuncFacts *facts;       /* per node: def_facts.h */
    int                     vector_bits; /* of the target machine: decides the default lanes */
    int                     datapath;    /* bits of a vector that it computes at a time */
    int                     group_count;
    Group                  *groups;  /* has room for one per node */
    Choice                 *choices; /* per node */
    int                     copy_count;
    const StagedCopy       *copies;
    struct Pattern         *patterns; /* per node: pattern.h */
    struct Nests           *nests;    /* that choices point to */
    uint32_t                without;  /* 1 << RuleId: rules that are left out */
    RuleUse                 uses[RULE_IDS];
} Draft;

static inline bool draft_has_rule(const Draft *d, RuleId rule)
{
    return !(d->without >> rule & 1);
}

/* A copy that can be changed without changing `d`. Immutable parts (nests, memory orders, the list of copies) are
 * shared. */
Draft draft_copy(const Draft *d, Arena *arena);
/* Makes `d` what `from` is, a draft of the same graph, in its own memory. */
void draft_assign(Draft *d, const Draft *from);
/* Do the drafts say the same? What rules have become does not count. */
bool draft_same(const Draft *a, const Draft *b);
/* Do they say the same of node s and of the loops of its group? Copies do not count. */
bool draft_same_node(const Draft *a, const Draft *b, int s);

/* No nests yet. */
struct Nests *draft_nests(Arena *arena);
/* The nest equal to `n` that choices may point to. */
const MemberNest *draft_nest(const Draft *d, const MemberNest *n);

/* The definition of a head that its loops are of: -1 the pure one, else the update with the most work. NO_DEF: nothing
 * can be inside its loops (no dimensions, a scan, a scatter, C code). */
enum { NO_DEF = -2 };
int draft_main(const Draft *d, int s);

/* The node whose loops `compute` and `store` of a member (WHERE_INSIDE) count. */
int draft_loop_owner(const Draft *d, int s);
/* Is a node computed inside the loops of the group's head? */
bool draft_has_members(const Draft *d, int group);
/* The loop of the head inside which a member is computed, directly or through the owners of its loops. */
int draft_head_level(const Draft *d, int s);

/* May node s be inlined (no output, not read by C code, updates of few steps only)? Whether it should be is the
 * schedulers' question. */
bool draft_may_inline(const Draft *d, int s);

/* May node s be inside loops of the head of that group, so that the schedule is legal: no extern stage, no scan or
 * scatter that would be computed in part again, all its readers in the group? An inlined reader stands for its own
 * readers. */
bool draft_may_join(const Draft *d, int s, int group);

/* The one node whose pure definition reads s, directly or through inlined nodes; -1: there is none. */
int draft_chain_reader(const Draft *d, int s);
/* Can node s be in a chain of stencils, as far as its readers decide it? */
bool draft_may_chain(const Draft *d, int s);

/* Makes the draft legal. What may not be inlined or inside goes to root, levels move out to enclose all readers,
 * storage moves inside every parallel loop, loops lose kinds that they cannot have. Schedulers end with it, so that
 * what is predicted is what runs. */
void draft_legalize(Draft *d);

/* The default lanes of a node's vector loops: a register full of its narrowest type, or of indices into a small table,
 * but at most four registers of its widest type. */
int draft_lanes(const Draft *d, int s);

/* The row pitch of a member is a multiple of this many elements. Rows that are stored over iterations, or read as
 * windows, are padded to cache lines. 1: no padding. */
int64_t draft_row_unit(const Draft *d, int s);

/* The name of the loop around the rows of a pure node at root or inside; what a row needs can be computed there.
 * *level: its index, if the draft has the loops. NULL: there is none. */
int         draft_row_level(const GroupLoop *loops, int count); /* the index among these loops; -1: there is none */
const char *draft_row_loop(Arena *arena, const Draft *d, int s, int *level);

/* A legalized draft as the text of a schedule, with a comment per group. kn_schedule_parse and plan_make accept it:
 * every draft is legal by construction. */
void draft_print(Text *out, const Draft *d);

#endif
