/* SPDX-License-Identifier: MIT */
/* Joining objects: one relocatable ELF file with the sections of several.
 *
 * Takes   objects for one machine, as LLVM writes them.
 * Gives   an object with all of their sections, each as it was: a linker joins those of one name. Undefined symbols of
 * one part are those that another defines. Holds   hidden symbols, which parts have for each other alone, are local in
 * the result: only what was meant for users is seen from outside. From    System V ABI, chapter 4 (object files). */
#include "codegen/elf_join.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 }; /* of sections in the file: LLVM aligns no section more */

typedef struct Bytes {
    char  *at;
    size_t size, capacity;
} Bytes;

/* A part, and where its sections and symbols are in the result; 0: left out. */
typedef struct Part {
    const char       *file;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    const Elf64_Sym  *symbols;
    const char       *strings, *section_names;
    size_t            symbol_count;
    uint32_t         *section_at, *symbol_at;
} Part;

typedef struct Join {
    Part    *parts;
    int      count;
    Bytes    file, headers, symbols, strings;
    uint32_t local_count;
    bool     failed; /* out of memory */
} Join;

/* ---- Bytes ---- */

static void append(Join *j, Bytes *to, const void *from, size_t size)
{
    if (to->size + size > to->capacity) {
        const size_t capacity = 2 * to->capacity + size + 1024;
        char        *grown    = j->failed ? NULL : realloc(to->at, capacity);
        j->failed             = !grown;
        if (!grown)
            return;
        to->at       = grown;
        to->capacity = capacity;
    }
    if (size)
        memcpy(to->at + to->size, from, size);
    to->size += size;
}

static void align(Join *j)
{
    static const char zeros[ALIGNMENT] = { 0 };
    append(j, &j->file, zeros, (ALIGNMENT - j->file.size % ALIGNMENT) % ALIGNMENT);
}

static uint32_t add_string(Join *j, const char *s)
{
    const uint32_t at = (uint32_t)j->strings.size;
    append(j, &j->strings, s, strlen(s) + 1);
    return at;
}

/* ---- Parts ---- */

static bool open_part(Part *p, const Emitted *object)
{
    p->file   = object->bytes;
    p->header = (const void *)object->bytes;
    if (object->size < sizeof *p->header || memcmp(p->header->e_ident, ELFMAG, SELFMAG) || p->header->e_type != ET_REL)
        return false;
    p->sections      = (const void *)(p->file + p->header->e_shoff);
    p->section_names = p->file + p->sections[p->header->e_shstrndx].sh_offset;
    for (int i = 0; i < p->header->e_shnum; i++)
        if (p->sections[i].sh_type == SHT_SYMTAB) {
            p->symbols      = (const void *)(p->file + p->sections[i].sh_offset);
            p->symbol_count = p->sections[i].sh_size / sizeof *p->symbols;
            p->strings      = p->file + p->sections[p->sections[i].sh_link].sh_offset;
        }
    p->section_at = calloc(p->header->e_shnum, sizeof *p->section_at);
    p->symbol_at  = calloc(p->symbol_count + 1, sizeof *p->symbol_at);
    return p->symbols && p->section_at && p->symbol_at;
}

static const char *symbol_name(const Part *p, size_t i)
{
    return p->strings + p->symbols[i].st_name;
}

/* ---- Sections ---- */

static uint32_t add_header(Join *j, const Elf64_Shdr *s)
{
    append(j, &j->headers, s, sizeof *s);
    return (uint32_t)(j->headers.size / sizeof *s - 1);
}

/* The contents and header of a section, with the numbers of the part still in it. */
static uint32_t add_section(Join *j, Elf64_Shdr s, const char *name, const void *contents)
{
    align(j);
    s.sh_name   = add_string(j, name);
    s.sh_offset = j->file.size;
    if (s.sh_type != SHT_NOBITS)
        append(j, &j->file, contents, s.sh_size);
    return add_header(j, &s);
}

static void add_sections(Join *j, Part *p)
{
    for (int i = 1; i < p->header->e_shnum; i++) {
        const Elf64_Shdr *s = &p->sections[i];
        if (s->sh_type != SHT_SYMTAB && s->sh_type != SHT_STRTAB)
            p->section_at[i] = add_section(j, *s, p->section_names + s->sh_name, p->file + s->sh_offset);
    }
}

/* ---- Symbols ---- */

static void add_symbol(Join *j, Part *p, size_t i, unsigned char binding)
{
    Elf64_Sym s = p->symbols[i];
    s.st_name   = s.st_name ? add_string(j, symbol_name(p, i)) : 0;
    s.st_info   = ELF64_ST_INFO(binding, ELF64_ST_TYPE(s.st_info));
    s.st_other  = binding == STB_LOCAL ? STV_DEFAULT : s.st_other;
    if (s.st_shndx != SHN_UNDEF && s.st_shndx < SHN_LORESERVE)
        s.st_shndx = (uint16_t)p->section_at[s.st_shndx];
    p->symbol_at[i] = (uint32_t)(j->symbols.size / sizeof s);
    append(j, &j->symbols, &s, sizeof s);
}

static bool is_local(const Elf64_Sym *s)
{
    return ELF64_ST_BIND(s->st_info) == STB_LOCAL ||
           (s->st_shndx != SHN_UNDEF && ELF64_ST_VISIBILITY(s->st_other) == STV_HIDDEN);
}

