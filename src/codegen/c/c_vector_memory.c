/* SPDX-License-Identifier: MIT */
/* Lanes in memory: loads and stores by the shape of their address.
 *
 * Takes   an address: lanes next to each other, a constant step apart, or each at a place of its own.
 * Gives   one access of a vector through a type that needs no alignment and may alias; shuffles of two where every
 * second element is wanted, or each element twice; else one access for each lane. Holds   nothing is read that no lane
 * has asked for. */
#include "codegen/c/c.h"

static const char *unaligned_type(CGen *g, kn_type t)
{
    const char *vt = c_vector_type(g, t, g->lanes), *name = c_print(g, "%s_at", vt);
    if (c_helper_new(g, name))
        text_printf(&g->types, "typedef %s %s __attribute__((vector_size(%d), aligned(%d), may_alias));\n",
                    c_memory_type(t), name, g->lanes * (int)kn_type_size(t), (int)kn_type_size(t));
    return name;
}

/* "0, 2, 4": the place of each lane. */
static const char *places_text(CGen *g, int (*place)(int lane, int lanes, int n), int n)
{
    Text t;
    text_init(&t, g->arena);
    for (int i = 0; i < g->lanes; i++)
        text_printf(&t, "%s%d", i ? ", " : "", place(i, g->lanes, n));
    return text_string(&t);
}

/* Of the elements 0 .. and those from lanes - 1 on, every second. */
static int place_second(int lane, int lanes, int n)
{
    (void)n;
    return 2 * lane < lanes ? 2 * lane : lanes + 2 * lane - (lanes - 1);
}

static int place_over(int lane, int lanes, int n)
{
    (void)lanes;
    return (lane + n) / 2;
}

static int place_first(int lane, int lanes, int n)
{
    (void)n;
    return lane < lanes / 2 ? lane : lanes / 2;
}

/* Two ways to load: by shuffles of whole vectors where the compiler has them, else lane by lane. */
static void write_load(CGen *g, const char *name, const char *vt, const char *parameters, const char *shuffled,
                       const char *element)
{
    if (shuffled)
        text_add(&g->lane_helpers, "#if defined __clang__ || __GNUC__ >= 12\n");
    if (shuffled) {
        text_printf(&g->lane_helpers, "KN_LANE %s %s(%s)\n{\n", vt, name, parameters);
        text_printf(&g->lane_helpers, "%s}\n#else\n", shuffled);
    }
    text_printf(&g->lane_helpers,
                "KN_LANE %s %s(%s)\n{\n  %s r = { 0 };\n  KN_UNROLL for (int i = 0; i < %d; i++)\n    r[i] = p[%s];\n"
                "  return r;\n}\n%s\n",
                vt, name, parameters, vt, g->lanes, element, shuffled ? "#endif\n" : "");
}

/* Lanes `step` elements apart. */
static const char *load_function(CGen *g, kn_type t, int64_t step)
{
    const char *vt = c_vector_type(g, t, g->lanes), *et = c_memory_type(t);
    const char *name = step == 1 ? c_print(g, "%s_load", vt)
                                 : c_print(g, "%s_load_%s%lld", vt, step < 0 ? "m" : "",
                                           step < 0 ? -(long long)step : (long long)step);
    if (!c_helper_new(g, name))
        return name;
    if (step == 1) {
        text_printf(&g->lane_helpers, "KN_LANE %s %s(const %s *p)\n{\n  return *(const %s *)p;\n}\n\n", vt, name, et,
                    unaligned_type(g, t));
        return name;
    }
    const char *shuffled = NULL;
    if (step == 2) {
        const char *plain = load_function(g, t, 1);
        Text        body;
        text_init(&body, g->arena);
        c_text_wrapped(g, &body, 1,
                       c_print(g, "return __builtin_shufflevector(%s(p), %s(p + %d), %s);", plain, plain, g->lanes - 1,
                               places_text(g, place_second, 0)));
        shuffled = text_string(&body);
    }
    write_load(g, name, vt, c_print(g, "const %s *p", et), shuffled, c_print(g, "i * (%lld)", (long long)step));
    return name;
}

