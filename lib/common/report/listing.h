/* listing: an aligned table of tensors for people: name, type, shape, size, and what else there is to say of each. */
#ifndef REPORT_LISTING_H
#define REPORT_LISTING_H

#include "catalog/tensor.h"
#include "report/page.h"

/* What is listed; borrowed. */
struct listing {
    size_t n;                   /* tensors */
    uint64_t nbytes;            /* of all of them; more when some have no size */
    bool more;
    const char *title;          /* of the last cell */
    const char *totals;         /* in the last cell of the last line */
    const void *own;            /* for: */
    struct tensor (*at)(const void *own, size_t i, uint64_t *nbytes);
    void (*add_last)(struct str *cell, const void *own, size_t i);    /* called once for each tensor, in order */
};

void listing_add(struct page *page, const struct listing *list);

#endif
