/* SPDX-License-Identifier: MIT */
/* Conversions between integer types, of values whose interval is known.
 *
 * A conversion to a type that holds the interval does not change the number, so it moves inside sums, where index
 * arithmetic in i64 meets the terms it can be added to: i64(x + 3) = i64(x) + 3. */
#include "ir/simplify_parts.h"

/* cast(k*a + … + c) = k*cast(a) + … + c for index types: to i64 of a sum that did not wrap; to i32 always, and done
 * where every term is an i32 itself. */
static const Expr *distributed(Simplifier *s, const Expr *e)
{
    const Expr   *a     = e->args[0];
    const kn_type type  = (kn_type)e->type;
    const bool    widen = type == KN_I64 && a->type == KN_I32, narrow = type == KN_I32 && a->type == KN_I64;
    Form          f, sum                                              = { .bits = type_bits(type) };
    if (!widen && !narrow)
        return e;
    if (narrow)
        form_of(a, &f);
    if ((widen && !form_exact(s, a, &f)) || (f.count == 1 && f.terms[0].atom == a))
        return e;
    for (int i = 0; i < f.count; i++) {
        const Expr *atom = f.terms[i].atom;
        if (narrow && (atom->op != EX_CAST || atom->args[0]->type != KN_I32))
            return e;
        if (!form_add_value(&sum, make_unary(s, EX_CAST, type, atom), f.terms[i].k))
            return e;
    }
    f.count = 0;
    return form_add(&sum, &f, 1) ? form_expr(s, &sum, type) : e;
}

/* T(U(x)) = T(x) where U(x) is x, or T takes no more bits than U has. */
static const Expr *chained(Simplifier *s, const Expr *e)
{
    const Expr   *inner = e->args[0], *x = inner->args[0];
    const kn_type to = (kn_type)e->type, over = (kn_type)inner->type, from = (kn_type)x->type;
    if (inner->op != EX_CAST || !type_is_int(over) || from == KN_BOOL || type_is_float(from) || to == KN_BOOL)
        return e;
    const bool kept = known_fits(known_of(s, x), over);
    if (!kept && (!type_is_int(to) || type_bits(to) > type_bits(over)))
        return e;
    return make_unary(s, EX_CAST, to, x);
}

const Expr *step_cast(Simplifier *s, const Expr *e)
{
    const Expr   *a  = e->args[0];
    const kn_type to = (kn_type)e->type, from = (kn_type)a->type;
    if (to == from)
        return a;
    if (e->op == EX_SAT_CAST)
        return type_is_int(to) && type_is_int(from) && known_fits(known_of(s, a), to) ? make_unary(s, EX_CAST, to, a)
                                                                                      : e;
    if (a->op == EX_CAST) {
        const Expr *r = chained(s, e);
        if (r != e)
            return r;
    }
    return type_is_int(to) && type_is_int(from) ? distributed(s, e) : e;
}
