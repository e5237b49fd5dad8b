/* SPDX-License-Identifier: MIT */
/* Negations that minima and maxima read, kept from a fault of the driver's compiler.
 *
 * Takes   PTX as LLVM prints it: an instruction a line, a register for each value.
 * Gives   the same, in which the second operand of a signed `min` or `max` is no negation. The operands change places;
 * of two negations the second is computed as ~x + 1. Holds   each line computes what it did.
 *
 * For GPUs from sm_90 on, ptxas of CUDA 12.6 to 13.3, and drivers with the same compiler, join min(a, min(b, -c)) into
 * one instruction and lose the sign: min(a, b, c). They do so for the second operand of the inner one alone, signed and
 * of 16 or 32 bits. A difference a - c whose `a` they find to be 0 counts as well, as does what a loop carries once
 * they have unrolled it: such an operand is put first if the other one is safer. */
#include "codegen/llvm/llvm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What defines a register; the greater, the more likely it is a negation. */
typedef enum Origin { ORIGIN_OTHER, ORIGIN_COPY, ORIGIN_DIFFERENCE, ORIGIN_NEGATION } Origin;

typedef struct Register {
    Origin origin;
    bool   defined;
    bool   hidden; /* its negation is written as ~x + 1 */
} Register;

/* The registers of a function by their place: %r and %rs in turns. */
typedef struct Registers {
    Gen      *g;
    Register *at;
    size_t    count;
} Registers;

/* A line, and its operands if it is `\tNAME \tA, B, C;`. */
typedef struct Line {
    const char *begin, *end; /* with the line break */
    const char *operand[3];
    int         length[3], operands;
} Line;

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static Line line_at(const char *text)
{
    Line        line = { .begin = text, .end = text + strcspn(text, "\n") };
    const char *at   = text + 1;
    line.end += *line.end == '\n';
    if (*text != '\t' || *at < 'a' || *at > 'z')
        return line;
    at += strcspn(at, " \t;\n");
    at += strspn(at, " \t");
    for (int i = 0; i < 3 && at[0] != ';' && at < line.end; i++) {
        line.operand[i] = at;
        line.length[i]  = (int)strcspn(at, ",;\n");
        line.operands   = i + 1;
        at += line.length[i];
        at += strspn(at, ", ");
    }
    return line;
}

/* The place of an operand that is a register of 16 or 32 bits, else -1. */
static long place_of(const Line *line, int operand)
{
    if (operand >= line->operands || !starts(line->operand[operand], "%r"))
        return -1;
    const char *digits = line->operand[operand] + 2;
    const bool  narrow = *digits == 's';
    digits += narrow;
    return *digits >= '0' && *digits <= '9' ? 2 * strtol(digits, NULL, 10) + narrow : -1;
}

static Register register_of(const Registers *known, const Line *line, int operand)
{
    const long place = place_of(line, operand);
    return place >= 0 && (size_t)place < known->count ? known->at[place] : (Register){ 0 };
}

/* The register at a place, which may be new. */
static Register *register_at(Registers *known, size_t place)
{
    if (place >= known->count) {
        const size_t count = 2 * place + 64;
        Register    *more  = gen_alloc(known->g, count * sizeof *more);
        if (known->count)
            memcpy(more, known->at, known->count * sizeof *more);
        known->at    = more;
        known->count = count;
    }
    return &known->at[place];
}

static Origin origin_of(const Line *line)
{
    const char *name = line->begin + 1;
    return starts(name, "neg.s")   ? ORIGIN_NEGATION
           : starts(name, "sub.s") ? ORIGIN_DIFFERENCE
           : starts(name, "mov.")  ? ORIGIN_COPY
                                   : ORIGIN_OTHER;
}

static bool is_signed_minimum(const Line *line)
{
    const char *name = line->begin + 1;
    return line->operands == 3 &&
           (starts(name, "min.s32") || starts(name, "max.s32") || starts(name, "min.s16") || starts(name, "max.s16"));
}

/* Which of a function's registers are negations. */
static void find_origins(Registers *known, const char *begin, const char *end)
{
    for (Line line = line_at(begin); line.begin < end; line = line_at(line.end)) {
        const long place = place_of(&line, 0);
        if (place < 0)
            continue;
        Register *r = register_at(known, (size_t)place);
        r->origin   = r->defined ? ORIGIN_COPY : origin_of(&line);
        r->defined  = true;
    }
}

/* Which of them would be a second operand wherever it stands. */
static void find_hidden(Registers *known, const char *begin, const char *end)
{
    for (Line line = line_at(begin); line.begin < end; line = line_at(line.end))
        if (is_signed_minimum(&line) && register_of(known, &line, 1).origin == ORIGIN_NEGATION &&
            register_of(known, &line, 2).origin == ORIGIN_NEGATION)
            register_at(known, (size_t)place_of(&line, 2))->hidden = true;
}

static char *copy(char *to, const char *begin, const char *end)
{
    memcpy(to, begin, (size_t)(end - begin));
    return to + (end - begin);
}

/* ~x + 1, in place of `neg.sN x`. */
static char *write_hidden(char *to, const Line *line)
{
    const char *bits = line->begin + strlen("\tneg.s");
    return to + sprintf(to, "\tnot.b%.2s \t%.*s, %.*s;\n\tadd.s%.2s \t%.*s, %.*s, 1;\n", bits, line->length[0],
                        line->operand[0], line->length[1], line->operand[1], bits, line->length[0], line->operand[0],
                        line->length[0], line->operand[0]);
}

static char *write_line(char *to, const Registers *known, const Line *line)
{
    if (is_signed_minimum(line) && register_of(known, line, 2).origin > register_of(known, line, 1).origin) {
        to = copy(to, line->begin, line->operand[1]);
        return to + sprintf(to, "%.*s, %.*s;\n", line->length[2], line->operand[2], line->length[1], line->operand[1]);
    }
    if (register_of(known, line, 0).hidden && origin_of(line) == ORIGIN_NEGATION)
        return write_hidden(to, line);
    return copy(to, line->begin, line->end);
}

/* A hidden negation is at most three times as long as it was. */
char *order_minima(Gen *g, const char *ptx)
{
    char *const result = gen_alloc(g, 3 * strlen(ptx) + 1);
    char       *to     = result;
    for (const char *begin = ptx, *end; *begin; begin = end) {
        const char *next  = strstr(begin + 1, "\n{\n"); /* names of registers are a function's */
        Registers   known = { .g = g };
        end               = next ? next + 1 : begin + strlen(begin);
        find_origins(&known, begin, end);
        find_hidden(&known, begin, end);
        for (Line line = line_at(begin); line.begin < end; line = line_at(line.end))
            to = write_line(to, &known, &line);
    }
    *to = 0;
    return result;
}
