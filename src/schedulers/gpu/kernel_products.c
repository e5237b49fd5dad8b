/* SPDX-License-Identifier: MIT */
/* Long sums of products, as of matrices and of convolutions over channels: tiles of sums in registers, whose operands
 * go through shared memory some steps at a time.
 *
 *     out.split(x, xo, xi, 64, tail: shift_inward).split(xi, xg, xr, 32).split(xr, xt, xe, 4)
 *        .split(y, yo, yi, 64, tail: shift_inward).split(yi, yt, ye, 8).split(yt, yw, ya, 2) …
 *
 * Takes   a head that reads the sum at its own points, and whose sum has one operand that moves with the first of its
 *         two long dimensions, X, and one that moves with the second, Y.
 * Gives   the shape of its blocks, and its directives. A thread has 8x8 sums: two groups of four along X, which are
 *         half a tile apart, so that neighbours read neighbouring 16 bytes; and eight along Y side by side.
 * Why     Threads that differ in the lowest bit have the same columns: of four elements for each a half-warp reads 128
 *         different bytes, one access. The operand of Y is stored with Y first, so that the eight of a thread are side
 *         by side, and padded by four against bank conflicts. What the next steps need is loaded meanwhile. */
#include "schedulers/gpu/kernels.h"
#include "schedulers/gpu/kernel_text.h"
#include "schedulers/draft/nest_text.h"
#include "schedulers/graph/constants.h"
#include "schedulers/graph/def_facts.h"

/* The dimension of an operand's function that a variable of the sum moves; -1: none, or several. */
static int dim_moved(const KernelSpace *s, const Func *f, const Func *of, int variable)
{
    int found = -1;
    for (int d = 0; d < of->rank; d++)
        if (def_movers(s->g->pipeline, f, 0, of, d) >> variable & 1) {
            if (found >= 0)
                return -1;
            found = d;
        }
    return found;
}

static int step_variable(const Func *f)
{
    return KN_MAX_RANK + f->updates[0].rvar_count - 1;
}

/* Has the sum one operand for each of the two dimensions? */
static bool has_operands(const KernelSpace *s, const GraphNode *sum, int x, int y)
{
    int of_x = 0, of_y = 0;
    for (int i = 0; i < sum->in_count; i++) {
        if (sum->in[i]->update < 0)
            continue;
        const Func *of = s->g->nodes[sum->in[i]->producer].func;
        const bool  by_x = dim_moved(s, sum->func, of, x) >= 0, by_y = dim_moved(s, sum->func, of, y) >= 0;
        if (by_x == by_y || dim_moved(s, sum->func, of, step_variable(sum->func)) < 0)
            return false;
        of_x += by_x;
        of_y += by_y;
    }
    return of_x == 1 && of_y == 1;
}

/* Points that are computed for each that is needed, with such tiles. */
static double waste_of(int64_t extent, int64_t tile)
{
    return (double)((extent + tile - 1) / tile * tile) / (double)extent;
}

bool kernel_product_shape(const KernelSpace *s, int x, KernelShape *shape)
{
    static const int sizes[][2] = { { 64, 64 }, { 128, 64 }, { 128, 80 }, { 64, 96 }, { 128, 48 }, { 64, 32 } };
    const GraphNode *head       = &s->g->nodes[s->head];
    const int        sum        = kernel_staged_sum(s);
    double           least      = PRODUCT_MOST_WASTE;
    int              best = -1, y = -1;
    for (int d = 0; sum >= 0 && d < head->rank; d++)
        for (size_t i = 0; d != x && i < sizeof sizes / sizeof *sizes; i++) {
            const int64_t wide = node_extent(head, x), high = node_extent(head, d);
            const double  waste = waste_of(wide, sizes[i][0]) * waste_of(high, sizes[i][1]);
            if (wide < sizes[i][0] || high < sizes[i][1] || waste >= least || !has_operands(s, &s->g->nodes[sum], x, d))
                continue;
            least = waste - PRODUCT_WASTE;
            best  = (int)i;
            y     = d;
        }
    for (int d = 0; best >= 0 && d < head->rank; d++) {
        shape->tile[d] = d == x ? sizes[best][0] : d == y ? sizes[best][1] : 1;
        shape->each[d] = d == x || d == y ? PRODUCT_EACH : 1;
    }
    return best >= 0;
}

