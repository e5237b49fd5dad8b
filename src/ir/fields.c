/* SPDX-License-Identifier: MIT */
/* The tables of ir/stmt.h: fields and forms of each record, loop kinds, kinds of memory. */
#include "ir/fields.h"

/* clang-format off */
const LoopInfo loop_table[LOOP_COUNT] = {
    /*                  keyword       adjective     at once  constant  thread */
    [LOOP_SERIAL]   = { "for",        "serial",     false,   false,    false },
    [LOOP_PARALLEL] = { "parallel",   "parallel",   true,    false,    false },
    [LOOP_VECTOR]   = { "vector",     "vectorized", true,    true,     false },
    [LOOP_UNROLL]   = { "unroll",     "unrolled",   false,   true,     false },
    [LOOP_BLOCK]    = { "gpu_block",  "block",      true,    false,    false },
    [LOOP_THREAD]   = { "gpu_thread", "thread",     true,    false,    true },
    [LOOP_LANE]     = { "gpu_lane",   "lane",       true,    false,    true },
};

const MemoryInfo memory_table[MEMORY_COUNT] = {
    /*                    name        on stack  if small  device */
    [MEMORY_AUTO]     = { "auto",     true,     true,     false },
    [MEMORY_STACK]    = { "stack",    true,     false,    false },
    [MEMORY_HEAP]     = { "heap",     false,    false,    false },
    [MEMORY_REGISTER] = { "register", true,     false,    false },
    [MEMORY_SHARED]   = { "shared",   false,    false,    true },
    [MEMORY_GLOBAL]   = { "global",   false,    false,    true },
    [MEMORY_CONSTANT] = { "constant", false,    false,    true },
};
/* clang-format on */

const char *const buffer_kind_names[BUFFER_KIND_COUNT] = { "input", "output", "scratch" };

/* ---- Fields ------------------------------------------------------------------------------- */

#define STMT_ROW(M, kind, type, name, count)   { #name, FIELD_##kind, offsetof(Stmt, M.name), offsetof(Stmt, M.count) },
#define RECORD_ROW(M, kind, type, name, count) { #name, FIELD_##kind, offsetof(M, name), offsetof(M, count) },

/* clang-format off */
static const Field let_fields[]      = { LET_FIELDS(STMT_ROW, let) },
                   loop_fields[]     = { LOOP_FIELDS(STMT_ROW, loop) },
                   block_fields[]    = { BLOCK_FIELDS(STMT_ROW, block) },
                   branch_fields[]   = { BRANCH_FIELDS(STMT_ROW, branch) },
                   produce_fields[]  = { PRODUCE_FIELDS(STMT_ROW, produce) },
                   provide_fields[]  = { PROVIDE_FIELDS(STMT_ROW, provide) },
                   realize_fields[]  = { REALIZE_FIELDS(STMT_ROW, realize) },
                   store_fields[]    = { STORE_FIELDS(STMT_ROW, store) },
                   alloc_fields[]    = { ALLOC_FIELDS(STMT_ROW, alloc) },
                   need_fields[]     = { NEED_FIELDS(STMT_ROW, need) },
                   check_fields[]    = { CHECK_FIELDS(STMT_ROW, check) },
                   stage_fields[]    = { { "stage", FIELD_STAGE, offsetof(Stmt, stage), 0 } },
                   prefetch_fields[] = { PREFETCH_FIELDS(STMT_ROW, prefetch) },
                   kernel_fields[]   = { KERNEL_FIELDS(STMT_ROW, kernel) },
                   sync_fields[]     = { SYNC_FIELDS(STMT_ROW, sync) },
                   place_fields[]    = { PLACE_FIELDS(RECORD_ROW, Place) },
                   operand_fields[]  = { OPERAND_FIELDS(RECORD_ROW, StageOperand) },
                   call_fields[]     = { STAGE_FIELDS(RECORD_ROW, StageCall) },
                   sliding_fields[]  = { SLIDING_FIELDS(RECORD_ROW, Sliding) },
                   buffer_fields[]   = { BUFFER_FIELDS(RECORD_ROW, Buffer) };

#define RECORD(name, type, fields, form) { name, sizeof(type), (int)(sizeof(fields) / sizeof *(fields)), fields, form }

