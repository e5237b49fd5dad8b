/* SPDX-License-Identifier: MIT */
/* The machine: how much of its caches is counted, and its text form. One table of fields drives parsing, printing and
 * the errors. */
#include "schedulers/graph/constants.h"
#include "schedulers/model/machine.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

Machine machine_usual(void)
{
    return (Machine){
        .cores       = 8,
        .vector_bits = 256,
        .line        = 64,
        .l1          = 32 << 10,
        .l2          = 512 << 10,
        .l3          = 16 << 20,
        .l2_shared   = 1,
        .l3_shared   = 8,
        .l3_core     = MACHINE_GUEST_L3,
        .op          = 0.15,
        .load        = 0.4,
        .l1_rate     = 60,
        .l2_rate     = 40,
        .l3_rate     = 20,
        .memory_rate = 9,
        .memory_all  = 21,
        .ahead       = 18,
        .wait        = 10,
        .row         = 3,
        .split_row   = 100,
        .task        = 100,
    };
}

int machine_datapath(const Machine *m)
{
    return m->datapath && m->datapath < m->vector_bits ? m->datapath : m->vector_bits;
}

/* ---- How much of a cache is counted ------------------------------------------------------- */

/* MACHINE_GUEST_L3: servers have 1.5 to 5 MiB of L3 per physical core. On two cores that are told 260 MiB, reading 4
 * MiB already runs at 28 bytes/ns, against 110 from L2 and 14 from memory. One thread there, ms of schedules made for
 * half of that L3, for 4 MiB a core, and by hand: max_filter 215, 78, 77; unsharp 9.7, 6.1, 6.0; blur 5.9, 4.1, 4.0.
 * From 3 to 8 MiB a core these schedules are the same. */
double machine_claimed_cache(const Machine *m)
{
    return fmax((double)m->l2, fmin((double)m->l3, (double)m->l3_core * m->cores));
}

double machine_kept_l2(const Machine *m)
{
    return KEPT_L2 * (double)m->l2 / m->l2_shared;
}

double machine_last_cache(const Machine *m)
{
    return fmax((double)m->l2, fmin(KEPT_L3 * (double)m->l3, machine_claimed_cache(m)));
}

double machine_start_rate(const Machine *m)
{
    const double latency = m->wait * MOST_OUTSTANDING;
    return latency > 0 && m->ahead > 0 ? m->ahead * (double)m->line / latency : m->memory_rate;
}

/* Measured with a sum of two rows, streaming against normal stores, with an L2 of 2 MiB. One thread: an output of 1 MiB
 * takes 51 and 47 us, 1.5 MiB 79 and 99, 4 MiB 245 and 297, 16 MiB 909 and 1157. Two threads, so 4 MiB of L2: 2 MiB
 * take 53 and 45 us, 3 MiB 80 and 92, 16 MiB 467 and 609. The input fills half of the L2, so streaming wins a little
 * earlier than this says. */
double machine_streams_from(const Machine *m)
{
    return m->stream ? (double)m->stream : (double)m->l2 * fmax(1, (double)m->cores / m->l2_shared);
}

/* ---- The text form ----------------------------------------------------------------------- */

typedef enum FieldKind { FIELD_COUNT, FIELD_BYTES, FIELD_NUMBER } FieldKind;

/* A row per field of a Machine: its name, its offset, and its least and largest value. */
typedef struct Field {
    const char *name;
    FieldKind   kind;
    size_t      offset;
    double      least, most;
    const char *meaning, *example;
} Field;

#define ROW(name, kind, least, most, meaning, example)                                                                 \
    {                                                                                                                  \
#name, kind, offsetof(Machine, name), least, most, meaning, example                                            \
    }

#define DEVICE(name, kind, least, most, meaning, example)                                                              \
    {                                                                                                                  \
        "gpu_" #name, kind, offsetof(Machine, device.name), least, most, meaning, example                              \
    }

