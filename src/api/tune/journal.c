/* SPDX-License-Identifier: MIT */
/* The journal of a search (journal.h). Numbers are hexadecimal floats, so that they are read as they were.
 *
 *     kiln tune 1: TITLE
 *     KEY FAULT VERDICT PAIRS RATIO LOG_TIME NS SECONDS
 *
 * Holds   A line is one write: a process that is killed leaves whole lines, or a last one without its end, which is cut
 *         off when the search is resumed. */
#include "api/tune/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/files.h"

static bool read_line(const char *line, JournalLine *out)
{
    int         fault, verdict, used = 0;
    TuneOutcome o;
    if (sscanf(line, "%" SCNx64 " %d %d %d %la %la %la %la%n", &out->key, &fault, &verdict, &o.pairs, &o.ratio,
               &o.log_time, &o.ns, &out->seconds, &used) != 8 ||
        line[used] || fault < 0 || fault >= TUNE_FAULTS)
        return false;
    o.fault      = (TuneFault)fault;
    o.verdict    = verdict ? TUNE_WON : TUNE_LOST;
    out->outcome = o;
    return true;
}

/* Reads the lines; gives the length of what is whole, -1 if the title is another one. */
static ptrdiff_t read_lines(Journal *j, Arena *arena, const char *text, const char *title)
{
    const size_t first = strlen(title);
    if (strncmp(text, title, first))
        return -1;
    const char *at = text + first;
    for (const char *end; (end = strchr(at, '\n')); at = end + 1) {
        JournalLine line;
        if (!read_line(arena_strndup(arena, at, (size_t)(end - at)), &line))
            break;
        vec_push(arena, &j->lines, line);
        j->seconds = line.seconds;
    }
    return at - text;
}

static bool write_all(int fd, const char *text)
{
    const size_t n = strlen(text);
    return write(fd, text, n) == (ssize_t)n;
}

bool journal_open(kn_context *cx, Journal *j, Arena *arena, const char *path, const char *title, bool resume)
{
    Bytes       had;
    const char *first = arena_printf(arena, "kiln tune 1: %s\n", title);
    ptrdiff_t   whole = 0;
    *j                = (Journal){ .fd = -1 };
    if (resume && access(path, F_OK) == 0) {
        if (!file_read_whole(arena, path, &had)) {
            diag_status(cx, KN_ERROR_FILE, "%s: cannot be read: %s", path, strerror(errno));
            return false;
        }
        whole = read_lines(j, arena, arena_strndup(arena, had.at, had.size), first);
        if (whole < 0) {
            diag_status(cx, KN_ERROR_FILE, "%s is the journal of another search; it cannot be resumed", path);
            return false;
        }
    }
    j->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (j->fd < 0 || ftruncate(j->fd, whole) || lseek(j->fd, 0, SEEK_END) < 0 || (!whole && !write_all(j->fd, first))) {
        diag_status(cx, KN_ERROR_FILE, "%s: cannot be written: %s", path, strerror(errno));
        return false;
    }
    return true;
}

void journal_add(Journal *j, uint64_t key, const TuneOutcome *o, double seconds)
{
    char line[256];
    if (j->fd < 0)
        return;
    snprintf(line, sizeof line, "%" PRIx64 " %d %d %d %a %a %a %a\n", key, (int)o->fault, (int)o->verdict, o->pairs,
             o->ratio, o->log_time, o->ns, seconds);
    if (!write_all(j->fd, line))
        journal_close(j); /* the disk is full: what is there stays readable */
}

bool journal_find(const Journal *j, uint64_t key, TuneOutcome *outcome)
{
    for (size_t i = 0; i < j->lines.count; i++)
        if (j->lines.at[i].key == key) {
            *outcome = j->lines.at[i].outcome;
            return true;
        }
    return false;
}

void journal_close(Journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    j->fd = -1;
}
