/* SPDX-License-Identifier: MIT */
/* What a program is run with: name=VALUE, --size, --origin and -o, put together with the program's own list of inputs,
 * parameters and outputs. */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

static PortBinding *find(const Bindings *b, const char *name)
{
    for (int i = 0; i < b->count; i++)
        if (!strcmp(b->at[i].port.name, name))
            return &b->at[i];
    return NULL;
}

/* If `text` is NAME=REST, where NAME looks like one of a program: a copy of NAME, and *rest. Else NULL. */
static const char *split_name(Cli *cli, const char *text, const char **rest)
{
    const char *s = text;
    while (isalnum((unsigned char)*s) || *s == '_' || (*s == '.' && s > text))
        s++;
    if (s == text || *s != '=' || isdigit((unsigned char)*text))
        return NULL;
    *rest = s + 1;
    return cli_strndup(cli, text, (size_t)(s - text));
}

/* Says that there is no such name, which one is close to it, and which there are of the wanted kinds (bits). */
static int unknown_name(Cli *cli, const Bindings *b, const char *name, unsigned kinds, const char *what)
{
    const kn_pipeline *p      = b->program.pipeline;
    const int          consts = kinds >> KN_PARAM & 1 ? kn_const_count(p) : 0;
    const char       **names  = cli_alloc(cli, sizeof *names * (size_t)(b->count + consts + 1));
    int                count  = 0;
    size_t             length = 1;
    for (int i = 0; i < b->count; i++)
        if (kinds >> b->at[i].port.kind & 1)
            names[count++] = b->at[i].port.name;
    for (int i = 0; i < consts; i++)
        names[count++] = kn_const_name(p, i);
    for (int i = 0; i < count; i++)
        length += strlen(names[i]) + 2;
    char *list = cli_alloc(cli, length);
    for (int i = 0, n = 0; i < count; i++)
        n += snprintf(list + n, length - (size_t)n, "%s%s", i ? ", " : "", names[i]);
    const char *closest = kn_closest_name(name, names, count);
    if (closest)
        return usage(cli, "%s has no %s `%s`; did you mean `%s`? There are: %s", b->program.path, what, name, closest,
                     list);
    return usage(cli, "%s has no %s `%s`; there are: %s", b->program.path, what, name, count ? list : "none");
}

enum { INPUTS = 1 << KN_INPUT, PARAMS = 1 << KN_PARAM, OUTPUTS = 1 << KN_OUTPUT };

/* Whether two ports are one output: the components of a tuple, "best.0" and "best.1", have the name before the dot in
 * common. */
static bool same_output(const PortBinding *a, const PortBinding *b)
{
    const size_t n = strcspn(a->port.name, ".");
    return a->port.kind == KN_OUTPUT && b->port.kind == KN_OUTPUT && n == strcspn(b->port.name, ".") &&
           !strncmp(a->port.name, b->port.name, n);
}

/* The input or output of that name; of a tuple the first component. NULL if there is none. */
static PortBinding *find_image(const Bindings *b, const char *name)
{
    const size_t n = strlen(name);
    for (int i = 0; i < b->count; i++) {
        const kn_port *port = &b->at[i].port;
        if (!strncmp(port->name, name, n) && (!port->name[n] || (port->name[n] == '.' && port->kind == KN_OUTPUT)))
            return port->kind == KN_PARAM ? NULL : &b->at[i];
    }
    return NULL;
}

/* The only output; NULL if there are more. */
static PortBinding *only_output(const Bindings *b)
{
    PortBinding *only = NULL;
    for (int i = 0; i < b->count; i++) {
        if (b->at[i].port.kind != KN_OUTPUT)
            continue;
        if (only && !same_output(only, &b->at[i]))
            return NULL;
        only = only ? only : &b->at[i];
    }
    return only;
}

/* The output that an option [NAME=]REST speaks of: by name, or the only one. */
static int find_output(Cli *cli, Bindings *b, const char *text, const char *option, PortBinding **out,
                       const char **rest)
{
    const char *name = split_name(cli, text, rest);
    if (name) {
        *out = find_image(b, name);
        return *out && (*out)->port.kind == KN_OUTPUT ? DONE : unknown_name(cli, b, name, OUTPUTS, "output");
    }
    *rest = text;
    *out  = only_output(b);
    return *out ? DONE : usage(cli, "%s %s: which output? %s NAME=%s says it", option, text, option, text);
}

