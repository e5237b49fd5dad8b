/* SPDX-License-Identifier: MIT */
/* The statements of a region.
 *
 * Takes   the tokens between `#pragma scop` and `#pragma endscop`.
 * Gives   a Region, with loops, conditions and assignments alone. Compound assignments are written out; a declaration
 *         with a value is an assignment.
 * Holds   everything else is refused; after a refusal reading goes on behind the statement, so that one run says more
 *         than one thing. */
#include "poly/source/parser.h"

enum { MOST_STATEMENTS_DEEP = 100 };

static const CStmt *read_statement(Parser *p);

static CStmt *new_stmt(Parser *p, CStmtKind kind, size_t at)
{
    CStmt *s = ARENA_NEW(p->arena, CStmt);
    s->kind  = kind;
    s->place = place_of(p, at);
    return s;
}

/* Statements one after the other. */
typedef struct Sequence {
    VEC(const CStmt *) items;
} Sequence;

static const CStmt *sequence_stmt(Parser *p, const Sequence *list, size_t at)
{
    CStmt *s = new_stmt(p, CSTMT_BLOCK, at);
    s->items = list->items.at;
    s->count = (int)list->items.count;
    return s;
}

/* ---- Assignments ---- */

static bool mark_written(Parser *p, const CExpr *target, size_t at)
{
    for (size_t i = 0; i < p->named.count; i++) {
        CNamed *s = p->named.at[i];
        if (&s->symbol != target->symbol)
            continue;
        if (s->symbol.kind == CSYMBOL_ITERATOR)
            return refuse(p, at, "the loop's own step alone changes it", "`%s` counts a loop and is assigned in it",
                          s->symbol.name);
        s->symbol.written = true;
    }
    return true;
}

static const CStmt *assign_stmt(Parser *p, const CExpr *target, const CExpr *value, size_t at)
{
    if (!target || !value || !mark_written(p, target, at))
        return NULL;
    CStmt *s  = new_stmt(p, CSTMT_ASSIGN, at);
    s->target = target;
    s->value  = convert(p, value, target->type);
    return s;
}

static COp compound_op(const Parser *p)
{
    static const struct {
        const char *text;
        COp         op;
    } table[] = { { "+=", COP_ADD },    { "-=", COP_SUB },    { "*=", COP_MUL },  { "/=", COP_DIV },
                  { "%=", COP_REM },    { "<<=", COP_SHL },   { ">>=", COP_SHR }, { "&=", COP_BIT_AND },
                  { "|=", COP_BIT_OR }, { "^=", COP_BIT_XOR } };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is(p, table[i].text))
            return table[i].op;
    return COP_NONE;
}

/* What can be assigned: a name with its subscripts and fields. */
static const CExpr *read_target(Parser *p)
{
    const size_t at = p->at;
    const CExpr *e  = read_unary(p);
    if (e && e->kind != CEXPR_NAME && e->kind != CEXPR_INDEX)
        return refuse(p, at, NULL, "this has no place in memory that could be assigned");
    return e;
}

/* `a = b = c`: the last first, each reads the one before. */
static const CStmt *assign_chain(Parser *p, const CExpr *target, size_t begin)
{
    Sequence list              = { 0 };
    VEC(const CExpr *) targets = { 0 };
    vec_push(p->arena, &targets, target);
    for (;;) {
        const size_t at = p->at;
        const CExpr *e  = read_choice(p);
        if (!e)
            return NULL;
        if (!is(p, "=") || (e->kind != CEXPR_NAME && e->kind != CEXPR_INDEX)) {
            p->at              = at;
            const CExpr *value = read_expr(p);
            for (size_t i = targets.count; value && i-- > 0; value = targets.at[i]) {
                const CStmt *s = assign_stmt(p, targets.at[i], value, begin);
                if (!s)
                    return NULL;
                vec_push(p->arena, &list.items, s);
            }
            if (!value)
                return NULL;
            return list.items.count == 1 ? list.items.at[0] : sequence_stmt(p, &list, begin);
        }
        p->at++;
        vec_push(p->arena, &targets, e);
    }
}

