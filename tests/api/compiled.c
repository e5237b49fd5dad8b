/* SPDX-License-Identifier: MIT */
/* Where an access lies, by shape of index and guard: a table of tiny programs. Each is compiled with the schedule that
 * is made and with its function `f` stored, and run at sizes 0, 1, 2, 3, 17 and 100, at several origins and strides.
 * At every size
 *
 *   compiled    compiled code does it: it asks for no more of an input, and for no more memory, than the interpreter;
 *               but where `f` is stored and a guard holds at no point of a small output, the interpreter may have to
 *   equal       every value is the interpreter's
 *   inside      nothing outside the buffers is touched: their memory lies between forbidden pages, and a buffer
 *               without points has none
 *
 * A row runs in a process of its own, so that one that crashes hides no other. */
#include "api.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PORTS = 8, MOST_SECONDS = 60, MOST_SMALL = 3 };

/* ---- The rows ----------------------------------------------------------------------------- */

/* What an input's box is. */
typedef enum Boxes {
    NEEDED,  /* what the interpreter needs of it, exactly */
    SAME,    /* the output's, from 0 on */
    EMPTY_X, /* no point along x */
    EMPTY_Y  /* none along the last dimension */
} Boxes;

typedef struct Row {
    Boxes       boxes;
    const char *text;
} Row;

/* Read as f(INDEX) of a function and in(INDEX) of an input; p is a parameter. */
static const char *const indices[] = {
    "x & -2",
    "x | 1",
    "x ^ 1",
    "~x",
    "x & 7",
    "x | -4",
    "x ^ -3",
    "x & ~3",
    "(x + p) & -4",
    "x & p",
    "x | p",
    "x ^ p",
    "x & (x + 1)",
    "x << 1",
    "x >> 1",
    "x << (p & 1)",
    "x << p",
    "x >> p",
    "x >> (p & 3)",
    "x >> -1",
    "(x << 2) >> 1",
    "1 << (x & 3)",
    "64 >> x",
    "p >> x",
    "x / 3 * 3",
    "x / p * p",
    "x / (p + 1) * (p + 1)",
    "x % p",
    "x % (p + 1)",
    "x % 3",
    "x % -3",
    "x / -2",
    "x / p",
    "p / x",
    "p % x",
    "x - x / 2",
    "x * p",
    "p - x",
    "x * x & 15",
    "mul_shift(x, 3, 1)",
    "mul_shift(x, -5, 2)",
    "mul_shift(x, p, 1)",
    "mul_shift(x, x, 3)",
    "mul_shift(x, 3, p)",
    "avg_up(x, 3)",
    "avg_down(x, -4)",
    "avg_up(x, p)",
    "avg_down(p, x)",
    "i32(absd(x, 3))",
    "i32(absd(x, p))",
    "i32(absd(p, x))",
    "abs(x)",
    "abs(x - p)",
    "-x",
    "min(x, p)",
    "max(x, p)",
    "clamp(x, -1, p)",
    "clamp(p, x, 9)",
    "i32(u8(x))",
    "i32(i8(x))",
    "i32(sat_u8(x))",
    "i32(u16(x)) / 1024",
    "popcount(x)",
    "clz(x)",
    "i32(x > p)",
    "i32(x == 1) + x",
    "i32(x != p && x > 0)",
    "i32(floor(f32(x) / s))",
    "i32(floor(f32(x) * s))",
    "i32(floor(f32(x) * 0.5))",
    "i32(round(f32(x) * 1.5))",
    "i32(ceil(f32(x) / 3.0))",
    "i32(trunc(f32(x) * 0.25))",
    "i32(f32(x) / s)",
    "i32(f64(x) * 0.1)",
    "if x == 0 then 3 else x",
    "if p > 1 then x else -x",
    "select(x == 0: 5, x == 1: -5, else: x / 2)",
};

