/* SPDX-License-Identifier: MIT */
/* The items of a program: declarations, definitions, templates, schedules.
 *
 * Newlines mean nothing: an item ends where the next begins. A word is a word of the language only where it begins an
 * item and what follows could not follow the name of a function: `input in : u8(x)` declares, `input(x) = 1` defines.
 * After an error the parser goes on at the next line that is indented no more than the item it was in; the item stays,
 * broken, so that its name is known. */
#include "lang/parser.h"
#include "base/text.h"

typedef VEC(Item *) ItemVec;

static Item *item_new(Parser *ps, ItemKind kind, Loc loc)
{
    Item *it = ARENA_NEW(ps->arena, Item);
    it->kind = kind;
    it->loc  = loc;
    return it;
}

/* { item* } with `one` reading an item; `open` was taken at `loc`. */
static void parse_body(Parser *ps, Item *owner, void (*one)(Parser *ps, ItemVec *out));

static void parse_program_item(Parser *ps, ItemVec *out);
static void parse_schedule_item(Parser *ps, ItemVec *out);

/* ---- Declarations ----------------------------------------------------------------------- */

/* Is this the next declaration: `output out` at the beginning of a line? */
static bool at_declaration(const Parser *ps);

/* A type by name, or a type with the names of dimensions: f32, u8(x, y). */
static Ast *parse_type(Parser *ps)
{
    Loc loc = { 0 };
    if (at_declaration(ps))
        parse_error(ps, NULL, "expected a type (u8, f32 …), but %s", found(ps));
    const char *name = ps->panic ? NULL : expect_name(ps, "a type (u8, f32 …)", &loc);
    Ast        *a    = ast_new(ps->arena, name ? AST_NAME : AST_ERROR, loc, 0);
    a->name          = name;
    return a;
}

static Ast *parse_type_and_dims(Parser *ps)
{
    Ast *type = parse_type(ps);
    if (!expect(ps, T_LPAREN, "and the names of the dimensions after the type, as in u8(x, y)"))
        return type;
    return parse_arguments(ps, type);
}

static void parse_include(Parser *ps, Loc loc, ItemVec *out)
{
    Item *it = item_new(ps, ITEM_INCLUDE, loc);
    if (!at_kind(ps, T_STRING)) {
        parse_error(ps, "include \"pyramid.kiln\"", "expected the name of a file in quotes, but %s", found(ps));
        return;
    }
    it->loc  = look(ps, 0)->loc;
    it->name = take(ps)->name;
    vec_push(ps->arena, out, it);
}

static void parse_type_item(Parser *ps, Loc loc, ItemVec *out)
{
    Item *it = item_new(ps, ITEM_TYPE, loc);
    it->name = expect_name(ps, "the name of the type", &it->loc);
    expect(ps, T_SET, "after the name of the type");
    it->type = parse_type(ps);
    vec_push(ps->arena, out, it);
}

static void parse_const(Parser *ps, Loc loc, ItemVec *out)
{
    Item *it = item_new(ps, ITEM_CONST, loc);
    it->name = expect_name(ps, "the name of the constant", &it->loc);
    if (at_kind(ps, T_LBRACKET))
        parse_error(ps, no_lists, "a constant has no index");
    expect(ps, T_SET, "after the name of a constant");
    it->value = parse_expr(ps);
    vec_push(ps->arena, out, it);
}

static void parse_param(Parser *ps, Loc loc, ItemVec *out)
{
    Item *it = item_new(ps, ITEM_PARAM, loc);
    it->name = expect_name(ps, "the name of the parameter", &it->loc);
    expect(ps, T_COLON, "and a type after the name of a parameter, as in param sigma : f32 = 1.5");
    it->type = parse_type(ps);
    if (at_kind(ps, T_LPAREN))
        parse_error(ps, "what has dimensions is an input", "a parameter is one number, without dimensions");
    if (accept(ps, T_SET))
        it->value = parse_expr(ps);
    if (at_word(ps, "in") && look(ps, 1)->kind != T_LPAREN && look(ps, 1)->kind != T_SET) {
        take(ps);
        it->lo = parse_expr(ps);
        expect(ps, T_REST, "between the bounds of the parameter");
        it->hi = parse_expr(ps);
    }
    vec_push(ps->arena, out, it);
}

