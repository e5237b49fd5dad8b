/* SPDX-License-Identifier: MIT */
/* interpolate and local_laplacian as plain loops, every level of a pyramid a whole image. */
#include "naive.h"
#include "entries.h"

enum { LEVELS_MOST = 20, CHANNELS = 4, PLANES_MOST = 64 };

/* ---- interpolate ---- */

typedef struct {
    PeerArray in;
    int       levels;
} Interpolate;

/* Where each level is needed: the result over 0..m, the pyramid over lo..hi. */
typedef struct {
    int mx[LEVELS_MOST], my[LEVELS_MOST], lo[LEVELS_MOST], hix[LEVELS_MOST], hiy[LEVELS_MOST];
} Spans;

static Spans spans_of(int W, int H, int L)
{
    Spans s;
    s.mx[0] = W - 1, s.my[0] = H - 1;
    for (int l = 1; l < L; l++)
        s.mx[l] = (s.mx[l - 1] + 1) / 2, s.my[l] = (s.my[l - 1] + 1) / 2;
    s.lo[L - 1] = 0, s.hix[L - 1] = s.mx[L - 1], s.hiy[L - 1] = s.my[L - 1];
    for (int l = L - 2; l >= 0; l--) {
        s.lo[l]  = l == 3 ? 0 : 2 * s.lo[l + 1] - 1;
        s.hix[l] = maxi(s.mx[l], l == 3 ? W / 8 : 2 * s.hix[l + 1] + 1);
        s.hiy[l] = maxi(s.my[l], l == 3 ? H / 8 : 2 * s.hiy[l + 1] + 1);
    }
    return s;
}

/* d at a point; level 3 as the source of level 4 is read inside 0..W/8, 0..H/8. */
static inline float source(const Plane *d, bool inside, int W, int H, int x, int y)
{
    return inside ? *plane_at(d, clampi(x, 0, W / 8), clampi(y, 0, H / 8)) : *plane_at(d, x, y);
}

static void interpolate_down(const Plane *f, const Plane *g, bool inside, int W, int H)
{
    for (int y = g->y0; y < g->y0 + g->h; y++)
        for (int x = g->x0; x < g->x0 + g->w; x++) {
            float row[3];
            for (int j = -1; j <= 1; j++)
                row[j + 1] =
                    (source(f, inside, W, H, 2 * x - 1, 2 * y + j) + 2.0f * source(f, inside, W, H, 2 * x, 2 * y + j) +
                     source(f, inside, W, H, 2 * x + 1, 2 * y + j)) *
                    0.25f;
            *plane_at(g, x, y) = (row[0] + 2.0f * row[1] + row[2]) * 0.25f;
        }
}

/* r = d + (1 - alpha) * (the level above, doubled). */
static void interpolate_up(const Plane *above, const Plane *d, const Plane *alpha, const Plane *r)
{
    for (int y = 0; y < r->h; y++)
        for (int x = 0; x < r->w; x++) {
            const int   u0 = x / 2, u1 = (x + 1) / 2, v0 = y / 2, v1 = (y + 1) / 2;
            const float upper  = (*plane_at(above, u0, v0) + *plane_at(above, u1, v0)) / 2.0f;
            const float lower  = (*plane_at(above, u0, v1) + *plane_at(above, u1, v1)) / 2.0f;
            *plane_at(r, x, y) = *plane_at(d, x, y) + (1.0f - *plane_at(alpha, x, y)) * ((upper + lower) / 2.0f);
        }
}

static void interpolate_run(PeerCall *call)
{
    const Interpolate *t = call->state;
    const int          W = t->in.size[0], H = t->in.size[1], L = t->levels;
    const size_t       plane = (size_t)W * (size_t)H;
    const float       *in    = t->in.data;
    float             *out   = call->out.data;
    const Spans        s     = spans_of(W, H, L);
    Plane              d[LEVELS_MOST][CHANNELS], r[LEVELS_MOST][CHANNELS];
    for (int l = 0; l < L; l++)
        for (int c = 0; c < CHANNELS; c++) {
            d[l][c] = plane_over(s.lo[l], s.hix[l], s.lo[l], s.hiy[l]);
            r[l][c] = plane_over(0, s.mx[l], 0, s.my[l]);
            if (l > 0)
                interpolate_down(&d[l - 1][c], &d[l][c], l == 4, W, H);
            for (int y = s.lo[0]; l == 0 && y <= s.hiy[0]; y++)
                for (int x = s.lo[0]; x <= s.hix[0]; x++) {
                    const size_t at           = (size_t)clampi(y, 0, H - 1) * W + clampi(x, 0, W - 1);
                    const float  a            = in[3 * plane + at];
                    *plane_at(&d[0][c], x, y) = c < 3 ? in[c * plane + at] * a : a;
                }
        }
    for (int c = 0; c < CHANNELS; c++) {
        const Plane *top = &r[L - 1][c];
        for (int y = 0; y < top->h; y++)
            for (int x = 0; x < top->w; x++)
                *plane_at(top, x, y) = *plane_at(&d[L - 1][c], x, y);
        for (int l = L - 2; l >= 0; l--)
            interpolate_up(&r[l + 1][c], &d[l][c], &d[l][3], &r[l][c]);
    }
    for (size_t c = 0; c < 3; c++)
        for (size_t k = 0; k < plane; k++)
            out[c * plane + k] = r[0][c].v[k] / r[0][3].v[k];
    for (int l = 0; l < L; l++)
        for (int c = 0; c < CHANNELS; c++) {
            free(d[l][c].v);
            free(r[l][c].v);
        }
}

