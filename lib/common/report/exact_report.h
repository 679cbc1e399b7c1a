/* exact_report: the report of an exact job, a line of JSON or a row of a table for each weight. */
#ifndef REPORT_EXACT_REPORT_H
#define REPORT_EXACT_REPORT_H

#include "exact/exact_row.h"
#include "report/page.h"

/* What a report says. All members are borrowed. */
struct exact_report {
    const struct exact_row *rows;       /* n of them */
    size_t n;
    enum exact_level level;
    bool refused;                       /* a weight was refused */
    const char *model, *tool, *version; /* for the page; `model` is the name of the input in messages */
};

/* Writes a line of JSON for each weight. */
void exact_report_json(struct page *page, const struct exact_report *report);

/* Writes an HTML page: a table of weights, with why earlier names of the list do not hold them. */
void exact_report_page(struct page *page, const struct exact_report *report);

#endif
