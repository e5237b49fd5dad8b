/* SPDX-License-Identifier: MIT */
/* What the two files of the parser share: parse_expr.c reads expressions, parse_item.c the items of a program. */
#ifndef KILN_LANG_PARSER_H
#define KILN_LANG_PARSER_H

#include "lang/ast.h"

typedef struct Parser {
    kn_context  *cx;
    Arena       *arena;
    const Token *tokens;
    size_t       at; /* the token looked at; the last is T_END and is never passed */
    int          depth;
    bool         panic; /* an error of this item was diagnosed: say no more until the next item */
    bool         in_template, too_deep;
    bool         lost; /* an item could not be read at all: names may be missing */
    size_t       item; /* first token of the item */
} Parser;

enum { PARSE_MAX_DEPTH = 200 };

const Token *look(const Parser *ps, size_t ahead);
const Token *take(Parser *ps);
bool         at_kind(const Parser *ps, TokenKind kind);
bool         at_word(const Parser *ps, const char *word);
/* Takes the token if it is of that kind. */
bool accept(Parser *ps, TokenKind kind);
bool accept_word(Parser *ps, const char *word);
/* Takes the token, or diagnoses "expected `kind` …" once per item. `why` ends the sentence. */
bool expect(Parser *ps, TokenKind kind, const char *why);
bool expect_word(Parser *ps, const char *word, const char *why);
/* A name, or NULL after a diagnostic. */
const char *expect_name(Parser *ps, const char *what, Loc *loc);
/* Does the token begin a line that is indented no more than the item that is being read? Then the item has probably
 * ended before it. */
bool begins_line(const Parser *ps, const Token *t);
/* Diagnoses what stands at the current token; a T_BAD has been diagnosed already. */
__attribute__((format(printf, 3, 4))) void parse_error(Parser *ps, const char *remedy, const char *format, ...);
/* "`foo`", "the end of the file" …: the current token in words. */
const char *found(Parser *ps);
bool        deeper(Parser *ps); /* one level of nesting more; false (diagnosed) at the limit. Pair with ps->depth-- */

Ast    *parse_expr(Parser *ps);
Ast    *parse_postfix(Parser *ps);
Ast    *parse_arguments(Parser *ps, Ast *callee); /* after the `(` */
Clause *parse_clause(Parser *ps);                 /* at `for` */
bool    at_clause(const Parser *ps);

#endif
