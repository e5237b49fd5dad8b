/* SPDX-License-Identifier: MIT */
/* Dependences, and the making and freeing of a Scop.
 *
 * Takes   accesses and the order of the text.
 * Gives   flow (the last write before each read), anti and output dependences (each write, from the reads since the
 *         write before it and from that write), what is read and never written before, the last writes.
 * Holds   an order of the instances that keeps these three keeps the value of every read and every last write.
 * From    Feautrier's dataflow analysis, as isl has it. */
#include "poly/model/depend.h"
#include "poly/model/model.h"
#include "base/context.h"

#include <isl/flow.h>
#include <isl/options.h>

void scop_collect(Scop *s)
{
    isl_union_set_free(s->domain);
    isl_union_map_free(s->reads);
    isl_union_map_free(s->writes);
    isl_space *params = isl_set_get_space(s->context);
    s->domain         = isl_union_set_empty(isl_space_copy(params));
    s->reads          = isl_union_map_empty(isl_space_copy(params));
    s->writes         = isl_union_map_empty(params);
    for (size_t i = 0; i < s->statements.count; i++) {
        Statement *st = &s->statements.at[i];
        s->domain     = isl_union_set_add_set(s->domain, isl_set_copy(st->domain));
        for (size_t k = 0; k < st->accesses.count; k++) {
            const Access   *x  = &st->accesses.at[k];
            isl_union_map **to = x->write ? &s->writes : &s->reads;
            *to                = isl_union_map_add_map(*to, isl_map_copy(x->relation));
        }
    }
}

/* The last sources before each sink: of `must` exactly; those of `may` since then too. Neither is taken. */
static isl_union_flow *last_before(const Scop *s, isl_union_map *sink, isl_union_map *must, isl_union_map *may)
{
    isl_union_access_info *info = isl_union_access_info_from_sink(isl_union_map_copy(sink));
    info                        = isl_union_access_info_set_must_source(info, isl_union_map_copy(must));
    if (may)
        info = isl_union_access_info_set_may_source(info, isl_union_map_copy(may));
    info = isl_union_access_info_set_schedule(info, isl_schedule_copy(s->schedule));
    return isl_union_access_info_compute_flow(info);
}

bool scop_depend(Scop *s)
{
    isl_union_flow *flow = last_before(s, s->reads, s->writes, NULL);
    s->flow              = isl_union_map_coalesce(isl_union_flow_get_may_dependence(flow));
    s->live_in           = isl_union_flow_get_may_no_source(flow);
    isl_union_flow_free(flow);
    flow      = last_before(s, s->writes, s->writes, NULL);
    s->output = isl_union_map_coalesce(isl_union_flow_get_must_dependence(flow));
    isl_union_flow_free(flow);
    flow    = last_before(s, s->writes, s->writes, s->reads);
    s->anti = isl_union_flow_get_may_dependence(flow);
    s->anti = isl_union_map_coalesce(isl_union_map_subtract(s->anti, isl_union_map_copy(s->output)));
    isl_union_flow_free(flow);

    isl_union_set *overwritten = isl_union_map_domain(isl_union_map_copy(s->output));
    s->live_out                = isl_union_map_subtract_domain(isl_union_map_copy(s->writes), overwritten);
    for (size_t i = 0; i < s->statements.count; i++) {
        Statement    *st    = &s->statements.at[i];
        const Access *write = &st->accesses.at[st->accesses.count - 1];
        if (scop_dies(write->array))
            s->live_out = isl_union_map_subtract_domain(s->live_out, isl_union_set_from_set(isl_set_copy(st->domain)));
    }
    return s->flow && s->anti && s->output && s->live_in && s->live_out;
}

isl_ctx *scop_isl(uint64_t quota)
{
    isl_ctx *isl = isl_ctx_alloc();
    isl_options_set_on_error(isl, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(isl, quota);
    return isl;
}

void scop_isl_failed(const Scop *s)
{
    kn_context *cx = s->arena->cx;
    if (isl_ctx_last_error(s->isl) == isl_error_quota)
        diag_error_as(cx, ERROR_LIMIT, (Loc){ 0 }, "divide the region, or give --shape none",
                      "line %d: the analysis takes more operations than its quota", s->region->body->place.line);
    else
        diag_error_as(cx, ERROR_INTERNAL, (Loc){ 0 }, NULL, "isl failed: %s",
                      isl_ctx_last_error_msg(s->isl) ? isl_ctx_last_error_msg(s->isl) : "no message");
}

Statement *scop_statement(const Scop *s, const char *name)
{
    for (size_t i = 0; name && i < s->statements.count; i++)
        if (strcmp(s->statements.at[i].name, name) == 0)
            return &s->statements.at[i];
    return NULL;
}

void scop_free(Scop *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->statements.count; i++) {
        isl_set_free(s->statements.at[i].domain);
        for (size_t k = 0; k < s->statements.at[i].accesses.count; k++)
            isl_map_free(s->statements.at[i].accesses.at[k].relation);
    }
    isl_set_free(s->context);
    isl_union_set_free(s->domain);
    isl_union_map_free(s->reads);
    isl_union_map_free(s->writes);
    isl_schedule_free(s->schedule);
    isl_union_map_free(s->flow);
    isl_union_map_free(s->anti);
    isl_union_map_free(s->output);
    isl_union_map_free(s->live_in);
    isl_union_map_free(s->live_out);
    isl_union_map_free(s->private_flow);
    *s = (Scop){ .arena = s->arena };
}
