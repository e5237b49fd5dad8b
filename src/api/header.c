/* SPDX-License-Identifier: MIT */
/* The C header of a built pipeline: self-contained, C99 and C++.
 *
 * Takes   a pipeline and the name of its compiled function, which takes arrays of buffers and parameters.
 * Gives   a header with one inline function that takes them one by one, in the order of the ports, each under its own
 *         name as far as C allows.
 */
#include "api/header.h"

#include <ctype.h>
#include <inttypes.h>

/* How C passes a parameter. */
/* clang-format off */
static const char *const c_types[KN_TYPE_COUNT] = {
    [KN_BOOL] = "bool",     [KN_U8] = "uint8_t",  [KN_U16] = "uint16_t", [KN_U32] = "uint32_t",  [KN_U64] = "uint64_t",
    [KN_I8] = "int8_t",     [KN_I16] = "int16_t", [KN_I32] = "int32_t",  [KN_I64] = "int64_t",   [KN_F16] = "uint16_t",
    [KN_BF16] = "uint16_t", [KN_F32] = "float",   [KN_F64] = "double",
};
/* clang-format on */

/* Words that C, C++ or the header itself uses. */
static const char taken[] = " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
                            "char32_t char8_t class compl concept const const_cast consteval "
                            "constexpr constinit continue co_await co_return co_yield decltype default delete do "
                            "double dynamic_cast else enum explicit export extern false "
                            "float for friend goto if inline int long mutable namespace new noexcept not not_eq "
                            "nullptr operator or or_eq private protected public "
                            "register reinterpret_cast requires restrict return short signed sizeof static "
                            "static_assert static_cast struct switch template this "
                            "thread_local throw true try typedef typeid typename typeof union unsigned using virtual "
                            "void volatile wchar_t while xor xor_eq "
                            "kiln_buffers kiln_params kiln_rt kn_buffer kn_rt memcpy int8_t int16_t int32_t int64_t "
                            "uint8_t uint16_t uint32_t uint64_t NULL linux unix ";

static bool is_taken(Arena *arena, const char *name)
{
    return strstr(taken, arena_printf(arena, " %s ", name)) != NULL;
}

/* The name of each port in C: "best.0" is best_0, `double` is double_; no two are equal. */
static const char **port_names(Arena *arena, const kn_pipeline *p, const char *function)
{
    const char **names = ARENA_ARRAY(arena, const char *, p->ports.count);
    for (size_t i = 0; i < p->ports.count; i++) {
        char *name = arena_strdup(arena, p->ports.at[i].name);
        for (char *c = name; *c; c++)
            if (!isalnum((unsigned char)*c))
                *c = '_';
        bool fine;
        do {
            fine = !is_taken(arena, name) && strcmp(name, function) != 0;
            for (size_t k = 0; k < i; k++)
                fine = fine && strcmp(names[k], name) != 0;
            if (!fine)
                name = arena_printf(arena, "%s_", name);
        } while (!fine);
        names[i] = name;
    }
    return names;
}

/* "u16(x, y)" */
static void print_type(Text *t, const kn_port *port)
{
    text_add(t, kn_type_name(port->type));
    for (int d = 0; d < port->rank; d++)
        text_printf(t, "%s%s", d ? ", " : "(", port->dims[d]);
    if (port->rank)
        text_add(t, ")");
}

static void print_value(Text *t, kn_type type, kn_scalar v)
{
    if (v.is_float)
        text_printf(t, "%.*g", type == KN_F64 ? 17 : 9, v.as.f);
    else if (type == KN_U64)
        text_printf(t, "%" PRIu64, (uint64_t)v.as.i);
    else
        text_printf(t, "%" PRId64, v.as.i);
}

static const Param *find_param(const kn_pipeline *p, const char *name)
{
    for (size_t i = 0; i < p->params.count; i++)
        if (!strcmp(p->params.at[i]->name, name))
            return p->params.at[i];
    return NULL;
}

static void describe_param(Text *t, const Param *param)
{
    if (param->type == KN_F16 || param->type == KN_BF16)
        text_add(t, ", as its 16 bits");
    if (param->has_range) {
        text_add(t, ", from ");
        print_value(t, param->type, param->lo);
        text_add(t, " to ");
        print_value(t, param->type, param->hi);
        text_add(t, type_is_float(param->type) ? "" : " (not itself)");
    }
    if (param->has_default) {
        text_add(t, "; the program's default is ");
        print_value(t, param->type, param->value);
    }
}

/* One line for each port: what it is. */
static void describe_ports(Text *t, const kn_pipeline *p, const char *const *names)
{
    static const char *const kinds[] = { [KN_INPUT] = "input ", [KN_PARAM] = "param ", [KN_OUTPUT] = "output" };
    size_t                   width   = 0;
    for (size_t i = 0; i < p->ports.count; i++)
        width = strlen(names[i]) > width ? strlen(names[i]) : width;
    for (size_t i = 0; i < p->ports.count; i++) {
        const kn_port *port = &p->ports.at[i];
        text_printf(t, " *     %-*s  %s  ", (int)width, names[i], kinds[port->kind]);
        print_type(t, port);
        if (port->kind == KN_PARAM)
            describe_param(t, find_param(p, port->name));
        text_add(t, "\n");
    }
}

