/* SPDX-License-Identifier: MIT */
/* The table of rules of the simplifier, as text and as read. */
#ifndef KILN_IR_SIMPLIFY_RULES_H
#define KILN_IR_SIMPLIFY_RULES_H

#include "ir/expr.h"

/* The integer types that x, y, z, w and constants may have in a rule. */
typedef enum RuleTypes { RULE_ALL, RULE_INDEX /* i32 and i64 */ } RuleTypes;

/* An expression like `pattern` may become `result` where `condition` (NULL: nothing) holds.
 *     x y z w          integers, all of one type
 *     c0 c1 c2         integer constants of that type; what is computed of constants alone is a constant
 *     p q              conditions
 *     a b d            of any type
 *     min max abs select(condition, yes, no), and the operators as the language has them; where two operands may change
 *     places, both ways match
 *     exact(…)         in a condition: the sum or product does not leave the type */
typedef struct Rule {
    const char *pattern, *result, *condition;
    RuleTypes   types;
} Rule;

extern const Rule rule_table[];
extern const int  rule_count;

typedef enum PatternKind {
    PATTERN_OP,
    PATTERN_ANY,
    PATTERN_INT,
    PATTERN_CONSTANT,
    PATTERN_CONDITION,
    PATTERN_NUMBER,
    PATTERN_TRUTH,
    PATTERN_EXACT
} PatternKind;

enum { PATTERN_VARIABLES = 12 };

typedef struct Pattern Pattern;
struct Pattern {
    PatternKind    kind;
    ExprOp         op;       /* of PATTERN_OP */
    int            variable; /* of ANY, INT, CONSTANT, CONDITION: its number, below PATTERN_VARIABLES */
    int64_t        value;    /* of NUMBER and TRUTH */
    int            count;
    const Pattern *args[3];
    bool           is_constant; /* made of constants and numbers only */
};

/* Reads a pattern; NULL if the text is not one. */
const Pattern *pattern_read(Arena *arena, const char *text);

/* What an operator weighs in the order that every rule descends. */
int rule_weight(ExprOp op);

#endif
