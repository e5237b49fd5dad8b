/* Statements as text: one line each, two blanks per level. */
#include "ir/print.h"

typedef struct Printer {
    Text *out;
    int   depth;
} Printer;

static void print(Printer *p, const Stmt *s);

static void line(Printer *p)
{
    for (int i = 0; i < p->depth; i++)
        text_add(p->out, "  ");
}

static void body(Printer *p, const Stmt *s)
{
    p->depth++;
    print(p, s);
    p->depth--;
}

static void list(Printer *p, int count, const Expr *const *items)
{
    for (int i = 0; i < count; i++) {
        text_add(p->out, i ? ", " : "");
        expr_print(p->out, items[i]);
    }
}

static void print_let(Printer *p, const Stmt *s)
{
    text_printf(p->out, "let %s = ", s->let.name);
    expr_print(p->out, s->let.value);
    text_add(p->out, "\n");
    print(p, s->let.body);
}

static void print_for(Printer *p, const Stmt *s)
{
    text_printf(p->out, "%s %s from ", loop_kind_names[s->loop.kind], s->loop.name);
    expr_print(p->out, s->loop.min);
    text_add(p->out, " extent ");
    expr_print(p->out, s->loop.extent);
    text_add(p->out, ":\n");
    body(p, s->loop.body);
}

static void print_if(Printer *p, const Stmt *s)
{
    text_add(p->out, "if ");
    expr_print(p->out, s->branch.condition);
    text_add(p->out, ":\n");
    body(p, s->branch.yes);
    if (!s->branch.no)
        return;
    line(p);
    text_add(p->out, "else:\n");
    body(p, s->branch.no);
}

static void print_box(Printer *p, int rank, const Expr *const *min, const Expr *const *extent)
{
    for (int d = 0; d < rank; d++) {
        text_add(p->out, d ? ", " : "");
        expr_print(p->out, min[d]);
        text_add(p->out, " extent ");
        expr_print(p->out, extent[d]);
    }
}

static void print_store(Printer *p, const Stmt *s)
{
    for (int i = 0; i < s->store.count; i++) {
        const Place *at = &s->store.places[i];
        text_printf(p->out, "%s%s[", i ? ", " : "", at->buffer->name);
        expr_print(p->out, at->index);
        text_add(p->out, "]");
    }
    text_add(p->out, s->store.atomic ? " atomic = " : s->store.stream ? " stream = " : " = ");
    for (int i = 0; i < s->store.count; i++) {
        text_add(p->out, i ? ", " : "");
        expr_print(p->out, s->store.places[i].value);
    }
    text_add(p->out, "\n");
}

static void print(Printer *p, const Stmt *s)
{
    if (s->kind == STMT_BLOCK) {
        for (int i = 0; i < s->block.count; i++)
            print(p, s->block.items[i]);
        return;
    }
    line(p);
    switch (s->kind) {
    case STMT_LET: print_let(p, s); break;
    case STMT_FOR: print_for(p, s); break;
    case STMT_BLOCK: break;
    case STMT_IF: print_if(p, s); break;
    case STMT_PRODUCE:
        text_printf(p->out, "produce %s", s->produce.func);
        if (s->produce.update >= 0)
            text_printf(p->out, " update %d", s->produce.update);
        text_add(p->out, ":\n");
        body(p, s->produce.body);
        break;
    case STMT_PROVIDE:
        text_printf(p->out, "%s(", s->provide.func->name);
        list(p, s->provide.rank, s->provide.args);
        text_add(p->out, s->provide.atomic ? ") atomic = " : ") = ");
        list(p, s->provide.count, s->provide.values);
        text_add(p->out, "\n");
        break;
    case STMT_REALIZE:
        text_printf(p->out, "realize %s(", s->realize.func->name);
        print_box(p, s->realize.rank, s->realize.min, s->realize.extent);
        text_add(p->out, "):\n");
        body(p, s->realize.body);
        break;
    case STMT_STORE: print_store(p, s); break;
    case STMT_ALLOC:
        text_printf(p->out, "alloc %s %s[", kn_type_name(s->alloc.buffer->type), s->alloc.buffer->name);
        expr_print(p->out, s->alloc.count);
        text_add(p->out, "]:\n");
        body(p, s->alloc.body);
        break;
    case STMT_NEED:
        text_printf(p->out, "need %s dimension %d from ", s->need.buffer->name, s->need.dim);
        expr_print(p->out, s->need.min);
        text_add(p->out, " to ");
        expr_print(p->out, s->need.max);
        text_add(p->out, "\n");
        break;
    case STMT_CHECK:
        text_add(p->out, "check ");
        expr_print(p->out, s->check.condition);
        text_printf(p->out, " else \"%s\"\n", s->check.message);
        break;
    case STMT_STAGE:
        text_printf(p->out, s->stage->table ? "ask %s(" : "call %s(", s->stage->name);
        print_box(p, s->stage->output.rank, s->stage->box_min, s->stage->box_extent);
        text_add(p->out, ")\n");
        break;
    case STMT_PREFETCH:
        text_printf(p->out, s->prefetch.func ? "prefetch %s(" : "prefetch %s[",
                    s->prefetch.func ? s->prefetch.func->name : s->prefetch.buffer->name);
        for (int d = 0; d < s->prefetch.rank; d++) {
            text_add(p->out, d ? ", " : "");
            expr_print(p->out, s->prefetch.args[d]);
        }
        if (!s->prefetch.func)
            expr_print(p->out, s->prefetch.index);
        text_add(p->out, s->prefetch.func ? ")\n" : "]\n");
        break;
    }
}

void stmt_print(Text *out, const Stmt *s)
{
    Printer p = { out, 0 };
    if (s)
        print(&p, s);
}
