/* SPDX-License-Identifier: MIT */
/* The options: one table, which drives the parsing, the help and the man page. */
#include "cli.h"

#include <string.h>

#define IN(id) (1u << COMMAND_##id)

/* clang-format off */
const Option option_table[OPTION_COUNT] = {
    [OPTION_DEFINE]        = { "--define", 'D', "NAME=VALUE",
                               IN(CHECK) | IN(RUN) | IN(BUILD) | IN(SHOW) | IN(SCHEDULE) | IN(BENCH) | IN(TUNE),
                               "give a const or a type of the program another value" },
    [OPTION_NO_WARN]       = { "--no-warn", 0, "NAME",
                               IN(CHECK) | IN(RUN) | IN(BUILD) | IN(SHOW) | IN(SCHEDULE) | IN(BENCH) | IN(TUNE),
                               "leave out the warnings of that name, which stands behind each in brackets; can be "
                               "given again" },
    [OPTION_WITH_SCHEDULE] = { "--schedule", 0, "FILE.sched", IN(CHECK) | IN(RUN) | IN(BUILD) | IN(SHOW),
                               "add the schedule of that file to the program" },
    [OPTION_BENCH_SCHEDULE] = { "--schedule", 0, "FILE.sched", IN(BENCH),
                               "measure this schedule instead of those beside the program; can be given again" },
    [OPTION_ONLY]          = { "--only", 0, "SCHEDULE", IN(BENCH),
                               "measure just the schedule that the table calls so; `none` is the program without "
                               "one. Can be given again" },
    [OPTION_SCHEDULE_NAME] = { "--schedule-name", 0, "NAME", IN(RUN) | IN(BUILD) | IN(SHOW),
                               "obey the schedule of that name; else it is the last without a name, or the only one" },
    [OPTION_SCHEDULER]     = { "--scheduler", 0, "NAME", IN(RUN) | IN(BUILD) | IN(SHOW) | IN(SCHEDULE),
                               "make the schedule that is obeyed; kiln schedule --list says what there is" },
    [OPTION_BENCH_SCHEDULER] = { "--scheduler", 0, "NAME", IN(BENCH),
                                 "measure the schedule that this scheduler makes, too; can be given again" },
    [OPTION_WITHOUT]       = { "--without", 0, "RULE", IN(RUN) | IN(BUILD) | IN(SCHEDULE) | IN(BENCH),
                               "leave a rule of the schedulers out, as /no-RULE behind a scheduler's name does: "
                               "chains, prefetch, channels …; a wrong name is answered with all of them. Can be "
                               "given again" },
    [OPTION_MACHINE]       = { "--machine", 0, "TEXT|FILE|NAME", IN(RUN) | IN(SCHEDULE) | IN(BENCH) | IN(TUNE),
                               "make the schedule for another machine: "
                               "cores=8,vector_bits=256,l1=32k,l2=512k,l3=16M, a file with such lines, or a name of "
                               "share/kiln/machines, as raspberry-pi-5" },
    [OPTION_BUDGET]        = { "--budget", 0, "SECONDS", IN(RUN) | IN(BUILD) | IN(SCHEDULE),
                               "the time that a scheduler may take, 2 if not given" },
    [OPTION_TUNE_BUDGET]   = { "--budget", 0, "TIME", IN(TUNE),
                               "the time of the search: 90, 90s, 10m or 1h; 60 s if not given" },
    [OPTION_ALGORITHM]     = { "--algorithm", 0, "NAME", IN(TUNE),
                               "model (if not given): edits of the best schedules, in the order of predictions that "
                               "are corrected by what is measured; genetic: the search of Ragan-Kelley et al. 2013" },
    [OPTION_CANDIDATES]    = { "--candidates", 0, "N", IN(TUNE),
                               "try at most so many; else as many as there is time for" },
    [OPTION_POPULATION]    = { "--population", 0, "N", IN(TUNE), "individuals of a generation, 128 if not given" },
    [OPTION_GENERATIONS]   = { "--generations", 0, "N", IN(TUNE),
                               "at most so many; else as many as there is time for" },
    [OPTION_SIMULATE]      = { "--simulate", 0, NULL, IN(TUNE),
                               "compile and run nothing: times are those of the model, with errors and noise by the "
                               "seed, and the clock is counted. The same seed gives the same search" },
    [OPTION_SEED]          = { "--seed", 0, "N", IN(TUNE), "of all that is drawn at random, 1 if not given" },
    [OPTION_RESUME]        = { "--resume", 0, NULL, IN(TUNE),
                               "continue the search whose journal, FILE.sched.journal, is there: what it has measured "
                               "is not measured again" },
    [OPTION_TUNE_HTML]     = { "--html", 0, "FILE.html", IN(TUNE),
                               "a page with the curve of the best over time and what changed at each step; it is "
                               "written while the search runs" },
    [OPTION_TUNE_LIST]     = { "--list", 0, NULL, IN(TUNE),
                               "the schedules that were found on this machine before; needs no program" },
    [OPTION_CROSS]         = { "--cross", 0, NULL, IN(TUNE),
                               "run what is tuned for each --size, which can be given again, on the others, and print "
                               "a table of slowdowns; with --simulate also for each --machine. Kept schedules are "
                               "taken; for what has none there is a search of --budget" },
    [OPTION_CROSS_SCHEDULE] = { "--schedule", 0, "FILE.sched", IN(TUNE),
                                "a row more in the table of --cross: this schedule, as from another machine. Can be "
                                "given again" },
    [OPTION_TUNED]         = { "--tuned", 0, NULL, IN(RUN),
                               "obey the schedule that kiln tune has found for this program on this machine, if there "
                               "is one" },
    [OPTION_MEASURE]       = { "--measure", 0, NULL, IN(RUN) | IN(SCHEDULE),
                               "run what each scheduler makes, and take the fastest; kiln schedule makes inputs up "
                               "that are not given" },
    [OPTION_EXPLAIN]       = { "--explain", 0, NULL, IN(SCHEDULE),
                               "why: the groups as a picture and a table: tiles, memory, what is computed twice, "
                               "predicted time, what was refused" },
    [OPTION_HTML]          = { "--html", 0, "FILE.html", IN(SCHEDULE), "the same as a page, with a drawing" },
    [OPTION_SCHEDULE_GRAPH] = { "--graph", 0, NULL, IN(SCHEDULE),
                                "what schedulers know of the program: sizes, accesses, work" },
    [OPTION_LIST]          = { "--list", 0, NULL, IN(SCHEDULE), "the schedulers there are; needs no program" },
    [OPTION_OUTPUT]        = { "--output", 'o', "[NAME=]IMAGE", IN(RUN) | IN(BENCH),
                               "write an output to a file, in the format that its ending names: {endings}" },
    [OPTION_BUILD_OUTPUT]  = { "--output", 'o', "DIR/NAME", IN(BUILD),
                               "the files' name without endings; NAME is the C function" },
    [OPTION_SCHEDULE_OUTPUT] = { "--output", 'o', "FILE.sched", IN(SCHEDULE),
                                 "write the schedule to a file instead of printing it" },
    [OPTION_TUNE_OUTPUT]   = { "--output", 'o', "FILE.sched", IN(TUNE),
                               "write the schedule to a file instead of printing it" },
    [OPTION_CALIBRATE_OUTPUT] = { "--output", 'o', "FILE", IN(CALIBRATE),
                                  "write the machine to this file instead, for --machine FILE" },
    [OPTION_CALIBRATE_TARGET] = { "--target", 0, "TARGET", IN(CALIBRATE),
                                  "measure the device of cuda or opencl, not the CPU" },
    [OPTION_EMIT]          = { "--emit", 0, "WHAT[,WHAT…]", IN(BUILD),
                               "what to write: header, object, archive (the object and the runtime), so (a shared "
                               "library, linked by cc), "
                               "llvm, asm, c (C11 that needs no runtime, and its header), c-naive (plain loops of one "
                               "size, for kiln tile), ptx, opencl, device-llvm (of kernels), loops, runtime (its "
                               "source, for other machines); header,object,archive if not given" },
    [OPTION_TARGET]        = { "--target", 0, "TARGET[,TARGET…]",
                               IN(RUN) | IN(BENCH) | IN(BUILD) | IN(SHOW) | IN(SCHEDULE) | IN(TUNE),
                               "the machine: host, x86-64, x86-64-avx2, x86-64-avx512, aarch64-linux; of several the "
                               "best that the CPU has is "
                               "chosen when it runs. On x86-64 build takes all of that kind if not told. cuda, opencl: "
                               "this machine and a GPU; host-cuda, host-opencl: the same, and without a GPU this "
                               "machine alone, by its own schedule. What is run here is for host or a GPU" },
    [OPTION_SIZE]          = { "--size", 0, "[NAME=]WxHxC",
                               IN(RUN) | IN(BUILD) | IN(SHOW) | IN(SCHEDULE) | IN(BENCH) | IN(TUNE),
                               "the size of an output; of build, for c-naive" },
    [OPTION_ORIGIN]        = { "--origin", 0, "NAME=X,Y",
                               IN(RUN) | IN(BUILD) | IN(SHOW) | IN(SCHEDULE) | IN(BENCH) | IN(TUNE),
                               "the coordinates of the first pixel of an input or of an output with --size, if not "
                               "0,0" },
    [OPTION_PRINT]         = { "--print", 0, NULL, IN(RUN), "print the values of the outputs: a row a line" },
    [OPTION_INTERPRET]     = { "--interpret", 0, NULL, IN(RUN), "run the reference interpreter instead of compiling" },
    [OPTION_STRICT_FLOAT]  = { "--strict-float", 0, NULL, IN(RUN) | IN(BUILD) | IN(SHOW) | IN(BENCH) | IN(TUNE),
                               "round every float operation as written: never contract or reorder" },
    [OPTION_THREADS]       = { "--threads", 0, "N", IN(RUN) | IN(SCHEDULE) | IN(TUNE) | IN(TILE),
                               "threads of parallel loops; else KN_NUM_THREADS, or as many as there are CPUs" },
    [OPTION_BENCH_THREADS] = { "--threads", 0, "N[,N…]", IN(BENCH),
                               "threads of parallel loops, one after the other; else KN_NUM_THREADS, or as many as "
                               "there are CPUs" },
    [OPTION_MEASURE_SECONDS] = { "--seconds", 0, "S", IN(RUN) | IN(SCHEDULE),
                                 "the time for all of --measure, 10 if not given" },
    [OPTION_SECONDS]       = { "--seconds", 0, "S", IN(BENCH),
                               "the time for each schedule, 1 if not given; there are at least three runs" },
    [OPTION_ROUNDS]        = { "--rounds", 0, "N", IN(BENCH), "the turns that this time is spent in, 5 if not given" },
    [OPTION_JSON]          = { "--json", 0, NULL, IN(BENCH), "print a line of JSON for each schedule, with all "
                                                             "times, instead of a table" },
    [OPTION_NO_CACHE]      = { "--no-cache", 0, NULL, IN(RUN),
                               "compile again, and keep nothing. Else compiled code is kept in the folder "
                               "KILN_CACHE, or kiln in XDG_CACHE_HOME "
                               "or ~/.cache" },
    [OPTION_PROFILE]       = { "--profile", 0, NULL, IN(RUN), "say where the time went, function by function" },
    [OPTION_CHECK_ACCESS]  = { "--check-access", 0, NULL, IN(RUN),
                               "check every access of compiled code: slow, for finding mistakes in Kiln" },
    [OPTION_LOAD]          = { "--load", 0, "LIB.so", IN(RUN) | IN(SHOW) | IN(SCHEDULE) | IN(BENCH) | IN(TUNE),
                               "look there for the C functions that the program declares with extern" },
    [OPTION_ALPHA]         = { "--alpha", 0, "keep|drop|apply",
                               IN(RUN) | IN(SHOW) | IN(SCHEDULE) | IN(BENCH) | IN(TUNE),
                               "what becomes of the opacity of an input picture: keep it as its last channel, drop "
                               "it, or apply it, which "
                               "multiplies the colours by it. If not given it is kept, and a note says so" },
    [OPTION_TOLERANCE]     = { "--tol", 0, "ABS[,REL[,SHARE,OUTLIER]]", IN(DIFF),
                               "allow |a - b| <= ABS + REL*|b|; and, for that SHARE of all values, <= OUTLIER + "
                               "REL*|b|" },
    [OPTION_FUNCS]         = { "--funcs", 0, NULL, IN(SHOW), "every function: its type, arguments and definitions" },
    [OPTION_GRAPH]         = { "--graph", 0, NULL, IN(SHOW), "which function reads which, as a DOT graph" },
    [OPTION_REGIONS]       = { "--regions", 0, NULL, IN(SHOW),
                               "the box of every function that the outputs need; ranges a..b are half open" },
    [OPTION_SCHEDULES]     = { "--schedules", 0, NULL, IN(SHOW), "the schedules in the program" },
    [OPTION_PLAN]          = { "--plan", 0, NULL, IN(SHOW), "the schedule that is obeyed: what was written and what "
                                                            "was chosen" },
    [OPTION_LOOPS]         = { "--loops", 0, NULL, IN(SHOW), "the loop nest: what is computed and stored inside "
                                                             "which loop" },
    [OPTION_PASSES]        = { "--passes", 0, NULL, IN(SHOW), "the passes of the compiler, in order; needs no "
                                                              "program" },
    [OPTION_AFTER]         = { "--after", 0, "PASS", IN(SHOW), "the code as it is after that pass" },
    [OPTION_LLVM]          = { "--llvm", 0, NULL, IN(SHOW), "LLVM's text" },
    [OPTION_ASM]           = { "--asm", 0, NULL, IN(SHOW), "assembly" },
    [OPTION_COUNTS]        = { "--counts", 0, NULL, IN(SHOW),
                               "points computed of each function, redundant ones, bytes allocated, loaded and "
                               "stored, from a run that counts" },
    [OPTION_WRITE]         = { "--write", 0, NULL, IN(FMT), "change the files instead of printing" },
    [OPTION_CHECK]         = { "--check", 0, NULL, IN(FMT),
                               "only say which files are not in the standard layout; exit 1 if any is" },
    [OPTION_TILE_OUTPUT]   = { "--output", 'o', "OUT.c", IN(TILE),
                               "write the tiled file there instead of printing it" },
    [OPTION_SHAPE]         = { "--shape", 0, "SHAPE", IN(TILE),
                               "of tiles: auto (if not given), none, scalene, rectangle, hybrid, diamond, "
                               "parallelogram" },
    [OPTION_TILE]          = { "--tile", 0, "T,I,J", IN(TILE),
                               "the sizes of tiles, the outermost dimension first; else a model chooses them" },
    [OPTION_TILE_TARGET]   = { "--target", 0, "openmp|cuda|llvm", IN(TILE),
                               "what to write: C with OpenMP (if not given); with cuda, OUT.c that calls functions "
                               "of OUT.cu, which nvcc compiles; with llvm, of OUT.a, which Kiln compiles" },
    [OPTION_FUSE]          = { "--fuse", 0, "RULE", IN(TILE),
                               "which stages share tiles: greedy (one joins its only consumer; if not given), cost "
                               "(fewest bytes and work), all" },
    [OPTION_STREAM]        = { "--stream", 0, "RULE", IN(TILE),
                               "which arrays that the loops only write are stored past the caches: large (known to "
                               "have 32 MiB or more; if not given), all, none" },
    [OPTION_TEMPORARY]     = { "--temporary", 0, "A,B", IN(TILE), "arrays whose values are not read behind the loops, "
                               "as `#pragma kiln temporary(A, B)` says it in the file" },
    [OPTION_TILE_EXPLAIN]  = { "--explain", 0, NULL, IN(TILE), "print what was done and why: schedules, footprints, "
                               "redundant work" },
    [OPTION_TILE_SVG]      = { "--svg", 0, "FILE.svg", IN(TILE), "a picture of one tile with its neighbours" },
    [OPTION_TILE_DEFINE]   = { "--define", 'D', "NAME[=VALUE]", IN(TILE), "a macro, for the preprocessor" },
    [OPTION_INCLUDE]       = { "--include", 'I', "DIR", IN(TILE), "a folder of headers, for the preprocessor" },
    [OPTION_HELP]          = { "--help", 'h', NULL, ~0u, "this text" },
};
/* clang-format on */

