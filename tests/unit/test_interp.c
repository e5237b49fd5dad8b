/* Whole pipelines through the interpreter, made by hand with their regions: the order of updates, laziness, what is
 * dropped, what is refused, calls of C. */
#include "interp/interp.h"
#include "check.h"

static const char *test_name;

static void check(bool ok, const char *what)
{
    CHECK(ok, "%s: %s", test_name, what);
}

/* ---- A small builder ------------------------------------------------------------------------- */

enum { MAX_FUNCS = 8 };

typedef struct Test {
    kn_context  *cx;
    kn_pipeline *p;
    ExprPool    *e;
    FuncRegion   regions[MAX_FUNCS];
    Box          boxes[MAX_FUNCS];
    kn_buffer    buffers[MAX_FUNCS];
    kn_buffer   *inputs[MAX_FUNCS];
} Test;

static Test test_begin(const char *name)
{
    Test t    = { .cx = kn_context_new(NULL) };
    test_name = name;
    context_begin(t.cx);
    t.p = pipeline_new(t.cx, name);
    t.e = &t.p->exprs;
    return t;
}

static void test_end(Test *t)
{
    kn_context_free(t->cx);
}

static const char *const axis_names[] = { "x", "y", "z" };

static Box box2(int64_t x0, int64_t x1, int64_t y0, int64_t y1)
{
    return (Box){ { x0, y0 }, { x1, y1 } };
}

static Box box1(int64_t x0, int64_t x1)
{
    return box2(x0, x1, 0, 0);
}

static Func *function(Test *t, const char *name, int rank, int components, const kn_type *types, Box box)
{
    const char *const axes[] = { intern(t->cx, "x"), intern(t->cx, "y"), intern(t->cx, "z") };
    Func             *f      = pipeline_add_func(t->p, FUNC_DEFINED, intern(t->cx, name), (Loc){ 0 }, rank, axes);
    f->component_count       = components;
    f->types                 = ARENA_ARRAY(&t->p->arena, kn_type, (size_t)components);
    f->values                = ARENA_ARRAY(&t->p->arena, const Expr *, (size_t)components);
    f->updates               = ARENA_ARRAY(&t->p->arena, Update, 4);
    f->id                    = (int)t->p->funcs.count - 1;
    memcpy(f->types, types, (size_t)components * sizeof *types);
    t->regions[f->id] = (FuncRegion){ true, box, ARENA_ARRAY(&t->p->arena, UpdateRegion, 4) };
    return f;
}

static Func *plain(Test *t, const char *name, int rank, kn_type type, Box box, const Expr *value)
{
    Func *f      = function(t, name, rank, 1, &type, box);
    f->values[0] = value;
    return f;
}

static Func *input(Test *t, const char *name, kn_buffer b)
{
    Func *f   = function(t, name, b.rank, 1, &b.type, (Box){ { 0 }, { 0 } });
    f->kind   = FUNC_INPUT;
    f->values = NULL;
    for (int d = 0; d < b.rank; d++) {
        t->boxes[f->id].min[d] = b.dim[d].min;
        t->boxes[f->id].max[d] = b.dim[d].min + b.dim[d].extent - 1;
    }
    t->buffers[f->id] = b;
    t->inputs[f->id]  = &t->buffers[f->id];
    return f;
}

static const Expr *var(Test *t, const char *name)
{
    return expr_var(t->e, KN_I32, intern(t->cx, name));
}
static const Expr *num(Test *t, int64_t v)
{
    return expr_int(t->e, KN_I32, v);
}
static const Expr *op(Test *t, ExprOp o, const Expr *a, const Expr *b)
{
    return expr_binary(t->e, o, o >= EX_LT ? KN_BOOL : a->type, a, b);
}

static const Expr *call1(Test *t, const Func *f, int c, const Expr *a)
{
    return expr_call(t->e, f, c, f->types[c], 1, &a);
}

static const Expr *call2(Test *t, const Func *f, const Expr *a, const Expr *b)
{
    return expr_call(t->e, f, 0, f->types[0], 2, (const Expr *const[]){ a, b });
}