/* static inline int NAME_on(kn_rt *kiln_rt, const kn_buffer *in, float k, kn_buffer *out), or NAME without the
 * first. */
static void print_signature(Text *t, const kn_pipeline *p, const char *const *names, const char *function, bool on)
{
    text_printf(t, "static inline int %s%s(%s", function, on ? "_on" : "", on ? "kn_rt *kiln_rt" : "");
    for (size_t i = 0; i < p->ports.count; i++) {
        const kn_port *port = &p->ports.at[i];
        text_add(t, i || on ? ", " : "");
        if (port->kind == KN_PARAM)
            text_printf(t, "%s %s", c_types[port->type], names[i]);
        else
            text_printf(t, "%skn_buffer *%s", port->kind == KN_INPUT ? "const " : "", names[i]);
    }
    text_add(t, ")\n");
}

/* Packs what is given one by one. */
static void print_packing(Text *t, const kn_pipeline *p, const char *const *names, const HeaderParts *parts)
{
    int params = 0;
    text_add(t, "{\n    const kn_buffer *const kiln_buffers[] = { ");
    const char *comma = "";
    for (size_t i = 0; i < p->ports.count; i++) {
        if (p->ports.at[i].kind == KN_PARAM) {
            params++;
            continue;
        }
        text_printf(t, "%s%s", comma, names[i]);
        comma = ", ";
    }
    text_add(t, " };\n");
    if (params)
        text_printf(t, "    uint64_t kiln_params[%d] = { 0 };\n", params);
    int next = 0;
    for (size_t i = 0; i < p->ports.count; i++)
        if (p->ports.at[i].kind == KN_PARAM) {
            text_printf(t, "    memcpy(&kiln_params[%d], &%s, sizeof %s);\n", next, names[i], names[i]);
            next++;
        }
    text_printf(t, "    return %s(%skiln_buffers, %s);\n}\n\n", parts->symbol, parts->alone ? "" : "kiln_rt, ",
                params ? "kiln_params" : "NULL");
}

static void print_forwarding(Text *t, const kn_pipeline *p, const char *const *names, const char *function)
{
    text_printf(t, "{\n    return %s_on(NULL", function);
    for (size_t i = 0; i < p->ports.count; i++)
        text_printf(t, ", %s", names[i]);
    text_add(t, ");\n}\n");
}

static const char licence[] = "/* SPDX-License-Identifier: MIT */\n";

/* The types and what a C file that stands alone defines of the runtime: its header up to the instances. */
static void print_types_alone(Text *t, const char *types)
{
    const char *end = strstr(types, "/* ---- Instances");
    text_add_n(t, types, end ? (size_t)(end - types) : strlen(types));
    text_add(t, "/* The errors of the last call of a pipeline in this thread, a line each; \"\" if there was none. */\n"
                "KN_API const char *kn_rt_last_error(void);\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

static void print_head(Text *t, const kn_pipeline *p, const char *const *names, const HeaderParts *parts)
{
    text_add(t, licence);
    text_printf(t, "/* %s: a pipeline compiled by Kiln " KN_VERSION " for %s.\n *\n", parts->name, parts->targets);
    describe_ports(t, p, names);
    text_printf(t,
                " *\n"
                " * %s() returns 0, or a kn_status where something is wrong: a type, a rank, a buffer that has not got "
                "what is needed of\n"
                " * it, no memory. Then kn_rt_last_error() says what, in words. Wrong arguments are found before "
                "anything is written. It may be\n",
                parts->name);
    if (parts->alone)
        text_printf(t,
                    " * called from several threads at once. %s_trim() gives back memory kept for the next call. */\n",
                    parts->name);
    else
        text_printf(
            t,
            " * called from several threads at once. %s_on() is the same on a kn_rt of your own: with its threads, "
            "memory and hooks. */\n",
            parts->name);
}

const char *header_text(Arena *arena, const kn_pipeline *p, const HeaderParts *parts)
{
    Text t;
    text_init(&t, arena);
    char *guard = arena_printf(arena, "KILN_BUILT_%s_H", parts->name);
    for (char *c = guard; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    const char **names = port_names(arena, p, parts->name);

    print_head(&t, p, names, parts);
    text_printf(&t, "#ifndef %s\n#define %s\n\n", guard, guard);
    const bool  licensed = !strncmp(parts->types, licence, sizeof licence - 1);
    const char *types    = parts->types + (licensed ? sizeof licence - 1 : 0);
    if (parts->alone)
        print_types_alone(&t, types);
    else
        text_add(&t, types);
    text_printf(&t, "\n/* ---- %s ---- */\n\n#include <string.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                parts->name);
    text_printf(&t,
                "/* The function in the %s: buffers are the inputs and then the outputs, params the parameters in "
                "8 bytes each, in the order of the\n"
                " * list above. */\n"
                "int %s(%sconst kn_buffer *const *buffers, const void *params);\n%s\n",
                parts->alone ? "C file" : "object", parts->symbol, parts->alone ? "" : "kn_rt *rt, ",
                parts->alone ? arena_printf(arena, "void %s_trim(void);\n", parts->name) : "");
    print_signature(&t, p, names, parts->name, !parts->alone);
    print_packing(&t, p, names, parts);
    if (!parts->alone) {
        print_signature(&t, p, names, parts->name, false);
        print_forwarding(&t, p, names, parts->name);
    }
    text_add(&t, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return text_string(&t);
}
