/* SPDX-License-Identifier: MIT */
/* kiln tune FILE --cross: what is tuned for one size or machine, run on others, as a table of slowdowns (Ragan-Kelley
 * et al. 2013, figure 8).
 *
 * Without --simulate each --size is a row and a column, on this machine. Each --machine and each --schedule adds rows:
 * this machine runs what is tuned for another. With --simulate each size on each machine is a row and a column. Inputs
 * that are missing are made up for each size; those of NAME.bench have one size, so only its parameters are taken. */
#include "cli/tune/tune.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CASES = 16 };

typedef struct Cross {
    Tune         *t;
    Cli          *cli;
    const char   *sizes[MOST_CASES], *machines[MOST_CASES], *names[MOST_CASES]; /* texts and names of machines */
    int           size_count, machine_count;
    Bindings      bindings[MOST_CASES]; /* of each size */
    kn_cross_case cases[MOST_CASES];
    const char   *labels[MOST_CASES];
    int           size_of[MOST_CASES]; /* of a case whose schedule is to be kept: its size; else -1 */
    bool          is_column[MOST_CASES];
    int           count;
} Cross;

/* ---- Options ---- */

/* The values of an option that can be given again; a message if there are too many. */
static int all_values(Cli *cli, OptionId id, const char **values, int *count)
{
    const char *value;
    for (*count = 0; (value = option_value(cli, id, *count)); values[(*count)++] = value)
        if (*count == MOST_CASES)
            return usage(cli, "--cross: at most %d schedules can be compared", MOST_CASES);
    return DONE;
}

/* Takes an option away. */
static void drop_option(Cli *cli, OptionId id)
{
    int kept = 0;
    for (int i = 0; i < cli->given_count; i++)
        if (cli->given[i].option != id)
            cli->given[kept++] = cli->given[i];
    cli->given_count = kept;
}

/* "FILE" of "folder/FILE.machine". */
static const char *short_name(Cli *cli, const char *path)
{
    const char *slash = strrchr(path, '/');
    path              = slash ? slash + 1 : path;
    const char *dot   = strrchr(path, '.');
    return dot && dot > path ? cli_strndup(cli, path, (size_t)(dot - path)) : path;
}

/* A machine that is described has no name but a letter; what it means stands below the table. */
static int read_machines(Cross *x)
{
    const char *given[MOST_CASES];
    int         status = all_values(x->cli, OPTION_MACHINE, given, &x->machine_count);
    for (int i = 0; i < x->machine_count && status == DONE; i++) {
        char *letter = cli_strndup(x->cli, "A", 1);
        letter[0]    = (char)('A' + i);
        x->names[i]  = strchr(given[i], '=') ? letter : short_name(x->cli, given[i]);
        status       = tune_machine(x->cli, given[i], &x->machines[i]);
    }
    return status;
}

static int refuse(Cli *cli)
{
    static const OptionId none[] = { OPTION_TUNE_OUTPUT, OPTION_TUNE_HTML, OPTION_RESUME };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (option_given(cli, none[i]))
            return usage(cli, "%s is for one search; --cross prints a table, and schedules are kept: --list",
                         option_table[none[i]].name);
    if (option_given(cli, OPTION_SIMULATE) && option_given(cli, OPTION_CROSS_SCHEDULE))
        return usage(cli, "--simulate runs nothing, so that it cannot tell the time of a --schedule");
    return DONE;
}

/* ---- Sizes ---- */

static bool is_input(const Bindings *b, const char *operand)
{
    const size_t n = strcspn(operand, "=");
    for (int i = 0; i < kn_port_count(b->program.pipeline); i++) {
        const kn_port port = kn_port_get(b->program.pipeline, i);
        if (port.kind == KN_INPUT && strlen(port.name) == n && !strncmp(port.name, operand, n))
            return true;
    }
    return false;
}

/* Of NAME.bench, if no arguments are given, without its inputs and sizes. */
static int take_bench_parameters(Cross *x)
{
    Cli       *cli    = x->cli;
    Bindings   b      = { 0 };
    const bool given  = cli->operand_count > 1;
    int        status = given ? DONE : add_bench_file(cli), kept = 1;
    if (status == DONE)
        status = bindings_program(cli, &b);
    for (int i = 1; i < cli->operand_count && status == DONE; i++)
        if (given || !is_input(&b, cli->operands[i]))
            cli->operands[kept++] = cli->operands[i];
    cli->operand_count = status == DONE ? kept : cli->operand_count;
    drop_option(cli, OPTION_SIZE);
    drop_option(cli, OPTION_ORIGIN);
    bindings_free(&b);
    return status;
}

