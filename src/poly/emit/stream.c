/* SPDX-License-Identifier: MIT */
/* Stores past the caches.
 *
 * Takes   a vector loop around assignments, one of them to an array that the region never reads.
 * Gives   the loop in pieces that end where a page of the array does: its values go into a row on
 *         the stack, then to the array by stores that do not read the line first.
 * Holds   the array is larger than the caches, so its lines would be gone before anybody reads them. Only the ends of a
 *         row share a line with other stores.
 * From    unsharp of Zhao and Cohen 2019 on two threads of a Zen 4: 17.0 ms, 14.6 so. gcc has no other way: it ignores
 *         `nontemporal` of `omp simd`. */
#include "poly/emit/writer.h"
#include "poly/source/parser.h"

#include <isl/aff.h>
#include <isl/ilp.h>
#include <isl/map.h>
#include <isl/val.h>
#include <string.h>

enum {
    LARGE_ARRAY = 32 << 20 /* bytes; more than the last cache keeps for a core of the machines of machines/ */,
    LONG_ROW    = 1024 /* bytes: of a shorter row, most lines are at an end */
};

/* The widest stores that the compiler was told of: unsharp takes 7 % less with 64 bytes than with 16. */
static const char stream_macros[] =
    "#ifndef KN_STREAM\n"
    "#define KN_PAGE 4096 /* bytes */\n"
    "/* elements from this one to the end of its page */\n"
    "#define KN_TO_PAGE(e) ((long)((KN_PAGE - (__UINTPTR_TYPE__)&(e) % KN_PAGE + sizeof(e) - 1) / sizeof(e)))\n"
    "#if defined __AVX512F__\n"
    "#define KN_PART 64 /* bytes */\n"
    "#elif defined __AVX__\n"
    "#define KN_PART 32\n"
    "#else\n"
    "#define KN_PART 16\n"
    "#endif\n"
    "#if defined __clang__\n"
    "#define KN_STORE(to, value) __builtin_nontemporal_store(value, to)\n"
    "#elif defined __AVX512F__\n"
    "#define KN_STORE(to, value) __builtin_ia32_movntdq512(to, value)\n"
    "#elif defined __AVX__\n"
    "#define KN_STORE(to, value) __builtin_ia32_movntdq256(to, value)\n"
    "#elif defined __SSE2__\n"
    "#define KN_STORE(to, value) __builtin_ia32_movntdq(to, value)\n"
    "#else\n"
    "#define KN_STORE(to, value) (*(to) = (value))\n"
    "#endif\n"
    "#if defined __SSE2__\n"
    "#define KN_STREAMED() __builtin_ia32_sfence()\n"
    "#else\n"
    "#define KN_STREAMED() __atomic_thread_fence(__ATOMIC_SEQ_CST)\n"
    "#endif\n"
    "/* count elements, past the caches but for the ends */\n"
    "#define KN_STREAM(to, from, count) \\\n"
    "  do { \\\n"
    "    typedef long long KnPart __attribute__((vector_size(KN_PART), may_alias)); \\\n"
    "    char *kn_to = (char *)(to); \\\n"
    "    const char *kn_from = (const char *)(from); \\\n"
    "    const long kn_bytes = (count) * (long)sizeof *(from); \\\n"
    "    const long kn_lead = (long)(-(__UINTPTR_TYPE__)kn_to % KN_PART); \\\n"
    "    long kn_at = kn_lead < kn_bytes ? kn_lead : kn_bytes; \\\n"
    "    __builtin_memcpy(kn_to, kn_from, (__SIZE_TYPE__)kn_at); \\\n"
    "    for (; kn_at + KN_PART <= kn_bytes; kn_at += KN_PART) { \\\n"
    "      KnPart kn_part; \\\n"
    "      __builtin_memcpy(&kn_part, kn_from + kn_at, KN_PART); \\\n"
    "      KN_STORE((KnPart *)(kn_to + kn_at), kn_part); \\\n"
    "    } \\\n"
    "    __builtin_memcpy(kn_to + kn_at, kn_from + kn_at, (__SIZE_TYPE__)(kn_bytes - kn_at)); \\\n"
    "  } while (0)\n"
    "#endif\n";

void define_stream(const Writer *w, Text *out)
{
    if (w->uses_stream)
        text_add(out, stream_macros);
}

