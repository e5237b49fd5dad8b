/* SPDX-License-Identifier: MIT */
/* Kernels of linear algebra, of sweeps and of recurrences, with variations.
 *
 * A kernel is a text. `for i LO HI` opens a loop over [LO, HI), `down i LO HI` one that runs down, `end` closes it;
 * `local x` declares a variable; other lines are statements. A to F are arrays, their rank is that of their first use;
 * N, M and P are the parameters. A line may get a guard, a loop other bounds, another direction or a step of 2, a
 * subscript a shift or the opposite direction: then it is no longer the kernel that it was, and still a program. */
#include "affine_draft.h"

#include <ctype.h>
#include <string.h>

static const char *const kernels[] = {
    /* products */
    "for i 0 N|for j 0 M|C[i][j] = 0.5 * C[i][j]|for k 0 N|C[i][j] += 0.25 * A[i][k] * B[k][j]|end|end|end",
    "for i 0 N|for j 0 N|D[i][j] = 0|for k 0 M|D[i][j] += 0.25 * A[i][k] * B[k][j]|end|end|end|"
    "for i 0 N|for j 0 M|E[i][j] = 0.5 * E[i][j]|for k 0 N|E[i][j] += 0.25 * D[i][k] * C[k][j]|end|end|end",
    "for i 0 N|B[i] = 0|end|for i 0 M|C[i] = 0|for j 0 N|C[i] = C[i] + 0.25 * A[i][j] * D[j]|end|"
    "for j 0 N|B[j] = B[j] + 0.25 * A[i][j] * C[i]|end|end",
    "for i 0 N|for j 0 N|B[i] = B[i] + 0.25 * A[i][j] * C[j]|end|end|"
    "for i 0 N|for j 0 N|D[i] = D[i] + 0.25 * A[j][i] * E[j]|end|end",
    "for i 0 N|for j 0 N|A[i][j] = A[i][j] + 0.25 * B[i] * C[j] + 0.125 * D[i] * E[j]|end|end|"
    "for i 0 N|for j 0 N|E[i] = E[i] + 0.25 * A[j][i] * D[j]|end|end|for i 0 N|E[i] = E[i] + B[i]|end|"
    "for i 0 N|for j 0 N|F[i] = F[i] + 0.25 * A[i][j] * E[j]|end|end",
    "for i 0 N|for j 0 i + 1|C[i][j] = 0.5 * C[i][j]|end|for k 0 M|for j 0 i + 1|"
    "C[i][j] += 0.25 * A[i][k] * A[j][k]|end|end|end",
    "for i 0 M|for j 0 N|for k i + 1 M|B[i][j] += 0.25 * A[k][i] * B[k][j]|end|B[i][j] = 0.5 * B[i][j]|end|end",
    "for i 0 N|for j 0 M|for k 0 i|C[k][j] += 0.25 * B[i][j] * A[i][k]|end|C[i][j] = 0.5 * C[i][j] + B[i][j]|end|end",
    "for i 0 N|for j 0 M|for k 0 3|D[k] = 0|for l 0 3|D[k] += 0.25 * A[i][j][l] * B[l][k]|end|end|for k 0 3|"
    "A[i][j][k] = D[k]|end|end|end",
    /* factors and solvers */
    "for k 0 N|for j k + 1 N|A[k][j] = 0.5 * A[k][j] * A[k][k]|end|for i k + 1 N|for j k + 1 N|"
    "A[i][j] -= 0.25 * A[i][k] * A[k][j]|end|end|end",
    "for i 0 N|for j 0 i|for k 0 j|A[i][j] -= 0.25 * A[i][k] * A[j][k]|end|A[i][j] = 0.5 * A[i][j] * A[j][j]|end|"
    "for k 0 i|A[i][i] -= 0.25 * A[i][k] * A[i][k]|end|end",
    "for i 0 N|B[i] = C[i]|for j 0 i|B[i] -= 0.25 * A[i][j] * B[j]|end|B[i] = 0.5 * B[i] * A[i][i]|end",
    "down i 0 N|B[i] = C[i]|for j i + 1 N|B[i] -= 0.25 * A[i][j] * B[j]|end|end",
    "for k 0 N|local s|s = 0|for i 0 M|s += 0.25 * A[i][k] * A[i][k]|end|B[k][k] = s|for i 0 M|"
    "C[i][k] = 0.5 * A[i][k] * B[k][k]|end|for j k + 1 N|B[k][j] = 0|for i 0 M|B[k][j] += 0.25 * C[i][k] * A[i][j]|end|"
    "for i 0 M|A[i][j] = A[i][j] - 0.25 * C[i][k] * B[k][j]|end|end|end",
    "for k 1 N|local s|s = 0|for i 0 k|s += 0.25 * B[k - i - 1] * A[i]|end|C[k] = 0.5 * s|for i 0 k|"
    "D[i] = A[i] + 0.25 * s * A[k - i - 1]|end|for i 0 k|A[i] = D[i]|end|A[k] = C[k]|end",
    /* paths, strings */
    "for k 0 N|for i 0 N|for j 0 N|A[i][j] = A[i][j] < A[i][k] + A[k][j] ? A[i][j] : 0.5 * (A[i][k] + A[k][j])|end|end|"
    "end",
    "down i 0 N|for j i + 1 N|A[i][j] = A[i][j - 1] > A[i + 1][j] ? A[i][j - 1] : A[i + 1][j]|for k i + 1 j|"
    "A[i][j] = A[i][j] > A[i][k] + A[k + 1][j] ? A[i][j] : 0.5 * (A[i][k] + A[k + 1][j])|end|end|end",
    "for i 1 N|for j 1 M|A[i][j] = A[i - 1][j - 1] > A[i - 1][j] ? A[i - 1][j - 1] : 0.5 * A[i][j - 1] + B[i] * C[j]|"
    "end|end",
    /* means */
    "for j 0 M|B[j] = 0|for i 0 N|B[j] += 0.125 * A[i][j]|end|end|for i 0 N|for j 0 M|A[i][j] -= B[j]|end|end|"
    "for i 0 M|for j i M|C[i][j] = 0|for k 0 N|C[i][j] += 0.25 * A[k][i] * A[k][j]|end|C[j][i] = C[i][j]|end|end",
    /* sweeps */
    "for t 0 P|for i 0 N|for j 1 N|A[i][j] = A[i][j] - 0.25 * A[i][j - 1] * B[i][j]|"
    "C[i][j] = 0.5 * C[i][j] - 0.25 * B[i][j] * C[i][j - 1]|end|end|for i 0 N|down j 0 N - 1|"
    "A[i][j] = 0.5 * (A[i][j] - A[i][j + 1] * B[i][j + 1])|end|end|for i 1 N|for j 0 N|"
    "A[i][j] = A[i][j] - 0.25 * A[i - 1][j] * B[i][j]|end|end|end",
    "for i 0 N|local s|s = 0|for j 0 M|B[i][j] = 0.5 * A[i][j] + 0.25 * s|s = B[i][j]|end|end|"
    "for i 0 N|local r|r = 0|down j 0 M|C[i][j] = 0.5 * A[i][j] + 0.25 * r|r = C[i][j]|end|end|"
    "for i 0 N|for j 0 M|D[i][j] = B[i][j] + C[i][j]|end|end",
    "for t 0 P|for i 1 N - 1|for j 1 N - 1|A[i][j] = 0.1 * (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + "
    "A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1])|end|end|end",
    /* fields in time */
    "for t 0 P|for j 0 M|A[0][j] = D[t]|end|for i 1 N|for j 0 M|A[i][j] = A[i][j] - 0.5 * (C[i][j] - C[i - 1][j])|end|"
    "end|for i 0 N|for j 1 M|B[i][j] = B[i][j] - 0.5 * (C[i][j] - C[i][j - 1])|end|end|for i 0 N - 1|for j 0 M - 1|"
    "C[i][j] = C[i][j] - 0.25 * (B[i][j + 1] - B[i][j] + A[i + 1][j] - A[i][j])|end|end|end",
    "for t 0 P|for i 1 N - 1|B[i] = 0.25 * (A[i - 1] + A[i] + A[i + 1])|end|for i 1 N - 1|A[i] = B[i]|end|end",
    "for t 0 P|for i 1 N - 1|for j 1 M - 1|B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + "
    "A[i - 1][j])|end|end|for i 1 N - 1|for j 1 M - 1|A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + "
    "B[i + 1][j] + B[i - 1][j])|end|end|end",
    "for t 1 P|for i 1 N - 1|A[(t + 1) % 3][i] = 0.5 * A[t % 3][i] - 0.25 * A[(t + 2) % 3][i] + 0.125 * "
    "(A[t % 3][i - 1] + A[t % 3][i + 1])|end|end",
    "for t 0 P|for i 1 N - 1|for j 1 M - 1|local g|g = 0.25 * (A[t % 2][i][j + 1] - A[t % 2][i][j - 1])|"
    "B[t % 2][i][j] = A[t % 2][i][j] + 0.5 * g * B[(t + 1) % 2][i][j]|"
    "A[(t + 1) % 2][i][j] = 0.25 * (A[t % 2][i - 1][j] + A[t % 2][i + 1][j]) + g|end|end|end",
    /* transposed and at another scale */
    "for i 0 N|for j 0 M|B[j][i] = A[i][j]|end|end|for i 1 M|for j 0 N|C[i][j] = 0.5 * (B[i][j] + B[i - 1][j])|end|end|"
    "for i 1 M|for j 1 N|D[j][i] = 0.5 * (C[i][j] + C[i][j - 1])|end|end",
    "for i 0 N|B[i] = 0.5 * (A[2 * i] + A[2 * i + 1])|end|for i 0 N|C[i] = 0.5 * (B[i / 2] + B[(i + 1) / 2])|end|"
    "for i 0 N|D[i] = C[i] - A[i]|end",
};

