/* SPDX-License-Identifier: MIT */
/* What the files of the C front end share: tokens, types, names in scope, and the parser. */
#ifndef KILN_POLY_SOURCE_PARSER_H
#define KILN_POLY_SOURCE_PARSER_H

#include "poly/source/source.h"

/* ---- lexer.c: tokens of preprocessed text ---- */

typedef enum CTokenKind {
    CT_END,
    CT_NAME, /* keywords too */
    CT_NUMBER,
    CT_CHARACTER,
    CT_STRING,
    CT_PUNCTUATION,
    CT_PRAGMA, /* the words behind `#pragma` */
    CT_OTHER   /* a byte that begins no token */
} CTokenKind;

typedef struct CToken {
    CTokenKind  kind;
    const char *text; /* interned */
    const char *file; /* interned, of the line marks */
    int         line;
    int         column; /* in the preprocessed text */
} CToken;

typedef struct CTokens {
    VEC(CToken) items; /* the last is CT_END */
} CTokens;

/* Splits [text, text + length). Line marks and newlines are not tokens. */
void c_lex(kn_context *cx, Arena *arena, const char *file, const char *text, size_t length, CTokens *out);

/* ---- types.c ---- */

typedef enum CTypeKind {
    CTYPE_VOID,
    CTYPE_NUMBER,
    CTYPE_POINTER,
    CTYPE_ARRAY,
    CTYPE_FUNCTION,
    CTYPE_STRUCT,
    CTYPE_OTHER /* a type that regions do not have: `spelling` says which */
} CTypeKind;

typedef struct CType  CType;
typedef struct CEntry CEntry;

typedef struct CField {
    const char  *name;
    const CType *type;
} CField;

struct CType {
    CTypeKind     kind;
    kn_type       number;
    const char   *spelling; /* of a number or of another type that is not derived */
    bool          constant, is_volatile, restricted;
    const CType  *of;         /* pointed to, element, what a function returns */
    const CExpr  *extent;     /* of an array: NULL if not known */
    bool          parameter;  /* a pointer that was declared as an array */
    int           count;      /* of the parameters or fields */
    CEntry      **parameters; /* of a function; a name may be NULL */
    bool          variadic;
    const CField *fields; /* of a struct; NULL while it is incomplete */
};

/* C's integer promotion, and the type that two operands of arithmetic are converted to. */
kn_type c_promote(kn_type t);
kn_type c_arithmetic(kn_type a, kn_type b);
bool    c_is_integer(kn_type t); /* bool too */
/* The C name of a type that has none of its own. */
const char *c_type_name(kn_type t);

/* ---- Names in scope ---- */

typedef enum CEntryKind { ENTRY_OBJECT, ENTRY_FUNCTION, ENTRY_TYPEDEF, ENTRY_CONSTANT, ENTRY_TAG } CEntryKind;

struct CEntry {
    const char   *name; /* interned */
    CEntryKind    kind;
    const CType  *type;
    int64_t       value;   /* of an enum constant, or of a const integer with a known value */
    bool          known;   /* an object has that value */
    bool          pure;    /* of a function: an attribute or its body says so */
    bool          in_file; /* declared outside of functions */
    bool          in_region;
    bool          is_static;
    bool          defined;   /* of a function: its body is in this file */
    const CExpr  *meaning;   /* of a local integer that is never assigned again: what stands in its place */
    size_t        token;     /* of its name */
    CType        *open;      /* of a tag: its type, while that can be completed */
    const Region *iterates;  /* in loops of that region */
    const Region *temporary; /* in that region */
    CEntry       *shadowed;  /* the entry of that name outside */
    CEntry       *previous;  /* the one entered before it */
    int           depth;     /* of its scope */
};

/* The symbol of a region for a name in scope or a field of it. */
typedef struct CNamed {
    CSymbol      symbol;
    CEntry      *entry;
    const char  *path; /* the name and fields that the source writes */
    const CType *type;
} CNamed;

/* ---- The parser ---- */

typedef struct Parser {
    kn_context   *cx;
    Arena        *arena;
    const Source *source;
    CTokens       tokens;
    size_t        at;
    int           quiet;  /* > 0: what fails is not said */
    bool          failed; /* since the flag was last cleared */
    int           nesting;
    int           long_bits;
    bool          char_unsigned;
    /* scopes */
    Map     names, tags; /* interned name -> CEntry */
    CEntry *newest;
    int     depth;
    /* the function that is read */
    const char *function;
    size_t      function_begin, function_end; /* tokens of its body, with the braces */
    CEntry     *judged;                       /* may still be pure; NULL: nobody asks */
    VEC(size_t) loops;                        /* around the place that is read: the token each begins with */
    /* the region that is read */
    Region *region;
    size_t  region_begin, region_end; /* the tokens of its pragmas */
    int     region_depth;             /* of its outermost scope */
    VEC(CNamed *) named;
    VEC(const CEntry *) own_names; /* declared in the outermost block of the region */
    VEC(CNamed *) iterators;       /* of the loops of the region around what is read */
    const char *temporary;         /* names that are temporary in all regions, separated by commas; or NULL */
    Regions    *out;
    /* places: the columns of the tokens of one line */
    size_t line_begin, line_end;
    int   *columns;
} Parser;

