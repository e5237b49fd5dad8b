/* SPDX-License-Identifier: MIT */
/* camera_pipe as plain loops: each plane of the demosaicking is a whole image at half resolution. */
#include "naive.h"
#include "entries.h"

typedef struct {
    PeerArray raw;
    int16_t   m[3][4];
    uint8_t   curve[1024], strength;
} Camera;

/* The planes over x = -MARGIN .. w+MARGIN-1, y likewise, at half resolution. */
enum { GR, R, B, GB, G_R, G_B, PLANES, MARGIN = 2 };

typedef struct {
    int       w, h;
    uint16_t *v[PLANES];
} Planes;

static inline uint16_t *at(const Planes *p, int which, int x, int y)
{
    return &p->v[which][(ptrdiff_t)(y + MARGIN) * (p->w + 2 * MARGIN) + x + MARGIN];
}

static inline uint16_t avg(uint16_t p, uint16_t q)
{
    return (uint16_t)(((uint32_t)p + q + 1) / 2);
}
static inline uint16_t absd(uint16_t p, uint16_t q)
{
    return p > q ? p - q : q - p;
}

/* The average of the pair that differs less. */
static inline uint16_t calmer(uint16_t h0, uint16_t h1, uint16_t v0, uint16_t v1)
{
    return absd(h0, h1) < absd(v0, v1) ? avg(h0, h1) : avg(v0, v1);
}

/* A colour plus the green at the site less the green interpolated as that colour was; wraps. */
static inline uint16_t fix(uint16_t green, uint16_t ga, uint16_t gc, uint16_t a, uint16_t c)
{
    return (uint16_t)(green - avg(ga, gc) + avg(a, c));
}

static uint16_t denoised(const PeerArray *raw, int x, int y)
{
    const ptrdiff_t w = raw->size[0];
    const uint16_t *p = (const uint16_t *)raw->data + (y + 12) * w + x + 16;
    return (uint16_t)mini(p[0], maxi(maxi(p[-2], p[2]), maxi(p[-2 * w], p[2 * w])));
}

static void mosaic(const PeerArray *raw, const Planes *p)
{
    for (int y = -MARGIN; y < p->h + MARGIN; y++)
        for (int x = -MARGIN; x < p->w + MARGIN; x++) {
            *at(p, GR, x, y) = denoised(raw, 2 * x, 2 * y);
            *at(p, R, x, y)  = denoised(raw, 2 * x + 1, 2 * y);
            *at(p, B, x, y)  = denoised(raw, 2 * x, 2 * y + 1);
            *at(p, GB, x, y) = denoised(raw, 2 * x + 1, 2 * y + 1);
        }
    for (int y = 1 - MARGIN; y < p->h + MARGIN - 1; y++)
        for (int x = 1 - MARGIN; x < p->w + MARGIN - 1; x++) {
            *at(p, G_R, x, y) = calmer(*at(p, GR, x + 1, y), *at(p, GR, x, y), *at(p, GB, x, y - 1), *at(p, GB, x, y));
            *at(p, G_B, x, y) = calmer(*at(p, GB, x - 1, y), *at(p, GB, x, y), *at(p, GR, x, y + 1), *at(p, GR, x, y));
        }
}

/* A colour at the site of another, across the diagonal that changes less. */
static inline uint16_t diagonal(const Planes *p, int green, int greens, int colour, int x, int y, int s)
{
    const uint16_t p0 = *at(p, colour, x, y), p1 = *at(p, colour, x - s, y + s), n0 = *at(p, colour, x - s, y),
                   n1 = *at(p, colour, x, y + s);
    return absd(p0, p1) < absd(n0, n1)
               ? fix(*at(p, green, x, y), *at(p, greens, x, y), *at(p, greens, x - s, y + s), p0, p1)
               : fix(*at(p, green, x, y), *at(p, greens, x - s, y), *at(p, greens, x, y + s), n0, n1);
}

/* Red, green and blue at (x, y), by parity. */
static inline void demosaiced(const Planes *p, int x, int y, int16_t rgb[3])
{
    const int u = div_down(x, 2), v = div_down(y, 2);
    uint16_t  q[3];
    if (!(y & 1) && !(x & 1)) {
        q[0] = fix(*at(p, GR, u, v), *at(p, G_R, u, v), *at(p, G_R, u - 1, v), *at(p, R, u - 1, v), *at(p, R, u, v));
        q[1] = *at(p, GR, u, v);
        q[2] = fix(*at(p, GR, u, v), *at(p, G_B, u, v), *at(p, G_B, u, v - 1), *at(p, B, u, v), *at(p, B, u, v - 1));
    } else if (!(y & 1)) {
        q[0] = *at(p, R, u, v);
        q[1] = *at(p, G_R, u, v);
        q[2] = diagonal(p, G_R, G_B, B, u, v, -1);
    } else if (!(x & 1)) {
        q[0] = diagonal(p, G_B, G_R, R, u, v, 1);
        q[1] = *at(p, G_B, u, v);
        q[2] = *at(p, B, u, v);
    } else {
        q[0] = fix(*at(p, GB, u, v), *at(p, G_R, u, v), *at(p, G_R, u, v + 1), *at(p, R, u, v), *at(p, R, u, v + 1));
        q[1] = *at(p, GB, u, v);
        q[2] = fix(*at(p, GB, u, v), *at(p, G_B, u, v), *at(p, G_B, u + 1, v), *at(p, B, u, v), *at(p, B, u + 1, v));
    }
    for (int c = 0; c < 3; c++)
        rgb[c] = (int16_t)q[c];
}

