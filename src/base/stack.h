/* SPDX-License-Identifier: MIT */
/* Work on a stack whose size is known, whatever the caller's thread has. */
#ifndef KILN_BASE_STACK_H
#define KILN_BASE_STACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Address space, not memory: only pages that are used are backed.
 * DEEP   for recursion over syntax, expressions and statements, by Kiln and by LLVM. An expression 1200 deep takes up
 * to 4 MiB; 3000 nested stages take more than 8 MiB with AddressSanitizer. This leaves room for what the quota lets
 * through, some ten times as much. CALL   for compiled code: its functions keep at most 1 MiB of scratch on the stack
 * (codegen/llvm/stmt.c). */
#define STACK_DEEP ((size_t)256 << 20)
#define STACK_CALL ((size_t)2 << 20)

/* Is that much left of the stack that the caller runs on? false where it cannot be known. */
bool stack_has(size_t size);

/* A thread with a stack of that size, from start to join. It calls fn(arg). */
typedef struct StackThread {
    pthread_t thread;
    void (*fn)(void *arg);
    void *arg;
} StackThread;

bool stack_start(StackThread *t, size_t size, void (*fn)(void *arg), void *arg); /* false: the system gives none */
void stack_join(StackThread *t);

#endif
