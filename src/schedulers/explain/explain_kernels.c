/* SPDX-License-Identifier: MIT */
/* Kernels explained, as text and as a page: a row for each kernel, a row for each stage of it that is stored.
 *
 * Takes   the draft, and what the assembler says of its kernels.
 * Gives   grid, block, points of a thread; shared memory and registers as predicted and as they are; the occupancy that
 *         follows from either; the predicted time and the largest of its terms. */
#include "schedulers/explain/explain_kernels.h"

#include "schedulers/explain/explain.h"

#include <stdlib.h>

static const char *faults[] = { [KERNEL_VALID]        = "",
                                [KERNEL_MANY_THREADS] = "too many threads",
                                [KERNEL_PART_OF_WARP] = "a warp in part",
                                [KERNEL_MUCH_SHARED]  = "too much shared memory",
                                [KERNEL_SPILLS]       = "spills",
                                [KERNEL_OCCUPANCY]    = "low occupancy",
                                [KERNEL_FEW_SMS]      = "fewer blocks than multiprocessors",
                                [KERNEL_UNBOUNDED]    = "no constant bound",
                                [KERNEL_MUCH_CODE]    = "much code" };

/* The largest term of a kernel's time. */
static const char *bound_of(const KernelCost *c)
{
    int most = 0;
    for (int i = 1; i < KERNEL_TERMS; i++)
        most = c->term[i] > c->term[most] ? i : most;
    return kernel_term_names[most];
}

/* "64x8": up to the last size that is not 1. */
static const char *sizes_text(Arena *arena, const double *sizes, int count)
{
    Text t;
    text_init(&t, arena);
    while (count > 1 && sizes[count - 1] <= 1)
        count--;
    for (int i = 0; i < count; i++)
        text_printf(&t, "%s%.0f", i ? "x" : "", sizes[i]);
    return text_string(&t);
}

static const char *block_of(Arena *arena, const KernelCost *c)
{
    return sizes_text(arena, (double[]){ c->thread_block[0], c->thread_block[1], c->thread_block[2] }, 3);
}

/* Blocks along each dimension that has several. */
static const char *grid_of(Arena *arena, const KernelShape *shape, const GraphNode *head)
{
    double grid[KN_MAX_RANK + 1] = { 1 };
    int    count                 = 0;
    for (int d = 0; d < head->rank; d++) {
        const int64_t tile = shape->tile[d] > 0 ? shape->tile[d] : 1;
        const int64_t n    = shape->inside >> d & 1 ? 1 : (node_extent(head, d) + tile - 1) / tile;
        if (n > 1)
            grid[count++] = (double)n;
    }
    return sizes_text(arena, grid, count ? count : 1);
}

/* What the assembler gave a kernel; registers 0: it is not known. */
typedef struct Assembled {
    int     registers;
    int64_t shared, spilled;
} Assembled;

/* Is this the line of a kernel of that function, "… 'k_NAME_3' …"? In the kernel's name other characters are `_`. */
static bool is_kernel_of(const char *line, const char *name)
{
    const char *at = strstr(line, "'k_");
    if (!at)
        return false;
    for (at += 3; *name; name++, at++)
        if (*at != (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *name) ? *name : '_'))
            return false;
    return *at == '_' && at[1 + strspn(at + 1, "0123456789")] == '\'';
}

/* The number before a word, on that line; 0: it is not there. */
static int64_t number_before(const char *line, size_t length, const char *word)
{
    const char *at = strstr(line, word);
    if (!at || at >= line + length)
        return 0;
    while (at > line && at[-1] == ' ')
        at--;
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strtoll(at, NULL, 10);
}

/* Of the kernels of a function, the largest. Two kernels with one code are compiled once, by the name of the first. */
static Assembled assembled_of(const char *report, const char *name)
{
    Assembled a    = { 0 };
    bool      ours = false;
    for (const char *line = report; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const size_t n = strcspn(line, "\n");
        if (n > 12 && !strncmp(line, "// Compiling", 12)) {
            ours = is_kernel_of(line, name);
            continue;
        }
        if (!ours)
            continue;
        const int64_t registers = number_before(line, n, "registers"), shared = number_before(line, n, "bytes smem"),
                      spilled = number_before(line, n, "bytes spill stores");
        a.registers           = registers > a.registers ? (int)registers : a.registers;
        a.shared              = shared > a.shared ? shared : a.shared;
        a.spilled             = spilled > a.spilled ? spilled : a.spilled;
    }
    return a;
}

/* The points of a thread along the dimensions of which it has several. */
static const char *each_of(Arena *arena, const KernelShape *shape, const Func *f)
{
    Text t;
    text_init(&t, arena);
    for (int d = 0; d < f->rank; d++)
        if (shape->each[d] > 1)
            text_printf(&t, "%s%s %lld", t.count ? ", " : "", f->args[d], (long long)shape->each[d]);
    return t.count ? text_string(&t) : "1";
}