/* `a = b`, `a += b`, `a++`, `++a`; without its semicolon. */
const CStmt *read_assignment(Parser *p)
{
    const size_t begin = p->at;
    const bool   up = accept(p, "++"), down = !up && accept(p, "--");
    if (token(p)->kind == CT_NAME && is_after(p, 1, "("))
        return refuse(p, begin, "assign its result, or put the call outside the region",
                      "`%s` is called for what it does, which is not known", token(p)->text);
    const size_t at     = p->at;
    const CExpr *target = read_target(p);
    if (!target)
        return NULL;
    if (up || down || is(p, "++") || is(p, "--")) {
        const bool plus = up || is(p, "++");
        p->at += !up && !down;
        return assign_stmt(p, target, binary_expr(p, plus ? COP_ADD : COP_SUB, target, int_expr(p, KN_I32, 1, at), at),
                           begin);
    }
    const COp    op   = compound_op(p);
    const size_t sign = p->at;
    if (op != COP_NONE) {
        p->at++;
        const CExpr *right = read_expr(p);
        return right ? assign_stmt(p, target, binary_expr(p, op, target, right, sign), begin) : NULL;
    }
    if (!accept(p, "="))
        return refuse(p, begin, "the statements of a region are loops, if, declarations and assignments",
                      "a statement that assigns nothing");
    return assign_chain(p, target, begin);
}

/* ---- Declarations ---- */

/* Whether a local integer is a name for its value, which then stands in its place: it is never assigned again, and
 * neither is anything that the value is made of. So `int k = i + 1;` can be part of a subscript. */
static bool is_fixed(const Parser *p, const CExpr *e)
{
    if (e->kind == CEXPR_INDEX || e->kind == CEXPR_CALL || !c_is_integer(e->type))
        return false;
    if (e->symbol && e->symbol->kind != CSYMBOL_ITERATOR) {
        const CNamed *s = (const CNamed *)(const void *)e->symbol;
        if (s->symbol.local || is_assigned(p, s->entry->name, p->region_begin, p->region_end))
            return false;
    }
    for (int i = 0; i < e->count; i++)
        if (!is_fixed(p, e->args[i]))
            return false;
    return true;
}

static bool is_name_for(const Parser *p, const CEntry *entry, const CExpr *value)
{
    return entry->type->kind == CTYPE_NUMBER && c_is_integer(entry->type->number) && !entry->type->is_volatile &&
           !is_assigned(p, entry->name, p->at, p->region_end) && is_fixed(p, value);
}

/* One declarator and its value. */
static bool read_local(Parser *p, const Specifiers *s, Sequence *list)
{
    size_t       name;
    const size_t at   = p->at;
    const CType *type = read_declarator(p, s->type, &name);
    skip_attributes(p, NULL);
    if (!type || name == NO_NAME)
        return refuse(p, at, NULL, "this declaration is not understood");
    if (s->is_static || s->is_extern)
        return refuse(p, name, "declare it before the region", "`%s` is static or extern and declared in the region",
                      p->tokens.items.at[name].text);
    if (type->kind == CTYPE_POINTER)
        return refuse(p, name, "declare it before the region, or use the array that it points to",
                      "`%s` is a pointer and declared in the region", p->tokens.items.at[name].text);
    CEntry *entry = declare(p, s, type, name);
    if (p->depth == p->region_depth)
        vec_push(p->arena, &p->own_names, entry);
    if (s->is_typedef || !accept(p, "="))
        return true;
    if (is(p, "{"))
        return refuse(p, p->at, "assign the elements", "`%s` is declared with a list of values", entry->name);
    const CExpr *value = read_expr(p);
    if (!value)
        return false;
    if (type->kind != CTYPE_NUMBER)
        return refuse(p, name, "assign its parts", "`%s` is declared with a value and is no number", entry->name);
    if (is_name_for(p, entry, value)) {
        entry->meaning = cast_expr(p, value, type->number, type->spelling);
        return true;
    }
    const CNamed *symbol = region_symbol(p, entry, entry->name, type, name);
    if (!symbol)
        return false;
    CExpr *target      = new_expr(p, CEXPR_NAME, symbol->symbol.type, name);
    target->symbol     = &symbol->symbol;
    const CStmt *first = assign_stmt(p, target, value, name);
    if (first)
        vec_push(p->arena, &list->items, first);
    return first;
}

