/* SPDX-License-Identifier: MIT */
/* What a program declares for its surroundings: consts and types, externs, an output's estimate. */
#include "api.h"

static const char text[] = "const n = 3\n"
                           "type real = f32\n"
                           "extern f32 curve(f32)\n"
                           "extern stage flip(in) : f32(x, y)\n"
                           "input in : f32(x, y)\n"
                           "output out\n"
                           "estimate out(8, 4)\n"
                           "out(x, y) = real(curve(flip(x, y))) * n\n"
                           "schedule { out.parallel(y) }\n"
                           "schedule wide { out.vectorize(x, 8) }\n";

static void test_names(const kn_pipeline *p)
{
    CHECK(kn_const_count(p) == 2, "%d consts", kn_const_count(p));
    CHECK(!strcmp(kn_const_name(p, 0), "n") && !strcmp(kn_const_name(p, 1), "real"), "in the order of the text");
    CHECK(!kn_const_name(p, 2) && !kn_const_name(p, -1), "beyond the ends");
    CHECK(kn_extern_count(p) == 2, "%d externs", kn_extern_count(p));
    CHECK(!strcmp(kn_extern_name(p, 0), "curve") && !kn_extern_is_stage(p, 0), "the function");
    CHECK(!strcmp(kn_extern_name(p, 1), "flip") && kn_extern_is_stage(p, 1), "the stage");
    CHECK(kn_schedule_count(p) == 2 && !kn_schedule_name(p, 0) && !strcmp(kn_schedule_name(p, 1), "wide"),
          "the schedules");
    CHECK(!kn_schedule_name(p, 2) && !kn_schedule_name(p, -1), "beyond the ends");
    CHECK(!kn_extern_name(p, 2) && !kn_extern_is_stage(p, 2), "beyond the end");
}

static void test_estimate(const kn_pipeline *p)
{
    const kn_port in = kn_port_get(p, 0), out = kn_port_get(p, 1);
    CHECK(!in.estimate, "an input has none");
    CHECK(out.estimate && out.estimate[0] == 8 && out.estimate[1] == 4, "the output's");
}

static void test_nothing(void)
{
    CHECK(kn_const_count(NULL) == 0 && kn_extern_count(NULL) == 0 && kn_schedule_count(NULL) == 0, "of no pipeline");
    CHECK(!kn_schedule_name(NULL, 0), "of no pipeline");
    CHECK(!kn_const_name(NULL, 0) && !kn_extern_name(NULL, 0) && !kn_extern_is_stage(NULL, 0), "of no pipeline");
}

int main(void)
{
    kn_context  *cx = kn_context_new(NULL);
    kn_pipeline *p  = kn_parse(cx, "test.kiln", text, -1);
    CHECK(p, "%s", kn_error_text(cx));
    test_names(p);
    test_estimate(p);
    test_nothing();
    kn_context_free(cx);
    return check_done();
}