/* clang-format off */
static const Field fields[] = {
    ROW(cores,       FIELD_COUNT,  1,    4096,   "threads that run at a time",                  "8"),
    ROW(vector_bits, FIELD_COUNT,  64,   4096,   "bits of a vector",                            "256"),
    ROW(datapath,    FIELD_COUNT,  0,    4096,   "bits computed at a time, 0: those of a vector", "256"),
    ROW(line,        FIELD_BYTES,  8,    65536,  "bytes of a cache line",                       "64"),
    ROW(l1,          FIELD_BYTES,  1024, 0x1p40, "bytes of a core's first data cache",          "32k"),
    ROW(l2,          FIELD_BYTES,  1024, 0x1p40, "bytes of the second cache",                   "512k"),
    ROW(l3,          FIELD_BYTES,  0,    0x1p40, "bytes of the third cache, 0 if there is none", "16M"),
    ROW(l2_shared,   FIELD_COUNT,  1,    4096,   "how many of the cores share an l2",           "1"),
    ROW(l3_shared,   FIELD_COUNT,  1,    4096,   "how many of the cores share an l3",           "8"),
    ROW(l3_core,     FIELD_BYTES,  1024, 0x1p40, "bytes of the l3 that one core can count on",  "4M"),
    ROW(stream,      FIELD_BYTES,  0,    0x1p40, "an output of more bytes streams, 0: as all l2", "4M"),
    ROW(op,          FIELD_NUMBER, 1e-6, 1e6,    "ns of one vector operation",                  "0.15"),
    ROW(load,        FIELD_NUMBER, 1e-6, 1e6,    "ns of loading a vector register from l1",     "0.4"),
    ROW(l1_rate,     FIELD_NUMBER, 1e-6, 1e6,    "bytes a ns that one core copies in l1",       "60"),
    ROW(l2_rate,     FIELD_NUMBER, 1e-6, 1e6,    "bytes a ns from l2 to l1, one core copying",  "40"),
    ROW(l3_rate,     FIELD_NUMBER, 1e-6, 1e6,    "bytes a ns from l3 to l2, one core copying",  "20"),
    ROW(memory_rate, FIELD_NUMBER, 1e-6, 1e6,    "bytes a ns from memory to there, one core",   "9"),
    ROW(memory_all,  FIELD_NUMBER, 1e-6, 1e6,    "the same of all cores",                       "21"),
    ROW(ahead,       FIELD_NUMBER, 0,    1e6,    "lines that pass while one comes from memory", "18"),
    ROW(wait,        FIELD_NUMBER, 0,    1e9,    "ns of a line that is not prefetched, of many", "10"),
    ROW(row,         FIELD_NUMBER, 0,    1e9,    "ns to begin a row",                           "5"),
    { "parted",      FIELD_NUMBER, offsetof(Machine, split_row), 0, 1e9,
                                                 "ns to begin a row that is split at its ends", "100" },
    ROW(task,        FIELD_NUMBER, 0,    1e9,    "ns to hand out a piece of a parallel loop",   "1000"),
};

/* Those of the device, after the others. */
static const Field device_fields[] = {
    DEVICE(sms,              FIELD_COUNT,  1,    4096,   "multiprocessors of the GPU",                   "132"),
    DEVICE(sm_threads,       FIELD_COUNT,  32,   4096,   "threads that a multiprocessor holds",          "2048"),
    DEVICE(sm_blocks,        FIELD_COUNT,  1,    256,    "blocks that a multiprocessor holds",           "32"),
    DEVICE(block_threads,    FIELD_COUNT,  32,   1024,   "threads of a block",                           "1024"),
    DEVICE(sm_registers,     FIELD_COUNT,  1024, 1e6,    "registers of a multiprocessor",                "65536"),
    DEVICE(thread_registers, FIELD_COUNT,  16,   1024,   "registers of a thread",                        "255"),
    DEVICE(sm_shared,        FIELD_BYTES,  1024, 0x1p30, "bytes of a multiprocessor's shared memory",    "228k"),
    DEVICE(block_shared,     FIELD_BYTES,  1024, 0x1p30, "bytes of shared memory of a block",            "227k"),
    DEVICE(block_reserved,   FIELD_BYTES,  0,    0x1p20, "bytes of it that the system has of each block", "1k"),
    DEVICE(l2,               FIELD_BYTES,  1024, 0x1p40, "bytes of the GPU's second cache",              "50M"),
    DEVICE(lanes,            FIELD_COUNT,  8,    1024,   "operations of a multiprocessor in a cycle",    "128"),
    DEVICE(clock,            FIELD_NUMBER, 1e-3, 1e3,    "cycles a ns",                                  "1.98"),
    DEVICE(memory_rate,      FIELD_NUMBER, 1e-3, 1e6,    "bytes a ns of the GPU's memory",               "4200"),
    DEVICE(l2_rate,          FIELD_NUMBER, 1e-3, 1e6,    "bytes a ns of its second cache",               "6000"),
    DEVICE(latency,          FIELD_NUMBER, 1,    1e6,    "ns of a load from its memory",                 "600"),
    DEVICE(launch,           FIELD_NUMBER, 0,    1e9,    "ns of a kernel behind another one",            "3000"),
    DEVICE(host_rate,        FIELD_NUMBER, 1e-3, 1e6,    "bytes a ns between host and GPU",              "50"),
};
/* clang-format on */
enum {
    OWN_FIELDS    = sizeof fields / sizeof *fields,
    DEVICE_FIELDS = sizeof device_fields / sizeof *device_fields,
    FIELDS        = OWN_FIELDS + DEVICE_FIELDS
};

