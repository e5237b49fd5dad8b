/* SPDX-License-Identifier: MIT */
/* Kernels of schedulers: occupancy against published figures, the constraints of Sioutas et al. 2020 (Listing 1), the
 * example of its Figures 1 to 4, and time and memory for the apps of its Table 3. */
#include "check.h"
#include "graph_of.h"

#include <sys/resource.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
enum { SLOWER = 20 };
#else
enum { SLOWER = 1 };
#endif

/* ---- Occupancy ---- */

static Device device_of(const char *name)
{
    char        path[64];
    kn_context *cx = kn_context_new(NULL);
    Machine     m  = machine_usual();
    snprintf(path, sizeof path, "machines/%s.machine", name);
    char *text = check_read(path);
    CHECK(machine_parse(cx, name, text, &m) && m.device.sms > 0, "%s", kn_error_text(cx));
    free(text);
    kn_context_free(cx);
    return m.device;
}

/* Sioutas et al. 2020, section 3: 512 threads, 64 registers and 2048 bytes at compute capability 7.5 have 100 %.
 * NVIDIA's best practices guide: at 7.0, whose multiprocessors are those of the A100 but for shared memory, 37
 * registers leave 12 blocks of 128 threads, 75 %, and 4 of 320, 63 %; 32 registers are all that 2048 threads can have.
 */
