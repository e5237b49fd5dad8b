/* SPDX-License-Identifier: MIT */
/* Calibration: caches are found in curves, be they smooth, noisy or flat; what is found becomes a machine; figures that
 * make programs slower are not used; the text reads back. The curves of this machine are measured, too. */
#include "api/calibrate/calibrate.h"
#include "check.h"
#include "kiln.h"

#include <math.h>

/* ---- Imitated curves --------------------------------------------------------------------- */

/* Caches, and the ns of an access to each and to memory. `blur`: how gradually a curve passes from one to the next, in
 * powers of e of the size; `noise`: the most that a point is too slow, as a fraction. */
typedef struct Memory {
    const char *name;
    int         count;
    double      bytes[MOST_CACHES], ns[MOST_CACHES + 1], blur, noise;
} Memory;

static const Memory memories[] = {
    { "steps", 3, { 32768, 524288, 0x1p25 }, { 1.3, 4, 15, 110 }, 0.01, 0 },
    { "a server", 3, { 49152, 2097152, 0x1p24 }, { 1.2, 5, 30, 130 }, 0.2, 0.05 },
    { "an L3 that others use", 3, { 32768, 524288, 7e6 }, { 1.3, 4, 16, 120 }, 0.4, 0.1 },
    { "noisy", 3, { 32768, 524288, 0x1p23 }, { 1.3, 4, 15, 110 }, 0.2, 0.4 },
    { "two caches", 2, { 32768, 1 << 20 }, { 2, 11, 140 }, 0.2, 0.1 },
    { "one", 1, { 65536 }, { 2, 100 }, 0.2, 0.1 },
    { "flat", 0, { 0 }, { 90 }, 0.2, 0 },
    { "flat and noisy", 0, { 0 }, { 90 }, 0.2, 0.4 },
};

/* A tenth of the points are disturbed beyond the noise: three times as slow. */
static Curve imitate(const Memory *m, uint64_t seed, bool disturbed)
{
    Curve c = { .count = CURVE_POINTS };
    for (int i = 0; i < c.count; i++) {
        double ns  = m->ns[0];
        c.bytes[i] = (int64_t)(8192 * pow(2, i / 2.0));
        for (int k = 0; k < m->count; k++)
            ns *= pow(m->ns[k + 1] / m->ns[k], 1 / (1 + exp(-log((double)c.bytes[i] / m->bytes[k]) / m->blur)));
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        ns *= 1 + m->noise * (double)(seed >> 40) / 0x1p24;
        ns *= disturbed && (seed >> 33) % 10 == 0 ? 3 : 1;
        for (int kind = 0; kind < CURVE_KINDS; kind++)
            c.ns[kind][i] = kind == CURVE_LATENCY ? ns : ns / 64;
    }
    return c;
}

static void find_caches(void)
{
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        for (uint64_t seed = 1; seed <= 50; seed++) {
            const Memory *m     = &memories[i];
            const Curve   c     = imitate(m, seed, false);
            const Levels  found = curve_levels(&c, CURVE_LATENCY);
            CHECK(found.count == m->count, "%s: %d caches", m->name, found.count);
            for (int k = 0; k < m->count && k < found.count; k++) {
                CHECK(fabs(log(found.bytes[k] / m->bytes[k])) < log(1.5), "%s: cache %d of %g bytes", m->name, k + 1,
                      found.bytes[k]);
                CHECK(fabs(log(found.ns[k] / m->ns[k])) < log(1.5), "%s: level %d of %g ns", m->name, k + 1,
                      found.ns[k]);
            }
        }
}

/* Single points that something else has slowed down move no cache by more than two steps of a factor of 2. */
static void ignore_disturbances(void)
{
    const Memory *m = &memories[1];
    for (uint64_t seed = 1; seed <= 50; seed++) {
        const Curve  c     = imitate(m, seed, true);
        const Levels found = curve_levels(&c, CURVE_LATENCY);
        for (int k = 0; k < m->count && found.count == m->count; k++)
            CHECK(fabs(log(found.bytes[k] / m->bytes[k])) < log(4), "seed %d: cache %d of %g bytes", (int)seed, k + 1,
                  found.bytes[k]);
        CHECK(found.count >= 2, "seed %d: %d caches", (int)seed, found.count);
    }
}

/* ---- Machines ---------------------------------------------------------------------------- */

/* What is reported is used where it agrees with the curve, or where nothing is found. */
static const struct {
    int     memory;              /* of the table above */
    int64_t l1, l2, l3, l3_core; /* reported */
    double  used_l1, used_l2, used_l3_core;
} uses[] = {
    { 0, 32 << 10, 512 << 10, 32 << 20, 4 << 20, 32 << 10, 512 << 10, 4 << 20 },
    { 0, 32 << 10, 4 << 20, 32 << 20, 4 << 20, 32 << 10, 512 << 10, 4 << 20 }, /* reported wrongly */
    { 0, 32 << 10, 128 << 10, 32 << 20, 4 << 20, 32 << 10, 512 << 10, 4 << 20 },
    { 2, 32 << 10, 512 << 10, 260 << 20, 130 << 20, 32 << 10, 512 << 10, 7e6 }, /* that of a whole server */
    { 6, 48 << 10, 2 << 20, 260 << 20, 4 << 20, 48 << 10, 2 << 20, 4 << 20 },   /* flat */
    { 4, 32 << 10, 1 << 20, 0, 4 << 20, 32 << 10, 1 << 20, 4 << 20 },           /* no L3 */
};

