/* SPDX-License-Identifier: MIT */
/* kiln: the table of subcommands, and the dispatch to them. */
#include "cli.h"

#include <string.h>

const Command command_table[COMMAND_COUNT] = {
    [COMMAND_CHECK] = {
        .name        = "check",
        .synopsis    = "FILE …",
        .summary     = "read programs and report what is wrong with them",
        .description = "Reads each program and prints its diagnostics: the place, the line, the reason and "
                       "the remedy. Prints what a program is called with and what it gives if nothing is "
                       "wrong.\n\n"
                       "All is said that can be known without sizes: each schedule of the program and of --schedule is "
                       "tried as run does it, and an index without bounds is found.",
        .run         = command_check,
    },
    [COMMAND_RUN] = {
        .name        = "run",
        .synopsis    = "FILE [NAME=VALUE|IMAGE …] [-o [NAME=]IMAGE …]",
        .summary     = "compile a program and run it on images",
        .description = "NAME is an input, a parameter or a const of the program. An input is an image file "
                       "({formats}), a formula over its coordinates, "
                       "NAME=@192x160x3:EXPR, or noise, NAME=@noise(192x160x3) or "
                       "NAME=@noise(192x160x3,SEED).\n\n"
                       "Pictures are converted to the type and rank of the input or, when saved, to what the "
                       "format can hold, over their full range: 0..255, 0..65535 and 0.0..1.0 are the same. "
                       "A grey picture has three equal channels for a program that reads so many. "
                       "The numbers of an NPY file are never changed. A picture that says it is shown turned is "
                       "turned, and a PGM or PPM "
                       "whose values end at another number than 255 or 65535 is scaled. Each conversion is stated.\n\n"
                       "Without --size an output is as large as the inputs allow. Without -o its type, size, "
                       "minimum, maximum and mean are printed.\n\n"
                       "The program is compiled, or what was compiled before is taken from the cache; the times of "
                       "reading, "
                       "compiling, running and writing are said apart.",
        .run         = command_run,
    },
    [COMMAND_BUILD] = {
        .name        = "build",
        .synopsis    = "FILE -o DIR/NAME",
        .summary     = "compile a program for use in C, ahead of time",
        .description = "Writes NAME.h, NAME.o and NAME.a. The header has the C function NAME with an argument for "
                       "each input, "
                       "parameter and output; NAME.a has the object and the runtime. Linked with it and -lm "
                       "-lpthread, a "
                       "program needs nothing else of Kiln: cc main.c NAME.a -lm -lpthread.\n\n"
                       "For a machine of another kind NAME.a is not made; kiln_runtime.c is written instead, to be "
                       "compiled "
                       "with that machine's compiler.",
        .run         = command_build,
    },
    [COMMAND_DIFF] = {
        .name        = "diff",
        .synopsis    = "A B",
        .summary     = "compare two images",
        .description = "Prints the largest and the mean difference, where the largest is, and how many "
                       "values are beyond the tolerance. The exit status is 0 within the tolerance, 1 beyond "
                       "it or if the shapes differ, 2 if an image cannot be read.",
        .run         = command_diff,
    },
    [COMMAND_SHOW] = {
        .name        = "show",
        .synopsis    = "FILE [NAME=VALUE|IMAGE …]",
        .summary     = "show a program's functions, graph, regions, loops or code",
        .description = "The functions are shown if nothing else is asked for. For --regions the inputs are "
                       "given as for run, or by their size alone, NAME=@192x160x3; an output without --size "
                       "is as large as the inputs allow or, if they are not all given, as its estimate. "
                       "--counts runs the program, and takes all that run takes.",
        .run         = command_show,
    },
    [COMMAND_SCHEDULE] = {
        .name        = "schedule",
        .synopsis    = "FILE [NAME=VALUE|IMAGE …] [-o FILE.sched]",
        .summary     = "make a schedule for a program",
        .description = "Prints a schedule that a scheduler has made, as text that one can edit and that --schedule "
                       "reads. "
                       "Inputs and --size are given as for run, or inputs by their size alone, NAME=@192x160x3; what "
                       "is not "
                       "given is as the program's estimate says, or of a usual size. A schedule changes the speed, "
                       "never a "
                       "result, and one that was made for one size is right for every other.",
        .run         = command_schedule,
    },
    [COMMAND_BENCH] = {
        .name        = "bench",
        .synopsis    = "[FILE|APP [NAME=VALUE|IMAGE …]] …",
        .summary     = "measure a program's schedules against each other",
        .description = "Compares none, which is the program without a schedule; auto, which is what kiln run makes "
                       "for a program that has "
                       "no schedule; the schedules in the program; and those beside it: NAME.sched and NAME.*.sched "
                       "beside NAME.kiln. "
                       "They take turns, so that what disturbs one disturbs all. The table has the "
                       "shortest and the median time of a run, how far times spread, the time to compile, the memory "
                       "that a run "
                       "takes beside its inputs and outputs, and whether the results agree; the exit status is 1 if "
                       "they do not.\n\n"
                       "APP is apps/APP/APP.kiln. Arguments are given as for run. Without any they are read from the "
                       "file NAME.bench "
                       "beside the program, which has one on each line; lines that begin with // are remarks. "
                       "Without a program, all "
                       "apps that have a schedule are measured.\n\n"
                       "With a --target that runs kernels, inputs and outputs are in the memory of its device. Times "
                       "are of a run that is waited for; batched times of many that are waited for together. Below "
                       "the table stands each kernel.\n\n"
                       "Memory is the growth of the process during the first run. Nothing is taken from the cache of "
                       "compiled code. "
                       "Threads are not bound to CPUs: taskset does that.",
        .run         = command_bench,
    },
    [COMMAND_TUNE] = {
        .name        = "tune",
        .synopsis    = "FILE|APP [NAME=VALUE|IMAGE …] [-o FILE.sched]",
        .summary     = "search for a fast schedule by measuring",
        .description = "Starts from what all schedulers make, and tries changes of the best so far until the time is "
                       "over; Ctrl-C ends it earlier and keeps the best. Arguments are given as for bench; inputs "
                       "that are missing are made up. Each candidate is compiled and run in a process of its own, its "
                       "result is compared with that of the default schedule, and its time is taken in turns with the "
                       "best. What crashes, hangs or computes something else is written to a file that repeats it, and "
                       "the search goes on.\n\n"
                       "The schedule says in a comment for which size, where and when it was found, and how many times "
                       "as fast as that of auto it is. A schedule of one size is right for every other.\n\n"
                       "With --target cuda or opencl it is the kernels of a device that are tuned. With --cross what "
                       "is tuned for one size or machine is run on others.",
        .run         = command_tune,
    },
    [COMMAND_CALIBRATE] = {
        .name        = "calibrate",
        .synopsis    = "[--target cuda] [-o FILE]",
        .summary     = "measure this machine, for better schedules",
        .description = "Measures the caches and the memory over the size of the working set, times small "
                       "programs under good and bad schedules, and fits the speeds to them that schedulers "
                       "predict with. That takes up to 20 seconds, in which the machine should have nothing else "
                       "to do. At the end other programs are scheduled for what was found and for what was known "
                       "before; if they are slower, the old figures are kept. What is found is printed beside "
                       "what the system reports, and kept in the file kiln/machine in XDG_CONFIG_HOME, or in "
                       "~/.config, where schedulers look for it if --machine is not given; it is text, and "
                       "nothing else is written. Without it the speeds are those of a usual machine.\n\n"
                       "With --target the device is measured instead: copies, caches, arithmetic, atomics, launches. "
                       "What is known of the CPU stays in the file.",
        .run         = command_calibrate,
    },
    [COMMAND_DEVICES] = {
        .name        = "devices",
        .synopsis    = "",
        .summary     = "list the GPUs that programs can run on, and measure their copies",
        .description = "Prints each device that CUDA's driver and OpenCL have: its name, its capability, its memory, "
                       "and how fast memory is copied from the host, to it and inside the device, where what is read "
                       "and written counts twice. Where a driver is missing it says so. The exit status is 1 if there "
                       "is no device.\n\n"
                       "A program runs on device 0 of its kind, or on the one that the environment's KN_DEVICE says.",
        .run         = command_devices,
    },
    [COMMAND_FMT] = {
        .name        = "fmt",
        .synopsis    = "FILE …",
        .summary     = "lay out a program's text",
        .description = "Prints the program in the standard layout: the same words and comments.",
        .run         = command_fmt,
    },
    [COMMAND_TILE] = {
        .name        = "tile",
        .synopsis    = "FILE.c [-o OUT.c]",
        .summary     = "tile the loops of a C file for locality and threads",
        .description = "Takes the loops between `#pragma scop` and `#pragma endscop`, finds what depends on what, and "
                       "writes the file with tiled loops in their place: C with OpenMP, unless --target says "
                       "otherwise. All else in the file stays as it was.\n\n"
                       "Every result is proved: each value is computed from the values that the loops compute it "
                       "from, so results have the same bits. Loops whose bounds and subscripts are not affine are "
                       "refused, with the place and the reason; docs/tile.md says what is understood.\n\n"
                       "The file is preprocessed by the compiler of the environment's CC, or cc. Headers are looked "
                       "for beside the file, and where -I says.",
        .run         = command_tile,
    },
};

