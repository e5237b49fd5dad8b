/* SPDX-License-Identifier: MIT */
/* The help texts and the man page, from the tables of subcommands and options. */
#include "cli.h"

#include <string.h>

static const char intro[] = "Kiln runs image and stencil pipelines that are written as formulas.";

void help_overview(FILE *out)
{
    fprintf(out, "%s\n\nusage: kiln COMMAND …\n\n", intro);
    int width = 0;
    for (int i = 0; i < COMMAND_COUNT; i++)
        width = (int)strlen(command_table[i].name) > width ? (int)strlen(command_table[i].name) : width;
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-*s  %s\n", width, command_table[i].name, command_table[i].summary);
    fputs("\n  kiln COMMAND --help   says more about a command\n  kiln --version        prints the version\n", out);
}

/* Adds to the text in `to`, which has room for `size`, as far as it goes. */
static void append(char *to, size_t size, const char *text, size_t n)
{
    const size_t used = strlen(to), room = size - used - 1;
    memcpy(to + used, text, n < room ? n : room);
    to[used + (n < room ? n : room)] = 0;
}

/* The names or the endings of all image formats. */
static void append_formats(char *to, size_t size, bool names)
{
    kn_image_format f;
    for (int i = 0; f = kn_image_format_get(i), f.name; i++) {
        append(to, size, names ? ", " : " ", i == 0 ? 0 : names ? 2 : 1);
        append(to, size, names ? f.name : f.endings, strlen(names ? f.name : f.endings));
    }
}

/* A text of the tables, in which {formats} and {endings} stand for what the library has. */
static const char *expand(char *to, size_t size, const char *text)
{
    static const char formats[] = "{formats}", endings[] = "{endings}";
    *to = 0;
    while (*text) {
        const bool names = !strncmp(text, formats, strlen(formats)), ends = !strncmp(text, endings, strlen(endings));
        if (names || ends)
            append_formats(to, size, names);
        else
            append(to, size, text, 1);
        text += names || ends ? strlen(formats) : 1;
    }
    return to;
}

enum { TEXT_SIZE = 4096 };

/* Prints a text in lines of at most 80 characters; an empty line in it stays one. */
static void print_wrapped(const char *words, int indent)
{
    enum { WIDTH = 80 };
    char        room[TEXT_SIZE];
    const char *text   = expand(room, sizeof room, words);
    int         column = 0;
    while (*text) {
        if (*text == '\n') {
            fputs(column ? "\n\n" : "\n", stdout);
            text += strspn(text, "\n");
            column = 0;
            continue;
        }
        const int n = (int)strcspn(text, " \n");
        if (column && column + 1 + n > WIDTH) {
            putchar('\n');
            column = 0;
        }
        if (column == 0)
            column = printf("%*s%.*s", indent, "", n, text);
        else
            column += printf(" %.*s", n, text);
        text += n;
        text += *text == ' ';
    }
    putchar('\n');
}

/* "-o, --output [NAME=]IMAGE" */
static void print_option_name(const Option *o)
{
    if (o->letter)
        printf("-%c, ", o->letter);
    printf("%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
}

static void print_warnings(void)
{
    fputs("\nwarnings:\n", stdout);
    for (int i = 0; kn_warning_get(i).name; i++)
        printf("  %-12s %s\n", kn_warning_get(i).name, kn_warning_get(i).summary);
}

void help_command(CommandId id)
{
    const Command *command = &command_table[id];
    printf("usage: kiln %s %s\n\n", command->name, command->synopsis);
    print_wrapped(command->description, 0);
    putchar('\n');
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!(option_table[i].commands >> id & 1))
            continue;
        fputs("  ", stdout);
        print_option_name(&option_table[i]);
        putchar('\n');
        print_wrapped(option_table[i].help, 6);
    }
    if (option_table[OPTION_NO_WARN].commands >> id & 1)
        print_warnings();
}

/* A text for roff: backslashes and hyphens escaped, and no line begins with a control character. */
static void roff(const char *words)
{
    char room[TEXT_SIZE];
    for (const char *text = expand(room, sizeof room, words); *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (!strncmp(text, "…", strlen("…"))) {
            fputs("\\&...", stdout);
            text += strlen("…") - 1;
        } else if (*text == '\n') {
            fputs("\n.PP\n", stdout);
            text += strspn(text, "\n") - 1;
        } else
            putchar(*text);
    }
}

void help_man(void)
{
    printf(
        ".TH KILN 1 \"\" \"kiln %s\" \"User commands\"\n.SH NAME\nkiln \\- run image pipelines written as formulas\n",
        KN_VERSION);
    puts(".SH SYNOPSIS");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        printf(".B kiln %s\n[options] ", command_table[i].name);
        roff(command_table[i].synopsis);
        puts("\n.br");
    }
    printf(".SH DESCRIPTION\n%s\n", intro);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        printf(".SH \"KILN %s\"\n", command_table[i].name);
        roff(command_table[i].description);
        putchar('\n');
        for (int o = 0; o < OPTION_COUNT; o++) {
            if (!(option_table[o].commands >> i & 1))
                continue;
            printf(".TP\n.B ");
            if (option_table[o].letter)
                printf("\\-%c, ", option_table[o].letter);
            roff(option_table[o].name);
            putchar(' ');
            roff(option_table[o].argument ? option_table[o].argument : "");
            putchar('\n');
            roff(option_table[o].help);
            putchar('\n');
        }
    }
    puts(".SH WARNINGS\nA warning changes neither the result nor the exit status; \\-\\-no\\-warn NAME leaves it out.");
    for (int i = 0; kn_warning_get(i).name; i++) {
        printf(".TP\n.B ");
        roff(kn_warning_get(i).name);
        putchar('\n');
        roff(kn_warning_get(i).summary);
        putchar('\n');
    }
    puts(".SH EXIT STATUS\n0 if all is well, 1 if the program or the data is wrong or images differ, 2 if the command "
         "line is wrong.");
}
