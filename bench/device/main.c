/* SPDX-License-Identifier: MIT */
/* Measures on a GPU what lies beside this program.
 *
 *     measure [--quick | --brief] [--golden] [--kernels] [--seconds N] [--out FILE] [APP ...]
 *
 * Takes   the cases, the libraries peer-*.so beside the program (device.h says what they are), goldens.
 * Gives   a table on stdout, and a line of JSON for each thing that was measured in FILE (device.jsonl).
 * Holds   each case has a process of its own, so that what one breaks is no other's. Inputs are made here, by the
 *         formulas of apps/NAME/NAME.bench, and stay on the device. A result is that of the first call, on memory that
 *         was filled before. It is compared with that of Kiln's code for the CPU, or with a golden.
 *
 * --golden: only goldens, no times. Times are measured after 3 calls. `sync` is that of a call and waiting for it,
 * `batch` that of up to 100 calls and waiting for all of them, divided by their number: the least of 10 batches.
 * --quick has fewer batches, and --brief shorter ones: it is for many schedules of each case, so the driver compiles
 * all kernels first, several cases at a time, and keeps them in a cache of its own. --kernels: the times of Kiln's
 * kernels one by one, too, in FILE. --seconds: cases that would begin later are left out, and said.
 */
#include "cuda.h"
#include "program.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PEERS         = 40,
    WARM_UPS      = 3,
    BATCHES       = 10,
    FEW_BATCHES   = 3,
    BATCH_LEAST   = 3,
    BATCH_CALLS   = 100,
    SYNC_LEAST    = 5,
    SYNC_MOST     = 1000,
    PATIENCE      = 240,
    COMPILE_PARTS = 4 /* processes that compile the kernels of a case */
};

/* Of the calls one by one, of one batch, and what both take at most where a call is long. */
static const double sync_seconds = 0.1, batch_seconds = 0.06, most_seconds = 2;
static const double brief_seconds = 0.02; /* of the calls one by one, and of one batch */
static const size_t copy_bytes    = (size_t)2 << 30;

static struct {
    char        folder[4096];
    const char *out;
    bool        quick, brief, golden, kernels;
    double      seconds; /* 0: no limit */
    char      **apps;
    int         app_count;
} options;

void fail(const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    fputs("measure: ", stderr);
    vfprintf(stderr, format, rest);
    fputc('\n', stderr);
    va_end(rest);
    exit(1);
}

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- What is written ---- */

static FILE *results;

static void write_text(const char *text)
{
    fputc('"', results);
    for (; *text; text++)
        if ((unsigned char)*text >= ' ')
            fprintf(results, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', results);
}

static void write_field(const char *name, const char *text)
{
    fprintf(results, "\"%s\": ", name);
    write_text(text);
    fputs(", ", results);
}

typedef struct Times {
    double      first, sync, median, batch; /* ms */
    int         calls;
    const char *kernels; /* NULL: not asked for */
} Times;

/* A variant of a case: its times, or how it failed. */
static void write_result(const Case *c, const char *peer, const char *variant, double bytes, const Times *t,
                         const char *agreement, const char *failure)
{
    fputc('{', results);
    write_field("app", c->app);
    write_field("size", c->label);
    write_field("peer", peer);
    write_field("variant", variant);
    if (agreement)
        write_field("agreement", agreement);
    if (failure)
        write_field("failure", failure);
    if (t)
        fprintf(results, "\"first_ms\": %.4f, \"sync_ms\": %.5f, \"sync_median_ms\": %.5f, \"batch_ms\": %.5f, ",
                t->first, t->sync, t->median, t->batch);
    if (t && t->kernels)
        write_field("kernels", t->kernels);
    fprintf(results, "\"golden\": %s, \"bytes\": %.0f}\n", c->golden ? "true" : "false", bytes);
    fflush(results);

    char name[80];
    snprintf(name, sizeof name, "%s%s%s", peer, *variant ? ", " : "", variant);
    printf("%-16s %-12s %-22s ", c->app, c->label, name);
    if (t)
        printf("%9.4f %9.4f %9.4f %8.0f  ", t->batch, t->sync, t->median, bytes / t->batch / 1e6);
    printf("%s\n", failure ? failure : agreement);
    fflush(stdout);
}

/* ---- Peers ---- */

static const DevicePeer *peers[PEERS];
static int               peer_count;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The libraries beside the program, by their names: Kiln's after Halide's; then NVIDIA's. */
static void load_peers(void)
{
    char          *names[PEERS] = { NULL };
    int            n            = 0;
    DIR           *folder       = opendir(options.folder);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) && n < PEERS - 2) {
        const size_t length = strlen(entry->d_name);
        if (!strncmp(entry->d_name, "peer-", 5) && length > 8 && !strcmp(entry->d_name + length - 3, ".so"))
            names[n++] = strdup(entry->d_name);
    }
    if (folder)
        closedir(folder);
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int k = 0; k < n; k++) {
        char path[5000];
        snprintf(path, sizeof path, "%s/%s", options.folder, names[k]);
        void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!so)
            fail("%s", dlerror());
        peers[peer_count] = dlsym(so, "device_peer");
        if (!peers[peer_count])
            fail("%s is no peer", names[k]);
        peer_count++;
        free(names[k]);
    }
    for (int k = 0; k < 2; k++) {
        peers[peer_count] = k ? dnn_peer() : blas_peer();
        peer_count += peers[peer_count] != NULL;
    }
}

