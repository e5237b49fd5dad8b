/* SPDX-License-Identifier: MIT */
/* Directives: each is handed to its handler, in its phase. The table is pipeline/schedule.h's. */
#include "plan/directives.h"

typedef struct HandlerRow {
    DirectivePhase phase;
    Handler       *apply;
} HandlerRow;

static const HandlerRow handlers[DIRECTIVE_COUNT] = {
#define HANDLER_ROW(id, name, shape, targets, properties, phase, handler, summary) { PHASE_##phase, handler },
    DIRECTIVES(HANDLER_ROW)
};

DirectivePhase directive_phase(const Directive *dir)
{
    return handlers[dir->info->id].phase;
}

/* The version of the definition that the directive is about. `specialize` is about the definition itself. */
static DefDraft *version_of(DefDraft *d, const Directive *dir)
{
    const bool own = dir->version < 0 || directive_is(dir, DIR_SPECIALIZE);
    return own || (size_t)dir->version >= d->versions.count ? d : d->versions.at[dir->version].draft;
}

bool directive_apply(Planner *pl, DirectivePhase phase, FuncDraft *f, const Directive *dir)
{
    if (directive_phase(dir) != phase)
        return true;
    DefDraft *d = phase == PHASE_LOOPS ? version_of(draft_def(f, dir->update), dir) : NULL;
    return handlers[dir->info->id].apply(pl, f, d, dir);
}
