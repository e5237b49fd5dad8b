/* SPDX-License-Identifier: MIT */
/* `kiln tile` from end to end: regions are read, modelled, tiled and proved; code takes their place in the file.
 *
 * Takes   a C file and options.
 * Gives   the file with its regions replaced; all other bytes are as they were. */
#include "poly/poly.h"

#include "poly/emit/emit.h"
#include "poly/model/budget.h"
#include "poly/model/model.h"
#include "poly/region_tile.h"
#include "poly/source/source.h"
#include "poly/tile/tile.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Options ---- */

enum { DEFAULT_L1 = 32 << 10, DEFAULT_L2 = 512 << 10 };

/* The place of a name in a list; 0 without one, -1 for one that is not there, which is told. */
static int read_name(kn_context *cx, const char *name, const char *none, const char *there, const char **names,
                     int count)
{
    for (int i = 0; name && i < count; i++)
        if (!strcmp(name, names[i]))
            return i;
    if (name)
        diag_unknown(cx, none, name, there, names, (size_t)count);
    return name ? -1 : 0;
}

static bool read_shape(kn_context *cx, const char *name, TileShape *shape)
{
    enum { COUNT = SHAPE_PARALLELOGRAM + 1 };
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = tile_shape_name((TileShape)i);
    const int at = read_name(cx, name, "there is no shape", "the shapes are", names, COUNT);
    *shape       = at < 0 ? SHAPE_AUTO : (TileShape)at;
    return at >= 0;
}

static bool read_target(kn_context *cx, const char *name, TileTarget *target)
{
    static const char *names[] = { [FOR_OPENMP] = "openmp", [FOR_CUDA] = "cuda", [FOR_LLVM] = "llvm" };
    const int at = read_name(cx, name, "for C loops there is no target", "the targets are", names, FOR_LLVM + 1);
    *target      = at < 0 ? FOR_OPENMP : (TileTarget)at;
    return at >= 0;
}

static bool read_fusion(kn_context *cx, const char *name, TileFusion *fuse)
{
    static const char *names[] = { [FUSE_GREEDY] = "greedy", [FUSE_COST] = "cost", [FUSE_ALL] = "all" };
    const int          at = read_name(cx, name, "there is no rule of fusion", "the rules are", names, FUSE_ALL + 1);
    *fuse                 = at < 0 ? FUSE_GREEDY : (TileFusion)at;
    return at >= 0;
}

/* "16,64,256" */
static bool read_stream(kn_context *cx, const char *name, StreamRule *rule)
{
    static const char *names[] = { "large", "all", "none" };
    const int at = read_name(cx, name, "there is no rule of streaming stores", "the rules are", names, STREAM_NONE + 1);
    *rule        = at < 0 ? STREAM_LARGE : (StreamRule)at;
    return at >= 0;
}

static bool read_sizes(kn_context *cx, const char *text, TileOptions *options)
{
    for (const char *s = text; s && *s; s += *s == ',') {
        char      *end;
        const long size = strtol(s, &end, 10);
        if (end == s || (*end && *end != ',') || size < 0 || size > 1 << 24 || options->size_count == MOST_TILE_DIMS) {
            diag_status(cx, KN_ERROR_ARGUMENT, "`%s` are no sizes of tiles: at most %d numbers, separated by commas",
                        text, MOST_TILE_DIMS);
            return false;
        }
        options->sizes[options->size_count++] = (int)size;
        s                                     = end;
    }
    return true;
}

static int64_t cache_size(int level, int64_t otherwise)
{
    const long size = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
    return size > 0 ? size : otherwise;
}

static bool read_options(kn_context *cx, const kn_tile_options *given, TileOptions *options)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    *options        = (TileOptions){ .threads = given->threads > 0 ? given->threads
                                                : cpus > 0         ? (int)cpus
                                                                   : 1,
                                     .l1      = cache_size(1, DEFAULT_L1),
                                     .l2      = cache_size(2, DEFAULT_L2) };
    return read_target(cx, given->target, &options->target) && read_shape(cx, given->shape, &options->shape) &&
           read_sizes(cx, given->sizes, options) && read_fusion(cx, given->fuse, &options->fuse) &&
           read_stream(cx, given->stream, &options->stream);
}

/* ---- Regions ---- */

/* The name of the function that a region calls: kn_FILE_FUNCTION_K. */
static const char *region_function(const Region *r, int k)
{
    const char *slash = strrchr(r->path, '/');
    char       *name  = arena_printf(r->arena, "kn_%s", slash ? slash + 1 : r->path);
    char       *dot   = strrchr(name, '.');
    if (dot)
        *dot = 0;
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) ? *c : '_';
    return arena_printf(r->arena, "%s_%s_%d", name, r->function, k);
}

/* NULL after a diagnostic, or where isl failed. */
static const char *tile_cuda(const Tiled *tiled, const Outputs *out)
{
    const Region *r = tiled->scop->region;
    const char   *unfit;
    const char   *text = emit_cuda(tiled, region_function(r, out->region), out->cuda, &unfit);
    if (!text && unfit && !scop_isl_error(tiled->scop))
        diag_error(r->arena->cx, region_loc(r, r->body->place), "--target openmp", "no kernels can be made: %s", unfit);
    return text;
}

