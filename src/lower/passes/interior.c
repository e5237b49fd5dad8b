/* SPDX-License-Identifier: MIT */
/* Interior blocks: what guards and clamps of a kernel test is the same for all points of most blocks.
 *
 * Takes   kernels.
 * Gives   the code of a block twice: without the guards and clamps that hold for all its points, where one test of the
 *         block shows that they do, and as it was. Of a minimum or maximum the operand that varies in the kernel is
 *         taken, of a guard the side where it holds.
 * Holds   a guard a <= b is worth a test if b - a is a linear form. In the test each variable of a loop inside the
 *         block is replaced by the end of its range that makes the form least: so it holds for all iterations. The
 *         test is made of what all threads of a block have in common. A guard that fails in every block where ports
 *         begin at 0 stays. Where unrolled copies have a guard that the last iteration of the loop around them alone
 *         may not meet, that iteration follows the loop, with its guards. So does the first before it.
 *         The test is for outputs with as many channels as unrolled copies, too (channels.c).
 * Whole   blocks at the border of an input have all their points inside the output. Where guards make the number of
 *         iterations of loops over registers vary they have a version of their own, with the clamps of reads and
 *         without guards: so sizes are constants, and indices of registers with them.
 * From    the idea of Ragan-Kelley et al. 2013, section 4.5 (loop partitioning), for blocks. */
#include "lower/bounds/index_expr.h"
#include "lower/passes/pass_tools.h"

enum { MOST_CONDITIONS = 24, MOST_NAMES = 1024, MOST_REMAINDERS = 4096 };

/* A name that is bound in the block. */
typedef struct InnerName {
    const char *name;
    const Expr *value;     /* of a let, without names of lets; NULL: of a loop */
    const Expr *min, *max; /* of a loop, likewise */
    bool        copied;    /* of an unrolled loop */
} InnerName;

/* What a test of the block shows. */
typedef struct BlockTest {
    const Expr *forms[MOST_CONDITIONS]; /* that must not be negative */
    int         count;
    int         decisions; /* guards and clamps that follow from it */
} BlockTest;

typedef struct InteriorPass {
    Lower      *lw;
    Simplifier *known;
    InnerName   names[MOST_NAMES];
    int         name_count;
    int         grid; /* of them, the first are variables of block loops */
    BlockTest   test;
    bool        full;
    bool        whole;                  /* what reads of ports are clamped to stays */
    Map         kept;                   /* the nodes of their indices */
    const char *host_names[MOST_NAMES]; /* lets of the host around the kernel */
    const Expr *host_values[MOST_NAMES];
    int         host_count;
} InteriorPass;

static const Stmt *inside(void *user, const Stmt *s);

/* ---- Forms -------------------------------------------------------------------------------------- */

static const Expr *open_node(void *user, const Expr *e)
{
    const InteriorPass *p = user;
    for (int i = p->name_count; e->op == EX_VAR && i-- > 0;)
        if (p->names[i].name == e->u.name)
            return p->names[i].value ? p->names[i].value : e;
    return e;
}

/* The expression without names of lets. */
static const Expr *opened(InteriorPass *p, const Expr *e)
{
    return simplify(p->known, expr_rewrite(p->lw->exprs, e, open_node, p));
}

typedef struct Contents {
    const InteriorPass *pass;
    int                 from; /* names from here on count */
    bool                names, memory;
} Contents;

static void find_contents(const Expr *e, void *user)
{
    Contents *c = user;
    for (int i = c->from; e->op == EX_VAR && i < c->pass->name_count; i++)
        c->names |= c->pass->names[i].name == e->u.name;
    c->memory |= e->op == EX_LOAD || e->op == EX_EXTERN;
}

static Contents contents(InteriorPass *p, const Expr *e, int from)
{
    Contents c = { .pass = p, .from = from };
    expr_visit(p->lw->exprs, e, find_contents, &c);
    return c;
}

/* Does it vary in the kernel, by what is known from its variables? */
static bool varies(InteriorPass *p, const Expr *e)
{
    const Contents c = contents(p, e, 0);
    return c.names && !c.memory;
}