static void apply(kn_context *cx)
{
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        const Curve c = imitate(&memories[uses[i].memory], 1, false);
        Machine     m = machine_usual(), again = machine_usual();
        Text        text;
        m.l1 = uses[i].l1, m.l2 = uses[i].l2, m.l3 = uses[i].l3, m.l3_core = uses[i].l3_core;
        curve_apply(&c, &c, &m);
        CHECK(fabs(log((double)m.l1 / uses[i].used_l1)) < log(1.3) &&
                  fabs(log((double)m.l2 / uses[i].used_l2)) < log(1.3) &&
                  fabs(log((double)m.l3_core / uses[i].used_l3_core)) < log(1.5),
              "%d: l1 %d, l2 %d, l3_core %d", (int)i, (int)m.l1, (int)m.l2, (int)m.l3_core);
        CHECK(m.memory_rate > 0 && m.memory_rate < 64 && m.l2_rate > m.memory_rate / 20 && m.ahead > 0 && m.wait > 0,
              "%d: rates %g, %g, ahead %g, wait %g", (int)i, m.l2_rate, m.memory_rate, m.ahead, m.wait);
        text_init(&text, &cx->call);
        machine_print(&text, &m);
        CHECK(machine_parse(cx, "machine", text_string(&text), &again), "%s", kn_error_text(cx));
    }
}

/* ---- The check --------------------------------------------------------------------------- */

static const struct {
    int    checks;
    double ratio[CALIBRATE_CHECKS];
    bool   worse;
} verdicts[] = {
    { 0, { 0 }, false },
    { 3, { 1, 1, 1 }, false },
    { 3, { 0.5, 1.04, 1.04 }, false },
    { 3, { 0.5, 1.2, 1 }, true },       /* never worse */
    { 4, { 1.01, 1.02, 1, 1 }, false }, /* noise */
    { 4, { 1.03, 1.04, 1, 1 }, true },
    { 4, { 1.3, 1, 1, 1 }, true },
    { 6, { 2.27, 0.9, 0.9, 0.9, 1, 1 }, true },
};

/* The text has the figures of one of the machines, the old ones after a bad check, and reads back to them. */
static void keep_or_take(kn_context *cx)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        Calibrated c    = { .reported = machine_usual(),
                            .one      = imitate(&memories[1], 1, false),
                            .checks   = verdicts[i].checks };
        Machine    read = machine_usual();
        Text       text;
        c.all    = c.one;
        c.before = c.measured = c.reported;
        c.before.op           = 0.25;
        c.before.l2           = 1 << 20;
        c.found               = curve_apply(&c.one, &c.all, &c.measured);
        memcpy(c.ratio, verdicts[i].ratio, sizeof c.ratio);
        text_init(&text, &cx->call);
        calibrated_print(&text, &c);
        const char    *printed = text_string(&text);
        const Machine *used    = verdicts[i].worse ? &c.before : &c.measured;
        CHECK(calibrated_is_worse(&c) == verdicts[i].worse, "%d", (int)i);
        CHECK(!strstr(printed, "the old figures are kept") == !verdicts[i].worse, "%s", printed);
        CHECK(strstr(printed, "measured    reported        used") && strstr(printed, "working set"), "%s", printed);
        CHECK(machine_parse(cx, "machine", printed, &read) && read.op == used->op && read.l2 == used->l2 &&
                  read.memory_rate == used->memory_rate && read.ahead == used->ahead && read.l3_core == used->l3_core,
              "%d: %s %s", (int)i, kn_error_text(cx), printed);
    }
}

static void schedule_checks(kn_context *cx)
{
    for (int i = 0; i < CALIBRATE_CHECKS; i++) {
        kn_pipeline *p = kn_parse(cx, "check", calibrate_checks[i], -1);
        CHECK(p && kn_schedule_make(p, NULL, "cores=2, vector_bits=256", NULL, NULL, 0), "%s", kn_error_text(cx));
        if (p)
            kn_pipeline_free(p);
    }
}

/* ---- This machine ------------------------------------------------------------------------ */

/* The smallest and the largest working set, by one thread and by all. */
static void measure(kn_context *cx)
{
    const Machine m = machine_detect();
    CurveBench   *b = curve_bench_new(cx, &m);
    CHECK(b, "no memory");
    for (int all = 0; b && all < 2; all++) {
        Curve c = curve_begin(b, all);
        CHECK(c.count > 9 && c.bytes[c.count - 1] >= 8 << 20, "%d points", c.count);
        curve_measure(b, all, 0, &c);
        curve_measure(b, all, c.count - 1, &c);
        for (int kind = 0; kind < CURVE_KINDS; kind++)
            CHECK(c.ns[kind][0] > 0 || kind == CURVE_STREAM, "kind %d: %g ns", kind, c.ns[kind][0]);
        CHECK(c.ns[CURVE_LATENCY][c.count - 1] > c.ns[CURVE_LATENCY][0], "memory in %g ns, L1 in %g",
              c.ns[CURVE_LATENCY][c.count - 1], c.ns[CURVE_LATENCY][0]);
    }
    curve_bench_free(cx, b);
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    context_begin(cx);
    find_caches();
    ignore_disturbances();
    apply(cx);
    keep_or_take(cx);
    schedule_checks(cx);
    measure(cx);
    kn_context_free(cx);
    return check_done();
}