const Record stmt_records[STMT_COUNT] = {
    [STMT_LET]      = RECORD("let", Stmt, let_fields, "let $name = $value"),
    [STMT_FOR]      = RECORD("for", Stmt, loop_fields, "$kind $name from $min extent $extent"),
    [STMT_BLOCK]    = RECORD("block", Stmt, block_fields, ""),
    [STMT_IF]       = RECORD("if", Stmt, branch_fields, "if $condition?whole{ whole}"),
    [STMT_PRODUCE]  = RECORD("produce", Stmt, produce_fields, "produce $func?update{ update $update}"),
    [STMT_PROVIDE]  = RECORD("provide", Stmt, provide_fields,
                             "$func(@rank{$args})?atomic{ atomic} = @count{$values}"),
    [STMT_REALIZE]  = RECORD("realize", Stmt, realize_fields,
                             "realize $func(@rank{$min extent $extent<?fold{ fold $fold}>})<?sliding{ $sliding}>"),
    [STMT_STORE]    = RECORD("store", Stmt, store_fields,
                             "@places{$buffer[$index]}?atomic{ atomic}?stream{ stream} = @places{$value}"),
    [STMT_ALLOC]    = RECORD("alloc", Stmt, alloc_fields, "alloc %buffer[$count]"),
    [STMT_NEED]     = RECORD("need", Stmt, need_fields,
                             "need $buffer dimension $dim from $min to $max<?reader{ for $reader}>"),
    [STMT_CHECK]    = RECORD("check", Stmt, check_fields, "check $condition else $message< status $status>"),
    [STMT_STAGE]    = RECORD("stage", Stmt, stage_fields, "$stage"),
    [STMT_PREFETCH] = RECORD("prefetch", Stmt, prefetch_fields,
                             "prefetch ?func{$func(@rank{$args})}?buffer{$buffer[$index]}"),
    [STMT_KERNEL]   = RECORD("kernel", Stmt, kernel_fields,
                             "kernel $name threads $threads_x $threads_y $threads_z< resident $resident>"),
    [STMT_BARRIER]  = { "barrier", sizeof(Stmt), 0, NULL, "barrier" },
    [STMT_SYNC]     = RECORD("sync", Stmt, sync_fields, "sync $buffer?write{ write}"),
};

static const Record
    place_record   = RECORD("place", Place, place_fields, "$buffer[$index] = $value"),
    operand_record = RECORD("operand", StageOperand, operand_fields,
                            "!value{storage $type $rank?func{ of $func}"
                            "?buffer{ in $buffer(@rank{$min extent $extent stride $stride})}}?value{$value}"),
    call_record    = RECORD("stage", StageCall, call_fields,
                            "?table{ask}!table{call} $name(@output.rank{$box_min extent $box_extent})"
                            "< symbol $symbol from (@operands{$operands}) to $output?table{ table $table}>"),
    sliding_record = RECORD("sliding", Sliding, sliding_fields, "sliding $count $dims $window?folded{ folded}");

const Record buffer_record = RECORD("buffer", Buffer, buffer_fields,
    "buffer $name : $type $kind?func{ of $func} component $component rank $rank?dims{ dims (@rank{$dims})}"
    " dense $dense in $memory?shares{ with $shares}?coordinates{ coordinates}");
/* clang-format on */

const Record *field_record(FieldKind kind)
{
    switch (kind) {
    case FIELD_PLACES: return &place_record;
    case FIELD_OPERAND:
    case FIELD_OPERANDS: return &operand_record;
    case FIELD_STAGE: return &call_record;
    case FIELD_SLIDING: return &sliding_record;
    default: return NULL;
    }
}

const Field *record_field(const Record *r, const char *name, size_t length, const char **at)
{
    const char  *point = memchr(name, '.', length);
    const size_t first = point ? (size_t)(point - name) : length;
    for (int i = 0; i < r->count; i++) {
        const Field *f = &r->fields[i];
        if (strlen(f->name) != first || memcmp(f->name, name, first) != 0)
            continue;
        if (!point)
            return f;
        *at += f->offset;
        return record_field(field_record(f->kind), point + 1, length - first - 1, at);
    }
    return NULL;
}

size_t form_name(const char *form)
{
    size_t n = 0;
    while ((form[n] >= 'a' && form[n] <= 'z') || form[n] == '_' || form[n] == '.')
        n++;
    return n;
}

const char *form_close(const char *form)
{
    int depth = 0;
    do
        depth += (*form == '{') - (*form == '}');
    while (depth && *++form);
    return form;
}
