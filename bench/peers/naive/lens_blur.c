/* SPDX-License-Identifier: MIT */
/* lens_blur as plain loops: one slice of depth after the other, with its pyramids. */
#include "naive.h"
#include "entries.h"

enum { LEVELS = 8 };

typedef struct {
    PeerArray left, right;
    int       slices, focus, samples, R;
    float     scale;
} Lens;

static inline int byte_at(const PeerArray *a, int x, int y, int c)
{
    const int W = a->size[0], H = a->size[1];
    return ((const uint8_t *)a->data)[((size_t)c * H + clampi(y, 0, H - 1)) * W + clampi(x, 0, W - 1)];
}

static float cost_at(const Lens *s, int x, int y, int z)
{
    float sum = 0;
    for (int c = 0; c < 3; c++) {
        const int l = byte_at(&s->left, x, y, c);
        const int d =
            mini(abs(l - byte_at(&s->right, x + 2 * z, y, c)), abs(l - byte_at(&s->right, x + 2 * z + 1, y, c)));
        sum += (float)d * (float)d;
    }
    return sum;
}

static uint32_t mixed(uint32_t v)
{
    return (1040796640u * v + 1121052041u) * v + 576942909u;
}

/* The random number in [0,1) of the sample z at (x,y); one sequence per t. */
static float random_at(uint32_t t, int z, int y, int x)
{
    uint32_t h = mixed(mixed(mixed(mixed(mixed(t) + 78u) + (uint32_t)z) + (uint32_t)y) + (uint32_t)x);
    h          = 0x3f800000u | (h ^ h >> 16) >> 9;
    float f;
    memcpy(&f, &h, 4);
    return f - 1.0f;
}

static void down(const Plane *f, const Plane *g)
{
    for (int y = 0; y < g->h; y++)
        for (int x = 0; x < g->w; x++) {
            float row[4];
            for (int j = 0; j < 4; j++) {
                const int v = 2 * y - 1 + j;
                row[j] = (plane_edge(f, 2 * x - 1, v) + 3.0f * (plane_edge(f, 2 * x, v) + plane_edge(f, 2 * x + 1, v)) +
                          plane_edge(f, 2 * x + 2, v)) /
                         8.0f;
            }
            *plane_at(g, x, y) = (row[0] + 3.0f * (row[1] + row[2]) + row[3]) / 8.0f;
        }
}

static inline float up(const Plane *f, int x, int y)
{
    const int u0 = div_down(x, 2), u1 = u0 - 1 + 2 * mod_down(x, 2), v0 = div_down(y, 2),
              v1     = v0 - 1 + 2 * mod_down(y, 2);
    const float far  = 0.25f * *plane_at(f, u1, v1) + 0.75f * *plane_at(f, u0, v1);
    const float near = 0.25f * *plane_at(f, u1, v0) + 0.75f * *plane_at(f, u0, v0);
    return 0.25f * far + 0.75f * near;
}

/* push[0], smoothed by its pyramid, over the image and R around it. */
static Plane pulled(Plane push0, int W, int H, int R)
{
    Plane push[LEVELS] = { push0 }, pull[LEVELS];
    int   ax[LEVELS] = { -R }, bx[LEVELS] = { W - 1 + R }, ay[LEVELS] = { -R }, by[LEVELS] = { H - 1 + R };
    for (int l = 1; l < LEVELS; l++) {
        ax[l] = div_down(ax[l - 1], 2) - 1, bx[l] = div_down(bx[l - 1], 2) + 1;
        ay[l] = div_down(ay[l - 1], 2) - 1, by[l] = div_down(by[l - 1], 2) + 1;
        push[l] = plane_over(0, (W >> l) - 1, 0, (H >> l) - 1);
        down(&push[l - 1], &push[l]);
    }
    for (int l = LEVELS - 1; l >= 0; l--) {
        pull[l] = plane_over(ax[l], bx[l], ay[l], by[l]);
        for (int y = ay[l]; y <= by[l]; y++)
            for (int x = ax[l]; x <= bx[l]; x++) {
                const float v             = plane_edge(&push[l], x, y);
                *plane_at(&pull[l], x, y) = l == LEVELS - 1 ? v : up(&pull[l + 1], x, y) * 0.5f + v * 0.5f;
            }
    }
    for (int l = 1; l < LEVELS; l++) {
        free(push[l].v);
        free(pull[l].v);
    }
    return pull[0];
}

