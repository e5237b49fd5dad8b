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

typedef struct Tune {
    Cli            *cli;
    const char     *output;  /* -o, or NULL */
    const char     *base;    /* what files of faults are called behind */
    const char     *program; /* its path */
    kn_options      options;
    kn_tune_options how;
    bool            terminal, shown, said_busy;
    int             faults;
    double          last_shown;
    Page            page;
    const char    **labels; /* --cross: of each case */
} Tune;

/* ---- tune.c ---- */

/* All that a run needs: inputs as given, or all made up where one is missing. A simulation needs sizes alone. */
int tune_prepare(Tune *t, Bindings *b);
/* From here on Ctrl-C ends searches and keeps the best, until the second. */
void tune_catch_interrupts(bool on);
/* The text of a machine as it was given: a description, a file of lines, or a name. */
int tune_machine(Cli *cli, const char *given, const char **text);
/* Takes the last line of a terminal away. */
void tune_clear_line(Tune *t);

/* ---- cross.c ---- */

/* --cross: the rest of the command, behind its settings. */
int tune_cross(Tune *t);

/* ---- page.c ---- */

/* Adds a candidate; writes the page if it is the best so far, so that one can watch. */
void page_add(Page *page, const kn_tune_step *step);
/* Writes it; `schedule` is NULL before the end. */
int  page_write(const Page *page, const char *schedule);
void page_free(Page *page);

#endif
