/* SPDX-License-Identifier: MIT */
/* Calls a pipeline that Kiln has written as C, on whatever machine this is compiled for: tests/foreign.
 *
 *     cc -DHEADER='"NAME.h"' -DFUNCTION=NAME_kiln foreign.c NAME.c && ./a.out CASE
 *
 * CASE is a text: "param TYPE FILE" and "buffer TYPE RANK MIN EXTENT … FILE" lines in the order of the ports,
 * where FILE has the elements, little-endian and dense; after the call every buffer is written back to its file. */
#include HEADER

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int FUNCTION(const kn_buffer *const *buffers, const void *params);

enum { MOST_PORTS = 32 };

static int is_big_endian(void)
{
    const uint16_t one = 1;
    return !*(const unsigned char *)&one;
}

/* From little-endian to the order of this machine, and back. */
static void order_bytes(unsigned char *at, size_t count, size_t size)
{
    for (size_t i = 0; is_big_endian() && i < count; i++)
        for (size_t k = 0; k < size / 2; k++) {
            const unsigned char byte    = at[i * size + k];
            at[i * size + k]            = at[i * size + size - 1 - k];
            at[i * size + size - 1 - k] = byte;
        }
}

static size_t size_of(int type)
{
    static const unsigned char sizes[] = { 0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8 };
    return sizes[type];
}

static void transfer(const char *path, const char *mode, void *at, size_t bytes)
{
    FILE *file = fopen(path, mode);
    if (!file || (*mode == 'r' ? fread(at, 1, bytes, file) : fwrite(at, 1, bytes, file)) != bytes) {
        fprintf(stderr, "%s: not %lu bytes\n", path, (unsigned long)bytes);
        exit(2);
    }
    fclose(file);
}

static size_t take_buffer(FILE *text, kn_buffer *b, char *path)
{
    int     type;
    int64_t stride = 1;
    if (fscanf(text, "%d %d", &type, &b->rank) != 2)
        exit(2);
    b->type = (kn_type)type;
    for (int d = 0; d < b->rank; d++) {
        int min, extent;
        if (fscanf(text, "%d %d", &min, &extent) != 2)
            exit(2);
        b->dim[d].min    = min;
        b->dim[d].extent = extent;
        b->dim[d].stride = stride;
        stride *= extent;
    }
    if (fscanf(text, "%999s", path) != 1)
        exit(2);
    const size_t count = (size_t)stride, size = size_of(type);
    b->data = malloc(count * size + 1);
    transfer(path, "rb", b->data, count * size);
    order_bytes(b->data, count, size);
    return count;
}

int main(int argc, char **argv)
{
    static kn_buffer buffers[MOST_PORTS];
    static char      paths[MOST_PORTS][1000], word[20], path[1000];
    size_t           counts[MOST_PORTS];
    const kn_buffer *pointers[MOST_PORTS];
    uint64_t         params[MOST_PORTS] = { 0 };
    int              buffer_count = 0, param_count = 0, type;
    FILE            *text = argc > 1 ? fopen(argv[1], "r") : NULL;
    while (text && fscanf(text, "%19s", word) == 1)
        if (!strcmp(word, "buffer")) {
            pointers[buffer_count] = &buffers[buffer_count];
            counts[buffer_count]   = take_buffer(text, &buffers[buffer_count], paths[buffer_count]);
            buffer_count++;
        } else if (fscanf(text, "%d %999s", &type, path) == 2) {
            transfer(path, "rb", &params[param_count], size_of(type));
            order_bytes((unsigned char *)&params[param_count++], 1, size_of(type));
        }
    if (!text)
        return 2;
    const int status = FUNCTION(pointers, params);
    if (status)
        fprintf(stderr, "status %d: %s\n", status, kn_rt_last_error());
    for (int i = 0; i < buffer_count; i++) {
        const size_t size = size_of((int)buffers[i].type);
        order_bytes(buffers[i].data, counts[i], size);
        transfer(paths[i], "wb", buffers[i].data, counts[i] * size);
    }
    return status != 0;
}
