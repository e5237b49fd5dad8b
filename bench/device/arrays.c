/* SPDX-License-Identifier: MIT */
/* Arrays of a case: memory on both sides, NPY files, and how two of them differ. */
#include "cuda.h"
#include "program.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, COMPARE_THREADS = 16 };

size_t array_bytes(const DeviceArray *a)
{
    size_t n = (size_t)a->bytes;
    for (int d = 0; d < a->dims; d++)
        n *= (size_t)a->size[d];
    return n;
}

DeviceArray array_make(const CaseArray *of, bool on_device)
{
    DeviceArray a = { .kind = of->type[0], .bytes = atoi(of->type + 1) / 8, .dims = of->dims };
    memcpy(a.size, of->size, sizeof a.size);
    memcpy(a.min, of->min, sizeof a.min);
    a.host = aligned_alloc(PAGE, (array_bytes(&a) + PAGE - 1) / PAGE * PAGE);
    if (!a.host)
        fail("no memory for %zu bytes", array_bytes(&a));
    if (on_device)
        a.device = cuda_alloc(array_bytes(&a));
    return a;
}

void array_free(DeviceArray *a)
{
    free(a->host);
    if (a->device)
        cuda_free(a->device);
    *a = (DeviceArray){ .host = NULL };
}

void array_load(DeviceArray *a, const char *path)
{
    FILE         *file = fopen(path, "rb");
    unsigned char head[10];
    if (!file || fread(head, 1, sizeof head, file) != sizeof head)
        fail("%s cannot be read", path);
    fseek(file, 10 + (head[8] | head[9] << 8), SEEK_SET);
    if (fread(a->host, 1, array_bytes(a), file) != array_bytes(a) || fgetc(file) != EOF)
        fail("%s is of another size", path);
    fclose(file);
}

/* ---- comparing ---- */

typedef struct Part {
    const DeviceArray *expected;
    const void        *got;
    Tolerance          tolerance;
    size_t             begin, end, beyond, far;
    double             largest;
} Part;

static double value_at(const DeviceArray *a, const void *data, size_t i)
{
    if (a->kind == 'f')
        return a->bytes == 4 ? (double)((const float *)data)[i] : ((const double *)data)[i];
    if (a->kind == 'u')
        return a->bytes == 1   ? ((const uint8_t *)data)[i]
               : a->bytes == 2 ? ((const uint16_t *)data)[i]
                               : ((const uint32_t *)data)[i];
    return a->bytes == 1   ? ((const int8_t *)data)[i]
           : a->bytes == 2 ? ((const int16_t *)data)[i]
                           : ((const int32_t *)data)[i];
}

static void *compare_part(void *part)
{
    Part *p = part;
    for (size_t i = p->begin; i < p->end; i++) {
        const double a = value_at(p->expected, p->got, i), b = value_at(p->expected, p->expected->host, i);
        if (a == b || (isnan(a) && isnan(b)))
            continue;
        const double d = isnan(a - b) ? INFINITY : fabs(a - b), slack = p->tolerance.rel * fabs(b);
        p->largest = d > p->largest ? d : p->largest;
        p->beyond += d > p->tolerance.abs + slack;
        p->far += d > p->tolerance.outlier + slack && d > p->tolerance.abs + slack;
    }
    return NULL;
}

bool array_compare(const DeviceArray *expected, const void *got, Tolerance tolerance, char *text, size_t size)
{
    const size_t n = array_bytes(expected) / (size_t)expected->bytes;
    Part         parts[COMPARE_THREADS];
    pthread_t    threads[COMPARE_THREADS];
    for (size_t k = 0; k < COMPARE_THREADS; k++) {
        parts[k] = (Part){ expected, got, tolerance, n * k / COMPARE_THREADS, n * (k + 1) / COMPARE_THREADS, 0, 0, 0 };
        if (pthread_create(&threads[k], NULL, compare_part, &parts[k]))
            fail("no thread could be made");
    }
    size_t beyond = 0, far = 0;
    double largest = 0;
    for (size_t k = 0; k < COMPARE_THREADS; k++) {
        pthread_join(threads[k], NULL);
        beyond += parts[k].beyond;
        far += parts[k].far;
        largest = parts[k].largest > largest ? parts[k].largest : largest;
    }
    const bool within = far == 0 && (double)beyond <= tolerance.share * (double)n;
    if (largest == 0)
        snprintf(text, size, "equal");
    else if (within)
        snprintf(text, size, "%.2g", largest);
    else
        snprintf(text, size, "DIFFERENT by %.2g (%zu of %zu values)", largest, beyond, n);
    return within;
}