static void parse_input(Parser *ps, Loc loc, ItemVec *out)
{
    Item *it = item_new(ps, ITEM_INPUT, loc);
    it->name = expect_name(ps, "the name of the input", &it->loc);
    expect(ps, T_COLON, "and a type after the name of an input, as in input in : u8(x, y)");
    it->type = parse_type_and_dims(ps);
    vec_push(ps->arena, out, it);
}

static void parse_output(Parser *ps, Loc loc, ItemVec *out)
{
    do {
        Item *it = item_new(ps, ITEM_OUTPUT, loc);
        if (!at_kind(ps, T_NAME)) {
            parse_error(ps, NULL, "expected the name of the output, but %s", found(ps));
            return;
        }
        it->loc    = look(ps, 0)->loc;
        it->target = parse_postfix(ps);
        if (it->target->kind == AST_CALL && !ps->panic) {
            diag_error(ps->cx, it->loc, "output out", "an output is named without arguments");
            ps->panic = true;
        }
        vec_push(ps->arena, out, it);
    } while (!ps->panic && accept(ps, T_COMMA));
}

static void parse_estimate(Parser *ps, Loc loc, ItemVec *out)
{
    Item *it   = item_new(ps, ITEM_ESTIMATE, loc);
    it->loc    = look(ps, 0)->loc;
    it->target = parse_postfix(ps);
    vec_push(ps->arena, out, it);
}

/* extern f32 curve(f32)   or   extern stage warp(f, k) : f32(x, y) */
static void parse_extern(Parser *ps, Loc loc, ItemVec *out)
{
    const bool stage = at_word(ps, "stage") && look(ps, 1)->kind == T_NAME && look(ps, 2)->kind == T_LPAREN;
    Item      *it    = item_new(ps, stage ? ITEM_STAGE : ITEM_EXTERN, loc);
    if (stage)
        take(ps);
    else if (look(ps, 1)->kind == T_LPAREN)
        parse_error(ps, "extern f32 curve(f32)", "expected the type of the result before the name of the C function");
    else
        it->type = parse_type(ps);
    const Token *name = look(ps, 0);
    it->name          = expect_name(ps, "the name of the C function", &it->loc);
    Ast *callee       = ast_new(ps->arena, AST_NAME, name->loc, 0);
    callee->name      = it->name;
    vec_push(ps->arena, out, it);
    if (!expect(ps, T_LPAREN, "and the arguments after the name of a C function"))
        return;
    it->target = parse_arguments(ps, callee);
    if (stage) {
        expect(ps, T_COLON, "and the type after an extern stage, as in extern stage warp(f) : f32(x, y)");
        it->type = parse_type_and_dims(ps);
    }
}

/* ---- Templates, repetition, schedules --------------------------------------------------- */

static void parse_def(Parser *ps, Loc loc, ItemVec *out)
{
    Item *it     = item_new(ps, ITEM_TEMPLATE, loc);
    Ast  *callee = ast_new(ps->arena, AST_NAME, look(ps, 0)->loc, 0);
    callee->name = it->name = expect_name(ps, "the name of the template", &it->loc);
    const bool inner        = ps->in_template;
    if (inner)
        diag_error(ps->cx, it->loc, "put it beside the other", "a template cannot be defined inside a template");
    vec_push(ps->arena, out, it);
    if (!expect(ps, T_LPAREN, "and the arguments after the name of a template"))
        return;
    it->target = parse_arguments(ps, callee);
    if (accept(ps, T_SET)) {
        it->value = parse_expr(ps);
        return;
    }
    ps->in_template = true;
    parse_body(ps, it, parse_program_item);
    ps->in_template = inner;
    it->broken      = inner;
}

/* return (x, y, ..) = value   or   return value */
static void parse_return(Parser *ps, Loc loc, ItemVec *out)
{
    Item *it = item_new(ps, ITEM_RETURN, loc);
    if (accept(ps, T_LPAREN)) {
        Ast *callee  = ast_new(ps->arena, AST_NAME, loc, 0);
        callee->name = intern(ps->cx, "return");
        it->target   = parse_arguments(ps, callee);
        expect(ps, T_SET, "after the arguments of the function that a template returns");
    }
    it->value = parse_expr(ps);
    vec_push(ps->arena, out, it);
}

