/* SPDX-License-Identifier: MIT */
/* Ridge regression by the normal equations, solved by Cholesky's factors (learn.h). */
#include "schedulers/tune/learn.h"

#include <math.h>
#include <string.h>

#include "schedulers/graph/constants.h"

void learn_begin(Learned *l, int count)
{
    memset(l, 0, sizeof *l);
    l->count = count;
    for (int i = 0; i < count; i++)
        l->precision[i][i] = TUNE_RIDGE;
}

void learn_add(Learned *l, const double *x, double y)
{
    for (int i = 0; i < l->count; i++) {
        for (int k = 0; k < l->count; k++)
            l->precision[i][k] += x[i] * x[k];
        l->moment[i] += x[i] * y;
    }
    l->fresh = false;
}

static void factorize(Learned *l)
{
    for (int i = 0; i < l->count; i++)
        for (int k = 0; k <= i; k++) {
            double sum = l->precision[i][k];
            for (int j = 0; j < k; j++)
                sum -= l->factor[i][j] * l->factor[k][j];
            l->factor[i][k] = i == k ? sqrt(sum > TUNE_RIDGE * 1e-6 ? sum : TUNE_RIDGE * 1e-6) : sum / l->factor[k][k];
        }
}

/* z with L z = x. */
static void solve_lower(const Learned *l, const double *x, double *z)
{
    for (int i = 0; i < l->count; i++) {
        z[i] = x[i];
        for (int j = 0; j < i; j++)
            z[i] -= l->factor[i][j] * z[j];
        z[i] /= l->factor[i][i];
    }
}

static void solve(Learned *l)
{
    factorize(l);
    solve_lower(l, l->moment, l->weight);
    for (int i = l->count; i-- > 0;) {
        for (int j = i + 1; j < l->count; j++)
            l->weight[i] -= l->factor[j][i] * l->weight[j];
        l->weight[i] /= l->factor[i][i];
    }
    l->fresh = true;
}

double learn_predict(Learned *l, const double *x, double *deviation)
{
    double z[LEARN_MOST], sum = 0, variance = 0;
    if (!l->fresh)
        solve(l);
    solve_lower(l, x, z);
    for (int i = 0; i < l->count; i++) {
        sum += l->weight[i] * x[i];
        variance += z[i] * z[i];
    }
    *deviation = sqrt(variance);
    return sum;
}
