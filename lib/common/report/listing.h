/* listing: an aligned table of tensors as text: name, type, shape, size, and one more column. On a terminal, names are
 * shortened in the middle and the last column at its end, so that a row fits a line. */
#ifndef REPORT_LISTING_H
#define REPORT_LISTING_H

#include "catalog/tensor.h"
#include "report/page.h"

/* Input of the table. Borrowed. */
struct listing {
    size_t n;                   /* number of tensors */
    uint64_t nbytes;            /* of all tensors; `more` if some have an unknown size */
    bool more;
    const char *title;          /* title of the last column */
    const char *totals;         /* last column of the line with the totals */
    const void *own;            /* argument of the functions below */
    struct tensor (*at)(const void *own, size_t i, uint64_t *nbytes);
    /* Adds the last column and returns its style. Called twice for all tensors, in order. */
    enum screen_style (*add_last)(struct str *cell, const void *own, size_t i);
};

void listing_add(struct page *page, const struct listing *list);

#endif
