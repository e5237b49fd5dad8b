/* SPDX-License-Identifier: MIT */
/* kiln tune --html FILE: one page, which needs nothing else, with the curve of the best over time and what changed at
 * each step. While the search runs the page loads itself again. */
#include "cli/tune/tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 860, HEIGHT = 300, LEFT = 50, RIGHT = 10, TOP = 10, BOTTOM = 30 };

static void escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        const char *as = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : *text == '&' ? "&amp;" : NULL;
        if (as)
            fputs(as, out);
        else
            fputc(*text, out);
    }
}

/* Values from 0 to `most` along an axis. */
static double place_x(const Page *page, double seconds)
{
    const double most = page->count && page->at[page->count - 1].seconds > 0 ? page->at[page->count - 1].seconds : 1;
    return LEFT + (WIDTH - LEFT - RIGHT) * seconds / most;
}

static double top_speedup(const Page *page)
{
    const double last = page->count ? page->at[page->count - 1].speedup : 1;
    return last > 1.05 ? 1 + 1.1 * (last - 1) : 1.1;
}

static double place_y(const Page *page, double speedup)
{
    const double least = 0.9, most = top_speedup(page);
    const double part = (speedup - least) / (most - least);
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (part < 0 ? 0 : part > 1 ? 1 : part);
}

/* The speed-up of a candidate over auto: that of the best before it, by its ratio. */
static double own_speedup(const Page *page, int i)
{
    return page->at[i].is_best || page->at[i].ratio <= 0 ? page->at[i].speedup
                                                         : page->at[i].speedup / page->at[i].ratio;
}

static void draw(FILE *out, const Page *page)
{
    fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"speed-up over time\">\n", WIDTH, HEIGHT);
    for (int i = 0; i <= 4; i++) {
        const double value = 0.9 + (top_speedup(page) - 0.9) * i / 4, y = place_y(page, value);
        fprintf(
            out,
            "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/><text x=\"4\" y=\"%.1f\">%.2fx</text>\n",
            LEFT, WIDTH - RIGHT, y, y, y + 4, value);
    }
    for (int i = 0; i < page->count; i++)
        if (!page->at[i].is_best)
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" class=\"%s\"/>\n", place_x(page, page->at[i].seconds),
                    place_y(page, own_speedup(page, i)), page->at[i].is_fault ? "fault" : "tried");
    fputs("<polyline class=\"best\" points=\"", out);
    for (int i = 0; i < page->count; i++) {
        if (i)
            fprintf(out, "%.1f,%.1f ", place_x(page, page->at[i].seconds), place_y(page, page->at[i - 1].speedup));
        fprintf(out, "%.1f,%.1f ", place_x(page, page->at[i].seconds), place_y(page, page->at[i].speedup));
    }
    const double seconds = page->count ? page->at[page->count - 1].seconds : 0;
    fprintf(out, "\"/>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f s, %d candidates</text></svg>\n",
            WIDTH - RIGHT, HEIGHT - 8, seconds, page->count);
}

static void list_steps(FILE *out, const Page *page)
{
    fputs("<table><tr><th>candidate</th><th>s</th><th>speed-up over auto</th><th>what changed</th></tr>\n", out);
    for (int i = 0; i < page->count; i++) {
        if (!page->at[i].is_best)
            continue;
        fprintf(out, "<tr><td>%d</td><td>%.1f</td><td>%.3f</td><td>", i, page->at[i].seconds, page->at[i].speedup);
        escaped(out, page->at[i].what);
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

int page_write(const Page *page, const char *schedule)
{
    if (!page->path)
        return DONE;
    FILE *out = fopen(page->path, "w");
    if (!out)
        return failed("%s: cannot be written: %s", page->path, strerror(errno));
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">%s<title>kiln tune ",
            schedule ? "" : "<meta http-equiv=\"refresh\" content=\"2\">");
    escaped(out, page->program);
    fputs("</title><style>body{font:15px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
          "text{font-size:11px}.grid{stroke:#ddd}.tried{fill:#9ab}.fault{fill:#c33}"
          ".best{fill:none;stroke:#06c;stroke-width:2}td,th{padding:2px 10px;text-align:left}"
          "pre{overflow-x:auto;background:#f4f4f4;padding:1em}</style></head><body>\n<h1>kiln tune ",
          out);
    escaped(out, page->program);
    fputs("</h1>\n<p>The line is the best so far, each point a candidate; red ones have shown a mistake of Kiln.</p>\n",
          out);
    draw(out, page);
    list_steps(out, page);
    if (schedule) {
        fputs("<h2>The schedule</h2>\n<pre>", out);
        escaped(out, schedule);
        fputs("</pre>\n", out);
    }
    fputs("</body></html>\n", out);
    return ferror(out) | fclose(out) ? failed("%s: cannot be written", page->path) : DONE;
}

void page_add(Page *page, const kn_tune_step *s)
{
    if (!page->path)
        return;
    if (page->count == page->room) {
        const int  room   = page->room ? 2 * page->room : 256;
        PagePoint *larger = realloc(page->at, sizeof *larger * (size_t)room);
        if (!larger)
            return;
        page->at   = larger;
        page->room = room;
    }
    PagePoint *p = &page->at[page->count++];
    *p           = (PagePoint){ .seconds  = s->seconds,
                                .speedup  = s->speedup,
                                .ratio    = s->ratio,
                                .is_best  = s->is_best && !s->is_fault,
                                .is_fault = s->is_fault };
    snprintf(p->what, sizeof p->what, "%s", s->what);
    if (p->is_best)
        page_write(page, NULL);
}

void page_free(Page *page)
{
    free(page->at);
}
