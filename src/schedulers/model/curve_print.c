/* SPDX-License-Identifier: MIT */
/* The curves, and what was found in them, as comments of a machine's text. */
#include "schedulers/model/curve.h"

#include <stdio.h>

enum { NUMBER = 16 /* characters of a number with its unit */ };

/* "33 KiB"; "-" for 0. */
static const char *size_text(char *out, double bytes)
{
    const double kib = bytes / 1024;
    if (bytes <= 0)
        snprintf(out, NUMBER, "-");
    else if (kib < 1024)
        snprintf(out, NUMBER, "%.0f KiB", kib);
    else
        snprintf(out, NUMBER, "%.3g MiB", kib / 1024);
    return out;
}

static const char *number_text(char *out, double value)
{
    snprintf(out, NUMBER, value > 0 ? value < 100 ? "%.3g" : "%.0f" : "-", value);
    return out;
}

static void print_size(Text *out, const char *name, double found, double reported, double used)
{
    char a[NUMBER], b[NUMBER], c[NUMBER];
    text_printf(out, "// %-24s%12s%12s%12s\n", name, size_text(a, found), size_text(b, reported), size_text(c, used));
}

/* The latency, and bytes per ns of the other kinds. */
static void print_times(Text *out, const double *ns)
{
    char text[NUMBER];
    for (int kind = 0; kind < CURVE_KINDS; kind++)
        text_printf(out, "%9s", number_text(text, kind == CURVE_LATENCY ? ns[kind] : ns[kind] > 0 ? 1 / ns[kind] : 0));
}

static void print_level(Text *out, const char *name, const Found *f, int level)
{
    double ns[CURVE_KINDS];
    for (int kind = 0; kind < CURVE_KINDS; kind++)
        ns[kind] = f->ns[kind][level];
    text_printf(out, "// %-15s", name);
    print_times(out, ns);
    text_add(out, "\n");
}

static const char kinds[] = "  latency     read    write     copy   stream";

void found_print(Text *out, const Found *f, const Machine *reported, const Machine *used)
{
    static const char *const levels[] = { "L1", "L2", "L3", "memory" };
    text_printf(out, "// %-24s%12s%12s%12s\n", "bytes of a cache", "measured", "reported", "used");
    print_size(out, "L1", f->l1, (double)reported->l1, (double)used->l1);
    print_size(out, "L2", f->l2, (double)reported->l2, (double)used->l2);
    print_size(out, "L3, one thread", f->l3, (double)reported->l3, (double)used->l3);
    print_size(out, "L3, each of all threads", f->l3_core, (double)reported->l3_core, (double)used->l3_core);
    text_printf(out, "//\n// one thread: ns of a load that waits for the one before, and bytes a ns\n// %-15s%s\n",
                "from", kinds);
    for (int i = 0; i <= MOST_CACHES; i++)
        print_level(out, levels[i], f, i);
    text_printf(out, "// %-15s", "memory, of all");
    print_times(out, f->all);
    text_add(out, "\n");
}

void curve_print(Text *out, const Curve *one, const Curve *all, int threads)
{
    char size[NUMBER];
    text_printf(out, "// %-12s%-45s   each of %d threads\n// %-12s%s   %s\n", "", "one thread", threads, "working set",
                kinds, kinds);
    for (int i = 0; i < one->count; i += 2) {
        double ns[CURVE_KINDS];
        text_printf(out, "// %-12s", size_text(size, (double)one->bytes[i]));
        for (int kind = 0; kind < CURVE_KINDS; kind++)
            ns[kind] = one->ns[kind][i];
        print_times(out, ns);
        for (int kind = 0; kind < CURVE_KINDS; kind++)
            ns[kind] = all->ns[kind][i];
        text_add(out, "   ");
        if (i < all->count)
            print_times(out, ns);
        text_add(out, "\n");
    }
}
