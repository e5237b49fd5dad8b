/* SPDX-License-Identifier: MIT */
/* Tiles: shapes and the scratch of a tile, programs that are refused, and a proof that fails when it should. */
#include "check.h"

#include "poly/emit/emit.h"
#include "poly/model/model.h"
#include "poly/source/source.h"
#include "poly/tile/prove.h"
#include "poly/tile/tile.h"

#include <isl/schedule_node.h>
#include <string.h>

typedef struct Case {
    const char *text;
    TileShape   shape;
    int         sizes[3];
    const char *expected; /* parts divided by |, each in what is said below; "!": it is refused, with the parts */
} Case;

typedef struct Job {
    kn_context *cx;
    const Case *row;
    TileFusion  fuse;
    void (*with)(Tiled *t);
    const char *said; /* the shape, scratch as name[sizes], the C text; or messages */
} Job;

static const char *messages(kn_context *cx)
{
    Text t;
    text_init(&t, &cx->arena);
    for (size_t i = 0; i < cx->diags.count; i++)
        text_printf(&t, "%s\n", cx->diags.at[i].message);
    return t.count ? text_string(&t) : "";
}

static const char *said_of(Tiled *t)
{
    Text text;
    text_init(&text, t->scop->arena);
    text_printf(&text, "%s\n", tile_shape_name(t->options.shape));
    for (size_t i = 0; i < t->scratch.count; i++) {
        text_printf(&text, "%s[", t->scratch.at[i]->array->name);
        for (int d = 0; d < t->scratch.at[i]->rank; d++)
            text_printf(&text, "%s%d", d ? "x" : "", (int)t->scratch.at[i]->size[d]);
        text_add(&text, "]\n");
    }
    const char *c = emit_c(t);
    text_add(&text, c ? c : "no text");
    return text_string(&text);
}

static void run(void *arg)
{
    Job        *job  = arg;
    Arena      *a    = &job->cx->arena;
    Regions     all  = { 0 };
    const char *full = arena_printf(a, "float f(int) __attribute__((const));\n%s", job->row->text);
    Source      src  = { "a.c", full, strlen(full) };
    if (!source_regions(job->cx, a, &src, full, NULL, &all)) {
        job->said = messages(job->cx);
        return;
    }
    isl_ctx    *isl     = scop_isl(100000000);
    Scop       *scop    = scop_new(a, isl, NULL, all.items.at[0]);
    TileOptions options = { .shape = job->row->shape, .threads = 2, .fuse = job->fuse };
    for (int i = 0; i < 3 && job->row->sizes[i]; i++)
        options.sizes[options.size_count++] = job->row->sizes[i];
    Tiled *tiled = scop ? tile_new(scop, &options) : NULL;
    if (tiled && job->with)
        job->with(tiled);
    job->said = tiled ? said_of(tiled) : messages(job->cx);
    tile_free(tiled);
    scop_free(scop);
    isl_ctx_free(isl);
}

#define SCOP(declarations, body) "void g(" declarations ") {\n#pragma scop\n" body "\n#pragma endscop\n}\n"

#define THREE_STAGES                                                                                                   \
    SCOP("int N, float C[restrict N]", "float A[N], B[N];"                                                             \
                                       "for (int i = 1; i < N; i++) A[i] = f(i);"                                      \
                                       "for (int i = 2; i < N - 1; i++) B[i] = 0.25f * (A[i-1] + 2 * A[i] + A[i+1]);"  \
                                       "for (int i = 4; i < N - 3; i++) C[i] = 0.25f * (B[i-2] + 2 * B[i] + B[i+2]);")
/* A lives on; of the second, a tile copies the edge in. */
#define LIVING_STAGE                                                                                                   \
    SCOP("int N, float A[restrict N], float C[restrict N]",                                                            \
         "for (int i = 0; i < N; i++) A[i] = f(i);"                                                                    \
         "for (int i = 1; i < N - 1; i++) C[i] = A[i-1] + A[i] + A[i+1];")
#define EDGES                                                                                                          \
    SCOP("int N, float A[restrict N], float C[restrict N]",                                                            \
         "for (int i = 1; i < N - 1; i++) A[i] = f(i);"                                                                \
         "for (int i = 1; i < N - 1; i++) C[i] = A[i-1] + A[i] + A[i+1];")
