/* SPDX-License-Identifier: MIT */
/* SliceGroup: which nodes carry a dimension through to a last one. */
#include "graph_of.h"
#include "schedulers/rules/slice_groups.h"

static const char chain[] = "input in : f32(x, y, z) output out "
                            "a(x, y, z) = in(x-1, y, z) + in(x+1, y, z) "
                            "b(x, y, z) = a(2*x, y, z) + a(2*x+1, y, z) "
                            "c(x, y, z) = b(x, 2*y, z) + b(x, 2*y+1, z) "
                            "d(x, y, z) = c(x-1, y, z) + c(x+1, y, z) ";

/* The members of the first slices, the head among them; 0: there are none. */
static int members(const char *rest)
{
    char text[1024];
    snprintf(text, sizeof text, "%s%s", chain, rest);
    GraphOf o;
    graph_of(&o, text);
    const Draft d     = draft_plain(&o.graph, &o.machine, 0, &o.arena);
    SliceGroup *found = ARENA_ARRAY(&o.arena, SliceGroup, (size_t)o.graph.node_count + 1);
    const int   count = slice_groups_find(&d, 2, found, &o.arena), most = count ? found[0].count : 0;
    graph_of_end(&o);
    return most;
}

int main(void)
{
    const int to_output = members("out(x, y, z) = d(x, y-1, z) + d(x, y+1, z) estimate out(64, 32, 16)");
    const int to_sum    = members(
           "e(x, y, z) = d(x, y-1, z) + d(x, y+1, z) out(x, y) = sum(e(x, y, z) for z in 0..16) estimate out(64, 32)");
    const int across = members("out(x, y, z) = d(x, y, z-1) + d(x, y, z+1) estimate out(64, 32, 16)");
    CHECK(to_output == 5, "%d", to_output);
    CHECK(to_sum == 5, "%d", to_sum);
    CHECK(across == 0, "%d", across);
    return check_done();
}
