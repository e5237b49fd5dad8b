/* SPDX-License-Identifier: MIT */
/* A tiled program for CUDA: the host's function, and its call in the C file.
 *
 * Takes   a Tiled that is marked for a device (poly/tiled.h).
 * Gives   a C++ function that copies arrays to the device, launches the kernels and copies results back; and the C text
 *         in the region's place, which calls it and runs the given loops if it has not done the work.
 * Holds   rows of an array along its outermost dimension are copied whole, from the first that the region touches to
 *         the last. What is on the device already is used where it is. */
#include "poly/emit/cuda.h"
#include "poly/model/affine.h"
#include "poly/model/model.h"
#include "poly/source/parser.h"
#include "poly/source/source.h"

#include <isl/aff.h>
#include <string.h>

static const char *const preamble[] = {
    "#include <cmath>",
    "#include <cstdint>",
    "#include <cstdio>",
    "#include <cstdlib>",
    "#include <cuda_runtime.h>",
    "",
    "#define _Bool bool",
    "",
    "/* Rows first to last of an array: where they are on the host and on the device. */",
    "struct KnArray {",
    "  char  *host;",
    "  size_t row; /* bytes */",
    "  long   first, last;",
    "  bool   in, out;",
    "  char  *device;",
    "  bool   here; /* the host's pointer is one of the device */",
    "",
    "  size_t bytes() const { return last < first ? 0 : (size_t)(last - first + 1) * row; }",
    "  char  *rows() const { return host + first * (long)row; }",
    "  void  *base() const { return (void *)((uintptr_t)device - (uintptr_t)first * row); }",
    "};",
    "",
    "struct KnCall {",
    "  const char *name;",
    "  KnArray    *arrays;",
    "  int         count;",
    "  cudaEvent_t began, ended;",
    "};",
    "",
    "static bool kn_good(const KnCall *call, cudaError_t status)",
    "{",
    "  if (status != cudaSuccess)",
    "    fprintf(stderr, \"%s: %s\\n\", call->name, cudaGetErrorString(status));",
    "  return status == cudaSuccess;",
    "}",
    "",
    "static void kn_free(KnCall *call)",
    "{",
    "  for (int i = 0; i < call->count; i++)",
    "    if (!call->arrays[i].here)",
    "      cudaFree(call->arrays[i].device);",
    "}",
    "",
    "/* Arrays on the device. A pointer that cudaMalloc or cudaMallocManaged gave is used as it is. */",
    "static bool kn_begin(KnCall *call)",
    "{",
    "  bool good = true;",
    "  for (int i = 0; good && i < call->count; i++) {",
    "    KnArray              *a  = &call->arrays[i];",
    "    cudaPointerAttributes at = {};",
    "    if (a->host && cudaPointerGetAttributes(&at, a->host) == cudaSuccess &&",
    "        (at.type == cudaMemoryTypeDevice || at.type == cudaMemoryTypeManaged)) {",
    "      a->here   = true;",
    "      a->device = a->rows();",
    "    } else if (a->bytes()) {",
    "      cudaGetLastError();",
    "      good = kn_good(call, cudaMalloc(&a->device, a->bytes()));",
    "      if (good && a->in)",
    "        good = kn_good(call, cudaMemcpy(a->device, a->rows(), a->bytes(), cudaMemcpyHostToDevice));",
    "    }",
    "  }",
    "  good = good && kn_good(call, cudaEventCreate(&call->began)) && kn_good(call, cudaEventCreate(&call->ended)) &&",
    "         kn_good(call, cudaEventRecord(call->began));",
    "  if (!good) {",
    "    kn_free(call);",
    "    cudaGetLastError();",
    "    fprintf(stderr, \"%s: the loops run on the processor\\n\", call->name);",
    "  }",
    "  return good;",
    "}",
    "",
    "/* Results to the host. Where a kernel has failed, arrays of the host are as they were; of the device, not. */",
    "static int kn_end(KnCall *call)",
    "{",
    "  float ms = 0;",
    "  bool  good = kn_good(call, cudaGetLastError()) && kn_good(call, cudaEventRecord(call->ended)) &&",
    "              kn_good(call, cudaEventSynchronize(call->ended)) &&",
    "              kn_good(call, cudaEventElapsedTime(&ms, call->began, call->ended));",
    "  if (good && getenv(\"KILN_CUDA_TIME\"))",
    "    fprintf(stderr, \"%s: kernels %.4f ms\\n\", call->name, ms);",
    "  bool lost = false;",
    "  for (int i = 0; i < call->count; i++) {",
    "    KnArray *a = &call->arrays[i];",
    "    if (a->out && !good)",
    "      lost = lost || a->here;",
    "    else if (a->out && !a->here && a->bytes() &&",
    "             !kn_good(call, cudaMemcpy(a->rows(), a->device, a->bytes(), cudaMemcpyDeviceToHost)))",
    "      lost = true;",
    "  }",
    "  if (lost) {",
    "    fprintf(stderr, \"%s: results are lost\\n\", call->name);",
    "    abort();",
    "  }",
    "  kn_free(call);",
    "  cudaEventDestroy(call->began);",
    "  cudaEventDestroy(call->ended);",
    "  if (!good)",
    "    fprintf(stderr, \"%s: the loops run on the processor\\n\", call->name);",
    "  return good;",
    "}",
    "",
    "[[maybe_unused]] static bool kn_fits(const char *name, long size)",
    "{",
    "  const bool fits = size >= -(1L << 27) && size <= 1L << 27;",
    "  if (!fits)",
    "    fprintf(stderr, \"%s: %ld is too large a size: the loops run on the processor\\n\", name, size);",
    "  return fits;",
    "}",
    "",
    "/* A grid of that many blocks along each axis, or of as many as there can be; x is 0 if there are none. */",
    "static dim3 kn_grid(long x, long y, long z)",
    "{",
    "  if (x <= 0 || y <= 0 || z <= 0)",
    "    return dim3(0, 1, 1);",
    "  return dim3((unsigned)(x < 0x7fffffff ? x : 0x7fffffff), (unsigned)(y < 65535 ? y : 65535),",
    "              (unsigned)(z < 65535 ? z : 65535));",
    "}",
};

