/* SPDX-License-Identifier: MIT */
/* The scheduler dp and its parts: apps within so many steps, the same text each time, and every part that can
 * be left out. What a schedule computes is for the fuzzer (tests/fuzz/schedules.c --made). */
#include "check.h"

#include "kiln.h"
#include "steps.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char machine[] = "cores=4, vector_bits=256, l1=32k, l2=512k, l3=16M, op=0.25, l1_rate=40, l2_rate=20, "
                              "l3_rate=10, memory_rate=6, memory_all=12";

/* So that no search is cut off by the clock, which would change the text. */
static const kn_options unhurried = { .budget = 1000 };

static const char *const left_out[] = { "dp",           "dp/no-inlining",     "dp/no-two-levels",
                                        "dp/no-slices", "dp/no-shared-loops", "dp/no-search",
                                        "dp/no-repair", "dp/no-model",        "dp/no-inlining/no-two-levels",
                                        "greedy" };

/* Makes it twice, and reads it back. */
static void make(kn_context *cx, const char *name, const char *text, const char *scheduler, uint64_t most)
{
    kn_pipeline   *p     = kn_parse(cx, name, text, -1);
    const char    *made  = p ? kn_schedule_make(p, scheduler, machine, &unhurried, NULL, 0) : NULL;
    const uint64_t taken = steps_spent(cx);
    char          *first = made ? strdup(made) : NULL;
    CHECK(made, "%s by %s: %s", name, scheduler, kn_error_text(cx));
    CHECK(taken <= most, "%s by %s: %llu steps", name, scheduler, (unsigned long long)taken);
    if (first) {
        const char *again = kn_schedule_make(p, scheduler, machine, &unhurried, NULL, 0);
        CHECK(again && !strcmp(first, again), "%s by %s: another text the second time", name, scheduler);
        CHECK(kn_schedule_parse(p, "made", first, -1) == KN_OK, "%s by %s: %s", name, scheduler, kn_error_text(cx));
    }
    free(first);
    kn_pipeline_free(p);
}

/* A step takes about 100 ns: those of up to 50 stages have about 20 ms, the others a tenth of a second. */
static void apps(void)
{
    enum { FEW = 200000, MANY = 1000000 };
    static const struct {
        const char *name;
        uint64_t    most;
    } all[] = {
        { "blur", FEW },        { "bilateral_grid", FEW }, { "unsharp", FEW },          { "harris", FEW },
        { "camera_pipe", FEW }, { "interpolate", MANY },   { "local_laplacian", MANY }, { "lens_blur", MANY },
        { "nl_means", FEW },    { "iir_blur", FEW },       { "max_filter", FEW },       { "hist", FEW },
        { "conv_layer", FEW },  { "mat_mul", FEW },        { "stencil_chain", FEW },    { "pyramid_blend", MANY },
        { "vdsr", MANY },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[64];
        snprintf(path, sizeof path, "apps/%s/%s.kiln", all[i].name, all[i].name);
        char *text = check_read(path);
        for (size_t k = 0; k < sizeof left_out / sizeof *left_out; k++) {
            if (!check_sampled(i + k))
                continue;
            kn_context *cx = kn_context_new(NULL);
            make(cx, path, text, left_out[k], all[i].most);
            kn_context_free(cx);
        }
        free(text);
    }
}

int main(void)
{
    apps();
    return check_done();
}
