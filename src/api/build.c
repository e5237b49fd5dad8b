/* SPDX-License-Identifier: MIT */
/* Compiling ahead of time: the files that a program needs to call a pipeline without Kiln.
 *
 * Takes   a pipeline, FOLDER/NAME, and what is wanted.
 * Gives   the files, each whole or not at all. The function in the object is NAME_kiln; NAME itself is in the header.
 */
#include "api/ahead.h"
#include "api/archive.h"
#include "api/arguments.h"
#include "api/backend.h"
#include "api/compile.h"
#include "api/header.h"
#include "api/nest.h"
#include "api/schedule.h"
#include "lower/nests.h"

#include <ctype.h>
#include <errno.h>

static const char runtime_source[] = "kiln_runtime.c";
static const char runtime_header[] = "kiln_runtime.h";

static const char naive_name[] = "c-naive";

typedef struct BuildCall BuildCall;

/* What can be written: its word, the ending of its file, who makes its contents. */
typedef struct Product {
    const char *name, *ending;
    bool (*make)(BuildCall *b, Bytes *out); /* NULL: it is what a backend emits, as it is */
    bool     compiled;                      /* made of what a backend emits, */
    EmitKind kind;                          /* of that kind */
    bool     with_header;                   /* c_header is written next to it */
} Product;

typedef VEC(Product) ProductList;

/* What a backend emitted, to be released. */
typedef struct BuiltCode {
    const Codegen *codegen;
    Emitted        emitted;
} BuiltCode;

struct BuildCall {
    kn_pipeline      *p;
    const char       *path, *emit;
    const kn_options *given;
    kn_options        options;
    Arena             arena;
    const char       *name, *symbol;
    Targets           targets;
    Plan             *plan;
    const Program    *program;
    BuiltCode         code[EMIT_KIND_COUNT];
    Text              written;
};

/* Loads the backend that emits the kind. */
static bool load_emitter(BuildCall *b, EmitKind kind)
{
    b->code[kind].codegen = backend_load(b->p->cx, backend_emitting(kind));
    return b->code[kind].codegen != NULL;
}

static Program *built_program(BuildCall *b, const char *until);

/* The code of that kind, made once. */
static bool make_code(BuildCall *b, EmitKind kind, Bytes *out)
{
    BuiltCode     *code    = &b->code[kind];
    const char    *until   = emit_table[kind].until;
    const Program *program = until ? built_program(b, until) : b->program;
    if (!program || (!code->emitted.bytes &&
                     !compile_emit(code->codegen, program, &b->options, &b->targets, kind, true, &code->emitted)))
        return false;
    *out = (Bytes){ code->emitted.bytes, code->emitted.size };
    return true;
}

static bool make_loops(BuildCall *b, Bytes *out)
{
    const Program *loops = compile_loops(b->plan, &b->options, &b->targets);
    Text           t;
    text_init(&t, &b->arena);
    if (!loops)
        return false;
    nest_print(&t, loops);
    *out = (Bytes){ text_string(&t), t.count };
    return true;
}

static bool refuse_stages(const BuildCall *b)
{
    for (size_t i = 0; i < b->p->funcs.count; i++)
        if (b->p->funcs.at[i]->kind == FUNC_STAGE) {
            diag_error(b->p->cx, b->p->funcs.at[i]->loc, NULL,
                       "c-naive: `%s` is an extern stage, which is C code already", b->p->funcs.at[i]->name);
            return false;
        }
    return true;
}

/* The boxes of a run with the sizes of the options. */
static bool naive_sizes(BuildCall *b, Arguments *a, Regions *regions)
{
    kn_pipeline *p = b->p;
    if (!schedule_sizes(p, b->options.sizes, b->options.size_count, &b->arena, a)) {
        if (!p->cx->error_count)
            diag_status(p->cx, KN_ERROR_ARGUMENT,
                        "--emit c-naive is of one size, and none is known: say it by --size, "
                        "or by `estimate` in the program");
        return false;
    }
    if (!regions_compute(p, &b->arena, &a->binding, false, regions))
        return false;
    for (size_t i = 0; i < p->funcs.count; i++)
        if (p->funcs.at[i]->kind == FUNC_INPUT && regions->of[i].needed && !a->inputs[i] &&
            !pipeline_uses_size(p, p->funcs.at[i]))
            a->binding.input[i] = regions->of[i].box;
    return true;
}

