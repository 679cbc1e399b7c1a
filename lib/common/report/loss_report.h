/* loss_report: quantization error of each weight and of all, as rows of a table, and as JSON for programs. */
#ifndef REPORT_LOSS_REPORT_H
#define REPORT_LOSS_REPORT_H

#include "plan/choice.h"
#include "report/columns.h"
#include "report/loss_items.h"
#include "report/shift_report.h"

/* Writes a line for each quantized weight in output order, then the total, unless `losses` is NULL; then what adapters change, unless
 * `adapters` is NULL. */
void loss_report_json(struct page *page, const struct choice *choice, const struct losses *losses, const struct shift_report *adapters);

/* Describes tensor i of a choice, unless it is a part of a weight after the first. */
bool loss_report_item(struct loss_item *item, const struct choice *choice, const struct losses *losses, size_t i);

/* Add the row of a weight, or of all n weights together. */
void loss_report_row(struct columns *c, const struct loss_item *item);
void loss_report_total(struct columns *c, uint64_t n, const struct loss *all, uint64_t nbytes);

/* Adds the columns that all tables about errors have. */
void loss_report_sums(struct columns *c, const struct loss *l, uint64_t nbytes);

/* Returns the bits per element; 0 without elements. */
double loss_report_bits(uint64_t nbytes, uint64_t elements);

/* Append a number of elements, "8192", "516 thousand", "2.92 million", or a size. */
void loss_report_add_count(struct str *out, double n);
void loss_report_add_size(struct str *out, double nbytes);

#endif
