/* SPDX-License-Identifier: MIT */
/* What `kiln bench` prints: a table for people, or a line of JSON for each schedule. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Times ---- */

typedef struct Times {
    double min, median, spread; /* spread: from the 10th to the 90th percentile, in parts of the minimum */
} Times;

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static Times summarize(Cli *cli, const Contender *c)
{
    double *sorted = cli_alloc(cli, sizeof *sorted * (size_t)(c->runs + 1));
    memcpy(sorted, c->ms, sizeof *sorted * (size_t)c->runs);
    qsort(sorted, (size_t)c->runs, sizeof *sorted, compare_times);
    const int last = c->runs - 1;
    return (Times){ sorted[0], (sorted[last / 2] + sorted[(last + 1) / 2]) / 2,
                    (sorted[last * 9 / 10] - sorted[last / 10]) / sorted[0] };
}

/* ---- Table ---- */

/* "out u16 6400x4800" of each output. */
static void print_heading(Cli *cli, const Bindings *b)
{
    printf("%s:", b->program.path);
    const char *between = " ";
    for (int i = 0; i < b->count; i++)
        if (b->at[i].port.kind == KN_OUTPUT) {
            printf("%s%s %s %s", between, b->at[i].port.name, kn_type_name(b->at[i].port.type),
                   shape_text(cli, &b->at[i].buffer));
            between = ", ";
        }
    putchar('\n');
}

static void print_result(const Contender *c, bool is_reference)
{
    if (is_reference)
        puts("  what the others should be");
    else if (c->difference == 0 && c->share == 0)
        puts("  equal");
    else if (c->share <= 1e-3)
        printf("  equal but for rounding, at most %.2g\n", c->difference);
    else
        printf("  DIFFERENT in %.3g %% of the values, by at most %.3g\n", 100 * c->share, c->difference);
}

/* The CPUs that the process may use, as the system writes them: "0-1". */
static const char *allowed_cpus(Cli *cli)
{
    static const char name[] = "Cpus_allowed_list:";
    FILE             *file   = fopen("/proc/self/status", "r");
    char              line[256];
    const char       *list = "unknown";
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) {
            const char *value = line + strlen(name) + strspn(line + strlen(name), " \t");
            list              = cli_strndup(cli, value, strcspn(value, "\n"));
        }
    if (file)
        fclose(file);
    return list;
}

/* Bytes of all inputs and outputs. */
static double compulsory_bytes(const Bindings *b)
{
    double all = 0;
    for (int i = 0; i < b->count; i++) {
        double bytes = b->at[i].port.kind == KN_PARAM ? 0 : (double)kn_type_size(b->at[i].buffer.type);
        for (int d = 0; bytes > 0 && d < b->at[i].buffer.rank; d++)
            bytes *= b->at[i].buffer.dim[d].extent;
        all += bytes;
    }
    return all;
}

/* How fast the device copies, beside the table's last but one column. */
static void print_copy(kn_device *device)
{
    kn_device_speed speed;
    if (kn_device_measure(device, &speed) == KN_OK)
        printf("on %s, data in its memory; ms are of a run that is waited for, batched ms of many that are waited for "
               "together; GB/s are of all inputs and outputs once, a copy has %.0f\n",
               kn_device_describe(device)->name, speed.inside * 1e-9);
}

void bench_table(Cli *cli, const Bindings *b, const Contender *c, int count, const Protocol *how)
{
    int width = (int)strlen("schedule"), fewest = c[0].runs;
    for (int i = 0; i < count; i++) {
        width  = (int)strlen(c[i].name) > width ? (int)strlen(c[i].name) : width;
        fewest = c[i].runs < fewest ? c[i].runs : fewest;
    }
    print_heading(cli, b);
    printf("%-*s  threads    min ms    median  spread   speed  compile ms  peak MB%s  result\n", width, "schedule",
           how->device ? "  batched ms     GB/s" : "");
    double reference = 0; /* the time of the first schedule with as many threads */
    for (int i = 0; i < count; i++) {
        const Times t = summarize(cli, &c[i]);
        reference     = i == 0 || c[i].threads != c[i - 1].threads ? t.min : reference;
        char peak[32] = "?";
        if (c[i].peak_kb >= 0)
            snprintf(peak, sizeof peak, "%.1f", (double)c[i].peak_kb / 1024);
        printf("%-*s  %7d  %8.3f  %8.3f  %4.0f %%  %5.2fx  %10.1f  %7s", width, c[i].name, c[i].threads, t.min,
               t.median, 100 * t.spread, reference / t.min, c[i].compile_ms, peak);
        if (how->device)
            printf("  %10.4f  %7.1f", c[i].batched_ms, compulsory_bytes(b) / c[i].batched_ms * 1e-6);
        if (count > 1)
            print_result(&c[i], i == 0);
        else
            putchar('\n');
    }
    if (how->device)
        print_copy(how->device);
    printf("%d runs or more each, %g s in %d turn%s; not bound to CPUs, may use %s; spread is from the 10th to the "
           "90th percentile\n\n",
           fewest, how->seconds, how->rounds, how->rounds == 1 ? "" : "s", allowed_cpus(cli));
}

/* ---- JSON ---- */

static void print_string(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        const unsigned char ch = (unsigned char)*s;
        if (ch == '"' || ch == '\\')
            printf("\\%c", ch);
        else if (ch < 0x20)
            printf("\\u%04x", ch);
        else
            putchar(ch);
    }
    putchar('"');
}

/* JSON has no infinities. */
static void print_number(const char *name, double value)
{
    if (isfinite(value))
        printf(", \"%s\": %.9g", name, value);
    else
        printf(", \"%s\": null", name);
}

void bench_json(Cli *cli, const Bindings *b, const Contender *c, int count)
{
    for (int i = 0; i < count; i++) {
        const Times t = summarize(cli, &c[i]);
        fputs("{\"program\": ", stdout);
        print_string(b->program.path);
        fputs(", \"schedule\": ", stdout);
        print_string(c[i].name);
        printf(", \"threads\": %d", c[i].threads);
        print_number("min_ms", t.min);
        print_number("median_ms", t.median);
        print_number("compile_ms", c[i].compile_ms);
        if (c[i].batched_ms > 0)
            print_number("batched_ms", c[i].batched_ms);
        if (c[i].peak_kb >= 0)
            printf(", \"peak_kb\": %" PRId64, c[i].peak_kb);
        else
            fputs(", \"peak_kb\": null", stdout);
        print_number("difference", c[i].difference);
        print_number("share", c[i].share);
        fputs(", \"ms\": [", stdout);
        for (int k = 0; k < c[i].runs; k++)
            printf("%s%.6g", k ? ", " : "", c[i].ms[k]);
        puts("]}");
    }
}