typedef struct Kernel {
    Gen *g;
    int  changes;    /* chances in a hundred for each place */
    char parameters; /* what stands for N and M: 's' as they are, 'x' exchanged, 'n' both n */
    char open[MOST_ITERATORS + 1];
    int  open_count;
    bool ranked[MOST_ARRAYS];
} Kernel;

static bool changed(const Kernel *k)
{
    return chance(k->g, k->changes);
}

static char parameter(const Kernel *k, char c)
{
    if (c == 'P')
        return 'p';
    return k->parameters == 'n' ? 'n' : (c == 'N') == (k->parameters == 's') ? 'n' : 'm';
}

static bool is_array(const char *at, const char *text)
{
    return *at >= 'A' && *at < 'A' + MOST_ARRAYS && at[1] == '[' && (at == text || !isalnum((unsigned char)at[-1]));
}

static bool is_word(const char *at, const char *text)
{
    return (at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[1]);
}

/* An expression: parameters by their names, locals with a number. */
static void print_text(const Kernel *k, const char *text, int length)
{
    for (int i = 0; i < length; i++) {
        const bool word = is_word(text + i, text);
        if (word && strchr("NMP", text[i]))
            fputc(parameter(k, text[i]), k->g->out);
        else if (word && strchr("srg", text[i]))
            fprintf(k->g->out, "%c%d", text[i], k->g->locals);
        else
            fputc(text[i], k->g->out);
    }
}

