/* SPDX-License-Identifier: MIT */
/* The command line: what its files share. It uses the library as any program does, through kiln.h alone.
 *
 * A subcommand is a row in main.c, an option a row in options.c; parsing, --help and the man page come from these rows.
 */
#ifndef KILN_CLI_CLI_H
#define KILN_CLI_CLI_H

#include <pthread.h>
#include <stdio.h>

#include "kiln.h"

/* Exit statuses: all well; the program, the data or the difference is at fault; the command line is. */
enum { DONE = 0, FAILED = 1, USAGE = 2 };

typedef enum CommandId {
    COMMAND_CHECK,
    COMMAND_RUN,
    COMMAND_BUILD,
    COMMAND_DIFF,
    COMMAND_SHOW,
    COMMAND_SCHEDULE,
    COMMAND_BENCH,
    COMMAND_TUNE,
    COMMAND_CALIBRATE,
    COMMAND_DEVICES,
    COMMAND_FMT,
    COMMAND_TILE,
    COMMAND_COUNT
} CommandId;

typedef enum OptionId {
    OPTION_DEFINE,
    OPTION_NO_WARN,
    OPTION_WITH_SCHEDULE,
    OPTION_BENCH_SCHEDULE,
    OPTION_ONLY,
    OPTION_SCHEDULE_NAME,
    OPTION_SCHEDULER,
    OPTION_BENCH_SCHEDULER,
    OPTION_WITHOUT,
    OPTION_MACHINE,
    OPTION_BUDGET,
    OPTION_TUNE_BUDGET,
    OPTION_ALGORITHM,
    OPTION_CANDIDATES,
    OPTION_POPULATION,
    OPTION_GENERATIONS,
    OPTION_SIMULATE,
    OPTION_SEED,
    OPTION_RESUME,
    OPTION_TUNE_HTML,
    OPTION_TUNE_LIST,
    OPTION_CROSS,
    OPTION_CROSS_SCHEDULE,
    OPTION_TUNED,
    OPTION_MEASURE,
    OPTION_EXPLAIN,
    OPTION_HTML,
    OPTION_SCHEDULE_GRAPH,
    OPTION_LIST,
    OPTION_OUTPUT,
    OPTION_BUILD_OUTPUT,
    OPTION_SCHEDULE_OUTPUT,
    OPTION_TUNE_OUTPUT,
    OPTION_CALIBRATE_OUTPUT,
    OPTION_CALIBRATE_TARGET,
    OPTION_EMIT,
    OPTION_TARGET,
    OPTION_SIZE,
    OPTION_ORIGIN,
    OPTION_PRINT,
    OPTION_INTERPRET,
    OPTION_STRICT_FLOAT,
    OPTION_THREADS,
    OPTION_BENCH_THREADS,
    OPTION_MEASURE_SECONDS,
    OPTION_SECONDS,
    OPTION_ROUNDS,
    OPTION_JSON,
    OPTION_NO_CACHE,
    OPTION_PROFILE,
    OPTION_CHECK_ACCESS,
    OPTION_LOAD,
    OPTION_ALPHA,
    OPTION_TOLERANCE,
    OPTION_FUNCS,
    OPTION_GRAPH,
    OPTION_REGIONS,
    OPTION_SCHEDULES,
    OPTION_PLAN,
    OPTION_LOOPS,
    OPTION_PASSES,
    OPTION_AFTER,
    OPTION_LLVM,
    OPTION_ASM,
    OPTION_COUNTS,
    OPTION_WRITE,
    OPTION_CHECK,
    OPTION_TILE_OUTPUT,
    OPTION_SHAPE,
    OPTION_TILE,
    OPTION_TILE_TARGET,
    OPTION_FUSE,
    OPTION_STREAM,
    OPTION_TEMPORARY,
    OPTION_TILE_EXPLAIN,
    OPTION_TILE_SVG,
    OPTION_TILE_DEFINE,
    OPTION_INCLUDE,
    OPTION_HELP,
    OPTION_COUNT
} OptionId;

typedef struct Option {
    const char *name;     /* "--size" */
    char        letter;   /* 'o' for -o, or 0 */
    const char *argument; /* how --help writes it, or NULL for a flag */
    unsigned    commands; /* bits: 1 << CommandId */
    const char *help;
} Option;

