/* SPDX-License-Identifier: MIT */
/* The graphs of Jangda and Bondhugula 2020, Tables 1 and 9: from text, or by the recursion that makes them.
 *
 * The text: a node per line or per `;`,  name <- name name …,  what is read before what reads it; `!` after a name: a
 * reduction, which shares no group. Inputs are not named. */
#ifndef KILN_TESTS_GROUP_GRAPHS_H
#define KILN_TESTS_GROUP_GRAPHS_H

#include "schedulers/search/group.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_STAGES = 2048, MOST_EDGES = 8192 };

/* A graph while it is written down. */
typedef struct Sketch {
    int  count, edge_count;
    int  edges[MOST_EDGES][2];
    bool alone[MOST_STAGES];
    char name[MOST_STAGES][24];
} Sketch;

/* A new node that reads two others; a negative number is none. */
static inline int sketch_stage(Sketch *k, int a, int b)
{
    const int reads[2] = { a, b };
    for (int i = 0; i < 2; i++)
        if (reads[i] >= 0) {
            k->edges[k->edge_count][0]   = reads[i];
            k->edges[k->edge_count++][1] = k->count;
        }
    return k->count++;
}

static inline void sketch_reads(Sketch *k, int node, int read)
{
    k->edges[k->edge_count][0]   = read;
    k->edges[k->edge_count++][1] = node;
}

static inline GroupGraph sketch_graph(const Sketch *k, Arena *arena)
{
    GroupGraph g = group_graph_new(arena, k->count);
    for (int i = 0; i < k->edge_count; i++)
        group_graph_edge(&g, k->edges[i][0], k->edges[i][1]);
    for (int i = 0; i < k->count; i++)
        g.alone[i] = k->alone[i];
    group_graph_close(&g);
    return g;
}

/* ---- Text ---------------------------------------------------------------------------- */

static inline int sketch_find(const Sketch *k, const char *name)
{
    for (int i = 0; i < k->count; i++)
        if (!strcmp(k->name[i], name))
            return i;
    fprintf(stderr, "there is no node %s before it is read\n", name);
    exit(2);
}

static inline void sketch_line(Sketch *k, const char *line)
{
    char word[24];
    int  used, node = -1;
    for (; sscanf(line, " %23s%n", word, &used) == 1; line += used) {
        if (node < 0) {
            node           = sketch_stage(k, -1, -1);
            const size_t n = strlen(word);
            k->alone[node] = word[n - 1] == '!';
            snprintf(k->name[node], sizeof k->name[node], "%.*s", (int)(n - k->alone[node]), word);
        } else if (strcmp(word, "<-")) {
            sketch_reads(k, node, sketch_find(k, word));
        }
    }
}

static inline void sketch_text(Sketch *k, const char *text)
{
    char line[256];
    for (; *text; text += *text != 0) {
        const size_t n = strcspn(text, "\n;");
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        sketch_line(k, line);
        text += n;
    }
}

#define harris_text                                                                                                    \
    "Ix; Iy; Ixx <- Ix; Iyy <- Iy; Ixy <- Ix Iy; Sxx <- Ixx; Syy <- Iyy; Sxy <- Ixy; det <- Sxx Syy Sxy; trace <- "    \
    "Sxx Syy; harris <- det trace"

#define camera_text                                                                                                    \
    "denoised; deinterleaved <- denoised; g_gr <- deinterleaved; r_r <- deinterleaved; b_b <- deinterleaved; g_gb <- " \
    "deinterleaved; g_r <- g_gr g_gb; g_b <- g_gr g_gb\n"                                                              \
    "r_gr <- g_gr g_r r_r; b_gr <- g_gr g_b b_b; r_gb <- g_gb g_r r_r; b_gb <- g_gb g_b b_b; r_b <- g_b g_r r_r; b_r " \
    "<- g_r g_b b_b\n"                                                                                                 \
    "red_x1 <- r_gr r_r; red_x2 <- r_b r_gb; red <- red_x1 red_x2; green_x1 <- g_gr g_r; green_x2 <- g_b g_gb; green " \
    "<- green_x1 green_x2\n"                                                                                           \
    "blue_x1 <- b_gr b_r; blue_x2 <- b_b b_gb; blue <- blue_x1 blue_x2; matrix; corrected <- matrix red green blue; "  \
    "curveLUT; process <- curveLUT corrected"