/* As with this --size alone; those of several outputs are separated by commas. */
static int prepare_size(Cross *x, const char *size, Bindings *b)
{
    Cli   *cli   = x->cli;
    Given *had   = cli->given;
    int    count = cli->given_count, parts = 1;
    for (const char *s = size; *s; s++)
        parts += *s == ',';
    cli->given = cli_alloc(cli, sizeof *cli->given * (size_t)(count + parts));
    memcpy(cli->given, had, sizeof *had * (size_t)count);
    while (*size) {
        const size_t n                 = strcspn(size, ",");
        cli->given[cli->given_count++] = (Given){ OPTION_SIZE, cli_strndup(cli, size, n) };
        size += n + (size[n] == ',');
    }
    const int status = tune_prepare(x->t, b);
    cli->given       = had;
    cli->given_count = count;
    return status;
}

/* Without --size there is the one that is estimated, or a default. */
static int prepare_sizes(Cross *x)
{
    int status = all_values(x->cli, OPTION_SIZE, x->sizes, &x->size_count);
    if (status == DONE)
        status = take_bench_parameters(x);
    if (!x->size_count)
        x->sizes[x->size_count++] = "";
    for (int i = 0; i < x->size_count && status == DONE; i++)
        status = prepare_size(x, x->sizes[i], &x->bindings[i]);
    return status;
}

/* ---- Cases ---- */

static int add_case(Cross *x, kn_cross_case c, const char *label, bool is_column, int keep)
{
    if (x->count == MOST_CASES)
        return usage(x->cli, "--cross: at most %d schedules can be compared", MOST_CASES);
    x->cases[x->count]     = c;
    x->labels[x->count]    = label;
    x->is_column[x->count] = is_column;
    x->size_of[x->count++] = keep;
    return DONE;
}

static const char *label_of(const Cross *x, int size, int machine, const char *end)
{
    enum { ROOM = 256 };
    char       *text     = cli_alloc(x->cli, ROOM);
    const bool  many     = x->size_count > 1 || machine < 0;
    const char *name     = machine < 0 ? "" : x->names[machine];
    const char *of       = tuned_size(x->cli, &x->bindings[size]);
    const bool  has_name = machine >= 0 && (x->machine_count > 1 || !many || *end);
    snprintf(text, ROOM, "%s%s%s%s", many ? of : "", many && has_name ? " " : "", has_name ? name : "", end);
    return text;
}

/* This size on this machine: kept, or to be searched for. */
static int add_size(Cross *x, int size)
{
    const Bindings *b    = &x->bindings[size];
    const char     *kept = x->t->how.simulate ? NULL : tuned_kept(x->cli, b, &x->t->options);
    const char     *name = label_of(x, size, -1, "");
    if (kept)
        say("%s: the kept schedule is taken", name);
    return add_case(x, (kn_cross_case){ b->args, b->arg_count, NULL, kept }, name, true,
                    kept || x->t->how.simulate ? -1 : size);
}

static int add_cases(Cross *x)
{
    const bool simulate = x->t->how.simulate;
    int        status   = DONE;
    for (int i = 0; i < x->size_count && status == DONE && !(simulate && x->machine_count); i++)
        status = add_size(x, i);
    for (int m = 0; m < x->machine_count; m++)
        for (int i = 0; i < x->size_count && status == DONE; i++)
            status = add_case(x, (kn_cross_case){ x->bindings[i].args, x->bindings[i].arg_count, x->machines[m], NULL },
                              label_of(x, i, m, simulate ? "" : ", simulated"), simulate, -1);
    const char *path;
    for (int i = 0; status == DONE && (path = option_value(x->cli, OPTION_CROSS_SCHEDULE, i)); i++) {
        const char *text;
        size_t      length;
        status = file_read(x->cli, path, &text, &length);
        if (status == DONE)
            status = add_case(x, (kn_cross_case){ NULL, 0, NULL, text }, short_name(x->cli, path), false, -1);
    }
    if (status == DONE && x->count < 2)
        return usage(x->cli, "--cross compares: give --size, --machine or --schedule again");
    return status;
}