static const Field *field_at(int i)
{
    return i < OWN_FIELDS ? &fields[i] : &device_fields[i - OWN_FIELDS];
}

static const struct {
    char letter;
    int  shift;
} units[] = { { 'G', 30 }, { 'M', 20 }, { 'k', 10 } };
enum { UNITS = sizeof units / sizeof *units };

static void *field_of(Machine *m, const Field *f)
{
    return (char *)m + f->offset;
}

static void set_field(Machine *m, const Field *f, double value)
{
    switch (f->kind) {
    case FIELD_COUNT: *(int *)field_of(m, f) = (int)value; break;
    case FIELD_BYTES: *(int64_t *)field_of(m, f) = (int64_t)value; break;
    case FIELD_NUMBER: *(double *)field_of(m, f) = value; break;
    }
    if (f->offset ==
        offsetof(Machine, vector_bits)) /* of another processor: the width that is computed at a time too */
        m->datapath = 0;
}

typedef struct Reader {
    kn_context   *cx;
    const Source *source;
    const char   *at;
} Reader;

static Loc loc_of(const Reader *r, const char *from, const char *to)
{
    return (Loc){ r->source, (uint32_t)(from - r->source->text), (uint32_t)(to - r->source->text) };
}

/* Skips spaces and comments; between entries also commas and newlines. */
static void skip(Reader *r, const char *blanks)
{
    for (;; r->at += strcspn(r->at, "\n")) {
        r->at += strspn(r->at, blanks);
        if (strncmp(r->at, "//", 2))
            return;
    }
}

static size_t word_length(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-");
}

static const char *all_names(Arena *arena)
{
    Text t;
    text_init(&t, arena);
    text_add(&t, "the names are ");
    for (int i = 0; i < FIELDS; i++)
        text_printf(&t, "%s%s", i ? ", " : "", field_at(i)->name);
    return text_string(&t);
}

/* The field of that name; NULL and a diagnostic if there is none. */
static const Field *read_field(Reader *r)
{
    Arena       *arena = &r->cx->call;
    const size_t n     = word_length(r->at);
    const char  *word  = arena_strndup(arena, r->at, n), *names[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        if (!strcmp(word, names[i] = field_at(i)->name)) {
            r->at += n;
            return field_at(i);
        }
    }
    const Loc   loc        = loc_of(r, r->at, r->at + (n ? n : 1));
    const char *suggestion = text_suggest(arena, word, names, FIELDS);
    if (!n)
        diag_error(r->cx, loc, "write name=value, separated by commas or on lines of their own: l1=32k, l2=512k",
                   "the name of a property of a machine was expected");
    else
        diag_error(r->cx, loc, suggestion ? suggestion : all_names(arena), "a machine has no property '%s'", word);
    return NULL;
}

static double unit_of(const Field *f, char letter)
{
    for (int i = 0; f->kind == FIELD_BYTES && i < UNITS; i++)
        if (letter == units[i].letter || (letter == 'K' && units[i].letter == 'k'))
            return (double)((int64_t)1 << units[i].shift);
    return 0;
}

/* The value after the =: a number, for bytes optionally with a unit. */
static bool read_value(Reader *r, const Field *f, Machine *m)
{
    Arena       *arena  = &r->cx->call;
    const size_t n      = word_length(r->at);
    char        *word   = arena_strndup(arena, r->at, n);
    const Loc    loc    = loc_of(r, r->at, r->at + (n ? n : 1));
    const char  *remedy = arena_printf(arena, "%s: %s, for example %s=%s", f->name, f->meaning, f->name, f->example);
    char        *end    = word;
    double       value  = n && strspn(word, "0123456789.") ? strtod(word, &end) : NAN;
    const double unit   = *end ? unit_of(f, *end) : 0;
    if (unit > 0) {
        value *= unit;
        end++;
    }
    if (!isfinite(value) || *end) {
        diag_error(r->cx, loc, remedy, n ? "'%s' is no value of %s" : "%s%s has no value", word, f->name);
        return false;
    }
    if (value < f->least || value > f->most) {
        diag_error(r->cx, loc, remedy, "%s is at least %.10g and at most %.10g", f->name, f->least, f->most);
        return false;
    }
    if (f->kind != FIELD_NUMBER && value != floor(value)) {
        diag_error(r->cx, loc, remedy, "%s is a whole number", f->name);
        return false;
    }
    set_field(m, f, value);
    r->at += n;
    return true;
}