#define HEAT                                                                                                           \
    SCOP("int N, int T, float A[2][N]", "for (int t = 0; t < T; t++) for (int i = 1; i < N - 1; i++)"                  \
                                        " A[(t+1)%2][i] = 0.25f * (A[t%2][i+1] + 2 * A[t%2][i] + A[t%2][i-1]);")
#define SLIDING                                                                                                        \
    SCOP("float in[256][256], float out[254][256]",                                                                    \
         "float a[256][256], b[254][256];"                                                                             \
         "for (int i = 0; i < 256; i++) for (int j = 0; j < 256; j++) a[i][j] = 2 * in[i][j];"                         \
         "for (int i = 0; i < 254; i++) for (int j = 0; j < 256; j++) b[i][j] = a[i][j] + a[i + 1][j] + a[i + 2][j];"  \
         "for (int i = 0; i < 254; i++) for (int j = 0; j < 256; j++) out[i][j] = b[i][j] * b[i][j];")
/* Tiles of 16 compute all of A twice. */
#define WIDE(value)                                                                                                    \
    SCOP("int N, float C[restrict N]", "float A[N];"                                                                   \
                                       "for (int i = 0; i < N; i++) A[i] = " value ";"                                 \
                                       "for (int i = 8; i < N - 8; i++) C[i] = A[i - 8] + A[i + 8];")
#define EACH(stage) "for (int y = 0; y < 1024; y++) for (int x = 0; x < 1024; x++) " stage
/* One level of an interpolation pyramid: i from Ux along x, Ux from the next level's i along y. */
#define LEVEL(n, next)                                                                                                 \
    "for (int y = 0; y < (1024 >> " #n "); y++) for (int x = 0; x < (512 >> " #n "); x++)"                             \
    " U" #n "[y][x] = i" #next "[y / 2][x] + i" #next "[(y + 1) / 2][x];"                                              \
    "for (int y = 0; y < (1024 >> " #n "); y++) for (int x = 0; x < (1024 >> " #n "); x++)"                            \
    " i" #n "[y][x] = U" #n "[y][x / 2] + U" #n "[y][(x + 1) / 2];"