static const DevicePeer *peer_named(const char *name)
{
    for (int k = 0; k < peer_count; k++)
        if (!strcmp(peers[k]->name, name))
            return peers[k];
    return NULL;
}

static const DeviceEntry *entry_named(const DevicePeer *peer, const char *app, const char *label)
{
    char exact[200];
    snprintf(exact, sizeof exact, "%s_%s", app, label);
    for (int pass = 0; pass < 2; pass++)
        for (const DeviceEntry *e = peer->entries; e->app; e++)
            if (!strcmp(e->app, pass ? app : exact))
                return e;
    return NULL;
}

/* ---- One case ---- */

typedef struct Setting {
    const Case *c;
    DeviceArray inputs[CASE_INPUTS], out, expected; /* `expected` on the host alone */
    double      bytes;                              /* of the inputs and the output */
} Setting;

/* The arguments of an entry in its order; how many. */
static int arguments(Setting *s, const DeviceEntry *entry, DeviceArray *out, DeviceArg *args)
{
    int count = 0;
    for (const char *word = entry->args; *word; count++) {
        const size_t n    = strcspn(word, ":");
        const char   kind = word[n + 1];
        DeviceArg   *a    = &args[count];
        *a                = (DeviceArg){ .name = NULL };
        if (count == DEVICE_ARGS)
            fail("%s has more than %d arguments", entry->app, DEVICE_ARGS);
        if (n == 3 && !strncmp(word, "out", 3))
            a->name = "out", a->array = out;
        for (int k = 0; k < CASE_INPUTS && s->c->inputs[k].name; k++)
            if (strlen(s->c->inputs[k].name) == n && !strncmp(word, s->c->inputs[k].name, n))
                a->name = s->c->inputs[k].name, a->array = &s->inputs[k];
        for (int k = 0; k < CASE_NUMBERS && s->c->numbers[k].name; k++)
            if (strlen(s->c->numbers[k].name) == n && !strncmp(word, s->c->numbers[k].name, n)) {
                a->name = s->c->numbers[k].name;
                if (kind == 'i')
                    a->value.i = (int32_t)s->c->numbers[k].value;
                else
                    a->value.f = (float)s->c->numbers[k].value;
            }
        if (!a->name || (kind == 'b') != (a->array != NULL))
            fail("%s: there is no argument %.*s", entry->app, (int)n, word);
        word += n + 2;
        word += *word == ' ';
    }
    return count;
}

/* Runs an entry of the host once. */
static void run_on_host(const DevicePeer *host, const DeviceEntry *entry, DeviceArg *args, int count)
{
    void *prepared = host->prepare(entry, args, count);
    if (!prepared || !host->call(prepared))
        fail("%s: %s", entry->app, host->error());
    host->release(prepared);
}

