/* loss_report: the quantization error of each weight, as JSON lines or as a self-contained HTML page with charts and a table
 * of the same numbers. */
#ifndef REPORT_LOSS_REPORT_H
#define REPORT_LOSS_REPORT_H

#include <stdio.h>

#include "encode/losses.h"
#include "plan/choice.h"

/* Writes a line for each encoded weight in output order, then the total. */
bool loss_report_json(FILE *out, const struct choice *choice, const struct losses *losses, struct err *err);

/* Writes the page. `title` names the model and may contain any bytes. */
bool loss_report_html(FILE *out, const struct choice *choice, const struct losses *losses, const char *title, struct err *err);

#endif
