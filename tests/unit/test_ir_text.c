/* SPDX-License-Identifier: MIT */
/* The text of lowered programs: what program_print prints, program_read reads, for every app after every pass. The
 * program that was read has the key of the one that was printed, and every field of a statement is part of the key. */
#include "check.h"

#include "api/cache.h"
#include "ir/fields.h"
#include "ir/print.h"
#include "ir/read.h"
#include "lower/bounds/value_range.h"

#include <glob.h>
#include <string.h>

static const char *host(void)
{
    return "a host";
}

static Bytes key_of(Arena *arena, const Program *program)
{
    static const Codegen codegen = { .version = "1", .host = host };
    return program_key(arena, program, &(CodegenOptions){ 0 }, &codegen);
}

static bool same_bytes(Bytes a, Bytes b)
{
    return a.size == b.size && !memcmp(a.at, b.at, a.size);
}

/* ---- Every app after every pass ------------------------------------------------------------ */

typedef struct Trip {
    kn_context  *cx;
    kn_pipeline *p;
    const char  *path, *until;
    Arena        arena;
} Trip;

static const char *whole_text(Arena *arena, const Program *program)
{
    Text t;
    text_init(&t, arena);
    program_print(&t, program);
    return text_string(&t);
}

static const char *first_difference(const char *a, const char *b)
{
    static char shown[400];
    size_t      i = 0;
    while (a[i] && a[i] == b[i])
        i++;
    while (i > 0 && a[i - 1] != '\n')
        i--;
    snprintf(shown, sizeof shown, "\n  %.*s\n  %.*s", (int)(strcspn(a + i, "\n") % 180), a + i,
             (int)(strcspn(b + i, "\n") % 180), b + i);
    return shown;
}

/* Printed short, for people: what is not cut reads back, once functions are buffers. */
static void check_short(Trip *t, Program *program)
{
    Text a, b;
    text_init(&a, &t->arena);
    text_init(&b, &t->arena);
    stmt_print(&a, program->body);
    if (strstr(text_string(&a), "…"))
        return;
    const Stmt *s = stmt_read(program, text_string(&a));
    CHECK(s, "%s after %s: %s", t->path, t->until, kn_error_text(t->cx));
    stmt_print(&b, s);
    CHECK(!strcmp(text_string(&a), text_string(&b)), "%s after %s, short:%s", t->path, t->until,
          first_difference(text_string(&a), text_string(&b)));
}

static void check_text(Trip *t, Program *program)
{
    const char *first = whole_text(&t->arena, program);
    ExprPool    pool;
    expr_pool_init(&pool, t->cx, &t->arena);
    const Program *again = program_read(&pool, first);
    CHECK(again, "%s after %s: %s", t->path, t->until, kn_error_text(t->cx));
    if (!again)
        return;
    const char *second = whole_text(&t->arena, again);
    CHECK(!strcmp(first, second), "%s after %s:%s", t->path, t->until, first_difference(first, second));
    if (!strcmp(t->until, "loops"))
        return;
    CHECK(same_bytes(key_of(&t->arena, program), key_of(&t->arena, again)), "%s after %s: another key", t->path,
          t->until);
    check_short(t, program);
}

/* Lowers pass by pass. */
static void make_trip(void *arg)
{
    Trip           *t = arg;
    const Schedule *schedule;
    Plan           *plan =
        plan_choose(t->p, NULL, NULL, &schedule) ? plan_make(t->p, schedule, &t->arena, (PlanTarget){ 0 }) : NULL;
    CHECK(plan, "%s: %s", t->path, kn_error_text(t->cx));
    if (!plan)
        return;
    Program program = { .cx = t->cx, .arena = &t->arena, .exprs = &plan->exprs, .name = "p" };
    Lower   lw      = { .cx = t->cx, .arena = &t->arena, .exprs = &plan->exprs, .plan = plan, .program = &program };
    lw.vector_bits  = 256;
    for (size_t i = 0; i < t->p->params.count; i++)
        vec_push(&t->arena, &program.params, t->p->params.at[i]);
    lw.simplifier               = base_simplifier(&lw, &t->arena);
    const LowerPassList *passes = &lower_pass_lists[0];
    for (int i = 0; i < passes->count; i++) {
        program.body = passes->at[i].run(&lw, program.body);
        t->until     = passes->at[i].name;
        check_text(t, &program);
    }
}