static bool make_naive(BuildCall *b, Bytes *out)
{
    Arguments   a;
    Regions     regions;
    const char *why, *text;
    if (!refuse_stages(b) || !naive_sizes(b, &a, &regions))
        return false;
    Plan  *plan  = compile_schedule(b->p, NULL, &b->targets, &b->arena);
    Nests *nests = plan ? nests_make(plan, &a.binding, &regions, &b->arena) : NULL;
    if (!nests)
        return false;
    nests->name = b->name;
    text        = c_naive_text(nests, &b->arena, &why);
    if (!text)
        diag_status(b->p->cx, KN_ERROR_ARGUMENT, "--emit c-naive: %s", why);
    *out = (Bytes){ text, text ? strlen(text) : 0 };
    return text;
}

static bool companion(BuildCall *b, const char *name, Bytes *out)
{
    return companion_read(b->p->cx, &b->arena, name, out);
}

static bool header(BuildCall *b, const char *targets, bool alone, Bytes *out)
{
    Bytes types;
    if (!companion(b, runtime_header, &types))
        return false;
    const char *text = header_text(&b->arena, b->p, &(HeaderParts){ b->name, b->symbol, targets, types.at, alone });
    *out             = (Bytes){ text, strlen(text) };
    return true;
}

static bool make_header(BuildCall *b, Bytes *out)
{
    Text targets;
    text_init(&targets, &b->arena);
    for (int i = 0; i < b->targets.count; i++)
        text_printf(&targets, "%s%s", i ? ", " : "", b->targets.at[i].name);
    for (int i = 0; b->targets.host && i < b->targets.host->count; i++)
        text_printf(&targets, "%s%s", i ? ", " : "; without a device ", b->targets.host->at[i].name);
    return header(b, text_string(&targets), false, out);
}

/* That of a C file, which needs no runtime. */
static bool make_c_header(BuildCall *b, Bytes *out)
{
    return header(b, "any C compiler", true, out);
}

static const Product c_header = { .name = "header", .ending = ".h", .make = make_c_header };

static bool make_runtime(BuildCall *b, Bytes *out)
{
    return companion(b, runtime_source, out);
}

/* Is every target of the kind of machine that this library, and so its runtime, was made for? */
static bool is_native(const BuildCall *b)
{
    for (int i = 0; i < b->targets.count; i++)
        if (b->targets.at[i].arch != target_find(NULL)->arch)
            return false;
    return true;
}

static bool make_archive(BuildCall *b, Bytes *out)
{
    Bytes object, runtime;
    if (!is_native(b)) {
        diag_status(b->p->cx, KN_ERROR_ARGUMENT,
                    "%s.a would need the runtime for %s, and the one here is for %s: emit object and runtime instead, "
                    "and compile %s for that machine",
                    b->name, b->targets.at[0].name, arch_table[target_find(NULL)->arch].name, runtime_source);
        return false;
    }
    if (!make_code(b, EMIT_OBJECT, &object) || !companion(b, RUNTIME_ARCHIVE, &runtime))
        return false;
    if (!archive_make(&b->arena, arena_printf(&b->arena, "%s.o", b->name), object, b->symbol, runtime, out)) {
        diag_status(b->p->cx, KN_ERROR_FILE, RUNTIME_ARCHIVE " is damaged: build or install Kiln again");
        return false;
    }
    return true;
}

/* What is made here; before it in the list of all products stands what the backends emit. */
static const Product own_products[] = {
    { .name = "header", .ending = ".h", .make = make_header },
    { .name = "archive", .ending = ".a", .make = make_archive, .compiled = true, .kind = EMIT_OBJECT },
    { .name = "loops", .ending = ".loops", .make = make_loops },
    { .name = "runtime", .ending = NULL, .make = make_runtime },
    { .name = naive_name, .ending = ".naive.c", .make = make_naive },
};
enum { PRODUCT_COUNT = EMIT_KIND_COUNT + sizeof own_products / sizeof *own_products };

