/* listing: an aligned table of tensors for people: name, type, shape, size, and what else there is to say of each.
 *
 * Its widths come from all rows, so each row is set twice: once to be measured, then to be printed. */
#ifndef REPORT_LISTING_H
#define REPORT_LISTING_H

#include "catalog/tensor.h"
#include "report/page.h"

enum { LISTING_NAME, LISTING_TYPE, LISTING_SHAPE, LISTING_SIZE, LISTING_COLUMNS };

/* The cells that are aligned; one more follows them. */
struct listing {
    struct page page;
    struct str cell[LISTING_COLUMNS];
    size_t width[LISTING_COLUMNS];
};

void listing_init(struct listing *t, FILE *file);

/* Set the cells of a row: the titles, a tensor, or the totals; more than the `nbytes` when some have no size. */
void listing_titles(struct listing *t);
void listing_tensor(struct listing *t, const struct tensor *tensor, uint64_t nbytes);
void listing_totals(struct listing *t, size_t tensors, uint64_t nbytes, bool more);

/* Measure the row that is set, or print it with its last cell, which may be empty. */
void listing_measure(struct listing *t);
void listing_print(struct listing *t, const char *last);

/* page_finish(), and the cells are cleared. */
bool listing_finish(struct listing *t, struct err *err);

#endif