/* Makes the inputs by the host's entries "APP.INPUT", and the result that is expected. */
static void set_up(Setting *s, const DevicePeer *host)
{
    for (int k = 0; k < CASE_INPUTS && s->c->inputs[k].name; k++) {
        s->inputs[k] = array_make(&s->c->inputs[k], true);
        char name[200];
        snprintf(name, sizeof name, "%s.%s", s->c->app, s->c->inputs[k].name);
        const DeviceEntry *make = entry_named(host, name, "");
        if (!make)
            fail("nothing makes %s", name);
        DeviceArg arg = { "out", &s->inputs[k], { 0 } };
        run_on_host(host, make, &arg, 1);
        cuda_upload(s->inputs[k].device, s->inputs[k].host, array_bytes(&s->inputs[k]));
        s->bytes += (double)array_bytes(&s->inputs[k]);
    }
    s->out      = array_make(&s->c->out, true);
    s->expected = array_make(&s->c->out, false);
    s->bytes += (double)array_bytes(&s->out);
    if (s->c->golden) {
        char path[5000];
        snprintf(path, sizeof path, "%s/%s", options.folder, s->c->golden);
        array_load(&s->expected, path);
        return;
    }
    const DeviceEntry *entry = entry_named(host, s->c->app, s->c->label);
    if (!entry)
        fail("the host has no %s", s->c->app);
    DeviceArg args[DEVICE_ARGS];
    const int count = arguments(s, entry, &s->expected, args);
    run_on_host(host, entry, args, count);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const char *driver_error; /* what the driver said when it was last waited for; NULL: nothing failed */

static bool wait_for(const DevicePeer *peer)
{
    const bool done = peer->sync();
    driver_error    = cuda_sync();
    return done && !driver_error;
}

static bool call_and_wait(const DevicePeer *peer, void *prepared)
{
    return peer->call(prepared) && wait_for(peer);
}

static const char *what_failed(const DevicePeer *peer)
{
    return driver_error ? driver_error : peer->error();
}

static bool take_times(const DevicePeer *peer, void *prepared, Times *t)
{
    for (int k = 0; k < WARM_UPS; k++)
        if (!call_and_wait(peer, prepared))
            return false;
    double       each[SYNC_MOST];
    int          n     = 0;
    const int    few   = options.quick ? 3 : SYNC_LEAST;
    const double begin = seconds_now(), end = begin + (options.quick ? brief_seconds : sync_seconds);
    while (n < SYNC_MOST && (n < few || seconds_now() < end) && (n == 0 || seconds_now() < begin + most_seconds)) {
        const double start = seconds_now();
        if (!call_and_wait(peer, prepared))
            return false;
        each[n++] = 1e3 * (seconds_now() - start);
    }
    qsort(each, (size_t)n, sizeof *each, by_size);
    t->sync   = each[0];
    t->median = each[n / 2];
    t->batch  = INFINITY;
    t->calls  = (int)(1e3 * (options.brief ? brief_seconds : batch_seconds) / t->sync);
    t->calls  = t->calls < BATCH_LEAST ? BATCH_LEAST : t->calls > BATCH_CALLS ? BATCH_CALLS : t->calls;
    for (int batch = 0; batch < (options.quick ? FEW_BATCHES : BATCHES); batch++) {
        const double start = seconds_now();
        if (batch && start > begin + 2 * most_seconds)
            break;
        for (int k = 0; k < t->calls; k++)
            if (!peer->call(prepared))
                return false;
        if (!wait_for(peer))
            return false;
        const double mean = 1e3 * (seconds_now() - start) / t->calls;
        t->batch          = mean < t->batch ? mean : t->batch;
    }
    return true;
}

/* The first call, whose result is compared, and the times. */
static void measure(Setting *s, const DevicePeer *peer, const DeviceEntry *entry, const char *variant)
{
    DeviceArg args[DEVICE_ARGS];
    const int count = arguments(s, entry, &s->out, args);
    char      agreement[200];
    Times     t        = { 0 };
    void     *prepared = peer->prepare(entry, args, count);
    cuda_fill(s->out.device, 0xa5, array_bytes(&s->out));
    cuda_sync();
    const double start = seconds_now();
    if (!prepared || !call_and_wait(peer, prepared)) {
        write_result(s->c, peer->name, variant, s->bytes, NULL, NULL, what_failed(peer));
        return;
    }
    t.first = 1e3 * (seconds_now() - start);
    cuda_download(s->out.host, s->out.device, array_bytes(&s->out));
    const bool right = array_compare(&s->expected, s->out.host, s->c->tolerance, agreement, sizeof agreement);
    const bool timed = !s->c->golden && right;
    if (timed && !take_times(peer, prepared, &t)) {
        write_result(s->c, peer->name, variant, s->bytes, NULL, agreement, what_failed(peer));
        return;
    }
    t.kernels = timed && options.kernels && peer->kernels ? peer->kernels(prepared) : NULL;
    write_result(s->c, peer->name, variant, s->bytes, timed ? &t : NULL, agreement, NULL);
    peer->release(prepared);
}

/* Halide's runtime lets the driver use that many registers to a thread; 64 if not told. */
static void measure_halide(Setting *s, const DevicePeer *peer, const DeviceEntry *entry)
{
    static const char *const registers[] = { "64", "255" };
    for (int k = 0; k < (s->c->golden ? 1 : 2); k++) {
        char variant[40];
        snprintf(variant, sizeof variant, "%s registers", registers[k]);
        setenv("HL_CUDA_JIT_MAX_REGISTERS", registers[k], 1);
        measure(s, peer, entry, s->c->golden ? "" : variant);
        peer->forget();
    }
}

static void run_case(const Case *c)
{
    CudaDevice about;
    void      *context = cuda_open(&about);
    load_peers();
    const DevicePeer *host = peer_named("kiln-host");
    if (!host)
        fail("peer-kiln-host.so is missing");
    Setting s = { .c = c };
    set_up(&s, host);
    for (int k = 0; k < peer_count; k++) {
        const DevicePeer  *peer  = peers[k];
        const DeviceEntry *entry = entry_named(peer, c->app, c->label);
        if (peer == host || !entry)
            continue;
        if (!peer->open(context))
            write_result(c, peer->name, "", s.bytes, NULL, NULL, peer->error());
        else if (!strncmp(peer->name, "halide", 6))
            measure_halide(&s, peer, entry);
        else
            measure(&s, peer, entry, "");
    }
    const DevicePeer *kiln = peer_named("kiln");
    if (!kiln || !entry_named(kiln, c->app, c->label))
        write_result(c, "kiln", "", s.bytes, NULL, NULL, "not built");
}

/* ---- Compiling beforehand ---- */

/* Calls a part of Kiln's entries once, on memory of any contents: the driver keeps what it compiles for that. */
static void compile_case(const Case *c, int part)
{
    CudaDevice about;
    void      *context = cuda_open(&about);
    Setting    s       = { .c = c, .out = array_make(&c->out, true) };
    load_peers();
    for (int k = 0; k < CASE_INPUTS && c->inputs[k].name; k++) {
        s.inputs[k] = array_make(&c->inputs[k], true);
        cuda_fill(s.inputs[k].device, 0, array_bytes(&s.inputs[k]));
    }
    for (int k = part; k < peer_count; k += COMPILE_PARTS) {
        const DeviceEntry *entry = entry_named(peers[k], c->app, c->label);
        if (strncmp(peers[k]->name, "kiln", 4) || !strcmp(peers[k]->name, "kiln-host") || !entry ||
            !peers[k]->open(context))
            continue;
        DeviceArg args[DEVICE_ARGS];
        const int count    = arguments(&s, entry, &s.out, args);
        void     *prepared = peers[k]->prepare(entry, args, count);
        if (prepared)
            call_and_wait(peers[k], prepared);
    }
}

static bool wanted(const Case *c)
{
    for (int k = 0; k < options.app_count; k++)
        if (!strcmp(options.apps[k], c->app))
            return true;
    return options.app_count == 0;
}

/* As many parts at a time as there are processors. What fails here fails again, and is told, when it is measured. */
static void compile_all(void)
{
    static char folder[] = "/tmp/kiln-device-XXXXXX";
    const long  most     = sysconf(_SC_NPROCESSORS_ONLN);
    long        running  = 0;
    if (!mkdtemp(folder))
        fail("%s: %s", folder, strerror(errno));
    setenv("CUDA_CACHE_PATH", folder, 1);
    setenv("CUDA_CACHE_MAXSIZE", "2147483648", 1);
    setenv("CUDA_CACHE_DISABLE", "0", 1);
    for (int part = 0; part < COMPILE_PARTS; part++)
        for (const Case *c = cases; c->app; c++) {
            if (c->golden || !wanted(c))
                continue;
            while (running >= most)
                running -= wait(NULL) > 0;
            fflush(NULL);
            const pid_t child = fork();
            if (child == 0) {
                alarm(PATIENCE);
                compile_case(c, part);
                _exit(0);
            }
            running += child > 0;
        }
    while (wait(NULL) > 0)
        continue;
}

/* ---- The machine ---- */

static void describe(void)
{
    CudaDevice about;
    cuda_open(&about);
    const uint64_t from = cuda_alloc(copy_bytes), to = cuda_alloc(copy_bytes);
    cuda_fill(from, 1, copy_bytes);
    double least = INFINITY;
    for (int batch = 0; batch < 1 + BATCHES; batch++) {
        const int    calls = 10;
        const double start = seconds_now();
        for (int k = 0; k < calls; k++)
            cuda_copy(to, from, copy_bytes);
        cuda_sync();
        const double seconds = (seconds_now() - start) / calls;
        least                = batch && seconds < least ? seconds : least;
    }
    const double rate = 2 * (double)copy_bytes / least / 1e9;
    fputc('{', results);
    write_field("device", about.name);
    write_field("capability", about.capability);
    write_field("driver", about.driver);
    fprintf(results, "\"multiprocessors\": %d, \"cache_kb\": %d, \"memory\": %llu, \"copy_gb_per_s\": %.1f}\n",
            about.multiprocessors, about.cache_kb, (unsigned long long)about.memory, rate);
    printf("%s, capability %s, %s, %d multiprocessors, %d MB of L2, %.0f GB; a copy of 2 GiB: %.0f GB/s read and "
           "written\n\n",
           about.name, about.capability, about.driver, about.multiprocessors, about.cache_kb / 1024,
           (double)about.memory / 1e9, rate);
    printf("%-16s %-12s %-22s %9s %9s %9s %8s  %s\n", "app", "size", "variant", "batch ms", "sync ms", "median", "GB/s",
           "result");
}

/* Runs `part` in a process of its own; false if it failed or took too long. */
static bool in_process(void (*part)(const Case *), const Case *c)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0)
        fail("no process could be made: %s", strerror(errno));
    if (child == 0) {
        alarm(PATIENCE);
        part(c);
        fflush(NULL);
        _exit(0);
    }
    int state = 0;
    waitpid(child, &state, 0);
    if (state && c) {
        char text[80];
        if (WIFSIGNALED(state))
            snprintf(text, sizeof text, "the process ended by signal %d", WTERMSIG(state));
        else
            snprintf(text, sizeof text, "the process failed, see above");
        write_result(c, "-", "", 0, NULL, NULL, text);
    }
    return state == 0;
}

