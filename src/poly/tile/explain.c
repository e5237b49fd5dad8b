/* SPDX-License-Identifier: MIT */
/* What was decided and why, as text.
 *
 * Takes   a tiled program.
 * Gives   its shape and sizes, what a tile keeps in scratch, how many instances tiles compute that other tiles compute
 *         too, and the schedule trees before and after.
 * Holds   work done twice is that of a tile in the middle, with parameters large. */
#include "poly/tile/overlap.h"
#include "poly/tile/sample.h"
#include "poly/tile/tile.h"

#include <isl/printer.h>
#include <stdlib.h>

enum { MOST_SLICES = 512 };

/* The points of the box around the set, from dimension d on; 0: it is not bounded. */
static double box_points(isl_set *set, int d)
{
    double  n = 1;
    int64_t range[2];
    for (; d < isl_set_dim(set, isl_dim_set); d++)
        n *= sample_range(set, d, range) ? (double)(range[1] - range[0] + 1) : 0;
    return n;
}

/* The points of a set whose slices along its first dimension are boxes. */
static double sliced_points(isl_set *set)
{
    int64_t range[2];
    double  n = 0;
    if (isl_set_dim(set, isl_dim_set) < 2 || !sample_range(set, 0, range) || range[1] - range[0] >= MOST_SLICES)
        return box_points(set, 0);
    for (int64_t v = range[0]; v <= range[1]; v++) {
        isl_set *slice = isl_set_fix_si(isl_set_copy(set), isl_dim_set, 0, (int)v);
        n += isl_set_is_empty(slice) == isl_bool_true ? 0 : box_points(slice, 1);
        isl_set_free(slice);
    }
    return n;
}

/* The instances that all tiles run of a statement, to those that there are; 0: not known. */
static double times_run(const TiledStatement *x, double *instances)
{
    int      tiles = (int)isl_map_dim(x->executes, isl_dim_in) - (int)isl_map_dim(x->executes, isl_dim_out);
    isl_set *tile  = sample_at(isl_map_domain(isl_map_copy(x->executes)));
    isl_set *all   = sample_at(isl_map_range(isl_map_copy(x->executes)));
    double   count = 1;
    bool     known = true;
    for (int k = 0; k < tiles && known; k++) {
        int64_t range[2];
        known = sample_range(tile, k, range);
        count *= (double)(range[1] - range[0] + 1);
        tile = isl_set_fix_si(tile, isl_dim_set, (unsigned)k, (int)((range[0] + range[1]) / 2));
    }
    if (known) {
        tile       = isl_set_project_out(isl_set_reset_tuple_id(tile), isl_dim_set, 0, (unsigned)tiles);
        *instances = box_points(all, 0);
        count *= sliced_points(tile);
    }
    isl_set_free(tile);
    isl_set_free(all);
    return known && *instances > 0 ? count / *instances : 0;
}

static void explain_work(Text *out, const Tiled *t)
{
    double run = 0, all = 0;
    for (size_t i = 0; i < t->statements.count; i++) {
        const TiledStatement *x         = &t->statements.at[i];
        double                instances = 0;
        if (!x->source || isl_map_dim(x->executes, isl_dim_in) == isl_map_dim(x->executes, isl_dim_out))
            continue;
        double times = times_run(x, &instances);
        if (times <= 0)
            continue;
        int percent = times > 1 ? (int)((times - 1) * 100 + 0.5) : 0;
        text_printf(out, "computed twice of line %d: %d%%\n", x->source->assign->place.line, percent);
        run += times * instances;
        all += instances;
    }
    if (all > 0)
        text_printf(out, "computed twice in all: %d%%\n", run > all ? (int)((run / all - 1) * 100 + 0.5) : 0);
}

static void explain_scratch(Text *out, const Tiled *t)
{
    int64_t sum = 0;
    for (size_t i = 0; i < t->scratch.count; i++) {
        const Scratch *s      = t->scratch.at[i];
        bool           folded = false;
        text_printf(out, "scratch %s:", s->array->name);
        for (int d = 0; d < s->rank; d++) {
            text_printf(out, "%s%lld", d ? " x " : " ", (long long)s->size[d]);
            folded |= s->fold[d] > 0;
        }
        text_printf(out, ", %lld bytes%s\n", (long long)scratch_bytes(s), folded ? ", folded" : "");
        sum += scratch_bytes(s);
    }
    if (sum)
        text_printf(out, "scratch in all: %lld bytes\n", (long long)sum);
}

static void explain_tree(Text *out, const char *title, isl_schedule *schedule)
{
    isl_printer *p = isl_printer_to_str(isl_schedule_get_ctx(schedule));
    p              = isl_printer_set_yaml_style(p, ISL_YAML_STYLE_BLOCK);
    p              = isl_printer_print_schedule(p, schedule);
    char *tree     = isl_printer_get_str(p);
    isl_printer_free(p);
    text_printf(out, "%s:\n%s\n", title, tree ? tree : "");
    free(tree);
}

void tile_explain(Text *out, const Tiled *t)
{
    text_printf(out, "shape: %s%s%s\n", tile_shape_name(t->options.shape), t->reason ? " because " : "",
                t->reason ? t->reason : "");
    text_add(out, "sizes:");
    for (int i = 0; i < t->options.size_count; i++)
        text_printf(out, " %d", t->options.sizes[i]);
    text_add(out, t->options.size_count ? "\n" : " by the model\n");
    explain_scratch(out, t);
    explain_work(out, t);
    explain_tree(out, "before", t->scop->schedule);
    explain_tree(out, "after", t->schedule);
}