void naive_interpolate(PeerCall *call)
{
    static Interpolate t;
    t.in     = peer_input(call, "in", "f32", 3);
    t.levels = (int)peer_number(call, "levels", 10);
    if (t.in.size[2] != CHANNELS || t.levels < 2 || t.levels > LEVELS_MOST)
        peer_fail("interpolate takes 4 channels and 2..%d levels", LEVELS_MOST);
    peer_output(call, "f32", 3, t.in.size[0], t.in.size[1], 3, 1);
    call->state = &t;
    call->run   = interpolate_run;
}

/* ---- local_laplacian ---- */

typedef struct {
    PeerArray in;
    int       J, K;
    float     alpha, beta;
} Laplacian;

static void down(const Plane *f, const Plane *g)
{
    for (int y = g->y0; y < g->y0 + g->h; y++)
        for (int x = g->x0; x < g->x0 + g->w; x++) {
            float row[4];
            for (int j = 0; j < 4; j++) {
                const float *p = plane_at(f, 2 * x, 2 * y - 1 + j);
                row[j]         = (p[-1] + 3.0f * (p[0] + p[1]) + p[2]) / 8.0f;
            }
            *plane_at(g, x, y) = (row[0] + 3.0f * (row[1] + row[2]) + row[3]) / 8.0f;
        }
}

static inline float up(const Plane *f, int x, int y)
{
    const float wx = (float)(2 * mod_down(x, 2) + 1) / 4.0f, wy = (float)(2 * mod_down(y, 2) + 1) / 4.0f;
    float       row[2];
    for (int j = 0; j < 2; j++) {
        const int v = div_down(j ? y - 1 : y + 1, 2);
        row[j]      = *plane_at(f, div_down(x + 1, 2), v) * (1 - wx) + *plane_at(f, div_down(x - 1, 2), v) * wx;
    }
    return row[0] * (1 - wy) + row[1] * wy;
}

/* The image in gray and its K remapped copies, over the box of these planes. */
static void remap(const Laplacian *t, const Plane *gray, const Plane *g, const float *table)
{
    const int       W = t->in.size[0], H = t->in.size[1], K = t->K;
    const size_t    plane = (size_t)W * (size_t)H;
    const uint16_t *in    = t->in.data;
    for (int y = gray->y0; y < gray->y0 + gray->h; y++)
        for (int x = gray->x0; x < gray->x0 + gray->w; x++) {
            const uint16_t *p = in + (size_t)clampi(y, 0, H - 1) * W + clampi(x, 0, W - 1);
            const float     v = 0.299f * ((float)p[0] / 65535.0f) + 0.587f * ((float)p[plane] / 65535.0f) +
                            0.114f * ((float)p[2 * plane] / 65535.0f);
            const int idx         = clampi((int)(v * (float)(K - 1) * 256.0f), 0, (K - 1) * 256);
            *plane_at(gray, x, y) = v;
            for (int k = 0; k < K; k++) {
                const float level      = (float)k * (1.0f / (float)(K - 1));
                *plane_at(&g[k], x, y) = t->beta * (v - level) + level + table[idx - 256 * k];
            }
        }
}

/* The result at level j: its own coefficients and what comes from above. */
static void collapse(const Plane *n, const Plane *g, const Plane *g_above, const Plane *above, const Plane *result,
                     int K)
{
    for (int y = result->y0; y < result->y0 + result->h; y++)
        for (int x = result->x0; x < result->x0 + result->w; x++) {
            const float level = *plane_at(n, x, y) * (float)(K - 1);
            const int   i     = clampi((int)level, 0, K - 2);
            const float w     = level - (float)i;
            float       l0 = *plane_at(&g[i], x, y), l1 = *plane_at(&g[i + 1], x, y), base = 0;
            if (above) {
                l0 -= up(&g_above[i], x, y);
                l1 -= up(&g_above[i + 1], x, y);
                base = up(above, x, y);
            }
            *plane_at(result, x, y) = base + ((1.0f - w) * l0 + w * l1);
        }
}

