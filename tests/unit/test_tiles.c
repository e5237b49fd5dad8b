/* SPDX-License-Identifier: MIT */
/* The region of each stage for one tile of the output, when all are fused into it: boxes as tight as exact propagation
 * gives them, and no larger than those of the paper that has them in tables (Zhao and Cohen 2019, flextended tiles:
 * tables 3, 5 and 7). Sizes are columns x rows.
 *
 * For each stage three numbers must be the same: the box that the interpreter's analysis needs for one tile, the points
 * that the lowered code computes for it, and a quarter of the points that it computes for two by two tiles. */
#include "counted.h"

enum { MOST_STAGES = 24 };

typedef struct Stage {
    const char *name;
    int32_t     width, height;
    int32_t     paper_width, paper_height; /* 0: not in the paper, or a misprint */
} Stage;

typedef struct Pipeline {
    const char *path, *constant, *value;
    int32_t     tile[3], min[3], input[3]; /* input[0] 0: as large as it need be */
    const char *schedule;                  /* of the output; all stages below are computed in its tiles */
    Stage       stages[MOST_STAGES];
} Pipeline;

/* clang-format off */
static const Pipeline pipelines[] = {
    { "apps/unsharp_polymage/unsharp_polymage.kiln", NULL, NULL, { 512, 8, 1 }, { 512, 64, 0 }, { 0 },
      "out.tile(x, y, xo, yo, xi, yi, 512, 8)\n",
      { { "blurx", 516, 8, 516, 8 }, { "blury", 512, 8, 512, 8 }, { "sharpen", 512, 8, 512, 8 } } },
    /* the levels below the fourth are of another group there too */
    { "apps/multiscale_interp_polymage/multiscale_interp_polymage.kiln", "L", "5", { 128, 32, 1 }, { 256, 128, 0 },
      { 1026, 514, 4 },
      "out.tile(x, y, xo, yo, xi, yi, 128, 32)\n"
      "d[0].compute_root() d[1].compute_root() d[2].compute_root() d[3].compute_root() d[4].compute_root()\n"
      "d[1].dx.compute_root() d[2].dx.compute_root() d[3].dx.compute_root() d[4].dx.compute_root()\n",
      { { "i[3].u", 9, 5, 10, 7 }, { "i[3]", 17, 5, 20, 7 }, { "i[2].u", 17, 9, 20, 11 }, { "i[2]", 33, 9, 35, 11 },
        { "i[1].u", 33, 17, 35, 18 }, { "i[1]", 65, 17, 66, 18 }, { "i[0].u", 65, 32, 66, 33 }, { "i[0]", 128, 32, 129,
          33 } } },
    { "apps/camera_polymage/camera_polymage.kiln", NULL, NULL, { 256, 64, 1 }, { 256, 128, 0 }, { 0 },
      "out.tile(x, y, xo, yo, xi, yi, 256, 64)\ncurve.compute_root()\n",
      { { "denoised", 260, 68, 0, 0 }, { "deinterleaved", 130, 34, 132, 36 },
        { "g_gr", 130, 34, 133, 35 }, { "g_gb", 130, 34, 133, 35 }, { "r_r", 129, 33, 131, 33 }, { "b_b", 129, 33, 131,
          33 },
        { "g_r", 129, 33, 129, 33 }, { "g_b", 129, 33, 129, 33 },
        { "r_gr", 128, 32, 128, 32 }, { "b_gr", 128, 32, 128, 32 }, { "r_gb", 128, 32, 128, 32 }, { "b_gb", 128, 32,
          128, 32 },
        { "r_b", 128, 32, 128, 32 }, { "b_r", 128, 32, 128, 32 },
        { "red.ix", 256, 32, 256, 32 }, { "red.ix.2", 256, 32, 256, 32 }, { "green.ix", 256, 32, 256, 32 },
          { "green.ix.2", 256, 32, 256, 32 },
        { "blue.ix", 256, 32, 256, 32 }, { "blue.ix.2", 256, 32, 256, 32 },
        { "red", 256, 64, 256, 64 }, { "green", 256, 64, 256, 64 }, { "blue", 256, 64, 256, 64 } } },
};
/* clang-format on */

static char *schedule_text(const Pipeline *p)
{
    char  *text = calloc(1, 1 << 12);
    size_t n    = (size_t)sprintf(text, "%s", p->schedule);
    for (const Stage *s = p->stages; s < p->stages + MOST_STAGES && s->name; s++)
        n += (size_t)sprintf(text + n, "%s.compute_at(out, xo)\n", s->name);
    return text;
}

/* The box of a stage for the outputs of the run. */
static kn_region region_of(Counted *c, const char *name)
{
    const kn_region *regions = NULL;
    int              count   = 0;
    kn_bounds(kn_compile(c->p, &(kn_options){ .interpret = true }), c->args, c->count, &regions, &count);
    for (int i = 0; i < count; i++)
        if (!strcmp(regions[i].name, name))
            return regions[i];
    return (kn_region){ .name = "none" };
}

static int64_t volume(const kn_region *r)
{
    int64_t points = 1;
    for (int d = 0; d < r->rank; d++)
        points *= r->extent[d];
    return points;
}

/* `per_tile`: points of each stage, set by the run with one tile. */
static void check_stages(const Pipeline *p, Counted *c, int tiles, int64_t *per_tile)
{
    for (int i = 0; i < MOST_STAGES && p->stages[i].name; i++) {
        const Stage    *s      = &p->stages[i];
        const int64_t   points = counted_points(c, s->name);
        const kn_region r      = region_of(c, s->name);
        if (tiles == 1) {
            CHECK(r.extent[0] == s->width && r.extent[1] == s->height, "%s: %s is %dx%d, expected %dx%d", p->path,
                  s->name, r.extent[0], r.extent[1], s->width, s->height);
            CHECK(!s->paper_width || (s->width <= s->paper_width && s->height <= s->paper_height),
                  "%s: larger than the paper's", s->name);
            per_tile[i] = volume(&r);
        }
        CHECK(points == tiles * per_tile[i], "%s: %s has %lld points in %d tiles, expected %lld in each", p->path,
              s->name, (long long)points, tiles, (long long)per_tile[i]);
    }
}

static void check_pipeline(const Pipeline *p, int across, int64_t *per_tile)
{
    kn_context   *cx   = kn_context_new(&(kn_config){ .quota = 10000000000 });
    char         *text = check_read(p->path), *schedule = schedule_text(p);
    const int32_t extent[] = { p->tile[0] * across, p->tile[1] * across, p->tile[2] };
    Counted       c;
    if (p->constant)
        kn_define(cx, p->constant, p->value);
    if (counted_begin(&c, cx, p->path, text, schedule) &&
        counted_buffers(&c, p->min, extent, p->input[0] ? p->input : NULL) && counted_run(&c))
        check_stages(p, &c, across * across, per_tile);
    counted_end(&c);
    free(text);
    free(schedule);
    kn_context_free(cx);
}

int main(void)
{
    for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
        int64_t per_tile[MOST_STAGES] = { 0 };
        check_pipeline(&pipelines[i], 1, per_tile);
        check_pipeline(&pipelines[i], 2, per_tile);
    }
    return check_done();
}