/* Values that read f around a ring of w points, or behind a guard; at 0..w-1. */
static const char *const rings[] = {
    "if x == 0 then f(w-1) else f(x-1)",
    "if x == w-1 then f(0) else f(x+1)",
    "if x != 0 then f(x-1) else f(w-1)",
    "if !(x == 0) then f(x-1) else f(w-1)",
    "if 0 == x then f(w-1) else f(x-1)",
    "if x+1 == w then f(0) else f(x+1)",
    "if x == 0 || x == w-1 then f(x) else f(x-1) + f(x+1)",
    "if x != 0 && x != w-1 then f(x-1) + f(x+1) else f(x)",
    "if !(x == 0 || x == w-1) then f(x-1) + f(x+1) else f(x)",
    "f(if x == 0 then w-1 else x-1)",
    "select(x == 0: f(w-1), else: f(x-1))",
    "select(x == 0: f(w-1), x == w-1: f(0), else: f(x+1) - f(x-1))",
    "f(select(x == 0: w-1, else: x-1))",
    "if x > 0 then f(x-1) else f(w-1)",
    "if x >= 1 && x < w-1 then f(x-1) + f(x+1) else f(x)",
    "if x-1 < 0 then f(x-1+w) else f(x-1)",
    "if x == 0 then f(0) else if x == w-1 then f(0) else f(x+1)",
    "if x < w-1 then if x > 0 then f(x-1) + f(x+1) else f(x+1) else f(x)",
    "f((x+1) % w)",
    "f((x-1) % w)",
    "f((x-1+w) % w)",
    "f((x+p) % w)",
    "f(w-1-x)",
    "f(min(x+1, w-1))",
    "f(max(x-1, 0))",
    "f(clamp(x+p-2, 0, w-1))",
    "f(x+1 - (if x+1 >= w then w else 0))",
    "f(x+1 - (if x+1 == w then w else 0))",
    "if w > 1 then f((x+1) % w) else f(x)",
    "if p == 0 then f(x) else f((x+1) % w)",
    "if p != 0 then f(x) else f(x / 2)",
    "if x % 2 == 0 then f(x) else f(x-1)",
    "if x % 2 != 0 then f(x-1) else f(x)",
    "if (x & 1) == 1 then f(x-1) else f(x)",
    "if f(x) > 3 then f(x) else f(0)",
    "if f(x) == 3 then f(x) else f(w-1)",
    "if x == 0 then f(0) else f(x-1) * 2",
    "if x == w then f(x) else f(x/2)",
    "if x != w then f(x) else f(x+40)",
    "{ let l = if x == 0 then w-1 else x-1  f(l) }",
    "sum(f((x+u) % w) for u in 0..3)",
    "if x == 0 then f(w-1) else if x == 1 then f(0) else if x == 2 then f(1) else f(x-3)",
    "if !(x < 1) && !(x >= w-1) then f(x+1) else f(x)",
    "if x == 0 && p == 1 then f(0) else f(x)",
    "if x != 0 || p == 1 then f(x) else f(0)",
    "if (x == 0) == (p == 0) then f(x) else f(w-1-x)",
    "if x > p then f(x-p) else f(x)",
    "if x >= p && x - p < w then f(x-p) else f(x)",
    "if p - x == 0 then f(0) else f(x)",
    "if 2*x == w then f(x) else f(x/2)",
};

#define NUMBERS "input in : i32(x)  param p : i32 = 1  param s : f32 = 1.5  output out  "
#define LINE    "input in : u8(x)  output out  "
#define PLANE   "input in : u8(x, y)  output out  "