static Product product_at(int i)
{
    if (i >= EMIT_KIND_COUNT)
        return own_products[i - EMIT_KIND_COUNT];
    const EmitFormat *f = &emit_table[i];
    return (Product){
        .name = f->name, .ending = f->ending, .compiled = true, .kind = (EmitKind)i, .with_header = f->with_header
    };
}

static bool find_product(kn_context *cx, const char *name, Product *out)
{
    const char *names[PRODUCT_COUNT];
    for (int i = 0; i < PRODUCT_COUNT; i++) {
        *out = product_at(i);
        if (!strcmp(out->name, name))
            return true;
        names[i] = out->name;
    }
    diag_unknown(cx, "--emit does not know", name, "what it knows is", names, PRODUCT_COUNT);
    return false;
}

/* FOLDER/NAME.o; what belongs to no pipeline has its own name. */
static const char *product_path(BuildCall *b, const Product *product)
{
    if (product->ending)
        return arena_printf(&b->arena, "%s%s", b->path, product->ending);
    return arena_printf(&b->arena, "%.*s%s", (int)(strlen(b->path) - strlen(b->name)), b->path, runtime_source);
}

static bool write_product(BuildCall *b, const Product *product)
{
    Bytes       contents;
    const char *path = product_path(b, product);
    if (!(product->make ? product->make(b, &contents) : make_code(b, product->kind, &contents)))
        return false;
    if (!file_write_whole(b->p->cx, path, MODE_PRODUCT, &contents, 1)) {
        diag_status(b->p->cx, KN_ERROR_FILE, "cannot write %s: %s", path, strerror(errno));
        return false;
    }
    text_printf(&b->written, "%s%s", b->written.count ? "\n" : "", path);
    return true;
}

/* NAME must be one of C. */
static bool take_name(BuildCall *b)
{
    const char *slash = b->path ? strrchr(b->path, '/') : NULL;
    b->name           = slash ? slash + 1 : b->path;
    bool fine         = b->name && (isalpha((unsigned char)b->name[0]) || b->name[0] == '_');
    for (const char *c = b->name; fine && *c; c++)
        fine = isalnum((unsigned char)*c) || *c == '_';
    if (!fine)
        diag_status(b->p->cx, KN_ERROR_ARGUMENT,
                    "`%s` cannot be the name of a C function: give FOLDER/NAME, where NAME is a letter or _, then "
                    "letters, digits and _; the endings are added",
                    b->name ? b->name : "");
    else
        b->symbol = arena_printf(&b->p->cx->call, "%s_kiln", b->name);
    return fine;
}

/* lo <= p && p < hi for integers, lo <= p && p <= hi for floats. */
static const Expr *in_range(ExprPool *pool, const Param *param)
{
    const kn_type type = param->type;
    const Expr   *p    = expr_param(pool, type, param);
    const bool    real = type_is_float(type);
    const Expr   *lo   = real ? expr_float(pool, type, param->lo.as.f) : expr_int(pool, type, param->lo.as.i);
    const Expr   *hi   = real ? expr_float(pool, type, param->hi.as.f) : expr_int(pool, type, param->hi.as.i);
    return expr_binary(pool, EX_AND, KN_BOOL, expr_binary(pool, EX_LE, KN_BOOL, lo, p),
                       expr_binary(pool, real ? EX_LE : EX_LT, KN_BOOL, p, hi));
}

/* kn_run checks parameters against their ranges, which the code relies on. Where there is no kn_run, the code does so
 * first of all. */
static void check_params(Program *program)
{
    Arena *a = program->arena;
    for (size_t i = program->params.count; i-- > 0;) {
        const Param *param = program->params.at[i];
        if (!param->has_range)
            continue;
        Stmt *s            = ARENA_NEW(a, Stmt);
        s->kind            = STMT_CHECK;
        s->check.status    = KN_ERROR_BOUNDS;
        s->check.condition = in_range(program->exprs, param);
        s->check.message   = arena_printf(a, "the parameter `%s` is outside its range", param->name);
        program->body      = stmt_pair(a, s, program->body);
    }
}

