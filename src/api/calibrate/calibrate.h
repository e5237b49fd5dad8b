/* SPDX-License-Identifier: MIT */
/* What a calibration measured, and the text that it becomes. */
#ifndef KILN_API_CALIBRATE_H
#define KILN_API_CALIBRATE_H

#include "schedulers/model/curve.h"

enum { CALIBRATE_CHECKS = 12 };

typedef struct Calibrated {
    Machine reported;         /* by the system; the speeds are the usual ones */
    Machine before, measured; /* what schedules were made for until now, and what was found */
    Curve   one, all;
    Found   found;
    int     times;                   /* that the speeds were fitted to */
    double  fit_error;               /* of a predicted ratio of two of them */
    int     checks;                  /* programs that were scheduled for both machines */
    int     changed;                 /* those of them whose schedules differ */
    double  ratio[CALIBRATE_CHECKS]; /* of each: its time as scheduled for `measured` over that for `before` */
} Calibrated;

/* The programs of the check, CALIBRATE_CHECKS of them. */
extern const char *const calibrate_checks[];
/* Are the checked programs slower than before by more than noise, in the geometric mean or any of them? */
bool calibrated_is_worse(const Calibrated *c);
/* The text of the machine to use from now on, with what was found as comments. */
void calibrated_print(Text *out, const Calibrated *c);

#endif
