/* SPDX-License-Identifier: MIT */
/* Calls of pipelines: the buffers given are checked, completely, before anything is computed.
 *
 * Takes   a program's ports and the user's buffers.
 * Gives   buffers that the code can use as they are: of the right type and rank, with coordinates within ±2^28, memory
 *         for every element that no device has a newer copy of, and stride 1 along the dimension that the code was
 *         vectorized for, through a dense copy where the user's has another.
 * Holds   an output shares no byte with another buffer, nor one element with two coordinates; inputs may repeat (stride
 *         0) and share.
 */
#include "runtime/device_parts.h"

#include <stdio.h>
#include <string.h>

static const int64_t most_coordinate = 1 << 28;

/* A message is built from parts of at most this many bytes; names longer than that are cut. */
enum { PART_SIZE = 256 };

static const char *port_kind(const kn_rt_port *port)
{
    return port->is_output ? "output" : "input";
}

static const char *dim_name(const kn_rt_port *port, int dim)
{
    const char *name = port->dims;
    for (int d = 0; d < dim; d++)
        name += strlen(name) + 1;
    return name;
}

/* As the program says it: "blur: input `in` is u16(x, y)". */
static const char *port_text(const kn_rt_program *program, const kn_rt_port *port, char text[PART_SIZE])
{
    int n = snprintf(text, PART_SIZE, "%s: %s `%s` is %s(", program->name, port_kind(port), port->name,
                     kn_rt_type_name(port->type));
    for (int d = 0; d < port->rank && n < PART_SIZE; d++)
        n += snprintf(text + n, (size_t)(PART_SIZE - n), "%s%s", d ? ", " : "", dim_name(port, d));
    if (n < PART_SIZE)
        snprintf(text + n, (size_t)(PART_SIZE - n), ")");
    return text;
}

static int64_t magnitude(int64_t v)
{
    return v < 0 ? (v == INT64_MIN ? INT64_MAX : -v) : v;
}

static bool is_empty(const kn_buffer *b)
{
    for (int d = 0; d < b->rank; d++)
        if (b->dim[d].extent <= 0)
            return true;
    return false;
}

/* The addresses of the first byte and of one behind the last; false if some are not in the address space. */
static bool byte_range(const kn_buffer *b, uintptr_t *from, uintptr_t *to)
{
    const int64_t size = kn_rt_type_size(b->type);
    int64_t       low = 0, high = size;
    for (int d = 0; d < b->rank; d++) {
        int64_t  reach;
        int64_t *end = b->dim[d].stride < 0 ? &low : &high;
        if (__builtin_mul_overflow((int64_t)b->dim[d].extent - 1, b->dim[d].stride, &reach) ||
            __builtin_mul_overflow(reach, size, &reach) || __builtin_add_overflow(*end, reach, end))
            return false;
    }
    return !__builtin_add_overflow((uintptr_t)b->data, low, from) &&
           !__builtin_add_overflow((uintptr_t)b->data, high, to);
}

/* Two coordinates may share an element unless, in order of |stride|, each stride passes what all smaller ones reach
 * together: |s_i| > sum over j < i of (extent_j - 1) |s_j|. A dimension that fails, or -1. No sum overflows where
 * byte_range has succeeded. */
static int repeating_dimension(const kn_buffer *b)
{
    int order[KN_MAX_RANK], n = 0;
    for (int d = 0; d < b->rank; d++) {
        if (b->dim[d].extent < 2)
            continue;
        int i = n++;
        for (; i > 0 && magnitude(b->dim[order[i - 1]].stride) > magnitude(b->dim[d].stride); i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
    uint64_t reach = 0;
    for (int i = 0; i < n; i++) {
        const kn_dim  *dim    = &b->dim[order[i]];
        const uint64_t stride = (uint64_t)magnitude(dim->stride);
        if (stride <= reach)
            return order[i];
        reach += (uint64_t)(dim->extent - 1) * stride;
    }
    return -1;
}

/* ---- One buffer ------------------------------------------------------------------------- */

/* Type and rank. */
static int check_kind(kn_rt *rt, const kn_rt_program *program, const kn_rt_port *port, const kn_buffer *b)
{
    char text[PART_SIZE];
    if (!b)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: no buffer is given for it (NULL)",
                           port_text(program, port, text));
    if (!kn_rt_type_name((int)b->type))
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s, the buffer's type is %d, which is none: use KN_BOOL … KN_F64",
                           port_text(program, port, text), (int)b->type);
    if ((int)b->type != port->type)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s, the buffer holds %s", port_text(program, port, text),
                           kn_rt_type_name((int)b->type));
    if (b->rank != port->rank)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s, the buffer has %d dimension%s", port_text(program, port, text),
                           (int)b->rank, b->rank == 1 ? "" : "s");
    return KN_OK;
}