typedef struct Cli Cli;

typedef struct Command {
    const char *name;
    const char *synopsis; /* the operands */
    const char *summary;
    const char *description; /* paragraphs, separated by empty lines */
    int (*run)(Cli *cli);
} Command;

extern const Option  option_table[OPTION_COUNT];
extern const Command command_table[COMMAND_COUNT];

/* An option as it was given. */
typedef struct Given {
    OptionId    option;
    const char *value; /* NULL for a flag */
} Given;

/* A file's text. It is read once, since it may be a pipe. */
typedef struct FileText {
    const char      *path, *text;
    size_t           length;
    struct FileText *next;
} FileText;

struct Cli {
    kn_context        *cx;
    CommandId          command;
    struct Allocation *blocks; /* memory until the end */
    FileText          *texts;
    Given             *given;
    int                given_count;
    const char       **operands;
    int                operand_count;
};

/* ---- messages.c: memory, the context, messages ---- */

/* Zeroed memory that lives until the program ends. */
void *cli_alloc(Cli *cli, size_t size);
char *cli_strndup(Cli *cli, const char *s, size_t n);
/* Frees all of it. */
void cli_free(Cli *cli);

/* A new context, with the warnings of --no-warn switched off; NULL after a message, *status is what to exit with. */
kn_context *context_open(const Cli *cli, int *status);

/* Prints "kiln: …"; the first also says where to find help. They return the exit status to be passed on. */
__attribute__((format(printf, 2, 3))) int  usage(const Cli *cli, const char *format, ...);
__attribute__((format(printf, 1, 2))) int  failed(const char *format, ...);
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Prints the diagnostics of the last call of the library, if any. Returns FAILED. */
int report(Cli *cli);
/* The same for something done to `subject`: a file or an argument, which diagnostics without a place are put behind. */
int report_about(Cli *cli, const char *subject);

/* ---- progress.c ---- */

/* A step that may take long: "kiln: reading big.npy … 3 s", or "… 3 of 8, 12 s", on a terminal, from its second second
 * on. */
typedef struct Progress {
    const char     *what, *subject;
    double          begun;
    int64_t         done, total; /* total 0: not counted */
    bool            runs, over, shown;
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  wake;
} Progress;

/* `what` and `subject` are kept until progress_end, which takes the line away; messages come after that. */
void progress_begin(Progress *p, const char *what, const char *subject);
/* Another step of the same work; the line is shown at once if the work already takes long. */
void progress_next(Progress *p, const char *what, const char *subject);
void progress_count(Progress *p, int64_t done, int64_t total);
void progress_end(Progress *p);

/* ---- options.c ---- */

/* Sorts the words behind the subcommand into options and operands. */
int  options_parse(Cli *cli, int count, char **words);
bool option_given(const Cli *cli, OptionId id);
/* The index-th value given for an option, or NULL. */
const char *option_value(const Cli *cli, OptionId id, int index);

/* ---- help.c ---- */

void help_overview(FILE *out);
void help_command(CommandId id);
void help_man(void);

/* ---- program.c ---- */

/* A text and what it parses to. */
typedef struct SourceProgram {
    const char  *path;
    const char  *text;
    size_t       length;
    kn_pipeline *pipeline;
    const char  *warnings; /* of a parse that went well: to be printed once */
} SourceProgram;

/* The whole of a file ("-" is stdin), which is opened the first time it is asked for; a message says why not. */
int file_read(Cli *cli, const char *path, const char **text, size_t *length);
/* Reads, and parses with -D and --schedule; prints errors. */
int program_load(Cli *cli, const char *path, SourceProgram *program);
/* Parses the text, after a kn_define once more. */
int program_parse(Cli *cli, SourceProgram *program);

/* ---- arguments.c ---- */

/* An input, parameter or output of the program and what the command line gives for it. */
typedef struct PortBinding {
    kn_port     port;
    const char *text; /* of name=TEXT, or NULL */
    kn_buffer   buffer;
    kn_scalar   value;
    const char *path;          /* an output's file, or NULL */
    bool        sized, placed; /* by --size, --origin */
    bool        gray;          /* a picture of one channel for an input that may have more */
    int32_t     extent[KN_MAX_RANK], origin[KN_MAX_RANK];
} PortBinding;

