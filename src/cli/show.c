/* SPDX-License-Identifier: MIT */
/* kiln show FILE: what is in a program, as text or as a graph. */
#include "cli.h"

#include <inttypes.h>

/* The views that are texts of the library. */
static const struct {
    OptionId option;
    kn_view  view;
} views[] = {
    { OPTION_FUNCS, KN_VIEW_FUNCS }, { OPTION_GRAPH, KN_VIEW_GRAPH }, { OPTION_SCHEDULES, KN_VIEW_SCHEDULE },
    { OPTION_PLAN, KN_VIEW_PLAN },   { OPTION_LOOPS, KN_VIEW_LOOPS }, { OPTION_AFTER, KN_VIEW_CODE },
    { OPTION_LLVM, KN_VIEW_LLVM },   { OPTION_ASM, KN_VIEW_ASM },
};
enum { VIEW_COUNT = sizeof views / sizeof *views };

static int show_view(Cli *cli, kn_view view)
{
    if (cli->operand_count > 1)
        return usage(cli, "%s: only --regions and --counts take more than a program", cli->operands[1]);
    kn_options    options;
    SourceProgram program;
    int           status = compile_options(cli, &options);
    if (status != DONE)
        return status;
    status = program_load(cli, cli->operands[0], &program);
    if (status == DONE) {
        fputs(program.warnings, stderr);
        const char *text = kn_show_code(program.pipeline, view, &options, option_value(cli, OPTION_AFTER, 0));
        if (text)
            fputs(text, stdout);
        else
            status = report(cli);
    }
    kn_pipeline_free(program.pipeline);
    return status;
}

/* "blurx(0..10, -1..8)": half open, as ranges are in the language. */
static void print_region(const kn_region *r)
{
    printf("%s(", r->name);
    for (int d = 0; d < r->rank; d++)
        printf("%s%" PRId32 "..%" PRId64, d ? ", " : "", r->min[d], (int64_t)r->min[d] + r->extent[d]);
    puts(")");
}

/* An output without a size is fitted to the inputs: then all of them must be given. */
static int check_sizes(Cli *cli, const Bindings *b)
{
    const PortBinding *open    = NULL;
    bool               missing = false;
    for (int i = 0; i < b->count; i++) {
        missing = missing || (b->at[i].port.kind == KN_INPUT && !b->at[i].text);
        open    = b->at[i].port.kind == KN_OUTPUT && !b->at[i].sized ? &b->at[i] : open;
    }
    if (!missing || !open)
        return DONE;
    return usage(cli, "the size of %s is not known: --size %s=%s, or give the inputs", open->port.name, open->port.name,
                 size_example(open->port.rank));
}

static int show_regions(Cli *cli)
{
    Bindings b;
    int      status = bindings_load(cli, true, &b);
    if (status == DONE) {
        bindings_estimate(&b);
        status = check_sizes(cli, &b);
    }
    if (status == DONE)
        status = bindings_fit(cli, &b);
    const kn_region *regions;
    int              count;
    if (status == DONE && kn_bounds(b.module, b.args, b.arg_count, &regions, &count) != KN_OK)
        status = report(cli);
    for (int i = 0; status == DONE && i < count; i++)
        print_region(&regions[i]);
    bindings_free(&b);
    return status;
}

/* Runs the program with counters. */
static int show_counts(Cli *cli)
{
    kn_options options;
    Bindings   b;
    int        status = compile_options(cli, &options);
    if (status != DONE)
        return status;
    status = bindings_load(cli, false, &b);
    if (status == DONE) {
        bindings_estimate(&b);
        status = bindings_fit(cli, &b);
    }
    if (status == DONE)
        status = bindings_allocate(cli, &b);
    options.interpret = true; /* the loops are run step by step: no code is needed */
    kn_module *m      = status == DONE ? kn_compile(b.program.pipeline, &options) : NULL;
    Progress   progress;
    progress_begin(&progress, "counting in", b.program.path);
    const char *text = m ? kn_count(m, b.args, b.arg_count) : NULL;
    progress_end(&progress);
    if (text)
        fputs(text, stdout);
    else if (status == DONE)
        status = report(cli);
    bindings_free(&b);
    return status;
}

static int show_passes(void)
{
    for (int i = 0; kn_pass_get(i).name; i++)
        printf("%-12s %s\n", kn_pass_get(i).name, kn_pass_get(i).summary);
    return DONE;
}

int command_show(Cli *cli)
{
    if (option_given(cli, OPTION_PASSES))
        return show_passes();
    if (cli->operand_count == 0)
        return usage(cli, "which program? kiln show FILE");
    const bool regions = option_given(cli, OPTION_REGIONS), counts = option_given(cli, OPTION_COUNTS);
    int        asked = regions + counts;
    kn_view    view  = KN_VIEW_FUNCS;
    for (int i = 0; i < VIEW_COUNT; i++)
        if (option_given(cli, views[i].option)) {
            view = views[i].view;
            asked++;
        }
    if (asked > 1)
        return usage(cli, "one view at a time: --funcs, --graph, --regions, --schedules, --plan, --loops, --after, "
                          "--llvm, --asm or --counts");
    return regions ? show_regions(cli) : counts ? show_counts(cli) : show_view(cli, view);
}