/* ---- Pyramids ------------------------------------------------------------------------ */

/* multiscale_interp_polymage with so many levels: 4L - 2 nodes. */
static inline void sketch_interpolation(Sketch *k, int levels)
{
    int d[64];
    d[0] = sketch_stage(k, -1, -1);
    for (int l = 1; l < levels; l++)
        d[l] = sketch_stage(k, sketch_stage(k, d[l - 1], -1), -1);
    int above = d[levels - 1];
    for (int l = levels - 2; l >= 0; l--)
        above = sketch_stage(k, d[l], sketch_stage(k, above, -1));
    sketch_stage(k, above, -1);
}

/* pyramid_blend: the pictures 0 and 1 and the mask 2 down, the two pictures' differences, their blend, and up again. */
static inline void sketch_blend(Sketch *k, int levels)
{
    int down[16][3], result[16];
    for (int f = 0; f < 3; f++)
        for (int l = 0; l < levels; l++)
            down[l][f] = l ? sketch_stage(k, sketch_stage(k, down[l - 1][f], -1), -1) : -1;
    for (int l = 0; l < levels - 1; l++) {
        int up[2];
        for (int f = 0; f < 2; f++)
            up[f] = sketch_stage(k, sketch_stage(k, down[l + 1][f], -1), down[l][f]);
        result[l] = sketch_stage(k, up[0], up[1]);
        if (l)
            sketch_reads(k, result[l], down[l][2]);
    }
    int all = sketch_stage(k, down[levels - 1][0], down[levels - 1][1]);
    sketch_reads(k, all, down[levels - 1][2]);
    for (int l = levels - 2; l >= 0; l--)
        all = sketch_stage(k, result[l], sketch_stage(k, all, -1));
}

/* ---- Multigrid ----------------------------------------------------------------------- */

typedef struct Cycle {
    Sketch *sketch;
    bool    w, joint; /* a W-cycle; residual and restriction are one node */
    int     before, coarsest, after;
} Cycle;

enum { NONE = -1, INPUT = -2 }; /* the zero guess; what is no node */

static inline int sketch_sweeps(const Cycle *c, int times, int u, int f)
{
    for (int i = 0; i < times; i++)
        u = sketch_stage(c->sketch, u, f);
    return u;
}

static inline int sketch_cycle(const Cycle *c, int level, int v, int f)
{
    if (level == 0)
        return sketch_sweeps(c, c->coarsest, v, f);
    const int u = sketch_sweeps(c, c->before, v, f);
    int       r = u == NONE ? f : sketch_stage(c->sketch, u, f);
    if (u == NONE || !c->joint)
        r = sketch_stage(c->sketch, r, -1);
    int e = sketch_cycle(c, level - 1, NONE, r);
    if (c->w)
        e = sketch_cycle(c, level - 1, e, r);
    return sketch_sweeps(c, c->after, e == NONE ? u : sketch_stage(c->sketch, u, e), f);
}

/* Nodes that the last does not need are left out. */
static inline void sketch_prune(Sketch *k, int last)
{
    static bool needed[MOST_STAGES];
    static int  number[MOST_STAGES];
    memset(needed, 0, sizeof needed);
    needed[last] = true;
    for (int s = last; s >= 0; s--)
        for (int i = 0; i < k->edge_count; i++)
            if (k->edges[i][1] == s && needed[s])
                needed[k->edges[i][0]] = true;
    int count = 0, edges = 0;
    for (int s = 0; s < k->count; s++)
        number[s] = needed[s] ? count++ : -1;
    for (int i = 0; i < k->edge_count; i++)
        if (number[k->edges[i][0]] >= 0 && number[k->edges[i][1]] >= 0) {
            k->edges[edges][0]   = number[k->edges[i][0]];
            k->edges[edges++][1] = number[k->edges[i][1]];
        }
    k->count      = count;
    k->edge_count = edges;
}

static inline void sketch_multigrid(Sketch *k, bool w, int before, int coarsest, int after, bool joint)
{
    const Cycle c = { k, w, joint, before, coarsest, after };
    sketch_prune(k, sketch_cycle(&c, 3, INPUT, INPUT));
}

#endif
