/* SPDX-License-Identifier: MIT */
/* blur, unsharp, harris, stencil_chain and max_filter as plain loops. */
#include "naive.h"
#include "entries.h"

/* ---- blur ---- */

static void blur_run(PeerCall *call)
{
    const PeerArray *in = call->state;
    const int        W = call->out.size[0], H = call->out.size[1], P = in->size[0];
    const uint16_t  *a   = in->data;
    uint16_t        *out = call->out.data, *bx = scratch((size_t)W * (size_t)(H + 2) * 2);
    for (int y = 0; y < H + 2; y++)
        for (int x = 0; x < W; x++) {
            const uint16_t *p     = a + (size_t)y * P + x;
            bx[(size_t)y * W + x] = (uint16_t)(p[0] + p[1] + p[2]) / 3;
        }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const uint16_t *p      = bx + (size_t)y * W + x;
            out[(size_t)y * W + x] = (uint16_t)(p[0] + p[W] + p[2 * (size_t)W]) / 3;
        }
    free(bx);
}

void naive_blur(PeerCall *call)
{
    static PeerArray in;
    in = peer_input(call, "in", "u16", 2);
    peer_output(call, "u16", 2, in.size[0] - 2, in.size[1] - 2, 1, 1);
    call->state = &in;
    call->run   = blur_run;
}

/* ---- unsharp ---- */

typedef struct {
    PeerArray in;
    float     k[4];
} Unsharp;

static void unsharp_run(PeerCall *call)
{
    const Unsharp *u = call->state;
    const float   *k = u->k, *in = u->in.data;
    const int      W = u->in.size[0], H = u->in.size[1];
    const size_t   plane = (size_t)W * (size_t)H;
    float         *out   = call->out.data;
    Plane          gray = plane_over(-3, W + 2, -3, H + 2), by = plane_over(-3, W + 2, 0, H - 1);
    for (int y = -3; y < H + 3; y++)
        for (int x = -3; x < W + 3; x++) {
            const float *p         = in + (size_t)clampi(y, 0, H - 1) * W + clampi(x, 0, W - 1);
            *plane_at(&gray, x, y) = 0.299f * p[0] + 0.587f * p[plane] + 0.114f * p[2 * plane];
        }
    for (int y = 0; y < H; y++)
        for (int x = -3; x < W + 3; x++) {
            const float    *p = plane_at(&gray, x, y);
            const ptrdiff_t w = gray.w;
            *plane_at(&by, x, y) =
                k[0] * p[0] + k[1] * (p[-w] + p[w]) + k[2] * (p[-2 * w] + p[2 * w]) + k[3] * (p[-3 * w] + p[3 * w]);
        }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const float *p = plane_at(&by, x, y), g = *plane_at(&gray, x, y);
            const float  bx    = k[0] * p[0] + k[1] * (p[-1] + p[1]) + k[2] * (p[-2] + p[2]) + k[3] * (p[-3] + p[3]);
            const float  ratio = (2 * g - bx) / g;
            for (int c = 0; c < 3; c++)
                out[c * plane + (size_t)y * W + x] = ratio * in[c * plane + (size_t)y * W + x];
        }
    free(gray.v);
    free(by.v);
}

void naive_unsharp(PeerCall *call)
{
    static Unsharp u;
    u.in              = peer_input(call, "in", "f32", 3);
    const float sigma = (float)peer_number(call, "sigma", 1.5);
    for (int i = 0; i < 4; i++)
        u.k[i] = expf((float)(-i * i) / (2 * sigma * sigma)) / (sqrtf(2 * 3.14159265f) * sigma);
    peer_output(call, "f32", 3, u.in.size[0], u.in.size[1], 3, 1);
    call->state = &u;
    call->run   = unsharp_run;
}

/* ---- harris ---- */

