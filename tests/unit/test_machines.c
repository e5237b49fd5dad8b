/* SPDX-License-Identifier: MIT */
/* The machines of machines/: each file reads, and a schedule that is made for the caches and speeds of one of them
 * costs at most GOAL times as much on another as the other's own, by the model, for every pair and every app but those
 * of a list, which miss the goal, by how much. An app that it need not name fails, too. Devices are read, and hold as
 * many threads as they can.
 *
 * Cores and vector width are the same for both: a compiler knows them exactly, and a schedule for 4 cores or for
 * vectors of 512 bits is not meant for 64 cores or for 128 bits. They are 4 and 256, of which there are machines with
 * each of these memories; with 64 cores the memory of a small one would decide everything. */
#include "check.h"
#include "graph_of.h"

#include <glob.h>

static const double goal = 1.3;
/* clang-format off */
static const struct App {
    const char *name;
    double      misses; /* the ratio that it has instead, rounded up; 0: none */
} apps[] = {
    { "blur", 0 }, { "bilateral_grid", 0 }, { "unsharp", 1.35 }, { "harris", 0 }, { "camera_pipe", 0 },
    { "interpolate", 0 }, { "lens_blur", 1.65 }, { "nl_means", 1.55 }, { "max_filter", 2.1 }, { "stencil_chain", 1.45 },
    { "iir_blur", 0 }, { "hist", 0 }, { "conv_layer", 0 }, { "mat_mul", 0 }, { "pyramid_blend", 1.6 }, { "vdsr", 0 },
    { "local_laplacian", 1.55 },
};
/* clang-format on */
#if defined __SANITIZE_ADDRESS__
enum { APPS = 6 }; /* a minute for all */
#else
enum { APPS = sizeof apps / sizeof *apps };
#endif
enum { MOST_MACHINES = 32, CORES = 4, VECTOR_BITS = 256 };

typedef struct Known {
    char   *name;
    Machine m;
} Known;

static int read_machines(kn_context *cx, Known *out)
{
    glob_t found;
    int    count = 0;
    CHECK(!glob("machines/*.machine", 0, NULL, &found), "there are no machines");
    for (size_t i = 0; i < found.gl_pathc && count < MOST_MACHINES; i++) {
        char *text = check_read(found.gl_pathv[i]);
        Known k    = { strdup(strrchr(found.gl_pathv[i], '/') + 1), machine_usual() };
        CHECK(machine_parse(cx, k.name, text, &k.m), "%s", kn_error_text(cx));
        CHECK(strstr(text, "// ") == text && k.m.memory_all >= k.m.memory_rate, "%s", k.name);
        CHECK(!k.m.device.sms || device_occupancy(&k.m.device, 256, 32, 0).fraction == 1, "%s", k.name);
        if (k.m.device.sms)
            free(k.name);
        else
            out[count++] = k;
        free(text);
    }
    globfree(&found);
    return count;
}

static void compare(const struct App *app, const Known *all, int count)
{
    GraphOf      o;
    char         path[64];
    Draft        drafts[MOST_MACHINES];
    Machine      machines[MOST_MACHINES];
    const double most = app->misses > 0 ? app->misses : goal;
    snprintf(path, sizeof path, "apps/%s/%s.kiln", app->name, app->name);
    char *text = check_read(path);
    graph_of(&o, text);
    for (int i = 0; i < count; i++) {
        machines[i]             = all[i].m;
        machines[i].cores       = CORES;
        machines[i].vector_bits = VECTOR_BITS;
        drafts[i]               = scheduler_auto(&o.graph, &machines[i], &(SchedulerOptions){ .budget = 20 }, &o.arena);
    }
    double worst = 1;
    for (int k = 0; k < count; k++) {
        const double own = cost_draft(&drafts[k], &machines[k]);
        for (int i = 0; i < count; i++) {
            const double ratio = cost_draft(&drafts[i], &machines[k]) / own;
            worst              = ratio > worst ? ratio : worst;
            CHECK(ratio <= most, "%s: made for %s it costs %.2f times as much on %s as that one's own", app->name,
                  all[i].name, ratio, all[k].name);
        }
    }
    CHECK(!app->misses || worst > goal, "%s meets the goal: %.2f; leave it out of the list", app->name, worst);
    printf("%-16s %.2f\n", app->name, worst);
    graph_of_end(&o);
    free(text);
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    Known       all[MOST_MACHINES];
    const int   count = read_machines(cx, all);
    CHECK(count >= 8, "%d machines", count);
    for (int i = 0; i < APPS; i++)
        compare(&apps[i], all, count);
    for (int i = 0; i < count; i++)
        free(all[i].name);
    kn_context_free(cx);
    return check_done();
}