/* The depth of each pixel, as a float, over the image and R around it. */
static Plane depths(const Lens *s)
{
    const int W = s->left.size[0], H = s->left.size[1], R = s->R;
    Plane     conf = plane_over(-R - 2, W + 1 + R, -R - 2, H + 1 + R),
          push     = plane_over(-R - 2, W + 1 + R, -R - 2, H + 1 + R);
    Plane best = plane_over(-R, W - 1 + R, -R, H - 1 + R), depth = plane_over(-R, W - 1 + R, -R, H - 1 + R);
    for (int y = -R - 2; y < H + 2 + R; y++)
        for (int x = -R - 2; x < W + 2 + R; x++) {
            float a = 0, b = 0;
            for (int z = 0; z < s->slices; z++) {
                const float cost = cost_at(s, x, y, z);
                a += cost * cost;
                b += cost / (float)s->slices;
            }
            *plane_at(&conf, x, y) = a / (float)s->slices - b * b;
        }
    Plane weight = pulled(conf, W, H, R);
    for (int z = 0; z < s->slices; z++) {
        for (int y = -R - 2; y < H + 2 + R; y++)
            for (int x = -R - 2; x < W + 2 + R; x++)
                *plane_at(&push, x, y) = *plane_at(&conf, x, y) * cost_at(s, x, y, z);
        Plane cost = pulled(push, W, H, R);
        for (size_t k = 0; k < (size_t)best.w * (size_t)best.h; k++) {
            const float v = cost.v[k] / weight.v[k];
            if (z == 0)
                best.v[k] = INFINITY, depth.v[k] = 0;
            if (v < best.v[k])
                best.v[k] = v, depth.v[k] = (float)z;
        }
        free(cost.v);
    }
    free(conf.v);
    free(push.v);
    free(best.v);
    free(weight.v);
    return depth;
}

static void lens_run(PeerCall *call)
{
    const Lens  *s = call->state;
    const int    W = s->left.size[0], H = s->left.size[1], R = s->R;
    const size_t plane = (size_t)W * (size_t)H;
    float       *out   = call->out.data;
    Plane        depth = depths(s), wy = plane_over(-R, W - 1 + R, 0, H - 1);
    for (int y = 0; y < H; y++)
        for (int x = -R; x < W + R; x++) {
            float worst = 0;
            for (int j = -R; j <= R; j++)
                worst = maxf(worst, fabsf(*plane_at(&depth, x, y + j) - (float)s->focus) * s->scale);
            *plane_at(&wy, x, y) = worst;
        }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float worst = 0, sum[4];
            for (int i = -R; i <= R; i++)
                worst = maxf(worst, *plane_at(&wy, x + i, y));
            for (int c = 0; c < 4; c++)
                sum[c] = c < 3 ? (float)byte_at(&s->left, x, y, c) : 255.0f;
            for (int z = 0; z < s->samples; z++) {
                const int   u    = clampi((int)((random_at(0, z, y, x) - 0.5f) * 2 * worst), -R, R);
                const int   v    = clampi((int)((random_at(2, z, y, x) - 0.5f) * 2 * worst), -R, R);
                const float here = *plane_at(&depth, x, y), there = *plane_at(&depth, x + u, y + v),
                            d2      = (float)(u * u + v * v);
                const float r_here  = fabsf(here - (float)s->focus) * s->scale,
                            r_there = fabsf(there - (float)s->focus) * s->scale;
                if (!((d2 < r_here * r_here || there < here) && d2 < r_there * r_there))
                    continue;
                for (int c = 0; c < 4; c++)
                    sum[c] += c < 3 ? (float)byte_at(&s->left, x + u, y + v, c) : 255.0f;
            }
            for (size_t c = 0; c < 3; c++)
                out[c * plane + (size_t)y * W + x] = sum[c] / sum[3];
        }
    free(depth.v);
    free(wy.v);
}

void naive_lens_blur(PeerCall *call)
{
    static Lens s;
    s.left    = peer_input(call, "left_im", "u8", 3);
    s.right   = peer_input(call, "right_im", "u8", 3);
    s.slices  = (int)peer_number(call, "slices", 32);
    s.focus   = (int)peer_number(call, "focus_depth", 13);
    s.samples = (int)peer_number(call, "aperture_samples", 32);
    s.scale   = (float)peer_number(call, "blur_radius_scale", 0.5);
    s.R       = (int)((float)maxi(s.slices - s.focus, s.focus) * s.scale);
    peer_output(call, "f32", 3, s.left.size[0], s.left.size[1], 3, 1);
    call->state = &s;
    call->run   = lens_run;
}