static const CStmt *read_declarations(Parser *p)
{
    Sequence     list  = { 0 };
    Specifiers   s     = { 0 };
    const size_t begin = p->at;
    if (accept(p, "_Static_assert")) {
        skip_brackets(p);
        return expect(p, ";", "behind a declaration") ? sequence_stmt(p, &list, begin) : NULL;
    }
    if (!read_specifiers(p, &s))
        return refuse(p, begin, NULL, "this declaration is not understood");
    if (!is(p, ";"))
        do {
            if (!read_local(p, &s, &list))
                return NULL;
        } while (accept(p, ","));
    if (!expect(p, ";", "behind a declaration"))
        return NULL;
    return list.items.count == 1 ? list.items.at[0] : sequence_stmt(p, &list, begin);
}

/* ---- Loops ---- */

static const CStmt *read_for(Parser *p)
{
    const size_t begin = p->at++, loops = p->iterators.count;
    CStmt       *loop = new_stmt(p, CSTMT_FOR, begin);
    scope_begin(p);
    if (expect(p, "(", "behind `for`") && read_loop_header(p, loop))
        loop->body = read_statement(p);
    scope_end(p);
    p->iterators.count = loops;
    return loop->body ? loop : NULL;
}

/* ---- Other statements ---- */

static const CStmt *read_if(Parser *p)
{
    CStmt *s = new_stmt(p, CSTMT_IF, p->at++);
    if (!expect(p, "(", "behind `if`"))
        return NULL;
    s->condition = read_condition(p);
    if (!s->condition || !expect(p, ")", "behind a condition"))
        return NULL;
    s->body = read_statement(p);
    if (s->body && accept(p, "else")) {
        s->otherwise = read_statement(p);
        return s->otherwise ? s : NULL;
    }
    return s->body ? s : NULL;
}

/* Statements up to `end`, which is not passed. One that is refused is left out, and p->failed says so. */
static const CStmt *read_sequence(Parser *p, const char *end)
{
    Sequence     list  = { 0 };
    const size_t begin = p->at;
    while (!is(p, end) && token(p)->kind != CT_END && !is(p, "}") && !is(p, "endscop")) {
        const size_t at = p->at;
        const CStmt *s  = read_statement(p);
        if (!s) {
            p->failed = true;
            p->at     = at;
            skip_statement(p);
        } else if (s->kind != CSTMT_BLOCK || s->count > 0) {
            vec_push(p->arena, &list.items, s);
        }
    }
    return sequence_stmt(p, &list, begin);
}

static const CStmt *read_block(Parser *p)
{
    p->at++;
    scope_begin(p);
    const CStmt *s = read_sequence(p, "}");
    scope_end(p);
    return expect(p, "}", "at the end of a block") ? s : NULL;
}

static const struct {
    const char *word, *why, *remedy;
} refused[] = {
    { "while", "a while loop: how often it runs is not known",
      "write it as a for loop with an end that is known before it" },
    { "do", "a do loop: how often it runs is not known", "write it as a for loop with an end that is known before it" },
    { "break", "`break` ends a loop early: what is executed depends on data",
      "put the condition into the loop's end, or into an if around its body" },
    { "continue", "`continue` is not understood", "put the rest of the body into an if" },
    { "goto", "`goto` is not understood", "use for and if" },
    { "return", "`return` leaves the region", "put it behind `#pragma endscop`" },
    { "switch", "`switch` is not understood", "use if and else" },
    { "asm", "assembly is not understood", "put it outside the region" },
    { "__asm__", "assembly is not understood", "put it outside the region" },
};

