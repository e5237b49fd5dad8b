/* SPDX-License-Identifier: MIT */
/* The warnings: one table for the switches, the help and the checks of names.
 *
 * A warning is about code that is legal but probably a mistake. It never changes what a call returns. */
#ifndef KILN_BASE_WARNING_H
#define KILN_BASE_WARNING_H

/*    id           name           on    what is warned of */
/* clang-format off */
#define WARNINGS(X)                                                                                \
    X(UNUSED,      "unused",      true, "an input, a parameter or a function that no output needs") \
    X(OVERWRITTEN, "overwritten", true, "a definition whose values a later one overwrites")        \
    X(NARROW_SUM,  "narrow-sum",  true, "a sum of integers that can wrap before it is divided")    \
    X(NEVER_TRUE,  "never-true",  true, "a condition that never holds, or always, by its types")   \
    X(INTERPRETED, "interpreted", true, "compiled code falls back to the interpreter, far slower") \
    X(IMAGE,       "image",       true, "a property of an image file that Kiln does not follow")
/* clang-format on */

typedef enum WarningId {
#define WARNING_ID(id, name, on, summary) WARN_##id,
    WARNINGS(WARNING_ID)
#undef WARNING_ID
        WARNING_COUNT
} WarningId;

typedef struct Warning {
    const char *name;
    bool        on; /* unless kn_warn says otherwise */
    const char *summary;
} Warning;

extern const Warning warning_table[WARNING_COUNT];

#endif
