/* SPDX-License-Identifier: MIT */
/* Refusals, and how their messages name definitions and loops. */
#include "plan/planner.h"

bool refuse(Planner *pl, ErrorId id, Loc loc, const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_error_list(pl->cx, id, loc, remedy, format, args);
    va_end(args);
    pl->failed = true;
    return false;
}

const char *def_text(Planner *pl, const DefDraft *d)
{
    if (!d->update)
        return arena_printf(pl->arena, "`%s`", d->def->func->name);
    return arena_printf(pl->arena, "update %d of `%s`", d->def->update, d->def->func->name);
}

const char *loop_text(Planner *pl, const PlanLoop *l)
{
    return arena_strndup(pl->arena, l->name, strcspn(l->name, "."));
}