static void list_members(Text *out, const KernelDraft *k, int group, bool nested, const char *where)
{
    bool first = true;
    for (int s = 0; s < k->d.graph->node_count; s++) {
        const Choice *c = &k->d.choices[s];
        if (c->where != WHERE_INSIDE || c->group != group || (k->nested[s] != 0) != nested)
            continue;
        text_printf(out, first ? "    %s: %s" : "%.0s, %s", where, k->d.graph->nodes[s].func->name);
        if (nested)
            text_printf(out, " in %s", k->d.graph->nodes[k->nested[s] - 1].func->name);
        first = false;
    }
    if (!first)
        text_add(out, "\n");
}

/* ---- Rows -------------------------------------------------------------------------------------- */

enum { COLUMNS = 12 };
static const char *const titles[COLUMNS] = { "kernel",    "grid", "block",     "each", "shared",    "real",
                                             "registers", "real", "occupancy", "real", "predicted", "bound by" };
static const int         widths[COLUMNS] = { -16, 9, 8, -10, 8, 8, 9, 5, 9, 5, 10, -1 };

static const char *number_or_dash(Arena *arena, bool known, int64_t n)
{
    return known ? arena_printf(arena, "%lld", (long long)n) : "-";
}

static void kernel_row(const KernelDraft *k, int group, const char *report, Arena *arena, const char **cells)
{
    const int         head = k->d.groups[group].head;
    const Func       *f    = k->d.graph->nodes[head].func;
    const KernelCost *c    = &k->kernels[group].cost;
    const Assembled   a    = assembled_of(report, f->name);
    const Occupancy   real = device_occupancy(k->device, c->thread_count, a.registers, a.shared);
    cells[0]               = f->name;
    cells[1]               = grid_of(arena, &k->kernels[group].shape, &k->d.graph->nodes[head]);
    cells[2]               = block_of(arena, c);
    cells[3]               = each_of(arena, &k->kernels[group].shape, f);
    cells[4]               = arena_printf(arena, "%lld", (long long)c->footprint);
    cells[5]               = number_or_dash(arena, a.registers, a.shared);
    cells[6]               = arena_printf(arena, "%d", c->registers);
    cells[7]               = number_or_dash(arena, a.registers, a.registers);
    cells[8]               = arena_printf(arena, "%.0f%%", 100 * c->occupancy.fraction);
    cells[9]               = a.registers ? arena_printf(arena, "%.0f%%", 100 * real.fraction) : "-";
    cells[10]              = arena_printf(arena, "%.4g us", c->ns * 1e-3);
    const char *limit      = occupancy_limit_names[c->occupancy.limit];
    const char *spill      = a.spilled ? arena_printf(arena, "; spills %lld bytes", (long long)a.spilled) : "";
    cells[11] =
        arena_printf(arena, "%s; %s limit%s the blocks%s%s%s", bound_of(c), limit,
                     c->occupancy.limit == LIMIT_SHARED ? "s" : "", c->fault ? "; " : "", faults[c->fault], spill);
}

static void add_text_row(Text *out, const char *const *cells)
{
    for (int c = 0; c < COLUMNS; c++)
        text_printf(out, "%s%*s", c ? c + 1 < COLUMNS ? " " : "  " : "", widths[c], cells[c]);
    text_add(out, "\n");
}

/* What schedules a function that has no tiles. */
static const char *left_words(const KernelDraft *k, int head, Arena *arena)
{
    const GraphNode *node = &k->d.graph->nodes[head];
    if (k->cells[head])
        return arena_printf(arena, "by its pattern, with cells of %s in shared memory",
                            k->d.graph->nodes[k->cells[head] - 1].func->name);
    if (node->out_count && k->cells[node->out[0]->consumer] == head + 1)
        return arena_printf(arena, "in blocks of %s", k->d.graph->nodes[node->out[0]->consumer].func->name);
    return k->patterns && kernel_pattern_of(&k->d, head) != KERNEL_PLAIN ? "by its pattern"
                                                                         : "as the compiler's default has it";
}

void explain_kernels(Text *out, const KernelDraft *k, const char *report)
{
    const char *cells[COLUMNS];
    text_add(out, "\n");
    add_text_row(out, titles);
    for (int i = 0; i < k->d.group_count; i++) {
        const int head = k->d.groups[i].head;
        if (k->left[head]) {
            text_printf(out, "%-16s %s\n", k->d.graph->nodes[head].func->name, left_words(k, head, out->arena));
            continue;
        }
        kernel_row(k, i, report, out->arena, cells);
        add_text_row(out, cells);
        list_members(out, k, i, false, "shared memory");
        list_members(out, k, i, true, "registers");
    }
    text_add(out, report ? "\n\"real\": as NVIDIA's assembler gives them.\n" : "");
}