static Item *parse_repeat_head(Parser *ps, Loc loc)
{
    Item *it = item_new(ps, ITEM_REPEAT, loc);
    it->name = expect_name(ps, "the name of the repetition's variable", &it->loc);
    expect_word(ps, "in", "after the variable of `repeat`");
    it->lo = parse_expr(ps);
    expect(ps, T_REST, "between the bounds of `repeat` (half open: 1..4 is 1, 2, 3)");
    it->hi = parse_expr(ps);
    return it;
}

static void parse_repeat(Parser *ps, Loc loc, ItemVec *out)
{
    Item *it = parse_repeat_head(ps, loc);
    parse_body(ps, it, parse_program_item);
    if (!ps->panic)
        vec_push(ps->arena, out, it);
}

static void parse_schedule_block(Parser *ps, Loc loc, ItemVec *out)
{
    Item *it = item_new(ps, ITEM_SCHEDULE, loc);
    if (at_kind(ps, T_NAME) && !(at_word(ps, "for") && look(ps, 1)->kind == T_NAME))
        it->name = take(ps)->name;
    if (accept_word(ps, "for")) {
        const Loc from  = look(ps, 0)->loc;
        it->target_name = expect_name(ps, "the target of the schedule", &(Loc){ 0 });
        while (accept(ps, T_SUB)) { /* x86-64, aarch64-linux */
            const Loc to = look(ps, 0)->loc;
            if (!accept(ps, T_INT))
                expect_name(ps, "the rest of the target", &(Loc){ 0 });
            it->target_name = arena_strndup(ps->arena, from.source->text + from.start, to.end - from.start);
        }
    }
    parse_body(ps, it, parse_schedule_item);
    vec_push(ps->arena, out, it);
}

static void parse_schedule_item(Parser *ps, ItemVec *out)
{
    const Loc loc = look(ps, 0)->loc;
    if (at_word(ps, "repeat") && look(ps, 1)->kind == T_NAME) {
        take(ps);
        Item *it = parse_repeat_head(ps, loc);
        parse_body(ps, it, parse_schedule_item);
        if (!ps->panic)
            vec_push(ps->arena, out, it);
        return;
    }
    if (at_word(ps, "schedule") && (look(ps, 1)->kind == T_NAME || look(ps, 1)->kind == T_LBRACE)) {
        take(ps);
        parse_schedule_block(ps, loc, out);
        return;
    }
    if (at_word(ps, "include") && look(ps, 1)->kind == T_STRING) {
        take(ps);
        parse_include(ps, loc, out);
        return;
    }
    if (!at_kind(ps, T_NAME)) {
        parse_error(ps, "a schedule is made of statements like blurx.compute_root().vectorize(x, 8)",
                    "expected the name of a function, but %s", found(ps));
        return;
    }
    Item *it  = item_new(ps, ITEM_DIRECTIVE, loc);
    it->value = parse_postfix(ps);
    if (!ps->panic && it->value->kind != AST_CALL)
        parse_error(ps, NULL, "expected a directive such as .compute_root(), but %s", found(ps));
    vec_push(ps->arena, out, it);
}

/* ---- Definitions ------------------------------------------------------------------------ */

static bool is_assignment(TokenKind k)
{
    return k == T_SET || k == T_ADD_SET || k == T_MUL_SET || k == T_MIN_SET || k == T_MAX_SET;
}

/* Suggests a remedy for a token after the left side of a definition. */
static const char *assignment_hint(Parser *ps)
{
    const TokenKind op = look(ps, 0)->kind;
    if (op == T_EQ)
        return "a definition has one `=`";
    if (look(ps, 1)->kind != T_SET)
        return NULL;
    return op == T_SUB   ? "write f(x) += -(…)"
           : op == T_DIV ? "write f(x) = f(x) / (…)"
                         : "updates are =, +=, *=, min= and max=";
}

/* Behind a definition begins the next item, or the body ends. */
static void expect_end(Parser *ps)
{
    const char *remedy = at_kind(ps, T_REST) ? "a range stands only in `for`, `repeat` and boundaries" : NULL;
    if (!at_kind(ps, T_NAME) && !at_kind(ps, T_END) && !at_kind(ps, T_RBRACE))
        parse_error(ps, remedy, "expected an operator or the next definition, but %s", found(ps));
}

