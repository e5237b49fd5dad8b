/* SPDX-License-Identifier: MIT */
/* kiln tune: what its files share. */
#ifndef KILN_CLI_TUNE_H
#define KILN_CLI_TUNE_H

#include "cli/cli.h"

/* A candidate, for the page. */
typedef struct PagePoint {
    double seconds, speedup, ratio;
    bool   is_best, is_fault;
    char   what[120];
} PagePoint;

typedef struct Page {
    const char *path; /* NULL: no page */
    const char *program;
    PagePoint  *at;
    int         count, room;
} Page;

/* ---- page.c ---- */

/* Adds a candidate; writes the page if it is the best so far, so that one can watch. */
void page_add(Page *page, const kn_tune_step *step);
/* Writes it; `schedule` is NULL before the end. */
int  page_write(const Page *page, const char *schedule);
void page_free(Page *page);

#endif
