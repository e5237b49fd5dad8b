/* SPDX-License-Identifier: MIT */
/* Sets looked at with numbers for their parameters.
 *
 * Takes   a set.
 * Gives   how large it is along its coordinates, for figures that are told to people and for weights of a cost; what is
 *         proved never rests on them. */
#include "poly/tile/sample.h"

#include <isl/ilp.h>

isl_set *sample_at(isl_set *set)
{
    for (int p = 0; p < isl_set_dim(set, isl_dim_param); p++)
        set = isl_set_fix_si(set, isl_dim_param, (unsigned)p, SAMPLE);
    return set;
}

bool sample_range(isl_set *set, int d, int64_t range[2])
{
    isl_aff *at   = isl_aff_var_on_domain(isl_local_space_from_space(isl_set_get_space(set)), isl_dim_set, (unsigned)d);
    isl_val *v[2] = { isl_set_min_val(set, at), isl_set_max_val(set, at) };
    bool     known = isl_val_is_int(v[0]) == isl_bool_true && isl_val_is_int(v[1]) == isl_bool_true;
    for (int i = 0; i < 2; i++) {
        range[i] = known ? isl_val_get_num_si(v[i]) : 0;
        isl_val_free(v[i]);
    }
    isl_aff_free(at);
    return known;
}
