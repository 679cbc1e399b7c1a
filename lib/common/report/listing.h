/* listing: an aligned table of tensors as text: name, type, shape, size, and one more column. */
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
    void (*add_last)(struct str *cell, const void *own, size_t i);    /* called once for each tensor, in order */
};

void listing_add(struct page *page, const struct listing *list);

#endif
