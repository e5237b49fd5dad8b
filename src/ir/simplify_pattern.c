/* SPDX-License-Identifier: MIT */
/* The reader of patterns: infix operators by precedence, functions by name, variables by their first letter. */
#include "ir/simplify_rules.h"

#include <ctype.h>

typedef struct Reader {
    Arena      *arena;
    const char *at;
    bool        failed;
} Reader;

typedef struct Infix {
    const char *text;
    int         binding; /* larger binds tighter */
    ExprOp      op;
} Infix;

/* Longer texts first where one begins another. */
/* clang-format off */
static const Infix infixes[] = {
    { "||", 1, EX_OR },  { "&&", 2, EX_AND },    { "==", 3, EX_EQ }, { "!=", 3, EX_NE },  { "<=", 4, EX_LE },  { "<",
      4, EX_LT },
    { "|", 5, EX_BIT_OR }, { "^", 6, EX_BIT_XOR }, { "&", 7, EX_BIT_AND }, { "+", 9, EX_ADD }, { "-", 9, EX_SUB },
      { "*", 10, EX_MUL },
    { "/", 10, EX_DIV }, { "%", 10, EX_MOD },
};
/* clang-format on */

typedef struct Function {
    const char *name;
    PatternKind kind;
    ExprOp      op;
    int         count;
} Function;

static const Function functions[] = {
    { "min", PATTERN_OP, EX_MIN, 2 },       { "max", PATTERN_OP, EX_MAX, 2 },        { "abs", PATTERN_OP, EX_ABS, 1 },
    { "select", PATTERN_OP, EX_SELECT, 3 }, { "exact", PATTERN_EXACT, EX_COUNT, 1 },
};

typedef struct Letter {
    char        letter;
    PatternKind kind;
    int         variable;
} Letter;

/* c is followed by the digit of the constant. */
/* clang-format off */
static const Letter letters[] = {
    { 'x', PATTERN_INT, 0 },       { 'y', PATTERN_INT, 1 },       { 'z', PATTERN_INT, 2 }, { 'w', PATTERN_INT, 3 },
      { 'p', PATTERN_CONDITION, 4 },
    { 'q', PATTERN_CONDITION, 5 }, { 'a', PATTERN_ANY, 6 },       { 'b', PATTERN_ANY, 7 }, { 'd', PATTERN_ANY, 8 },
    { 'c', PATTERN_CONSTANT, 9 },
};
/* clang-format on */
#define COUNT(table) (sizeof table / sizeof *table)

static const Pattern *read_infix(Reader *r, int binding);

static void skip_space(Reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool take(Reader *r, const char *text)
{
    skip_space(r);
    if (strncmp(r->at, text, strlen(text)))
        return false;
    r->at += strlen(text);
    return true;
}

static Pattern *new_pattern(Reader *r, PatternKind kind)
{
    Pattern *p = ARENA_NEW(r->arena, Pattern);
    p->kind    = kind;
    return p;
}

static const Pattern *with_args(Reader *r, PatternKind kind, ExprOp op, int count, const Pattern *const *args)
{
    Pattern *p     = new_pattern(r, kind);
    p->op          = op;
    p->count       = count;
    p->is_constant = kind == PATTERN_OP;
    for (int i = 0; i < count; i++) {
        p->args[i] = args[i];
        p->is_constant &= args[i] && args[i]->is_constant;
        r->failed |= !args[i];
    }
    return p;
}

static const Pattern *read_call(Reader *r, const Function *f)
{
    const Pattern *args[3] = { 0 };
    for (int i = 0; i < f->count; i++) {
        r->failed |= !take(r, i ? "," : "(");
        args[i] = read_infix(r, 1);
    }
    r->failed |= !take(r, ")");
    return with_args(r, f->kind, f->op, f->count, args);
}

static const Pattern *read_word(Reader *r)
{
    for (size_t i = 0; i < COUNT(functions); i++)
        if (take(r, functions[i].name))
            return read_call(r, &functions[i]);
    for (int truth = 0; truth < 2; truth++)
        if (take(r, truth ? "true" : "false")) {
            Pattern *p = new_pattern(r, PATTERN_TRUTH);
            p->value   = truth;
            return p;
        }
    for (size_t i = 0; i < COUNT(letters); i++)
        if (*r->at == letters[i].letter) {
            Pattern *p     = new_pattern(r, letters[i].kind);
            p->variable    = letters[i].variable;
            p->is_constant = p->kind == PATTERN_CONSTANT;
            r->at++;
            if (p->is_constant)
                p->variable += isdigit((unsigned char)*r->at) ? *r->at++ - '0' : PATTERN_VARIABLES;
            r->failed |= p->variable >= PATTERN_VARIABLES;
            return p;
        }
    r->failed = true;
    return NULL;
}

static const Pattern *read_unary(Reader *r)
{
    skip_space(r);
    if (take(r, "(")) {
        const Pattern *p = read_infix(r, 1);
        r->failed |= !take(r, ")");
        return p;
    }
    if (take(r, "!") || take(r, "~")) {
        const Pattern *a = read_unary(r);
        return with_args(r, PATTERN_OP, EX_BIT_NOT, 1, &a);
    }
    const bool minus = take(r, "-");
    if (isdigit((unsigned char)*r->at)) {
        Pattern *p     = new_pattern(r, PATTERN_NUMBER);
        p->is_constant = true;
        while (isdigit((unsigned char)*r->at))
            p->value = p->value * 10 + (*r->at++ - '0');
        p->value = minus ? -p->value : p->value;
        return p;
    }
    if (!minus)
        return read_word(r);
    const Pattern *a = read_unary(r);
    return with_args(r, PATTERN_OP, EX_NEG, 1, &a);
}

static const Infix *take_infix(Reader *r, int binding)
{
    skip_space(r);
    for (size_t i = 0; i < COUNT(infixes); i++)
        if (!strncmp(r->at, infixes[i].text, strlen(infixes[i].text))) {
            if (infixes[i].binding < binding)
                return NULL;
            r->at += strlen(infixes[i].text);
            return &infixes[i];
        }
    return NULL;
}

/* Operators that bind at least as tightly as `binding`, to the left. */
static const Pattern *read_infix(Reader *r, int binding)
{
    const Pattern *left = read_unary(r);
    const Infix   *infix;
    while (!r->failed && (infix = take_infix(r, binding)) != NULL) {
        const Pattern *args[] = { left, read_infix(r, infix->binding + 1) };
        left                  = with_args(r, PATTERN_OP, infix->op, 2, args);
    }
    return left;
}

const Pattern *pattern_read(Arena *arena, const char *text)
{
    Reader         r = { .arena = arena, .at = text };
    const Pattern *p = read_infix(&r, 1);
    skip_space(&r);
    return r.failed || *r.at ? NULL : p;
}