void emit_cuda_begin(Text *cuda, const char *source)
{
    text_printf(cuda,
                "/* Made by kiln tile from %s: the loops of its regions. Compile it with nvcc -fmad=false, so that "
                "results have\n * the bits that the loops give, and link it with the C file. */\n",
                source);
    for (size_t i = 0; i < sizeof preamble / sizeof *preamble; i++)
        text_printf(cuda, "%s\n", preamble[i]);
}

/* ---- Symbols ---- */

/* Is the symbol memory that the host's function has an array for? */
static bool is_memory(const Writer *w, const CSymbol *s)
{
    const Scop *scop = w->tiled->scop;
    return (s->kind == CSYMBOL_ARRAY || s->kind == CSYMBOL_SCALAR) && !is_value(scop, s) && !scop_private(scop, s) &&
           is_accessed(w->tiled, s);
}

/* Does the C file hand it over? What the region declares lives on the device alone. */
static bool is_given(const Writer *w, const CSymbol *s)
{
    return is_memory(w, s) && !s->local;
}

static const char *expr_text(const Writer *w, const CExpr *e)
{
    Text t;
    text_init(&t, w->arena);
    print_expr(&t, e, NULL);
    return text_string(&t);
}

/* The call in C and the function's head in C++, argument by argument. */
typedef struct Signature {
    Text        declared, called, head;
    const char *types, *call;
} Signature;

static void argument(Signature *s, const char *type, const char *name, const char *value)
{
    const char *gap = type[strlen(type) - 1] == '*' ? "" : " ";
    text_printf(&s->declared, "%s%s", s->declared.count ? ", " : "", type);
    text_printf(&s->called, "%s%s", s->called.count ? ", " : "", value);
    text_printf(&s->head, "%s%s%s%s", s->head.count ? ", " : "", type, gap, name);
}

static void signature(Writer *w, Signature *sig)
{
    const Region *r = w->tiled->scop->region;
    text_init(&sig->declared, w->arena);
    text_init(&sig->called, w->arena);
    text_init(&sig->head, w->arena);
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *s    = r->symbols.at[i];
        const char    *name = device_name(w->arena, s);
        if (is_value(w->tiled->scop, s)) {
            argument(sig, c_type_name(s->type), name, s->name);
            continue;
        }
        if (!is_memory(w, s))
            continue;
        if (is_given(w, s))
            argument(sig, s->written ? "void *" : "const void *", arena_printf(w->arena, "%s_host", name),
                     s->rank ? s->name : arena_printf(w->arena, "&%s", s->name));
        for (int d = 1; d < s->rank; d++)
            if (!extent_is_number(s, d))
                argument(sig, "long", extent_text(w->arena, s, d), expr_text(w, s->extents[d]));
    }
    sig->types = sig->declared.count ? text_string(&sig->declared) : "void";
    sig->call  = text_string(&sig->called);
}

