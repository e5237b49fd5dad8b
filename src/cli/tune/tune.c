/* SPDX-License-Identifier: MIT */
/* kiln tune FILE|APP [name=VALUE …]: searches for a fast schedule by measuring.
 *
 * Tells   on a terminal, in its last line, the speed-up so far and the time left; elsewhere, and before that line, each
 *         step forward. What shows a mistake of Kiln is written to a file that repeats it.
 * Ctrl-C  ends the search; the best so far is kept. A second one ends the command at once. */
#include "cli/tune/tune.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FAULT_FILES = 10 };

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    interrupted = 1;
    signal(number, SIG_DFL);
}

/* ---- Settings ---- */

static int read_time(const Cli *cli, OptionId id, double *out)
{
    static const struct {
        const char *unit;
        double      seconds;
    } units[]        = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 } };
    const char *text = option_value(cli, id, 0);
    char       *end;
    if (!text)
        return DONE;
    const double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++)
        if (!strcmp(end, units[i].unit) && value * units[i].seconds > 0 && value * units[i].seconds <= 1e7) {
            *out = value * units[i].seconds;
            return DONE;
        }
    return usage(cli, "%s %s: a time was expected, as in 90s, 10m or 1h", option_table[id].name, text);
}

static int read_count(const Cli *cli, OptionId id, long least, long most, long *out)
{
    const char *text = option_value(cli, id, 0);
    char       *end;
    if (!text)
        return DONE;
    *out = strtol(text, &end, 10);
    if (end == text || *end || *out < least || *out > most)
        return usage(cli, "%s %s: a number from %ld to %ld was expected", option_table[id].name, text, least, most);
    return DONE;
}

static int read_settings(Tune *t)
{
    Cli *cli        = t->cli;
    long candidates = 0, population = 0, generations = 0, seed = 1;
    int  status = compile_options(cli, &t->options);
    if (status == DONE)
        status = read_time(cli, OPTION_TUNE_BUDGET, &t->how.seconds);
    if (status == DONE)
        status = read_count(cli, OPTION_CANDIDATES, 1, 100000000, &candidates);
    if (status == DONE)
        status = read_count(cli, OPTION_POPULATION, 4, 100000, &population);
    if (status == DONE)
        status = read_count(cli, OPTION_GENERATIONS, 1, 100000000, &generations);
    if (status == DONE)
        status = read_count(cli, OPTION_SEED, 0, 1000000000, &seed);
    t->how.candidates  = (int)candidates;
    t->how.population  = (int)population;
    t->how.generations = (int)generations;
    t->how.seed        = (uint64_t)seed;
    t->how.algorithm   = option_value(cli, OPTION_ALGORITHM, 0);
    t->how.simulate    = option_given(cli, OPTION_SIMULATE);
    t->how.resume      = option_given(cli, OPTION_RESUME);
    t->output          = option_value(cli, OPTION_TUNE_OUTPUT, 0);
    if (status == DONE && t->how.resume && !t->output)
        status = usage(cli, "--resume: the journal is FILE.sched.journal; which file? -o FILE.sched");
    return status;
}

static const char *joined(Cli *cli, const char *a, const char *b)
{
    const size_t n    = strlen(a) + strlen(b) + 1;
    char        *text = cli_alloc(cli, n);
    snprintf(text, n, "%s%s", a, b);
    return text;
}

/* A path without that ending. */
static const char *without(Cli *cli, const char *path, const char *ending)
{
    const size_t n = strlen(path), e = strlen(ending);
    return cli_strndup(cli, path, n > e && !strcmp(path + n - e, ending) ? n - e : n);
}

/* ---- Arguments ---- */

static bool has_inputs(const Bindings *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->at[i].port.kind == KN_INPUT && !b->at[i].text)
            return false;
    return true;
}

int tune_prepare(Tune *t, Bindings *b)
{
    Cli *cli    = t->cli;
    int  status = bindings_load(cli, true, b);
    if (status != DONE)
        return status;
    if (t->how.simulate) {
        bindings_estimate(b);
        return bindings_fit(cli, b);
    }
    if (!has_inputs(b))
        return bindings_make_up(cli, b);
    bindings_free(b);
    return bindings_prepare(cli, b);
}

/* ---- What is told ---- */

void tune_clear_line(Tune *t)
{
    if (t->shown)
        fputs("\033[K", stderr);
    t->shown = false;
}

static void show_line(Tune *t, const kn_tune_step *s)
{
    enum { FEW = 1 };
    if (!t->terminal || now() - t->last_shown < 0.1 * FEW)
        return;
    t->last_shown = now();
    fprintf(stderr, "\033[Kkiln: tuning %s … %.2fx auto, %d candidates, %.0f s left%s\r", t->program, s->speedup,
            s->number + 1, s->left, s->is_busy ? "; the machine is busy" : "");
    t->shown = true;
}

/* The schedule of a fault with a comment that says what it shows and how to see it again. */
static void write_fault(Tune *t, const kn_tune_step *s)
{
    char number[40];
    snprintf(number, sizeof number, ".fault-%d.sched", t->faults + 1);
    const char *path = joined(t->cli, t->base, number);
    tune_clear_line(t);
    t->faults++;
    if (t->faults > MOST_FAULT_FILES)
        return;
    FILE      *file = fopen(path, "w");
    const bool fine =
        file &&
        fprintf(file,
                "// A candidate of kiln tune that %s: %s\n// It was made by: %s\n// kiln run %s … --schedule %s "
                "repeats it. This is a mistake of Kiln: please report it with the program.\n%s",
                s->result, s->reason ? s->reason : "no reason is known", s->what, t->program, path, s->schedule) > 0;
    if (file ? fclose(file) || !fine : true)
        say("candidate %d: %s: %s; %s cannot be written: %s", s->number, s->result, s->reason ? s->reason : "", path,
            strerror(errno));
    else
        say("candidate %d: %s: %s; %s repeats it", s->number, s->result, s->reason ? s->reason : "", path);
}