/* ---- Text -------------------------------------------------------------------------------- */

/* The loops of one definition. */
typedef struct ProductLoops {
    const char *xo, *yo, *xg, *xt, *xe, *yw, *ya, *ye;
} ProductLoops;

typedef struct Product {
    Text              *out;
    const KernelSpace *space;
    const KernelShape *shape;
    int                x, y; /* dimensions */
} Product;

/* Splits both dimensions, into blocks first if it is the head's. */
static ProductLoops split(const Product *p, const Func *f, LoopNames *names, bool head)
{
    const char  *x = f->args[p->x], *y = f->args[p->y];
    const int    wide = (int)p->shape->tile[p->x], high = (int)p->shape->tile[p->y];
    ProductLoops l = { .xg = loop_name(names, x, "g"),
                       .xt = loop_name(names, x, "t"),
                       .xe = loop_name(names, x, "e"),
                       .yw = loop_name(names, y, "w"),
                       .ya = loop_name(names, y, "a"),
                       .ye = loop_name(names, y, "e") };
    const char  *xr = loop_name(names, x, "r"), *yt = loop_name(names, y, "t");
    if (head) {
        const char *xi = loop_name(names, x, "i"), *yi = loop_name(names, y, "i");
        l.xo = loop_name(names, x, "o");
        l.yo = loop_name(names, y, "o");
        text_printf(p->out, ".split(%s, %s, %s, %d, tail: shift_inward)", x, l.xo, xi, wide);
        text_printf(p->out, ".split(%s, %s, %s, %d, tail: shift_inward)", y, l.yo, yi, high);
        x = xi;
        y = yi;
    }
    text_printf(p->out, ".split(%s, %s, %s, %d).split(%s, %s, %s, 4)", x, l.xg, xr, wide / 2, xr, l.xt, l.xe);
    text_printf(p->out, ".split(%s, %s, %s, %d).split(%s, %s, %s, 2)", y, yt, l.ye, PRODUCT_EACH, yt, l.yw, l.ya);
    return l;
}

/* Threads and copies. */
static void print_loops(const Product *p, const ProductLoops *l)
{
    text_printf(p->out, ".gpu_threads(%s, %s, %s).unroll(%s).unroll(%s, 2).unroll(%s)", l->ya, l->xt, l->yw, l->xe,
                l->xg, l->ye);
}

static int add_others(const Product *p, const Func *f, const char **order, int count)
{
    for (int d = 0; d < f->rank; d++)
        if (d != p->x && d != p->y)
            order[count++] = f->args[d];
    return count;
}

/* The head. Gives its innermost loop over blocks. */
static const char *print_product_head(const Product *p, const Func *f, const KernelCost *cost)
{
    LoopNames          names = loop_names(p->out->arena, f, -1);
    const ProductLoops l     = split(p, f, &names, true);
    const char        *blocks[KN_MAX_RANK + 1], *order[MOST_LOOP_NAMES] = { l.xe, l.xg, l.ye, l.ya, l.xt, l.yw };
    int                count = 6, block_count = 0;
    blocks[block_count++] = l.xo;
    blocks[block_count++] = l.yo;
    block_count           = add_others(p, f, blocks, block_count);
    block_count           = kernel_fuse_blocks(p->out, blocks, block_count);
    for (int i = 0; i < block_count; i++)
        order[count++] = blocks[i];
    kernel_print_list(p->out, "reorder", order, count);
    kernel_print_list(p->out, "gpu_blocks", blocks, block_count);
    print_loops(p, &l);
    text_printf(p->out, ".launch_bounds(%d)\n", cost->thread_count);
    return l.xo;
}