/* ---- The host's function ---- */

/* An end of what is accessed along the outermost dimension; NULL: it has none. */
static const char *row_end(Writer *w, const CSymbol *array, isl_set *all, bool last)
{
    if (!array->rank)
        return "0";
    if (isl_set_dim_has_any_lower_bound(all, isl_dim_set, 0) != isl_bool_true ||
        isl_set_dim_has_any_upper_bound(all, isl_dim_set, 0) != isl_bool_true)
        return !array->extents[0] ? NULL
               : last             ? arena_printf(w->arena, "(long)(%s) - 1", expr_text(w, array->extents[0]))
                                  : "0";
    return end_text(w, last ? isl_set_dim_max(isl_set_copy(all), 0) : isl_set_dim_min(isl_set_copy(all), 0));
}

static void describe_array(Writer *w, const CSymbol *s)
{
    const char *name  = device_name(w->arena, s);
    isl_set    *all   = accessed(w->tiled->scop, s);
    const char *first = row_end(w, s, all, false), *last = row_end(w, s, all, true);
    isl_set_free(all);
    if (!first || !last) {
        w->device->unfit =
            arena_printf(w->arena, "the size of `%s` is not known, and what is read of it depends on data", s->name);
        return;
    }
    Text row;
    text_init(&row, w->arena);
    text_printf(&row, "sizeof(%s)", c_type_name(s->type));
    for (int d = 1; d < s->rank; d++)
        text_printf(&row, " * %s", extent_text(w->arena, s, d));
    const bool  given = is_given(w, s), out = given && s->written && !scop_dies(s);
    const char *host = given ? arena_printf(w->arena, "(char *)%s_host", name) : "NULL";
    line(w, arena_printf(w->arena, "  { %s, %s, %s, %s, %s, %s, NULL, false },", host, text_string(&row), first, last,
                         given ? "true" : "false", out ? "true" : "false"));
}

static void describe_arrays(Writer *w)
{
    const Region *r = w->tiled->scop->region;
    int           n = 0;
    line(w, "KnArray arrays[] = {");
    for (size_t i = 0; i < r->symbols.count; i++)
        if (is_memory(w, r->symbols.at[i]))
            describe_array(w, r->symbols.at[i]);
    line(w, "};");
    line(w, arena_printf(w->arena, "KnCall  call     = { \"%s\", arrays, (int)(sizeof arrays / sizeof *arrays) };",
                         w->device->name));
    line(w, "if (!kn_begin(&call))");
    line(w, "  return 0;");
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *s = r->symbols.at[i];
        if (is_memory(w, s))
            line(w, arena_printf(w->arena, "%s *%s = (%s *)arrays[%d].base();", c_type_name(s->type),
                                 device_name(w->arena, s), c_type_name(s->type), n++));
    }
}

static void check_size(Writer *w, const char *name)
{
    line(w, arena_printf(w->arena, "if (!kn_fits(\"%s\", %s))", w->device->name, name));
    line(w, "  return 0;");
}

static bool extent_is_large(const CSymbol *s, int d)
{
    int64_t number;
    return affine_constant(s->extents[d], &number) && number > MOST_SIZE;
}

/* Sizes that are too large for the kernels' ints. */
static void check_parameters(Writer *w)
{
    const Region *r = w->tiled->scop->region;
    if (strcmp(w->device->integer, "int"))
        return;
    for (size_t i = 0; i < w->names.count; i++)
        check_size(w, w->names.at[i].text);
    for (size_t i = 0; i < r->symbols.count; i++)
        for (int d = 1; is_memory(w, r->symbols.at[i]) && d < r->symbols.at[i]->rank; d++)
            if (!extent_is_number(r->symbols.at[i], d) || extent_is_large(r->symbols.at[i], d))
                check_size(w, extent_text(w->arena, r->symbols.at[i], d));
}

/* AT_A(i, j): an element of the array. */
static void define_elements(const Writer *w, Text *out, bool define)
{
    const Region *r = w->tiled->scop->region;
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *s = r->symbols.at[i];
        if (!is_memory(w, s) || s->rank < 2)
            continue;
        const char *name = device_name(w->arena, s);
        if (!define) {
            text_printf(out, "#undef AT_%s\n", name);
            continue;
        }
        Text        list;
        const char *flat = "(long)(i0)";
        text_init(&list, w->arena);
        text_add(&list, "i0");
        for (int d = 1; d < s->rank; d++) {
            text_printf(&list, ", i%d", d);
            flat = arena_printf(w->arena, d > 1 ? "(%s) * %s + (i%d)" : "%s * %s + (i%d)", flat,
                                extent_text(w->arena, s, d), d);
        }
        text_printf(out, "#define AT_%s(%s) %s[%s]\n", name, text_string(&list), name, flat);
    }
}

