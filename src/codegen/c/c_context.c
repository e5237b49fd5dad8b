/* SPDX-License-Identifier: MIT */
/* What is known while a file is written: names and what they stand for, which helpers and sections it has, the function
 * being written, and tables with an entry for each expression. */
#include "codegen/c/c.h"

#include <string.h>

/* ---- Helpers and sections ---- */

void c_section(CGen *g, const char *name)
{
    const char *key = intern(g->program->cx, name);
    map_set(&g->sections, key, key);
}

bool c_helper_new(CGen *g, const char *name)
{
    const char *key = intern(g->program->cx, name);
    if (map_get(&g->helper_names, key))
        return false;
    map_set(&g->helper_names, key, key);
    return true;
}

void c_grow(CGen *g)
{
    const size_t count = g->program->exprs->count, old = g->capacity;
    if (count <= old)
        return;
    const size_t capacity = 2 * count;
    uint32_t   **tables[] = { &g->stamps, &g->counted, &g->ranged, &g->uses };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        uint32_t *grown = ARENA_ARRAY(g->arena, uint32_t, capacity);
        if (old)
            memcpy(grown, *tables[i], old * sizeof *grown);
        *tables[i] = grown;
    }
    CValue *answers = ARENA_ARRAY(g->arena, CValue, capacity);
    CRange *ranges  = ARENA_ARRAY(g->arena, CRange, capacity);
    if (old) {
        memcpy(answers, g->answers, old * sizeof *answers);
        memcpy(ranges, g->ranges, old * sizeof *ranges);
    }
    g->answers  = answers;
    g->ranges   = ranges;
    g->capacity = capacity;
}

/* ---- Names ---- */

CValue c_name_value(const char *text, int level)
{
    return (CValue){ .text = text, .prec = P_PRIMARY, .level = level };
}

CBinding *c_bind(CGen *g, const char *name, kn_type type, CValue v, CRange range)
{
    CBinding *b = ARENA_NEW(g->arena, CBinding);
    *b          = (CBinding){ .name = name, .value = v, .type = type, .range = range };
    map_set_mutable(&g->f->bindings, name, b);
    return b;
}

CBinding *c_binding(CGen *g, const char *name)
{
    return map_get_mutable(&g->f->bindings, name);
}

void c_unbind(CGen *g, const char *name)
{
    map_set_mutable(&g->f->bindings, name, NULL);
}

/* ---- Functions ---- */

void c_function_begin(CGen *g, CFunction *f)
{
    const size_t n = g->program->buffers.count + 1;
    f->outer       = g->f;
    f->buffers     = ARENA_ARRAY(g->arena, const char *, n);
    map_init(&f->used, g->arena);
    map_init(&f->bindings, g->arena);
    g->f = f;
    c_scope_push(g, NULL);
    f->base = g->depth;
}

const char *c_function_end(CGen *g)
{
    const char *body   = c_scope_take(g);
    const char *status = g->f->fails ? "  int status;\n" : "";
    const char *held   = g->f->held ? c_print(g, "%*svoid *held[%d];\n", INDENT, "", g->f->held) : "";
    if (g->f->held && !strstr(body, "kn_release("))
        held = c_print(g, "%s%*s(void)held;\n", held, INDENT, "");
    g->f = g->f->outer;
    return c_print(g, "%s%s%s", status, held, body);
}
