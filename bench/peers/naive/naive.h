/* SPDX-License-Identifier: MIT */
/* What the naive programs share: plain loops over planar images, no blocking, no threads, whole intermediate images. */
#ifndef NAIVE_H
#define NAIVE_H

#include "../peer.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Memory for an intermediate image, allocated in the run so that it counts. */
static inline void *scratch(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p)
        peer_fail("no memory for %zu bytes", bytes);
    return p;
}

static inline int clampi(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}
static inline float clampf(float v, float lo, float hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}
static inline int mini(int a, int b)
{
    return a < b ? a : b;
}
static inline int maxi(int a, int b)
{
    return a > b ? a : b;
}
static inline float maxf(float a, float b)
{
    return a > b ? a : b;
}

/* Integer division and remainder that round toward minus infinity (b > 0). */
static inline int div_down(int a, int b)
{
    return a / b - (a % b < 0);
}
static inline int mod_down(int a, int b)
{
    return a - b * div_down(a, b);
}

/* A plane of floats over x0..x1, y0..y1 (both included): PLANE(p, x, y) is the element there. */
typedef struct {
    int    x0, y0, w, h;
    float *v;
} Plane;

static inline Plane plane_over(int x0, int x1, int y0, int y1)
{
    Plane p = { x0, y0, x1 - x0 + 1, y1 - y0 + 1, NULL };
    p.v     = (float *)scratch((size_t)p.w * (size_t)p.h * sizeof(float));
    return p;
}

static inline float *plane_at(const Plane *p, int x, int y)
{
    return &p->v[(ptrdiff_t)(y - p->y0) * p->w + (x - p->x0)];
}

/* The element nearest to (x, y). */
static inline float plane_edge(const Plane *p, int x, int y)
{
    return *plane_at(p, clampi(x, p->x0, p->x0 + p->w - 1), clampi(y, p->y0, p->y0 + p->h - 1));
}

#endif
