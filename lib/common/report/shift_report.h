/* shift_report: how the changes of weights (plan/delta.h) show in the output: for programs, and drawn in a page for people. */
#ifndef REPORT_SHIFT_REPORT_H
#define REPORT_SHIFT_REPORT_H

#include "plan/shifts.h"
#include "report/page.h"

/* The deltas of a job, by number. Borrowed. */
struct shift_report {
    const struct delta *const *delta;   /* n of them */
    size_t n;
    const struct shifts *shifts;
};

/* Appends a JSON line for each changed weight, then one for all. */
void shift_report_json(struct page *page, const struct shift_report *r);

/* Appends tiles with the figures of all. */
void shift_report_tiles(struct page *page, const struct shift_report *r);

/* Appends a section of a page: figures of all, and a table with a bar for the share that is kept of each. */
void shift_report_section(struct page *page, const struct shift_report *r);

#endif