typedef struct Bindings {
    SourceProgram program;
    PortBinding  *at;
    int           count;
    kn_arg       *args; /* for kn_run and its like */
    int           arg_count;
    kn_module    *module;    /* for sizes: is interpreted */
    void        **libraries; /* of --load */
    int           library_count;
} Bindings;

/* The program of the operands FILE name=VALUE …, with the consts among them. */
int bindings_program(Cli *cli, Bindings *b);
/* Operands FILE name=VALUE … and --size, --origin, -o, --load: everything that kn_run needs but memory for the outputs,
 * whose boxes are set (to rank 0 where not known). If `shapes_only`, inputs get their size but no values, and may be
 * missing. */
int  bindings_load(Cli *cli, bool shapes_only, Bindings *b);
void bindings_free(Bindings *b);
/* A size of that rank, for messages. */
const char *size_example(int rank);

/* ---- compile.c ---- */

/* The options of the compiler as the command line and the environment give them. */
int compile_options(Cli *cli, kn_options *out);
/* The name of a scheduler (NULL: `auto`, if any is given) without the rules of --without: "auto/no-chains". */
const char *scheduler_without(Cli *cli, const char *name);
/* Seconds since some time in the past. */
double now(void);

/* ---- externs.c ---- */

/* Opens the libraries of --load and makes the C functions that the program declares known. */
int  externs_load(Cli *cli, Bindings *b);
void externs_close(Bindings *b);

/* ---- fit.c ---- */

/* Fits the outputs without a size, and says what was chosen and why. A grey picture whose one channel is not enough is
 * given three. */
int bindings_fit(Cli *cli, Bindings *b);
/* If inputs are not given, outputs without --size take their estimate, where there is one. */
void bindings_estimate(Bindings *b);
/* Memory for the outputs. */
int bindings_allocate(Cli *cli, Bindings *b);
/* Loads, fits and allocates: all that a run needs. */
int bindings_prepare(Cli *cli, Bindings *b);

/* ---- images.c ---- */

/* Loads an image as the port and --alpha want it; says what had to be converted, and whether it was a picture, not
 * numbers. */
int image_load(Cli *cli, const char *path, const kn_port *port, kn_buffer *to, bool *picture);
/* Can outputs of this port be saved at `path`? Checks the ending (by a single pixel) and the folder before the program
 * runs. A message if not. */
int image_path_check(Cli *cli, const char *path, const kn_port *port);
/* Whether two paths name one file, also one that is not there yet. */
bool same_file(Cli *cli, const char *a, const char *b);
/* Whether the outputs that -o names, whose sizes are known, can be written. A message if not. */
int bindings_check_files(Cli *cli, const Bindings *b);
/* Saves an output in the format of the path's ending; says what had to be converted. */
int image_save(Cli *cli, const char *path, const kn_buffer *b);
/* Saves the outputs that -o names. */
int bindings_save(Cli *cli, const Bindings *b);

/* ---- values.c ---- */

/* "192x160x3"; "a single value" for rank 0. */
const char *shape_text(Cli *cli, const kn_buffer *b);
/* "(1, 2)" */
const char *point_text(Cli *cli, const int32_t *at, int rank);
/* All values to stdout: a row a line, planes separated by an empty line. */
void values_print(const kn_buffer *b);
/* Type, size, min, max and mean to stdout. */
int values_summary(Cli *cli, const char *name, const kn_buffer *b);

/* ---- schedule.c ---- */

/* Makes a schedule for these arguments by that scheduler, for --machine, and adds it to the program as the one to use.
 * scheduler NULL: `auto`; then failing to make one is no error. `watched`: shows progress, unless the caller does. */
int bindings_schedule(Cli *cli, const Bindings *b, const char *scheduler, const kn_options *options, bool watched);

/* ---- measure.c ---- */

/* A schedule and a number of threads, measured against others. It has its own context, so that no memory or threads are
 * shared. */