static void harris_run(PeerCall *call)
{
    const PeerArray *a  = call->state;
    const float     *in = a->data;
    const int        W = a->size[0], H = a->size[1], w = W - 6;
    const size_t     plane = (size_t)W * (size_t)H;
    float *out = call->out.data, *gray = scratch(plane * 4), *Ix = scratch(plane * 4), *Iy = scratch(plane * 4);
    for (size_t k = 0; k < plane; k++)
        gray[k] = 0.299f * in[k] + 0.587f * in[k + plane] + 0.114f * in[k + 2 * plane];
    const float one = 1.0f / 12, two = 2.0f / 12;
    for (int y = 2; y < H - 2; y++)
        for (int x = 2; x < W - 2; x++) {
            const float *g  = gray + (ptrdiff_t)y * W + x;
            const size_t at = (size_t)y * W + x;
            Ix[at] = g[-W - 1] * -one + g[-W + 1] * one + g[-1] * -two + g[1] * two + g[W - 1] * -one + g[W + 1] * one;
            Iy[at] = g[-W - 1] * -one + g[W - 1] * one + g[-W] * -two + g[W] * two + g[-W + 1] * -one + g[W + 1] * one;
        }
    for (int y = 3; y < H - 3; y++)
        for (int x = 3; x < W - 3; x++) {
            float Sxx = 0, Syy = 0, Sxy = 0;
            for (int i = -1; i <= 1; i++)
                for (int j = -1; j <= 1; j++) {
                    const ptrdiff_t at = (ptrdiff_t)(y + j) * W + x + i;
                    Sxx += Ix[at] * Ix[at];
                    Syy += Iy[at] * Iy[at];
                    Sxy += Ix[at] * Iy[at];
                }
            const float det = Sxx * Syy - Sxy * Sxy, trace = Sxx + Syy;
            out[(size_t)(y - 3) * w + x - 3] = det - 0.04f * trace * trace;
        }
    free(gray);
    free(Ix);
    free(Iy);
}

void naive_harris(PeerCall *call)
{
    static PeerArray in;
    in = peer_input(call, "in", "f32", 3);
    peer_output(call, "f32", 2, in.size[0] - 6, in.size[1] - 6, 1, 1);
    call->state = &in;
    call->run   = harris_run;
}

/* ---- stencil_chain ---- */

typedef struct {
    PeerArray in;
    int       stencils;
} Chain;

static void chain_run(PeerCall *call)
{
    const Chain    *s = call->state;
    const int       W = s->in.size[0], H = s->in.size[1], pad = 2 * s->stencils, w = W + 2 * pad, h = H + 2 * pad;
    const uint16_t *in = s->in.data;
    uint16_t       *f = scratch((size_t)w * (size_t)h * 2), *g = scratch((size_t)w * (size_t)h * 2);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            f[(size_t)y * w + x] = in[(size_t)clampi(y - pad, 0, H - 1) * W + clampi(x - pad, 0, W - 1)];
    for (int n = 1; n <= s->stencils; n++) {
        for (int y = 2 * n; y < h - 2 * n; y++)
            for (int x = 2 * n; x < w - 2 * n; x++) {
                uint16_t e = 0;
                for (int j = -2; j <= 2; j++)
                    for (int i = -2; i <= 2; i++)
                        e = (uint16_t)(e + (i + 3) * (j + 3) * f[(ptrdiff_t)(y + j) * w + x + i]);
                g[(size_t)y * w + x] = e;
            }
        uint16_t *last = f;
        f              = g;
        g              = last;
    }
    for (int y = 0; y < H; y++)
        memcpy((uint16_t *)call->out.data + (size_t)y * W, f + (size_t)(y + pad) * w + pad, (size_t)W * 2);
    free(f);
    free(g);
}

void naive_stencil_chain(PeerCall *call)
{
    static Chain s;
    s.in       = peer_input(call, "in", "u16", 2);
    s.stencils = (int)peer_number(call, "stencils", 32);
    peer_output(call, "u16", 2, s.in.size[0], s.in.size[1], 1, 1);
    call->state = &s;
    call->run   = chain_run;
}

/* ---- max_filter: the greatest of all values in the disc ---- */

typedef struct {
    PeerArray in;
    int       radius;
} Disc;

static void max_run(PeerCall *call)
{
    const Disc *s = call->state;
    const int   W = s->in.size[0], H = s->in.size[1], R = s->radius;
    for (int c = 0; c < s->in.size[2]; c++) {
        const float *in  = (const float *)s->in.data + (size_t)c * W * H;
        float       *out = (float *)call->out.data + (size_t)c * W * H;
        for (int y = 0; y < H; y++) {
            float *row = out + (size_t)y * W;
            for (int x = 0; x < W; x++)
                row[x] = -INFINITY;
            for (int dx = -R; dx <= R; dx++) {
                int t = 0;
                for (int d = 0; d <= R; d++)
                    t += (float)(dx * dx + d * d) < ((float)R + 0.25f) * ((float)R + 0.25f);
                for (int dy = -t; dy <= t; dy++) {
                    const float *p = in + (size_t)clampi(y + dy, 0, H - 1) * W;
                    for (int x = 0; x < W; x++)
                        row[x] = maxf(row[x], p[clampi(x + dx, 0, W - 1)]);
                }
            }
        }
    }
}

void naive_max_filter(PeerCall *call)
{
    static Disc s;
    s.in     = peer_input(call, "in", "f32", 3);
    s.radius = (int)peer_number(call, "radius", 26);
    peer_output(call, "f32", 3, s.in.size[0], s.in.size[1], s.in.size[2], 1);
    call->state = &s;
    call->run   = max_run;
}