/* Lane i is p[(phase + i) / 2], where phase is 0 or 1: half a vector and one element more. */
static const char *half_function(CGen *g, kn_type t)
{
    const char *vt = c_vector_type(g, t, g->lanes), *et = c_memory_type(t), *name = c_print(g, "%s_load_half", vt);
    if (!c_helper_new(g, name))
        return name;
    const int   lanes = g->lanes;
    Text        body;
    const char *shuffled = NULL;
    text_init(&body, g->arena);
    if (lanes >= 4) {
        g->lanes         = lanes / 2;
        const char *half = load_function(g, t, 1), *ht = c_vector_type(g, t, g->lanes);
        g->lanes = lanes;
        c_text_wrapped(g, &body, 1,
                       c_print(g, "const %s w = __builtin_shufflevector(%s(p), (%s){ p[(phase + %d) / 2] }, %s);", vt,
                               half, ht, lanes - 1, places_text(g, place_first, 0)));
        c_text_wrapped(g, &body, 1, "if (phase)");
        c_text_wrapped(g, &body, 2,
                       c_print(g, "return __builtin_shufflevector(w, w, %s);", places_text(g, place_over, 1)));
        c_text_wrapped(g, &body, 1,
                       c_print(g, "return __builtin_shufflevector(w, w, %s);", places_text(g, place_over, 0)));
        shuffled = text_string(&body);
    }
    write_load(g, name, vt, c_print(g, "const %s *p, int phase", et), shuffled, "(phase + i) / 2");
    return name;
}

/* The instruction of x86 for a gather of 32 bits; NULL: there is none for so many lanes. */
static const char *gather_instruction(CGen *g, kn_type t, const char *vt, int bits)
{
    const char *kind = t == KN_F32 ? "ps" : "epi32", *pointer = t == KN_F32 ? "p" : "(const int *)(const void *)p";
    if (type_bits(t) != 32 || (g->lanes != 16 && g->lanes != 8))
        return NULL;
    if (bits == 32 && g->lanes == 16)
        return c_print(g, "#if defined __AVX512F__\n  return (%s)_mm512_i32gather_%s((__m512i)a, %s, 4);\n#else\n", vt,
                       kind, pointer);
    if (bits == 32)
        return c_print(g, "#if defined __AVX2__\n  return (%s)_mm256_i32gather_%s(%s, (__m256i)a, 4);\n#else\n", vt,
                       kind, pointer);
    if (g->lanes == 8)
        return c_print(g, "#if defined __AVX512F__\n  return (%s)_mm512_i64gather_%s((__m512i)a, %s, 4);\n#else\n", vt,
                       kind, pointer);
    return c_print(g,
                   "#if defined __AVX512F__\n"
                   "  union {\n    %s all;\n    __m512i half[2];\n  } at = { a };\n"
                   "  union {\n    __m256%s half[2];\n    %s all;\n  } r;\n"
                   "  r.half[0] = _mm512_i64gather_%s(at.half[0], %s, 4);\n"
                   "  r.half[1] = _mm512_i64gather_%s(at.half[1], %s, 4);\n  return r.all;\n#else\n",
                   c_vector_type(g, KN_I64, 16), t == KN_F32 ? "" : "i", vt, kind, pointer, kind, pointer);
}

/* Lane i is p[a[i]]. */
static const char *gather_function(CGen *g, kn_type t, int bits)
{
    const char *vt = c_vector_type(g, t, g->lanes), *et = c_memory_type(t);
    const char *it   = c_vector_type(g, bits == 64 ? KN_I64 : KN_I32, g->lanes),
               *name = c_print(g, "%s_gather_%d", vt, bits);
    if (!c_helper_new(g, name))
        return name;
    const char *instruction = gather_instruction(g, t, vt, bits);
    if (instruction)
        c_section(g, "x86");
    text_printf(&g->lane_helpers,
                "KN_LANE %s %s(const %s *p, %s a)\n{\n%s  %s r = { 0 };\n  KN_UNROLL for (int i = 0; i < %d; i++)\n"
                "    r[i] = p[a[i]];\n  return r;\n%s}\n\n",
                vt, name, et, it, instruction ? instruction : "", vt, g->lanes, instruction ? "#endif\n" : "");
    return name;
}

CValue c_vector_load(CGen *g, const Expr *e, const CAddress *a)
{
    const kn_type t  = e->type;
    CValue        v  = { .prec = P_PRIMARY, .shape = LANES, .level = g->depth, .reads = true };
    const char   *at = c_print(g, "&%s[%s]", a->buffer, a->index);
    v.text           = a->phase           ? c_print(g, "%s(%s, %s)", half_function(g, t), at, a->phase)
                       : a->shape == RAMP ? c_print(g, "%s(%s)", load_function(g, t, a->step), at)
                                          : c_print(g, "%s(%s, %s)", gather_function(g, t, a->lane_bits), at, a->lanes);
    if (t == KN_BOOL) {
        v.text = c_print(g, "%s != 0", v.text);
        v.prec = P_EQUAL;
        v.mask = 8;
    }
    return v;
}

