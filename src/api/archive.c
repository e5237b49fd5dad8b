/* SPDX-License-Identifier: MIT */
/* Static libraries, without the program `ar`.
 *
 * An archive is "!<arch>\n" and members, each a header of 60 characters and its bytes, from even offsets on. The first
 * member, "/", is the index that linkers search: a count, the offset of the member that defines each symbol (32 bits,
 * high byte first), then the names. "//" holds names longer than 15 characters; a member refers to one by "/OFFSET".
 *
 * Takes   a new object with its one symbol, and an archive.
 * Gives   an archive in which the object stands before the other's members; the index of the other is kept, its offsets
 *         moved.
 */
#include "api/archive.h"

#include "base/text.h"

#include <stdlib.h>

enum { HEADER = 60, NAME = 16, SIZE_AT = 48, SIZE_DIGITS = 10 };

static const char magic[] = "!<arch>\n";
enum { MAGIC = 8 };

/* One member of an archive that is read: where its header begins, its bytes. */
typedef struct Member {
    size_t at;
    Bytes  bytes;
    size_t next;
} Member;

static bool member_read(Bytes archive, size_t at, Member *m)
{
    if (at > archive.size || archive.size - at < HEADER || memcmp(archive.at + at + 58, "`\n", 2))
        return false;
    char digits[SIZE_DIGITS + 1] = { 0 };
    memcpy(digits, archive.at + at + SIZE_AT, SIZE_DIGITS);
    const unsigned long long size = strtoull(digits, NULL, 10);
    if (size > archive.size - at - HEADER)
        return false;
    *m = (Member){ at, { archive.at + at + HEADER, (size_t)size }, at + HEADER + (size_t)size + (size & 1) };
    return true;
}

static bool member_is(Bytes archive, const Member *m, const char *name)
{
    const size_t n = strlen(name);
    return !memcmp(archive.at + m->at, name, n) && archive.at[m->at + n] == ' ';
}

static uint32_t read_be(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void add_be(Text *t, uint32_t v)
{
    const char b[] = { (char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v };
    text_add_n(t, b, 4);
}

/* The same bytes every time: no date, no owner. */
static void add_member(Text *t, const char *name, Bytes bytes)
{
    text_printf(t, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644u, bytes.size);
    if (bytes.size)
        text_add_n(t, bytes.at, bytes.size);
    if (bytes.size & 1)
        text_add_n(t, "\n", 1);
}

/* The parts of the other archive: its index, its long names (may be missing), and where the rest begins. */
typedef struct Other {
    Bytes    index, names;
    size_t   rest;
    uint32_t count; /* of symbols */
} Other;

static bool other_read(Bytes archive, Other *o)
{
    *o = (Other){ 0 };
    if (!archive.size)
        return true;
    Member m;
    if (archive.size < MAGIC || memcmp(archive.at, magic, MAGIC) || !member_read(archive, MAGIC, &m) ||
        !member_is(archive, &m, "/") || m.bytes.size < 4)
        return false;
    o->index = m.bytes;
    o->count = read_be(m.bytes.at);
    o->rest  = m.next;
    if ((m.bytes.size - 4) / 4 < o->count)
        return false;
    if (member_read(archive, m.next, &m) && member_is(archive, &m, "//")) {
        o->names = m.bytes;
        o->rest  = m.next;
    }
    size_t end = o->rest;
    while (end < archive.size && member_read(archive, end, &m))
        end = m.next;
    return end == archive.size && end > o->rest;
}

/* The object's own name goes behind the other's long names, so that their offsets stay. */
static Bytes long_names(Arena *arena, Bytes had, const char *name)
{
    Text t;
    text_init(&t, arena);
    if (had.size)
        text_add_n(&t, had.at, had.size);
    text_printf(&t, "%s/\n", name);
    return (Bytes){ text_string(&t), t.count };
}

static size_t padded(size_t size)
{
    return HEADER + size + (size & 1);
}

bool archive_make(Arena *arena, const char *object_name, Bytes object, const char *symbol, Bytes other, Bytes *out)
{
    Other o;
    if (!other_read(other, &o))
        return false;
    const Bytes  names   = long_names(arena, o.names, object_name);
    const size_t text_at = 4 + 4 * (size_t)o.count; /* of the names in the other's index */
    const size_t index_size =
        4 + 4 * ((size_t)o.count + 1) + strlen(symbol) + 1 + (o.count ? o.index.size - text_at : 0);
    const size_t object_at = MAGIC + padded(index_size) + padded(names.size);
    const size_t rest_at   = object_at + padded(object.size);

    Text index;
    text_init(&index, arena);
    add_be(&index, o.count + 1);
    add_be(&index, (uint32_t)object_at);
    for (uint32_t i = 0; i < o.count; i++)
        add_be(&index, (uint32_t)(read_be(o.index.at + 4 + 4 * i) - o.rest + rest_at));
    text_add_n(&index, symbol, strlen(symbol) + 1);
    if (o.count)
        text_add_n(&index, o.index.at + text_at, o.index.size - text_at);

    Text t;
    text_init(&t, arena);
    text_add_n(&t, magic, MAGIC);
    add_member(&t, "/", (Bytes){ text_string(&index), index.count });
    add_member(&t, "//", names);
    add_member(&t, arena_printf(arena, "/%zu", o.names.size), object);
    if (other.size)
        text_add_n(&t, other.at + o.rest, other.size - o.rest);
    *out = (Bytes){ text_string(&t), t.count };
    return true;
}
