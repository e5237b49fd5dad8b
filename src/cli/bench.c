/* SPDX-License-Identifier: MIT */
/* kiln bench [FILE|APP [name=VALUE …]] …: the schedules of programs, measured against each other.
 *
 * For each program: every schedule is compiled with every number of threads, run once and compared with the first; then
 * they take turns. One that fails is said, and the others go on. */
#include "cli.h"

#include <ctype.h>
#include <glob.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = 16 };

typedef struct Bench {
    kn_options options;
    Protocol   how;
    int        threads[MOST_THREADS], thread_count;
    Contender *at;
    int        count;
    Progress   progress;
} Bench;

/* ---- Settings ---- */

static int default_threads(void)
{
    const char *text = getenv("KN_NUM_THREADS");
    const int   told = text ? atoi(text) : 0;
    cpu_set_t   set;
    if (told > 0)
        return told;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

static int read_threads(Cli *cli, Bench *bench)
{
    const char *text = option_value(cli, OPTION_BENCH_THREADS, 0), *at = text;
    if (!text) {
        bench->threads[bench->thread_count++] = default_threads();
        return DONE;
    }
    for (char *end; bench->thread_count < MOST_THREADS; at = end + 1) {
        const long n = strtol(at, &end, 10);
        if (end == at || n < 1 || n > 10000 || (*end && *end != ','))
            break;
        bench->threads[bench->thread_count++] = (int)n;
        if (!*end)
            return DONE;
    }
    return usage(cli, "--threads %s: numbers from 1 to 10000 were expected, as in 1,2", text);
}

static int read_number(Cli *cli, OptionId id, double least, double most, double *value)
{
    const char *text = option_value(cli, id, 0);
    char       *end;
    if (!text)
        return DONE;
    *value = strtod(text, &end);
    if (end == text || *end || !(*value >= least && *value <= most))
        return usage(cli, "%s %s: a number from %g to %g was expected", option_table[id].name, text, least, most);
    return DONE;
}

static int read_settings(Cli *cli, Bench *bench)
{
    double rounds = 5;
    bench->how    = (Protocol){ .seconds = 1 };
    int status    = compile_options(cli, &bench->options);
    if (status == DONE)
        status = device_of_target(bench->options.target, &bench->how.device);
    if (status == DONE)
        status = read_threads(cli, bench);
    if (status == DONE)
        status = read_number(cli, OPTION_SECONDS, 0, 3600, &bench->how.seconds);
    if (status == DONE)
        status = read_number(cli, OPTION_ROUNDS, 1, 1000, &rounds);
    bench->how.rounds = (int)rounds;
    return status;
}

/* ---- Programs and their arguments ---- */

static const char *join(Cli *cli, const char *a, const char *b)
{
    const size_t n    = strlen(a) + strlen(b) + 1;
    char        *text = cli_alloc(cli, n);
    snprintf(text, n, "%s%s", a, b);
    return text;
}

/* Is it NAME=VALUE? Anything else is a program. */
static bool is_argument(const char *word)
{
    size_t n = 0;
    while (isalnum((unsigned char)word[n]) || word[n] == '_' || word[n] == '.')
        n++;
    return n > 0 && word[n] == '=';
}

static const char *without_ending(Cli *cli, const char *path)
{
    static const char ending[] = ".kiln";
    const size_t      n        = strlen(path);
    const bool        has      = n > strlen(ending) && !strcmp(path + n - strlen(ending), ending);
    return cli_strndup(cli, path, has ? n - strlen(ending) : n);
}

const char *program_path(Cli *cli, const char *word)
{
    if (strchr(word, '/') || strchr(word, '.') || !strcmp(word, "-") || access(word, R_OK) == 0)
        return word;
    const char *folder = join(cli, "apps/", word), *name = join(cli, "/", join(cli, word, ".kiln"));
    return join(cli, folder, name);
}

/* The lines of a file of arguments as words: an option and what belongs to it are two. */
static char **split_lines(Cli *cli, const char *text, size_t length, int *count)
{
    char **words = cli_alloc(cli, sizeof *words * (length + 2));
    *count       = 0;
    for (const char *at = text, *end = text + length; at < end;) {
        const size_t n    = strcspn(at, "\n");
        char        *line = cli_strndup(cli, at, n);
        at += n + 1;
        line += strspn(line, " \t");
        for (size_t last = strlen(line); last > 0 && isspace((unsigned char)line[last - 1]); last--)
            line[last - 1] = 0;
        if (!*line || !strncmp(line, "//", 2))
            continue;
        words[(*count)++]  = line;
        const size_t first = strcspn(line, " ");
        if (line[0] == '-' && line[first]) {
            line[first]       = 0;
            words[(*count)++] = line + first + 1 + strspn(line + first + 1, " ");
        }
    }
    return words;
}

int add_bench_file(Cli *cli)
{
    const char *path = join(cli, without_ending(cli, cli->operands[0]), ".bench"), *text;
    const Cli   had  = *cli;
    size_t      length;
    int         count;
    if (access(path, F_OK) != 0)
        return DONE;
    if (file_read(cli, path, &text, &length) != DONE)
        return FAILED;
    char **words     = split_lines(cli, text, length, &count);
    cli->given_count = cli->operand_count = 0;
    const int status                      = options_parse(cli, count, words);
    if (status != DONE) {
        say("that is in %s", path);
        return status;
    }
    const char **operands = cli_alloc(cli, sizeof *operands * (size_t)(cli->operand_count + 1));
    Given       *given    = cli_alloc(cli, sizeof *given * (size_t)(cli->given_count + had.given_count + 1));
    operands[0]           = had.operands[0];
    memcpy(operands + 1, cli->operands, sizeof *operands * (size_t)cli->operand_count);
    memcpy(given, cli->given, sizeof *given * (size_t)cli->given_count);
    memcpy(given + cli->given_count, had.given, sizeof *given * (size_t)had.given_count);
    cli->operands = operands;
    cli->operand_count++;
    cli->given = given;
    cli->given_count += had.given_count;
    return DONE;
}

/* ---- Contenders ---- */

static void add_contender(Bench *bench, const char *name, const char *file, const char *schedule)
{
    bench->at[bench->count++] = (Contender){ .name = name, .file = file, .schedule = schedule };
}

/* No schedule; what `auto` makes, which is what kiln run makes too; what the program has. */
static void add_own(Bench *bench, const kn_pipeline *p)
{
    add_contender(bench, "none", NULL, "");
    add_contender(bench, "auto", NULL, NULL);
    bench->at[0].scheduler = "none";
    bench->at[1].scheduler = "auto";
    bench->at[1].optional  = true;
    bool unnamed           = false;
    for (int i = 0; i < kn_schedule_count(p); i++) {
        const char *name = kn_schedule_name(p, i);
        if (name)
            add_contender(bench, name, NULL, name);
        unnamed = unnamed || !name;
    }
    if (unnamed)
        add_contender(bench, "unnamed", NULL, NULL);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The target of NAME.TARGET.sched; NULL: the file names none. */
static const char *target_of_file(const char *path)
{
    for (int i = 0; kn_target_name(i); i++) {
        const char  *target = kn_target_name(i);
        const size_t all = strlen(path), end = strlen(target) + strlen(".sched");
        if (all > end && path[all - end - 1] == '.' && !strncmp(path + all - end, target, strlen(target)))
            return target;
    }
    return NULL;
}

/* NAME.sched and NAME.*.sched beside NAME.kiln. With a device those that are for one, else those that are for none. */
static void add_schedule_files(Cli *cli, Bench *bench, const glob_t *found)
{
    for (size_t i = 0; i < found->gl_pathc; i++) {
        const char *path = join(cli, found->gl_pathv[i], ""), *target = target_of_file(path);
        if (!(target && kn_target_device(target)) == !kn_target_device(bench->options.target))
            add_contender(bench, base_name(path), path, NULL);
    }
}

/* Adds each scheduler once. One that was asked for by name reports why it makes no schedule. */
static void add_scheduler(Bench *bench, const char *name)
{
    int i = 0;
    while (i < bench->count && !(bench->at[i].scheduler && !strcmp(bench->at[i].scheduler, name)))
        i++;
    if (i == bench->count)
        add_contender(bench, name, NULL, NULL);
    bench->at[i].scheduler = name;
    bench->at[i].optional  = false;
}

static void add_given(Cli *cli, Bench *bench)
{
    const char *value;
    for (int i = 0; (value = option_value(cli, OPTION_BENCH_SCHEDULE, i)); i++)
        add_contender(bench, base_name(value), value, NULL);
    for (int i = 0; (value = option_value(cli, OPTION_BENCH_SCHEDULER, i)); i++)
        add_scheduler(bench, scheduler_without(cli, value));
    if (!option_value(cli, OPTION_BENCH_SCHEDULER, 0) && option_given(cli, OPTION_WITHOUT))
        add_scheduler(bench, scheduler_without(cli, NULL));
}

/* Keeps the contenders that --only names. */
static int select_only(Cli *cli, Bench *bench)
{
    const char *name;
    int         kept = 0;
    for (int i = 0; (name = option_value(cli, OPTION_ONLY, i)); i++) {
        int k = kept;
        while (k < bench->count && strcmp(bench->at[k].name, name))
            k++;
        if (k == bench->count) {
            const char *list = "";
            for (int j = 0; j < bench->count; j++)
                list = join(cli, list, join(cli, j ? ", " : "", bench->at[j].name));
            return usage(cli, "--only %s: %s has no such schedule; there are: %s", name, cli->operands[0], list);
        }
        const Contender c = bench->at[k];
        bench->at[k]      = bench->at[kept];
        bench->at[kept++] = c;
    }
    bench->count = kept ? kept : bench->count;
    return DONE;
}

/* Repeats the contenders for every number of threads. */
static void add_threads(Bench *bench)
{
    const int schedules = bench->count;
    for (int t = 0; t < bench->thread_count; t++)
        for (int i = 0; i < schedules; i++) {
            Contender *c = &bench->at[t * schedules + i];
            *c           = bench->at[i];
            c->threads   = bench->threads[t];
        }
    bench->count = schedules * bench->thread_count;
}

static int list_contenders(Cli *cli, Bench *bench, const kn_pipeline *p)
{
    const char *name   = without_ending(cli, cli->operands[0]);
    glob_t      beside = { 0 };
    if (!option_given(cli, OPTION_BENCH_SCHEDULE)) {
        glob(join(cli, name, ".sched"), 0, NULL, &beside);
        glob(join(cli, name, ".*.sched"), GLOB_APPEND, NULL, &beside);
    }
    const size_t most = (size_t)(3 + kn_schedule_count(p) + cli->given_count) + beside.gl_pathc;
    bench->at         = cli_alloc(cli, sizeof *bench->at * most * (size_t)bench->thread_count);
    bench->count      = 0;
    add_own(bench, p);
    add_schedule_files(cli, bench, &beside);
    add_given(cli, bench);
    globfree(&beside);
    const int status = select_only(cli, bench);
    if (status == DONE)
        add_threads(bench);
    return status;
}

/* ---- Measuring ---- */

static void drop(Bench *bench, int i)
{
    contender_close(&bench->at[i]);
    memmove(&bench->at[i], &bench->at[i + 1], sizeof *bench->at * (size_t)(bench->count - i - 1));
    bench->count--;
}

/* Compiles all and runs each once; those that cannot are dropped. */
static int prepare(Cli *cli, Bench *bench, const Bindings *b, kn_buffer *reference)
{
    int status = DONE;
    for (int i = 0; i < bench->count;) {
        Contender *c = &bench->at[i];
        progress_next(&bench->progress, "compiling", c->name);
        int good = contender_open(cli, &bench->options, b, c);
        if (good == DONE)
            good = contender_try(cli, c, b, reference);
        progress_end(&bench->progress);
        if (good == DONE) {
            i++;
            continue;
        }
        status = failed("%s: the schedule %s is left out", b->program.path, c->name);
        drop(bench, i);
    }
    return status;
}

static int take_turns(Cli *cli, Bench *bench, const Bindings *b)
{
    enum { LEAST_RUNS = 3 };
    const int rounds = bench->how.rounds, turns = rounds * bench->count, least = (LEAST_RUNS + rounds - 1) / rounds;
    int       status = DONE;
    progress_next(&bench->progress, "measuring", b->program.path);
    for (int i = 0; i < turns && status == DONE; i++) {
        progress_count(&bench->progress, i, turns);
        status =
            contender_turn(cli, &bench->at[i % bench->count], b, bench->how.device, bench->how.seconds / rounds, least);
    }
    progress_end(&bench->progress);
    return status;
}

static int check_agreement(const Bench *bench, const Bindings *b)
{
    int status = DONE;
    for (int i = 0; i < bench->count; i++)
        if (bench->at[i].share > 1e-3)
            status = failed("%s: the result under the schedule %s is not that of %s", b->program.path,
                            bench->at[i].name, bench->at[0].name);
    return status;
}

/* The table, and with a device its kernels. */
static int print_table(Cli *cli, const Bench *bench, const Bindings *b)
{
    int status = DONE;
    bench_table(cli, b, bench->at, bench->count, &bench->how);
    for (int i = 0; i < bench->count && bench->how.device && status == DONE; i++)
        status = contender_kernels(cli, &bench->at[i], b, bench->how.device);
    return status;
}

static int measure(Cli *cli, Bench *bench, const Bindings *b)
{
    kn_buffer *reference = cli_alloc(cli, sizeof *reference * (size_t)(b->count + 1));
    const int  left_out  = prepare(cli, bench, b, reference);
    int        status    = bench->count ? DONE : FAILED;
    if (status == DONE && bench->how.device)
        status = bindings_to_device(b, bench->how.device);
    if (status == DONE)
        status = take_turns(cli, bench, b);
    if (status == DONE && option_given(cli, OPTION_JSON))
        bench_json(cli, b, bench->at, bench->count);
    else if (status == DONE)
        status = print_table(cli, bench, b);
    bindings_from_device(b);
    if (status != DONE)
        return status;
    fflush(stdout);
    const int agreement = check_agreement(bench, b);
    return left_out != DONE ? left_out : agreement;
}

/* The program is the first operand, its arguments the others. */
static int bench_program(Cli *cli, Bench *bench)
{
    Bindings b      = { 0 };
    int      status = cli->operand_count == 1 ? add_bench_file(cli) : DONE;
    bench->count    = 0;
    if (status == DONE)
        status = bindings_prepare(cli, &b);
    bench->progress = (Progress){ .begun = now() };
    if (status == DONE)
        status = list_contenders(cli, bench, b.program.pipeline);
    if (status == DONE)
        status = measure(cli, bench, &b);
    if (status == DONE)
        status = bindings_save(cli, &b);
    for (int i = 0; i < bench->count; i++)
        contender_close(&bench->at[i]);
    bindings_free(&b);
    return status;
}

/* Measures one program in its own context, so that definitions do not leak into the next. */
static int bench_in_context(Cli *cli, Bench *bench, const char *path, const char **arguments, int count)
{
    const Cli    had      = *cli;
    const char **operands = cli_alloc(cli, sizeof *operands * (size_t)(count + 1));
    operands[0]           = path;
    memcpy(operands + 1, arguments, sizeof *operands * (size_t)count);
    cli->operands      = operands;
    cli->operand_count = count + 1;
    int status;
    cli->cx = context_open(cli, &status);
    if (cli->cx)
        status = bench_program(cli, bench);
    kn_context_free(cli->cx);
    struct Allocation *blocks = cli->blocks;
    *cli                      = had;
    cli->blocks               = blocks;
    return status;
}

/* The apps that have a schedule. */
static int list_apps(Cli *cli)
{
    glob_t found = { 0 };
    glob("apps/*/*.sched", 0, NULL, &found);
    cli->operands = cli_alloc(cli, sizeof *cli->operands * (found.gl_pathc + 1));
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char  *path = found.gl_pathv[i];
        const size_t n    = strlen(path) - strlen(".sched");
        const char  *file = join(cli, cli_strndup(cli, path, n), ".kiln");
        if (access(file, R_OK) == 0)
            cli->operands[cli->operand_count++] = file;
    }
    globfree(&found);
    return cli->operand_count ? DONE
                              : usage(cli, "which program? kiln bench FILE …; without one all of apps/ that have a "
                                           "schedule, but there is no apps/ here");
}

int command_bench(Cli *cli)
{
    Bench bench  = { 0 };
    int   status = read_settings(cli, &bench);
    if (status == DONE && cli->operand_count == 0)
        status = list_apps(cli);
    if (status == DONE && is_argument(cli->operands[0]))
        status = usage(cli, "`%s`: the program comes first: kiln bench FILE %s", cli->operands[0], cli->operands[0]);
    if (status == DONE)
        status = backend_load(cli);
    if (status != DONE)
        return status;
    for (int i = 0, next; i < cli->operand_count; i = next) {
        next = i + 1;
        while (next < cli->operand_count && is_argument(cli->operands[next]))
            next++;
        const char *path = program_path(cli, cli->operands[i]);
        const int   one  = bench_in_context(cli, &bench, path, cli->operands + i + 1, next - i - 1);
        status           = one > status ? one : status;
    }
    return status;
}