/* Mins and extents. */
static int check_shape(kn_rt *rt, const kn_rt_program *program, const kn_rt_port *port, const kn_buffer *b)
{
    for (int d = 0; d < b->rank; d++) {
        const kn_dim *dim = &b->dim[d];
        if (dim->extent < 0)
            return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: %s `%s`: dimension %s has the negative extent %d",
                               program->name, port_kind(port), port->name, dim_name(port, d), (int)dim->extent);
        if (dim->min < -most_coordinate || (int64_t)dim->min + dim->extent > most_coordinate)
            return kn_rt_error(rt, KN_ERROR_BOUNDS,
                               "%s: %s `%s`: dimension %s has the coordinates %lld..%lld; those of compiled pipelines "
                               "lie in %lld..%lld",
                               program->name, port_kind(port), port->name, dim_name(port, d), (long long)dim->min,
                               (long long)dim->min + dim->extent, (long long)-most_coordinate,
                               (long long)most_coordinate);
    }
    return KN_OK;
}

/* The device part: without kernels `data` must be up to date. */
static int check_device(kn_rt *rt, const kn_rt_program *program, const kn_rt_port *port, const kn_buffer *b,
                        bool kernels)
{
    if (b->flags & ~(uint32_t)(KN_HOST_NEWER | KN_DEVICE_NEWER) || b->reserved[0] || b->reserved[1] || b->reserved[2])
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "%s: %s `%s`: its device part has unknown flags, or reserved is not zero; set all fields "
                           "behind dim to zero",
                           program->name, port_kind(port), port->name);
    if (b->flags & KN_DEVICE_NEWER && !kernels)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "%s: %s `%s`: its copy on a device is newer than its data; copy it to the host first, then "
                           "clear KN_DEVICE_NEWER",
                           program->name, port_kind(port), port->name);
    if (kernels && (!b->device != !b->handle || (!b->device && b->flags & KN_DEVICE_NEWER)))
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "%s: %s `%s`: of its fields device and handle one is zero and the other is not, or both are "
                           "and KN_DEVICE_NEWER is set; leave them to kn_copy_to_device, kn_buffer_alloc_device and "
                           "kn_buffer_wrap_device",
                           program->name, port_kind(port), port->name);
    return KN_OK;
}

/* The memory of a buffer that has elements; with kernels a device may have the only copy. */
static int check_memory(kn_rt *rt, const kn_rt_program *program, const kn_rt_port *port, const kn_buffer *b,
                        bool kernels)
{
    const char *kind = port_kind(port);
    uintptr_t   from, to;
    int64_t     low, high;
    if (!b->data && !(kernels && b->device && !(b->flags & KN_HOST_NEWER)))
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "%s: %s `%s`: its data is NULL; point it at the element at the smallest coordinates",
                           program->name, kind, port->name);
    if ((uintptr_t)b->data % (uintptr_t)kn_rt_type_size((int)b->type))
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "%s: %s `%s`: its data is misaligned: the address must be a multiple of %d, the size of %s",
                           program->name, kind, port->name, (int)kn_rt_type_size((int)b->type),
                           kn_rt_type_name((int)b->type));
    if (b->data ? !byte_range(b, &from, &to) : !kn_rt_device_range(b, &low, &high))
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: %s `%s`: its strides reach beyond the address space",
                           program->name, kind, port->name);
    const int d = port->is_output ? repeating_dimension(b) : -1;
    if (d >= 0)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "%s: output `%s`: with stride %lld along %s two coordinates share an element, which an "
                           "output must not; each stride "
                           "must pass what the smaller ones reach",
                           program->name, port->name, (long long)b->dim[d].stride, dim_name(port, d));
    return KN_OK;
}

