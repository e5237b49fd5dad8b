/* SPDX-License-Identifier: MIT */
/* kiln diff A B: how far two images are apart, and whether that is within the tolerance.
 *
 * Within: |a - b| <= abs + rel*|b| for all values but a share of `share`, and those have |a - b| <= outlier + rel*|b|.
 */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct Tolerance {
    double abs, rel, share, outlier;
} Tolerance;

/* Reads ABS[,REL[,SHARE,OUTLIER]]. */
static int parse_tolerance(Cli *cli, Tolerance *t)
{
    const char *text = option_value(cli, OPTION_TOLERANCE, 0);
    if (!text)
        return DONE;
    double     *field[] = { &t->abs, &t->rel, &t->share, &t->outlier };
    const char *at      = text;
    int         count   = 0;
    while (count < 4) {
        char *end;
        *field[count] = strtod(at, &end);
        if (end == at || !(*field[count] >= 0))
            break;
        count++;
        at = end;
        if (*at != ',')
            break;
        at++;
    }
    if (*at || count == 0 || count == 3 || at[-1] == ',')
        return usage(
            cli, "--tol %s: numbers that are not negative were expected, as ABS or ABS,REL or ABS,REL,SHARE,OUTLIER",
            text);
    return DONE;
}

static bool same_shape(const kn_buffer *a, const kn_buffer *b)
{
    bool same = a->type == b->type && a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = a->dim[d].extent == b->dim[d].extent;
    return same;
}

/* Compares, prints and judges. */
static int compare(Cli *cli, const kn_buffer *a, const kn_buffer *b, const Tolerance *t)
{
    const char **path = cli->operands;
    if (!same_shape(a, b))
        return failed("they cannot be compared: %s is %s %s, and %s is %s %s", path[0], kn_type_name(a->type),
                      shape_text(cli, a), path[1], kn_type_name(b->type), shape_text(cli, b));
    kn_difference d, outliers;
    if (kn_compare(cli->cx, a, b, t->abs, t->rel, &d) != KN_OK ||
        kn_compare(cli->cx, a, b, t->share > 0 ? t->outlier : INFINITY, t->rel, &outliers) != KN_OK)
        return report(cli);
    if (d.max == 0 && d.beyond == 0) {
        printf("equal: %s %s\n", kn_type_name(a->type), shape_text(cli, a));
        return DONE;
    }
    printf("max error %.9g at %s, mean error %.6g; %" PRId64 " of %" PRId64
           " values beyond the tolerance (abs %g, rel %g)\n",
           d.max, point_text(cli, d.where, a->rank), d.mean, d.beyond, d.count, t->abs, t->rel);
    const bool few = (double)d.beyond <= t->share * (double)d.count;
    if (t->share > 0 && outliers.beyond > 0)
        printf("%" PRId64 " values beyond what is allowed for outliers (abs %g, rel %g)\n", outliers.beyond, t->outlier,
               t->rel);
    if (t->share > 0 && !few)
        printf("that is a share of %.3g, and %g is allowed\n", (double)d.beyond / (double)d.count, t->share);
    return d.beyond == 0 || (few && outliers.beyond == 0) ? DONE : FAILED;
}

int command_diff(Cli *cli)
{
    if (cli->operand_count != 2)
        return usage(cli, "two images were expected, and %d given: kiln diff A B", cli->operand_count);
    Tolerance t        = { 0 };
    int       status   = parse_tolerance(cli, &t);
    kn_buffer image[2] = { 0 };
    for (int i = 0; i < 2 && status == DONE; i++)
        if (kn_image_load(cli->cx, cli->operands[i], &image[i]) != KN_OK) {
            report_about(cli, cli->operands[i]);
            status = USAGE;
        }
    return status == DONE ? compare(cli, &image[0], &image[1], &t) : status;
}