static void test_app(const char *path)
{
    char  sched[512];
    char *text = check_read(path);
    snprintf(sched, sizeof sched, "%.*s.sched", (int)(strlen(path) - strlen(".kiln")), path);
    Trip t  = { .cx = kn_context_new(NULL), .path = path };
    t.p     = kn_parse(t.cx, path, text, -1);
    FILE *f = fopen(sched, "rb");
    if (f) {
        fclose(f);
        char *schedule = check_read(sched);
        CHECK(t.p && kn_schedule_parse(t.p, sched, schedule, -1) == KN_OK, "%s", kn_error_text(t.cx));
        free(schedule);
    }
    arena_init(&t.arena, t.cx);
    context_begin(t.cx);
    if (t.p)
        CHECK(context_try(t.cx, make_trip, &t), "%s: %s", path, kn_error_text(t.cx));
    arena_free(&t.arena);
    kn_context_free(t.cx);
    free(text);
}

/* ---- By hand -------------------------------------------------------------------------------- */

static kn_context *cx;
static Arena       arena;
static ExprPool    pool;

static void begin(void)
{
    cx = kn_context_new(NULL);
    context_begin(cx);
    arena_init(&arena, cx);
    expr_pool_init(&pool, cx, &arena);
}

static void end(void)
{
    arena_free(&arena);
    kn_context_free(cx);
}

#define HEAD                                                                                                           \
    "program p title \"a \\\"p\\\"\" strict\n"                                                                         \
    "param k : f32\n"                                                                                                  \
    "buffer in : f32 input of in component 0 rank 2 dims (x, y) dense 0 in auto\n"                                     \
    "buffer out : f32 output of out component 0 rank 1 dims (x) dense 0 in auto\n"                                     \
    "buffer t : i32 scratch component 0 rank 0 dense -1 in stack coordinates\n"                                        \
    "buffer g : f32 scratch component 0 rank 0 dense -1 in global\n"                                                   \
    "buffer s : f32 scratch component 0 rank 0 dense -1 in shared\n"                                                   \
    "func f(x, y) : f32, i32\n"                                                                                        \
    "\n"

/* Every kind of statement and expression. */
static const char *const all = HEAD "realize f(0 extent 8 fold 4, 1 extent n) sliding 1 0 0 3 0 folded:\n"
                                    "  produce f update 2:\n"
                                    "    f(0, 1) atomic = strict(k * 0.5), min(1, -(3))\n"
                                    "    prefetch f(0, 2)\n"
                                    "need in dimension 1 from 0 to 7 for out\n"
                                    "check in.extent.0 < 8 || !(in.min.1 == -2) else \"too \\\"large\\\"\" status 3\n"
                                    "ask warp(0 extent 8) symbol c_warp from (k, storage f32 2) to storage f32 1 "
                                    "table t\n"
                                    "alloc i32 t[i64(16)]:\n"
                                    "  let w = in.stride.1 * i64(2)\n"
                                    "  parallel y from 0 extent 8:\n"
                                    "    unroll u from 0 extent 2:\n"
                                    "      vector x from 0 extent 4:\n"
                                    "        t[i64(x)], t[i64(x + 4)] = x % 3 << u8(2), i32(in[w])\n"
                                    "        out[i64(x)] stream = f(x, y).0 + extern_f32 sin2(k, 2.5)\n"
                                    "        prefetch in[i64(x) + w]\n"
                                    "    if absd(y, 3) == u32(2):\n"
                                    "      out[i64(y)] = if y < 3 then sat_f32(y) else convert_f32(7)\n"
                                    "    else:\n"
                                    "      out[i64(y)] atomic = out[i64(y)] - 1.0\n"
                                    "call warp(0 extent 8) symbol c_warp from (storage f32 1 in in(0 extent 8 stride "
                                    "i64(1))) to storage f32 1 in out(0 extent 8 stride i64(1))\n"
                                    "alloc f32 g[i64(32)]:\n"
                                    "  kernel p_1 threads 32 2 1 resident 4:\n"
                                    "    gpu_block b from 0 extent in.extent.0:\n"
                                    "      alloc f32 s[i64(64)]:\n"
                                    "        gpu_thread y from 0 extent 2:\n"
                                    "          gpu_lane x from 0 extent 32:\n"
                                    "            s[i64(y * 32 + x)] = k\n"
                                    "        barrier\n"
                                    "        gpu_thread x from 0 extent 32:\n"
                                    "          g[i64(x)] = s[i64(x + 32)]\n"
                                    "  sync g\n"
                                    "  sync out write\n"
                                    "  out[i64(0)] = g[i64(1)]\n";