/* ---- Dispatch ---- */

static CommandId find_command(const char *name)
{
    CommandId id = 0;
    while (id < COMMAND_COUNT && strcmp(command_table[id].name, name))
        id++;
    return id;
}

static int unknown_command(const char *name)
{
    const char *names[COMMAND_COUNT];
    for (int i = 0; i < COMMAND_COUNT; i++)
        names[i] = command_table[i].name;
    const char *closest = kn_closest_name(name, names, COMMAND_COUNT);
    if (closest)
        return usage(NULL, "there is no command `%s`; did you mean `%s`?", name, closest);
    return usage(NULL, "there is no command `%s`", name);
}

static int run_command(CommandId id, int count, char **words)
{
    Cli cli    = { .command = id };
    int status = options_parse(&cli, count, words);
    if (status == DONE && option_given(&cli, OPTION_HELP)) {
        help_command(id);
    } else if (status == DONE) {
        cli.cx = context_open(&cli, &status);
        status = cli.cx ? command_table[id].run(&cli) : status;
        kn_context_free(cli.cx);
    }
    cli_free(&cli);
    return status;
}

static int help(int count, char **words)
{
    if (count == 0) {
        help_overview(stdout);
        return DONE;
    }
    const CommandId id = find_command(words[0]);
    if (id == COMMAND_COUNT)
        return unknown_command(words[0]);
    help_command(id);
    return DONE;
}

static int dispatch(int count, char **words)
{
    if (count == 0) {
        help_overview(stderr);
        return USAGE;
    }
    const char *word = words[0];
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
        return help(count - 1, words + 1);
    if (!strcmp(word, "--version")) {
        puts("kiln " KN_VERSION);
        return DONE;
    }
    if (!strcmp(word, "--man")) {
        help_man();
        return DONE;
    }
    if (word[0] == '-')
        return usage(NULL, "`%s` is no option of kiln itself; options come behind the command", word);
    const CommandId id = find_command(word);
    return id == COMMAND_COUNT ? unknown_command(word) : run_command(id, count - 1, words + 1);
}

int main(int argc, char **argv)
{
    const int status = dispatch(argc - 1, argv + 1);
    if (fflush(stdout) || ferror(stdout)) {
        perror("kiln: cannot write to stdout");
        return FAILED;
    }
    return status;
}
