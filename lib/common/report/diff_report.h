/* diff_report: how two models differ: JSON lines, text, and an HTML page. */
#ifndef REPORT_DIFF_REPORT_H
#define REPORT_DIFF_REPORT_H

#include "plan/differences.h"
#include "report/columns.h"
#include "report/loss_items.h"

/* Input of the reports, borrowed. */
struct diff_report {
    const struct differences *d;
    const char *a, *b;              /* the operands, any bytes */
    const char *tool, *version, *command;       /* for the page: the last is the command line */
    bool all;                       /* text: list all tensors that differ, not only the worst */
};

/* Writes one object for each tensor, in the order of A, then those that only B has, then one with the totals. */
void diff_report_json(struct page *page, const struct diff_report *r);

/* Writes the counts, the worst tensors, and the names of those that are not in both. */
void diff_report_text(struct page *page, const struct diff_report *r);

/* Writes the page: counts, heat maps and charts of SQNR, tables. Equal jobs of a day produce equal bytes. */
bool diff_report_html(struct page *page, const struct diff_report *r, struct err *err);

/* Finds, among the pairs with different values, the lowest SQNR; the numbers are indices of the list. */
struct loss_worst diff_report_worst(const struct differences *d);

/* Returns the type that a tensor is stored in, "BF16", "Q4_K" or a scheme such as "gptq"; NULL for NULL. `word` may hold it. */
const char *diff_report_type(char word[SCHEME_WORD], const struct chosen *chosen);

/* Adds the row of a tensor. */
void diff_report_row(struct columns *c, const struct differences *d, size_t i);

#endif
