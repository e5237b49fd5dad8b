/* SPDX-License-Identifier: MIT */
/* Terms of a sum that are functions of one of its atoms, as t - (1 << log2(t)) in tables of 1, 2, 4, … rows. */
#ifndef KILN_ANALYSIS_CORRELATED_H
#define KILN_ANALYSIS_CORRELATED_H

#include "analysis/interval.h"

enum {
    MOST_CORRELATED_TERMS  = 32,  /* later terms of a sum are not looked at */
    MOST_CORRELATED_VALUES = 256, /* of the atom: each is tried */
    MOST_CORRELATED_NODES  = 64   /* of the terms */
};

/* The terms of `form`, as a set, that are functions of the atom at `at` alone, itself included; 0: no other term is. */
uint32_t correlated_terms(const Linear *form, int at);

/* The range of the sum of these terms, as whole numbers, where the atom takes every value of `of`. False: there are too
 * many. */
bool correlated_range(kn_context *cx, const Linear *form, int at, uint32_t terms, Range of, Range *out);

#endif