/* Do 32 bits hold both numbers and their difference, far from where they wrap? */
static bool is_tame(InteriorPass *p, const Expr *a, const Expr *b)
{
    const int64_t most = INT32_MAX - (1 << 24);
    int64_t       lo[2], hi[2];
    simplifier_bounds(p->known, a, &lo[0], &hi[0]);
    simplifier_bounds(p->known, b, &lo[1], &hi[1]);
    return -most < lo[0] && hi[0] < most && -most < lo[1] && hi[1] < most && hi[1] - lo[0] < most &&
           hi[0] - lo[1] < most;
}

/* The coefficient of a variable in an opened form: false where the form is not linear in it. */
static bool coefficient(InteriorPass *p, const Expr *form, const char *name, int64_t *out)
{
    Linear linear;
    *out = 0;
    if (!expr_linear(p->lw->arena, form, &linear))
        return false;
    for (int i = 0; i < linear.count; i++) {
        const Expr *atom = linear.atoms[i];
        if (atom->op == EX_VAR && atom->u.name == name)
            *out = linear.coefficients[i];
        else if (expr_has_variable(p->lw->exprs, atom, name))
            return false;
    }
    return true;
}

/* The least value of an opened form over all iterations of the loops in the block; NULL: it is not linear. */
static const Expr *least(InteriorPass *p, const Expr *form)
{
    for (int i = p->name_count - 1; i >= p->grid; i--) {
        const InnerName *n = &p->names[i];
        int64_t          c;
        if (n->value)
            continue;
        if (!coefficient(p, form, n->name, &c))
            return NULL;
        if (c)
            form = opened(p, expr_substitute(p->lw->exprs, form, 1, &n->name, c > 0 ? &n->min : &n->max));
    }
    const Contents c = contents(p, form, p->grid);
    return c.names || c.memory ? NULL : form;
}

/* ---- Deciding ------------------------------------------------------------------------------------ */

/* Adds `form >= 0` to the test. Of forms that differ by a constant the least says it for all. */
static bool require(InteriorPass *p, const Expr *form)
{
    int     i = 0;
    int64_t more;
    while (i < p->test.count && !expr_difference(form, p->test.forms[i], &more))
        i++;
    if (i == MOST_CONDITIONS)
        return false;
    if (i == p->test.count || more < 0)
        p->test.forms[i] = form;
    p->test.count = i == p->test.count ? i + 1 : p->test.count;
    p->test.decisions++;
    return true;
}

/* The form where ports begin at coordinate 0, as most do. */
static const Expr *at_zero(InteriorPass *p, const Expr *form)
{
    Lower         *lw      = p->lw;
    const Program *program = lw->program;
    for (size_t i = 0; i < program->buffers.count; i++)
        for (int d = 0; program->buffers.at[i]->kind != BUFFER_SCRATCH && d < program->buffers.at[i]->rank; d++) {
            const char *min  = intern(lw->cx, arena_printf(lw->arena, "%s.min.%d", program->buffers.at[i]->name, d));
            const Expr *zero = x_int(lw, 0);
            form             = expr_substitute(lw->exprs, form, 1, &min, &zero);
        }
    return simplify(p->known, form);
}

/* Does `form >= 0` fail in every block where ports begin at 0? So it is with a guard for the one column more that a
 * coarser level needs where a tile does not begin at a multiple of its stride. */
static bool never_holds(InteriorPass *p, const Expr *form)
{
    int64_t value;
    return !contents(p, form, 0).names && expr_is_int(at_zero(p, form), &value) && value < 0;
}

/* Does it hold for few remainders, as 1 - size % 32? So it is in the first iteration of a scan whose chunks begin
 * elsewhere. */
static bool seldom_holds(InteriorPass *p, const Expr *form)
{
    int64_t least, most;
    simplifier_bounds(p->known, at_zero(p, form), &least, &most);
    return -MOST_REMAINDERS < least && most < MOST_REMAINDERS && least + most < 0;
}

/* Takes a <= b for granted; then a test of the block shows that it holds. False: no test does. */
static bool decide(InteriorPass *p, const Expr *a, const Expr *b)
{
    Lower *lw = p->lw;
    if (a->type != KN_I32 || p->full || !is_tame(p, opened(p, a), opened(p, b)))
        return false;
    const Expr *form = least(p, opened(p, expr_binary(lw->exprs, EX_SUB, KN_I32, b, a)));
    int64_t     constant;
    if (!form)
        return false;
    if (expr_is_int(form, &constant)) {
        p->test.decisions += constant >= 0;
        return constant >= 0;
    }
    return !never_holds(p, form) && require(p, form);
}