static inline uint8_t avg8(uint8_t p, uint8_t q)
{
    return (uint8_t)((p + q + 1) / 2);
}
static inline uint8_t blur3(uint8_t p, uint8_t q, uint8_t s)
{
    return avg8(avg8(p, s), q);
}

static void camera_run(PeerCall *call)
{
    const Camera *s = call->state;
    const int     W = call->out.size[0], H = call->out.size[1], w = W + 2, h = H + 2;
    Planes        p = { W / 2 + 1, H / 2 + 1, { NULL } };
    for (int k = 0; k < PLANES; k++)
        p.v[k] = scratch((size_t)(p.w + 2 * MARGIN) * (size_t)(p.h + 2 * MARGIN) * 2);
    mosaic(&s->raw, &p);
    uint8_t *curved = scratch((size_t)w * (size_t)h * 3), *out = call->out.data;
    for (int y = -1; y <= H; y++)
        for (int x = -1; x <= W; x++) {
            int16_t d[3];
            demosaiced(&p, x, y, d);
            for (int c = 0; c < 3; c++) {
                const int32_t v = s->m[c][3] + s->m[c][0] * d[0] + s->m[c][1] * d[1] + s->m[c][2] * d[2];
                curved[((size_t)c * h + (size_t)(y + 1)) * w + (size_t)(x + 1)] =
                    s->curve[clampi((int16_t)(v >> 8), 0, 1023)];
            }
        }
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                const uint8_t *q = curved + ((size_t)c * h + (size_t)(y + 1)) * w + x + 1;
                uint8_t        uy[3];
                for (int i = -1; i <= 1; i++)
                    uy[i + 1] = blur3(q[i - w], q[i], q[i + w]);
                const int16_t mask               = (int16_t)(q[0] - blur3(uy[0], uy[1], uy[2])),
                              amount             = (int16_t)(mask * s->strength);
                out[((size_t)c * H + y) * W + x] = (uint8_t)clampi((int16_t)(q[0] + (amount >> 5)), 0, 255);
            }
    for (int k = 0; k < PLANES; k++)
        free(p.v[k]);
    free(curved);
}

void naive_camera_pipe(PeerCall *call)
{
    static Camera s;
    s.raw                 = peer_input(call, "in", "u16", 2);
    const PeerArray m3200 = peer_input(call, "matrix_3200", "f32", 2),
                    m7000 = peer_input(call, "matrix_7000", "f32", 2);
    const float temp = (float)peer_number(call, "color_temp", 3700), gamma = (float)peer_number(call, "gamma", 2),
                contrast = (float)peer_number(call, "contrast", 50),
                strength = (float)peer_number(call, "sharpen_strength", 1);
    const int   black = (int)peer_number(call, "blackLevel", 25), white = (int)peer_number(call, "whiteLevel", 1023);
    const float alpha = (1.0f / temp - 1.0f / 3200) / (1.0f / 7000 - 1.0f / 3200);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++)
            s.m[k][i] = (int16_t)((((const float *)m3200.data)[4 * k + i] * alpha +
                                   ((const float *)m7000.data)[4 * k + i] * (1 - alpha)) *
                                  256.0f);
    const float range = 1.0f / (float)(white - black), b = 2.0f - powf(2.0f, contrast / 100.0f), a = 2.0f - 2.0f * b;
    for (int x = 0; x < 1024; x++) {
        const float g = powf(clampf((float)(x - black) * range, 0, 1), 1.0f / gamma), h = 1.0f - g;
        const float z = g > 0.5f ? 1.0f - (a * h * h + b * h) : a * g * g + b * g;
        s.curve[x]    = x <= black ? 0 : x > white ? 255 : (uint8_t)clampf(z * 255.0f + 0.5f, 0, 255);
    }
    s.strength = (uint8_t)clampf(strength * 32, 0, 255);
    peer_output(call, "u8", 3, (s.raw.size[0] - 32) / 32 * 32, (s.raw.size[1] - 32) / 32 * 32, 3, 1);
    call->state = &s;
    call->run   = camera_run;
}