static void parse_define(Parser *ps, ItemVec *out)
{
    Item *it   = item_new(ps, ITEM_DEFINE, look(ps, 0)->loc);
    it->value  = ast_new(ps->arena, AST_ERROR, it->loc, 0);
    it->target = parse_postfix(ps);
    it->op     = T_SET;
    vec_push(ps->arena, out, it);
    if (!ps->panic && !is_assignment(look(ps, 0)->kind)) {
        parse_error(ps, assignment_hint(ps), "expected `=` and the value of the definition, but %s", found(ps));
    }
    if (ps->panic)
        return;
    it->op    = take(ps)->kind;
    it->value = parse_expr(ps);
    if (at_clause(ps))
        it->clause = parse_clause(ps);
    expect_end(ps);
}

/* The words that begin items. */
static const struct {
    const char *word;
    void (*parse)(Parser *ps, Loc loc, ItemVec *out);
} words[] = {
    { "include", parse_include },
    { "type", parse_type_item },
    { "const", parse_const },
    { "param", parse_param },
    { "input", parse_input },
    { "output", parse_output },
    { "estimate", parse_estimate },
    { "extern", parse_extern },
    { "def", parse_def },
    { "repeat", parse_repeat },
    { "schedule", parse_schedule_block },
};
enum { WORD_COUNT = sizeof words / sizeof *words };

static bool at_declaration(const Parser *ps)
{
    bool known = false;
    for (int i = 0; i < WORD_COUNT; i++)
        known |= at_word(ps, words[i].word);
    return known && begins_line(ps, look(ps, 0)) && look(ps, 1)->kind == T_NAME;
}

/* Can the token follow the name of a function that is being defined? */
static bool follows_defined_name(TokenKind k)
{
    return k == T_LPAREN || k == T_LBRACKET || k == T_DOT || is_assignment(k);
}

/* What to do about a word of the language that stands where an item begins; NULL for other words. */
static const char *misplaced_word(const char *word)
{
    static const struct {
        const char *word, *remedy;
    } misplaced[] = {
        { "let", "`let` stands only inside { … }; elsewhere write const a = …, or a(x) = …; a formula has it so: def "
                 "f(x) = { let a = …  a*a }" },
        { "for", "reduction variables are written: for i in a..b, j in c..d" },
        { "where", "`where` follows the reduction variables: for i in a..b where …; else use if … then … else …" },
        { "return", "`return` ends a template: def name(f) { … return (x, y) = … }" },
    };
    for (size_t i = 0; i < sizeof misplaced / sizeof *misplaced; i++)
        if (!strcmp(misplaced[i].word, word))
            return misplaced[i].remedy;
    return NULL;
}

/* Two names in a row begin no item. */
static void unknown_word(Parser *ps)
{
    const char *known[WORD_COUNT];
    for (int i = 0; i < WORD_COUNT; i++)
        known[i] = words[i].word;
    const char *name = look(ps, 0)->name, *suggestion = text_suggest(ps->arena, name, known, WORD_COUNT);
    const char *misplaced = misplaced_word(name);
    if (misplaced)
        parse_error(ps, misplaced, "`%s` begins no item", name);
    else if (suggestion)
        parse_error(ps, suggestion, "`%s` begins no item", name);
    else
        parse_error(
            ps,
            "items are definitions such as f(x, y) = …, and input, output, param, const, type, include, estimate, "
            "extern, def, repeat, schedule",
            "`%s` begins no item", name);
}

static void parse_program_item(Parser *ps, ItemVec *out)
{
    const Token *t = look(ps, 0), *after = look(ps, 1);
    if (t->kind != T_NAME) {
        ps->panic |= ps->lost && t->kind == T_RBRACE; /* the end of what was lost */
        parse_error(ps, NULL, "expected a definition or a declaration, but %s", found(ps));
        return;
    }
    if (ps->in_template && !strcmp(t->name, "return") && after->kind != T_SET && after->kind != T_LBRACKET) {
        take(ps);
        parse_return(ps, t->loc, out);
        return;
    }
    if (!follows_defined_name(after->kind))
        for (int i = 0; i < WORD_COUNT; i++)
            if (!strcmp(words[i].word, t->name)) {
                take(ps);
                words[i].parse(ps, t->loc, out);
                return;
            }
    if (after->kind == T_NAME)
        unknown_word(ps);
    else
        parse_define(ps, out);
}

