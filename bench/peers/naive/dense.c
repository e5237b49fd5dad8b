/* SPDX-License-Identifier: MIT */
/* mat_mul, conv_layer, hist and iir_blur as plain loops. */
#include "naive.h"
#include "entries.h"

/* ---- mat_mul ---- */

typedef struct {
    PeerArray A, B;
} Matrices;

static void mat_mul_run(PeerCall *call)
{
    const Matrices *m = call->state;
    const int       n = m->A.size[0];
    const float    *A = m->A.data, *B = m->B.data;
    float          *out = call->out.data;
    memset(out, 0, (size_t)n * (size_t)n * 4);
    for (int y = 0; y < n; y++)
        for (int k = 0; k < n; k++)
            for (int x = 0; x < n; x++)
                out[(size_t)y * n + x] += A[(size_t)y * n + k] * B[(size_t)k * n + x];
}

void naive_mat_mul(PeerCall *call)
{
    static Matrices m;
    m.A = peer_input(call, "A", "f32", 2);
    m.B = peer_input(call, "B", "f32", 2);
    peer_output(call, "f32", 2, m.A.size[0], m.A.size[1], 1, 1);
    call->state = &m;
    call->run   = mat_mul_run;
}

/* ---- conv_layer ---- */

typedef struct {
    PeerArray in, filter, bias;
} Layer;

static void conv_run(PeerCall *call)
{
    const Layer *l  = call->state;
    const int    CO = call->out.size[0], W = call->out.size[1], H = call->out.size[2], N = call->out.size[3],
              CI    = l->in.size[0];
    const float *in = l->in.data, *filter = l->filter.data, *bias = l->bias.data;
    float       *out = call->out.data;
    for (int n = 0; n < N; n++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++, out += CO) {
                memcpy(out, bias, (size_t)CO * 4);
                for (int dy = 0; dy < 3; dy++)
                    for (int dx = 0; dx < 3; dx++)
                        for (int i = 0; i < CI; i++) {
                            const float  v = in[(((size_t)n * (H + 2) + y + dy) * (W + 2) + x + dx) * CI + i];
                            const float *f = filter + (((size_t)i * 3 + dy) * 3 + dx) * CO;
                            for (int c = 0; c < CO; c++)
                                out[c] += f[c] * v;
                        }
                for (int c = 0; c < CO; c++)
                    out[c] = maxf(0, out[c]);
            }
}

void naive_conv_layer(PeerCall *call)
{
    static Layer l;
    l.in     = peer_input(call, "in", "f32", 4);
    l.filter = peer_input(call, "filter", "f32", 4);
    l.bias   = peer_input(call, "bias", "f32", 1);
    peer_output(call, "f32", 4, l.bias.size[0], l.in.size[1] - 2, l.in.size[2] - 2, l.in.size[3]);
    call->state = &l;
    call->run   = conv_run;
}

/* ---- hist ---- */

static float luma(const uint8_t *p, size_t plane)
{
    return 0.299f * p[0] + 0.587f * p[plane] + 0.114f * p[2 * plane];
}

static uint8_t to_byte(float v)
{
    return (uint8_t)clampf(v, 0, 255);
}

static void hist_run(PeerCall *call)
{
    const PeerArray *a        = call->state;
    const size_t     plane    = (size_t)a->size[0] * (size_t)a->size[1];
    const uint8_t   *in       = a->data;
    uint8_t         *out      = call->out.data;
    int32_t          cdf[256] = { 0 };
    for (size_t k = 0; k < plane; k++)
        cdf[to_byte(luma(in + k, plane))]++;
    for (int i = 1; i < 256; i++)
        cdf[i] += cdf[i - 1];
    const float scale = 255.0f / (float)(a->size[0] * a->size[1]);
    for (size_t k = 0; k < plane; k++) {
        const float Y = luma(in + k, plane), eq = clampf((float)cdf[to_byte(Y)] * scale, 0, 255);
        const float cr = ((float)in[k] - Y) * 0.713f, cb = ((float)in[k + 2 * plane] - Y) * 0.564f;
        out[k]             = to_byte(eq + cr * 1.4f);
        out[k + plane]     = to_byte(eq - 0.343f * cb - 0.711f * cr);
        out[k + 2 * plane] = to_byte(eq + 1.765f * cb);
    }
}

void naive_hist(PeerCall *call)
{
    static PeerArray in;
    in = peer_input(call, "in", "u8", 3);
    peer_output(call, "u8", 3, in.size[0], in.size[1], 3, 1);
    call->state = &in;
    call->run   = hist_run;
}

/* ---- iir_blur ---- */

typedef struct {
    PeerArray in;
    float     alpha;
} Recursive;

static void iir_run(PeerCall *call)
{
    const Recursive *s = call->state;
    const int        W = s->in.size[0], H = s->in.size[1];
    const float      a = s->alpha, b = 1.0f - a;
    memcpy(call->out.data, s->in.data, peer_count(&s->in) * 4);
    for (int c = 0; c < s->in.size[2]; c++) {
        float *v = (float *)call->out.data + (size_t)c * W * H;
        for (int y = 1; y < H; y++)
            for (int x = 0; x < W; x++)
                v[(size_t)y * W + x] = b * v[(size_t)(y - 1) * W + x] + a * v[(size_t)y * W + x];
        for (int y = H - 2; y >= 0; y--)
            for (int x = 0; x < W; x++)
                v[(size_t)y * W + x] = b * v[(size_t)(y + 1) * W + x] + a * v[(size_t)y * W + x];
        for (int y = 0; y < H; y++) {
            float *row = v + (size_t)y * W;
            for (int x = 1; x < W; x++)
                row[x] = b * row[x - 1] + a * row[x];
            for (int x = W - 2; x >= 0; x--)
                row[x] = b * row[x + 1] + a * row[x];
        }
    }
}

void naive_iir_blur(PeerCall *call)
{
    static Recursive s;
    s.in    = peer_input(call, "in", "f32", 3);
    s.alpha = (float)peer_number(call, "alpha", 0.5);
    peer_output(call, "f32", 3, s.in.size[0], s.in.size[1], s.in.size[2], 1);
    call->state = &s;
    call->run   = iir_run;
}