static const char *tile_program(const Tiled *tiled, const Outputs *out)
{
    Program    *program;
    const char *name = arena_strdup(out->arena, region_function(tiled->scop->region, out->region));
    const char *text = emit_program(tiled, name, out->arena, &program);
    if (text)
        vec_push(out->arena, out->programs, program);
    return text;
}

/* The text of one shape. *spent: isl's budget is used up, and nothing is said. */
static const char *tile_shape(Scop *scop, const TileOptions *options, const Outputs *out, bool *spent)
{
    Tiled       *tiled = tile_new(scop, options);
    const size_t begun = out->cuda ? out->cuda->count : 0;
    *spent             = false;
    if (!tiled)
        return NULL;
    scop_budget(scop, 200);
    const char *text = out->cuda ? tile_cuda(tiled, out) : out->programs ? tile_program(tiled, out) : emit_c(tiled);
    if (!text || scop_isl_error(scop)) {
        *spent = tiled->options.shape != SHAPE_NONE && scop_spent(scop);
        if (!*spent && !scop->arena->cx->error_count)
            scop_isl_failed(scop);
        if (out->cuda)
            out->cuda->count = begun;
        text = NULL;
    }
    if (text && out->explained)
        tile_explain(out->explained, tiled);
    if (text && out->picture && !out->picture->count)
        tile_picture(out->picture, tiled);
    tile_free(tiled);
    return text;
}

/* Where auto has found a shape of which isl makes no loops within its budget, the loops stay as they are. */
static const char *tile_scop(Scop *scop, const TileOptions *options, const Outputs *out)
{
    bool        spent;
    const char *text = tile_shape(scop, options, out, &spent);
    if (spent && options->shape == SHAPE_AUTO) {
        TileOptions none = *options;
        none.shape       = SHAPE_NONE;
        isl_ctx_reset_error(scop->isl);
        return tile_shape(scop, &none, out, &spent);
    }
    if (spent)
        scop_isl_failed(scop);
    return text;
}

static void stop_isl(void *isl)
{
    isl_ctx_abort(isl);
}

const char *region_tile(kn_context *cx, const Region *region, const TileOptions *options, const Outputs *out)
{
    isl_ctx *isl  = scop_isl(cx->config.quota);
    Hold     hold = { .stop = stop_isl, .user = isl };
    Watch    watch;
    watch_begin(&watch, isl);
    context_hold(cx, &hold);
    Scop       *scop = scop_new(region->arena, isl, &watch, region);
    const char *text = scop ? tile_scop(scop, options, out) : NULL;
    scop_free(scop);
    watch_end(&watch);
    isl_ctx_free(isl);
    context_unhold(cx);
    return text;
}

/* The file with `texts` in place of its regions. */
static const char *splice(Arena *arena, const Source *source, const Regions *regions, const char *const *texts)
{
    Text   t;
    size_t at = 0;
    text_init(&t, arena);
    for (size_t i = 0; i < regions->items.count; i++) {
        const Region *r = regions->items.at[i];
        const size_t  n = strlen(texts[i]);
        text_add_n(&t, source->text + at, r->begin - at);
        text_add_n(&t, texts[i], n > 0 && texts[i][n - 1] == '\n' ? n - 1 : n); /* the line's own end stays */
        at = r->end;
    }
    text_add_n(&t, source->text + at, source->length - at);
    return text_string(&t);
}

static const char *tile(PolyCall *call)
{
    kn_context *cx      = call->cx;
    Regions     regions = { 0 };
    TileOptions options;
    Text        explained, picture, cuda;
    if (!read_options(cx, call->options, &options))
        return NULL;
    text_init(&explained, call->arena);
    text_init(&picture, call->arena);
    text_init(&cuda, call->arena);
    if (options.target == FOR_CUDA)
        emit_cuda_begin(&cuda, call->source->name);
    const char *preprocessed = source_preprocess(cx, call->arena, call->source, call->options);
    if (!preprocessed ||
        !source_regions(cx, call->arena, call->source, preprocessed, call->options->temporary, &regions))
        return NULL;
    const char **texts = ARENA_ARRAY(call->arena, const char *, regions.items.count);
    for (size_t i = 0; i < regions.items.count; i++) {
        const Outputs out = { call->options->explain ? &explained : NULL,
                              call->options->picture ? &picture : NULL,
                              options.target == FOR_CUDA ? &cuda : NULL,
                              options.target == FOR_LLVM ? &call->programs : NULL,
                              call->arena,
                              (int)i };
        texts[i] = region_tile(cx, regions.items.at[i], &options, &out);
        if (!texts[i])
            return NULL;
    }
    call->explained = call->options->explain ? text_string(&explained) : NULL;
    if (call->options->picture)
        *call->options->picture = picture.count ? text_string(&picture) : NULL;
    if (call->options->kernels)
        *call->options->kernels = options.target == FOR_CUDA ? text_string(&cuda) : NULL;
    return splice(call->arena, call->source, &regions, texts);
}

__attribute__((visibility("default"))) const Poly *kiln_poly(void);

const Poly *kiln_poly(void)
{
    static const Poly poly = { .tile = tile };
    return &poly;
}