/* Does an opened form grow with the variables of the kernel (1), or shrink (-1)? 0: neither, or not known. */
static int direction(InteriorPass *p, const Expr *form)
{
    Linear linear;
    bool   up = false, down = false;
    if (!expr_linear(p->lw->arena, form, &linear))
        return 0;
    for (int i = 0; i < linear.count; i++)
        if (contents(p, linear.atoms[i], 0).names) {
            up |= linear.coefficients[i] > 0;
            down |= linear.coefficients[i] < 0;
        }
    return up - down;
}

/* Which operand of a minimum or maximum the interior has: a coordinate, which grows with the variables of the kernel,
 * before its bound; a bound, such as the size of a whole tile, before what is left of the image, which shrinks with
 * them. A coordinate with a least value may go either way, as that of a scan backward. -1: not known. */
static int interior_operand(InteriorPass *p, ExprOp op, const Expr *a, const Expr *b)
{
    const bool first = varies(p, a), second = varies(p, b);
    if (first == second || contents(p, a, 0).memory || contents(p, b, 0).memory)
        return -1;
    const Expr *bound = second ? a : b;
    int64_t     zero;
    if (bound->op == EX_MAX && expr_is_int(bound->args[1], &zero) && !zero) /* where a piece shifted inward begins */
        return -1;
    if (op == EX_MAX)
        return second;
    const int way = direction(p, second ? b : a);
    return !way ? -1 : (way > 0) == second;
}

/* Is a <= b in all iterations of all blocks where ports begin at 0? */
static bool always_holds(InteriorPass *p, const Expr *a, const Expr *b)
{
    const Expr *form = least(p, opened(p, expr_binary(p->lw->exprs, EX_SUB, KN_I32, b, a)));
    int64_t     lo   = -1, hi;
    if (form)
        simplifier_bounds(p->known, at_zero(p, form), &lo, &hi);
    return lo >= 0;
}

static const Expr *decide_extreme(InteriorPass *p, const Expr *e)
{
    const int kept = interior_operand(p, (ExprOp)e->op, opened(p, e->args[0]), opened(p, e->args[1]));
    if (kept < 0)
        return e;
    const Expr *it = e->args[kept], *other = e->args[!kept];
    if (always_holds(p, e->op == EX_MIN ? other : it, e->op == EX_MIN ? it : other)) { /* the other one */
        other = it;
        it    = e->args[!kept];
    }
    return decide(p, e->op == EX_MIN ? it : other, e->op == EX_MIN ? other : it) ? it : e;
}

/* Is the comparison decided, so that it holds? */
static bool decide_comparison(InteriorPass *p, const Expr *e)
{
    Lower *lw = p->lw;
    if ((e->op != EX_LE && e->op != EX_LT) || e->args[0]->type != KN_I32 ||
        !(varies(p, opened(p, e->args[0])) || varies(p, opened(p, e->args[1]))))
        return false;
    return decide(p, e->op == EX_LT ? x_add(lw, e->args[0], x_int(lw, 1)) : e->args[0], e->args[1]);
}

static void keep_node(const Expr *e, void *user)
{
    InteriorPass *p = user;
    map_set(&p->kept, e, e);
}

static void keep_index(const Expr *e, void *user)
{
    InteriorPass *p = user;
    if (e->op == EX_LOAD && e->u.buffer->kind != BUFFER_SCRATCH)
        expr_visit(p->lw->exprs, e->args[0], keep_node, p);
}

static const Expr *inside_node(void *user, const Expr *e)
{
    InteriorPass *p = user;
    if (p->whole && map_get(&p->kept, e))
        return e;
    if ((e->op == EX_MIN || e->op == EX_MAX) && e->type == KN_I32)
        return decide_extreme(p, e);
    return decide_comparison(p, e) ? expr_int(p->lw->exprs, KN_BOOL, 1) : e;
}

/* The unrolled loop whose variable the condition of a choice bounds by a constant, `*most`; -1: it is another
 * condition. In each copy the choice is made when the code is, and the other side is not evaluated. */
