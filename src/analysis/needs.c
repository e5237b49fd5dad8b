/* SPDX-License-Identifier: MIT */
/* The boxes needed so far, and the first failure. */
#include "analysis/boxes.h"

Box box_empty(void)
{
    Box box;
    for (int d = 0; d < KN_MAX_RANK; d++) {
        box.min[d] = 0;
        box.max[d] = -1;
    }
    return box;
}

bool box_is_empty(const Box *box, int rank)
{
    for (int d = 0; d < rank; d++)
        if (box->min[d] > box->max[d])
            return true;
    return false;
}

void boxes_fail(Boxes *b, Failure failure)
{
    if (b->failure.kind == FAIL_NONE)
        b->failure = failure;
}

void need_add(Boxes *b, const Func *f, int d, Wide lo, Wide hi, Cause cause)
{
    BoxNeed   *n   = &b->need[f->id];
    const Wide min = n->needed ? wide_min(lo, n->box.min[d]) : lo, max = n->needed ? wide_max(hi, n->box.max[d]) : hi;
    if (max - min >= most_extent || min < INT32_MIN || max > INT32_MAX) {
        boxes_fail(b, (Failure){ .kind   = FAIL_UNBOUNDED,
                                 .func   = f,
                                 .reader = cause.reader,
                                 .update = b->update,
                                 .access = cause.access,
                                 .dim    = d });
        return;
    }
    if (!n->needed || min < n->box.min[d])
        n->cause[d][0] = cause;
    if (!n->needed || max > n->box.max[d])
        n->cause[d][1] = cause;
    n->box.min[d] = (int64_t)min;
    n->box.max[d] = (int64_t)max;
}