/* Inputs without points; boxes of 0 to 3; two dimensions; functions with a mask in each. */
static const Row programs[] = {
    { EMPTY_X, LINE "out(x) = constant(in, 7)(x)" },
    { EMPTY_X, LINE "out(x) = if in.width > 0 then in(0) else 9" },
    { EMPTY_X, LINE "out(x) = if x < in.width then in(x) else 9" },
    { EMPTY_X, LINE "out(x) = if in.width == 0 then 9 else in(in.x.min)" },
    { EMPTY_X, LINE "out(x) = if in.width != 0 then edge(in)(x) else 9" },
    { EMPTY_X, LINE "out(x) = if x >= in.x.min && x <= in.x.max then in(x) else 9" },
    { EMPTY_X, LINE "out(x) = constant(in, 7)(x-1) + constant(in, 3)(x+1)" },
    { EMPTY_X, LINE "f(x) = constant(in, 7)(x)  out(x) = f(x-1) + f(x+1)" },
    { EMPTY_X, LINE "f(x) = u8(x)  out(x) = constant(in, 7)(x + (i32(f(x)) & 7) - 1)" },
    { EMPTY_X, LINE "out(x) = sum(i32(in(u)) for u in in.x.min..in.x.max+1)" },
    { EMPTY_X, LINE "f(x) = 0  f(x) += i32(in(u)) for u in 0..in.width  out(x) = f(x)" },
    { EMPTY_X, LINE "f(x) = i32(if in.width > 1 then in(1) else 5)  out(x) = f(x & -2)" },
    { EMPTY_X, PLANE "out(x, y) = constant(in, 7)(x, y)" },
    { EMPTY_Y, PLANE "out(x, y) = constant(in, 7)(x, y)" },
    { EMPTY_X, PLANE "f(x, y) = constant(in, 7)(x, y)  out(x, y) = f(x-1, y) + f(x, y+1)" },
    { EMPTY_Y, PLANE "f(x, y) = constant(in, 7)(x, y)  out(x, y) = f(x-1, y) + f(x, y+1)" },
    { EMPTY_X, PLANE "out(x, y) = if in.width > 0 && in.height > 0 then edge(in)(x, y) else 9" },
    { EMPTY_Y, PLANE "out(x, y) = if in.width > 0 && in.height > 0 then edge(in)(x, y) else 9" },
    { EMPTY_Y, PLANE "out(x, y) = if y < in.height then constant(in, 1)(x, y) else 9" },
    { EMPTY_X, PLANE "out(x, y) = if x < in.width && y < in.height then in(in.x.min, in.y.min) else 9" },
    { SAME, LINE "f = edge(in)  out(x) = f(x-2) + f(x+3)" },
    { SAME, LINE "f = wrap(in)  out(x) = f(x-2) + f(x+3)" },
    { SAME, LINE "f = mirror(in)  out(x) = f(x-2) + f(x+3)" },
    { SAME, LINE "f = mirror_interior(in)  out(x) = f(x-2) + f(x+3)" },
    { SAME, LINE "f = constant(in, 7)  out(x) = f(x-2) + f(x+3)" },
    { SAME, LINE "f(x) = in(x) * 2  e = edge(f, x: 0..in.width)  out(x) = e(x-2) + e(x+3)" },
    { SAME, LINE "f(x) = in(x) * 2  e = wrap(f, x: 0..in.width)  out(x) = e(x-2) + e(x+3)" },
    { SAME, LINE "f(x) = in(x) * 2  e = mirror(f, x: 0..in.width)  out(x) = e(x-2) + e(x+3)" },
    { SAME, LINE "f(x) = in(x) * 2  e = mirror_interior(f, x: 0..in.width)  out(x) = e(x-2) + e(x+3)" },
    { SAME, LINE "f(x) = in(x) * 2  e = constant(f, 7, x: 0..in.width)  out(x) = e(x-2) + e(x+3)" },
    { NEEDED, "output out  f(x) = x * 3  e = edge(f, x: -1..0)  out(x) = e(x) + e(x & -2)" },
    { NEEDED, "output out  f(x) = x * 3  e = wrap(f, x: -1..2)  out(x) = e(x) + e(x | 1)" },
    { NEEDED, "output out  f(x) = x * 3  e = mirror_interior(f, x: 3..4)  out(x) = e(x) + e(x ^ 1)" },
    { NEEDED, "output out  param p : i32 = 2  f(x) = x * 3  e = mirror(f, x: p..p + 2)  out(x) = e(x) + e(x >> 1)" },
    { NEEDED, "output out  param p : i32 = 2  f(x) = x * 3  e = constant(f, 7, x: 2..p)  out(x) = e(x) + e(x << 1)" },
    { NEEDED, "output out  param p : i32 = 2  f(x) = x * 3  e = constant(f, 7, x: p..p)  out(x) = e(x) + e(x - 1)" },
    { NEEDED, PLANE "f(x, y) = in(x, y) + 1  out(x, y) = f(x & -2, y & -2)" },
    { NEEDED, PLANE "f(x, y) = in(x, y) + 1  out(x, y) = f(x | 1, y ^ 1)" },
    { NEEDED, PLANE "f(x, y) = in(x, y) + 1  out(x, y) = f(mul_shift(x, 3, 1), avg_up(y, 3))" },
    { NEEDED, PLANE "param p : i32 = 2  f(x, y) = in(x, y) + 1  out(x, y) = f(x >> p, y << (p & 1))" },
    { NEEDED, PLANE "param p : i32 = 2  f(x, y) = in(x, y) + 1  out(x, y) = f(x / p * p, y / p * p)" },
    { NEEDED, PLANE "param s : f32 = 1.5  f(x, y) = in(x, y) + 1"
                    "  out(x, y) = f(i32(floor(f32(x) / s)), i32(floor(f32(y) / s)))" },
    { NEEDED, PLANE "f(x, y) = in(x, y) + 1  out(x, y) = f(i32(absd(x, 3)), i32(absd(y, 3)))" },
    { SAME, "input in : f32(x, y)  output out  f(x, y) = in(x, y)"
            "  out(x, y) = f(if x == 0 then in.width-1 else x-1, y) + f(x, if y == in.height-1 then 0 else y+1)" },
    { SAME, "input in : f32(x, y)  output out  f(x, y) = in(x, y)"
            "  out(x, y) = (if x == 0 then f(in.width-1, y) else f(x-1, y)) +"
            " (if y == in.height-1 then f(x, 0) else f(x, y+1))" },
    { SAME, "input in : f32(x, y)  output out  f(x, y) = in(x, y)"
            "  out(x, y) = if x == 0 || y == 0 || x == in.width-1 || y == in.height-1 then f(x, y)"
            " else f(x-1, y-1) + f(x+1, y+1)" },
};

