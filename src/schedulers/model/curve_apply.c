/* SPDX-License-Identifier: MIT */
/* From curves to a machine: which cache each bend is, which of the sizes are used, and the rates of the levels.
 *
 * Sizes   A bend is the cache whose reported size is the nearest, within a factor of NEAR; an L2 without such a bend is
 *         the second one, if there are as many as caches. The last one that is neither
 *         the L1 nor the L2 is the L3, whatever is reported of it: a virtual machine is told its server's. A measured
 *         size replaces the reported one where they differ by more than AGREE; the effective size of a cache is a
 * little less than its own, and the model counts that already. L3      What a core can count on is what it has with all
 * others at work. Rates   of a level: the median of the copies whose sets are in it, well away from its ends, less the
 * time of the level before. */
#include "schedulers/graph/constants.h"
#include "schedulers/model/curve.h"

#include <math.h>

static const double NEAR = 4, AGREE = 2;

/* ---- Sizes ------------------------------------------------------------------------------- */

/* The bend that is nearest to a reported size, larger than `beyond`; 0: none. */
static double nearest(const Levels *l, double reported, double beyond)
{
    double found = 0, off = log(NEAR);
    for (int i = 0; i < l->count; i++) {
        const double now = fabs(log(l->bytes[i] / reported));
        if (l->bytes[i] > beyond && now <= off) {
            found = l->bytes[i];
            off   = now;
        }
    }
    return found;
}

/* In the order of the caches, where all of them were found: the reported size may be wrong. */
static double find_l2(const Levels *l, const Machine *m, double l1)
{
    const double near = nearest(l, (double)m->l2, l1);
    return near > 0 ? near : l->count == (m->l3 ? 3 : 2) && l1 == l->bytes[0] ? l->bytes[1] : 0;
}

static void use_size(int64_t *reported, double found)
{
    const double ratio = found / (double)*reported;
    if (found > 0 && (ratio > AGREE || ratio < 1 / AGREE))
        *reported = (int64_t)found / LINE_BYTES * LINE_BYTES;
}

/* The last bend beyond the L2; 0: none. */
static double last_beyond(const Levels *l, double l2)
{
    return l->count && l->bytes[l->count - 1] > AGREE * l2 ? l->bytes[l->count - 1] : 0;
}

static void find_sizes(const Curve *one, const Curve *all, Machine *m, Found *f)
{
    const Levels alone = curve_levels(one, CURVE_LATENCY), together = curve_levels(all, CURVE_LATENCY);
    f->l1           = nearest(&alone, (double)m->l1, 0);
    f->l2           = find_l2(&alone, m, f->l1);
    const double l2 = fmax((double)m->l2, f->l2);
    f->l3           = m->l3 ? last_beyond(&alone, l2) : 0;
    f->l3_core      = m->l3 ? last_beyond(&together, l2) : 0;
    use_size(&m->l1, f->l1);
    use_size(&m->l2, f->l2);
    m->l2 = m->l2 < m->l1 ? m->l1 : m->l2;
    m->l3 = m->l3 && m->l3 < m->l2 ? m->l2 : m->l3;
    if (f->l3_core > 0)
        m->l3_core = (int64_t)fmin(f->l3_core, (double)m->l3_core) / LINE_BYTES * LINE_BYTES;
}

/* ---- Rates ------------------------------------------------------------------------------- */

/* The median ns of a kind in sets of more than `from` bytes and at most `to`; 0: there are none. */
static double time_in(const Curve *c, CurveKind kind, double from, double to)
{
    double ns[CURVE_POINTS];
    int    count = 0;
    for (int i = 0; i < c->count; i++)
        if ((double)c->bytes[i] > from && (double)c->bytes[i] <= to && c->ns[kind][i] > 0)
            ns[count++] = c->ns[kind][i];
    return count ? curve_median(ns, count) : 0;
}

static void keep(double *to, double measured)
{
    if (measured > 0 && isfinite(measured))
        *to = machine_rounded(measured);
}

/* The rate of a level alone: the time from there less the time from the level before. A difference of less than a tenth
 * is not measured. */
static double rate_beyond(double before, double from_there)
{
    return from_there > 0 ? 1 / fmax(from_there - before, from_there / 10) : 0;
}

/* Sets well inside a level are from AWAY times the size of the one before to its own size over AWAY. */
static const double AWAY = 1.4;

static double time_of_level(const Curve *c, CurveKind kind, double before, double size)
{
    const double inside = time_in(c, kind, before * AWAY, size / AWAY);
    return inside > 0 ? inside : time_in(c, kind, before, size);
}

static double time_of_memory(const Curve *c, CurveKind kind, double before)
{
    const double far = time_in(c, kind, 2 * before, INFINITY);
    return far > 0 ? far : c->ns[kind][c->count ? c->count - 1 : 0];
}

static void find_rates(const Curve *one, const Curve *all, Machine *m, Found *f)
{
    const double size_l3 = f->l3 > 0 ? f->l3 : (double)m->l3, l2 = (double)m->l2, last = m->l3 ? size_l3 : l2,
                 last_all = f->l3_core > 0 ? f->l3_core : last;
    for (int kind = 0; kind < CURVE_KINDS; kind++) {
        double *ns   = f->ns[kind];
        ns[0]        = time_of_level(one, (CurveKind)kind, 0, (double)m->l1);
        ns[1]        = time_of_level(one, (CurveKind)kind, (double)m->l1, l2);
        ns[2]        = m->l3 ? time_of_level(one, (CurveKind)kind, l2, size_l3) : 0;
        ns[3]        = time_of_memory(one, (CurveKind)kind, last);
        f->all[kind] = time_of_memory(all, (CurveKind)kind, last_all);
    }
    const double *copy = f->ns[CURVE_COPY], beyond = m->l3 ? copy[2] : copy[1];
    keep(&m->l1_rate, copy[0] > 0 ? 1 / copy[0] : 0);
    keep(&m->l2_rate, rate_beyond(copy[0], copy[1]));
    keep(&m->l3_rate, m->l3 ? rate_beyond(copy[1], copy[2]) : rate_beyond(copy[1], copy[3]));
    keep(&m->memory_rate, rate_beyond(beyond, copy[3]));
    keep(&m->memory_all, m->cores * rate_beyond(beyond, f->all[CURVE_COPY]));
    keep(&m->ahead, copy[3] > 0 ? f->ns[CURVE_LATENCY][3] / copy[3] / (double)m->line : 0);
    keep(&m->wait, f->ns[CURVE_LATENCY][3] / MOST_OUTSTANDING);
}

Found curve_apply(const Curve *one, const Curve *all, Machine *m)
{
    Found f = { 0 };
    find_sizes(one, all, m, &f);
    find_rates(one, all, m, &f);
    return f;
}
