/* SPDX-License-Identifier: MIT */
/* The fields of statements as a table: what walking, mapping, printing, reading and hashing go through.
 *
 * One idea: a structure of the IR is declared by a list of its fields (ir/stmt.h), and this table is made from the same
 * list. So a new field is walked, mapped and hashed without another line, and is printed and read where the form of its
 * record says how. */
#ifndef KILN_IR_FIELDS_H
#define KILN_IR_FIELDS_H

#include "ir/stmt.h"

typedef enum FieldKind {
    FIELD_NAME,        /* const char *, interned; may be NULL */
    FIELD_NAMES,       /* an array of them */
    FIELD_TEXT,        /* const char *: a message */
    FIELD_INT,         /* int; negative: none */
    FIELD_INT_PAIR,    /* int[2] */
    FIELD_INT64_PAIR,  /* int64_t[2] */
    FIELD_INT64S,      /* const int64_t *: an array; an element that is not positive: none */
    FIELD_FLAG,        /* bool */
    FIELD_TYPE,        /* kn_type */
    FIELD_STATUS,      /* kn_status */
    FIELD_LOOP_KIND,   /* LoopKind */
    FIELD_MEMORY,      /* Memory */
    FIELD_BUFFER_KIND, /* BufferKind */
    FIELD_BUFFER,      /* const Buffer *; may be NULL */
    FIELD_FUNC,        /* const Func *; may be NULL */
    FIELD_EXPR,        /* const Expr *; may be NULL */
    FIELD_EXPRS,       /* const Expr **: an array; may be NULL */
    FIELD_BODY,        /* const Stmt *: without it the statement does nothing */
    FIELD_ELSE,        /* const Stmt *; may be NULL */
    FIELD_STMTS,       /* const Stmt **: an array */
    FIELD_OPERAND,     /* StageOperand, in place */
    FIELD_OPERANDS,    /* an array of them */
    FIELD_PLACES,      /* Place *: an array */
    FIELD_STAGE,       /* StageCall * */
    FIELD_SLIDING      /* const Sliding *; may be NULL */
} FieldKind;

typedef struct Field {
    const char *name;
    FieldKind   kind;
    uint16_t    offset, count; /* of the field, and of the int with the number of its elements */
} Field;

/* The form says how a record reads as text, and how text becomes one:
 *     $field        the field
 *     %field        a buffer with its type
 *     ?field{...}   only where the field is there (a pointer, a flag, a number that is not negative)
 *     !field{...}   only where it is not
 *     @field{...}   once for each element, with commas between; inside, an array's name means the element
 *     <...>         only in complete text (program_print): the short text is for people
 * All else stands for itself. A body follows, after a colon in lines of more depth. */
typedef struct Record {
    const char  *name;
    size_t       size;
    int          count;
    const Field *fields;
    const char  *form;
} Record;

extern const Record stmt_records[STMT_COUNT]; /* by StmtKind */
extern const Record buffer_record;

/* The record of a field's elements; NULL if they are none. */
const Record *field_record(FieldKind kind);
/* The field of that name, which may be a path ("output.rank"), in the record at *at; *at is where it was found. Either
 * const or not. */
const Field *record_field(const Record *r, const char *name, size_t length, const char **at);

/* The length of the name at `form`, and the brace that closes the one there. */
size_t      form_name(const char *form);
const char *form_close(const char *form);

/* The pointer that a field is. */
static inline const char *field_pointer(const char *field)
{
    const char *p;
    memcpy(&p, field, sizeof p);
    return p;
}

#endif