/* ---- Buffers ------------------------------------------------------------------------------ */

/* `size` bytes against the forbidden page behind them, or before them. */
static unsigned char *guarded(size_t size, bool at_front)
{
    const size_t   page = (size_t)sysconf(_SC_PAGESIZE), inside = (size + page - 1) / page * page;
    unsigned char *at = mmap(NULL, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + page, inside, PROT_READ | PROT_WRITE))
        abort();
    return at + page + (at_front ? 0 : inside - size);
}

/* Strides and memory for the box: dense, or (sparse) with gaps and backwards along the first dimension. The process
 * ends soon: nothing is given back. */
static void give_memory(kn_buffer *b, bool sparse)
{
    int64_t count = sparse ? 3 : 1, first = 0, points = 1;
    for (int d = 0; d < b->rank; d++) {
        b->dim[d].stride = count;
        count *= b->dim[d].extent + sparse;
        points *= b->dim[d].extent;
    }
    if (sparse && b->rank && points) {
        first            = b->dim[0].stride * (b->dim[0].extent - 1);
        b->dim[0].stride = -b->dim[0].stride;
    }
    const size_t size = (size_t)count * kn_type_size(b->type);
    b->data           = points ? guarded(size, sparse) + (size_t)first * kn_type_size(b->type) : NULL;
}

/* Is given the memory of a point and its number. */
typedef void Visit(unsigned char *at, size_t size, int64_t n, void *user);

static void each_point(const kn_buffer *b, Visit *visit, void *user)
{
    const int64_t w = b->rank > 0 ? b->dim[0].extent : 1, h = b->rank > 1 ? b->dim[1].extent : 1;
    const size_t  size = kn_type_size(b->type);
    for (int64_t n = 0; n < w * h; n++) {
        const int64_t at = n % w * b->dim[0].stride + n / w * (b->rank > 1 ? b->dim[1].stride : 0);
        visit((unsigned char *)b->data + at * (int64_t)size, size, n, user);
    }
}

/* Small whole numbers, in the type. */
static void put_number(unsigned char *at, size_t size, int64_t n, void *user)
{
    const kn_type type   = *(const kn_type *)user;
    const int32_t number = (int32_t)(n * 37 % 11);
    const float   real   = (float)number;
    memset(at, 0, size);
    memcpy(at, type == KN_F32 ? (const void *)&real : (const void *)&number, size < 4 ? size : 4);
}

static void put_byte(unsigned char *at, size_t size, int64_t n, void *user)
{
    (void)n;
    memset(at, *(unsigned char *)user, size);
}

typedef struct Values {
    unsigned char *bytes;
    int64_t        different;
} Values;

static void take_value(unsigned char *at, size_t size, int64_t n, void *user)
{
    memcpy(((Values *)user)->bytes + (size_t)n * size, at, size);
}

static void compare_value(unsigned char *at, size_t size, int64_t n, void *user)
{
    Values *v = user;
    v->different += memcmp(v->bytes + (size_t)n * size, at, size) != 0;
}