static void add_page_row(Text *out, const char *const *cells, const char *tag)
{
    text_add(out, "<tr>");
    for (int c = 0; c < COLUMNS; c++) {
        text_printf(out, "<%s%s>", tag, widths[c] < 0 ? " class=\"words\"" : "");
        explain_escape(out, cells[c]);
        text_printf(out, "</%s>", tag);
    }
    text_add(out, "</tr>\n");
}

/* The stages of a kernel that are stored in it. */
static void add_page_members(Text *out, const KernelDraft *k, int group)
{
    Text t;
    text_init(&t, out->arena);
    list_members(&t, k, group, false, "shared memory");
    list_members(&t, k, group, true, "registers");
    if (!t.count)
        return;
    text_printf(out, "<tr><td class=\"words\"></td><td class=\"words\" colspan=\"%d\">", COLUMNS - 1);
    explain_escape(out, text_string(&t));
    text_add(out, "</td></tr>\n");
}

/* The share of each kernel of the time, and the terms of it, as bars. */
static void add_bars(Text *out, const KernelDraft *k)
{
    static const char *const colors[KERNEL_TERMS] = {
        "#4c78a8", "#72b7b2", "#e4572e", "#f2cf5b", "#b279a2", "#9d9d9d"
    };
    enum { ROW = 22, LEFT = 180, WIDE = 700 };
    double most = 0;
    int    rows = 0;
    for (int i = 0; i < k->d.group_count; i++)
        if (!k->left[k->d.groups[i].head])
            for (int t = 0; t < KERNEL_TERMS; t++)
                most = k->kernels[i].cost.term[t] > most ? k->kernels[i].cost.term[t] : most;
    text_add(out, "<p>The terms of each kernel's time:");
    for (int t = 0; t < KERNEL_TERMS; t++)
        text_printf(out, " <span style=\"color:%s\">&#9632;</span> %s", colors[t], kernel_term_names[t]);
    text_printf(out, "</p>\n<div class=\"wide\"><svg width=\"%d\" height=\"%d\" role=\"img\">\n", LEFT + WIDE + 20,
                ROW * k->d.group_count + 4);
    for (int i = 0; i < k->d.group_count; i++) {
        if (k->left[k->d.groups[i].head])
            continue;
        text_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 6, ROW * rows + 14);
        explain_escape(out, k->d.graph->nodes[k->d.groups[i].head].func->name);
        text_add(out, "</text>");
        for (int t = 0; t < KERNEL_TERMS; t++)
            text_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"3\" fill=\"%s\"/>", LEFT,
                        ROW * rows + 1 + 3 * t, most > 0 ? WIDE * k->kernels[i].cost.term[t] / most : 0, colors[t]);
        text_add(out, "\n");
        rows++;
    }
    text_add(out, "</svg></div>\n");
}

void explain_kernels_html(Text *out, const KernelDraft *k, const char *report, const char *title, const char *schedule)
{
    const char *cells[COLUMNS];
    explain_page_begin(out, k->d.graph->pipeline->name);
    text_add(out, "<p>");
    explain_escape(out, title);
    text_add(out, "</p>\n<h2>The kernels</h2>\n<div class=\"wide\"><table>\n");
    add_page_row(out, titles, "th");
    for (int i = 0; i < k->d.group_count; i++) {
        const int head = k->d.groups[i].head;
        if (k->left[head]) {
            text_add(out, "<tr><td class=\"words\">");
            explain_escape(out, k->d.graph->nodes[head].func->name);
            text_printf(out, "</td><td class=\"words\" colspan=\"%d\">%s</td></tr>\n", COLUMNS - 1,
                        left_words(k, head, out->arena));
            continue;
        }
        kernel_row(k, i, report, out->arena, cells);
        add_page_row(out, cells, "td");
        add_page_members(out, k, i);
    }
    text_add(out, "</table></div>\n");
    text_add(out, report ? "<p>&quot;real&quot;: as NVIDIA's assembler gives them.</p>\n" : "");
    add_bars(out, k);
    explain_page_end(out, schedule);
}

void explain_where(Text *out, const PlaceTimes *t, const Device *d)
{
    const double device_ns = t->kernel_ns + t->copies.ns;
    const bool   on_host   = t->host_ns < device_ns;
    text_printf(out, "// On the %s: predicted %.4g ms, and %.4g ms on the %s.\n", on_host ? "CPU" : "GPU",
                (on_host ? t->host_ns : device_ns) * 1e-6, (on_host ? device_ns : t->host_ns) * 1e-6,
                on_host ? "GPU" : "CPU");
    text_printf(out, "// On the GPU kernels take %.4g ms, and copies of %d buffers %.4g ms: %.4g MB at %.4g GB/s.\n",
                t->kernel_ns * 1e-6, t->copies.buffers, t->copies.ns * 1e-6, t->copies.bytes * 1e-6, d->host_rate);
}
