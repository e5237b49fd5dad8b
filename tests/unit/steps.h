/* SPDX-License-Identifier: MIT */
/* The work of the library in steps of the context, which are the same on every machine and however busy it is. */
#ifndef KILN_TESTS_STEPS_H
#define KILN_TESTS_STEPS_H

#include "base/context.h"

/* Since the last context_begin. */
static inline uint64_t steps_spent(const kn_context *cx)
{
    return cx->config.quota - cx->quota_left;
}

#endif