static const CStmt *refuse_statement(Parser *p)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (is(p, refused[i].word))
            return refuse(p, p->at, refused[i].remedy, "%s", refused[i].why);
    if (token(p)->kind == CT_NAME && is_after(p, 1, ":"))
        return refuse(p, p->at, NULL, "a label is not understood");
    return NULL;
}

/* Pragmas that say how to run what follows, not what it means. */
static bool is_hint(const char *text)
{
    static const char *const words[] = { "omp ",   "GCC ivdep", "GCC unroll",       "ivdep", "simd",
                                         "vector", "unroll",    "STDC FP_CONTRACT", "acc " };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strncmp(text, words[i], strlen(words[i])))
            return true;
    return false;
}

/* `kiln temporary(A, B)`: the values of these arrays are not read behind the region. */
static bool read_temporary(Parser *p)
{
    static const char words[] = "kiln temporary";
    const char       *s       = token(p)->text;
    if (strncmp(s, words, sizeof words - 1))
        return refuse(p, p->at, "write: #pragma kiln temporary(A, B)", "`#pragma %.60s` is not understood", s);
    s += sizeof words - 1;
    for (s += strspn(s, " (,"); *s && *s != ')'; s += strspn(s, " ,")) {
        const size_t n     = strcspn(s, " ,)");
        CEntry      *entry = scope_find(p, intern_n(p->cx, s, n));
        if (!entry || entry->kind != ENTRY_OBJECT)
            return refuse(p, p->at, NULL, "`%.*s` is not declared before the region", n < 60 ? (int)n : 60, s);
        entry->temporary = p->region;
        for (size_t i = 0; i < p->named.count; i++)
            p->named.at[i]->symbol.temporary |= p->named.at[i]->entry == entry;
        s += n;
    }
    return true;
}

static const CStmt *read_pragma(Parser *p)
{
    const Sequence none = { 0 };
    if (!strncmp(token(p)->text, "kiln ", 5)) {
        const bool good = read_temporary(p);
        p->at++;
        return good ? sequence_stmt(p, &none, p->at) : NULL;
    }
    if (is(p, "scop"))
        return refuse(p, p->at, "end the first with `#pragma endscop`", "a region inside a region");
    if (!is_hint(token(p)->text))
        return refuse(p, p->at, "put it outside the region", "what `#pragma %.60s` means is not known", token(p)->text);
    p->at++;
    return is(p, "endscop") || is(p, "}") ? sequence_stmt(p, &none, p->at) : read_statement(p);
}

static const CStmt *read_plain(Parser *p)
{
    const size_t begin = p->at;
    Sequence     list  = { 0 };
    if (accept(p, ";"))
        return sequence_stmt(p, &list, begin);
    const bool known = p->failed;
    p->failed        = false;
    refuse_statement(p);
    if (p->failed)
        return NULL;
    p->failed = known;
    if (is(p, "(") && is_after(p, 1, "void")) { /* what an assertion that is switched off leaves */
        p->at += 2;
        if (!expect(p, ")", "behind a type") || !read_expr(p) || !expect(p, ";", "behind an expression"))
            return NULL;
        return sequence_stmt(p, &list, begin);
    }
    do {
        const CStmt *s = read_assignment(p);
        if (!s)
            return NULL;
        vec_push(p->arena, &list.items, s);
    } while (accept(p, ","));
    if (!expect(p, ";", "behind an assignment"))
        return NULL;
    return list.items.count == 1 ? list.items.at[0] : sequence_stmt(p, &list, begin);
}

static const CStmt *read_statement(Parser *p)
{
    const CStmt *s;
    if (++p->nesting > MOST_STATEMENTS_DEEP)
        s = refuse(p, p->at, NULL, "statements inside each other have more than %d levels", MOST_STATEMENTS_DEEP);
    else if (token(p)->kind == CT_PRAGMA)
        s = read_pragma(p);
    else if (is(p, "{"))
        s = read_block(p);
    else if (is(p, "for"))
        s = read_for(p);
    else if (is(p, "if"))
        s = read_if(p);
    else if (begins_declaration(p) && !is_after(p, 1, ":") && !is(p, "asm") && !is(p, "__asm__"))
        s = read_declarations(p);
    else
        s = read_plain(p);
    p->nesting--;
    return s;
}

