/* The size of an output that was not given one: what the library fits, and in words why. */
#include "cli.h"

/* Whether nothing limits the output along dimension d: one more pixel would do as well. */
static bool is_unlimited(Bindings *b, Binding *out, int d)
{
    const kn_region *regions;
    int              count;
    if (out->buffer.dim[d].extent == INT32_MAX)
        return false;
    out->buffer.dim[d].extent++;
    const bool larger = kn_bounds(b->module, b->args, b->arg_count, &regions, &count) == KN_OK;
    out->buffer.dim[d].extent--;
    return larger;
}

/* "out is 190x160 from (1, 0): y as in the inputs, because nothing limits it; else the largest that they suffice for"
 */
static void say_size(Cli *cli, Bindings *b, Binding *out)
{
    enum { SIZE = 300 };
    char    free_dims[SIZE] = "";
    int     free_count = 0, n = 0;
    int32_t origin[KN_MAX_RANK];
    bool    placed = false;
    for (int d = 0; d < out->buffer.rank; d++) {
        origin[d] = out->buffer.dim[d].min;
        placed    = placed || origin[d];
        if (is_unlimited(b, out, d)) {
            n += snprintf(free_dims + n, (size_t)(n < SIZE ? SIZE - n : 0), "%s%s", free_count ? ", " : "",
                          out->port.dims[d]);
            n = n < SIZE ? n : SIZE;
            free_count++;
        }
    }
    const char *size  = shape_text(cli, &out->buffer);
    const char *from  = placed ? " from " : "";
    const char *point = placed ? point_text(cli, origin, out->buffer.rank) : "";
    if (free_count == 0)
        say("%s is %s%s%s, the largest that the inputs suffice for", out->port.name, size, from, point);
    else
        say("%s is %s%s%s: %s as in the inputs, because nothing limits %s%s", out->port.name, size, from, point,
            free_dims, free_count == 1 ? "it" : "them",
            free_count < out->buffer.rank ? "; else the largest that they suffice for" : "");
}

int bindings_fit(Cli *cli, Bindings *b)
{
    bool any = false;
    for (int i = 0; i < b->count; i++)
        any = any || (b->at[i].port.kind == KN_OUTPUT && !b->at[i].sized);
    if (!any)
        return DONE;
    if (kn_fit(b->module, b->args, b->arg_count) != KN_OK)
        return report(cli);
    for (int i = 0; i < b->count; i++)
        if (b->at[i].port.kind == KN_OUTPUT && !b->at[i].sized && b->at[i].port.rank > 0)
            say_size(cli, b, &b->at[i]);
    return DONE;
}

int bindings_allocate(Cli *cli, Bindings *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->at[i].port.kind == KN_OUTPUT && kn_buffer_alloc(cli->cx, &b->at[i].buffer) != KN_OK)
            return report_about(cli, b->at[i].port.name);
    return DONE;
}

int bindings_prepare(Cli *cli, Bindings *b)
{
    int status = bindings_load(cli, false, b);
    if (status == DONE)
        status = bindings_fit(cli, b);
    return status == DONE ? bindings_allocate(cli, b) : status;
}
