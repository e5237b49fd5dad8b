/* SPDX-License-Identifier: MIT */
/* Resolving in order: what a definition names by a plain name is resolved before it.
 *
 * Resolving recurses from a definition into those it reads. A program written top down would recurse as deep as it is
 * long; walking the names first, with a stack of its own, keeps the recursion shallow whatever the order of the text.
 * What is not a plain name (a family, a template's inside) is left to the recursion. */
#include "lang/elab.h"

typedef struct Visit {
    Entry *entry;
    VEC(Entry *) reads;
    size_t next;
} Visit;

static void add_reads(Elab *el, const NameScope *scope, const Ast *a, Visit *v)
{
    Entry *e = a->kind == AST_NAME ? scope_find(scope, a->name) : NULL;
    if (e && e->state == ENTRY_NEW && !e->queued && (e->kind == ENTRY_FUNC || e->kind == ENTRY_ALIAS))
        vec_push(el->arena, &v->reads, e);
    for (int i = 0; i < a->count; i++)
        add_reads(el, scope, a->kids[i], v);
}

void resolve_in_order(Elab *el, Entry *root)
{
    VEC(Visit *) stack = { 0 };
    Entry *next        = root->state == ENTRY_NEW ? root : NULL;
    while (next || stack.count) {
        if (next) {
            Visit *v     = ARENA_NEW(el->arena, Visit);
            v->entry     = next;
            next->queued = true;
            if (next->kind == ENTRY_FUNC || next->kind == ENTRY_ALIAS)
                add_reads(el, env_scope(next->env), next->item->value, v);
            vec_push(el->arena, &stack, v);
        }
        Visit *top = stack.at[stack.count - 1];
        while (top->next < top->reads.count && top->reads.at[top->next]->queued)
            top->next++;
        next = top->next < top->reads.count ? top->reads.at[top->next++] : NULL;
        if (!next) {
            entry_value(el, top->entry, top->entry->loc);
            stack.count--;
        }
    }
}