static void laplacian_run(PeerCall *call)
{
    const Laplacian *t = call->state;
    const int        W = t->in.size[0], H = t->in.size[1], J = t->J, K = t->K;
    const size_t     plane = (size_t)W * (size_t)H;
    int ax[LEVELS_MOST], bx[LEVELS_MOST], ay[LEVELS_MOST], by[LEVELS_MOST], px[LEVELS_MOST], qx[LEVELS_MOST],
        py[LEVELS_MOST], qy[LEVELS_MOST];
    ax[0] = 0, bx[0] = W - 1, ay[0] = 0, by[0] = H - 1;
    for (int j = 1; j < J; j++) {
        ax[j] = div_down(ax[j - 1] - 1, 2), bx[j] = div_down(bx[j - 1] + 1, 2);
        ay[j] = div_down(ay[j - 1] - 1, 2), by[j] = div_down(by[j - 1] + 1, 2);
    }
    px[J - 1] = ax[J - 1], qx[J - 1] = bx[J - 1], py[J - 1] = ay[J - 1], qy[J - 1] = by[J - 1];
    for (int j = J - 2; j >= 0; j--) {
        px[j] = mini(ax[j], 2 * px[j + 1] - 1), qx[j] = maxi(bx[j], 2 * qx[j + 1] + 2);
        py[j] = mini(ay[j], 2 * py[j + 1] - 1), qy[j] = maxi(by[j], 2 * qy[j + 1] + 2);
    }
    const int reach = 256 * (K - 1);
    float    *table = (float *)scratch((size_t)(2 * reach + 1) * sizeof(float));
    for (int i = -reach; i <= reach; i++)
        table[i + reach] = t->alpha * ((float)i / 256.0f) * expf(-((float)i / 256.0f) * ((float)i / 256.0f) / 2.0f);

    static Plane g[LEVELS_MOST][PLANES_MOST];
    Plane        n[LEVELS_MOST], og[LEVELS_MOST];
    for (int j = 0; j < J; j++) {
        n[j]  = plane_over(px[j], qx[j], py[j], qy[j]);
        og[j] = plane_over(ax[j], bx[j], ay[j], by[j]);
        for (int k = 0; k < K; k++)
            g[j][k] = plane_over(px[j], qx[j], py[j], qy[j]);
        if (j == 0) {
            remap(t, &n[0], g[0], table + reach);
            continue;
        }
        down(&n[j - 1], &n[j]);
        for (int k = 0; k < K; k++)
            down(&g[j - 1][k], &g[j][k]);
    }
    for (int j = J - 1; j >= 0; j--)
        collapse(&n[j], g[j], j < J - 1 ? g[j + 1] : NULL, j < J - 1 ? &og[j + 1] : NULL, &og[j], K);
    const uint16_t *in  = t->in.data;
    uint16_t       *out = call->out.data;
    for (size_t c = 0; c < 3; c++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                const size_t at = c * plane + (size_t)y * W + x;
                const float  color =
                    *plane_at(&og[0], x, y) * ((float)in[at] / 65535.0f + 0.01f) / (*plane_at(&n[0], x, y) + 0.01f);
                out[at] = (uint16_t)(clampf(color, 0, 1) * 65535.0f);
            }
    free(table);
    for (int j = 0; j < J; j++) {
        free(n[j].v);
        free(og[j].v);
        for (int k = 0; k < K; k++)
            free(g[j][k].v);
    }
}

void naive_local_laplacian(PeerCall *call)
{
    static Laplacian t;
    t.in    = peer_input(call, "in", "u16", 3);
    t.J     = (int)peer_number(call, "pyramid_levels", 8);
    t.K     = (int)peer_number(call, "levels", 8);
    t.alpha = (float)peer_number(call, "alpha", 1.0 / 7);
    t.beta  = (float)peer_number(call, "beta", 1);
    if (t.J < 1 || t.J > LEVELS_MOST || t.K < 2 || t.K > PLANES_MOST)
        peer_fail("local_laplacian takes 1..%d levels of 2..%d images", LEVELS_MOST, PLANES_MOST);
    peer_output(call, "u16", 3, t.in.size[0], t.in.size[1], 3, 1);
    call->state = &t;
    call->run   = laplacian_run;
}