/* ---- Going on after an error ------------------------------------------------------------ */

/* Where to go on: the next line that is indented no more than the item, or the `}` that ends the body. An error at the
 * `=` of the next definition, or at the second word of the next declaration, was found too late: then back to its first
 * word. */
static void recover(Parser *ps, bool in_body)
{
    const Token *t    = look(ps, 0);
    size_t       line = ps->at;
    while (line > ps->item && !begins_line(ps, &ps->tokens[line]))
        line--;
    if (line > ps->item && (is_assignment(t->kind) || line + 1 == ps->at)) {
        ps->at = line;
        return;
    }
    if (ps->at == ps->item)
        take(ps);
    while (!at_kind(ps, T_END)) {
        t = look(ps, 0);
        if (begins_line(ps, t) && t->kind == T_NAME)
            break;
        if (in_body && t->kind == T_RBRACE && (!t->first || begins_line(ps, t)))
            break;
        take(ps);
    }
}

/* Reads one item. After an error in it the item is marked broken, and parsing resumes after it. */
static void parse_one(Parser *ps, ItemVec *items, void (*one)(Parser *ps, ItemVec *out), bool in_body)
{
    const size_t had = items->count, outer = ps->item;
    ps->item = ps->at;
    one(ps, items);
    if (ps->panic) {
        for (size_t i = had; i < items->count; i++)
            items->at[i]->broken = true;
        ps->lost |= items->count == had;
        recover(ps, in_body);
        ps->panic = false;
    }
    ps->item = outer;
}

/* Skips a block with all that is inside; the `{` was taken. */
static void skip_block(Parser *ps)
{
    for (int open = 1; open && !at_kind(ps, T_END); take(ps))
        open += at_kind(ps, T_LBRACE) - at_kind(ps, T_RBRACE);
}

static void parse_body(Parser *ps, Item *owner, void (*one)(Parser *ps, ItemVec *out))
{
    ItemVec   items = { 0 };
    const Loc open  = look(ps, 0)->loc;
    if (ps->panic || !expect(ps, T_LBRACE, "to begin the body"))
        return;
    if (!deeper(ps)) {
        ps->depth--;
        skip_block(ps);
        return;
    }
    while (!at_kind(ps, T_RBRACE) && !at_kind(ps, T_END))
        parse_one(ps, &items, one, true);
    ps->depth--;
    if (!accept(ps, T_RBRACE)) {
        diag_error(ps->cx, open, "close it with `}`", "this block has no end");
        ps->lost = true;
    }
    owner->body  = items.at;
    owner->count = (int)items.count;
}

static Item *parse_all(kn_context *cx, Arena *arena, const Source *source, void (*one)(Parser *ps, ItemVec *out))
{
    Tokens tokens = { 0 };
    lex(cx, arena, source, false, &tokens);
    Parser  ps    = { .cx = cx, .arena = arena, .tokens = tokens.items.at };
    ItemVec items = { 0 };
    while (!at_kind(&ps, T_END))
        parse_one(&ps, &items, one, false);
    Item *all   = item_new(&ps, ITEM_SCHEDULE, (Loc){ source, 0, 0 });
    all->body   = items.at;
    all->count  = (int)items.count;
    all->broken = ps.lost;
    return all;
}

Item *parse_program(kn_context *cx, Arena *arena, const Source *source)
{
    return parse_all(cx, arena, source, parse_program_item);
}

Item *parse_schedule(kn_context *cx, Arena *arena, const Source *source)
{
    return parse_all(cx, arena, source, parse_schedule_item);
}

Ast *parse_expression(kn_context *cx, Arena *arena, const Source *source)
{
    Tokens tokens = { 0 };
    lex(cx, arena, source, false, &tokens);
    Parser ps = { .cx = cx, .arena = arena, .tokens = tokens.items.at };
    Ast   *a  = parse_expr(&ps);
    if (!at_kind(&ps, T_END))
        parse_error(&ps, NULL, "expected the end of the expression, but %s", found(&ps));
    return a;
}