static int bounded_loop(const InteriorPass *p, const Expr *e, int64_t *most)
{
    int64_t     first;
    const Expr *c = e->op == EX_SELECT ? e->args[0] : NULL;
    if (!c || (c->op != EX_LE && c->op != EX_LT) || c->args[0]->op != EX_VAR || !expr_is_int(c->args[1], most))
        return -1;
    int i = p->name_count - 1;
    while (i >= p->grid && (p->names[i].value || p->names[i].name != c->args[0]->u.name))
        i--;
    *most -= c->op == EX_LT;
    return i >= p->grid && p->names[i].copied && expr_is_int(p->names[i].min, &first) ? i : -1;
}

typedef struct ChoiceSearch {
    const InteriorPass *pass;
    bool                found;
} ChoiceSearch;

static void find_choice(const Expr *e, void *user)
{
    ChoiceSearch *s = user;
    int64_t       most;
    s->found |= bounded_loop(s->pass, e, &most) >= 0;
}

static bool has_choice(InteriorPass *p, const Expr *e)
{
    ChoiceSearch s = { p, false };
    expr_visit(p->lw->exprs, e, find_choice, &s);
    return s.found;
}

/* An expression with choices like `if c < 3 then in(x, y, c) else 1`: where c < 3, its index need not be clamped. */
static const Expr *inside_choices(InteriorPass *p, const Expr *e, Map *done)
{
    ExprPool   *pool   = p->lw->exprs;
    const Expr *result = map_get(done, e);
    if (result || !e->count)
        return result ? result : e;
    const Expr **args = ARENA_ARRAY(p->lw->arena, const Expr *, e->count);
    int64_t      most;
    const int    loop = bounded_loop(p, e, &most);
    for (uint32_t i = 0; i < e->count; i++)
        if (loop < 0 || i != 1)
            args[i] = inside_choices(p, e->args[i], done);
    if (loop >= 0) {
        const InnerName whole = p->names[loop];
        Map             narrow;
        map_init(&narrow, p->lw->arena);
        p->names[loop].max = opened(p, x_min(p->lw, whole.max, x_int(p->lw, most)));
        args[1]            = inside_choices(p, e->args[1], &narrow);
        p->names[loop]     = whole;
    }
    result = inside_node(p, expr_rebuild(pool, e, args));
    map_set(done, e, result);
    return result;
}

static const Expr *inside_expr(void *user, const Expr *e)
{
    InteriorPass *p = user;
    Map           done;
    if (e && p->whole)
        expr_visit(p->lw->exprs, e, keep_index, p);
    if (!e || !has_choice(p, e))
        return e ? expr_rewrite(p->lw->exprs, e, inside_node, p) : NULL;
    map_init(&done, p->lw->arena);
    return inside_choices(p, e, &done);
}

/* ---- Code of the interior -------------------------------------------------------------------------- */

static void push_name(InteriorPass *p, InnerName name)
{
    if (p->name_count < MOST_NAMES)
        p->names[p->name_count++] = name;
    p->full |= p->name_count == MOST_NAMES;
}

/* The body of a loop for the iterations up to `end`, of those up to `last`. */
static const Stmt *inside_body(InteriorPass *p, const Stmt *s, const Expr *first, const Expr *last, const Expr *end)
{
    push_name(p, (InnerName){ .name = s->loop.name, .min = first, .max = end, .copied = s->loop.kind == LOOP_UNROLL });
    simplifier_push_range(p->known, s->loop.name, first, last);
    const Stmt *body = inside(p, s->loop.body);
    simplifier_pop(p->known);
    p->name_count--;
    return body;
}

/* Does the test show that `form` is not negative? */
static bool has_test(const BlockTest *test, const Expr *form)
{
    int64_t more;
    bool    found = false;
    for (int i = 0; i < test->count && !found; i++)
        found = expr_difference(form, test->forms[i], &more) && more >= 0;
    return found;
}

/* The tests of `all` that `some` does not have: NULL if there are none. */
static const Expr *further_tests(InteriorPass *p, const BlockTest *all, const BlockTest *some)
{
    const Expr *test = NULL;
    for (int i = 0; i < all->count; i++) {
        if (!has_test(some, all->forms[i]))
            test = x_and(p->lw, test, simplify(p->known, x_le(p->lw, x_int(p->lw, 0), all->forms[i])));
    }
    return test;
}

