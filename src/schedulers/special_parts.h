/* What the files of special forms have in common: a row per form, and facts of definitions that only they ask for. */
#ifndef KILN_SCHEDULERS_SPECIAL_PARTS_H
#define KILN_SCHEDULERS_SPECIAL_PARTS_H

#include "schedulers/defs.h"
#include "schedulers/special.h"

enum { MOST_LOOP_NAMES = 4 * KN_MAX_RANK };

/* Names of loops that a form makes, none of them an argument's, a reduction variable's, or given before. */
typedef struct LoopNames {
    Arena      *arena;
    const char *taken[MOST_LOOP_NAMES];
    int         count;
} LoopNames;

LoopNames   loop_names(Arena *arena, const Func *f, int update);
const char *loop_name(LoopNames *n, const char *base, const char *suffix);

/* May the steps of the first update be taken in any order, and have its reduction variables bounds that are over
 * nothing but sizes and parameters? */
bool update_combines(const Draft *d, int s);
/* Does the expression hold the variable? */
bool expr_is_over(ExprPool *pool, const Expr *e, const char *var);
/* Is there no function of this name followed by this? */
bool name_is_free(const kn_pipeline *p, const char *name, const char *suffix);
/* Lanes that fill a register with what the stage stores. */
int stored_lanes(const Draft *d, int s);

/* Does a row of steps of the one update of s read rows of the stage p, so that a copy of it can be computed for the
 * row? */
bool feeds_rows(const Draft *d, int p, int s);

bool parts_apply(const Draft *d, int s);
void parts_begin(Draft *d, int s, const Machine *m);
void parts_print(Text *out, const Draft *d, int s);

bool scan_apply(const Draft *d, int s);
void scan_begin(Draft *d, int s, const Machine *m);
void scan_finish(Draft *d, int s);
/* Drops the host, the order in memory and the enclosing scan that it cannot have where it is. */
void scan_settle(Draft *d, int s);
void scan_print(Text *out, const Draft *d, int s);
/* Is its text printed with that of the scan it is within? */
bool scan_is_within(const Draft *d, int s);

bool   separate_apply(const Draft *d, int s);
void   separate_begin(Draft *d, int s, const Machine *m);
void   separate_print(Text *out, const Draft *d, int s);
double separate_share(const Draft *d, int s);

bool cells_apply(const Draft *d, int s);
void cells_begin(Draft *d, int s, const Machine *m);
void cells_finish(Draft *d, int s);
void cells_print(Text *out, const Draft *d, int s);

bool host_apply(const Draft *d, int s);
void host_print(Text *out, const Draft *d, int s);

#endif