/* "[i + 1]", with the offset that all subscripts have. Gives what is behind it. */
static const char *print_index(const Kernel *k, const char *at)
{
    const char *end    = strchr(at, ']');
    const int   length = (int)(end - at) - 1;
    const bool  plain  = length == 1 && strchr("ijkl", at[1]);
    fputs("[", k->g->out);
    if (plain && changed(k) && chance(k->g, 30))
        fprintf(k->g->out, "n - %c + %d]", at[1], OFFSET);
    else {
        print_text(k, at + 1, length);
        fprintf(k->g->out, " + %d]", OFFSET + (changed(k) ? between(k->g, -1, 1) : 0));
    }
    return end + 1;
}

static void print_statement(Kernel *k, const char *text, int length)
{
    const char *end = text + length;
    begin_line(k->g);
    if (k->open_count > 1 && changed(k) && chance(k->g, 30))
        fprintf(k->g->out, "if (%c %s %c) ", k->open[0], chance(k->g, 50) ? "!=" : "<=", k->open[k->open_count - 1]);
    for (const char *at = text; at < end;) {
        if (!is_array(at, text)) {
            print_text(k, at, 1 + (at + 1 < end && isalnum((unsigned char)at[0]) && isalnum((unsigned char)at[1])));
            at += 1 + (at + 1 < end && isalnum((unsigned char)at[0]) && isalnum((unsigned char)at[1]));
            continue;
        }
        const int array = *at - 'A';
        int       rank  = 0;
        fprintf(k->g->out, "a%d_%d", array, k->g->id);
        for (at++; at < end && *at == '['; rank++)
            at = print_index(k, at);
        k->g->arrays[array].rank = rank;
        k->g->array_count        = array + 1 > k->g->array_count ? array + 1 : k->g->array_count;
    }
    fputs(";\n", k->g->out);
    k->g->statements++;
}