/* The loop with its last iteration apart, unless the test shows that it is as the others; NULL test: it never is. */
static const Stmt *last_apart(InteriorPass *p, const Stmt *s, const Expr *min, const Expr *extent, const Expr *test,
                              const Stmt *body)
{
    Lower      *lw    = p->lw;
    const char *name  = intern(lw->cx, arena_printf(lw->arena, "%s.whole", s->loop.name));
    const Expr *whole = x_var(lw, name), *but_one = x_max(lw, x_sub(lw, extent, x_int(lw, 1)), x_int(lw, 0));
    const Stmt *parts[] = {
        stmt_for(lw->arena, s->loop.name, LOOP_SERIAL, min, whole, body),
        stmt_if(lw->arena, x_op(lw, EX_LT, whole, extent),
                stmt_let(lw->arena, s->loop.name, x_add(lw, min, whole), s->loop.body), NULL),
    };
    return stmt_let(lw->arena, name, test ? expr_ternary(lw->exprs, EX_SELECT, KN_I32, test, extent, but_one) : but_one,
                    stmt_block(lw->arena, 2, parts));
}

static const Stmt *inside_loop(InteriorPass *p, const Stmt *s, bool peeled);

/* The loop with its first iteration before it, with its guards, if they hold in all others and seldom in it; else
 * NULL. */
static const Stmt *first_apart(InteriorPass *p, const Stmt *s, const Expr *first, const Expr *last,
                               const BlockTest *before)
{
    Lower          *lw   = p->lw;
    const BlockTest all  = p->test;
    const Expr     *one  = x_int(lw, 1);
    bool            more = false;
    p->test              = *before;
    inside_body(p, s, opened(p, x_add(lw, first, one)), last, last);
    for (int i = 0; i < all.count && !p->full; i++)
        more |= !has_test(&p->test, all.forms[i]) && seldom_holds(p, all.forms[i]);
    p->test            = *before;
    const Stmt *others = stmt_for(lw->arena, s->loop.name, s->loop.kind, x_add(lw, s->loop.min, one),
                                  x_sub(lw, s->loop.extent, one), s->loop.body);
    const Stmt *rest   = more ? inside_loop(p, others, true) : NULL;
    if (!rest)
        p->test = all;
    return rest ? stmt_pair(lw->arena,
                            stmt_if(lw->arena, x_le(lw, one, s->loop.extent),
                                    stmt_let(lw->arena, s->loop.name, s->loop.min, s->loop.body), NULL),
                            rest)
                : NULL;
}

static const Stmt *inside_loop(InteriorPass *p, const Stmt *s, bool peeled)
{
    Lower          *lw  = p->lw;
    const Expr     *min = inside_expr(p, s->loop.min), *extent = inside_expr(p, s->loop.extent);
    const Expr     *first = opened(p, min);
    const Expr     *last  = opened(p, x_sub(lw, x_add(lw, first, extent), x_int(lw, 1)));
    int64_t         constant;
    const BlockTest before = p->test;
    const Stmt     *body   = inside_body(p, s, first, last, last);
    const bool      apart =
        body && s->loop.kind == LOOP_SERIAL && !expr_is_int(extent, &constant) && has_unrolled(p->known, body);
    const Stmt *rest = apart && !peeled ? first_apart(p, s, first, last, &before) : NULL;
    if (rest)
        return rest;
    if (apart) {
        const BlockTest all = p->test;
        p->test             = before;
        const Stmt *most    = inside_body(p, s, first, last, opened(p, x_sub(lw, last, x_int(lw, 1))));
        const Expr *test    = further_tests(p, &all, &p->test);
        const bool  same    = all.decisions == p->test.decisions;
        if (most && !p->full && (test || !same))
            return last_apart(p, s, min, extent, same ? test : NULL, most);
        p->test = all;
    }
    return body ? stmt_for(lw->arena, s->loop.name, s->loop.kind, min, extent, body) : NULL;
}

