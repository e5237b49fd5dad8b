/* SPDX-License-Identifier: MIT */
/* Variables that are declared outside of a region and count a loop in it.
 *
 * Takes   the tokens of the function.
 * Gives   a refusal where the value that such a variable has behind its loop could be read: the generated loops do not
 *         compute it.
 * Holds   a use is harmless inside `for (i = …)`, which sets the variable first, and behind an assignment `i = …;`. */
#include "poly/source/parser.h"

/* Is there a use of `name` in [from, to) that may read a value from before `from`? */
static bool read_in(Parser *p, const char *name, size_t from, size_t to)
{
    const size_t at    = p->at;
    bool         found = false;
    for (p->at = from; p->at < to && !found;) {
        if (is(p, "for") && is_after(p, 1, "(") && token_after(p, 2)->text == name && is_after(p, 3, "=")) {
            skip_statement(p);
            continue;
        }
        found = token(p)->kind == CT_NAME && token(p)->text == name && !is_after(p, -1, ".") && !is_after(p, -1, "->");
        p->at++;
    }
    p->at = at;
    return found;
}

static bool may_be_read(Parser *p, const CNamed *s, size_t begin, size_t end)
{
    if (s->entry->in_file || s->entry->is_static)
        return true;
    const size_t outermost = p->loops.count ? p->loops.at[0] : begin;
    return read_in(p, s->entry->name, end, p->function_end) || read_in(p, s->entry->name, outermost, begin);
}

bool check_iterators(Parser *p, size_t begin, size_t end)
{
    for (size_t i = 0; i < p->named.count; i++) {
        const CNamed *s = p->named.at[i];
        if (s->symbol.kind == CSYMBOL_ITERATOR && !s->symbol.local && may_be_read(p, s, begin, end))
            return refuse(p, begin, "declare it in the loop: for (int i = …",
                          "`%s` counts a loop of this region and might be read behind it", s->symbol.name);
    }
    return true;
}