/* ---- The table ---- */

/* A figure that is not surely above or below 1 says so. */
static const char *cell_text(Cli *cli, const kn_cross_cell *cell, bool is_own)
{
    enum { ROOM = 32 };
    static const double noise = 0.01;
    char               *text  = cli_alloc(cli, ROOM);
    if (cell->fault)
        return cell->fault;
    if (!(cell->ratio > 0))
        return "-";
    snprintf(text, ROOM, "%s%.2f", cell->chance > noise && !is_own ? "~" : "", cell->ratio);
    return text;
}

static int width_of(const char *label, int least)
{
    return (int)strlen(label) > least ? (int)strlen(label) : least;
}

/* A line of the table: its head, and the text of each column. */
static void print_line(const Cross *x, const char *head, const char *const *cells)
{
    enum { LEAST = 8 };
    int width = (int)sizeof "tuned for" - 1;
    for (int i = 0; i < x->count; i++)
        width = width_of(x->labels[i], width);
    printf("%-*s", width, head);
    for (int j = 0; j < x->count; j++)
        if (x->is_column[j])
            printf("  %*s", width_of(x->labels[j], LEAST), cells[j]);
    putchar('\n');
}

static void print_table(const Cross *x, const kn_crossed *r)
{
    enum { ROOM = 32 };
    const char *cells[MOST_CASES];
    print_line(x, "tuned for", x->labels);
    for (int i = 0; i < x->count; i++) {
        for (int j = 0; j < x->count; j++)
            cells[j] = cell_text(x->cli, &r->cells[i * x->count + j], i == j);
        print_line(x, x->labels[i], cells);
    }
    for (int j = 0; j < x->count; j++) {
        char *text = cli_alloc(x->cli, ROOM);
        snprintf(text, ROOM, "%.4g", r->ms[j]);
        cells[j] = text;
    }
    print_line(x, "ms", cells);
    puts("\nA column is what was run, ms the time of the schedule tuned for it. The others are medians of ratios to "
         "that, in "
         "turns.\n~: as much would be seen by chance more often than in 1 % of cases.");
    for (int m = 0; m < x->machine_count; m++)
        if (strchr(x->machines[m], '=') && !strchr(x->machines[m], '\n'))
            printf("%s: %s\n", x->names[m], x->machines[m]);
}

static void say_faults(const Cross *x, const kn_crossed *r)
{
    for (int i = 0; i < x->count; i++)
        for (int j = 0; j < x->count; j++) {
            const kn_cross_cell *cell = &r->cells[i * x->count + j];
            if (cell->fault)
                say("the schedule for %s, run on %s: %s%s%s", x->labels[i], x->labels[j], cell->fault,
                    cell->reason ? ": " : "", cell->reason ? cell->reason : "");
        }
}

static int run_cases(Cross *x)
{
    Tune      *t = x->t;
    kn_crossed r;
    t->labels = x->labels;
    tune_catch_interrupts(true);
    const kn_status status = kn_cross(x->bindings[0].program.pipeline, &t->options, &t->how, x->cases, x->count, &r);
    tune_catch_interrupts(false);
    tune_clear_line(t);
    if (status != KN_OK)
        return report_about(x->cli, t->program);
    for (int i = 0; i < x->count; i++)
        if (x->size_of[i] >= 0)
            tuned_keep(x->cli, &x->bindings[x->size_of[i]], &t->options, r.schedules[i]);
    print_table(x, &r);
    say_faults(x, &r);
    return DONE;
}

int tune_cross(Tune *t)
{
    Cross *x                      = cli_alloc(t->cli, sizeof *x);
    x->t                          = t;
    x->cli                        = t->cli;
    t->how.machine                = machine_calibrated(t->cli);
    int (*const steps[])(Cross *) = { read_machines, prepare_sizes, add_cases, run_cases };
    int status                    = refuse(t->cli);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == DONE; i++)
        status = steps[i](x);
    for (int i = 0; i < x->size_count; i++)
        bindings_free(&x->bindings[i]);
    return status;
}
