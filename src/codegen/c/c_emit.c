/* SPDX-License-Identifier: MIT */
/* The file as a whole: what it includes, its support, the functions, and the entry around them.
 *
 * Takes   a flattened program.
 * Gives   NAME.c: support (checks, memory, threads), types and functions of lanes, one function for each fused group,
 * and int NAME_kiln(buffers, params)     { used[]; kn_enter; NAME_run; kn_leave } Holds   the same program gives the
 * same text.
 */
#include "codegen/c/c.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char c_support_text[], opencl_support_text[]; /* support_*.inc, embedded by the build */

static const CDialect c11    = { .support = c_support_text, .name_end = "", .vectors = true };
static const CDialect opencl = { .support = opencl_support_text, .name_end = "_", .vectors = false };

/* ---- Support ---- */

/* The next section's heading, NAME : NEEDS, with its end; NULL after the last. */
static const char *next_section(const char *at, char *name, size_t size, const char **needs)
{
    at = strstr(at, "/*@ ");
    if (!at)
        return NULL;
    const size_t n = strcspn(at + 4, " ");
    snprintf(name, size, "%.*s", (int)n, at + 4);
    *needs = at + 4 + n;
    return strstr(at, "@*/") + 4;
}

/* Marks what the marked sections need, from the last to the first: a section needs only those before it. */
static void close_sections(CGen *g)
{
    for (int round = 0; round < 8; round++) {
        char        name[40];
        const char *needs;
        for (const char *at = next_section(g->dialect->support, name, sizeof name, &needs); at;
             at             = next_section(at, name, sizeof name, &needs)) {
            if (!map_get(&g->sections, intern(g->program->cx, name)))
                continue;
            const char *end = strstr(needs, "@*/");
            for (const char *word = needs; word < end;) {
                const size_t skip = strspn(word, " :"), n = strcspn(word + skip, " @");
                if (n && word + skip < end)
                    c_section(g, c_print(g, "%.*s", (int)n, word + skip));
                word += skip + n + (n == 0);
            }
        }
    }
}

void c_write_sections(CGen *g, Text *t)
{
    char        name[40];
    const char *needs;
    close_sections(g);
    for (const char *at = next_section(g->dialect->support, name, sizeof name, &needs); at;) {
        const char *end    = strstr(at, "/*@ ");
        const bool  wanted = map_get(&g->sections, intern(g->program->cx, name));
        if (wanted && end)
            text_add_n(t, at, (size_t)(end - at));
        at = next_section(at, name, sizeof name, &needs);
    }
}

/* ---- Ports ---- */

