/* SPDX-License-Identifier: MIT */
/* Every operator of the backend, on every type and in several numbers of lanes, against the interpreter's. */
#include "operators.h"

/* `few`: the operators alone. */
static void test_type(kn_type type, int lanes, bool few)
{
    OpTest *t = calloc(1, sizeof *t);
    char    what[64];
    snprintf(what, sizeof what, "%s x %d, %s", kn_type_name(type), lanes, lowered_target->name);
    operators_begin(t, type);
    add_operators(t, type, lanes);
    if (!few)
        add_constants(t, type, lanes);
    if (!few || type_bits(type) == 16)
        add_conversions(t, type, lanes);
    const Stmt *body = st_for(&t->l, LOOP_VECTOR, "x", 0, lanes, stmt_block(&t->l.arena, t->outputs, t->stores));
    t->l.p.body      = st_for(&t->l, LOOP_SERIAL, "xo", 0, N / lanes, body);
    lowered_compare(&t->l, 1, what);
    lowered_end(&t->l);
    free(t);
}

int main(void)
{
    static const int lanes[] = { 1, 2, 3, 4, 8, 16, 32 };
    if (!backend_open())
        return check_done();
    for (int type = KN_BOOL; type < KN_TYPE_COUNT; type++)
        for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
            test_type(type, lanes[i], lanes[i] != 1 && lanes[i] != 8);
#ifdef __x86_64__
    lowered_target = target_find("x86-64");
    for (int type = KN_BOOL; type < KN_TYPE_COUNT; type++)
        test_type(type, 4, true);
#endif
    return check_done();
}
