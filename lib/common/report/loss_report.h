/* loss_report: the quantization error of each weight, for programs: one JSON object per line. loss_page.h has the page for
 * people. */
#ifndef REPORT_LOSS_REPORT_H
#define REPORT_LOSS_REPORT_H

#include <stdio.h>

#include "encode/losses.h"
#include "plan/choice.h"
#include "report/shift_report.h"

/* Writes a line for each quantized weight in output order, then the total, unless `losses` is NULL; then what adapters change, unless
 * `adapters` is NULL. */
bool loss_report_json(FILE *out, const struct choice *choice, const struct losses *losses, const struct shift_report *adapters,
    struct err *err);

#endif