/* parser.c: tokens and errors */
const CToken *token(const Parser *p);
const CToken *token_after(const Parser *p, int ahead);
bool          is(const Parser *p, const char *text);
bool          is_after(const Parser *p, int ahead, const char *text);
bool          accept(Parser *p, const char *text);
bool          expect(Parser *p, const char *text, const char *where); /* says what is missing */
/* From an opening bracket to behind the one that closes it; false at the end of the text. */
bool skip_brackets(Parser *p);
/* Refuses, at that token; returns NULL. */
__attribute__((format(printf, 4, 5))) void *refuse(Parser *p, size_t at, const char *remedy, const char *format, ...);
CPlace                                      place_of(Parser *p, size_t at);
Loc                                         place_loc(const Source *source, CPlace place);

/* scope.c */
void    scope_begin(Parser *p);
void    scope_end(Parser *p);
void    scope_add(Parser *p, CEntry *entry);
CEntry *scope_find(const Parser *p, const char *name);
CEntry *scope_find_tag(const Parser *p, const char *name);

/* declare.c */
typedef struct Specifiers {
    const CType *type;
    bool         is_typedef, is_static, is_extern, pure;
} Specifiers;

bool begins_declaration(const Parser *p);
/* Reads `static const unsigned …`; false if there is no type, with nothing said. */
bool read_specifiers(Parser *p, Specifiers *s);
/* Reads a declarator; *name is the token of its name or NO_NAME. NULL if it is none. */
const CType *read_declarator(Parser *p, const CType *base, size_t *name);
const CType *read_type_name(Parser *p);
void         skip_attributes(Parser *p, bool *pure);
CEntry      *new_entry(Parser *p, CEntryKind kind, const CType *type, size_t name);
/* An object, function or typedef of these specifiers, put into scope. */
CEntry *declare(Parser *p, const Specifiers *s, const CType *type, size_t name);
#define NO_NAME ((size_t)-1)

/* scan.c */
void skip_statement(Parser *p);

/* expr.c */
const CExpr *read_expr(Parser *p);      /* with commas and assignments refused */
const CExpr *read_choice(Parser *p);    /* the same; an assignment is left to the caller */
const CExpr *read_condition(Parser *p); /* an expression that is int, 0 or 1 */
const CExpr *read_unary(Parser *p);

/* build.c: typed nodes */
CExpr       *new_expr(Parser *p, CExprKind kind, kn_type type, size_t at);
const CExpr *int_expr(Parser *p, kn_type type, int64_t value, size_t at);
const CExpr *convert(Parser *p, const CExpr *e, kn_type to);                     /* as C does by itself */
const CExpr *cast_expr(Parser *p, const CExpr *e, kn_type to, const char *text); /* to a type written so */
const CExpr *truth(Parser *p, const CExpr *e);
const CExpr *unary_expr(Parser *p, COp op, const CExpr *e, size_t at);
const CExpr *binary_expr(Parser *p, COp op, const CExpr *a, const CExpr *b, size_t at);
const CExpr *choice_expr(Parser *p, const CExpr *c, const CExpr *a, const CExpr *b, size_t at);
bool         constant_value(const CExpr *e, int64_t *value);

/* symbols.c: the names of a region */
CNamed *region_symbol(Parser *p, CEntry *entry, const char *name, const CType *type, size_t at);
CNamed *iterator_symbol(Parser *p, CEntry *entry, size_t at);
CNamed *function_symbol(Parser *p, CEntry *entry, size_t at);

/* literal.c */
const CExpr *read_number(Parser *p);
const CExpr *read_character(Parser *p);

/* loop.c: the brackets of a for loop, from behind the first; puts the loop's variable into scope */
bool read_loop_header(Parser *p, CStmt *loop);

/* region.c */
const CStmt *read_assignment(Parser *p); /* without its semicolon */
/* from behind `#pragma scop` to behind `#pragma endscop` */
bool read_region(Parser *p);

/* uses.c: what the tokens of a function do with a name; names in inner scopes count too */
bool is_assigned(const Parser *p, const char *name, size_t from, size_t to); /* or its address is taken */
bool address_taken(const Parser *p, const char *name, size_t from, size_t to);
/* Whether a region can be replaced where it stands. After a refusal p->failed is set. */
void check_uses(Parser *p);

/* pure.c: judges the tokens [from, to) of the function whose body is walked */
bool is_pure(const CEntry *entry);
/* Is it a function of the standard library that depends on its arguments alone? */
bool is_standard(const CEntry *entry);
void judge_begin(Parser *p, CEntry *entry);
void judge(Parser *p, size_t from, size_t to);
void judge_end(Parser *p);

#endif