static void test_all(void)
{
    begin();
    const Program *p = program_read(&pool, all);
    CHECK(p, "%s", kn_error_text(cx));
    if (p) {
        const char *again = whole_text(&arena, p);
        CHECK(!strcmp(again, all), "%s", first_difference(all, again));
    }
    end();
}

typedef struct Refusal {
    const char *text, *message;
} Refusal;

static const Refusal refusals[] = {
    { "let x 3\n", "= is expected here" },
    { "for x from 0:\n", "extent is expected here" },
    { "for x from 0 extent 3:\n", "a statement inside is expected here" },
    { "nowhere[i64(0)] = 1.0\n", "a statement is expected here" },
    { "out[i64(0)] = nowhere[i64(0)]\n", "a buffer is expected here" },
    { "out[i64(0)] = 1.0 +\n", "a name is expected here" },
    { "out[i64(0)] = 1.0 + 1\n", "operands of one type is expected here" },
    { "out[i64(0)] = frob(1)\n", "a function is expected here" },
    { "out[i64(0)] = min(1.0)\n", "as many operands as the operator has is expected here" },
    { "out[i64(0)] = %3\n", "the number of a line is expected here" },
    { "out[i64(0)] = 1.0 1\n", "the end of the line is expected here" },
    { "check true else \"no end\n", "\" is expected here" },
    { "  out[i64(0)] = 1.0\n", "a statement is expected here" },
    { "kernel k threads 1 1:\n", "a number is expected here" },
    { "kernel k threads 1 1 1:\nbarrier\n", "a statement inside is expected here" },
    { "sync k\n", "a buffer is expected here" },
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        begin();
        const Program *p = program_read(&pool, arena_printf(&arena, "%s%s", HEAD, refusals[i].text));
        CHECK(!p && strstr(kn_error_text(cx), refusals[i].message), "%s%s\n%s", refusals[i].text, refusals[i].message,
              kn_error_text(cx));
        end();
    }
    begin();
    CHECK(!program_read(&pool, "program p\nnothing\n") && strstr(kn_error_text(cx), "`param`"), "%s",
          kn_error_text(cx));
    end();
}

/* ---- Every field is part of the key --------------------------------------------------------- */

static int fields_changed;

/* Changes each number and flag of a record in turn: the key must follow. */
static void check_fields(const Program *p, const Record *r, char *at)
{
    const Bytes before = key_of(&arena, p);
    for (int i = 0; i < r->count; i++) {
        const Field *f = &r->fields[i];
        char        *v = at + f->offset;
        char         kept[sizeof(int)];
        if (f->kind != FIELD_FLAG && f->kind != FIELD_INT && f->kind != FIELD_TYPE && f->kind != FIELD_STATUS &&
            f->kind != FIELD_LOOP_KIND && f->kind != FIELD_MEMORY && f->kind != FIELD_BUFFER_KIND)
            continue;
        if (f->kind == FIELD_INT && (!strcmp(f->name, "count") || !strcmp(f->name, "rank")))
            continue; /* how long a list is: the list is in the key */
        const size_t size = f->kind == FIELD_FLAG ? sizeof(bool) : sizeof(int);
        memcpy(kept, v, size);
        if (f->kind == FIELD_FLAG)
            *(bool *)v = !*(bool *)v;
        else
            *(int *)v += 1;
        CHECK(!same_bytes(before, key_of(&arena, p)), "%s.%s is not part of the key", r->name, f->name);
        memcpy(v, kept, size);
        fields_changed++;
    }
}

static void check_stmt(void *user, const Stmt *s)
{
    check_fields(user, &stmt_records[s->kind], (char *)(uintptr_t)s);
    stmt_children(s, NULL, check_stmt, user);
}

static void test_key(void)
{
    begin();
    Program *p = program_read(&pool, all);
    CHECK(p, "%s", kn_error_text(cx));
    for (size_t i = 0; p && i < p->buffers.count; i++)
        check_fields(p, &buffer_record, (char *)p->buffers.at[i]);
    if (p)
        check_stmt(p, p->body);
    CHECK(fields_changed > 30, "%d fields were changed", fields_changed);
    end();
}

int main(void)
{
    glob_t apps;
    test_all();
    test_refusals();
    test_key();
    CHECK(!glob("apps/*/*.kiln", 0, NULL, &apps) && apps.gl_pathc > 20, "the apps are not here");
    for (size_t i = 0; i < apps.gl_pathc; i++)
        if (check_sampled(i))
            test_app(apps.gl_pathv[i]);
    globfree(&apps);
    return check_done();
}