static int check_buffer(kn_rt *rt, const kn_rt_program *program, const kn_rt_port *port, const kn_buffer *b,
                        bool kernels)
{
    int status = check_kind(rt, program, port, b);
    if (!status)
        status = check_shape(rt, program, port, b);
    if (!status)
        status = check_device(rt, program, port, b, kernels);
    if (!status && !is_empty(b))
        status = check_memory(rt, program, port, b, kernels);
    return status;
}

/* ---- All of them ------------------------------------------------------------------------ */

static bool overlap(const kn_buffer *a, const kn_buffer *b)
{
    uintptr_t a_from, a_to, b_from, b_to;
    return a->data && b->data && !is_empty(a) && !is_empty(b) && byte_range(a, &a_from, &a_to) &&
           byte_range(b, &b_from, &b_to) && a_from < b_to && b_from < a_to;
}

/* An output that shares memory would be read while it is written. */
static int check_overlaps(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given)
{
    int status = KN_OK;
    for (int i = 0; i < program->port_count; i++)
        for (int k = i + 1; k < program->port_count; k++)
            if ((program->ports[i].is_output || program->ports[k].is_output) && overlap(given[i], given[k]))
                status = kn_rt_error(rt, KN_ERROR_ARGUMENT,
                                     "%s: %s `%s` and %s `%s` share memory: an output needs memory of its own",
                                     program->name, port_kind(&program->ports[i]), program->ports[i].name,
                                     port_kind(&program->ports[k]), program->ports[k].name);
    return status;
}

static int check_all(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, bool kernels)
{
    int status = KN_OK;
    for (int i = 0; i < program->port_count; i++) {
        const int wrong = check_buffer(rt, program, &program->ports[i], given[i], kernels);
        status          = status ? status : wrong;
    }
    return status ? status : check_overlaps(rt, program, given);
}

/* An empty input with memory behind it, as if no extent were 0. Code may read what it then does not use: a clamped
 * index lies in 0..max(extent - 1, 0) along each dimension. One row is enough: the other dimensions have stride 0. */
static int use_empty(kn_rt *rt, const kn_rt_port *port, const kn_buffer *given, kn_buffer *used)
{
    const int dense = port->dense < 0 ? 0 : port->dense;
    kn_buffer row   = *given;
    for (int d = 0; d < given->rank; d++) {
        row.dim[d].extent = given->dim[d].extent > 1 ? given->dim[d].extent : 1;
        row.dim[d].stride = 0;
    }
    const int status = kn_rt_copy_new(rt, &row, dense, used);
    if (!status)
        memset(used->data, 0, (size_t)(row.dim[dense].extent * kn_rt_type_size((int)given->type)));
    for (int d = 0; d < given->rank; d++)
        used->dim[d].extent = given->dim[d].extent;
    return status;
}

/* A dense copy. It is of the host alone, also where a device has the newer copy of `given`. */
static int use_copy(kn_rt *rt, const kn_rt_program *program, const kn_rt_port *port, const kn_buffer *given,
                    kn_buffer *used)
{
    if (!given->data)
        return kn_rt_error(
            rt, KN_ERROR_ARGUMENT,
            "%s: %s `%s`: its data is NULL and its stride along %s is %lld; a buffer that is on a device "
            "only must have stride 1 there",
            program->name, port_kind(port), port->name, dim_name(port, port->dense),
            (long long)given->dim[port->dense].stride);
    int status = KN_OK;
    if (given->flags & KN_DEVICE_NEWER && !port->is_output)
        status = kn_rt_device_copy(rt, program->name, given, true);
    if (!status)
        status = kn_rt_copy_new(rt, given, port->dense, used);
    return status || port->is_output ? status : kn_rt_copy_elements(rt, given, used, port->dense);
}