/* The plan's program under the names that its files have, with its half for the host alone. NULL after diagnostics. */
static Program *built_program(BuildCall *b, const char *until)
{
    Program *program = compile_program(b->plan, &b->options, &b->targets, until);
    if (!program)
        return NULL;
    program->name  = b->symbol;
    program->title = b->name;
    check_params(program);
    if (b->targets.host && !until) {
        if (!compile_host_half(b->p, &b->options, &b->targets, &b->arena, program))
            return NULL;
        check_params(program->host);
    }
    return program;
}

/* The plan and the program. */
static bool prepare(BuildCall *b)
{
    kn_context *cx = b->p->cx;
    if (!options_take(b->p, b->given, &b->options) || !take_name(b) ||
        !targets_parse(cx, b->options.target, arch_table[target_find(NULL)->arch].ahead, &b->targets))
        return false;
    for (int i = 0; i < b->targets.count; i++)
        if (b->targets.at[i].kind == TARGET_GPU)
            b->targets.at[i] = target_ahead(&b->targets.at[i]);
    if (b->emit && !strcmp(b->emit, naive_name)) /* it needs no schedule */
        return true;
    b->plan    = compile_plan(b->p, &b->options, &b->targets, &b->arena);
    b->program = b->plan ? built_program(b, NULL) : NULL;
    return b->program && ahead_suits(b->p, b->program, &b->arena) &&
           (!b->program->host || ahead_suits(b->p, b->program->host, &b->arena));
}

/* The kernels of a program are emitted for the device that they are scheduled for. */
static bool suits_target(BuildCall *b, const Product *product)
{
    const DeviceKind device = emit_table[product->kind].of_device;
    if (b->targets.host && emit_table[product->kind].with_device && product->kind != EMIT_OBJECT) {
        diag_status(b->p->cx, KN_ERROR_ARGUMENT,
                    "--emit %s is of one program, and an object for a device or else the host has two: add --target "
                    "%s, or a target without a device",
                    product->name, b->targets.at[0].name);
        return false;
    }
    if (!device || device == b->targets.at[0].device)
        return true;
    diag_status(b->p->cx, KN_ERROR_ARGUMENT, "--emit %s is of kernels, and the target %s has none of that kind: %s",
                product->name, b->targets.at[0].name,
                device == DEVICE_CUDA ? "add --target cuda" : "add --target opencl");
    return false;
}

/* The products of the list, with the backends that they need: what is wanted can be made, or nothing is written. */
static bool choose_products(BuildCall *b, ProductList *products)
{
    for (const char *at = b->emit;; at++) {
        const size_t n = strcspn(at, ",");
        Product      product;
        if (!find_product(b->p->cx, arena_strndup(&b->arena, at, n), &product))
            return false;
        if (product.compiled && (!suits_target(b, &product) || !load_emitter(b, product.kind)))
            return false;
        vec_push(&b->arena, products, product);
        at += n;
        if (!*at)
            return true;
    }
}

static void build(void *arg)
{
    BuildCall *b = arg;
    scratch_begin(&b->arena, b->p->cx);
    text_init(&b->written, &b->p->cx->call);
    bool fine = prepare(b);
    if (fine && !b->emit)
        b->emit = is_native(b) ? "header,object,archive" : "header,object,runtime";
    ProductList products = { 0 };
    fine                 = fine && choose_products(b, &products);
    for (size_t i = 0; fine && i < products.count; i++)
        fine = write_product(b, &products.at[i]) && (!products.at[i].with_header || write_product(b, &c_header));
    scratch_end(&b->arena);
}

kn_status kn_build(kn_pipeline *p, const char *path, const kn_options *options, const char *emit, const char **written)
{
    if (written)
        *written = NULL;
    if (!p)
        return KN_ERROR_ARGUMENT;
    BuildCall b = { .p = p, .path = path, .emit = emit, .given = options };
    context_begin(p->cx);
    const bool done = context_call(p->cx, build, &b);
    for (int i = 0; i < EMIT_KIND_COUNT; i++)
        if (b.code[i].emitted.bytes)
            b.code[i].codegen->release(&b.code[i].emitted);
    if (written && done && !p->cx->status)
        *written = text_string(&b.written);
    return p->cx->status;
}
