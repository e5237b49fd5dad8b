/* SPDX-License-Identifier: MIT */
/* What the files of the simplifier share. */
#ifndef KILN_IR_SIMPLIFY_PARTS_H
#define KILN_IR_SIMPLIFY_PARTS_H

#include "ir/fold.h"
#include "ir/simplify.h"

typedef __int128 Wide;             /* holds every sum and product of bounds that is made here */
#define WIDE_MOST ((Wide)1 << 120) /* as a bound: none */

enum {
    MOST_TERMS    = 16, /* of a form; a longer sum stays as it was written */
    MOST_OPERANDS = 8,  /* of nested min or max that are looked at together */
    MOST_STEPS    = 64, /* rewrites of one node */
    MOST_FACTS    = 32, /* the newest ones are tried in a proof */
    RANGE_STEPS   = 8,  /* replacements tried for the interval of a sum */
    PROOF_STEPS   = 40, /* replacements tried in a proof */
    RANGE_NESTED  = 8   /* intervals of sums sought within each other: a proof may make new sums without end */
};

/* lo <= value <= hi, and value = remainder modulo modulus (0: the value is the remainder; 1: nothing is known). */
typedef struct Known {
    Wide    lo, hi;
    int64_t modulus, remainder;
} Known;

typedef struct Term {
    const Expr *atom;
    int64_t     k;
} Term;

/* constant + sum of k * atom, atoms in expr_order, no k is 0. Two readings: with bits = n all numbers are modulo 2^n,
 * as their least residues; with bits = 0 they are integers, and adding fails where one grows too large. */
typedef struct Form {
    Wide constant;
    int  bits, count;
    Term terms[MOST_TERMS];
} Form;

/* A form has room for many terms and mostly few of them: only those are set and copied. */
static inline void form_clear(Form *f, int bits)
{
    f->constant = 0;
    f->bits     = bits;
    f->count    = 0;
}

static inline void form_copy(Form *to, const Form *from)
{
    to->constant = from->constant;
    to->bits     = from->bits;
    to->count    = from->count;
    for (int i = 0; i < from->count; i++)
        to->terms[i] = from->terms[i];
}

/* What is known of a variable. */
typedef struct Binding {
    const Expr *min, *max; /* NULL: not known. A let has both, the same */
    const Form *low,
        *high; /* these as forms in which no let is left: a chain of lets is one step of a proof. NULL: not known */
    const Expr *instead; /* constant or variable that stands in its place, or NULL */
    Known       known;
    int         level; /* deeper scopes have larger ones */
} Binding;

/* A condition that holds (or does not), and the form that is >= 0 for it. */
typedef struct Fact {
    const Expr *condition;
    bool        value, has_form;
    Form        form;
} Fact;

typedef struct Narrow {
    Wide lo, hi;
} Narrow;

/* A table set for the time of a scope: what was there before. */
typedef struct Undo {
    Map        *map;
    const void *key;
    const void *value;
} Undo;

typedef struct Scope {
    uint32_t epoch, known_epoch; /* of the scope around */
    size_t   answers;            /* logged when it was opened */
    size_t   facts, undos;       /* how many there were */
} Scope;

enum { PROOF_TRIED = 1, PROOF_FOUND = 2 };

/* What has been found out about a node, and what was before in the scopes around. */
typedef struct Answer Answer;
struct Answer {
    const Expr *result;
    Known      *known;
    uint32_t    epoch, known_epoch;
    uint8_t     proved; /* of a comparison: PROOF_ flags for always, and two bits higher for never */
    Answer     *before;
};

typedef struct RuleTable RuleTable;

struct Simplifier {
    ExprPool        *pool;
    Arena           *arena;
    RuleTable       *rules;
    SimplifierRange *ask; /* NULL: nobody */
    void            *ask_user;
    uint32_t epoch, last_epoch; /* answers of another epoch were made when less was known; and the newest ever */
    uint32_t known_epoch;       /* the same of intervals: facts that narrow no atom have no part in them */
    Map      bindings;          /* name -> Binding */
    Map      narrowed;          /* expression -> Narrow, from facts */
    VEC(Scope) scopes;
    VEC(Undo) undos;
    VEC(Fact) facts;
    Answer **answers; /* by expression id */
    size_t   answer_capacity;
    VEC(uint32_t) logged; /* ids whose newest answer was made in the scopes open now, in order */
    int     ranging;      /* intervals of sums that are being sought */
    Answer *unused;       /* answers of scopes that are gone, for new ones */
};

/* ---- simplify.c ---- */
Answer *answer_for(Simplifier *s, const Expr *e); /* under the present scope; valid until that is left */
/* An operator on simplified operands, simplified. */
const Expr *make_unary(Simplifier *s, ExprOp op, kn_type type, const Expr *a);
const Expr *make_binary(Simplifier *s, ExprOp op, kn_type type, const Expr *a, const Expr *b);
const Expr *simplify_top(Simplifier *s, const Expr *e);
const Expr *make_int(Simplifier *s, kn_type type, Wide v);

