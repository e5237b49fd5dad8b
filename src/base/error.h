/* SPDX-License-Identifier: MIT */
/* The errors there are: one table. A diagnostic carries the id of its row, so that nobody has to read its message.
 *
 * A row is a reason to refuse something, not a message: several messages may have one. kn_status says how a call ended;
 * these say why. */
#ifndef KILN_BASE_ERROR_H
#define KILN_BASE_ERROR_H

/*    id                name                what is wrong */
/* clang-format off */
#define ERRORS(X)                                                                                                      \
    X(PROGRAM,          "program",          "the text of a program or a schedule, or a call that builds one")          \
    X(ARGUMENT,         "argument",         "an argument of a call")                                                   \
    X(BOUNDS,           "bounds",           "a region is unbounded, too large, or larger than the buffer for it")      \
    X(FILE,             "file",             "a file, or what is in it")                                                \
    X(LIMIT,            "limit",            "memory or the quota is used up")                                          \
    X(DEVICE,           "device",           "there is no such device, or it failed")                                   \
    X(INTERNAL,         "internal",         "a mistake in Kiln")                                                       \
    X(UNCOMPILABLE,     "uncompilable",     "the interpreter can run it, no schedule makes it compile")                \
    /* schedules that cannot be obeyed */                                                                              \
    X(TARGET,           "target",           "the directive is for another kind of target")                             \
    X(NO_LOOP,          "no-loop",          "there is no loop of that name")                                           \
    X(NO_LOOPS,         "no-loops",         "the function has no loops: inlined, an input, C code or not needed")      \
    X(NOT_READ,         "not-read",         "the function named does not read the other")                              \
    X(OUTPUT,           "output",           "place and storage of an output are the caller's")                         \
    X(EXTERN,           "extern",           "an extern stage is C code, which reads and fills buffers as a whole")     \
    X(NOT_INLINED,      "not-inlined",      "the function cannot be inlined")                                          \
    X(TOO_DEEP,         "too-deep",         "what is inlined makes an expression that is too deep")                    \
    X(LEVEL,            "level",            "the level is not around all that reads the function, or its storage")     \
    X(SHARED_STORAGE,   "shared-storage",   "iterations of a parallel loop would share storage")                       \
    X(FACTOR,           "factor",           "a factor is missing or too large, or an extent is not known")             \
    X(TAIL,             "tail",             "the tail strategy would change a result, or there is no tail")            \
    X(LOOP_KIND,        "loop-kind",        "the loop cannot be of that kind beside the others")                       \
    X(STEP_ORDER,       "step-order",       "steps of an update would run in another order, or at once")               \
    X(FLOAT_ORDER,      "float-order",      "floats would be added in another order, which is another result")         \
    X(NOT_ASSOCIATIVE,  "not-associative",  "the update is not f(…) = f(…) op e with an associative op")               \
    X(BOUND_ORDER,      "bound-order",      "a loop would begin before the bounds of its reduction are known")         \
    X(DEPENDENT_BOUNDS, "dependent-bounds", "bounds of a reduction depend on other variables of the update")           \
    X(NOT_SEPARABLE,    "not-separable",    "the window is no sum of sums")                                            \
    X(NOT_SCAN,         "not-scan",         "the update is not f(x, r) = … f(x, r-1) … along one argument")            \
    X(NOT_SHARED,       "not-shared",       "the two definitions cannot run in the same loops")                        \
    X(SPECIALIZED,      "specialized",      "the loops of the definition are specialized")                             \
    X(PREFETCH,         "prefetch",         "there is nothing to fetch in that loop")                                  \
    X(EXPRESSION,       "expression",       "an expression of a schedule is over what a schedule does not know")
/* clang-format on */

typedef enum ErrorId {
#define ERROR_ID(id, name, summary) ERROR_##id,
    ERRORS(ERROR_ID)
#undef ERROR_ID
        ERROR_COUNT
} ErrorId;

typedef struct ErrorInfo {
    const char *name, *summary;
} ErrorInfo;

extern const ErrorInfo error_table[ERROR_COUNT];

#endif
