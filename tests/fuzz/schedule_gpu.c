/* SPDX-License-Identifier: MIT */
/* Random loops of kernels: which loops of a definition are blocks, which are threads. See generate_schedule.h. */
#include "schedule_draft.h"

/* ---- What is around ---------------------------------------------------------------------- */

bool is_inside(const Chain *c, bool thread)
{
    bool found = false;
    for (int i = 0; c && i < c->count; i++)
        found = found || (thread ? c->at[i].loop->is_thread : c->at[i].loop->is_block || c->at[i].loop->is_thread);
    return found;
}

const char *some_memory(Scheduler *s, const Chain *c, int depth)
{
    static const char *const all[]  = { "heap", "stack", "register", "shared", "global", "constant" };
    const Chain              around = { .count = 0 };
    Chain                    stored = c ? *c : around;
    stored.count                    = depth;
    if (!s->gpu)
        return all[pick(&s->g, chance(&s->g, 90) ? 1 : 3)];
    if (chance(&s->g, CARELESS))
        return all[pick(&s->g, 6)];
    if (is_inside(&stored, true))
        return chance(&s->g, 70) ? "register" : "stack";
    if (is_inside(&stored, false))
        return chance(&s->g, 70) ? "shared" : "register";
    return chance(&s->g, 60) ? "global" : chance(&s->g, 50) ? "constant" : "heap";
}

/* What is computed at this depth, in a kernel: does a constant bound it? The loops inside, of the definition whose loop
 * it is, have constant extents; all have that if the definition is itself inside. */
static bool is_bounded(const Chain *c, int depth)
{
    const Link *at     = &c->at[depth - 1];
    Chain       around = *c;
    for (around.count = depth - 1; around.count > 0 && c->at[around.count - 1].def == at->def; around.count--)
        ;
    bool bounded = true;
    for (const Loop *l = at->loop + 1; l < at->def->loops + at->def->count; l++)
        bounded = bounded && l->extent > 0;
    return bounded || is_inside(&around, false);
}

int depth_in_kernel(Scheduler *s, const Chain *c, int depth, int deepest, bool on_host)
{
    Chain around = *c;
    if (!s->gpu || chance(&s->g, 2 * CARELESS))
        return depth;
    for (around.count = depth; on_host && depth > 0 && is_inside(&around, false); around.count = --depth)
        ;
    while (depth < deepest && is_inside(&around, false) && !is_bounded(c, depth))
        around.count = ++depth;
    return depth;
}

int depth_of_march(Scheduler *s, const Chain *c, int deepest)
{
    int thread = 0;
    for (int i = 0; i < c->count; i++)
        thread = c->at[i].loop->is_thread ? i + 1 : thread;
    return s->gpu && thread && thread < deepest && chance(&s->g, 50) ? thread : 0;
}

/* ---- Kinds ------------------------------------------------------------------------------- */

/* May the loop be one of a kernel? */
static bool is_sharable(const Def *d, int at, bool steps)
{
    const Loop *l = &d->loops[at];
    return (steps || !l->is_reduction) && !l->is_vector && !l->is_parallel && !l->is_closed && !l->is_block &&
           !l->is_thread;
}

/* The first loop from `at` on that may; d->count if there is none. */
static int next_sharable(const Def *d, int at, bool steps)
{
    while (at < d->count && !is_sharable(d, at, steps))
        at++;
    return at;
}

/* Up to three of them, one directly in the other, from `at` on. Gives the place behind. */
static int share(Scheduler *s, Def *d, int at, bool steps, const char *kind)
{
    int       most = 1 + (int)pick(&s->g, 3), end = at;
    const int last = d->count - (d->count > at + 1 && chance(&s->g, 40)); /* the innermost loop may stay serial */
    while (end < last && end - at < most && is_sharable(d, end, steps))
        end++;
    if (end == at)
        return at;
    directive(s, kind);
    for (int i = end - 1; i >= at; i--) {
        emit(&s->g, "%s%s", d->loops[i].name, i > at ? ", " : ")");
        d->loops[i].is_block  = kind[4] == 'b';
        d->loops[i].is_thread = kind[4] != 'b';
    }
    return end;
}

/* The innermost thread loop as lanes of a warp. */
static void lanes(Scheduler *s, Def *d, int at)
{
    const Loop *l = &d->loops[at];
    if (!l->is_thread || l->extent <= 0 || (l->extent > 32 && !chance(&s->g, CARELESS)))
        return;
    directive(s, "gpu_lanes");
    emit(&s->g, "%s)", l->name);
}

/* Where the last loop over blocks, or over threads, ends. */
static int behind(const Def *d)
{
    int end = 0;
    for (int i = 0; i < d->count; i++)
        if (d->loops[i].is_block || d->loops[i].is_thread)
            end = i + 1;
    return end;
}

static void launch_bounds(Scheduler *s)
{
    directive(s, "launch_bounds");
    emit(&s->g, "%u", chance(&s->g, 50) ? 16u << pick(&s->g, 5) : 1 + (unsigned)pick(&s->g, 80));
    if (chance(&s->g, 50))
        emit(&s->g, ", %u", 1 + (unsigned)pick(&s->g, 8));
    emit(&s->g, ")");
}

void share_loops(Scheduler *s, Def *d, bool steps)
{
    const bool in_block = is_inside(s->around, false), in_thread = is_inside(s->around, true);
    if (in_thread && !chance(&s->g, CARELESS))
        return;
    const bool tiled = behind(d) > 0;
    if (!tiled && (!in_block || chance(&s->g, CARELESS)) && chance(&s->g, 75)) {
        int at = next_sharable(d, 0, steps);
        if (chance(&s->g, 15))
            at = next_sharable(d, at + 1, steps);
        share(s, d, at, steps, "gpu_blocks");
    }
    if (!tiled && chance(&s->g, 80)) {
        int at = next_sharable(d, behind(d), steps);
        if (chance(&s->g, 25))
            at = next_sharable(d, at + 1, steps);
        const int end = share(s, d, at, steps, "gpu_threads");
        if (end > at && chance(&s->g, 10))
            lanes(s, d, end - 1);
    }
    if (behind(d) && chance(&s->g, 8))
        launch_bounds(s);
}