static const Stmt *inside_let(InteriorPass *p, const Stmt *s)
{
    const Expr *value = inside_expr(p, s->let.value);
    push_name(p, (InnerName){ .name = s->let.name, .value = opened(p, value) });
    const Stmt *body = inside(p, s->let.body);
    p->name_count--;
    return body ? stmt_let(p->lw->arena, s->let.name, value, body) : NULL;
}

static const Stmt *inside(void *user, const Stmt *s)
{
    InteriorPass *p = user;
    const StmtMap m = { p->lw->arena, inside, inside_expr, p };
    if (s->kind == STMT_LET)
        return inside_let(p, s);
    return s->kind == STMT_FOR && s->loop.min->type == KN_I32 ? inside_loop(p, s, false) : stmt_map(&m, s);
}

/* ---- Kernels --------------------------------------------------------------------------------------- */

/* The code of a block where a test of it holds, else `other`. */
static const Stmt *version(InteriorPass *p, const Stmt *s, bool whole, const Stmt *other)
{
    const HostLets host  = { p->host_names, p->host_values, p->host_count };
    const Expr    *all   = NULL;
    const Stmt    *known = with_channels(p->lw, &host, s, &all);
    p->test.count        = 0;
    p->test.decisions    = 0;
    p->whole             = whole;
    const Stmt *fast     = inside(p, known);
    if ((!p->test.decisions && !all) || p->full)
        return other;
    for (int i = 0; i < p->test.count; i++)
        all = x_and(p->lw, all, simplify(p->known, x_le(p->lw, x_int(p->lw, 0), p->test.forms[i])));
    return all ? stmt_if(p->lw->arena, all, fast, other) : fast;
}

/* The code of ragged blocks: its copies know their channels, too, where the output has as many. */
static const Stmt *ragged(InteriorPass *p, const Stmt *s)
{
    const HostLets host  = { p->host_names, p->host_values, p->host_count };
    const Expr    *all   = NULL;
    const Stmt    *known = with_channels(p->lw, &host, s, &all);
    return all ? stmt_if(p->lw->arena, all, known, s) : s;
}

static const Stmt *with_interior(InteriorPass *p, const Stmt *s)
{
    if (!indexes_registers(p->lw, s))
        return version(p, s, false, s);
    const Stmt *whole = version(p, s, true, ragged(p, s));
    const int   some  = p->test.decisions;
    const Stmt *fast  = version(p, s, false, whole);
    return p->test.decisions > some ? fast : whole;
}

static const Stmt *in_grid(InteriorPass *p, const Stmt *s)
{
    if (s->kind != STMT_FOR || s->loop.kind != LOOP_BLOCK)
        return with_interior(p, s);
    push_name(p, (InnerName){ .name = s->loop.name });
    p->grid = p->name_count;
    simplifier_push_range(p->known, s->loop.name, x_int(p->lw, 0), x_sub(p->lw, s->loop.extent, x_int(p->lw, 1)));
    const Stmt *body = in_grid(p, s->loop.body);
    simplifier_pop(p->known);
    return stmt_for(p->lw->arena, s->loop.name, s->loop.kind, s->loop.min, s->loop.extent, body);
}

static const Stmt *find_kernels(void *user, const Stmt *s)
{
    InteriorPass *p = user;
    const StmtMap m = { p->lw->arena, find_kernels, NULL, p };
    const int     n = p->host_count;
    if (s->kind == STMT_LET && n < MOST_NAMES && !expr_reads_any(p->lw->exprs, s->let.value)) {
        p->host_values[n] = expr_substitute(p->lw->exprs, s->let.value, n, p->host_names, p->host_values);
        p->host_names[n]  = s->let.name;
        p->host_count++;
    }
    if (s->kind != STMT_KERNEL) {
        s             = stmt_map(&m, s);
        p->host_count = n;
        return s;
    }
    p->name_count = p->grid = 0;
    p->full                 = false;
    Stmt *kernel            = ARENA_NEW(p->lw->arena, Stmt);
    *kernel                 = *s;
    kernel->kernel.body     = in_grid(p, s->kernel.body);
    return kernel;
}

const Stmt *lower_interior(Lower *lw, const Stmt *s)
{
    InteriorPass *p = ARENA_NEW(lw->arena, InteriorPass);
    map_init(&p->kept, lw->arena);
    p->lw    = lw;
    p->known = lw->simplifier;
    return s ? find_kernels(p, s) : NULL;
}