static bool read_entry(Reader *r, Machine *m)
{
    const Field *f = read_field(r);
    if (!f)
        return false;
    skip(r, " \t\r");
    if (*r->at != '=') {
        diag_error(r->cx, loc_of(r, r->at, r->at + 1),
                   arena_printf(&r->cx->call, "for example %s=%s", f->name, f->example),
                   "'=' and a value was expected after %s", f->name);
        return false;
    }
    r->at++;
    skip(r, " \t\r");
    if (!read_value(r, f, m))
        return false;
    skip(r, " \t\r");
    if (!*r->at || *r->at == ',' || *r->at == '\n')
        return true;
    diag_error(r->cx, loc_of(r, r->at, r->at + 1), "separate properties by commas or ends of lines",
               "a comma was expected after the value of %s", f->name);
    return false;
}

/* A cache line is a power of two of bytes, and a cache has whole lines. Divisors are checked once, here. */
static bool is_sound(const Reader *r, const Machine *m)
{
    if (m->line & (m->line - 1)) {
        diag_error(r->cx, (Loc){ r->source, 0, 1 }, "usually line=64",
                   "a cache line has a power of two of bytes, and not %" PRId64, m->line);
        return false;
    }
    if (m->l2 < m->l1 || (m->l3 && m->l3 < m->l2)) {
        diag_error(r->cx, (Loc){ r->source, 0, 1 }, "give all of them: l1=32k, l2=512k, l3=16M (l3=0: there is none)",
                   "each cache is at least as large as the one before it: l1 has %" PRId64 " bytes, l2 %" PRId64
                   ", l3 %" PRId64,
                   m->l1, m->l2, m->l3);
        return false;
    }
    return true;
}

bool machine_parse(kn_context *cx, const char *name, const char *text, Machine *m)
{
    Source *source = ARENA_NEW(&cx->call, Source);
    *source        = (Source){ arena_strdup(&cx->call, name), arena_strdup(&cx->call, text), strlen(text) };
    Reader  r      = { cx, source, source->text };
    Machine read   = *m;
    if (!m->device.sms) {
        read.device     = device_usual();
        read.device.sms = 0;
    }
    if (source->length >= UINT32_MAX) {
        diag_error(cx, (Loc){ 0 }, NULL, "the text of a machine is a few lines, and not 4 GiB");
        return false;
    }
    for (skip(&r, " \t\r\n,"); *r.at; skip(&r, " \t\r\n,"))
        if (!read_entry(&r, &read))
            return false;
    if (!is_sound(&r, &read))
        return false;
    if (!read.device.sms)
        read.device = m->device;
    *m = read;
    return true;
}

static void print_bytes(Text *out, int64_t bytes)
{
    for (int i = 0; bytes && i < UNITS; i++)
        if (bytes % ((int64_t)1 << units[i].shift) == 0) {
            text_printf(out, "%" PRId64 "%c", bytes >> units[i].shift, units[i].letter);
            return;
        }
    text_printf(out, "%" PRId64, bytes);
}

/* With as few digits as read back to it. */
static void print_number(Text *out, double value)
{
    char digits[40];
    for (int n = 3; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_add(out, digits);
}

static void print_field(Text *out, const Machine *m, const Field *f)
{
    Machine     copy = *m;
    const void *at   = field_of(&copy, f);
    text_printf(out, "%s=", f->name);
    switch (f->kind) {
    case FIELD_COUNT: text_printf(out, "%d", *(const int *)at); break;
    case FIELD_BYTES: print_bytes(out, *(const int64_t *)at); break;
    case FIELD_NUMBER: print_number(out, *(const double *)at); break;
    }
    text_add(out, "\n");
}

double machine_rounded(double speed)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.3g", speed);
    return strtod(digits, NULL);
}

/* The speeds, and the caches as far as a core has them. */
static bool is_measured(const Field *f)
{
    static const size_t sizes[] = { offsetof(Machine, l1), offsetof(Machine, l2), offsetof(Machine, l3_core) };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (f->offset == sizes[i])
            return true;
    return f->kind == FIELD_NUMBER;
}

void machine_print_measured(Text *out, const Machine *m)
{
    for (int i = 0; i < OWN_FIELDS; i++)
        if (is_measured(&fields[i]))
            print_field(out, m, &fields[i]);
}

void machine_print(Text *out, const Machine *m)
{
    for (int i = 0; i < (m->device.sms ? FIELDS : OWN_FIELDS); i++)
        print_field(out, m, field_at(i));
}
