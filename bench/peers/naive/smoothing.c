/* SPDX-License-Identifier: MIT */
/* bilateral_grid and nl_means as plain loops. */
#include "naive.h"
#include "entries.h"

/* ---- bilateral_grid ---- */

/* Cells x in -2..gx+2, y in -2..gy+2, z in -2..gz+2, each with c = 0 (sum) and 1 (count). */
typedef struct {
    int    gx, gy, gz;
    float *v;
} Grid;

static inline float *cell(const Grid *a, int x, int y, int z, int c)
{
    const ptrdiff_t w = a->gx + 5, h = a->gy + 5, d = a->gz + 5;
    return &a->v[((c * d + z + 2) * h + y + 2) * w + x + 2];
}

static Grid grid_new(int gx, int gy, int gz)
{
    const size_t bytes = (size_t)2 * (size_t)(gx + 5) * (size_t)(gy + 5) * (size_t)(gz + 5) * sizeof(float);
    return (Grid){ gx, gy, gz, memset(scratch(bytes), 0, bytes) };
}

/* One pass of 1 4 6 4 1 along the direction (dx, dy, dz). */
static Grid blurred(const Grid *a, int dx, int dy, int dz)
{
    const Grid b  = grid_new(a->gx, a->gy, a->gz);
    const int  x0 = dz ? -2 : 0, y0 = dy ? 0 : -2; /* each pass is computed where the next one reads it */
    for (int c = 0; c < 2; c++)
        for (int z = 0; z <= a->gz; z++)
            for (int y = y0; y <= a->gy - y0; y++)
                for (int x = x0; x <= a->gx - x0; x++)
                    *cell(&b, x, y, z, c) = *cell(a, x - 2 * dx, y - 2 * dy, z - 2 * dz, c) +
                                            *cell(a, x - dx, y - dy, z - dz, c) * 4 + *cell(a, x, y, z, c) * 6 +
                                            *cell(a, x + dx, y + dy, z + dz, c) * 4 +
                                            *cell(a, x + 2 * dx, y + 2 * dy, z + 2 * dz, c);
    return b;
}

static inline float mix(float a, float b, float w)
{
    return a * (1 - w) + b * w;
}

typedef struct {
    PeerArray in;
    float     scale;
    int       S;
} Bilateral;

static void bilateral_run(PeerCall *call)
{
    const Bilateral *s = call->state;
    const int        W = s->in.size[0], H = s->in.size[1], S = s->S;
    const float     *in = s->in.data, scale = s->scale;
    float           *out  = call->out.data;
    const Grid       hist = grid_new((W - 1) / S + 1, (H - 1) / S + 1, (int)scale + 2);
    for (int gy = -2; gy <= hist.gy + 2; gy++)
        for (int gx = -2; gx <= hist.gx + 2; gx++)
            for (int j = 0; j < S; j++)
                for (int i = 0; i < S; i++) {
                    const int   x = clampi(gx * S + i - S / 2, 0, W - 1), y = clampi(gy * S + j - S / 2, 0, H - 1);
                    const float v = clampf(in[(size_t)y * W + x], 0, 1);
                    const int   z = (int)(v * scale + 0.5f);
                    *cell(&hist, gx, gy, z, 0) += v;
                    *cell(&hist, gx, gy, z, 1) += 1;
                }
    const Grid bz = blurred(&hist, 0, 0, 1), bx = blurred(&bz, 1, 0, 0), by = blurred(&bx, 0, 1, 0);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const float zv = clampf(in[(size_t)y * W + x], 0, 1) * scale;
            const int   zi = (int)zv, xi = x / S, yi = y / S;
            const float zf = zv - (float)zi, xf = (float)(x % S) / S, yf = (float)(y % S) / S;
            float       r[2];
            for (int c = 0; c < 2; c++) {
                float at_z[2];
                for (int k = 0; k < 2; k++)
                    at_z[k] =
                        mix(mix(*cell(&by, xi, yi, zi + k, c), *cell(&by, xi + 1, yi, zi + k, c), xf),
                            mix(*cell(&by, xi, yi + 1, zi + k, c), *cell(&by, xi + 1, yi + 1, zi + k, c), xf), yf);
                r[c] = mix(at_z[0], at_z[1], zf);
            }
            out[(size_t)y * W + x] = r[0] / r[1];
        }
    free(hist.v);
    free(bz.v);
    free(bx.v);
    free(by.v);
}

