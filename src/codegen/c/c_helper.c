/* SPDX-License-Identifier: MIT */
/* Functions that a file gets because something in it calls them: which there are, and those of mathematics.
 *
 * exp, log, pow and the like have no other definition than their expansions (ir/math.h): each becomes a function of the
 * file, for scalars and for each number of lanes that it is called with. */
#include "codegen/c/c.h"
#include "ir/math.h"

#include <string.h>

/* The function's value over variables of the operands' types. */
static const Expr *expanded(CGen *g, const Expr *e, const char *const *names)
{
    const Expr *args[3];
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = expr_var(g->program->exprs, e->args[i]->type, intern(g->program->cx, names[i]));
    const Expr *body = math_expand(g->program->exprs, expr_rebuild(g->program->exprs, e, args));
    c_grow(g);
    return body;
}

const char *c_math(CGen *g, const Expr *e, int lanes)
{
    static const char *const names[] = { "a", "b", "c" };
    const char              *type = kn_type_name(e->type), *word = expr_op_table[e->op].text;
    const char *name = lanes ? c_print(g, "kn_%s_%sx%d", word, type, lanes) : c_print(g, "kn_%s_%s", word, type);
    if (!c_helper_new(g, name))
        return name;
    const uint32_t statement   = g->statement;
    const int      outer_lanes = g->lanes;
    const Expr    *body        = expanded(g, e, names);
    CFunction      f           = { 0 };
    Text           parameters;
    text_init(&parameters, g->arena);
    g->lanes = lanes;
    c_function_begin(g, &f);
    for (uint32_t i = 0; i < e->count; i++) {
        const kn_type t = e->args[i]->type;
        CValue        v = c_name_value(c_fresh(g, &f.used, names[i]), g->depth);
        v.shape         = lanes ? LANES : UNIFORM;
        c_bind(g, intern(g->program->cx, names[i]), t, v, c_type_range(t));
        text_printf(&parameters, "%s%s %s", i ? ", " : "", lanes ? c_vector_type(g, t, lanes) : c_type(t), names[i]);
    }
    c_statement(g);
    c_count(g, body);
    const CValue v = c_expr(g, body);
    c_line(g, "return %s;", lanes ? c_lanes(g, e->type, v) : c_full(g, v));
    const char *text = c_function_end(g);
    text_printf(lanes ? &g->lane_helpers : &g->helpers, "%s %s %s(%s)\n{\n%s}\n\n", lanes ? "KN_LANE" : "KN_INLINE",
                lanes ? c_vector_type(g, e->type, lanes) : c_type(e->type), name, text_string(&parameters), text);
    g->lanes     = outer_lanes;
    g->statement = statement;
    return name;
}
