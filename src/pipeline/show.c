/* SPDX-License-Identifier: MIT */
/* Texts that show a pipeline: its functions, its graph, its schedules. */
#include "pipeline/pipeline.h"
#include "pipeline/schedule.h"

#include <inttypes.h>

static void print_signature(Text *t, const Func *f)
{
    text_printf(t, "%s(", f->name);
    for (int d = 0; d < f->rank; d++)
        text_printf(t, "%s%s", d ? ", " : "", f->args[d]);
    text_add(t, ")");
}

static void print_types(Text *t, const Func *f)
{
    for (int i = 0; i < f->component_count; i++)
        text_printf(t, "%s%s", i ? ", " : "", type_table[f->types[i]].name);
}

static void print_values(Text *t, const Func *f, const Expr *const *values)
{
    text_add(t, f->component_count > 1 ? "(" : "");
    for (int i = 0; i < f->component_count; i++) {
        text_add(t, i ? ", " : "");
        expr_print(t, values[i]);
    }
    text_add(t, f->component_count > 1 ? ")" : "");
}

static void print_update(Text *t, const Func *f, const Update *u)
{
    text_printf(t, "    %s(", f->name);
    for (int d = 0; d < f->rank; d++) {
        text_add(t, d ? ", " : "");
        expr_print(t, u->args[d]);
    }
    text_add(t, ") = ");
    print_values(t, f, u->values);
    for (int i = 0; i < u->rvar_count; i++) {
        text_printf(t, "%s%s in ", i ? ", " : "  for ", u->rvars[i].name);
        expr_print(t, u->rvars[i].lo);
        text_add(t, "..");
        expr_print(t, u->rvars[i].hi);
    }
    if (u->where) {
        text_add(t, " where ");
        expr_print(t, u->where);
    }
    text_add(t, "\n");
}

static bool is_output(const kn_pipeline *p, const Func *f)
{
    for (size_t i = 0; i < p->outputs.count; i++)
        if (p->outputs.at[i].func == f)
            return true;
    return false;
}

static void show_func(Text *t, const kn_pipeline *p, const Func *f)
{
    text_add(t, f->kind == FUNC_INPUT   ? "input  "
                : is_output(p, f)       ? "output "
                : f->kind == FUNC_STAGE ? "stage  "
                                        : "       ");
    print_signature(t, f);
    text_add(t, " : ");
    print_types(t, f);
    text_add(t, "\n");
    if (f->kind == FUNC_DEFINED) {
        text_add(t, "    = ");
        print_values(t, f, f->values);
        text_add(t, "\n");
    }
    for (int k = 0; k < f->update_count; k++)
        print_update(t, f, &f->updates[k]);
}

static void show_funcs(Text *t, kn_pipeline *p)
{
    for (size_t i = 0; i < p->params.count; i++)
        text_printf(t, "param  %s : %s\n", p->params.at[i]->name, type_table[p->params.at[i]->type].name);
    for (size_t i = 0; i < p->funcs.count; i++)
        show_func(t, p, p->funcs.at[i]);
}

static void show_graph(Text *t, kn_pipeline *p)
{
    static const char *const shapes[] = { [FUNC_DEFINED] = "ellipse", [FUNC_INPUT] = "box", [FUNC_STAGE] = "hexagon" };
    text_add(t, "digraph pipeline {\n    rankdir = TB\n    node [fontname = \"sans-serif\"]\n");
    for (size_t i = 0; i < p->funcs.count; i++) {
        const Func *f = p->funcs.at[i];
        text_printf(t, "    \"%s\" [shape = %s%s, label = \"", f->name, shapes[f->kind],
                    is_output(p, f) ? ", peripheries = 2" : "");
        print_signature(t, f);
        text_add(t, "\\n");
        print_types(t, f);
        if (f->update_count)
            text_printf(t, ", %d update%s", f->update_count, f->update_count == 1 ? "" : "s");
        text_add(t, "\"]\n");
    }
    for (size_t i = 0; i < p->funcs.count; i++) {
        FuncList callees;
        func_callees(t->arena, p->funcs.at[i], &callees);
        for (size_t k = 0; k < callees.items.count; k++)
            text_printf(t, "    \"%s\" -> \"%s\"\n", callees.items.at[k]->name, p->funcs.at[i]->name);
    }
    text_add(t, "}\n");
}

static void print_schedule_arg(Text *t, const ScheduleArg *a)
{
    if (a->label)
        text_printf(t, "%s: ", a->label);
    switch (a->kind) {
    case ARG_VAR:
    case ARG_WORD: text_add(t, a->name); break;
    case ARG_INT: text_printf(t, "%" PRId64, a->value); break;
    case ARG_EXPR: expr_print(t, a->expr); break;
    case ARG_FUNC:
        text_add(t, a->func->name);
        if (a->update >= 0)
            text_printf(t, ".update(%d)", a->update);
        break;
    }
}

void directive_write(Text *t, DirectiveId id, int count, const ScheduleArg *args)
{
    text_printf(t, ".%s(", directive_table[id].name);
    for (int k = 0; k < count; k++) {
        text_add(t, k ? ", " : "");
        print_schedule_arg(t, &args[k]);
    }
    text_add(t, ")");
}

void directive_print(Text *t, const Directive *d)
{
    directive_write(t, d->info->id, d->arg_count, d->args);
}

/* One line per function (or update) and chain of directives, as written. After specialize, stage, rfactor or separate,
 * the rest of the line is about the version or function that it made. */
static void show_schedule(Text *t, const Schedule *s)
{
    text_printf(t, "schedule%s%s%s%s {", s->name ? " " : "", s->name ? s->name : "", s->target ? " for " : "",
                s->target ? s->target : "");
    const Func *func   = NULL;
    int         update = -1, version = -1;
    for (size_t i = 0; i < s->directives.count; i++) {
        const Directive *d       = &s->directives.at[i];
        const bool       goes_on = d->version == version || (version < 0 && directive_is(d, DIR_SPECIALIZE));
        if (d->func != func || d->update != update || !goes_on) {
            text_printf(t, "\n    %s", d->func->name);
            if (d->update >= 0)
                text_printf(t, ".update(%d)", d->update);
        }
        func    = d->made ? d->made : d->func;
        update  = d->made ? d->made->update_count - 1 : d->update;
        version = d->version;
        directive_print(t, d);
    }
    text_add(t, "\n}\n");
}

void pipeline_show(Text *t, kn_pipeline *p, kn_view view)
{
    if (view == KN_VIEW_FUNCS)
        show_funcs(t, p);
    else if (view == KN_VIEW_GRAPH)
        show_graph(t, p);
    else
        for (size_t i = 0; i < p->schedules.count; i++)
            show_schedule(t, p->schedules.at[i]);
}
