/* Work on a stack whose size is known, whatever the caller's thread has. */
#ifndef KILN_BASE_STACK_H
#define KILN_BASE_STACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Address space, not memory: only pages that are used are backed.
 * DEEP   for recursion over syntax, expressions and statements, by Kiln and by LLVM. Measured need of the deepest inputs that the limits let through (expressions of EXPR_MAX_DEPTH,
 *        as many nested stages as the quota allows): under 40 MiB, and under 130 MiB with AddressSanitizer.
 * CALL   for compiled code: its functions keep at most 1 MiB of scratch on the stack (codegen/llvm_stmt.c). */
#define STACK_DEEP ((size_t)256 << 20)
#define STACK_CALL ((size_t)2 << 20)

/* Is that much left of the stack that the caller runs on? false where it cannot be known. */
bool stack_has(size_t size);

/* A thread with a stack of that size, from start to join. It calls fn(arg). */
typedef struct StackThread {
    pthread_t thread;
    void    (*fn)(void *arg);
    void     *arg;
} StackThread;

bool stack_start(StackThread *t, size_t size, void (*fn)(void *arg), void *arg);    /* false: the system gives none */
void stack_join(StackThread *t);

#endif