static const char *type_constant(CGen *g, kn_type t)
{
    char *s = arena_printf(g->arena, "KN_%s", kn_type_name(t));
    for (char *c = s + 3; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    return s;
}

static void write_ports(CGen *g, Text *t)
{
    const Program *p = g->program;
    text_printf(t, "/* ---- %s ---- */\n\nstatic const kn_port ports[] = {\n", g->name);
    for (int i = 0; i < p->port_count; i++) {
        const Buffer *b = p->buffers.at[i];
        Text          dims;
        text_init(&dims, g->arena);
        for (int d = 0; d < b->rank; d++)
            text_printf(&dims, "%s\"%s\"", d ? ", " : "", b->dims[d]);
        c_text_wrapped(g, t, 1,
                       c_print(g, "{ \"%s\", %s, %d, %d, %s, { %s } },", b->name, type_constant(g, b->type), b->rank,
                               b->dense, b->kind == BUFFER_OUTPUT ? "true" : "false",
                               dims.count ? text_string(&dims) : "NULL"));
    }
    text_printf(t, "};\n\n/* What the function was called with. */\nstruct %s_args {\n", g->name);
    for (int i = 0; i < p->port_count; i++)
        text_printf(t, "  kn_buffer %s;\n", c_identifier(g, p->buffers.at[i]->name));
    for (size_t i = 0; i < p->params.count; i++)
        text_printf(t, "  %s %s;\n", c_type(p->params.at[i]->type), c_identifier(g, p->params.at[i]->name));
    text_add(t, "};\n\n");
}

/* ---- The entry ---- */

static void write_run(CGen *g, Text *t)
{
    CFunction f = { 0 };
    c_function_begin(g, &f);
    map_set(&f.used, intern(g->program->cx, "args"), "args");
    for (int i = 0; i < g->program->port_count; i++) {
        const Buffer *b  = g->program->buffers.at[i];
        f.buffers[b->id] = c_print(g, "((%s%s *)args->%s.data)", b->kind == BUFFER_INPUT ? "const " : "",
                                   c_memory_type(b->type), c_identifier(g, b->name));
    }
    c_stmt(g, g->program->body);
    c_line(g, "return KN_OK;");
    const char *body = c_function_end(g);
    text_add(t, text_string(&g->functions));
    text_printf(t, "static int %s_run(const struct %s_args *args)\n{\n%s%s}\n\n", g->name, g->name,
                strstr(body, "args") ? "" : "  (void)args;\n", body);
}

static void write_entry(CGen *g, Text *t)
{
    const Program *p = g->program;
    const int      n = p->port_count;
    text_printf(t, "int %s(const kn_buffer *const *buffers, const void *params)\n{\n", p->name);
    text_printf(t, "  kn_buffer used[%d];\n  int       status = kn_enter(\"%s\", ports, %d, buffers, used);\n",
                n ? n : 1, g->name, n);
    text_printf(t, "  if (status)\n    return status;\n  struct %s_args args;\n", g->name);
    for (int i = 0; i < n; i++)
        text_printf(t, "  args.%s = used[%d];\n", c_identifier(g, p->buffers.at[i]->name), i);
    for (size_t i = 0; i < p->params.count; i++) {
        const char *name = c_identifier(g, p->params.at[i]->name);
        text_printf(t, "  memcpy(&args.%s, (const char *)params + %zu, sizeof args.%s);\n", name, 8 * i, name);
    }
    if (!p->params.count)
        text_add(t, "  (void)params;\n");
    text_printf(t, "  status = %s_run(&args);\n  return kn_leave(ports, %d, buffers, used, status);\n}\n\n", g->name,
                n);
    text_printf(t, "void %s_trim(void)\n{\n  kn_free_kept();\n}\n", g->name);
}

/* ---- What is called ---- */

static void note_symbol(const Expr *e, void *user)
{
    CGen *g = user;
    if (e->op == EX_EXTERN)
        map_set(&g->symbols, intern(g->program->cx, e->u.name), g);
}

static void note_symbols_of(void *user, const Expr *e)
{
    CGen *g = user;
    expr_visit(g->program->exprs, e, note_symbol, g);
}

static void note_symbols(void *user, const Stmt *s)
{
    CGen *g = user;
    if (s->kind == STMT_STAGE)
        map_set(&g->symbols, intern(g->program->cx, s->stage->symbol), g);
    stmt_children(s, note_symbols_of, note_symbols, g);
}

void c_begin_file(CGen *g, const Program *program, const CDialect *dialect, Arena *arena)
{
    g->program          = program;
    g->dialect          = dialect;
    g->arena            = arena;
    g->name             = program->title ? program->title : program->name;
    Text *const texts[] = { &g->types, &g->externs, &g->helpers, &g->lane_helpers, &g->functions };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_init(texts[i], arena);
    Map *const maps[] = { &g->helper_names, &g->sections, &g->outlined, &g->taken, &g->symbols };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map_init(maps[i], arena);
    if (program->body)
        note_symbols(g, program->body);
    c_grow(g);
    text_init(&g->scopes[0].text, arena);
    map_init(&g->scopes[0].names, arena);
}

static const char *file_text(CGen *g)
{
    Text code, t;
    text_init(&code, g->arena);
    text_init(&t, g->arena);
    c_section(g, "buffers");
    c_section(g, "trim");
    write_run(g, &code);
    write_entry(g, &code);
    text_printf(&t,
                "/* %s, written by Kiln " KN_VERSION ": C11, with nothing else of Kiln.\n *\n"
                " *     cc -std=c11 -O3 -fno-math-errno -fopenmp -c %s.c\n *\n"
                " * Threads are OpenMP's, with -DKN_THREADS those of a small pool in this file, and none otherwise. "
                "Vectors are\n"
                " * GCC's extension, which clang has too; -DKN_PLAIN has loops instead. */\n"
                "#include \"%s.h\"\n\n",
                g->name, g->name, g->name);
    c_write_sections(g, &t);
    write_ports(g, &t);
    text_add(&t, text_string(&g->externs));
    text_add(&t, text_string(&g->helpers));
    if (g->types.count)
        text_printf(&t, "#ifndef KN_PLAIN\n#pragma GCC diagnostic ignored \"-Wpsabi\"\n\n%s\n%s#endif\n\n",
                    text_string(&g->types), text_string(&g->lane_helpers));
    text_add(&t, text_string(&code));
    return text_string(&t);
}

static bool emit(const Program *program, const CodegenOptions *options, EmitKind kind, Emitted *out, Emitted *error)
{
    (void)options;
    Arena arena;
    scratch_begin(&arena, program->cx);
    CGen      *g    = ARENA_NEW(&arena, CGen);
    const bool done = !setjmp(g->bail);
    Emitted   *to   = done ? out : error;
    if (done)
        c_begin_file(g, program, kind == EMIT_OPENCL ? &opencl : &c11, &arena);
    const char *text = !done ? g->why : kind == EMIT_OPENCL ? c_kernels_text(g) : file_text(g);
    to->bytes        = strdup(text);
    to->size         = strlen(text);
    scratch_end(&arena);
    return done && to->bytes;
}

static void release(Emitted *e)
{
    free(e->bytes);
    *e = (Emitted){ 0 };
}

/* EMIT_C gives the text of NAME.c, which includes NAME.h: program->name is the function in it, program->title is NAME.
 * EMIT_OPENCL gives the program's kernels. The program is flattened; mathematical functions may be there. */
const Codegen *c_codegen(void)
{
    static const Codegen codegen = { .version = "C11", .emit = emit, .release = release };
    return &codegen;
}