static const Case cases[] = {
    /* Figure 13 of Zhao and Cohen 2019, and 14 with the two guards that it lacks */
    { THREE_STAGES,
      SHAPE_SCALENE,
      { 32 },
      "scalene|A[38]|B[36]|i_first = KN_MAX(1, 32 * c0 - 3)|i_last = KN_MIN(N_ - 1, 32 * c0 + 34)|KN_MAX(2, 32 * c0 - "
      "2)|KN_MIN(N_ - 2, 32 * c0 + 33)|KN_MAX(4, 32 * c0)|KN_MIN(N_ - 4, 32 * c0 + 31)" },
    { THREE_STAGES,
      SHAPE_RECTANGLE,
      { 32 },
      "rectangle|A[38]|B[36]|i_first = KN_MAX(1, 32 * c0 - 6)|i_last = KN_MIN(N_ - 1, 32 * c0 + 31)|if (i >= 3 && i + "
      "4 >= 32 * c0)|if (i >= 7 && i >= 32 * c0)" },
    /* Table 7: unsharp mask, tiles of 8 x 512 */
    { SCOP("float in[1028][1028], float out[1024][1028]",
           "float bx[1024][1028], by[1024][1028];"
           "for (int y = 0; y < 1024; y++) for (int x = 0; x < 1028; x++) bx[y][x] = in[y][x] + in[y+1][x] + "
           "in[y+2][x] + in[y+3][x] + in[y+4][x];"
           "for (int y = 0; y < 1024; y++) for (int x = 0; x < 1024; x++) by[y][x] = bx[y][x] + bx[y][x+1] + "
           "bx[y][x+2] + bx[y][x+3] + bx[y][x+4];" EACH("out[y][x] = by[y][x] - in[y+2][x+2];")),
      SHAPE_SCALENE,
      { 8, 512 },
      "bx[8x516]|by[8x512]" },
    /* Table 5: multiscale interpolation, tiles of 32 x 128; the paper has 33x66, 18x66, 18x35, 11x35, 11x20, 7x20, 7x10
     */
    { SCOP("float i4[65][65], float i0[1024][1024]",
           "float i1[513][513], i2[257][257], i3[129][129], U0[1024][513], U1[513][257], U2[257][129], "
           "U3[129][65];" LEVEL(3, 4) LEVEL(2, 3) LEVEL(1, 2) LEVEL(0, 1)),
      SHAPE_SCALENE,
      { 32, 128 },
      "U0[32x65]|i1[17x65]|U1[17x33]|i2[9x33]|U2[9x17]|i3[5x17]|U3[5x9]" },
    /* A has two consumers, so its loops stay: the outer one is for threads */
    { SCOP("int N, float A[restrict N][N], float C[restrict N][N], float D[restrict N][N]",
           "float B[N][N];"
           "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) A[i][j] = f(i);"
           "for (int i = 0; i < N; i++) for (int j = 1; j < N; j++) B[i][j] = A[i][j-1];"
           "for (int i = 0; i < N; i++) for (int j = 2; j < N; j++) C[i][j] = B[i][j-1];"
           "for (int i = 1; i < N; i++) for (int j = 0; j < N; j++) D[i][j] = A[i-1][j];"),
      SHAPE_SCALENE,
      { 32, 32 },
      "parallel for\n    for (long i = 0; i < N_; i++) {\n#pragma omp simd" },
    { HEAT, SHAPE_DIAMOND, { 16 }, "diamond|parallel for|omp simd" },
    { HEAT, SHAPE_AUTO, { 0 }, "diamond" },
    /* Trapezoids: 5 steps, base 32 + 2 * 4 wide, what it reads 2 more; an even number of steps loses one. */
    { HEAT, SHAPE_SCALENE, { 5, 32 }, "scalene|A[2x42]|i_first = KN_MAX(1, (-5) * c0 + 32 * c1 + t - 4)|t < T_" },
    { HEAT, SHAPE_RECTANGLE, { 6, 32 }, "rectangle|A[2x42]|t <= 5 * c0 + 4" },
    { SCOP("int N, int T, float A[N], float B[N]", "for (int t = 0; t < T; t++) {"
                                                   " for (int i = 1; i < N - 1; i++) B[i] = A[i-1] + A[i+1];"
                                                   " for (int i = 1; i < N - 1; i++) A[i] = B[i]; }"),
      SHAPE_SCALENE,
      { 4, 32 },
      "scalene|A[40]|B[38]" },
    { SCOP("int N, int T, float A[N]", "for (int t = 0; t < T; t++) for (int i = 1; i < N - 1; i++) A[i] += A[i-1];"),
      SHAPE_SCALENE,
      { 4, 32 },
      "!scalene tiles do not fit" },
    /* A loop over time that counts down has its last step first. */
    { SCOP("int N, int T, float A[2][N]", "for (int t = T - 1; t >= 0; t--) for (int i = 1; i < N - 1; i++)"
                                          " A[t%2][i] = A[(t+1)%2][i+1] + A[(t+1)%2][i-1];"),
      SHAPE_SCALENE,
      { 5, 32 },
      "scalene|A[2x42]" },
    /* Only the last steps, behind those of whole tiles, are read later; or, of the second statement, there are no
     * others. */
    { SCOP("int M, float A[8]", "float s; for (int i = 0; i < 8; i++) for (int j = 0; j < M; j++) s = A[i];"
                                "A[0] = s;"),
      SHAPE_SCALENE,
      { 3, 1 },
      "!nothing that a tile would compute is read later" },
    { SCOP("int N, float A[2][N]", "for (int t = 0; t < 8; t++) for (int i = 1; i < N - 1; i++) {"
                                   " A[(t+1)%2][i] = A[t%2][i+1] + A[t%2][i-1];"
                                   " if (t == 7) A[(t+1)%2][i] = 0; }"),
      SHAPE_SCALENE,
      { 3, 32 },
      "scalene|A[2x38]" },
    /* Several instances write an element, and those of two tiles are live by the hull. */
    { SCOP("int N, float A[64], float B[64]", "for (int i = 2; i < N + 1; i++) for (int j = -1; j < 3; j++)"
                                              " A[i - j + 26] = B[i + 25] - A[i + 22];"),
      SHAPE_SCALENE,
      { 10, 9 },
      "!two tiles that run at once would hand out the same element" },
    /* Elements between those that a tile writes are not copied out; those that it may read are not copied in. */
    { SCOP("int N, int T, float A[N]", "for (int t = 0; t < T; t++) {"
                                       " for (int i = 0; i < N - 3; i++) A[i] += 1;"
                                       " A[N - 1] += 1; }"),
      SHAPE_SCALENE,
      { 1, 32 },
      "scalene|A[32]|KN_MIN(N_ - 4, 32 * c1 + 31)" },
    { SCOP("int N, float *restrict C, float *restrict A, int *restrict k",
           "for (int i = 0; i < N; i++) A[i] = f(i);"
           "for (int i = 1; i < N - 1; i++) C[i] = A[i] + (k[i] ? A[i - 30] : 0);"),
      SHAPE_SCALENE,
      { 128 },
      "!no two stages can be fused" },
    /* Scratch has a limit: smaller tiles where the model chooses, a refusal where they are given. */
    { HEAT, SHAPE_SCALENE, { 9, 300000 }, "!KiB of scratch|--tile" },
    { SCOP("float out[64][40000]",
           "float a[64][40000], b[64][40000];"
           "for (int i = 0; i < 64; i++) for (int j = 0; j < 40000; j++) a[i][j] = i + j;"
           "for (int i = 0; i < 64; i++) for (int j = 0; j < 40000; j++) b[i][j] = a[i][39999 - j];"
           "for (int i = 0; i < 64; i++) for (int j = 0; j < 40000; j++) out[i][j] = b[i][j];"),
      SHAPE_HYBRID,
      { 0 },
      "a[1x40000]|b[1x40000]" },
    { SCOP("float in[64][300001], float out[64][300000]",
           "float a[64][300001];"
           "for (int i = 0; i < 64; i++) for (int j = 0; j <= 300000; j++) a[i][j] = 2 * in[i][j];"
           "for (int i = 0; i < 64; i++) for (int j = 0; j < 300000; j++) out[i][j] = a[i][j] + a[i][j + 1];"),
      SHAPE_HYBRID,
      { 0 },
      "a[1x150001]" },
    /* Rows slide: three are live, and the stages after the first share a loop; in a third dimension planes are live. */
    { SLIDING, SHAPE_HYBRID, { 32 }, "a[4x256]|b[1x256]|a_tile[(i - 1) & 3][j]|b_tile[0][j]|if (i >= 32 * c0 + 2)" },
    { SLIDING, SHAPE_AUTO, { 0 }, "hybrid|a[4x256]|b[1x256]" },
    { SCOP("float in[99][50][40], float out[97][50][40]",
           "float a[99][50][40];"
           "for (int i = 0; i < 99; i++) for (int j = 0; j < 50; j++) for (int k = 0; k < 40; k++)"
           " a[i][j][k] = 2 * in[i][j][k];"
           "for (int i = 1; i < 98; i++) for (int j = 1; j < 49; j++) for (int k = 0; k < 40; k++)"
           " out[i - 1][j][k] = a[i - 1][j][k] + a[i + 1][j - 1][k] + a[i][j + 1][k];"),
      SHAPE_HYBRID,
      { 16 },
      "a[4x50x40]" },
    /* Values that live on are copied out of whole scratch. */
    { SCOP("float a[restrict 1024][1024], float out[restrict 1023][1024]",
           EACH("a[y][x] = y + x;") "for (int y = 0; y < 1023; y++) for (int x = 0; x < 1024; x++) out[y][x] = a[y][x] "
                                    "+ a[y + 1][x];"),
      SHAPE_HYBRID,
      { 16 },
      "a[17x1024]|a[c1][c2] = a_tile[" },
    { SCOP("int n, int m, unsigned A[64][64]",
           "for (int i = -1; i < 3; i++) for (int j = 0; j < 2; j++) {"
           "for (int k = -1; k <= n; k++) A[2 * i + 25][i + 24] += A[i + 25][m + 26];"
           "for (int k = 0; k < 2; k++) A[k + 24][2 * j + 26] += A[j + 24][i + 26]; }"),
      SHAPE_PARALLELOGRAM,
      { 1, 1, 1 },
      "A[k + 24][2 * ((c0 + 2) % 2) + 26]" },
    { THREE_STAGES, SHAPE_DIAMOND, { 16 }, "!diamond tiles do not fit" },
    { SCOP("int n, int A[n]", "for (int i = 0; i < n; i++) A[i * i] = 0;"),
      SHAPE_NONE,
      { 0 },
      "!not affine|`i * i`|product" },
    { SCOP("int n, int A[n]", "for (int i = -n; i < n; i++) A[i % 3] = 0;"),
      SHAPE_NONE,
      { 0 },
      "!not affine|negative" },
    { SCOP("int n, int A[n]", "for (int i = 0; i < n; i++) A[i % 3] = 0;"), SHAPE_NONE, { 0 }, "none|A[i % 3] = 0" },
    { SCOP("unsigned n, int A[n]", "for (unsigned i = 0; i < n; i++) A[i - 1] = 0;"), SHAPE_NONE, { 0 }, "!may wrap" },
    { SCOP("int n, int A[n], int k[n]", "for (int i = 0; i < n; i++) if (k[i]) A[i] = 0;"),
      SHAPE_NONE,
      { 0 },
      "!the condition is not affine" },
    { SCOP("int n, float A[restrict n], float B[restrict n]",
           "for (int i = 0; i < n; i++) { float s = A[i]; s = s * s; B[i] = s; }"),
      SHAPE_NONE,
      { 0 },
      "parallel for private(s)" },
    { SCOP("int n, float A[restrict n], float B[restrict n]",
           "float s = 0; for (int i = 0; i < n; i++) { s = s + A[i]; B[i] = s; }"),
      SHAPE_NONE,
      { 0 },
      "none|s = s + A[i]" },
};

