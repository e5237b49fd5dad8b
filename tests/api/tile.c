/* SPDX-License-Identifier: MIT */
/* kn_tile: C text in, C text out, errors as diagnostics. Where isl was missing when Kiln was built it says so, and
 * nothing else is looked at. */
#include "api.h"

static const char text[] = "#define STEP 1\n"
                           "void f(int T, int N, double A[2][N])\n"
                           "{\n"
                           "#pragma scop\n"
                           "  for (int t = 0; t < T; t += STEP)\n"
                           "    for (int i = 1; i < N - 1; i++)\n"
                           "      A[(t + 1) % 2][i] = 0.5 * (A[t % 2][i - 1] + A[t % 2][i + 1]);\n"
                           "#pragma endscop\n"
                           "} /* the end */\n";

static void test_tiled(kn_context *cx)
{
    const char           *explained = NULL;
    const kn_tile_options options   = { .shape = "diamond", .sizes = "16,16", .explain = true };
    const char           *tiled     = kn_tile(cx, "f.c", text, -1, &options, &explained);
    CHECK(tiled, "%s", kn_error_text(cx));
    if (!tiled)
        return;
    CHECK(strstr(tiled, "#define STEP 1\n") == tiled && strstr(tiled, "} /* the end */\n"), "%s", tiled);
    CHECK(strstr(tiled, "#pragma omp parallel for") && !strstr(tiled, "#pragma scop"), "%s", tiled);
    CHECK(explained && strstr(explained, "diamond"), "%s", explained ? explained : "nothing");
}

/* Compiled by Kiln: the text calls what the archive has. */
static void test_compiled(kn_context *cx)
{
    const void           *archive = NULL;
    size_t                size    = 0;
    const kn_tile_options options = { .target = "llvm", .archive = &archive, .archive_size = &size };
    const char           *tiled   = kn_tile(cx, "f.c", text, -1, &options, NULL);
    CHECK(tiled && strstr(tiled, "kn_f_f_0("), "%s", tiled ? tiled : kn_error_text(cx));
    CHECK(size > 8 && !memcmp(archive, "!<arch>\n", 8), "%zu bytes", size);
}

static void test_refused(kn_context *cx)
{
    const kn_tile_options no_shape = { .shape = "round" }, no_size = { .sizes = "16,x" };
    CHECK(!kn_tile(cx, "f.c", text, -1, &no_shape, NULL) && strstr(kn_error_text(cx), "round"), "%s",
          kn_error_text(cx));
    CHECK(!kn_tile(cx, "f.c", text, -1, &no_size, NULL) && strstr(kn_error_text(cx), "16,x"), "%s", kn_error_text(cx));
    CHECK(!kn_tile(cx, "f.c", "int x;\n", -1, NULL, NULL) && kn_diagnostic_count(cx) > 0, "%s", kn_error_text(cx));
    CHECK(!kn_tile(cx, "f.c", text, 40, NULL, NULL) && kn_diagnostic_count(cx) > 0, "%s", kn_error_text(cx));
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    if (!kn_tile(cx, "f.c", text, -1, NULL, NULL) && strstr(kn_error_text(cx), "install isl")) {
        printf("skipped: isl is missing\n");
    } else {
        test_tiled(cx);
        test_compiled(cx);
        test_refused(cx);
    }
    kn_context_free(cx);
    return check_done();
}
