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

/* `a = b`, `a += b`, `a++`, `++a`; without its semicolon. */
static const CStmt *read_assignment(Parser *p)
{
    const size_t begin = p->at;
    const bool   up = accept(p, "++"), down = !up && accept(p, "--");
    if (token(p)->kind == CT_NAME && is_after(p, 1, "(")) {
        return refuse(p, begin, "assign its result, or put the call outside the region",
                      "`%s` is called for what it does, which is not known", token(p)->text);
    }
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
    if (!is(p, "="))
        return refuse(p, begin, "the statements of a region are loops, if, declarations and assignments",
                      "a statement that assigns nothing");
    p->at++;
    return assign_stmt(p, target, read_expr(p), begin);
}

/* ---- Declarations ---- */

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
    if (s->is_typedef || !accept(p, "="))
        return true;
    if (is(p, "{"))
        return refuse(p, p->at, "assign the elements", "`%s` is declared with a list of values", entry->name);
    const CExpr *value = read_expr(p);
    if (!value)
        return false;
    if (type->kind != CTYPE_NUMBER)
        return refuse(p, name, "assign its parts", "`%s` is declared with a value and is no number", entry->name);
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

/* Without the conversions around it. */
static const CExpr *bare(const CExpr *e)
{
    while (e->kind == CEXPR_CAST)
        e = e->args[0];
    return e;
}

static bool names(const CExpr *e, const CSymbol *symbol)
{
    if (e->symbol == symbol)
        return true;
    for (int i = 0; i < e->count; i++)
        if (names(e->args[i], symbol))
            return true;
    return false;
}

static bool is_iterator(const CExpr *e, const CSymbol *iterator)
{
    return bare(e)->kind == CEXPR_NAME && bare(e)->symbol == iterator;
}

/* `int i = first;` or `i = first;` */
static bool read_first(Parser *p, CStmt *loop, CNamed **iterator)
{
    static const char remedy[] = "write: for (int i = first; i < end; i++)";
    CEntry           *entry    = NULL;
    size_t            name     = p->at;
    if (begins_declaration(p)) {
        Specifiers s = { 0 };
        if (!read_specifiers(p, &s))
            return refuse(p, p->at, remedy, "the variable of the loop is not understood");
        const CType *type = read_declarator(p, s.type, &name);
        if (!type || name == NO_NAME || s.is_typedef || s.is_static)
            return refuse(p, p->at, remedy, "the variable of the loop is not understood");
        entry = new_entry(p, ENTRY_OBJECT, type, name);
    } else if (token(p)->kind == CT_NAME && is_after(p, 1, "=")) {
        entry = scope_find(p, token(p)->text);
        p->at++;
    }
    if (!entry || entry->kind != ENTRY_OBJECT)
        return refuse(p, name, remedy, "the loop does not begin with the value of its variable");
    if (!expect(p, "=", "behind the variable of a loop"))
        return false;
    loop->first = read_expr(p);
    if (!loop->first)
        return false;
    if (is(p, ","))
        return refuse(p, p->at, remedy, "the loop counts more than one variable");
    if (!expect(p, ";", "behind the first value of a loop"))
        return false;
    if (p->tokens.items.at[name].text == entry->name && entry->token == name)
        scope_add(p, entry); /* declared here */
    *iterator = iterator_symbol(p, entry, name);
    if (!*iterator)
        return false;
    loop->iterator = &(*iterator)->symbol;
    loop->first    = convert(p, loop->first, loop->iterator->type);
    vec_push(p->arena, &p->iterators, *iterator);
    return true;
}

/* `i < last`, or `last > i` */
static bool read_last(Parser *p, CStmt *loop)
{
    static const char remedy[] = "write: i < end, i <= end, i > end or i >= end";
    static const COp  turned[] = { [COP_LT] = COP_GT, [COP_LE] = COP_GE, [COP_GT] = COP_LT, [COP_GE] = COP_LE };
    const size_t      at       = p->at;
    if (is(p, ";"))
        return refuse(p, at, remedy, "the loop has no end");
    const CExpr *e = read_expr(p);
    if (!e || !expect(p, ";", "behind the condition of a loop"))
        return false;
    const bool compares = e->kind == CEXPR_BINARY && e->op >= COP_LT && e->op <= COP_GE;
    const bool left     = compares && is_iterator(e->args[0], loop->iterator);
    if (!compares || (!left && !is_iterator(e->args[1], loop->iterator)))
        return refuse(p, at, remedy, "the condition of the loop does not compare `%s` with where it ends",
                      loop->iterator->name);
    loop->compare = left ? e->op : turned[e->op];
    loop->last    = e->args[left ? 1 : 0];
    if (names(loop->last, loop->iterator))
        return refuse(p, at, NULL, "the end of the loop depends on `%s` itself", loop->iterator->name);
    const kn_type type = e->args[0]->type; /* that both sides are compared in */
    if (type_is_float(type))
        return refuse(p, at, "convert the end to an integer before the region", "the loop is compared with a float");
    int64_t first = -1;
    if (!type_is_signed(type) && type_is_signed(loop->iterator->type) &&
        !(constant_value(loop->first, &first) && first >= 0 && loop->compare <= COP_LE))
        return refuse(
            p, at, "cast the end: i < (int)end",
            "`%s` is signed and is compared with an unsigned number: a negative one would be taken for a large one",
            loop->iterator->name);
    return true;
}