static void check_case(kn_context *cx, const Case *row, TileFusion fuse, size_t i)
{
    Job job = { .cx = cx, .row = row, .fuse = fuse, .said = "nothing" };
    context_begin(cx);
    context_call(cx, run, &job);
    bool  refused = row->expected[0] == '!';
    char *parts   = arena_strdup(&cx->arena, row->expected + refused), *rest;
    CHECK(refused == (cx->error_count > 0), "case %zu: %s", i, job.said);
    for (char *part = strtok_r(parts, "|", &rest); part; part = strtok_r(NULL, "|", &rest))
        CHECK(strstr(job.said, part), "case %zu: `%s` is not in:\n%s", i, part, job.said);
}

static void check_cases(kn_context *cx)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(cx, &cases[i], FUSE_GREEDY, i);
}

/* Rules of fusion: by the paper's little may be computed twice; by cost what is cheap may be. */
static void check_fusion(kn_context *cx)
{
    static const struct {
        const char *text;
        TileFusion  fuse;
        const char *expected;
    } rows[] = {
        { WIDE("2.0f * i"), FUSE_GREEDY, "!no two stages can be fused" },
        { WIDE("2.0f * i"), FUSE_COST, "scalene|A[32]" },
        { WIDE("f(i) * f(i + 1)"), FUSE_COST, "!no two stages can be fused" },
        { WIDE("f(i) * f(i + 1)"), FUSE_ALL, "scalene|A[32]" },
        { THREE_STAGES, FUSE_COST, "scalene|A[22]|B[20]" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Case one = {
            .text = rows[i].text, .shape = SHAPE_SCALENE, .sizes = { 16 }, .expected = rows[i].expected
        };
        check_case(cx, &one, rows[i].fuse, i);
    }
}

/* ---- The proof fails where the program is wrong ---- */

static const char *proved;
static int64_t     rows_kept; /* of folded scratch */

/* The loop over time marked parallel. */
static void mark_time(Tiled *t)
{
    isl_schedule_node *node = isl_schedule_node_child(isl_schedule_get_root(t->schedule), 0);
    node                    = isl_schedule_node_insert_mark(node, isl_id_alloc(t->scop->isl, MARK_PARALLEL, NULL));
    isl_schedule_free(t->schedule);
    t->schedule = isl_schedule_node_get_schedule(node);
    isl_schedule_node_free(node);
    proved = tile_prove(t);
}

/* The consumer before its producer. */
static void swap_stages(Tiled *t)
{
    isl_schedule *all = NULL;
    for (size_t i = t->scop->statements.count; i-- > 0;) {
        isl_union_set *one  = isl_union_set_from_set(isl_set_copy(t->scop->statements.at[i].domain));
        isl_schedule  *part = isl_schedule_intersect_domain(isl_schedule_copy(t->scop->schedule), one);
        all                 = all ? isl_schedule_sequence(all, part) : part;
    }
    isl_schedule_free(t->schedule);
    t->schedule = all;
    proved      = tile_prove(t);
}

/* A tile computes one element less of the first stage than it needs. */
static void shrink_stage(Tiled *t)
{
    TiledStatement *x    = &t->statements.at[0];
    isl_set        *less = isl_set_read_from_str(t->scop->isl, "{ X0[o, i] : i <= 32o + 33 }");
    x->executes          = isl_map_intersect_domain(x->executes, isl_set_copy(less));
    isl_union_set *all   = isl_schedule_get_domain(t->schedule);
    isl_union_set *gone =
        isl_union_set_from_set(isl_set_subtract(isl_set_universe(isl_set_get_space(less)), isl_set_copy(less)));
    t->schedule = isl_schedule_intersect_domain(t->schedule, isl_union_set_subtract(all, gone));
    isl_set_free(less);
    proved = tile_prove(t);
}

/* Tiles keep the first stage in the array itself: each writes what its neighbours write too. */
static void share_stage(Tiled *t)
{
    const CSymbol *array = t->scratch.at[0]->array;
    for (size_t i = 0; i < t->statements.count; i++)
        for (size_t k = 0; k < t->statements.at[i].accesses.count; k++)
            if (t->statements.at[i].accesses.at[k].access->array == array)
                t->statements.at[i].accesses.at[k].scratch = NULL;
    proved = tile_prove(t);
}

/* Scratch of the first stage with a place less than it has elements. */
static void shrink_scratch(Tiled *t)
{
    t->scratch.at[0]->size[0]--;
    proved = tile_prove(t);
}

/* The scratch of the first stage, which is folded, keeps so many rows. */
static void fold_less(Tiled *t)
{
    t->scratch.at[0]->fold[0] = t->scratch.at[0]->size[0] = rows_kept;
    const char *wrong                                     = tile_prove(t);
    proved                                                = wrong ? wrong : "right";
}

/* A copy that begins before the array. */
static void widen_copy(Tiled *t)
{
    for (size_t i = 0; i < t->statements.count; i++)
        if (!t->statements.at[i].source && !t->statements.at[i].copy_out) {
            isl_map *copy                = t->statements.at[i].executes;
            t->statements.at[i].executes = isl_map_universe(isl_map_get_space(copy));
            isl_map_free(copy);
            break;
        }
    proved = tile_prove(t);
}

/* Instances of the statement outside of the set do not run. */
static void run_less(Tiled *t, TiledStatement *x, const char *set)
{
    isl_set       *left = isl_set_read_from_str(t->scop->isl, set);
    isl_union_set *gone =
        isl_union_set_from_set(isl_set_subtract(isl_set_universe(isl_set_get_space(left)), isl_set_copy(left)));
    x->executes = isl_map_intersect_domain(x->executes, left);
    t->schedule =
        isl_schedule_intersect_domain(t->schedule, isl_union_set_subtract(isl_schedule_get_domain(t->schedule), gone));
    proved = tile_prove(t);
}

/* The tiles keep a stage that lives on, less one element. */
static void keep_less(Tiled *t)
{
    run_less(t, &t->statements.at[t->statements.count - 1], "{ out_A_tile[o, i] : i <= 32o + 30 }");
}

/* The last tiled stage, which writes the array itself, has one element less. */
static void write_less(Tiled *t)
{
    run_less(t, &t->statements.at[t->statements.count - 1], "{ X2[o, i] : i <= 32o + 30 }");
}

/* The stages of a tile, and its copies, run the last one first. */
static isl_schedule_node *reverse_sequence(isl_schedule_node *node, void *user)
{
    Tiled *t = user;
    if (isl_schedule_node_get_type(node) != isl_schedule_node_sequence)
        return node;
    isl_union_set_list *filters = isl_union_set_list_alloc(t->scop->isl, 0);
    for (int i = isl_schedule_node_n_children(node); i-- > 0;) {
        isl_schedule_node *child = isl_schedule_node_get_child(node, i);
        filters                  = isl_union_set_list_add(filters, isl_schedule_node_filter_get_filter(child));
        isl_schedule_node_free(child);
    }
    return isl_schedule_node_insert_sequence(node, filters);
}

static void reverse_stages(Tiled *t)
{
    t->schedule = isl_schedule_map_schedule_node_bottom_up(t->schedule, reverse_sequence, t);
    proved      = tile_prove(t);
}

/* A tile copies an element that it should compute, and the loops do not run the copy. */
static void copy_stage(Tiled *t)
{
    for (size_t i = 0; i < t->statements.count; i++)
        if (!t->statements.at[i].source && !t->statements.at[i].copy_out) {
            isl_map *more = isl_map_read_from_str(
                t->scop->isl, "[N] -> { in_A_tile[o, i] -> A[i] : i = 32o + 32 and 1 <= i < N - 1 and o >= 0 }");
            t->statements.at[i].executes = isl_map_union(t->statements.at[i].executes, more);
        }
    for (size_t i = 0; i < t->statements.count; i++)
        if (!strcmp(t->statements.at[i].name, "X0"))
            run_less(t, &t->statements.at[i], "{ X0[o, i] : i <= 32o + 31 }");
}

static isl_schedule_node *unmark_tile(isl_schedule_node *node, void *user)
{
    (void)user;
    isl_id *id =
        isl_schedule_node_get_type(node) == isl_schedule_node_mark ? isl_schedule_node_mark_get_id(node) : NULL;
    const bool tile = id && !strcmp(isl_id_get_name(id), MARK_TILE);
    isl_id_free(id);
    return tile ? isl_schedule_node_delete(node) : node;
}

/* No tile declares its scratch. */
static void declare_nothing(Tiled *t)
{
    t->schedule = isl_schedule_map_schedule_node_bottom_up(t->schedule, unmark_tile, NULL);
    proved      = tile_prove(t);
}

/* The mark of a tile moves below the next loop. */
static isl_schedule_node *mark_tile_below(isl_schedule_node *node, void *user)
{
    Tiled *t = user;
    if (isl_schedule_node_get_type(node) != isl_schedule_node_mark)
        return node;
    isl_id    *id   = isl_schedule_node_mark_get_id(node);
    const bool tile = !strcmp(isl_id_get_name(id), MARK_TILE);
    isl_id_free(id);
    if (!tile)
        return node;
    node   = isl_schedule_node_delete(node);
    int up = 0;
    for (bool band = false; !band; up++) {
        band = isl_schedule_node_get_type(node) == isl_schedule_node_band;
        node = isl_schedule_node_child(node, 0);
    }
    node = isl_schedule_node_insert_mark(node, isl_id_alloc(t->scop->isl, MARK_TILE, NULL));
    return isl_schedule_node_ancestor(node, up);
}

/* Each row of a tile has scratch of its own. */
static void declare_below(Tiled *t)
{
    t->schedule = isl_schedule_map_schedule_node_bottom_up(t->schedule, mark_tile_below, t);
    proved      = tile_prove(t);
}

/* All tiles have one scratch. */
static void declare_above(Tiled *t)
{
    t->schedule             = isl_schedule_map_schedule_node_bottom_up(t->schedule, unmark_tile, NULL);
    isl_schedule_node *node = isl_schedule_node_child(isl_schedule_get_root(t->schedule), 0);
    node                    = isl_schedule_node_insert_mark(node, isl_id_alloc(t->scop->isl, MARK_TILE, NULL));
    isl_schedule_free(t->schedule);
    t->schedule = isl_schedule_node_get_schedule(node);
    isl_schedule_node_free(node);
    proved = tile_prove(t);
}

/* The loops that are left behind the tiles run further than the given ones. */
static void run_more(Tiled *t)
{
    for (size_t i = 0; i < t->statements.count; i++) {
        TiledStatement *x = &t->statements.at[i];
        if (!x->source || strcmp(x->name, x->source->name) != 0)
            continue;
        isl_map *more = isl_map_read_from_str(t->scop->isl, "[N, T] -> { S0[t, i] -> S0[t, i] : t = T and i = N }");
        isl_union_set *runs = isl_union_set_from_set(isl_map_domain(isl_map_copy(more)));
        x->executes         = isl_map_union(x->executes, more);
        t->schedule         = isl_schedule_sequence(t->schedule, isl_schedule_from_domain(runs));
        proved              = tile_prove(t);
        return;
    }
}

/* Stages that are not tiled keep an array in scratch. */
static void keep_in_scratch(Tiled *t)
{
    static int64_t size[] = { 8, 0 }, fold[] = { 0, 0 };
    static Scratch s;
    s = (Scratch){ .array  = t->statements.at[0].accesses.at[t->statements.at[0].accesses.count - 1].access->array,
                   .name   = "kept",
                   .rank   = 1,
                   .offset = isl_multi_aff_read_from_str(t->scop->isl, "[N] -> { [] -> [(0)] }"),
                   .size   = size,
                   .fold   = fold };
    vec_push(t->scop->arena, &t->scratch, &s);
    for (size_t i = 0; i < t->statements.count; i++)
        for (size_t k = 0; k < t->statements.at[i].accesses.count; k++)
            if (t->statements.at[i].accesses.at[k].access->array == s.array)
                t->statements.at[i].accesses.at[k].scratch = &s;
    proved = tile_prove(t);
}

static void check_proof(kn_context *cx, const Case *row, void (*with)(Tiled *t), const char *wrong)
{
    Job job = { .cx = cx, .row = row, .with = with, .said = "nothing" };
    proved  = "not asked";
    context_begin(cx);
    context_call(cx, run, &job);
    CHECK(proved && !strcmp(proved, wrong), "the proof says: %s", proved ? proved : "right");
}

int main(void)
{
    kn_context *cx     = kn_context_new(NULL);
    const Case  heat   = { .text = HEAT, .shape = SHAPE_NONE };
    const Case  stages = { .text = THREE_STAGES, .shape = SHAPE_NONE };
    const Case  tiles  = { .text = THREE_STAGES, .shape = SHAPE_SCALENE, .sizes = { 32 } };
    const Case  living = { .text = LIVING_STAGE, .shape = SHAPE_SCALENE, .sizes = { 32 } };
    const Case  edges  = { .text = EDGES, .shape = SHAPE_SCALENE, .sizes = { 32 } };
    const Case  rows   = { .text = SLIDING, .shape = SHAPE_HYBRID, .sizes = { 32 } };
    const Case  steps  = { .text = HEAT, .shape = SHAPE_SCALENE, .sizes = { 5, 32 } };
    check_cases(cx);
    check_fusion(cx);
    check_proof(cx, &heat, mark_time, "a loop is marked parallel and carries a dependence");
    check_proof(cx, &stages, swap_stages, "statements run in another order than a dependence between them");
    check_proof(cx, &tiles, shrink_stage, "a tile reads what it has not set");
    check_proof(cx, &tiles, write_less, "a result is written by another instance");
    check_proof(cx, &tiles, reverse_stages, "a tile reads what it has not set");
    check_proof(cx, &tiles, declare_nothing, "scratch is used where no tile has it");
    check_proof(cx, &living, keep_less, "a result is written by another instance");
    check_proof(cx, &living, reverse_stages, "a tile reads what it has not set");
    check_proof(cx, &edges, copy_stage, "other instances run");
    check_proof(cx, &tiles, share_stage, "a loop is marked parallel and its iterations share memory");
    check_proof(cx, &tiles, shrink_scratch, "an access is outside of its scratch");
    check_proof(cx, &tiles, declare_above, "a tile has its scratch not for itself");
    check_proof(cx, &rows, declare_below, "a tile has its scratch not for itself");
    check_proof(cx, &steps, declare_below, "scratch is used where no tile has it");
    check_proof(cx, &steps, run_more, "an instance is none of the given program");
    check_proof(cx, &stages, keep_in_scratch, "an access is outside of its scratch");
    static const char *const folds[] = { [2] = "scratch is written again before its last read", /* three are live */
                                         [3] = "the rows of a fold are no power of two",
                                         [4] = "right" };
    for (rows_kept = 4; rows_kept > 1; rows_kept--)
        check_proof(cx, &rows, fold_less, folds[rows_kept]);
    check_proof(cx, &steps, widen_copy, "a copy may touch what no array has");
    kn_context_free(cx);
    return check_done();
}