/* ---- Numbers ---- */

/* Reads a list of `rank` integers in lo..INT32_MAX, with `separator` between. *end is what follows. false if it is
 * none; *count says how many there are. */
static bool parse_list(const char *text, char separator, int32_t lo, int32_t *list, int *count, const char **end)
{
    for (*count = 0; *count < KN_MAX_RANK;) {
        char *after;
        errno             = 0;
        const long long v = strtoll(text, &after, 10);
        if (after == text || isspace((unsigned char)*text) || errno || v < lo || v > INT32_MAX)
            return false;
        list[(*count)++] = (int32_t)v;
        text = *end = after;
        if (*text != separator)
            return true;
        text++;
    }
    return false;
}

/* "2 dimensions (x, y)" */
static const char *dims_text(Cli *cli, const kn_port *port)
{
    enum { SIZE = 400 };
    char *text = cli_alloc(cli, SIZE);
    int   n    = snprintf(text, SIZE, "%d dimension%s", port->rank, port->rank == 1 ? "" : "s");
    for (int d = 0; d < port->rank && n < SIZE; d++)
        n += snprintf(text + n, (size_t)(SIZE - n), "%s%s%s", d ? ", " : " (", port->dims[d],
                      d == port->rank - 1 ? ")" : "");
    return text;
}

/* What a message is about, as it was written: "in=@3x3", "--size 3x3". */
static const char *subject_text(Cli *cli, const char *what, const char *between, const char *text)
{
    const size_t n       = strlen(what) + strlen(between) + strlen(text) + 1;
    char        *subject = cli_alloc(cli, n);
    snprintf(subject, n, "%s%s%s", what, between, text);
    return subject;
}

/* Sizes a buffer for the port; `subject` is what the message shows. */
static int parse_size(Cli *cli, const char *subject, const char *text, const kn_port *port, int32_t *extent,
                      const char **end)
{
    int count;
    *end = text;
    if (!parse_list(text, 'x', 0, extent, &count, end))
        return usage(cli, "%s: a size was expected, as in 192x160x3: numbers from 0 to 2^31 - 1, at most %d of them",
                     subject, KN_MAX_RANK);
    if (count != port->rank)
        return usage(cli, "%s: %s has %s, and %d %s given", subject, port->name, dims_text(cli, port), count,
                     count == 1 ? "number was" : "numbers were");
    double bytes = (double)kn_type_size(port->type);
    for (int d = 0; d < count; d++)
        bytes *= extent[d];
    if (bytes > 1e12)
        return usage(cli, "%s: that would be %.3g bytes of memory", subject, bytes);
    return DONE;
}

static kn_buffer unallocated(const kn_port *port, const int32_t *extent)
{
    kn_buffer b = { .type = port->type, .rank = port->rank };
    for (int d = 0; d < port->rank; d++)
        b.dim[d].extent = extent[d];
    return b;
}

/* ---- name=TEXT ---- */

