/* page: text on its way to a FILE, a few KiB at a time, and the first write that failed.
 * Append to `text` with base/str.h, call page_turn() now and then, page_finish() once. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

struct page {
    FILE *file;             /* borrowed */
    struct str text;        /* not yet handed to file */
    int sys;                /* errno of the first failed write, else 0 */
};

void page_init(struct page *page, FILE *file);

/* Hand the text on if there is enough of it. After a failure it is dropped. */
void page_turn(struct page *page);

/* Where several things follow each other, what this one is: "NAME:", with an empty line before it unless it is the
 * first. `name`: escaped. */
void page_heading(struct page *page, const char *name, bool first);

/* Columns of a terminal that text takes: one for each character. */
size_t page_columns(const char *p, size_t n);

/* Hand everything on, flush, release the memory. False with ERR_IO or ERR_MEMORY when anything failed. */
bool page_finish(struct page *page, struct err *err);

#endif