static void describe_part(const Case *c)
{
    (void)c;
    describe();
}

int main(int argc, char **argv)
{
    const double begin = seconds_now();
    int          k     = 1;
    options.out        = "device.jsonl";
    for (; k < argc && argv[k][0] == '-'; k++) {
        if (!strcmp(argv[k], "--quick"))
            options.quick = true;
        else if (!strcmp(argv[k], "--brief"))
            options.quick = options.brief = true;
        else if (!strcmp(argv[k], "--seconds") && k + 1 < argc)
            options.seconds = atof(argv[++k]);
        else if (!strcmp(argv[k], "--golden"))
            options.golden = true;
        else if (!strcmp(argv[k], "--kernels"))
            options.kernels = true;
        else if (!strcmp(argv[k], "--out") && k + 1 < argc)
            options.out = argv[++k];
        else
            fail("usage: %s [--quick | --brief] [--golden] [--kernels] [--seconds N] [--out FILE] [APP ...]", argv[0]);
    }
    options.apps      = argv + k;
    options.app_count = argc - k;
    if (readlink("/proc/self/exe", options.folder, sizeof options.folder - 1) < 0)
        fail("the folder of this program cannot be found");
    *strrchr(options.folder, '/') = 0;
    results                       = fopen(options.out, "w");
    if (!results)
        fail("%s: %s", options.out, strerror(errno));
    setenv("CUDA_CACHE_DISABLE", "1", 0);
    if (!in_process(describe_part, NULL))
        return 1;
    if (options.brief)
        compile_all();
    bool all = true;
    for (const Case *c = cases; c->app; c++) {
        if (!wanted(c) || (!c->golden && options.golden) || (c->golden && options.brief))
            continue;
        if (options.seconds > 0 && seconds_now() - begin > options.seconds)
            fprintf(stderr, "measure: %s %s is left out: the time is over\n", c->app, c->label);
        else
            all = in_process(run_case, c) && all;
    }
    return fclose(results) || !all;
}