static const char *store_function(CGen *g, kn_type t, int64_t step)
{
    const char *vt = c_vector_type(g, t, g->lanes), *et = c_memory_type(t);
    const char *name = step == 1 ? c_print(g, "%s_store", vt)
                                 : c_print(g, "%s_store_%s%lld", vt, step < 0 ? "m" : "",
                                           step < 0 ? -(long long)step : (long long)step);
    if (!c_helper_new(g, name))
        return name;
    if (step == 1)
        text_printf(&g->lane_helpers, "KN_LANE void %s(%s *p, %s v)\n{\n  *(%s *)p = v;\n}\n\n", name, et, vt,
                    unaligned_type(g, t));
    else
        text_printf(&g->lane_helpers,
                    "KN_LANE void %s(%s *p, %s v)\n{\n  KN_UNROLL for (int i = 0; i < %d; i++)\n"
                    "    p[i * (%lld)] = v[i];\n}\n\n",
                    name, et, vt, g->lanes, (long long)step);
    return name;
}

/* A store past the cache where the address is aligned and the compiler can say so; else a plain one. */
static const char *stream_function(CGen *g, kn_type t)
{
    const char *vt = c_vector_type(g, t, g->lanes), *name = c_print(g, "%s_stream", vt);
    const int   bytes = g->lanes * (int)kn_type_size(t);
    if (bytes < 16)
        return store_function(g, t, 1);
    g->f->streams = true;
    if (!c_helper_new(g, name))
        return name;
    const char *plain = store_function(g, t, 1);
    c_section(g, "stream");
    text_printf(&g->lane_helpers,
                "KN_LANE void %s(%s *p, %s v)\n{\n#if defined __clang__\n  if ((uintptr_t)p %% %d == 0)\n"
                "    __builtin_nontemporal_store(v, (%s *)(void *)p);\n  else\n",
                name, c_memory_type(t), vt, bytes, vt);
    if (bytes == 64 || bytes == 32)
        text_printf(
            &g->lane_helpers,
            "#elif defined %s\n  if ((uintptr_t)p %% %d == 0)\n    _mm%d_stream_si%d((void *)p, (__m%di)v);\n  else\n",
            bytes == 64 ? "__AVX512F__" : "__AVX2__", bytes, 8 * bytes, 8 * bytes, 8 * bytes);
    text_printf(&g->lane_helpers, "#endif\n    %s(p, v);\n}\n\n", plain);
    return name;
}

static const char *scatter_function(CGen *g, kn_type t, int bits)
{
    const char *vt = c_vector_type(g, t, g->lanes), *et = c_memory_type(t);
    const char *it   = c_vector_type(g, bits == 64 ? KN_I64 : KN_I32, g->lanes),
               *name = c_print(g, "%s_scatter_%d", vt, bits);
    if (c_helper_new(g, name))
        text_printf(&g->lane_helpers,
                    "KN_LANE void %s(%s *p, %s a, %s v)\n{\n  KN_UNROLL for (int i = 0; i < %d; i++)\n"
                    "    p[a[i]] = v[i];\n}\n\n",
                    name, et, it, vt, g->lanes);
    return name;
}

void c_vector_store(CGen *g, const Buffer *b, const CAddress *a, CValue v, bool stream)
{
    const kn_type t    = b->type;
    const char   *at   = c_print(g, "&%s[%s]", a->buffer, a->index);
    const char   *text = c_lanes(g, t, v);
    if (t == KN_BOOL && v.shape != UNIFORM)
        text = c_print(g, "(%s)-(%s)", c_vector_type(g, t, g->lanes), c_as_mask(g, v, 8));
    if (a->shape == RAMP)
        c_line(g, "%s(%s, %s);", stream && a->step == 1 ? stream_function(g, t) : store_function(g, t, a->step), at,
               text);
    else if (a->shape == LANES)
        c_line(g, "%s(%s, %s, %s);", scatter_function(g, t, a->lane_bits), at, a->lanes, text);
    else
        c_line(g, "%s[%s] = %s;", a->buffer, a->index,
               c_print(g, "(%s)[%d]", text, g->lanes - 1)); /* of equal values any lane's */
}
