/* SPDX-License-Identifier: MIT */
/* The runtime as a program sees it through kiln_runtime.h. */
#include "api.h"

static void *allocate(void *user, size_t bytes)
{
    ++*(int *)user;
    return malloc(bytes);
}

static void release(void *user, void *block)
{
    --*(int *)user;
    free(block);
}

int main(void)
{
    int               live  = 0;
    const kn_rt_hooks hooks = { .user = &live, .allocate = allocate, .release = release, .threads = 3 };
    kn_rt            *rt    = kn_rt_new(&hooks);
    char              text[100];
    CHECK(rt && kn_rt_threads(rt) == 3, "an instance");
    CHECK(kn_rt_set_threads(rt, 5) == KN_OK && kn_rt_threads(rt) == 5, "threads");
    CHECK(kn_rt_set_threads(rt, 1000000) == KN_OK && kn_rt_threads(rt) < 10000, "too many threads");
    CHECK(kn_rt_set_threads(NULL, 0) == KN_OK && kn_rt_threads(NULL) >= 1, "the process's own instance");
    CHECK(kn_rt_trim(rt) == KN_OK && kn_rt_trim(NULL) == KN_OK, "trim");
    CHECK(kn_rt_profile_report(rt, text, sizeof text) == 0 && !strcmp(text, ""), "nothing was profiled");
    kn_rt_profile_reset(rt);
    CHECK(!strcmp(kn_rt_last_error(), ""), "%s", kn_rt_last_error());
    kn_rt_destroy(rt);
    kn_rt_destroy(NULL);
    CHECK(live == 0, "%d blocks leaked", live);
    const kn_rt_hooks half = { .allocate = allocate };
    CHECK(!kn_rt_new(&half), "allocate without release");
    return check_done();
}
