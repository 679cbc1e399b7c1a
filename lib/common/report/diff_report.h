/* diff_report: how two models differ: JSON lines, text, and an HTML page. */
#ifndef REPORT_DIFF_REPORT_H
#define REPORT_DIFF_REPORT_H

#include <stdio.h>

#include "plan/differences.h"

/* Input of the reports, borrowed. */
struct diff_report {
    const struct differences *d;
    const char *a, *b;              /* the operands, any bytes */
    const char *tool, *version;     /* for the page */
    bool all;                       /* text: list all tensors that differ, not only the worst */
};

enum { DIFF_REPORT_WORST = 10 };

/* Sets numbers[0..*n) to the pairs with the lowest SQNR, lowest first, among pairs with different values. */
void diff_report_worst(const struct differences *d, size_t numbers[DIFF_REPORT_WORST], size_t *n);

/* Writes one object for each tensor, in the order of A, then those that only B has. */
bool diff_report_json(FILE *out, const struct diff_report *r, struct err *err);

/* Writes the counts, the worst tensors, and the names of those that are not in both. */
bool diff_report_text(FILE *out, const struct diff_report *r, struct err *err);

/* Writes the page: counts, heat maps and charts of SQNR, tables. Equal jobs produce equal bytes. */
bool diff_report_html(FILE *out, const struct diff_report *r, struct err *err);

/* Writes the type that a tensor is stored in: "BF16", or the scheme of a weight. Returns buf. */
enum { DIFF_REPORT_TYPE = 32 };
const char *diff_report_type(char buf[DIFF_REPORT_TYPE], const struct chosen *chosen);

#endif