/* ---- The region ---- */

/* The line of the source that token stands on: [*from, *to), without its end. false if it is in another file, or is not
 * a pragma there. */
static bool pragma_line(Parser *p, size_t at, size_t *from, size_t *to)
{
    const CToken *t = &p->tokens.items.at[at];
    const Source *s = p->source;
    size_t        i = 0;
    for (int line = 1; line < t->line && i < s->length; i++)
        line += s->text[i] == '\n';
    *from             = i;
    const char *found = memchr(s->text + i, '\n', s->length - i);
    *to               = found ? (size_t)(found - s->text) : s->length;
    while (i < *to && (s->text[i] == ' ' || s->text[i] == '\t'))
        i++;
    if (strcmp(t->file, s->name) || i >= *to || s->text[i] != '#')
        return refuse(p, at, "write `#pragma scop` and `#pragma endscop` on lines of their own",
                      "the pragma comes from a macro or from another file");
    return true;
}

/* The blanks that the first statement begins with, or the pragma if that has more. */
static const char *indent_of(const Parser *p, size_t from, size_t to, size_t first)
{
    const Source *s      = p->source;
    size_t        indent = from, line = 1, at = 0;
    while (indent < to && (s->text[indent] == ' ' || s->text[indent] == '\t'))
        indent++;
    while (p->tokens.items.at[first].kind == CT_PRAGMA && first < p->region_end)
        first++;
    for (; at < s->length && line < (size_t)p->tokens.items.at[first].line; at++)
        line += s->text[at] == '\n';
    size_t end = at;
    while (end < s->length && (s->text[end] == ' ' || s->text[end] == '\t'))
        end++;
    if (end - at > indent - from && !strcmp(p->tokens.items.at[first].file, s->name))
        return arena_strndup(p->arena, s->text + at, end - at);
    return arena_strndup(p->arena, s->text + from, indent - from);
}

/* Where the region stands in the file, and what its names are used for around it. */
static void place_region(Parser *p, Region *r)
{
    size_t from, to;
    if (!pragma_line(p, p->region_begin, &from, &to))
        return;
    r->begin  = from;
    r->indent = indent_of(p, from, to, p->region_begin + 1);
    if (!pragma_line(p, p->region_end, &from, &to))
        return;
    r->end = to;
    if (r->end < r->begin)
        refuse(p, p->region_begin, NULL, "the region ends before it begins");
    else if (!p->failed)
        check_uses(p);
}

/* The token of the `#pragma endscop` that belongs to the region; its block's end if there is none. */
static size_t find_end(const Parser *p)
{
    size_t at = p->at;
    while (at < p->function_end && strcmp(p->tokens.items.at[at].text, "endscop"))
        at++;
    return at;
}

bool read_region(Parser *p)
{
    const bool failed = p->failed;
    Region    *r      = ARENA_NEW(p->arena, Region);
    *r                = (Region){ .arena    = p->arena,
                                  .path     = p->source->name,
                                  .source   = p->source->text,
                                  .size     = p->source->length,
                                  .function = p->function };
    p->region_begin   = p->at++;
    p->region_end     = find_end(p);
    p->named.count = p->iterators.count = p->own_names.count = 0;
    p->nesting                                               = 0;
    p->failed                                                = false;
    p->region                                                = r;
    scope_begin(p);
    p->region_depth = p->depth;
    r->body         = read_sequence(p, "endscop");
    scope_end(p);
    if (accept(p, "endscop"))
        place_region(p, r);
    else
        refuse(p, p->region_begin, "end it with `#pragma endscop` in the same block",
               "the region does not end in the block in which it begins");
    const bool good    = !p->failed;
    p->failed          = failed || !good;
    p->region          = NULL;
    p->iterators.count = p->named.count = 0;
    if (good)
        vec_push(p->arena, &p->out->items, r);
    return good;
}
