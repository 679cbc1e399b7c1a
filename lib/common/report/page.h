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

/* Hand everything on, flush, release the memory. False with ERR_IO or ERR_MEMORY when anything failed. */
bool page_finish(struct page *page, struct err *err);

#endif