static bool applies(OptionId id, CommandId command)
{
    return option_table[id].commands >> command & 1;
}

/* ---- Parsing ---- */

/* The option of the command whose name is the first n characters of `word`; OPTION_COUNT if there is none. */
static OptionId find_long(CommandId command, const char *word, size_t n)
{
    OptionId id = 0;
    while (id < OPTION_COUNT &&
           !(applies(id, command) && strlen(option_table[id].name) == n && !strncmp(option_table[id].name, word, n)))
        id++;
    return id;
}

static OptionId find_short(CommandId command, char letter)
{
    OptionId id = 0;
    while (id < OPTION_COUNT && !(applies(id, command) && option_table[id].letter == letter))
        id++;
    return id;
}

static int unknown_option(const Cli *cli, const char *word)
{
    const char *names[OPTION_COUNT];
    int         count = 0;
    for (OptionId id = 0; id < OPTION_COUNT; id++)
        if (applies(id, cli->command))
            names[count++] = option_table[id].name;
    const char *closest = kn_closest_name(word, names, count);
    const char *name    = command_table[cli->command].name;
    if (closest)
        return usage(cli, "kiln %s has no option `%s`; did you mean `%s`?", name, word, closest);
    return usage(cli, "kiln %s has no option `%s`", name, word);
}

