/* loss_report: what encoding took from each weight, for programs as one JSON object a line and for people as a page of HTML
 * without anything beside it, whose drawings have their numbers in a table too. */
#ifndef REPORT_LOSS_REPORT_H
#define REPORT_LOSS_REPORT_H

#include <stdio.h>

#include "encode/losses.h"
#include "plan/choice.h"

/* The encoded weights in the order of the output, then the total. */
bool loss_report_json(FILE *out, const struct choice *choice, const struct losses *losses, struct err *err);

/* title: what the page is about, any bytes. */
bool loss_report_html(FILE *out, const struct choice *choice, const struct losses *losses, const char *title, struct err *err);

#endif
