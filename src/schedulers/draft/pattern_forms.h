/* SPDX-License-Identifier: MIT */
/* The patterns one by one, for their table and for the rules that choose them; and facts of definitions that only they
 * need. */
#ifndef KILN_SCHEDULERS_PATTERN_FORMS_H
#define KILN_SCHEDULERS_PATTERN_FORMS_H

#include "schedulers/graph/def_facts.h"
#include "schedulers/draft/nest_text.h"
#include "schedulers/draft/pattern.h"

/* May the steps of the first update be taken in any order, and have its reduction variables bounds that are over
 * nothing but sizes and parameters? */
bool update_combines(const Draft *d, int s);
/* Does the expression contain the variable? */
bool expr_is_over(ExprPool *pool, const Expr *e, const char *var);
/* Is there no function with this name and suffix? */
bool name_is_free(const kn_pipeline *p, const char *name, const char *suffix);
/* Lanes that fill a register with the node's stored type. */
int stored_lanes(const Draft *d, int s);

/* Does a row of steps of the one update of s read rows of node p, so that a copy of p can be computed for the row? */
bool feeds_rows(const Draft *d, int p, int s);

bool privatize_applies(const Draft *d, int s);
void privatize_print(Text *out, const Draft *d, int s);

/* Has it the pattern, and can that be, wherever it is computed? */
bool scan_has_pattern(const Draft *d, int s);
/* The dimensions that some update scans; those of a strip besides `across`; and those that have loops outside. */
uint32_t scan_dims(const Draft *d, int s);
uint32_t scan_inner_dims(const Draft *d, int s);
uint32_t scan_outer_dims(const Draft *d, int s);
/* The one node that reads it; -1: there are several, or none. */
int scan_only_reader(const Draft *d, int s);
/* Does the reader, also a scan in strips, read s at its own point along all its outer dimensions? */
bool scan_read_at_own_outer_point(const Draft *d, int s, int reader);
/* Is nothing but the scan inside the loops of the group? */
bool scan_is_alone(const Draft *d, int group, int scan);
bool scan_applies(const Draft *d, int s);
/* Drops the scan reader, the memory order and the enclosing scan that it cannot have where it is. */
void scan_legalize(Draft *d, int s);
void scan_print(Text *out, const Draft *d, int s);
/* Is its text printed with that of its enclosing scan? */
bool scan_is_nested(const Draft *d, int s);

/* Is it a sum that can be separated along that reduction variable? */
bool   separate_is_legal(const Draft *d, int s, int rvar);
bool   separate_applies(const Draft *d, int s);
void   separate_print(Text *out, const Draft *d, int s);
double separate_work_share(const Draft *d, int s);

/* The dimensions of a grid. */
typedef struct GridDims {
    int  rank;
    int  order[KN_MAX_RANK]; /* in memory, innermost first: bins, few planes, cells; fused: planes before bins */
    int  bins, few;          /* how many are bins, and few planes */
    bool fused;              /* one of each: one loop runs over both */
} GridDims;
/* The dimensions of a scatter with one update. */
GridDims grid_dims(const GraphNode *node);
/* The i-th dimension of planes, and of bins, in memory order. */
int grid_plane_dim(const GridDims *c, int i);
int grid_bin_dim(const GridDims *c, int i);
/* Vectors along the bins, or along bins and planes: as long as they fit. */
int64_t grid_lanes(const Draft *d, int s, const GridDims *c);
bool    grid_applies(const Draft *d, int s);
void    grid_print(Text *out, const Draft *d, int s);

bool scan_reader_applies(const Draft *d, int s);
void scan_reader_print(Text *out, const Draft *d, int s);

#endif
