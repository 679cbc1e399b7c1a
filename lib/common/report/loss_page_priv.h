/* Shared by loss_page.c and loss_tables.c. */
#ifndef REPORT_LOSS_PAGE_PRIV_H
#define REPORT_LOSS_PAGE_PRIV_H

#include "report/loss_items.h"
#include "report/loss_page.h"
#include "report/page.h"

/* Totals of the weights with one scheme. */
struct scheme_sum {
    const char *type;
    uint64_t weights, nbytes;
    struct loss loss;                   /* elements, noise and signal only */
};

struct loss_page {
    struct page *page;
    const struct choice *choice;
    const struct losses *losses;
    const struct loss_about *about;
    struct loss_item *items;            /* n, in the order of the output; owned */
    size_t n;
    struct loss all;
    uint64_t read, written;             /* bytes of the tensors of input and output */
    uint64_t quantized;                 /* bytes of the quantized weights */
    uint64_t left, left_elements;       /* tensors that are not quantized */
    struct scheme_sum *schemes;         /* nschemes, in the order of the output; owned */
    size_t nschemes, schemes_room;
    struct loss_worst worst;            /* indices of items */
};

/* loss_tables.c: appends the totals of each scheme if there are several, the worst weights, and, folded, all weights and the
 * other tensors. */
void loss_tables_schemes(const struct loss_page *p);
void loss_tables_worst(const struct loss_page *p);
void loss_tables_weights(const struct loss_page *p);
void loss_tables_left(const struct loss_page *p);

#endif