/* The sum, and its update. Gives the loop over pieces of its steps. */
static const char *print_sum(const Product *p, const Func *f, const Func *head, const char *block)
{
    const Update *u  = &f->updates[0];
    const char   *k  = u->rvars[u->rvar_count - 1].name;
    const char   *ko = NULL;
    for (int def = -1; def < 1; def++) {
        LoopNames   names = loop_names(p->out->arena, f, def);
        const char *order[MOST_LOOP_NAMES], *kj = NULL, *ku = NULL;
        int         count = 0;
        kernel_print_name(p->out, f, def);
        if (def < 0) {
            text_printf(p->out, ".compute_at(%s, %s).store_in(register)", head->name, block);
        } else {
            const char *ki = loop_name(&names, k, "i");
            ko             = loop_name(&names, k, "o");
            kj             = loop_name(&names, k, "j");
            ku             = loop_name(&names, k, "u");
            text_printf(p->out, ".split(%s, %s, %s, %d).split(%s, %s, %s, %d)", k, ko, ki, STAGED_STEPS, ki, kj, ku,
                        PRODUCT_COPIES);
        }
        const ProductLoops l = split(p, f, &names, false);
        order[count++]       = l.xe;
        order[count++]       = l.xg;
        order[count++]       = l.ye;
        if (def >= 0) {
            order[count++] = ku;
            order[count++] = kj;
        }
        order[count++] = l.ya;
        order[count++] = l.xt;
        order[count++] = l.yw;
        count          = add_others(p, f, order, count);
        if (def >= 0)
            order[count++] = ko;
        for (int i = def < 0 ? 0 : u->rvar_count - 1; i-- > 0;)
            order[count++] = u->rvars[i].name;
        kernel_print_list(p->out, "reorder", order, count);
        print_loops(p, &l);
        if (def >= 0)
            text_printf(p->out, ".unroll(%s)", ku);
        const GraphNode *node = &p->space->g->nodes[p->space->g->of_func[f->id]];
        for (int i = 0; i < node->in_count && def >= 0; i++)
            if (node->in[i]->update >= 0)
                text_printf(p->out, ".prefetch(%s, %s, 1)", p->space->g->nodes[node->in[i]->producer].func->name, ko);
        text_add(p->out, "\n");
    }
    return ko;
}

/* The copy of an operand in shared memory: four elements side by side to a thread. */
static void print_operand(const Product *p, const Func *f, const Func *of, const char *ko)
{
    LoopNames   names = loop_names(p->out->arena, of, -1);
    const char *order[KN_MAX_RANK + 2], *threads[2] = { NULL, NULL };
    const int   x = dim_moved(p->space, f, of, p->x), y = dim_moved(p->space, f, of, p->y);
    const int   k = dim_moved(p->space, f, of, step_variable(f)), own = x >= 0 ? x : y;
    const int   first = k == 0 || own == 0 ? 0 : own, second = first == k ? own : k;
    int         count = 0;
    text_printf(p->out, "%s.stage(%s.update(0)).compute_at(%s.update(0), %s)", of->name, f->name, f->name, ko);
    if (y > 0) {
        order[count++] = of->args[y];
        for (int d = 0; d < of->rank; d++)
            if (d != y)
                order[count++] = of->args[d];
        kernel_print_list(p->out, "reorder_storage", order, count);
    }
    if (y >= 0)
        text_printf(p->out, ".align_storage(%s, %d)", of->args[y], (int)p->shape->tile[p->y] + 4);
    const char *of_four = loop_name(&names, of->args[first], "e");
    threads[0]          = loop_name(&names, of->args[first], "v");
    threads[1]          = of->args[second];
    text_printf(p->out, ".split(%s, %s, %s, 4)", of->args[first], threads[0], of_four);
    order[0] = of_four;
    order[1] = threads[0];
    order[2] = threads[1];
    count    = 3;
    for (int d = 0; d < of->rank; d++)
        if (d != first && d != second)
            order[count++] = of->args[d];
    kernel_print_list(p->out, "reorder", order, count);
    kernel_print_list(p->out, "gpu_threads", threads, 2);
    text_printf(p->out, ".unroll(%s)\n", of_four);
}

void kernel_print_product(Text *out, const KernelSpace *s, const Kernel *kernel)
{
    const GraphNode *head = &s->g->nodes[s->head], *sum = &s->g->nodes[kernel_staged_sum(s)];
    Product          p = { .out = out, .space = s, .shape = &kernel->shape, .x = kernel->staged - 1 };
    for (int d = 0; d < head->rank; d++)
        if (kernel->shape.each[d] > 1 && d != p.x)
            p.y = d;
    text_add(out, head->func->name);
    if (!head->is_output)
        text_add(out, ".compute_root()");
    const char *block = print_product_head(&p, head->func, &kernel->cost);
    const char *ko    = print_sum(&p, sum->func, head->func, block);
    for (int i = 0; i < sum->in_count; i++)
        if (sum->in[i]->update >= 0)
            print_operand(&p, sum->func, s->g->nodes[sum->in[i]->producer].func, ko);
}
