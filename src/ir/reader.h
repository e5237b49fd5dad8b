/* SPDX-License-Identifier: MIT */
/* What the files of the reader share. */
#ifndef KILN_IR_READER_H
#define KILN_IR_READER_H

#include "ir/fields.h"

typedef struct Reader {
    Program    *program;
    const char *text, *at;
    const char *furthest, *expected; /* where it could not go on, and what would have stood there */
    bool        failed;              /* what was tried last cannot be read */
    Map         types;               /* of what is bound: name -> a row of type_table */
    Map         funcs;               /* name -> Func */
    VEC(const Expr *) numbered;      /* %1, %2 … */
} Reader;

/* Notes what was expected here; gives NULL. */
void *read_fail(Reader *r, const char *expected);

/* Takes the text if it is next, after blanks; a word ends where it ends. */
bool read_take(Reader *r, const char *text);
bool read_is_next(Reader *r, const char *text);
void read_expect(Reader *r, const char *text);

/* A name, interned: letters, digits, '_', '.', '@', and numbers in brackets. */
const char   *read_name(Reader *r);
const char   *read_known_name(Reader *r); /* the longest that the program knows: "in" of "in[2]" */
kn_type       read_type(Reader *r);
int64_t       read_integer(Reader *r);
const char   *read_quoted(Reader *r);
const Buffer *read_buffer(Reader *r);
const Func   *read_func(Reader *r);
void          read_bind(Reader *r, const char *name, kn_type type);

const Expr *read_expr(Reader *r);

#endif
