/* SPDX-License-Identifier: MIT */
/* The syntax tree: what was written, before names and types. */
#ifndef KILN_LANG_AST_H
#define KILN_LANG_AST_H

#include "lang/lexer.h"

typedef struct Ast    Ast;
typedef struct Item   Item;
typedef struct Clause Clause;

typedef enum AstKind {
    AST_ERROR,  /* was diagnosed; says nothing more */
    AST_INT,    /* integer */
    AST_FLOAT,  /* real, real32 */
    AST_NAME,   /* name */
    AST_INDEX,  /* kids[0] [ kids[1] ] */
    AST_FIELD,  /* kids[0] . name */
    AST_CALL,   /* kids[0] ( kids[1] … ) with labels and perhaps a clause */
    AST_UNARY,  /* op kids[0] */
    AST_BINARY, /* kids[0] op kids[1] */
    AST_IF,     /* if kids[0] then kids[1] else kids[2] */
    AST_BLOCK,  /* { let names[i] = kids[i] …  kids[count-1] } */
    AST_TUPLE,  /* ( kids[0], kids[1] … ) */
    AST_RANGE,  /* kids[0] .. kids[1] */
    AST_REST    /* .. as an argument */
} AstKind;

struct Ast {
    AstKind           kind;
    Loc               loc;
    TokenKind         op;
    const char       *name;
    unsigned __int128 integer;
    double            real;
    float             real32;
    int               height; /* of the tree: at most AST_MAX_HEIGHT, so that walks may recurse */
    int               count;
    Ast             **kids;
    Ast             **labels; /* AST_CALL: per kid, NULL where there is none */
    const char      **names;  /* AST_BLOCK */
    Clause           *clause; /* AST_CALL: `for …` after the arguments, or NULL */
};

/* for NAME in lo..hi, … where condition */
struct Clause {
    Loc          loc;
    int          count;
    const char **names;
    Loc         *locs;
    Ast        **lo, **hi;
    Ast         *where; /* or NULL */
};

typedef enum ItemKind {
    ITEM_INCLUDE,   /* name: the path */
    ITEM_TYPE,      /* type name = type */
    ITEM_CONST,     /* const name = value */
    ITEM_PARAM,     /* param name : type [= value] [in lo..hi] */
    ITEM_INPUT,     /* input name : type(x, y) — type is an AST_CALL */
    ITEM_OUTPUT,    /* output target */
    ITEM_ESTIMATE,  /* estimate target — an AST_CALL */
    ITEM_EXTERN,    /* extern type name(types) — target is an AST_CALL */
    ITEM_STAGE,     /* extern stage name(args) : type(x, y) */
    ITEM_TEMPLATE,  /* def target { body }, or def target = value */
    ITEM_RETURN,    /* return (args) = value, target NULL or a call without callee; or return value */
    ITEM_REPEAT,    /* repeat name in lo..hi { body } */
    ITEM_SCHEDULE,  /* schedule [name] [for target_name] { body of directives and repeats } */
    ITEM_DIRECTIVE, /* value: the chain f.split(…).vectorize(…) as written */
    ITEM_DEFINE     /* target op value clause */
} ItemKind;

struct Item {
    ItemKind    kind;
    Loc         loc; /* of the name that it is about */
    const char *name, *target_name;
    Ast        *target, *type, *value, *lo, *hi;
    TokenKind   op;
    Clause     *clause;
    bool        broken; /* an error in it was diagnosed: its name is known, and nothing more is said about it */
    int         count;
    Item      **body;
};

enum { AST_MAX_HEIGHT = 1500 };

/* How an operator binds; 0 for tokens that are none. */
int binary_binding(TokenKind kind);

/* Parses a program, a schedule file (statements only) or one expression. Errors are diagnosed; what could be read is
 * returned. The item returned is broken if something was lost that may have defined a name. */
Item *parse_program(kn_context *cx, Arena *arena, const Source *source);
Item *parse_schedule(kn_context *cx, Arena *arena, const Source *source);
Ast  *parse_expression(kn_context *cx, Arena *arena, const Source *source);

/* What to write instead of a list. */
extern const char no_lists[];

Ast *ast_new(Arena *arena, AstKind kind, Loc loc, int count);

#endif