/* Adds an update; args[d] is free if it is the variable of its axis. */
static Update *update(Test *t, Func *f, const Expr *const *args, const Expr *const *values, Box *free)
{
    Update *u  = &f->updates[f->update_count];
    u->args    = ARENA_ARRAY(&t->p->arena, const Expr *, (size_t)f->rank);
    u->values  = ARENA_ARRAY(&t->p->arena, const Expr *, (size_t)f->component_count);
    u->is_free = ARENA_ARRAY(&t->p->arena, bool, (size_t)f->rank);
    u->rvars   = ARENA_ARRAY(&t->p->arena, RVar, 4);
    memcpy(u->values, values, (size_t)f->component_count * sizeof *values);
    for (int d = 0; d < f->rank; d++) {
        u->args[d]    = args[d];
        u->is_free[d] = args[d] == var(t, axis_names[d]);
    }
    t->regions[f->id].updates[f->update_count++].free = free;
    return u;
}

/* name in lo..hi, which is from..to over all points. */
static void range(Test *t, Func *f, Update *u, const char *name, const Expr *lo, const Expr *hi, int64_t from,
                  int64_t to)
{
    UpdateRegion *r           = &t->regions[f->id].updates[u - f->updates];
    r->lo[u->rvar_count]      = from;
    r->hi[u->rvar_count]      = to;
    u->rvars[u->rvar_count++] = (RVar){ intern(t->cx, name), lo, hi };
}

/* for k in 0..n */
static void range_k(Test *t, Func *f, Update *u, int64_t n)
{
    range(t, f, u, "k", num(t, 0), num(t, n), 0, n);
}

static kn_status run(Test *t, Func *f, kn_buffer *out)
{
    vec_push(&t->p->arena, &t->p->outputs, ((Output){ .name = f->name, .func = f }));
    kn_buffer *outputs[4];
    for (int c = 0; c < f->component_count; c++)
        outputs[c] = &out[c];
    const RunArgs binding = { .input = t->boxes };
    const Regions regions = { t->regions };
    return interpret(t->p, &binding, &regions, t->inputs, outputs);
}

/* Runs, and compares a function of rank 1 over 0..n-1 (or of rank 0) with what is expected. */
static void expect(Test *t, Func *f, int n, const int32_t *want)
{
    int32_t   got[64] = { 0 };
    kn_buffer out     = kn_buffer_dense(got, KN_I32, f->rank, (const int32_t[]){ n });
    check(run(t, f, &out) == KN_OK, "refused");
    for (int i = 0; i < n; i++)
        CHECK(got[i] == want[i], "%s: at %d expected %d, got %d", test_name, i, want[i], got[i]);
    test_end(t);
}