typedef struct Contender {
    const char *name;      /* of the schedule, for people */
    const char *file;      /* a .sched, or NULL */
    const char *schedule;  /* if there is no file: as in kn_options */
    const char *scheduler; /* makes its schedule, or NULL */
    bool        optional;  /* if no schedule can be made it has none, as for kiln run */
    int         threads;
    kn_context *cx;
    Bindings    own; /* the program, parsed in that context */
    kn_module  *module;
    double      compile_ms;
    double     *ms;         /* of each run but the first */
    double      batched_ms; /* of a run on a device, of many that are waited for together: the shortest */
    int         runs, room;
    int64_t     peak_kb;    /* -1: not known */
    double      difference; /* from the reference, the largest */
    double      share;      /* of the values that are not what rounding explains */
} Contender;

/* Loads the backend, so that the first program that is compiled does not pay for it. */
int backend_load(Cli *cli);
/* Parses and compiles, and says what is wrong; the time of a scheduler is part of compiling. */
int contender_open(Cli *cli, const kn_options *options, const Bindings *b, Contender *c);
/* The first run, which is not timed: measures memory, and compares the outputs in `b` with the reference, one buffer
 * per port. The first contender, when `reference` has no data, fills the reference. */
int contender_try(Cli *cli, Contender *c, const Bindings *b, kn_buffer *reference);
/* Runs for so many seconds, and at least so many times. With a device its kernels are waited for: half of the time
 * after each run, half of it after many. */
int contender_turn(Cli *cli, Contender *c, const Bindings *b, kn_device *device, double seconds, int least);
/* Runs a few times and prints the time of each kernel. */
int  contender_kernels(Cli *cli, const Contender *c, const Bindings *b, kn_device *device);
void contender_close(Contender *c);

/* ---- finalists.c ---- */

/* Measures the schedules that all schedulers make, for --seconds in all, and says so; *best is the scheduler of the
 * fastest. `b` has all that a run needs. */
int finalists_measure(Cli *cli, const kn_options *options, const Bindings *b, const char **best);
/* Makes up inputs that have no data, with default sizes where needed, and prepares the rest of a run. */
int bindings_make_up(Cli *cli, Bindings *b);

/* ---- bench.c ---- */

/* The file that an operand means: itself, or apps/APP/APP.kiln. */
const char *program_path(Cli *cli, const char *word);
/* Puts the arguments of NAME.bench, if there is one, before those given; the program is the first operand. */
int add_bench_file(Cli *cli);

/* ---- bench_print.c ---- */

/* How a comparison was made, for people. */
typedef struct Protocol {
    double     seconds;
    int        rounds;
    kn_device *device; /* that runs the kernels, with inputs and outputs in its memory; NULL: none */
} Protocol;

void bench_table(Cli *cli, const Bindings *b, const Contender *c, int count, const Protocol *how);
/* One line of JSON for each. */
void bench_json(Cli *cli, const Bindings *b, const Contender *c, int count);

/* ---- tune/store.c ---- */

/* Keeps a schedule that kiln tune has found for these sizes; a message if it cannot be kept. */
void tuned_keep(Cli *cli, const Bindings *b, const kn_options *options, const char *schedule);
/* What is kept for exactly these sizes; NULL: nothing. */
const char *tuned_kept(Cli *cli, const Bindings *b, const kn_options *options);
/* "6400x4800", those of several outputs joined by underscores. */
const char *tuned_size(Cli *cli, const Bindings *b);
/* Prints what is kept. */
int tuned_list(Cli *cli);
/* Adds what is kept for these sizes, or for others, to the program as the schedule to use. */
int tuned_use(Cli *cli, const Bindings *b, const kn_options *options, bool *used);

/* ---- machine.c ---- */

/* The device on which code for the target runs kernels; NULL for none. */
int device_of_target(const char *target, kn_device **device);
/* Inputs are copied to the device, outputs get memory there; and all of it is freed. */
int  bindings_to_device(const Bindings *b, kn_device *device);
void bindings_from_device(const Bindings *b);

/* ---- the subcommands ---- */

int command_check(Cli *cli);
int command_run(Cli *cli);
int command_build(Cli *cli);
int command_diff(Cli *cli);
int command_show(Cli *cli);
int command_schedule(Cli *cli);
int command_bench(Cli *cli);
int command_tune(Cli *cli);
int command_calibrate(Cli *cli);
int command_devices(Cli *cli);
int command_fmt(Cli *cli);
int command_tile(Cli *cli);

/* machine.c: the machine that `kiln calibrate` measured; NULL if it did not run. */
const char *machine_calibrated(Cli *cli);

#endif
