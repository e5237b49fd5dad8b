/* SPDX-License-Identifier: MIT */
/* Lines and blocks of the text, indented. */
#include "poly/emit/writer.h"

enum { INDENT = 2 };

void begin_line(Writer *w)
{
    text_printf(w->out, "%s%*s", w->prefix, INDENT * w->indent, "");
}

void line(Writer *w, const char *text)
{
    begin_line(w);
    text_printf(w->out, "%s\n", text);
}

void open_block(Writer *w, const char *header)
{
    line(w, header);
    w->indent++;
}

void close_block(Writer *w)
{
    w->indent--;
    line(w, "}");
}