static void add_locals(Join *j, Part *p)
{
    for (size_t i = 1; i < p->symbol_count; i++)
        if (is_local(&p->symbols[i]) && (p == j->parts || ELF64_ST_TYPE(p->symbols[i].st_info) != STT_FILE))
            add_symbol(j, p, i, STB_LOCAL);
}

static void add_globals(Join *j, Part *p)
{
    for (size_t i = 1; i < p->symbol_count; i++)
        if (!is_local(&p->symbols[i]) && p->symbols[i].st_shndx != SHN_UNDEF)
            add_symbol(j, p, i, ELF64_ST_BIND(p->symbols[i].st_info));
}

/* The symbol of the result that has this name for other parts; 0: none yet. */
static uint32_t find_shared(const Join *j, const char *name)
{
    for (int k = 0; k < j->count; k++) {
        const Part *p = &j->parts[k];
        for (size_t i = 1; i < p->symbol_count; i++)
            if (ELF64_ST_BIND(p->symbols[i].st_info) != STB_LOCAL && p->symbol_at[i] &&
                !strcmp(symbol_name(p, i), name))
                return p->symbol_at[i];
    }
    return 0;
}

static void add_undefined(Join *j, Part *p)
{
    for (size_t i = 1; i < p->symbol_count; i++) {
        if (p->symbol_at[i] || is_local(&p->symbols[i]))
            continue;
        const uint32_t found = find_shared(j, symbol_name(p, i));
        if (found)
            p->symbol_at[i] = found;
        else
            add_symbol(j, p, i, ELF64_ST_BIND(p->symbols[i].st_info));
    }
}

static void each_part(Join *j, void (*step)(Join *j, Part *p))
{
    for (int k = 0; k < j->count && !j->failed; k++)
        step(j, &j->parts[k]);
}

static void add_symbols(Join *j)
{
    append(j, &j->symbols, &(Elf64_Sym){ 0 }, sizeof(Elf64_Sym));
    each_part(j, add_locals);
    j->local_count = (uint32_t)(j->symbols.size / sizeof(Elf64_Sym));
    each_part(j, add_globals);
    each_part(j, add_undefined);
}

/* ---- References ---- */

/* Relocations name a section and symbols. */
static void renumber(Join *j, Part *p)
{
    Elf64_Shdr *headers = (Elf64_Shdr *)(void *)j->headers.at;
    for (int i = 1; i < p->header->e_shnum; i++) {
        if (p->sections[i].sh_type != SHT_RELA)
            continue;
        Elf64_Shdr *s = &headers[p->section_at[i]];
        Elf64_Rela *r = (Elf64_Rela *)(void *)(j->file.at + s->sh_offset);
        s->sh_info    = p->section_at[s->sh_info];
        s->sh_link    = (uint32_t)(j->headers.size / sizeof *s); /* the symbols are the next section */
        for (size_t k = 0; k < s->sh_size / sizeof *r; k++)
            r[k].r_info = ELF64_R_INFO((uint64_t)p->symbol_at[ELF64_R_SYM(r[k].r_info)], ELF64_R_TYPE(r[k].r_info));
    }
}

/* The tables at the end, and the header that finds them. */
static void finish(Join *j)
{
    const uint32_t symbols = (uint32_t)(j->headers.size / sizeof(Elf64_Shdr));
    add_section(j,
                (Elf64_Shdr){ .sh_type      = SHT_SYMTAB,
                              .sh_link      = symbols + 1,
                              .sh_info      = j->local_count,
                              .sh_addralign = 8,
                              .sh_entsize   = sizeof(Elf64_Sym),
                              .sh_size      = j->symbols.size },
                ".symtab", j->symbols.at);
    const uint32_t name = add_string(j, ".strtab");
    align(j);
    const uint32_t strings = add_header(j, &(Elf64_Shdr){ .sh_name      = name,
                                                          .sh_type      = SHT_STRTAB,
                                                          .sh_addralign = 1,
                                                          .sh_offset    = j->file.size,
                                                          .sh_size      = j->strings.size });
    append(j, &j->file, j->strings.at, j->strings.size);
    align(j);
    Elf64_Ehdr header = *j->parts[0].header;
    header.e_shoff    = j->file.size;
    header.e_shnum    = (uint16_t)(strings + 1);
    header.e_shstrndx = (uint16_t)strings;
    append(j, &j->file, j->headers.at, j->headers.size);
    if (!j->failed)
        memcpy(j->file.at, &header, sizeof header);
}

static void join(Join *j)
{
    append(j, &j->file, &(Elf64_Ehdr){ 0 }, sizeof(Elf64_Ehdr));
    append(j, &j->headers, &(Elf64_Shdr){ 0 }, sizeof(Elf64_Shdr));
    append(j, &j->strings, "", 1);
    each_part(j, add_sections);
    add_symbols(j);
    each_part(j, renumber);
    finish(j);
}

static void release(Join *j)
{
    for (int k = 0; k < j->count; k++) {
        free(j->parts[k].section_at);
        free(j->parts[k].symbol_at);
    }
    free(j->headers.at);
    free(j->symbols.at);
    free(j->strings.at);
}

bool elf_join(const Emitted *objects, int count, Emitted *out)
{
    Part parts[MOST_PARTS] = { 0 };
    Join j                 = { .parts = parts, .count = count };
    bool whole             = true;
    for (int k = 0; k < count; k++)
        whole = open_part(&parts[k], &objects[k]) && whole;
    if (whole)
        join(&j);
    release(&j);
    if (!whole || j.failed) {
        free(j.file.at);
        return false;
    }
    *out = (Emitted){ j.file.at, j.file.size };
    return true;
}
