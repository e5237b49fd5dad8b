/* The scheduler dp and its parts: apps within a tenth of a second, the same text each time, and every part that can
 * be left out. What a schedule computes is for the fuzzer (tests/fuzz/schedules.c --made). */
#include "check.h"

#include "kiln.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
static const double slow = 10;
#else
static const double slow = 1;
#endif

static const char machine[] = "cores=4, vector_bits=256, l1=32k, l2=512k, l3=16M, op=0.25, l1_rate=40, l2_rate=20, l3_rate=10, memory_rate=6, memory_all=12";

static const char *const left_out[] = { "dp", "dp/no-inlining", "dp/no-two-levels", "dp/no-slices", "dp/no-together", "dp/no-search", "dp/no-repair", "dp/no-model", "dp/no-inlining/no-two-levels", "greedy" };

static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Makes it twice, and reads it back. */
static void make(kn_context *cx, const char *name, const char *text, const char *scheduler, double within)
{
    kn_pipeline *p     = kn_parse(cx, name, text, -1);
    const double begin = seconds();
    const char  *made  = p ? kn_schedule_make(p, scheduler, machine, NULL, NULL, 0) : NULL;
    const double taken = seconds() - begin;
    char        *first = made ? strdup(made) : NULL;
    CHECK(made, "%s by %s: %s", name, scheduler, kn_error_text(cx));
    CHECK(taken < within * slow, "%s by %s: %.3f s", name, scheduler, taken);
    if (first) {
        const char *again = kn_schedule_make(p, scheduler, machine, NULL, NULL, 0);
        CHECK(again && !strcmp(first, again), "%s by %s: another text the second time", name, scheduler);
        CHECK(kn_schedule_parse(p, "made", first, -1) == KN_OK, "%s by %s: %s", name, scheduler, kn_error_text(cx));
    }
    free(first);
    kn_pipeline_free(p);
}

/* Those of up to 50 stages within a tenth of a second, the others within one: a few times that here, where other tests run at the same time. */
static void apps(void)
{
    static const struct {
        const char *name;
        double      within;
    } all[] = {
        { "blur", 0.1 },         { "bilateral_grid", 0.1 }, { "unsharp", 0.1 },  { "harris", 0.1 },     { "camera_pipe", 0.1 }, { "interpolate", 1 }, { "local_laplacian", 1 },
        { "lens_blur", 1 },      { "nl_means", 0.1 },       { "iir_blur", 0.1 }, { "max_filter", 0.1 }, { "hist", 0.1 },        { "conv_layer", 0.1 }, { "mat_mul", 0.1 },
        { "stencil_chain", 0.1 }, { "pyramid_blend", 0.1 }, { "vdsr", 1 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char path[64];
        snprintf(path, sizeof path, "apps/%s/%s.kiln", all[i].name, all[i].name);
        char *text = check_read(path);
        for (size_t k = 0; k < sizeof left_out / sizeof *left_out; k++) {
            kn_context *cx = kn_context_new(NULL);
            make(cx, path, text, left_out[k], 3 * all[i].within);
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