static bool involves(isl_ast_expr *e, const char *variable)
{
    bool found = false;
    if (isl_ast_expr_get_type(e) == isl_ast_expr_id) {
        isl_id *id = isl_ast_expr_get_id(e);
        found      = !strcmp(isl_id_get_name(id), variable);
        isl_id_free(id);
    } else if (isl_ast_expr_get_type(e) == isl_ast_expr_op) {
        for (int k = 0; !found && k < isl_ast_expr_op_get_n_arg(e); k++) {
            isl_ast_expr *arg = isl_ast_expr_op_get_arg(e, k);
            found             = involves(arg, variable);
            isl_ast_expr_free(arg);
        }
    }
    return found;
}

/* Of a statement's iterators, the only one that changes along the loop, which is the loop's variable; -1: none is. */
static int row_iterator(const Instance *n, const char *variable)
{
    int at = -1;
    for (int k = 0; k < n->count; k++) {
        if (!involves(n->iterators[k], variable))
            continue;
        if (at >= 0 || isl_ast_expr_get_type(n->iterators[k]) != isl_ast_expr_id)
            return -1;
        at = k;
    }
    return at;
}

/* Does the next value of iterator k write the next element of the array's row? */
static bool writes_row(const Access *a, int k)
{
    isl_space *space = isl_space_map_from_set(isl_space_domain(isl_map_get_space(a->relation)));
    isl_map   *next  = isl_map_identity(isl_space_copy(space));
    isl_aff *one = isl_aff_var_on_domain(isl_local_space_from_space(isl_space_domain(space)), isl_dim_set, (unsigned)k);
    isl_multi_aff *to = isl_pw_multi_aff_as_multi_aff(isl_pw_multi_aff_from_map(next));
    to                = isl_multi_aff_set_aff(to, k, isl_aff_add_constant_si(one, 1));
    isl_map  *step    = isl_map_apply_domain(isl_map_from_multi_aff(to), isl_map_copy(a->relation));
    isl_set  *by      = isl_map_deltas(isl_map_apply_range(step, isl_map_copy(a->relation)));
    isl_set  *row     = isl_set_universe(isl_set_get_space(by));
    const int rank    = (int)isl_set_dim(row, isl_dim_set);
    for (int d = 0; d < rank; d++)
        row = isl_set_fix_si(row, isl_dim_set, (unsigned)d, d == rank - 1);
    const bool is = rank > 0 && isl_set_is_subset(by, row) == isl_bool_true;
    isl_set_free(by);
    isl_set_free(row);
    return is;
}

/* Is it an array of the caller that the region only writes? */
static bool only_written(const Scop *scop, const CSymbol *array)
{
    for (size_t i = 0; i < scop->statements.count; i++)
        for (size_t k = 0; k < scop->statements.at[i].accesses.count; k++) {
            const Access *a = &scop->statements.at[i].accesses.at[k];
            if (a->array == array && !a->write)
                return false;
        }
    return !array->local && array->rank > 0;
}

/* Is it known that the region writes at least LARGE_ARRAY bytes of it? */
static bool is_large(const Scop *scop, const CSymbol *array)
{
    isl_set *all   = accessed(scop, array);
    double   bytes = (double)kn_type_size(array->type);
    for (int d = 0; d < array->rank; d++) {
        isl_val *first = isl_set_dim_min_val(isl_set_copy(all), d), *last = isl_set_dim_max_val(isl_set_copy(all), d);
        isl_val *count = isl_val_sub(last, first);
        bytes *= isl_val_is_int(count) == isl_bool_true ? isl_val_get_d(count) + 1 : 0;
        isl_val_free(count);
    }
    isl_set_free(all);
    return bytes >= LARGE_ARRAY;
}

/* Is it known that the loop's bounds are at least LONG_ROW bytes apart? */
static bool is_long(isl_ast_node *loop, const CSymbol *array)
{
    isl_ast_expr *first = isl_ast_node_for_get_init(loop), *cond = isl_ast_node_for_get_cond(loop);
    isl_ast_expr *last  = isl_ast_expr_op_get_arg(cond, 1);
    double        bytes = 0;
    if (isl_ast_expr_get_type(first) == isl_ast_expr_int && isl_ast_expr_get_type(last) == isl_ast_expr_int) {
        isl_val *count = isl_val_sub(isl_ast_expr_int_get_val(last), isl_ast_expr_int_get_val(first));
        bytes          = isl_val_get_d(count) * (double)kn_type_size(array->type);
        isl_val_free(count);
    }
    isl_ast_expr_free(first);
    isl_ast_expr_free(cond);
    isl_ast_expr_free(last);
    return bytes >= LONG_ROW;
}