static bool says(Test *t, const char *words)
{
    return strstr(kn_error_text(t->cx), words) != NULL;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_strides(void)
{
    Test      t = test_begin("strides");
    int16_t   data[12];
    int16_t   result[6] = { 0 };
    kn_buffer in        = { .data = &data[3], .type = KN_I16, .rank = 2, .dim = { { 10, 4, -1 }, { -1, 3, 4 } } };
    for (int i = 0; i < 12; i++)
        data[i] = (int16_t)i;
    Func       *g = input(&t, "in", in);
    const Expr *x = var(&t, "x"), *y = var(&t, "y");
    Func       *f   = plain(&t, "f", 2, KN_I16, box2(9, 12, -1, 1), call2(&t, g, op(&t, EX_ADD, x, num(&t, 1)), y));
    kn_buffer   out = { .data = &result[4], .type = KN_I16, .rank = 2, .dim = { { 9, 2, 1 }, { -1, 3, -2 } } };
    check(run(&t, f, &out) == KN_OK, "refused");
    /* f(9, -1) = in(10, -1) = data[3], f(10, -1) = data[2], and one row of data is 4 */
    static const int16_t want[6] = { 11, 10, 7, 6, 3, 2 };
    check(!memcmp(result, want, sizeof want), "wrong values");
    test_end(&t);
}

/* out(x) = if x >= 2 && in(x-2) > 11 then in(x-2) else -1, with in known only from 0 on. */
static void test_guarded_read(void)
{
    Test        t      = test_begin("guarded read");
    int32_t     data[] = { 10, 11, 12, 13 };
    Func       *in     = input(&t, "in", kn_buffer_dense(data, KN_I32, 1, (const int32_t[]){ 4 }));
    const Expr *x      = var(&t, "x");
    const Expr *read   = call1(&t, in, 0, op(&t, EX_SUB, x, num(&t, 2)));
    const Expr *ok     = op(&t, EX_AND, op(&t, EX_LE, num(&t, 2), x), op(&t, EX_LT, num(&t, 11), read));
    expect(&t, plain(&t, "f", 1, KN_I32, box1(0, 5), expr_ternary(t.e, EX_SELECT, KN_I32, ok, read, num(&t, -1))), 6,
           (const int32_t[]){ -1, -1, -1, -1, 12, 13 });
}

static void test_read_outside(void)
{
    Test      t       = test_begin("read outside");
    int32_t   data[4] = { 0 }, result[5] = { 7, 7, 7, 7, 7 };
    Func     *in  = input(&t, "in", kn_buffer_dense(data, KN_I32, 1, (const int32_t[]){ 4 }));
    Func     *f   = plain(&t, "f", 1, KN_I32, box1(0, 4), call1(&t, in, 0, var(&t, "x")));
    kn_buffer out = kn_buffer_dense(result, KN_I32, 1, (const int32_t[]){ 5 });
    check(run(&t, f, &out) == KN_ERROR_BOUNDS, "not refused");
    check(says(&t, "`f` reads `in` at (4), but only the box (0..4)"), "says something else");
    check(result[0] == 7, "output touched");
    test_end(&t);
}

/* s(x) = x; s(k) = s(k-1) + s(k) for k in 1..6 */
static void test_scan(void)
{
    Test        t    = test_begin("scan");
    Box         free = { 0 };
    const Expr *k    = var(&t, "k");
    Func       *s    = plain(&t, "s", 1, KN_I32, box1(0, 5), var(&t, "x"));
    const Expr *v    = op(&t, EX_ADD, call1(&t, s, 0, op(&t, EX_SUB, k, num(&t, 1))), call1(&t, s, 0, k));
    range(&t, s, update(&t, s, &k, &v, &free), "k", num(&t, 1), num(&t, 6), 1, 6);
    expect(&t, s, 6, (const int32_t[]){ 0, 1, 3, 6, 10, 15 });
}

/* f(x) = 100*x; f(x) = k - f(x) for k in 0..3: neither commutes nor associates; once along x, once along k */
static void test_order(int extent)
{
    Test        t    = test_begin(extent > 1 ? "order, lanes are points" : "order, lanes are steps");
    Box         free = box1(0, extent - 1);
    const Expr *x    = var(&t, "x");
    Func       *f    = plain(&t, "f", 1, KN_I32, free, op(&t, EX_MUL, x, num(&t, 100)));
    const Expr *v    = op(&t, EX_SUB, var(&t, "k"), call1(&t, f, 0, x));
    range_k(&t, f, update(&t, f, &x, &v, &free), 3);
    expect(&t, f, extent, (const int32_t[]){ 1, -99, -199, -299, -399 });
}

/* hist(i) = 0; hist(in(u)) += 1 for u in 0..n: every place is written many times; places not stored are dropped */
static void test_histogram(void)
{
    enum { N = 1000 };
    Test    t = test_begin("histogram");
    uint8_t data[N];
    int32_t want[10] = { 0 };
    for (int i = 0; i < N; i++) {
        data[i] = (uint8_t)(i * i % 23);
        if (data[i] < 10)
            want[data[i]]++;
    }
    Box         free = { 0 };
    Func       *in   = input(&t, "in", kn_buffer_dense(data, KN_U8, 1, (const int32_t[]){ N }));
    Func       *hist = plain(&t, "hist", 1, KN_I32, box1(0, 9), num(&t, 0));
    const Expr *at   = expr_unary(t.e, EX_CAST, KN_I32, call1(&t, in, 0, var(&t, "k")));
    const Expr *v    = op(&t, EX_ADD, call1(&t, hist, 0, at), num(&t, 1));
    range_k(&t, hist, update(&t, hist, &at, &v, &free), N);
    expect(&t, hist, 10, want);
}

/* f(x) = 0; f(k / 2) = k for k in 0..10: the last write stays */
static void test_last_write(void)
{
    Test        t    = test_begin("last write");
    Box         free = { 0 };
    Func       *f    = plain(&t, "f", 1, KN_I32, box1(0, 4), num(&t, 0));
    const Expr *k = var(&t, "k"), *at = op(&t, EX_DIV, k, num(&t, 2));
    range_k(&t, f, update(&t, f, &at, &k, &free), 10);
    expect(&t, f, 5, (const int32_t[]){ 1, 3, 5, 7, 9 });
}

/* p(x) = (x, -x); p(x) = (p(x).1, p(x).0 + 1) for k in 0..3: both are read before either is written */
static void test_tuple(void)
{
    Test          t        = test_begin("tuple");
    const kn_type types[2] = { KN_I32, KN_I32 };
    Box           free     = box1(0, 2);
    Func         *p        = function(&t, "p", 1, 2, types, free);
    const Expr   *x        = var(&t, "x");
    p->values[0]           = x;
    p->values[1]           = expr_unary(t.e, EX_NEG, KN_I32, x);
    range_k(&t, p,
            update(&t, p, &x, (const Expr *[]){ call1(&t, p, 1, x), op(&t, EX_ADD, call1(&t, p, 0, x), num(&t, 1)) },
                   &free),
            3);
    int32_t   a[3], b[3];
    kn_buffer out[2] = { kn_buffer_dense(a, KN_I32, 1, (const int32_t[]){ 3 }),
                         kn_buffer_dense(b, KN_I32, 1, (const int32_t[]){ 3 }) };
    check(run(&t, p, out) == KN_OK, "refused");
    /* (x, -x) -> (-x, x+1) -> (x+1, -x+1) -> (-x+1, x+2) */
    for (int i = 0; i < 3; i++)
        check(a[i] == 1 - i && b[i] == i + 2, "wrong values");
    test_end(&t);
}

/* f(x) = 0; f(x) += k for k in 0..x where k % 2 == 1: bounds that depend on the point */
static void test_triangle(void)
{
    Test        t    = test_begin("triangle");
    Box         free = box1(0, 7);
    const Expr *x = var(&t, "x"), *k = var(&t, "k");
    Func       *f = plain(&t, "f", 1, KN_I32, free, num(&t, 0));
    const Expr *v = op(&t, EX_ADD, call1(&t, f, 0, x), k);
    Update     *u = update(&t, f, &x, &v, &free);
    range(&t, f, u, "k", num(&t, 0), x, 0, 7);
    u->where = op(&t, EX_EQ, op(&t, EX_MOD, k, num(&t, 2)), num(&t, 1));
    expect(&t, f, 8, (const int32_t[]){ 0, 0, 1, 1, 4, 4, 9, 9 });
}

/* f() = 1; f() = 10*f() + 3*i + j for i in 0..2, j in i..3 (first outermost), then an empty domain, then no domain at
 * all */
static void test_rank_zero(void)
{
    Test        t    = test_begin("rank 0");
    Box         free = { 0 };
    Func       *f    = plain(&t, "f", 0, KN_I32, free, num(&t, 1));
    const Expr *old  = expr_call(t.e, f, 0, KN_I32, 0, NULL);
    const Expr *i = var(&t, "i"), *j = var(&t, "j");
    const Expr *v = op(&t, EX_ADD, op(&t, EX_MUL, old, num(&t, 10)), op(&t, EX_ADD, op(&t, EX_MUL, i, num(&t, 3)), j));
    Update     *u = update(&t, f, NULL, &v, &free);
    range(&t, f, u, "i", num(&t, 0), num(&t, 2), 0, 2);
    range(&t, f, u, "j", i, num(&t, 3), 0, 3);
    const Expr *none = num(&t, 0);
    range_k(&t, f, update(&t, f, NULL, &none, &free), 0);
    const Expr *twice = op(&t, EX_MUL, old, num(&t, 2));
    update(&t, f, NULL, &twice, &free);
    expect(&t, f, 1, (const int32_t[]){ 2 * 101245 });
}

/* a(x, y) = x; a(x, y) = a(x-1, y-1) + a(x+1, y-1) for y in 1..3, on a box that shrinks by one on both sides with every
 * step */
static void test_box_per_step(void)
{
    Test        t       = test_begin("a box per step");
    Box         free[2] = { box2(-1, 4, 0, 0), box2(0, 3, 0, 0) };
    const Expr *x = var(&t, "x"), *y = var(&t, "y"), *one = num(&t, 1);
    Func       *a      = plain(&t, "a", 2, KN_I32, box2(-2, 5, 0, 2), op(&t, EX_MUL, x, x));
    const Expr *before = op(&t, EX_SUB, y, one);
    const Expr *v =
        op(&t, EX_ADD, call2(&t, a, op(&t, EX_SUB, x, one), before), call2(&t, a, op(&t, EX_ADD, x, one), before));
    Update *u     = update(&t, a, (const Expr *[]){ x, y }, &v, free);
    u->is_free[1] = false;
    range(&t, a, u, "y", one, num(&t, 3), 1, 3);
    t.regions[a->id].updates[0].steps = 2;
    /* step 1: 2x^2 + 2; step 2: 4x^2 + 8 */
    expect(&t, plain(&t, "f", 1, KN_I32, box1(0, 3), call2(&t, a, x, num(&t, 2))), 4,
           (const int32_t[]){ 8, 12, 24, 44 });
}

static float half_of(uint8_t flag, float v)
{
    return flag ? v / 2 : v;
}
static int8_t minus_one(int32_t v)
{
    return (int8_t)(v - 1);
}

static void test_extern_function(void)
{
    Test   t    = test_begin("extern function");
    Extern half = { .function = (void (*)(void))half_of }, less = { .function = (void (*)(void))minus_one };
    map_set(&t.cx->externs, intern(t.cx, "half_of"), &half);
    map_set(&t.cx->externs, intern(t.cx, "minus_one"), &less);
    const Expr *x    = var(&t, "x");
    const Expr *flag = op(&t, EX_LT, x, num(&t, 2)), *v = expr_unary(t.e, EX_CAST, KN_F32, x);
    const Expr *h   = expr_extern(t.e, intern(t.cx, "half_of"), KN_F32, 2, (const Expr *[]){ flag, v });
    const Expr *l   = expr_extern(t.e, intern(t.cx, "minus_one"), KN_I8, 1, &x);
    const Expr *sum = op(&t, EX_ADD, h, expr_unary(t.e, EX_CAST, KN_F32, l));
    expect(&t,
           plain(&t, "f", 1, KN_I32, box1(0, 3),
                 expr_unary(t.e, EX_CAST, KN_I32, op(&t, EX_MUL, sum, expr_float(t.e, KN_F32, 2)))),
           4, (const int32_t[]){ -2, 1, 6, 10 });
}

static void test_missing_function(void)
{
    Test        t = test_begin("missing function");
    int32_t     result[1];
    const Expr *e   = expr_extern(t.e, intern(t.cx, "curve"), KN_I32, 0, NULL);
    kn_buffer   out = kn_buffer_dense(result, KN_I32, 1, (const int32_t[]){ 1 });
    check(run(&t, plain(&t, "f", 1, KN_I32, box1(0, 0), e), &out) == KN_ERROR_ARGUMENT, "not refused");
    check(says(&t, "`curve`") && says(&t, "kn_extern_function") && says(&t, "kiln run --load"), "says something else");
    test_end(&t);
}

/* output(x) = inputs[0](x) * values[0], or the failure that `user` asks for */
static int scale(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                 kn_buffer *output, void *user)
{
    if (query || input_count != 1 || value_count != 1 || values[0].is_float)
        return -1;
    for (int32_t i = 0; i < output->dim[0].extent; i++) {
        const int32_t x = output->dim[0].min + i;
        ((int32_t *)output->data)[i * output->dim[0].stride] =
            ((int32_t *)inputs[0].data)[(x - inputs[0].dim[0].min) * inputs[0].dim[0].stride] * (int32_t)values[0].as.i;
    }
    return *(int *)user;
}

static Func *scale_stage(Test *t, Extern *known)
{
    Func         *g    = plain(t, "g", 1, KN_I32, box1(-1, 5), var(t, "x"));
    const kn_type type = KN_I32;
    Func         *s    = function(t, "s", 1, 1, &type, box1(0, 3));
    s->kind            = FUNC_STAGE;
    s->values          = NULL;
    s->symbol          = intern(t->cx, "scale");
    s->stage_arg_count = 2;
    s->stage_args      = ARENA_ARRAY(&t->p->arena, StageArg, 2);
    s->stage_args[0]   = (StageArg){ .func = g };
    s->stage_args[1]   = (StageArg){ .value = op(t, EX_MUL, num(t, 2), num(t, 5)) };
    if (known)
        map_set(&t->cx->externs, s->symbol, known);
    return s;
}

static void test_stage(void)
{
    int    result = 0, mine[4];
    Extern known  = { .stage = scale, .user = &result };
    Test   t      = test_begin("extern stage");
    expect(&t, scale_stage(&t, &known), 4, (const int32_t[]){ 0, 10, 20, 30 });

    kn_buffer out = kn_buffer_dense(mine, KN_I32, 1, (const int32_t[]){ 4 });
    t             = test_begin("extern stage that fails");
    result        = 3;
    check(run(&t, scale_stage(&t, &known), &out) == KN_ERROR_ARGUMENT, "not refused");
    check(says(&t, "`scale`") && says(&t, "returned 3"), "says something else");
    test_end(&t);

    t = test_begin("extern stage that is missing");
    check(run(&t, scale_stage(&t, NULL), &out) == KN_ERROR_ARGUMENT, "not refused");
    check(says(&t, "`scale`") && says(&t, "kn_extern_stage"), "says something else");
    test_end(&t);
}

/* f(x, y) = x + 1000*y over more points than a row of lanes, of which the middle is copied out */
static void test_long_rows(void)
{
    enum { W = 700, H = 3 };
    Test           t = test_begin("long rows");
    static int32_t result[W * H];
    const Expr    *v   = op(&t, EX_ADD, var(&t, "x"), op(&t, EX_MUL, var(&t, "y"), num(&t, 1000)));
    kn_buffer      out = kn_buffer_dense(result, KN_I32, 2, (const int32_t[]){ W, H });
    check(run(&t, plain(&t, "f", 2, KN_I32, box2(-5, W + 5, -1, H), v), &out) == KN_OK, "refused");
    for (int i = 0; i < W * H; i++)
        check(result[i] == i % W + 1000 * (i / W), "wrong values");
    test_end(&t);
}

static void test_too_large(void)
{
    Test      t = test_begin("too large");
    int32_t   result[1];
    kn_buffer out = kn_buffer_dense(result, KN_I32, 2, (const int32_t[]){ 1, 1 });
    check(run(&t, plain(&t, "f", 2, KN_I32, box2(0, INT32_MAX, 0, INT32_MAX), num(&t, 0)), &out) == KN_ERROR_LIMIT,
          "not refused");
    test_end(&t);
}

/* ---- Rows of lanes mean what single points mean ---------------------------------------------- */

enum { SIDE = 300 };

static uint64_t random_state;

/* A number below n. */
static uint32_t below(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

static const Expr *random_expr(Test *t, const Func *in, int depth);

static const Expr *random_condition(Test *t, const Func *in, int depth)
{
    static const ExprOp ops[] = { EX_LT, EX_LE, EX_EQ, EX_NE, EX_AND, EX_OR };
    const ExprOp        o     = ops[below(depth > 0 ? 6 : 4)];
    const bool          both  = o == EX_AND || o == EX_OR;
    const Expr         *a     = both ? random_condition(t, in, depth - 1) : random_expr(t, in, depth - 1);
    return op(t, o, a, both ? random_condition(t, in, depth - 1) : random_expr(t, in, depth - 1));
}

/* Accesses are guarded by `if` in either branch, by && or || in its condition, or by a clamp: a read in a lane that was
 * not asked for would be refused. */
static const Expr *random_read(Test *t, const Func *in, int depth)
{
    const Expr *at = random_expr(t, in, depth - 1), *zero = num(t, 0), *end = num(t, SIDE);
    if (below(2))
        return call1(t, in, 0, op(t, EX_MIN, op(t, EX_MAX, at, zero), num(t, SIDE - 1)));
    const bool  negated = below(2);
    const Expr *read = call1(t, in, 0, at), *other = random_expr(t, in, depth - 1);
    const Expr *guard = negated ? op(t, EX_OR, op(t, EX_LT, at, zero), op(t, EX_LE, end, at))
                                : op(t, EX_AND, op(t, EX_LE, zero, at), op(t, EX_LT, at, end));
    if (below(2))
        guard = op(t, negated ? EX_OR : EX_AND, guard, op(t, EX_LT, read, random_expr(t, in, depth - 1)));
    return expr_ternary(t->e, EX_SELECT, KN_I32, guard, negated ? other : read, negated ? read : other);
}

static const Expr *random_expr(Test *t, const Func *in, int depth)
{
    static const ExprOp ops[] = { EX_ADD, EX_SUB, EX_MUL, EX_DIV, EX_MOD, EX_MIN, EX_MAX, EX_BIT_XOR, EX_SHR };
    const uint32_t      pick  = depth > 0 ? below(10) : below(3);
    if (pick < 2)
        return var(t, axis_names[pick]);
    if (pick == 2)
        return num(t, (int64_t)below(9) - 4);
    if (pick < 5)
        return random_read(t, in, depth);
    if (pick < 7)
        return expr_ternary(t->e, EX_SELECT, KN_I32, random_condition(t, in, depth - 1), random_expr(t, in, depth - 1),
                            random_expr(t, in, depth - 1));
    return op(t, ops[below(9)], random_expr(t, in, depth - 1), random_expr(t, in, depth - 1));
}

static void test_random(uint64_t seed)
{
    Test           t = test_begin("random");
    static int32_t data[SIDE], all[SIDE * 3];
    random_state = seed;
    for (int i = 0; i < SIDE; i++)
        data[i] = (int32_t)below(2 * SIDE) - SIDE / 2;
    Func     *in  = input(&t, "in", kn_buffer_dense(data, KN_I32, 1, (const int32_t[]){ SIDE }));
    Func     *f   = plain(&t, "f", 2, KN_I32, box2(0, SIDE - 1, 0, 2), random_expr(&t, in, 6));
    kn_buffer out = kn_buffer_dense(all, KN_I32, 2, (const int32_t[]){ SIDE, 3 });
    check(run(&t, f, &out) == KN_OK, "refused");
    for (int i = 0; i < 40; i++) {
        const int32_t x = (int32_t)below(SIDE), y = (int32_t)below(3);
        int32_t       one    = 0;
        kn_buffer     point  = { .data = &one, .type = KN_I32, .rank = 2, .dim = { { x, 1, 1 }, { y, 1, 1 } } };
        t.regions[f->id].box = box2(x, x, y, y);
        t.p->outputs.count   = 0;
        check(run(&t, f, &point) == KN_OK, "refused at a point");
        CHECK(one == all[y * SIDE + x], "random, seed %llu: at (%d, %d) the row has %d, the point %d",
              (unsigned long long)seed, x, y, all[y * SIDE + x], one);
    }
    test_end(&t);
}

/* in(in(in(… x))) as deep as an expression may be */
static void test_deep(void)
{
    Test        t      = test_begin("deep");
    int32_t     data[] = { 1, 2, 3, 0 };
    Func       *in     = input(&t, "in", kn_buffer_dense(data, KN_I32, 1, (const int32_t[]){ 4 }));
    const Expr *e      = var(&t, "x");
    for (int i = 1; i < EXPR_MAX_DEPTH; i++)
        e = call1(&t, in, 0, e);
    expect(&t, plain(&t, "f", 1, KN_I32, box1(0, 3), e), 4, (const int32_t[]){ 3, 0, 1, 2 });
}

/* However early memory runs out, the run ends with an error and gives back what it had. */
static void test_out_of_memory(void)
{
    for (size_t spare = 0; spare < 400000; spare += 20000) {
        Test           t = test_begin("out of memory");
        static int32_t result[SIDE * SIDE];
        const Expr    *x = var(&t, "x"), *y = var(&t, "y");
        Func          *g = plain(&t, "g", 2, KN_I32, box2(0, SIDE, 0, 20), op(&t, EX_MUL, x, y));
        Func *f = plain(&t, "f", 2, KN_I32, box2(0, SIDE - 1, 0, 19), call2(&t, g, op(&t, EX_ADD, x, num(&t, 1)), y));
        kn_buffer    out    = kn_buffer_dense(result, KN_I32, 2, (const int32_t[]){ SIDE, 20 });
        const size_t before = t.cx->memory_used;
        vec_push(&t.p->arena, &t.p->outputs, (Output){ 0 }); /* room for the output */
        t.p->outputs.count        = 0;
        t.cx->config.memory_limit = t.cx->memory_used + spare;
        const kn_status status    = run(&t, f, &out);
        check(status == KN_ERROR_LIMIT || (status == KN_OK && result[SIDE + 1] == 2),
              "neither an error nor the result");
        check(status == KN_ERROR_LIMIT || spare > 50000, "did with less memory than it takes");
        check(t.cx->memory_used == before, "memory was not given back");
        test_end(&t);
    }
}

int main(void)
{
    test_strides();
    test_guarded_read();
    test_read_outside();
    test_scan();
    test_order(5);
    test_order(1);
    test_histogram();
    test_last_write();
    test_tuple();
    test_triangle();
    test_rank_zero();
    test_box_per_step();
    test_extern_function();
    test_missing_function();
    test_stage();
    test_long_rows();
    test_too_large();
    test_deep();
    test_out_of_memory();
    for (uint64_t seed = 1; seed <= 300; seed++)
        test_random(seed);
    return check_done();
}
