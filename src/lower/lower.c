/* SPDX-License-Identifier: MIT */
/* The lists of passes, and running them. */
#include "ir/kernel.h"
#include "lower/bounds/value_range.h"

static const LowerPass cpu_passes[] = {
    { "loops", "loops, regions, sliding windows and storage for every function, from the outputs back", lower_loops },
    { "flatten", "functions become buffers, coordinates an index", lower_flatten },
    { "simplify", "expressions simplified, loops of one iteration and what is never used removed", lower_simplify },
    { "unswitch", "choices that a row has in common made before its loop", lower_unswitch },
    { "partition", "loops around vectors in three: boundaries cost nothing in the middle", lower_partition },
    { "unroll", "unrolled loops as copies", lower_unroll },
    { "vectorize", "bodies of vector loops made fit for lanes", lower_vectorize },
    { "clean", "simplified once more", lower_simplify },
    { "inside", "reads at places made of data without clamps where all lanes are inside", lower_inside },
    { "math", "exp, sin and the like as sequences of basic operators", lower_math },
};

static const LowerPass gpu_passes[] = {
    { "loops", "loops, regions, sliding windows and storage for every function, from the outputs back", lower_loops },
    { "flatten", "functions become buffers, coordinates an index", lower_flatten },
    { "simplify", "expressions simplified, loops of one iteration and what is never used removed", lower_simplify },
    { "kernels", "block and thread loops cut out of the host's code, each kernel in one form", lower_kernels },
    { "peel", "the first iteration of a loop that fills its windows before the loop", lower_peel },
    { "interior", "blocks whose points are all inside: guards and clamps cost nothing there", lower_interior },
    { "clean", "simplified once more", lower_simplify },
    { "wide", "elements side by side of rows that begin at multiples of their number", lower_wide },
    { "threads", "thread nests of another shape than the block divided among all its threads", lower_threads },
    { "unroll", "unrolled loops as copies", lower_unroll },
    { "vectorize", "bodies of vector loops made fit for lanes", lower_vectorize },
    { "tidy", "simplified at last", lower_simplify },
    { "registers", "scratch of a block divided among the registers of its threads", lower_registers },
    { "ahead", "what the next iteration puts into shared memory loaded before it", lower_ahead },
    { "clamped", "rows that are read through clamps by wide accesses", lower_clamped },
    { "multiples", "where tiles begin as multiples of wide accesses", lower_multiples },
    { "loads", "what unrolled copies read is read before the first of them stores", lower_loads },
    { "shared", "shared memory of a block used again where its first use has ended", lower_shared },
    { "barriers", "barriers where data crosses threads", lower_barriers },
    { "banks", "rows of shared memory padded against bank conflicts", lower_banks },
    { "sync", "the host's copies of buffers made current where it uses them", lower_sync },
    { "math", "exp, sin and the like as sequences of basic operators", lower_math },
    { "names", "copies of kernels named on their own", lower_kernel_names },
};

const LowerPassList lower_pass_lists[PASS_LIST_COUNT] = {
    [PASSES_CPU] = { cpu_passes, sizeof cpu_passes / sizeof *cpu_passes },
    [PASSES_GPU] = { gpu_passes, sizeof gpu_passes / sizeof *gpu_passes },
};

/* A name that C takes. */
static const char *identifier(Arena *a, const char *name)
{
    char *s = arena_strdup(a, name && *name ? name : "pipeline");
    for (char *c = s; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9' && c != s)))
            *c = '_';
    return s;
}

Program *lower(Plan *plan, const LowerOptions *options)
{
    Program *p  = ARENA_NEW(plan->arena, Program);
    Lower    lw = { .cx          = plan->cx,
                    .arena       = plan->arena,
                    .exprs       = &plan->exprs,
                    .plan        = plan,
                    .program     = p,
                    .gpu         = options->passes == PASSES_GPU,
                    .device      = options->device,
                    .vector_bits = options->vector_bits ? options->vector_bits : 256 };
    *p          = (Program){ .cx           = plan->cx,
                             .arena        = plan->arena,
                             .exprs        = lw.exprs,
                             .name         = identifier(plan->arena, plan->name),
                             .strict_float = options->strict_float };
    for (size_t i = 0; i < plan->pipeline->params.count; i++)
        vec_push(plan->arena, &p->params, plan->pipeline->params.at[i]);
    const int errors          = plan->cx->error_count;
    lw.simplifier             = base_simplifier(&lw, lw.arena);
    const LowerPassList *list = &lower_pass_lists[options->passes];
    for (int i = 0; i < list->count; i++) {
        p->body = list->at[i].run(&lw, p->body);
        if (plan->cx->error_count > errors)
            return NULL;
        if (options->until && !strcmp(options->until, list->at[i].name))
            break;
    }
    program_find_kernels(p);
    return p;
}