static int told(void *user, const kn_tune_step *s)
{
    Tune *t = user;
    page_add(&t->page, s);
    if (s->is_fault)
        write_fault(t, s);
    if (s->is_busy && !t->said_busy) {
        tune_clear_line(t);
        say("the machine is busy: the median of equal turns is %.0f %% above the shortest; more of them are taken",
            100 * s->spread);
        t->said_busy = true;
    }
    if (t->labels && s->number == 0)
        say("searching for %s", t->labels[s->of]);
    if (s->is_best && !s->is_fault) {
        tune_clear_line(t);
        if (s->number == 0)
            say("start: %s, %.3f ms", s->what, s->ms);
        else
            say("%.3fx auto after %d candidates, %.1f s: %s", s->speedup, s->number, s->seconds, s->what);
    }
    show_line(t, s);
    return !interrupted;
}

/* ---- The result ---- */

static int write_schedule(Tune *t, const char *text)
{
    if (!t->output) {
        fputs(text, stdout);
        return DONE;
    }
    FILE      *file = fopen(t->output, "w");
    const bool fine = file && fputs(text, file) >= 0;
    if (file ? fclose(file) || !fine : true)
        return failed("%s: cannot be written: %s", t->output, strerror(errno));
    say("wrote %s", t->output);
    return DONE;
}

static void say_result(const Tune *t, const kn_tuned *r)
{
    if (r->wrong >= 1)
        say("%s: of %d candidates none is surely faster than auto, %.3f ms; the best took %.3f of its time in the last "
            "check",
            t->program, r->candidates, r->start_ms, r->checked);
    else
        say("%s: %.2f times as fast as auto, surely but for a chance of %.1g; %d candidates, %.0f s", t->program,
            r->speedup, r->wrong, r->candidates, r->seconds);
    if (r->faults)
        say("%d candidates have shown mistakes of Kiln", r->faults);
}

void tune_catch_interrupts(bool on)
{
    static struct sigaction before;
    const struct sigaction  how = { .sa_handler = interrupt };
    sigaction(SIGINT, on ? &how : &before, on ? &before : NULL);
}

/* The search. Its journal is of no more use when it came to its end. */
static int search(Tune *t, const Bindings *b, kn_tuned *result)
{
    tune_catch_interrupts(true);
    const kn_status status = kn_tune(b->program.pipeline, &t->options, &t->how, b->args, b->arg_count, result);
    tune_catch_interrupts(false);
    tune_clear_line(t);
    if (status != KN_OK)
        return report_about(t->cli, t->program);
    if (t->how.journal && !interrupted)
        unlink(t->how.journal);
    return DONE;
}

int tune_machine(Cli *cli, const char *given, const char **text)
{
    size_t length;
    *text              = given;
    const bool is_file = !strchr(given, '=') && (strpbrk(given, "./") || access(given, R_OK) == 0);
    return is_file ? file_read(cli, given, text, &length) : DONE;
}

/* The search and its result. */
static int tune_one(Tune *t)
{
    Cli        *cli     = t->cli;
    Bindings    b       = { 0 };
    const char *machine = option_value(cli, OPTION_MACHINE, 0);
    kn_tuned    result;
    t->page        = (Page){ .path = option_value(cli, OPTION_TUNE_HTML, 0), .program = t->program };
    t->how.journal = t->output && !t->how.simulate ? joined(cli, t->output, ".journal") : NULL;
    t->how.machine = machine ? NULL : machine_calibrated(cli);
    int status     = cli->operand_count == 1 ? add_bench_file(cli) : DONE;
    if (status == DONE && machine)
        status = tune_machine(cli, machine, &t->how.machine);
    if (status == DONE)
        status = tune_prepare(t, &b);
    if (status == DONE)
        status = search(t, &b, &result);
    if (status == DONE) {
        say_result(t, &result);
        status = write_schedule(t, result.schedule);
        if (!t->how.simulate)
            tuned_keep(cli, &b, &t->options, result.schedule);
        if (status == DONE)
            status = page_write(&t->page, result.schedule);
    }
    page_free(&t->page);
    bindings_free(&b);
    return status;
}

int command_tune(Cli *cli)
{
    Tune t = { .cli = cli, .terminal = isatty(STDERR_FILENO) };
    if (option_given(cli, OPTION_TUNE_LIST))
        return tuned_list(cli);
    if (cli->operand_count == 0)
        return usage(cli, "which program? kiln tune FILE …");
    const int status = read_settings(&t);
    if (status != DONE)
        return status;
    cli->operands[0] = t.program = program_path(cli, cli->operands[0]);
    t.base                       = without(cli, t.output ? t.output : t.program, t.output ? ".sched" : ".kiln");
    t.how.step                   = told;
    t.how.user                   = &t;
    if (option_given(cli, OPTION_CROSS_SCHEDULE) && !option_given(cli, OPTION_CROSS))
        return usage(cli, "--schedule is a row of the table of --cross");
    return option_given(cli, OPTION_CROSS) ? tune_cross(&t) : tune_one(&t);
}