static bool step_is_one(isl_ast_node *loop)
{
    isl_ast_expr *inc = isl_ast_node_for_get_inc(loop);
    isl_val      *by  = isl_ast_expr_get_type(inc) == isl_ast_expr_int ? isl_ast_expr_int_get_val(inc) : NULL;
    const bool    one = by && isl_val_is_one(by) == isl_bool_true;
    isl_val_free(by);
    isl_ast_expr_free(inc);
    return one;
}

/* The search for a statement whose values go past the caches. */
typedef struct Search {
    Writer         *w;
    isl_ast_node   *loop;
    const char     *variable;
    const Instance *found;
    bool            plain; /* there are only assignments, always executed */
} Search;

static bool pays(const Search *s, const Instance *n, int k)
{
    const Scop      *scop = s->w->tiled->scop;
    const StreamRule rule = s->w->tiled->options.stream;
    for (size_t i = 0; i < n->statement->accesses.count; i++) {
        const TiledAccess *a     = &n->statement->accesses.at[i];
        const CSymbol     *array = a->access->array;
        if (a->access->write)
            return !a->scratch && !a->access->unsure && a->access->expr->kind == CEXPR_INDEX &&
                   only_written(scop, array) && writes_row(a->access, k) &&
                   (rule == STREAM_ALL || (is_long(s->loop, array) && is_large(scop, array)));
    }
    return false;
}

static isl_bool note_streamed(isl_ast_node *node, void *user)
{
    Search                      *s    = user;
    const enum isl_ast_node_type type = isl_ast_node_get_type(node);
    s->plain &= type == isl_ast_node_user || type == isl_ast_node_block || type == isl_ast_node_mark;
    const Instance *n = type == isl_ast_node_user ? instance_of(node) : NULL;
    const int       k = n && n->statement->source && !s->found ? row_iterator(n, s->variable) : -1;
    if (k >= 0 && pays(s, n, k))
        s->found = n;
    return s->plain ? isl_bool_true : isl_bool_false;
}

const Instance *streamed(Writer *w, isl_ast_node *loop, const char *variable, isl_ast_node *body)
{
    Search s = { .w = w, .loop = loop, .variable = variable, .plain = true };
    if (w->tiled->options.stream != STREAM_NONE && loop_is(loop, MARK_VECTOR) && step_is_one(loop))
        isl_ast_node_foreach_descendant_top_down(body, note_streamed, &s);
    return s.plain ? s.found : NULL;
}

const char *stream_from(Writer *w, const StreamLoop *loop)
{
    return arena_printf(w->arena, "%s_from", loop->name);
}

static const char *stream_end(Writer *w, const StreamLoop *loop)
{
    return arena_printf(w->arena, "%s_end", stream_from(w, loop));
}

static const CSymbol *stream_array(const StreamLoop *loop)
{
    return loop->streamed->statement->source->assign->target->symbol;
}

void stream_begins(Writer *w, const StreamLoop *loop, const char *start)
{
    const char *type = stream_array(loop)->spelling, *row = stream_array(loop)->name, *name = loop->name;
    const char *from = stream_from(w, loop), *end = stream_end(w, loop);
    w->uses_stream     = true;
    w->uses_min        = true;
    w->streamed        = loop->streamed;
    w->streamed_target = arena_printf(w->arena, "%s_row[%s - %s]", row, name, from);
    open_block(w, arena_printf(w->arena, "for (long %s = %s, %s; %s %s %s; %s = %s) {", from, loop->first, end, from,
                               loop->less ? "<" : "<=", loop->last, from, end));
    line(w, arena_printf(w->arena, "%s %s_row[KN_PAGE / sizeof(%s)] __attribute__((aligned(64)));", type, row, type));
    line(w, arena_printf(w->arena, "%s = KN_MIN(%s%s, %s + KN_TO_PAGE(%s));", end, loop->last, loop->less ? "" : " + 1",
                         from, start));
    text_printf(w->out, "#pragma omp simd%s\n", loop->privates);
    open_block(w, arena_printf(w->arena, "for (long %s = %s; %s < %s; %s++) {", name, from, name, end, name));
}

void stream_ends(Writer *w, const StreamLoop *loop, const char *start)
{
    close_block(w);
    line(w, arena_printf(w->arena, "KN_STREAM(&%s, %s_row, %s - %s);", start, stream_array(loop)->name,
                         stream_end(w, loop), stream_from(w, loop)));
    close_block(w);
    line(w, "KN_STREAMED();");
    w->streamed = NULL;
}
