/* SPDX-License-Identifier: MIT */
/* The size of an output that was not given one: what the library fits, and in words why. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* ---- Grey pictures for inputs in colour ---- */

static bool any_unsized(const Bindings *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->at[i].port.kind == KN_OUTPUT && !b->at[i].sized)
            return true;
    return false;
}

/* Do the inputs suffice for the outputs that have a size, and for some box of the others? */
static bool inputs_suffice(Cli *cli, Bindings *b)
{
    const size_t     bytes = sizeof *b->at * (size_t)b->count;
    PortBinding     *had   = memcpy(cli_alloc(cli, bytes), b->at, bytes);
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

/* An output's ports: one, or the components of a tuple, which have one box. */
typedef struct Ports {
    PortBinding *at;
    int          count;
    int          name_length; /* of `out` in out.0 */
} Ports;

static Ports ports_of(const Bindings *b, int first)
{
    Ports p = { &b->at[first], 1, (int)strcspn(b->at[first].port.name, ".") };
    while (first + p.count < b->count && p.at[0].port.name[p.name_length] && p.at[p.count].port.kind == KN_OUTPUT &&
           !strncmp(p.at[0].port.name, p.at[p.count].port.name, (size_t)p.name_length + 1))
        p.count++;
    return p;
}

static void set_dim(const Ports *out, int d, kn_dim dim)
{
    for (int i = 0; i < out->count; i++)
        out->at[i].buffer.dim[d] = dim;
}

/* Is the output unlimited along dimension d, below or above? Then one more pixel there needs no more input. */
static bool is_unlimited(const Bindings *b, const Ports *out, int d, bool below)
{
    const kn_dim     had  = out->at[0].buffer.dim[d];
    const kn_dim     more = { had.min - below, had.extent + 1, had.stride };
    const kn_region *regions;
    int              count;
    if (had.extent == INT32_MAX || (below && had.min == INT32_MIN))
        return false;
    set_dim(out, d, more);
    const bool larger = kn_bounds(b->module, b->args, b->arg_count, &regions, &count) == KN_OK;
    set_dim(out, d, had);
    return larger;
}

/* "x, y below": the dimensions that nothing limits, on one side or on both; *sides is how many sides that are. */
static const char *free_dims(Cli *cli, const Bindings *b, const Ports *out, int *sides)
{
    char  *text = NULL;
    size_t size;
    FILE  *to = open_memstream(&text, &size);
    *sides    = 0;
    for (int d = 0; to && d < out->at[0].buffer.rank; d++) {
        const bool below = is_unlimited(b, out, d, true), above = is_unlimited(b, out, d, false);
        if (below || above)
            fprintf(to, "%s%s%s", *sides ? ", " : "", out->at[0].port.dims[d],
                    below && above ? ""
                    : below        ? " below"
                                   : " above");
        *sides += below + above;
    }
    if (to)
        fclose(to);
    const char *kept = cli_strndup(cli, text ? text : "", text ? strlen(text) : 0);
    free(text);
    return kept;
}

/* "out is 190x160 from (1, 0): y as in the inputs, because nothing limits it; else the largest that they suffice for"
 */
static void say_size(Cli *cli, const Bindings *b, const Ports *out)
{
    const kn_buffer *box  = &out->at[0].buffer;
    const char      *name = cli_strndup(cli, out->at[0].port.name, (size_t)out->name_length);
    int              sides;
    int32_t          origin[KN_MAX_RANK];
    bool             placed = false;
    for (int d = 0; d < box->rank; d++) {
        origin[d] = box->dim[d].min;
        placed    = placed || origin[d];
    }
    const char *free_of = free_dims(cli, b, out, &sides);
    const char *size    = shape_text(cli, box);
    const char *from    = placed ? " from " : "";
    const char *point   = placed ? point_text(cli, origin, box->rank) : "";
    if (sides == 0)
        say("%s is %s%s%s, the largest that the inputs suffice for", name, size, from, point);
    else
        say("%s is %s%s%s: %s as in the inputs, because nothing limits %s%s", name, size, from, point, free_of,
            strchr(free_of, ',') ? "them" : "it",
            sides < 2 * box->rank ? "; else the largest that they suffice for" : "");
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
        PortBinding *out = &b->at[i];
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
    for (int i = 0; i < b->count;) {
        const Ports out = ports_of(b, i);
        if (out.at[0].port.kind == KN_OUTPUT && !out.at[0].sized && out.at[0].port.rank > 0)
            say_size(cli, b, &out);
        i += out.count;
    }
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