static bool parse_integer(const char *text, int64_t *value)
{
    const bool  negative = *text == '-';
    const char *digits   = text + negative;
    int         base     = 10;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        base = 16;
    else if (digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B'))
        base = 2;
    digits += base == 10 ? 0 : 2;
    char *end;
    errno                      = 0;
    const unsigned long long v = strtoull(digits, &end, base);
    if (!isxdigit((unsigned char)*digits) || *end || errno || v > (uint64_t)INT64_MAX + negative)
        return false;
    *value = (int64_t)(negative ? 0 - v : v);
    return true;
}

static bool parse_float(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end && !isspace((unsigned char)*text);
}

static int bind_param(Cli *cli, PortBinding *at)
{
    const kn_type type = at->port.type;
    int64_t       i;
    double        f;
    if (type == KN_BOOL && (!strcmp(at->text, "true") || !strcmp(at->text, "false")))
        at->value = kn_int(at->text[0] == 't');
    else if (type >= KN_F16 && parse_float(at->text, &f))
        at->value = kn_float(f);
    else if (type < KN_F16 && parse_integer(at->text, &i))
        at->value = kn_int(i);
    else
        return usage(cli, "%s=%s: %s was expected, because %s is a parameter of type %s", at->port.name, at->text,
                     type == KN_BOOL  ? "true or false"
                     : type >= KN_F16 ? "a number"
                                      : "an integer below 2^63",
                     at->port.name, kn_type_name(type));
    return DONE;
}

/* name=@noise(SIZE[,SEED]); `text` begins behind the parenthesis. */
static int parse_noise(Cli *cli, PortBinding *at, const char *subject, const char *text, uint64_t *seed)
{
    const char *end;
    const int   status = parse_size(cli, subject, text, &at->port, at->extent, &end);
    if (status != DONE)
        return status;
    *seed = 0;
    if (*end == ',' && isdigit((unsigned char)end[1])) {
        char *after;
        *seed = strtoull(end + 1, &after, 10);
        end   = after;
    }
    return strcmp(end, ")")
               ? usage(cli, "%s: @noise(SIZE) or @noise(SIZE,SEED) was expected, as in @noise(192x160x3,7)", subject)
               : DONE;
}

/* Moves an input to its --origin. */
static void place_input(PortBinding *at)
{
    for (int d = 0; at->placed && d < at->port.rank; d++)
        at->buffer.dim[d].min = at->origin[d];
}

/* name=@…: a formula over the coordinates that the input has in the program, noise or, if `shapes_only`, just a
 * size. */
static int bind_made(Cli *cli, PortBinding *at, const char *subject, bool shapes_only)
{
    static const char word[] = "@noise(";
    const bool        noise  = !strncmp(at->text, word, strlen(word));
    const char       *formula;
    uint64_t          seed   = 0;
    const int         status = noise ? parse_noise(cli, at, subject, at->text + strlen(word), &seed)
                                     : parse_size(cli, subject, at->text + 1, &at->port, at->extent, &formula);
    if (status != DONE)
        return status;
    if (!noise && *formula != ':' && !(shapes_only && !*formula))
        return usage(cli, "%s: the size is to be followed by a colon and a formula, as in %s=@192x160:x + y", subject,
                     at->port.name);
    at->buffer = unallocated(&at->port, at->extent);
    place_input(at);
    if (shapes_only)
        return DONE;
    if (kn_buffer_alloc(cli->cx, &at->buffer) != KN_OK)
        return report_about(cli, subject);
    const kn_status filled =
        noise ? kn_fill_noise(cli->cx, &at->buffer, seed) : kn_fill(cli->cx, &at->buffer, at->port.dims, formula + 1);
    report(cli);
    return filled == KN_OK ? DONE : FAILED;
}

static int bind_input(Cli *cli, PortBinding *at, bool shapes_only)
{
    const char *subject = subject_text(cli, at->port.name, "=", at->text);
    bool        picture = false;
    const int   status  = at->text[0] == '@' ? bind_made(cli, at, subject, shapes_only)
                                             : image_load(cli, at->text, &at->port, &at->buffer, &picture);
    at->gray            = status == DONE && picture && at->port.rank == 3 && at->buffer.dim[2].extent == 1;
    if (status == DONE)
        place_input(at);
    return status;
}

/* Fills the bindings from the ports of the program as it is parsed now. */
static void list_ports(Cli *cli, Bindings *b)
{
    b->count = kn_port_count(b->program.pipeline);
    b->at    = cli_alloc(cli, sizeof *b->at * (size_t)(b->count + 1));
    b->args  = cli_alloc(cli, sizeof *b->args * (size_t)(b->count + 1));
    for (int i = 0; i < b->count; i++)
        b->at[i].port = kn_port_get(b->program.pipeline, i);
}

static bool is_const(const kn_pipeline *p, const char *name)
{
    for (int i = 0; i < kn_const_count(p); i++)
        if (!strcmp(kn_const_name(p, i), name))
            return true;
    return false;
}

/* Defines the consts among the operands and, if there are any, parses again with them. */
static int define_consts(Cli *cli, Bindings *b)
{
    bool any = false;
    for (int i = 1; i < cli->operand_count; i++) {
        const char *value, *name = split_name(cli, cli->operands[i], &value);
        if (!name || !is_const(b->program.pipeline, name))
            continue;
        if (kn_define(cli->cx, name, value) != KN_OK)
            return report_about(cli, cli->operands[i]);
        any = true;
    }
    if (!any)
        return DONE;
    kn_pipeline_free(b->program.pipeline);
    return program_parse(cli, &b->program);
}

/* An operand without a name: says what it could be for, the first input that has nothing yet. */
static int unnamed_operand(Cli *cli, const Bindings *b, const char *text)
{
    int i = 0;
    while (i < b->count && (b->at[i].port.kind != KN_INPUT || b->at[i].text))
        i++;
    if (i == b->count)
        return usage(cli, "`%s`: NAME=VALUE or NAME=IMAGE was expected", text);
    return usage(cli, "`%s`: NAME=VALUE or NAME=IMAGE was expected; did you mean %s=%s?", text, b->at[i].port.name,
                 text);
}

/* Finds what each operand name=TEXT is for. */
static int assign_operands(Cli *cli, Bindings *b)
{
    for (int i = 1; i < cli->operand_count; i++) {
        const char *text = NULL, *name = split_name(cli, cli->operands[i], &text);
        if (!name)
            return unnamed_operand(cli, b, cli->operands[i]);
        PortBinding *at = find(b, name);
        if (at && at->port.kind == KN_OUTPUT)
            return usage(cli, "%s is an output: -o %s writes it to a file", name, cli->operands[i]);
        if (!at && is_const(b->program.pipeline, name))
            continue;
        if (!at)
            return unknown_name(cli, b, name, INPUTS | PARAMS, "input, parameter or const");
        if (!*text)
            return usage(cli, "nothing stands after %s: %s was expected", cli->operands[i],
                         at->port.kind == KN_INPUT ? "an image or a formula" : "a value");
        if (at->text)
            return usage(cli, "%s is given twice: %s and %s", name, at->text, text);
        at->text = text;
    }
    return DONE;
}

/* ---- --size, --origin, -o ---- */

static int assign_sizes(Cli *cli, Bindings *b)
{
    const char *text;
    for (int i = 0; (text = option_value(cli, OPTION_SIZE, i)); i++) {
        PortBinding *out;
        const char  *size, *end;
        int          status = find_output(cli, b, text, "--size", &out, &size);
        if (status == DONE)
            status = parse_size(cli, subject_text(cli, "--size", " ", text), size, &out->port, out->extent, &end);
        if (status == DONE && *end)
            status = usage(cli, "--size %s: a size was expected, as in 192x160x3", text);
        if (status != DONE)
            return status;
        for (int k = 0; k < b->count; k++)
            if (same_output(&b->at[k], out)) {
                b->at[k].sized  = true;
                b->at[k].buffer = unallocated(&b->at[k].port, out->extent);
            }
    }
    return DONE;
}

/* Moves the boxes of an output's components to its origin. */
static void place_output(Bindings *b, const PortBinding *out)
{
    for (int k = 0; k < b->count; k++)
        for (int d = 0; same_output(&b->at[k], out) && d < out->port.rank; d++)
            b->at[k].buffer.dim[d].min = out->origin[d];
}

static int assign_origins(Cli *cli, Bindings *b)
{
    const char *text;
    for (int i = 0; (text = option_value(cli, OPTION_ORIGIN, i)); i++) {
        const char *rest = NULL, *end = "", *name = split_name(cli, text, &rest);
        int         count = 0;
        if (!name)
            return usage(cli, "--origin %s: NAME=X,Y was expected", text);
        PortBinding *at = find_image(b, name);
        if (!at)
            return unknown_name(cli, b, name, INPUTS | OUTPUTS, "input or output");
        if (!parse_list(rest, ',', INT32_MIN, at->origin, &count, &end) || *end)
            return usage(cli, "--origin %s: coordinates were expected, as in --origin %s=-1,2", text, name);
        if (count != at->port.rank)
            return usage(cli, "--origin %s: %s has %s, and %d %s given", text, name, dims_text(cli, &at->port), count,
                         count == 1 ? "number was" : "numbers were");
        if (at->port.kind == KN_OUTPUT && !at->sized)
            return usage(cli, "--origin %s: the output needs a --size as well", text);
        at->placed = true;
        place_output(b, at);
    }
    return DONE;
}

static int assign_paths(Cli *cli, Bindings *b)
{
    const char *text;
    for (int i = 0; (text = option_value(cli, OPTION_OUTPUT, i)); i++) {
        PortBinding *out;
        const char  *path;
        int          status = find_output(cli, b, text, "-o", &out, &path);
        if (status == DONE)
            status = image_path_check(cli, path, &out->port);
        if (status == DONE && out->port.name[strcspn(out->port.name, ".")] &&
            strncmp(text, out->port.name, strlen(out->port.name)))
            status = usage(cli, "-o %s: the output is a tuple; -o %s=%s writes its first component", text,
                           out->port.name, path);
        if (status == DONE && out->path)
            status = usage(cli, "-o %s: %s already goes to %s", text, out->port.name, out->path);
        for (int k = 0; k < b->count && status == DONE; k++)
            if (b->at[k].path && same_file(cli, b->at[k].path, path))
                status = usage(cli, "-o %s: %s goes to the same file", text, b->at[k].port.name);
        if (status != DONE)
            return status;
        out->path = path;
    }
    return DONE;
}

/* ---- All together ---- */

const char *size_example(int rank)
{
    return rank > 2 ? "192x160x3" : rank == 2 ? "192x160" : "192";
}

/* Gives every input and parameter its value. */
static int bind_all(Cli *cli, Bindings *b, bool shapes_only)
{
    for (int i = 0; i < b->count; i++) {
        PortBinding *at     = &b->at[i];
        int          status = DONE;
        if (at->port.kind == KN_INPUT && !at->text && shapes_only)
            continue;
        if (at->port.kind == KN_INPUT && !at->text)
            status = usage(cli, "the input %s is missing: %s=IMAGE, or a formula like %s=@%s:x", at->port.name,
                           at->port.name, at->port.name, size_example(at->port.rank));
        else if (at->port.kind == KN_INPUT)
            status = bind_input(cli, at, shapes_only);
        else if (at->port.kind == KN_PARAM && at->text)
            status = bind_param(cli, at);
        else if (at->port.kind == KN_PARAM && !at->port.has_default)
            status = usage(cli, "the parameter %s is missing: %s=VALUE", at->port.name, at->port.name);
        if (status != DONE)
            return status;
        if (at->port.kind == KN_PARAM && !at->text)
            continue;
        const bool is_buffer    = at->port.kind != KN_PARAM;
        b->args[b->arg_count++] = (kn_arg){ at->port.name, is_buffer ? &at->buffer : NULL, at->value };
    }
    return DONE;
}

/* A module that knows sizes. */
static int make_module(Cli *cli, Bindings *b)
{
    b->module = kn_compile(b->program.pipeline, &(kn_options){ .interpret = true });
    return b->module ? DONE : report(cli);
}

int bindings_program(Cli *cli, Bindings *b)
{
    *b               = (Bindings){ 0 };
    const int status = program_load(cli, cli->operands[0], &b->program);
    return status == DONE ? define_consts(cli, b) : status;
}

int bindings_load(Cli *cli, bool shapes_only, Bindings *b)
{
    int status = bindings_program(cli, b);
    if (status != DONE)
        return status;
    fputs(b->program.warnings, stderr);
    list_ports(cli, b);
    int (*const steps[])(Cli *, Bindings *) = { assign_operands, assign_sizes, assign_origins, assign_paths,
                                                externs_load };
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == DONE; i++)
        status = steps[i](cli, b);
    if (status == DONE)
        status = bind_all(cli, b, shapes_only);
    return status == DONE ? make_module(cli, b) : status;
}

void bindings_free(Bindings *b)
{
    kn_pipeline_free(b->program.pipeline);
    externs_close(b);
}