/* `i++`, `i += c`, `i = i + c` and their like */
static bool read_step(Parser *p, CStmt *loop)
{
    const size_t at     = p->at;
    const char  *remedy = "write: i++, i--, i += c or i -= c with a constant c";
    const CStmt *s      = NULL;
    CNamed      *self   = p->iterators.at[p->iterators.count - 1];
    if (is(p, ")"))
        return refuse(p, at, remedy, "the loop has no step");
    self->symbol.kind = CSYMBOL_SCALAR; /* here it may be assigned */
    s                 = read_assignment(p);
    self->symbol.kind = CSYMBOL_ITERATOR, self->symbol.written = false;
    if (!s || !expect(p, ")", "behind the step of a loop"))
        return false;
    const CExpr *e = bare(s->value);
    const bool   sum =
        e->kind == CEXPR_BINARY && (e->op == COP_ADD || e->op == COP_SUB) && is_iterator(s->target, loop->iterator);
    const bool left = sum && is_iterator(e->args[0], loop->iterator);
    if (!sum || (!left && (e->op == COP_SUB || !is_iterator(e->args[1], loop->iterator))) ||
        !constant_value(e->args[left ? 1 : 0], &loop->step))
        return refuse(p, at, remedy, "the step of the loop is not `%s` plus or minus a constant", loop->iterator->name);
    loop->step = type_wrap(e->type == KN_U32 ? KN_I32 : e->type, loop->step);
    loop->step = e->op == COP_SUB ? -loop->step : loop->step;
    if (loop->step == 0 || (loop->step > 0) != (loop->compare <= COP_LE))
        return refuse(p, at, "a loop up ends with < or <=, a loop down with > or >=",
                      "the loop does not end: its step goes away from its end");
    return true;
}

static const CStmt *read_for(Parser *p)
{
    const size_t begin = p->at++, loops = p->iterators.count;
    CStmt       *loop     = new_stmt(p, CSTMT_FOR, begin);
    CNamed      *iterator = NULL;
    scope_begin(p);
    if (expect(p, "(", "behind `for`") && read_first(p, loop, &iterator) && read_last(p, loop) && read_step(p, loop))
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

static const CStmt *read_pragma(Parser *p)
{
    const Sequence none = { 0 };
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

bool read_region(Parser *p)
{
    const size_t begin = p->at++;
    size_t       from, to;
    Region      *r      = ARENA_NEW(p->arena, Region);
    const bool   failed = p->failed;
    p->failed           = false;
    p->named.count = p->iterators.count = 0;
    p->nesting                          = 0;
    *r                                  = (Region){ .arena    = p->arena,
                                                    .path     = p->source->name,
                                                    .source   = p->source->text,
                                                    .size     = p->source->length,
                                                    .function = p->function };
    p->region                           = r;
    const int had                       = p->depth;
    scope_begin(p);
    r->body = read_sequence(p, "endscop");
    scope_end(p);
    p->depth         = had;
    const size_t end = p->at;
    if (!is(p, "endscop")) {
        refuse(p, begin, "end it with `#pragma endscop` in the same block",
               "the region does not end in the block in which it begins");
    } else {
        p->at++;
        if (pragma_line(p, begin, &from, &to)) {
            r->begin      = from;
            size_t indent = from;
            while (indent < to && (r->source[indent] == ' ' || r->source[indent] == '\t'))
                indent++;
            r->indent = arena_strndup(p->arena, r->source + from, indent - from);
        }
        if (pragma_line(p, end, &from, &to))
            r->end = to;
        if (!p->failed)
            check_iterators(p, begin, end);
    }
    const bool good    = !p->failed;
    p->failed          = failed || !good;
    p->region          = NULL;
    p->iterators.count = p->named.count = 0;
    if (good)
        vec_push(p->arena, &p->out->items, r);
    return good;
}