static inline bool is_integer(const Expr *e)
{
    return type_is_int((kn_type)e->type);
}
static inline Wide wide_min(Wide a, Wide b)
{
    return a < b ? a : b;
}
static inline Wide wide_max(Wide a, Wide b)
{
    return a > b ? a : b;
}

/* ---- ranges.c ---- */
Known              known_of(Simplifier *s, const Expr *e);
Known              known_type(kn_type t);
bool               known_fits(Known k, kn_type t);
int64_t            gcd(int64_t a, int64_t b);      /* not negative; gcd(0, 0) = 0 */
Wide               floor_div_wide(Wide a, Wide b); /* b > 0 */
static inline bool known_constant(Known k)
{
    return k.lo == k.hi;
}

/* ---- simplify_form.c ---- */
int expr_order(const Expr *a, const Expr *b); /* < 0: a comes first. A total order of the expressions of a pool */
/* The value of an integer expression modulo its type. */
void form_of(const Expr *e, Form *f);
/* Its value as an integer, if its interval shows which; else false and the form that is `e` as an atom. */
bool form_exact(Simplifier *s, const Expr *e, Form *f);
/* Adds to the constant the multiple of 2^bits that brings the form into the type, and reads it as integers; false if no
 * multiple is known to. */
bool form_fit(Simplifier *s, Form *f, kn_type type);
bool form_add_term(Form *f, const Expr *atom, int64_t k);              /* f += k * atom */
bool form_add(Form *f, const Form *g, int64_t k);                      /* f += k * g */
bool form_add_exact(Simplifier *s, Form *f, const Expr *e, int64_t k); /* f += k * e, as integers */
void form_without_lets(Simplifier *s, Form *f); /* each let replaced by what it stands for, as far as that is found */
const Form *form_of_end(Simplifier *s,
                        const Expr *e); /* an end of a binding, see there; lives as long as the simplifier */
bool        form_add_value(Form *f, const Expr *e, int64_t k); /* f += k * e, as f is read */
void        form_remove(Form *f, int i);
void        form_range(Simplifier *s, const Form *f, Wide *lo, Wide *hi);
const Expr *form_expr(Simplifier *s, const Form *f, kn_type type);

/* ---- simplify_prove.c ---- */
/* A number that the form (of integers) is never below; stops looking when it reaches `enough`. */
Wide form_lower(Simplifier *s, const Form *f, Wide enough);
/* a op b for LT, LE, EQ, NE on integers: 1 always, 0 never, -1 not known. */
int prove_compare(Simplifier *s, ExprOp op, const Expr *a, const Expr *b);
/* Is a <= b always? The half of prove_compare that the operands of min and max are asked. */
bool prove_at_most(Simplifier *s, const Expr *a, const Expr *b);
/* Does the fact that `given` holds (or does not) decide `asked`? 1, 0, -1 as above. Both are comparisons or any
 * conditions. */
int implied(Simplifier *s, const Expr *given, bool value, const Expr *asked);
/* The form that is >= 0 iff the comparison has that value: for LT and LE of integers. */
bool form_condition(Simplifier *s, const Expr *condition, bool value, Form *f);

/* ---- simplify_sum.c ---- */
/* k*min(a+d, b+d) - k*min(a, b) becomes k*d; likewise max. False: there is none (any more). */
bool form_cancel_extremes(Simplifier *s, Form *f);

/* ---- Steps on whole forms: each gives the node itself where it has nothing to say ---- */
const Expr *step_sum(Simplifier *s, const Expr *e); /* simplify_sum.c: + - * by constants, << by constants */
const Expr *step_product(Simplifier *s, const Expr *e);
const Expr *step_divide(Simplifier *s, const Expr *e); /* simplify_divide.c: / and % by positive constants */
const Expr *step_modulo(Simplifier *s, const Expr *e);
const Expr *step_extreme(Simplifier *s, const Expr *e); /* simplify_order.c: min and max */
const Expr *step_compare(Simplifier *s, const Expr *e);
const Expr *step_logic(Simplifier *s, const Expr *e); /* && and || of comparisons that imply each other */
const Expr *step_cast(Simplifier *s, const Expr *e);  /* simplify_cast.c */

/* ---- simplify_rules.c ---- */
RuleTable  *rules_read(Arena *arena, kn_context *cx);
const Expr *rules_apply(Simplifier *s, const Expr *e);
/* Is it free of memory, calls and whatever else a guard may protect? */
bool is_plain(ExprPool *pool, const Expr *e);

#endif