/* ---- The C file ---- */

static void write_call(Writer *w, const Signature *sig)
{
    const char *call   = arena_printf(w->arena, "%s(%s)", w->device->name, sig->call);
    Device     *device = w->device;
    w->device          = NULL; /* names are C's */
    w->prefix          = w->tiled->scop->region->indent;
    w->names.count     = 0;
    Text *out          = w->out, aside;
    text_init(&aside, w->arena);
    w->out = &aside;
    widen_parameters(w); /* those that are used are declared below */
    const char *disjoint = disjoint_condition(w);
    w->out               = out;
    w->indent            = 0;
    line(w, "{");
    define_macros(w, w->out);
    w->indent = 1;
    for (size_t i = 0; disjoint && i < w->names.count; i++) {
        const ShownName *n = &w->names.at[i];
        if (strcmp(n->isl, n->text) && has_word(disjoint, n->text))
            line(w, arena_printf(w->arena, "const long %s = %s;", n->text, n->isl));
    }
    line(w, arena_printf(w->arena, "int %s(%s); /* in the CUDA file: 1 if it has done the work */", device->name,
                         sig->types));
    open_block(w, disjoint ? arena_printf(w->arena, "if (!((%s) && %s)) {", disjoint, call)
                           : arena_printf(w->arena, "if (!%s) {", call));
    region_print(w->out, w->tiled->scop->region);
    text_add(w->out, "\n");
    close_block(w);
    w->indent = 0;
    line(w, "}");
    w->device = device;
}

/* A function that the device does not have, called in the region; NULL: none. */
static const char *unknown_function(const Region *r)
{
    for (size_t i = 0; i < r->symbols.count; i++)
        if (r->symbols.at[i]->kind == CSYMBOL_FUNCTION && !r->symbols.at[i]->standard)
            return r->symbols.at[i]->name;
    return NULL;
}

const char *emit_cuda(const Tiled *tiled, const char *name, Text *cuda, const char **unfit)
{
    Arena    *arena = tiled->scop->arena;
    Text      body, out;
    Device    device = { .name = name };
    Writer    w      = { .tiled = tiled, .arena = arena, .out = &body, .indent = 1, .prefix = "", .integer = "long" };
    Signature sig;
    text_init(&body, arena);
    text_init(&out, arena);
    text_init(&device.kernels, arena);
    text_init(&device.setup, arena);
    const char *unknown = unknown_function(tiled->scop->region);
    w.device            = &device;
    *unfit = unknown ? arena_printf(arena, "`%s` is no function of <math.h>: no device has it", unknown) : NULL;
    isl_ast_node *root = *unfit ? NULL : make_loops(&w);
    if (root && !w.failed) {
        device.integer = loops_fit_int(&w, root) ? "int" : "long";
        signature(&w, &sig);
        widen_parameters(&w);
        check_parameters(&w);
        describe_arrays(&w);
        Text loops;
        text_init(&loops, arena);
        w.out   = &loops;
        w.alone = true;
        write_node(&w, root);
        text_printf(&body, "%s  dim3 kn_blocks;\n%s  return kn_end(&call);\n", text_string(&device.setup),
                    text_string(&loops));
        text_add(cuda, "\n");
        define_macros(&w, cuda);
        define_elements(&w, cuda, true);
        text_printf(cuda, "\n%sextern \"C\" int %s(%s)\n{\n%s}\n", text_string(&device.kernels), name,
                    text_string(&sig.head), text_string(&body));
        define_elements(&w, cuda, false);
        w.out      = &out;
        w.uses_min = w.uses_max = w.uses_floor = false;
        write_call(&w, &sig);
        *unfit = device.unfit;
    }
    isl_ast_node_free(root);
    for (size_t i = 0; i < device.notes.count; i++) {
        isl_ast_expr_free(device.notes.at[i]->least);
        isl_ast_expr_free(device.notes.at[i]->most);
    }
    free_instances(&w);
    return root && !w.failed && !*unfit ? text_string(&out) : NULL;
}
