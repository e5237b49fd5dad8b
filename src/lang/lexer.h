/* SPDX-License-Identifier: MIT */
/* Tokens of a program's text. */
#ifndef KILN_LANG_LEXER_H
#define KILN_LANG_LEXER_H

#include "base/context.h"

/* Punctuation and operators: token, spelling. A spelling that begins with another comes before it. */
/* clang-format off */
#define TOKEN_OPS(X)                                                                                            \
    X(REST, "..") X(SHL, "<<") X(SHR, ">>") X(LE, "<=") X(GE, ">=") X(EQ, "==") X(NE, "!=") X(ANDAND, "&&")     \
    X(OROR, "||") X(ADD_SET, "+=") X(MUL_SET, "*=") X(MIN_SET, "min=") X(MAX_SET, "max=") X(LPAREN, "(")        \
    X(RPAREN, ")") X(LBRACKET, "[") X(RBRACKET, "]") X(LBRACE, "{") X(RBRACE, "}") X(COMMA, ",") X(COLON, ":")  \
    X(DOT, ".") X(LT, "<") X(GT, ">") X(SET, "=") X(ADD, "+") X(SUB, "-") X(MUL, "*") X(DIV, "/") X(MOD, "%")   \
    X(AND, "&") X(XOR, "^") X(OR, "|") X(NOT, "!") X(BITNOT, "~")
/* clang-format on */

typedef enum TokenKind {
    T_END,
    T_NAME,
    T_INT,
    T_FLOAT,
    T_STRING,
    T_BAD,
    T_COMMENT,
#define X(name, text) T_##name,
    TOKEN_OPS(X)
#undef X
        T_COUNT
} TokenKind;

typedef struct Token {
    TokenKind         kind;
    Loc               loc;
    const char       *name;     /* T_NAME: interned; T_STRING: its content; T_COMMENT: its text */
    unsigned __int128 integer;  /* T_INT */
    double            real;     /* T_FLOAT: nearest f64 … */
    float             real32;   /* … and nearest f32 of the digits as written */
    bool              first;    /* first on its line */
    int               newlines; /* line ends before it */
} Token;

typedef struct Tokens {
    VEC(Token) items; /* the last is T_END */
} Tokens;

/* Splits a text. A bad literal is diagnosed and stands for a number that no type holds; other bad characters are
 * diagnosed and become a T_BAD. */
void lex(kn_context *cx, Arena *arena, const Source *source, bool keep_comments, Tokens *out);

/* The spelling of an operator; NULL for the other kinds. */
const char *token_text(TokenKind kind);

#endif