/* ---- A row -------------------------------------------------------------------------------- */

/* A program with its arguments: at most an input, parameters, and an output. */
typedef struct Trial {
    kn_context  *cx;
    kn_pipeline *p;
    const Row   *row;
    const char  *way;    /* of its schedule */
    bool         stored; /* f is */
    kn_buffer    in, out;
    kn_arg       args[MOST_PORTS];
    int          count;
} Trial;

/* A size: the output's extents and its first coordinate, the parameters, and whether buffers are sparse. */
typedef struct Size {
    int32_t width, height, min;
    int     number;
    bool    sparse;
} Size;

/* clang-format off */
static const Size sizes[] = {
    { 0, 3, 0, 1, false },  { 3, 0, -5, 2, false }, { 1, 1, 0, 0, false },     { 2, 3, 0, 1, false },
    { 3, 2, -7, 2, true },  { 1, 2, -1, 3, true },  { 2, 1, 5, 4, false },     { 3, 3, 0, 3, false },
    { 17, 5, 0, 1, false }, { 17, 3, -9, 3, true }, { 100, 7, 0, 2, true },    { 100, 2, -51, 1, false },
    { 100, 3, 1001, 3, false },
};
/* clang-format on */

/* The boxes of the output and of the input, and the parameters. false: the interpreter does not know what it needs. */
static bool shape(Trial *t, const Size *size)
{
    const int32_t extents[] = { size->width, size->height };
    t->count                = 0;
    for (int i = 0; i < kn_port_count(t->p); i++) {
        const kn_port port = kn_port_get(t->p, i);
        kn_buffer    *b    = port.kind == KN_INPUT ? &t->in : &t->out;
        kn_arg        arg  = { .name = port.name };
        arg.value          = port.type == KN_F32 ? kn_float(0.75 * size->number + 0.5) : kn_int(size->number);
        if (port.kind != KN_PARAM) {
            *b         = (kn_buffer){ .type = port.type, .rank = port.rank };
            arg.buffer = b;
        }
        for (int d = 0; port.kind != KN_PARAM && d < port.rank; d++)
            b->dim[d] = (kn_dim){ .min = t->row->boxes == SAME ? 0 : size->min, .extent = extents[d] };
        t->args[t->count++] = arg;
    }
    if (t->row->boxes == EMPTY_X || t->row->boxes == EMPTY_Y)
        t->in.dim[t->row->boxes == EMPTY_X ? 0 : t->in.rank - 1].extent = 0;
    if (t->row->boxes != NEEDED || !t->in.rank)
        return true;
    kn_arg           others[MOST_PORTS];
    const kn_region *regions;
    int              count = 0, region_count;
    for (int i = 0; i < t->count; i++)
        if (t->args[i].buffer != &t->in)
            others[count++] = t->args[i];
    kn_module *interpreter = kn_compile(t->p, &(kn_options){ .interpret = true });
    if (kn_bounds(interpreter, others, count, &regions, &region_count) != KN_OK)
        return false;
    for (int d = 0; d < t->in.rank; d++)
        t->in.dim[d].extent = 0;
    for (int i = 0; i < region_count; i++)
        for (int d = 0; !strcmp(regions[i].name, "in") && d < t->in.rank; d++)
            t->in.dim[d] = (kn_dim){ .min = regions[i].min[d], .extent = regions[i].extent[d] };
    return true;
}

/* What the interpreter makes of the size, to be freed; NULL: it refuses it. */
static unsigned char *expected(Trial *t)
{
    kn_module *interpreter = kn_compile(t->p, &(kn_options){ .interpret = true });
    const int  points      = t->out.dim[0].extent * (t->out.rank > 1 ? t->out.dim[1].extent : 1);
    Values     values      = { .bytes = calloc((size_t)points + 1, kn_type_size(t->out.type)) };
    if (kn_run(interpreter, t->args, t->count) != KN_OK) {
        free(values.bytes);
        return NULL;
    }
    each_point(&t->out, take_value, &values);
    return values.bytes;
}

/* Runs the module and compares. With every access checked compiled code that asks for more than the interpreter is an
 * error, and nothing is interpreted instead. */