static void test_occupancy(void)
{
    const Device turing = device_of("rtx2080ti"), ampere = device_of("a100");
    const struct {
        const Device  *device;
        int            threads, registers;
        int64_t        shared;
        int            blocks;
        double         fraction;
        OccupancyLimit limit;
    } rows[] = {
        { &turing, 512, 64, 2048, 2, 1.0, LIMIT_THREADS },       { &ampere, 128, 37, 0, 12, 0.75, LIMIT_REGISTERS },
        { &ampere, 320, 37, 0, 4, 0.625, LIMIT_REGISTERS },      { &ampere, 1024, 32, 0, 2, 1.0, LIMIT_THREADS },
        { &ampere, 256, 64, 0, 4, 0.5, LIMIT_REGISTERS },        { &ampere, 32, 32, 0, 32, 0.5, LIMIT_BLOCKS },
        { &turing, 64, 32, 32 << 10, 2, 0.125, LIMIT_SHARED },   { &ampere, 256, 255, 0, 1, 0.125, LIMIT_REGISTERS },
        { &turing, 1025, 32, 0, 0, 0, LIMIT_THREADS },           { &turing, 256, 32, 65 << 10, 0, 0, LIMIT_THREADS },
        { &ampere, 256, 32, 163 << 10, 1, 0.125, LIMIT_SHARED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Occupancy o = device_occupancy(rows[i].device, rows[i].threads, rows[i].registers, rows[i].shared);
        CHECK(o.blocks == rows[i].blocks && o.fraction == rows[i].fraction && o.limit == rows[i].limit,
              "row %zu: %d blocks, %g, %s", i, o.blocks, o.fraction, occupancy_limit_names[o.limit]);
    }
}

/* Blocks of launch_bounds: as many as the registers leave room for; of many registers, a part more of them; but a
 * kernel that has enough blocks has 16 warps on a multiprocessor. */
static void test_resident_blocks(void)
{
    const Device device = device_of("a100");
    const struct {
        int    threads, registers;
        double blocks;
        int    resident;
    } rows[] = {
        { 128, 64, 1e4, 8 },  { 128, 90, 1e4, 5 }, { 128, 100, 1e4, 4 }, { 128, 120, 1e4, 4 },
        { 128, 200, 1e4, 4 }, { 64, 200, 1e4, 8 }, { 64, 200, 108, 4 },  { 128, 120, 216, 3 },
        { 128, 120, 50, 3 },  { 480, 64, 1e4, 2 }, { 1024, 64, 1e4, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const KernelCost cost = { .blocks       = rows[i].blocks,
                                  .thread_count = rows[i].threads,
                                  .registers    = rows[i].registers };
        const int        n    = kernel_resident_blocks(&device, &cost);
        CHECK(n == rows[i].resident, "row %zu: %d blocks", i, n);
    }
}

/* ---- Listing 1 ---- */

static const char *const chain = "input in : f32(x, y)\noutput Z\n"
                                 "W(x, y) = in(x, y) * 4 + in(x+1, y)\n"
                                 "Z(x, y) = W(x, y-2) + W(x, y-1) + W(x, y) + W(x, y+1) + W(x, y+2)\n"
                                 "estimate Z(1536, 2560)\n";

static KernelCost cost_of(GraphOf *o, KernelDraft *k, int64_t tile_x, int64_t tile_y)
{
    KernelSpace       s     = kernel_space(k, false, &o->arena);
    const KernelShape shape = { .tile = { tile_x, tile_y }, .each = { 1, 1 } };
    KernelCost        cost;
    kernel_space_begin(&s, o->graph.node_count - 1);
    kernel_evaluate(&s, &shape, &cost);
    return cost;
}

/* The cycles of the L1 that a sum over rows of `steps` asks for, four points of a row to a thread. */
static double accesses_of(const char *steps)
{
    GraphOf o;
    char    program[200];
    snprintf(program, sizeof program,
             "param n : i32 = 9\ninput in : f32(x, y)\noutput out\nout(x, y) = sum(in(x+i, y) for i in 0..%s)\n"
             "estimate out(1536, 2560)\n",
             steps);
    graph_of(&o, program);
    o.machine.device        = device_of("h200");
    KernelDraft       k     = scheduler_gpu(&o.graph, &o.machine, &(SchedulerOptions){ .budget = 2 }, &o.arena);
    KernelSpace       s     = kernel_space(&k, false, &o.arena);
    const KernelShape shape = { .tile = { 128, 4 }, .each = { 4, 1 } };
    KernelCost        cost;
    kernel_space_begin(&s, o.graph.node_count - 1);
    kernel_evaluate(&s, &shape, &cost);
    graph_of_end(&o);
    return cost.term[KERNEL_ACCESSES];
}

/* Neighbours share what copies of a step read, but an iteration of a loop shares nothing with the next one. */
static void test_steps(void)
{
    const double copies = accesses_of("9"), loop = accesses_of("n");
    CHECK(loop > 2 * copies, "%g ns in a loop, %g in copies", loop, copies);
}

/* A thread of a device computes a power by itself, in many instructions. So few of them are its copies. */
static void test_functions(void)
{
    GraphOf o;
    graph_of(&o, "input in : f32(x, y, c)\noutput out\nout(x, y, c) = pow(in(x, y, c), 0.8) * in(x, y, c)\n"
                 "estimate out(1536, 2560, 3)\n");
    o.machine.device    = device_of("h200");
    const Work       *w = o.graph.nodes[o.graph.node_count - 1].defs;
    const KernelDraft k = scheduler_gpu(&o.graph, &o.machine, &(SchedulerOptions){ .budget = 2 }, &o.arena);
    CHECK(w->lane_ops > 200 && w->ops < 50, "%g operations of a thread, %g of a vector", w->lane_ops, w->ops);
    const KernelShape *shape = &k.kernels[0].shape;
    CHECK(k.d.group_count == 1 && shape->each[0] * shape->each[1] * shape->each[2] <= 24, "%lld x %lld x %lld",
          (long long)shape->each[0], (long long)shape->each[1], (long long)shape->each[2]);
    graph_of_end(&o);
}

/* The tile of 32x12 of section 3: W has four rows more, in shared memory. */
static void test_listing(void)
{
    GraphOf o;
    graph_of(&o, chain);
    o.machine.device               = device_of("rtx2080ti");
    const SchedulerOptions options = { .budget = 2, .no_inlining = true, .no_places = true };
    KernelDraft            k       = scheduler_gpu(&o.graph, &o.machine, &options, &o.arena);
    const int              w       = o.graph.node_count - 2;
    CHECK(k.d.group_count == 1 && k.d.choices[w].where == WHERE_INSIDE && !k.nested[w], "%d groups", k.d.group_count);
    const KernelCost fits = cost_of(&o, &k, 32, 12);
    CHECK(fits.footprint == 32 * 16 * 4 && fits.thread_count == 384 && fits.blocks == 48 * 214,
          "%lld bytes, %d threads", (long long)fits.footprint, fits.thread_count);
    CHECK(fits.fault == KERNEL_VALID, "%d", fits.fault);
    CHECK(cost_of(&o, &k, 30, 3).fault == KERNEL_PART_OF_WARP, "90 threads are no whole warps");
    CHECK(cost_of(&o, &k, 64, 32).fault == KERNEL_MANY_THREADS, "2048 threads");
    CHECK(cost_of(&o, &k, 1536, 64).fault != KERNEL_VALID, "too many threads");
    KernelSpace       s     = kernel_space(&k, false, &o.arena);
    const KernelShape large = { .tile = { 512, 64 }, .each = { 8, 8 } },
                      few   = { .tile = { 256, 640 }, .each = { 2, 80 } };
    KernelCost cost;
    kernel_space_begin(&s, o.graph.node_count - 1);
    kernel_evaluate(&s, &large, &cost);
    CHECK(cost.fault == KERNEL_MUCH_SHARED && cost.footprint == 512 * 68 * 4, "%d: %lld", cost.fault,
          (long long)cost.footprint);
    kernel_evaluate(&s, &few, &cost);
    CHECK(cost.active_sms == 24, "24 blocks on %g multiprocessors", cost.active_sms);
    graph_of_end(&o);
}

/* A stage in shared memory is live until the last unit that reads it, also through one in the registers of that unit.
 */
static void test_live_stages(void)
{
    GraphOf o;
    graph_of(&o, "input in : f32(x, y)\noutput out\na(x, y) = in(x, y) * in(x, y+1)\nb(x, y) = a(x, y) + a(x+1, y)\n"
                 "c(x, y) = b(x, y) * b(x, y)\nout(x, y) = c(x, y-1) + c(x, y) + c(x, y+1)\n"
                 "estimate out(1536, 2560)\n");
    o.machine.device = device_of("rtx2080ti");
    KernelDraft k    = scheduler_gpu(&o.graph, &o.machine, &(SchedulerOptions){ .budget = 2 }, &o.arena);
    const int   out = o.graph.node_count - 1, c = out - 1, b = c - 1, a = b - 1;
    for (int s = a; s < out; s++) {
        k.d.choices[s] = (Choice){ .where = WHERE_INSIDE, .group = k.d.choices[out].group };
        k.nested[s]    = s == b ? c + 1 : 0;
    }
    const KernelCost cost = cost_of(&o, &k, 32, 12);
    CHECK(cost.footprint == (33 + 32) * 14 * 4, "%lld bytes", (long long)cost.footprint);
    graph_of_end(&o);
}

/* ---- Figures 1 to 4 ---- */

static const char *const figure = "input  in : f32(x, y)\n"
                                  "output Z\n"
                                  "E(x, y)    = in(x, y) + in(x+1, y+1) + in(x+2, y+2)\n"
                                  "K(x, y, c) = (E(x, y) + E(x+1, y) + E(x+2, y)) * f32(c + 1)\n"
                                  "H(x, y)    = E(x, y) * 4\n"
                                  "W(x, y)    = K(x, y, 0) + K(x, y, 1) + K(x, y, 2) + 2 * H(x, y)\n"
                                  "Z(x, y)    = W(x, y-2) + W(x, y-1) + W(x, y) + W(x, y+1) + W(x, y+2)\n"
                                  "estimate Z(1536, 2560)\n";

/* The stages K, H, W and Z of Figures 1 to 4, with an E that is stored. H is trivial; K has no reuse across the points
 * of W and is nested in it; W stays in shared memory, because rows of Z have some of it in common. */
static void test_figures(void)
{
    GraphOf o;
    graph_of(&o, figure);
    o.machine.device = device_of("rtx2080ti");
    const KernelDraft k =
        scheduler_gpu(&o.graph, &o.machine, &(SchedulerOptions){ .budget = 2, .no_places = true }, &o.arena);
    int K = -1, H = -1, W = -1;
    for (int i = 0; i < o.graph.node_count; i++) {
        const char *name = o.graph.nodes[i].func->name;
        K                = !strcmp(name, "K") ? i : K;
        H                = !strcmp(name, "H") ? i : H;
        W                = !strcmp(name, "W") ? i : W;
    }
    CHECK(k.d.choices[H].where == WHERE_INLINE, "H is not inlined");
    CHECK(k.d.choices[W].where == WHERE_INSIDE && !k.nested[W], "W is not in shared memory");
    CHECK(k.d.choices[K].where == WHERE_INSIDE && k.nested[K] == W + 1, "K is not nested in W");
    graph_of_end(&o);
}

/* ---- Classes of programs beyond the paper ---- */

/* The text of a schedule, which has, or has not, some directive. */
static void check_text(const char *program, const SchedulerOptions *options, const char *directive, bool has)
{
    GraphOf o;
    Text    out;
    graph_of(&o, program);
    o.machine.device = device_of("h200");
    KernelDraft k    = scheduler_gpu(&o.graph, &o.machine, options, &o.arena);
    text_init(&out, &o.arena);
    kernel_draft_print(&out, &k, &o.arena);
    CHECK(!!strstr(text_string(&out), directive) == has, "%s%s in\n%s", has ? "no " : "", directive, text_string(&out));
    graph_of_end(&o);
}

static void test_classes(void)
{
    static const struct {
        const char      *directive, *program;
        SchedulerOptions without;
    } rows[] = {
        /* a sum of many steps that is read at several places is in registers, and stored once */
        { "s.compute_at(s.stage, ",
          "param n : i32 = 50\ninput in : f32(x, y)\noutput out\n"
          "s(x, y) = 0.0\ns(x, y) += in(x+i, y) * in(x, y+i) for i in 0..n\n"
          "out(x, y) = s(x, y) + s(x+1, y) * s(x, y+1)\nestimate out(1536, 2560)\n",
          { .no_registers = true } },
        /* a scan along rows is stored transposed */
        { ".reorder_storage(y, x)",
          "input in : f32(x, y)\noutput out\nr(x, y) = in(x, y)\n"
          "r(i, y) = 0.5*r(i-1, y) + in(i, y) for i in 1..in.width\n"
          "out(x, y) = sqrt(r(x, y))\nestimate out(1536, 2560)\n",
          { .no_patterns = true } },
        /* a cell of a grid of histograms is one thread's, with both planes */
        { ".unroll(c, 2).unroll(i)",
          "input in : f32(x, y)\noutput out\ng(x, y, z, c) = 0.0\n"
          "g(x, y, i32(edge(in)(4*x+i, 4*y+j) * 8), c) += f32(c) + edge(in)(4*x+i, 4*y+j) for j in 0..4, i in 0..4\n"
          "out(x, y, z, c) = g(x, y, z, c) + g(x+1, y, z, c)\nestimate out(300, 400, 8, 2)\n",
          { .no_patterns = true } },
        /* the one stage that reads a grid has its cells in shared memory, as many bins of them as there is room for */
        { "g.compute_at(b, xo)",
          "param bins : f32 = 40\ninput in : f32(x, y)\noutput out\ng(x, y, z, c) = 0.0\n"
          "g(x, y, i32(clamp(edge(in)(4*x+i, 4*y+j), 0, 1) * bins), c) += f32(c) + in(4*x+i, 4*y+j) for j in 0..4, i "
          "in "
          "0..4\n"
          "b(x, y, z, c) = g(x, y, z-1, c) + g(x, y, z+1, c)\n"
          "out(x, y) = b(x/4, y/4, i32(clamp(in(x, y), 0, 1) * bins), 0) + b(x/4+1, y/4, 3, 1)\nestimate out(1536, "
          "2560)\n",
          { .no_patterns = true } },
        { ".split(z, zo, zi, 14)",
          "param bins : f32 = 40\ninput in : f32(x, y)\noutput out\ng(x, y, z, c) = 0.0\n"
          "g(x, y, i32(clamp(edge(in)(4*x+i, 4*y+j), 0, 1) * bins), c) += f32(c) + in(4*x+i, 4*y+j) for j in 0..4, i "
          "in "
          "0..4\n"
          "b(x, y, z, c) = g(x, y, z-1, c) + g(x, y, z+1, c)\n"
          "out(x, y) = b(x/4, y/4, i32(clamp(in(x, y), 0, 1) * bins), 0) + b(x/4+1, y/4, 3, 1)\nestimate out(1536, "
          "2560)\n",
          { .no_fusion = true } },
        /* a stage that was inlined is stored where its readers compute it for each step of theirs */
        { "p.compute_at(s, xo)",
          "input in : f32(x, y)\noutput out\ng(x, y) = exp(in(x, y)) * sqrt(in(x, y))\nh(x, y) = g(x, y) + 1\n"
          "p(x, y) = h(x, y) * in(x, y)\ns(x, y) = sum(p(x + i, y) for i in -4..5)\n"
          "out(x, y) = sum(s(x, y + j) for j in -4..5)\nestimate out(1536, 2560)\n",
          { .no_places = true } },
        /* three stencils are one kernel, and its threads have several points of each; one that was inlined is read
         * from shared memory; short planes are copies of a thread, of long ones it has a part */
        { "b.compute_at(out, xo).split(y, yt, ye, 4, tail: round_up)",
          "input in : f32(x, y)\noutput out\n"
          "a(x, y) = sum(edge(in)(x+i, y+j) * f32(i*i+j) for j in -2..3, i in -2..3)\n"
          "b(x, y) = sum(a(x+i, y+j) * f32(i*i+j) for j in -2..3, i in -2..3)\n"
          "out(x, y) = sum(b(x+i, y+j) * f32(i+j*j) for j in -2..3, i in -2..3)\nestimate out(1536, 2560)\n",
          { .no_places = true } },
        { "g.compute_at(out, xo)",
          "input in : f32(x, y)\noutput out\ng(x, y) = edge(in)(x, y) * edge(in)(x, y)\n"
          "r(x, y) = sum(g(x+i, y) for i in -8..9)\nc(x, y) = sum(r(x, y+j) for j in -8..9)\n"
          "out(x, y) = c(x, y) / (c(x, y) + 1)\nestimate out(1536, 2560)\n",
          { .no_places = true } },
        { ".split(d, dt, de, 8)",
          "input a : u64(x, y)\ninput b : u64(x, y)\noutput out\n"
          "cost(x, y, d) = u16(popcount(edge(a)(x, y) ^ edge(b)(x - d, y)))\n"
          "t(x, y, d) = sum(cost(x+i, y+j, d) for j in -2..3, i in -2..3)\n"
          "out(x, y) = min(t(x, y, d) for d in 0..32)\nestimate out(1920, 1080)\n",
          { .no_places = true } },
        /* steps that read a table of numbers are copies */
        { ".unroll(d)",
          "input in : f32(x, y)\noutput out\nh(d) = d*d % 7\n"
          "out(x, y) = max(in(x+d, y+h(d)) for d in 0..40)\nestimate out(1536, 2560)\n",
          { .no_tables = true } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SchedulerOptions without = rows[i].without;
        without.budget           = 2;
        check_text(rows[i].program, &(SchedulerOptions){ .budget = 2 }, rows[i].directive, true);
        check_text(rows[i].program, &without, rows[i].directive, false);
    }
    /* products have 8x8 sums in a thread, in the two dimensions that waste the least */
    static const char product[] =
        "input a : f32(k, y, n)\ninput b : f32(x, k)\noutput out\n"
        "out(x, y, n) = sum(b(x, k) * a(k, y, n) for k in 0..512)\nestimate out(256, 80, 100)\n",
                      *const split = ".split(yi, yt, ye, 8).split(yt, yw, ya, 2)";
    check_text(product, &(SchedulerOptions){ .budget = 2 }, split, true);
    check_text(product, &(SchedulerOptions){ .budget = 2, .no_products = true }, split, false);
}

/* ---- Time and memory ---- */

static void test_apps(void)
{
    static const char *const apps[] = { "bilateral_grid", "camera_pipe",     "harris",     "hist",      "iir_blur",
                                        "interpolate",    "local_laplacian", "max_filter", "unsharp",   "nl_means",
                                        "stencil_chain",  "lens_blur",       "mat_mul",    "conv_layer" };
    struct rusage            usage;
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++) {
        GraphOf o;
        char    path[64];
        snprintf(path, sizeof path, "apps/%s/%s.kiln", apps[i], apps[i]);
        char *text = check_read(path);
        graph_of(&o, text);
        o.machine.device    = device_of("rtx2080ti");
        const clock_t begin = clock();
        KernelDraft   k     = scheduler_gpu(&o.graph, &o.machine, &(SchedulerOptions){ .budget = 2 }, &o.arena);
        const double  taken = (double)(clock() - begin) / CLOCKS_PER_SEC;
        CHECK(taken < SLOWER * 1.0, "%s: %.2f s", apps[i], taken);
        for (int j = 0; j < k.d.group_count; j++)
            CHECK(k.left[k.d.groups[j].head] || k.kernels[j].cost.occupancy.blocks > 0, "%s: kernel %d does not fit",
                  apps[i], j);
        free(text);
        graph_of_end(&o);
    }
    getrusage(RUSAGE_SELF, &usage);
    CHECK(SLOWER > 1 || usage.ru_maxrss < 200 << 10, "%ld KiB", usage.ru_maxrss);
}

int main(void)
{
    test_occupancy();
    test_resident_blocks();
    test_listing();
    test_live_stages();
    test_steps();
    test_functions();
    test_figures();
    test_classes();
    test_apps();
    return check_done();
}
