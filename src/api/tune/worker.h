/* SPDX-License-Identifier: MIT */
/* What is said between a worker and who started it. */
#ifndef KILN_API_TUNE_WORKER_H
#define KILN_API_TUNE_WORKER_H

#include "api/tune/workers.h"

typedef enum ReplyKind { REPLY_COMPILED, REPLY_RAN, REPLY_TURN, REPLY_FAULT } ReplyKind;

/* A packet. */
typedef struct Reply {
    ReplyKind kind;
    TuneFault fault;
    double    seconds; /* of a run */
    char      reason[MOST_REASON];
} Reply;

/* The life of a worker: compiles the text (NULL: the reference is made), runs, compares, and then takes a turn for each
 * byte that it reads. Does not return. */
__attribute__((noreturn)) void worker_main(Workers *w, const char *text, int number, int fd);

/* Bytes of a dense buffer, at least 1. */
size_t worker_bytes(const kn_buffer *b);
bool   worker_is_output(const kn_pipeline *p, const char *name);

#endif