static void run_size(Trial *t, kn_module *m, const char *how, const Size *size, unsigned char *values)
{
    unsigned char gap  = 0xA5;
    Values        want = { .bytes = values };
    char          name[60];
    snprintf(name, sizeof name, "%dx%d from %d on, p = %d", size->width, size->height, size->min, size->number);
    each_point(&t->out, put_byte, &gap);
    const kn_status status = kn_run(m, t->args, t->count);
    if (status == KN_ERROR_BOUNDS && t->stored && size->width <= MOST_SMALL)
        return; /* "Compiled code has limits of its own", docs/language.md */
    CHECK(status == KN_OK, "%s\n    %s, %s, %s: %s", t->row->text, t->way, how, name, kn_error_text(t->cx));
    if (status == KN_OK)
        each_point(&t->out, compare_value, &want);
    CHECK(!want.different, "%s\n    %s, %s, %s: %lld values are not the interpreter's", t->row->text, t->way, how, name,
          (long long)want.different);
}

/* One schedule at all sizes, until a check fails. */
static void run_way(Trial *t)
{
    kn_module *compiled = kn_compile(t->p, NULL);
    CHECK(compiled, "%s\n    %s: %s", t->row->text, t->way, kn_error_text(t->cx));
    kn_module *checked = compiled ? kn_compile(t->p, &(kn_options){ .check_access = true }) : NULL;
    for (int i = 0; checked && i < COUNT(sizes) && !checks_failed; i++) {
        if (!shape(t, &sizes[i]))
            continue;
        give_memory(&t->in, sizes[i].sparse);
        give_memory(&t->out, sizes[i].sparse);
        each_point(&t->in, put_number, &t->in.type);
        unsigned char *values = expected(t);
        if (values) {
            run_size(t, checked, "every access checked", &sizes[i], values);
            run_size(t, compiled, "as usual", &sizes[i], values);
        }
        free(values);
    }
}

static void run_row(const Row *row)
{
    static const char *const ways[] = { "with the schedule that is made", "f.compute_root()" };
    const bool               has_f  = strstr(row->text, "  f(x) =") || strstr(row->text, "  f(x, y) =");
    for (int i = 0; i < 1 + has_f && !checks_failed; i++) {
        Trial t = { .row = row, .way = ways[i], .stored = i };
        t.cx    = kn_context_new(&(kn_config){ .memory_limit = (size_t)64 << 20 });
        t.p     = kn_parse(t.cx, "row.kiln", row->text, -1);
        CHECK(t.p, "%s\n    %s", row->text, kn_error_text(t.cx));
        if (t.p && i)
            expect_ok(t.cx, kn_schedule_parse(t.p, "row.sched", ways[i], -1));
        if (t.p)
            run_way(&t);
        kn_context_free(t.cx);
    }
}

/* In a process of its own. */
static void try_row(const Row *row)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        checks_passed = checks_failed = 0;
        alarm(MOST_SECONDS);
        run_row(row);
        fflush(stdout);
        _exit(checks_failed != 0);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status))
        checks_failed++; /* it has said why */
    else
        CHECK(WIFEXITED(status), "%s\n    ends with signal %d", row->text, WTERMSIG(status));
}

/* The text of a row of which a part is in a table. */
static void try_text(Boxes boxes, const char *format, const char *part)
{
    char text[600];
    snprintf(text, sizeof text, format, part);
    try_row(&(Row){ boxes, text });
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    compile_text(cx, blur_text); /* loads the backend, before there are processes that would each do it */
    for (int i = 0; i < COUNT(indices); i++) {
        if (!check_sampled((size_t)i))
            continue;
        try_text(NEEDED, NUMBERS "out(x) = in(%s)", indices[i]);
        try_text(NEEDED, NUMBERS "f(x) = in(x) * 2  out(x) = f(%s)", indices[i]);
    }
    for (int i = 0; i < COUNT(rings); i++) {
        if (!check_sampled((size_t)i))
            continue;
        char   text[400];
        size_t n = 0;
        for (const char *at = rings[i]; *at && n < sizeof text - 12; at++)
            n += (size_t)snprintf(text + n, sizeof text - n, *at == 'w' ? "in.width" : "%c", *at);
        try_text(SAME, NUMBERS "f(x) = in(x) * 2  out(x) = %s", text);
    }
    for (int i = 0; i < COUNT(programs); i++)
        if (check_sampled((size_t)i))
            try_row(&programs[i]);
    kn_context_free(cx);
    return check_done();
}