void naive_bilateral_grid(PeerCall *call)
{
    static Bilateral s;
    s.in    = peer_input(call, "in", "f32", 2);
    s.scale = 1.0f / (float)peer_number(call, "r_sigma", 0.1);
    s.S     = (int)peer_number(call, "s_sigma", 8);
    peer_output(call, "f32", 2, s.in.size[0], s.in.size[1], 1, 1);
    call->state = &s;
    call->run   = bilateral_run;
}

/* ---- nl_means: one displacement after the other, over the whole image ---- */

typedef struct {
    PeerArray in;
    int       P, A;
    float     scale;
} Means;

static void means_run(PeerCall *call)
{
    const Means *s = call->state;
    const int    W = s->in.size[0], H = s->in.size[1], P = s->P, p = P / 2, a = s->A / 2;
    const size_t plane = (size_t)W * (size_t)H;
    const float *in    = s->in.data;
    float       *out = call->out.data, *sum = memset(scratch(4 * plane * sizeof(float)), 0, 4 * plane * sizeof(float));
    Plane        d = plane_over(-p, W - 1 + P, -p, H - 1 + P), v = plane_over(-p, W - 1 + P, 0, H - 1);
    for (int dy = -a; dy < s->A - a; dy++)
        for (int dx = -a; dx < s->A - a; dx++) {
            for (int y = -p; y < H + P - p - 1; y++)
                for (int x = -p; x < W + P - p - 1; x++) {
                    const size_t here  = (size_t)clampi(y, 0, H - 1) * W + clampi(x, 0, W - 1);
                    const size_t there = (size_t)clampi(y + dy, 0, H - 1) * W + clampi(x + dx, 0, W - 1);
                    float        t     = 0;
                    for (size_t c = 0; c < 3; c++) {
                        const float e = in[c * plane + here] - in[c * plane + there];
                        t += e * e;
                    }
                    *plane_at(&d, x, y) = t;
                }
            for (int y = 0; y < H; y++)
                for (int x = -p; x < W + P - p - 1; x++) {
                    float t = 0;
                    for (int j = -p; j < P - p; j++)
                        t += *plane_at(&d, x, y + j);
                    *plane_at(&v, x, y) = t;
                }
            for (int y = 0; y < H; y++)
                for (int x = 0; x < W; x++) {
                    float b = 0;
                    for (int i = -p; i < P - p; i++)
                        b += *plane_at(&v, x + i, y);
                    const float  w     = expf(b * s->scale);
                    const size_t here  = (size_t)y * W + x,
                                 there = (size_t)clampi(y + dy, 0, H - 1) * W + clampi(x + dx, 0, W - 1);
                    for (size_t c = 0; c < 3; c++)
                        sum[c * plane + here] += w * in[c * plane + there];
                    sum[3 * plane + here] += w;
                }
        }
    for (size_t c = 0; c < 3; c++)
        for (size_t k = 0; k < plane; k++)
            out[c * plane + k] = clampf(sum[c * plane + k] / sum[3 * plane + k], 0, 1);
    free(d.v);
    free(v.v);
    free(sum);
}

void naive_nl_means(PeerCall *call)
{
    static Means s;
    s.in              = peer_input(call, "in", "f32", 3);
    s.P               = (int)peer_number(call, "patch_size", 7);
    s.A               = (int)peer_number(call, "search_area", 7);
    const float sigma = (float)peer_number(call, "sigma", 0.12);
    s.scale           = -1.0f / (sigma * sigma * (float)s.P * (float)s.P);
    peer_output(call, "f32", 3, s.in.size[0], s.in.size[1], 3, 1);
    call->state = &s;
    call->run   = means_run;
}