/* `for i LO HI`: LO is a word, HI the rest; either may be a sum. */
static void print_loop(Kernel *k, const char *line, int length)
{
    const bool  down  = (*line == 'd') != (changed(k) && chance(k->g, 20));
    const char  name  = strchr(line, ' ')[1];
    const char *low   = strchr(line, ' ') + 3;
    int         words = low[1] == ' ' && low[2] == '+' ? 5 : 1; /* "k + 1" or "k" */
    const char *high  = low + words + 1;
    const int   rest  = (int)(line + length - high);
    const int   later = changed(k) ? 1 : 0, sooner = changed(k) ? 1 : 0, step = changed(k) && chance(k->g, 20) ? 2 : 1;
    begin_line(k->g);
    fprintf(k->g->out, "for (int %c = ", name);
    if (down) {
        print_text(k, high, rest);
        fprintf(k->g->out, " - %d; %c >= ", 1 + sooner, name);
        print_text(k, low, words);
        fprintf(k->g->out, " + %d; %c -= %d) {\n", later, name, step);
    } else {
        print_text(k, low, words);
        fprintf(k->g->out, " + %d; %c < ", later, name);
        print_text(k, high, rest);
        fprintf(k->g->out, " - %d; %c += %d) {\n", sooner, name, step);
    }
    k->open[k->open_count++] = name;
    k->g->indent++;
}

void kernel(Gen *g)
{
    Kernel      k    = { .g = g, .changes = chance(g, 35) ? 0 : between(g, 2, 12), .parameters = "sxn"[pick(g, 3)] };
    const char *text = kernels[pick(g, (int)(sizeof kernels / sizeof *kernels))];
    const int   type = chance(g, 80) ? 0 : 1;
    for (int a = 0; a < MOST_ARRAYS; a++)
        g->arrays[a] = (Array){ .rank = 1, .type = type };
    g->array_count = 0;
    while (*text) {
        const int length = (int)strcspn(text, "|");
        if (!strncmp(text, "for ", 4) || !strncmp(text, "down ", 5)) {
            print_loop(&k, text, length);
        } else if (!strncmp(text, "end", 3)) {
            k.open_count--;
            close_block(g);
        } else if (!strncmp(text, "local ", 6)) {
            g->locals++;
            begin_line(g);
            fprintf(g->out, "double %c%d;\n", text[6], g->locals);
        } else {
            print_statement(&k, text, length);
        }
        text += length + (text[length] == '|');
    }
}
