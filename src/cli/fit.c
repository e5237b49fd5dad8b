/* The size of an output that was not given one: what the library fits, and in words why. */
#include "cli.h"

#include <string.h>

/* ---- Grey pictures for inputs in colour ---- */

static bool any_unsized(const Bindings *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->at[i].port.kind == KN_OUTPUT && !b->at[i].sized)
            return true;
    return false;
}

/* Whether the inputs suffice for the outputs that have a size, and for anything of the others. */
static bool inputs_suffice(Cli *cli, Bindings *b)
{
    const size_t     bytes = sizeof *b->at * (size_t)b->count;
    Binding         *had   = memcpy(cli_alloc(cli, bytes), b->at, bytes);
    const kn_region *regions;
    int              count;
    const kn_status  status = any_unsized(b) ? kn_fit(b->module, b->args, b->arg_count)
                                             : kn_bounds(b->module, b->args, b->arg_count, &regions, &count);
    memcpy(b->at, had, bytes);
    return status == KN_OK;
}

/* Lets every grey picture have so many channels, all the same; gives their number. */
static int set_channels(Bindings *b, int32_t channels)
{
    int count = 0;
    for (int i = 0; i < b->count; i++)
        if (b->at[i].gray) {
            b->at[i].buffer.dim[2].extent = channels;
            b->at[i].buffer.dim[2].stride = 0;
            count++;
        }
    return count;
}

/* Grey pictures get three channels if one is not enough and three are. */
static void repeat_gray(Cli *cli, Bindings *b)
{
    if (!set_channels(b, 1) || inputs_suffice(cli, b))
        return;
    set_channels(b, 3);
    if (!inputs_suffice(cli, b)) {
        set_channels(b, 1);
        return;
    }
    for (int i = 0; i < b->count; i++)
        if (b->at[i].gray)
            say("note: %s: %s: 1 channel was repeated as 3", b->at[i].port.name, b->at[i].text);
}

/* ---- The size of an output ---- */

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

/* Whether there are inputs, and all have a size: then outputs are fitted to them. */
static bool inputs_given(const Bindings *b)
{
    int inputs = 0;
    for (int i = 0; i < b->count; i++) {
        if (b->at[i].port.kind == KN_INPUT && !b->at[i].text)
            return false;
        inputs += b->at[i].port.kind == KN_INPUT;
    }
    return inputs > 0;
}

void bindings_estimate(Bindings *b)
{
    if (inputs_given(b))
        return;
    for (int i = 0; i < b->count; i++) {
        Binding *out = &b->at[i];
        if (out->port.kind != KN_OUTPUT || out->sized || !out->port.estimate)
            continue;
        out->sized       = true;
        out->buffer.rank = out->port.rank;
        out->buffer.type = out->port.type;
        for (int d = 0; d < out->port.rank; d++)
            out->buffer.dim[d] = (kn_dim){ 0, out->port.estimate[d], 0 };
    }
}

int bindings_fit(Cli *cli, Bindings *b)
{
    repeat_gray(cli, b);
    if (!any_unsized(b))
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
    if (status == DONE)
        status = bindings_check_files(cli, b);
    return status == DONE ? bindings_allocate(cli, b) : status;
}
