/* SPDX-License-Identifier: MIT */
/* The operands of a definition: what it reads from memory, directly or through inlined nodes. */
#include "schedulers/rules/micro_kernels.h"

bool operand_moves(const Operand *o, int rank, int dim)
{
    for (int k = 0; k < rank; k++)
        if (o->var[k] == dim || o->var[k] == WILD)
            return true;
    return false;
}

/* The reader's dimension that the index depends on. Where the range is only an enclosing one, because of a condition,
 * the text tells data and several variables apart. */
static int mover(const Draft *d, const Edge *e, int k)
{
    const AccessRange *r = &e->access[k];
    if (r->exact || r->var >= 0)
        return r->var;
    const uint32_t by = def_movers(d->graph->pipeline, d->graph->nodes[e->consumer].func, e->update,
                                   d->graph->nodes[e->producer].func, k);
    return by & (MOVED_BY_DATA | ((1u << KN_MAX_RANK) - 1)) ? WILD : -1;
}

/* What is read through an edge whose reader has the operand `by` (NULL: the reader is the definition itself). */
static Operand through(const Draft *d, const Edge *e, const Operand *by)
{
    const GraphNode *node = &d->graph->nodes[e->producer];
    Operand          o    = { .node = e->producer, .direct = !by, .plain = !by || by->plain };
    for (int k = 0; k < node->rank; k++) {
        const AccessRange *r   = &e->access[k];
        const int          var = mover(d, e, k);
        o.var[k]               = var >= 0 && by ? by->var[var] : var;
        o.num[k]               = var >= 0 && by ? r->num * by->num[var] : r->num;
        o.den[k]               = var >= 0 && by ? r->den * by->den[var] : r->den;
        o.plain &= r->exact && !access_is_clamped(r);
    }
    return o;
}

static void collect(const Draft *d, int s, int update, const Operand *by, Operands *out)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->in_count; i++) {
        const Edge *e = node->in[i];
        if (!by && e->update != update)
            continue;
        const Operand o = through(d, e, by);
        if (d->choices[e->producer].where == WHERE_INLINE)
            collect(d, e->producer, 0, &o, out);
        else if (out->count < MOST_OPERANDS)
            out->at[out->count++] = o;
        else
            out->complete = false;
    }
}

void operands_of(const Draft *d, int s, int update, Operands *out)
{
    out->count    = 0;
    out->complete = true;
    collect(d, s, update, NULL, out);
}
