/* SPDX-License-Identifier: MIT */
/* The context: memory, names, diagnostics and the quota of one user of the library.
 *
 * Two rules keep every other file simple. Memory comes from arenas and never has to be checked. What cannot go on
 * (no memory, quota spent) bails out to the API call that began it, as a diagnostic. */
#ifndef KILN_BASE_CONTEXT_H
#define KILN_BASE_CONTEXT_H

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/stack.h"
#include "base/vec.h"
#include "base/warning.h"

/* A place in a text: [start, end) are byte offsets. `source` NULL: no place. */
typedef struct Source {
    const char *name;
    const char *text;
    size_t      length;
} Source;

typedef struct Loc {
    const Source *source;
    uint32_t      start, end;
} Loc;

typedef struct Diag {
    kn_severity severity;
    WarningId   warning; /* of a KN_WARNING */
    ErrorId     error;   /* of a KN_ERROR */
    Loc         loc;
    const char *message;
    const char *remedy; /* what would do, or NULL */
} Diag;

typedef struct Try    Try;
typedef struct Extern Extern;

/* Something of a higher layer that lives as long as the context and is not arena memory: a pipeline, the threads of the
 * runtime. It is the first member of that layer's struct. */
typedef struct Owned Owned;
struct Owned {
    Owned *next;
    void (*free)(kn_context *cx, Owned *o); /* calls context_disown and frees it */
};

/* What happens in place of a bail-out while objects of another library are held that would be lost by it. */
typedef struct Hold {
    void (*stop)(void *user); /* makes the library's calls fail from now on, so that its user comes to an end */
    void       *user;
    const char *why; /* the first bail-out that was put off, or NULL */
} Hold;

struct kn_context {
    kn_config    config;
    size_t       memory_used;
    uint64_t     quota_left;
    Arena        arena;      /* lives as long as the context */
    Arena        call;       /* lives from one API call to the next: diagnostics, results handed out */
    const char **name_table; /* the interned names, open addressed */
    size_t       name_capacity, name_count;
    VEC(Diag) diags;
    int         error_count, warning_count; /* also count those beyond config.max_errors */
    bool        muted;                      /* the last error or warning was dropped, so its notes are dropped too */
    bool        silent[WARNING_COUNT];      /* switched off */
    kn_status   status;                     /* of the call: the first error's */
    const char *bailed;                     /* why the call could not go on, or NULL */
    ErrorId     bailed_error;
    Try        *tries;
    Hold       *hold;
    bool        deep;      /* on a thread with a stack of its own (context_deep) */
    locale_t    plain;     /* the C locale: numbers have a decimal point in any locale of the program */
    Arena      *scratches; /* begun and not ended, the newest first */
    Owned      *owned;     /* freed with the context, the newest first */
    Map         slots;     /* of higher layers: the address of something static there -> what it keeps here */
    Map         defines;   /* interned name -> const char *value */
    Map         externs;   /* interned name -> Extern */
    VEC(void *) blocks;    /* kn_buffer_alloc's that are alive; NULL where freed */
};

/* A C function made known by kn_extern_function or kn_extern_stage. */
struct Extern {
    void (*function)(void);
    kn_stage *stage;
    void     *user;
};

/* From now on kn_context_free frees it by o->free, unless context_disown is called before. */
void context_own(kn_context *cx, Owned *o);
void context_disown(kn_context *cx, const Owned *o);

/* Begins an API call: forgets the diagnostics of the last one and refills the quota. */
void context_begin(kn_context *cx);

/* Calls fn(arg). false if it bailed out; then a diagnostic has been added. */
bool context_try(kn_context *cx, void (*fn)(void *arg), void *arg);
/* The same on a stack of STACK_DEEP bytes: for API calls that recurse over syntax, expressions or statements. */
bool context_call(kn_context *cx, void (*fn)(void *arg), void *arg);
/* Calls fn(arg) on a stack with at least `stack` bytes left: this one, or that of a new thread. A bail-out goes to the
 * innermost context_try of the caller. */
void context_deep(kn_context *cx, size_t stack, void (*fn)(void *arg), void *arg);
/* The same for optional work. It gets half of the quota that is left. If it bails out or finds errors, its diagnostics
 * are removed and the result is false. */
bool context_attempt(kn_context *cx, void (*fn)(void *arg), void *arg);
/* Adds the error and leaves the innermost context_try. Does not return. */
__attribute__((noreturn)) void context_bail(kn_context *cx, kn_status status, const char *message);
/* The same for a mistake of Kiln's own. */
__attribute__((noreturn)) void context_bail_internal(kn_context *cx, kn_status status, const char *message);

/* From now on, until context_unhold, running out of memory or of quota does not bail out: h->stop is called, and memory
 * beyond the limit comes from malloc. Only if that has none either, there is a bail-out, and the objects are lost. */
void context_hold(kn_context *cx, Hold *h);
/* Ends it when all objects are freed; bails out if that was put off. */
void context_unhold(kn_context *cx);

/* Spends n operations; bails out when the quota is used up. */
void context_spend(kn_context *cx, uint64_t n);

/* Raw memory under the context's limit: NULL if there is none. Only arena.c and buffers call these. */
void *context_allocate(kn_context *cx, size_t size);
void *context_allocate_raw(kn_context *cx, size_t size);            /* not zeroed */
void *context_borrow(kn_context *cx, size_t size, const char *why); /* zeroed, beyond the limit; NULL: not held */
void  context_release(kn_context *cx, void *block);

/* The one copy of a name. Equal names are equal pointers. */
const char *intern(kn_context *cx, const char *name);
const char *intern_n(kn_context *cx, const char *name, size_t n);

/* Adds a diagnostic. `remedy` is text that the caller has formatted, or NULL. */
__attribute__((format(printf, 4, 5))) void diag_error(kn_context *cx, Loc loc, const char *remedy, const char *format,
                                                      ...);
/* An error of another row than ERROR_PROGRAM. */
__attribute__((format(printf, 5, 6))) void diag_error_as(kn_context *cx, ErrorId id, Loc loc, const char *remedy,
                                                         const char *format, ...);
void diag_error_list(kn_context *cx, ErrorId id, Loc loc, const char *remedy, const char *format, va_list args);
__attribute__((format(printf, 5, 6))) void diag_warning(kn_context *cx, WarningId id, Loc loc, const char *remedy,
                                                        const char *format, ...);
__attribute__((format(printf, 3, 4))) void diag_note(kn_context *cx, Loc loc, const char *format, ...);
/* An error about an argument of an API call, with its status. Returns the status, to be returned. */
__attribute__((format(printf, 3, 4))) kn_status diag_status(kn_context *cx, kn_status status, const char *format, ...);
/* An error about a name that is none of `names`: "WHAT `name`, did you mean `x`?; LIST: a, b, c". */
void diag_unknown(kn_context *cx, const char *what, const char *name, const char *list, const char *const *names,
                  size_t count);
/* The row of an error of which no more than its status is known. */
ErrorId error_of_status(kn_status status);
/* Has an error of that row been added, in the call that is going on or ended last? */
bool diag_has(const kn_context *cx, ErrorId id);

/* From the beginning of the one to the end of the other. */
Loc loc_join(Loc a, Loc b);

#endif