/* Records one option. `value` is the rest of its word, or NULL; then an argument, if needed, is the next word. */
static int take(Cli *cli, OptionId id, const char *value, int *i, int count, char **words)
{
    const Option *option = &option_table[id];
    if (option->argument && !value && ++*i < count)
        value = words[*i];
    if (option->argument && !value)
        return usage(cli, "%s needs an argument: %s %s", words[*i - 1], option->name, option->argument);
    if (!option->argument && value)
        return usage(cli, "%s takes no argument, but `%s` was given", option->name, value);
    cli->given[cli->given_count++] = (Given){ id, value };
    return DONE;
}

static int take_long(Cli *cli, int *i, int count, char **words)
{
    const char    *word = words[*i];
    const size_t   n    = strcspn(word, "=");
    const OptionId id   = find_long(cli->command, word, n);
    if (id == OPTION_COUNT)
        return unknown_option(cli, cli_strndup(cli, word, n));
    return take(cli, id, word[n] ? word + n + 1 : NULL, i, count, words);
}

static int take_short(Cli *cli, int *i, int count, char **words)
{
    const char    *word = words[*i];
    const OptionId id   = find_short(cli->command, word[1]);
    if (id == OPTION_COUNT)
        return unknown_option(cli, word);
    return take(cli, id, word[2] ? word + 2 : NULL, i, count, words);
}

int options_parse(Cli *cli, int count, char **words)
{
    cli->given    = cli_alloc(cli, sizeof *cli->given * (size_t)(count + 1));
    cli->operands = cli_alloc(cli, sizeof *cli->operands * (size_t)(count + 1));
    bool options  = true;
    int  status   = DONE;
    for (int i = 0; i < count && status == DONE; i++) {
        const char *word = words[i];
        if (!options || word[0] != '-' || !word[1])
            cli->operands[cli->operand_count++] = word;
        else if (!strcmp(word, "--"))
            options = false;
        else if (word[1] == '-')
            status = take_long(cli, &i, count, words);
        else
            status = take_short(cli, &i, count, words);
    }
    return status;
}

bool option_given(const Cli *cli, OptionId id)
{
    for (int i = 0; i < cli->given_count; i++)
        if (cli->given[i].option == id)
            return true;
    return false;
}

const char *option_value(const Cli *cli, OptionId id, int index)
{
    for (int i = 0; i < cli->given_count; i++)
        if (cli->given[i].option == id && index-- == 0)
            return cli->given[i].value;
    return NULL;
}