/* What the code uses for `given`. Along a dimension of one element any stride is as good as 1. */
static int use_buffer(kn_rt *rt, const kn_rt_program *program, const kn_rt_port *port, const kn_buffer *given,
                      kn_buffer *used)
{
    *used = *given;
    if (!port->is_output && is_empty(given))
        return use_empty(rt, port, given, used);
    if (port->dense < 0 || given->dim[port->dense].stride == 1)
        return KN_OK;
    if (given->dim[port->dense].extent < 2 || is_empty(given)) {
        used->dim[port->dense].stride = 1;
        return KN_OK;
    }
    return use_copy(rt, program, port, given, used);
}

static void free_copies(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, kn_buffer *used)
{
    for (int i = 0; i < program->port_count; i++)
        if (given[i] && used[i].data != given[i]->data) {
            kn_rt_free(rt, used[i].data);
            used[i].data = given[i]->data;
        }
}

/* A call of a program with or without kernels begins. */
static int enter(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, kn_buffer *used, bool kernels)
{
    kn_rt_error_clear();
    kn_rt_thread()->place = KN_ANYWHERE;
    atomic_fetch_add_explicit(&rt->calls, 1, memory_order_relaxed);
    int status = check_all(rt, program, given, kernels);
    if (status)
        return status;
    for (int i = 0; i < program->port_count; i++)
        used[i] = *given[i];
    for (int i = 0; i < program->port_count && !status; i++)
        status = use_buffer(rt, program, &program->ports[i], given[i], &used[i]);
    if (status) {
        free_copies(rt, program, given, used);
        return status;
    }
    kn_rt_thread()->place = kernels ? KN_ON_DEVICE : KN_ON_HOST;
    kn_rt_trace(rt, KN_RT_CALL_BEGIN, program->name, NULL, 0);
    return KN_OK;
}

int kn_rt_enter(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, kn_buffer *used)
{
    return enter(kn_rt_of(rt), program, given, used, false);
}

int kn_rt_enter_device(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, kn_buffer *used)
{
    return enter(kn_rt_of(rt), program, given, used, true);
}

int kn_rt_leave(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, kn_buffer *used, int status)
{
    rt = kn_rt_of(rt);
    for (int i = 0; i < program->port_count && !status; i++)
        if (program->ports[i].is_output && used[i].data != given[i]->data)
            status = kn_rt_copy_elements(rt, &used[i], given[i], program->ports[i].dense);
    free_copies(rt, program, given, used);
    kn_rt_trace(rt, KN_RT_CALL_END, program->name, NULL, status);
    return status;
}

/* Coordinates as the language writes a range: "0..640", half open. */
static const char *range_text(char text[PART_SIZE], int64_t min, int64_t extent)
{
    snprintf(text, PART_SIZE, extent > 0 ? "%lld..%lld" : "nothing", (long long)min, (long long)(min + extent));
    return text;
}

int kn_rt_need(kn_rt *rt, const kn_rt_program *program, int32_t port, int32_t dim, int32_t min, int32_t max,
               const kn_buffer *used, const char *reader)
{
    const kn_dim *has = &used[port].dim[dim];
    if (min > max || (min >= has->min && max < (int64_t)has->min + has->extent))
        return KN_OK;
    const kn_rt_port *p = &program->ports[port];
    char              needed[PART_SIZE], given[PART_SIZE];
    kn_rt_thread()->reader = reader;
    return kn_rt_error(kn_rt_of(rt), KN_ERROR_BOUNDS, "%s: %s `%s` is too small: %s %s is %s%s%s, %s is given",
                       program->name, port_kind(p), p->name, dim_name(p, dim),
                       range_text(needed, min, (int64_t)max - min + 1), reader ? "needed by `" : "written",
                       reader ? reader : "", reader ? "`" : "", range_text(given, has->min, has->extent));
}
