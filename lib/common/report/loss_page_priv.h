/* Shared by loss_page.c and loss_tables.c. */
#ifndef REPORT_LOSS_PAGE_PRIV_H
#define REPORT_LOSS_PAGE_PRIV_H

#include "report/loss_page.h"
#include "report/page.h"

enum { LOSS_PAGE_WORST = 10 };

/* Totals of the weights with one encoder. */
struct scheme_sum {
    const struct encoder *encoder;
    uint64_t weights, elements, nbytes;
    double noise, signal;
};

struct loss_page {
    struct page *page;
    const struct choice *choice;
    const struct losses *losses;
    const struct loss_about *about;
    struct loss all;
    uint64_t read, written;             /* bytes of the tensors of input and output */
    uint64_t quantized;                 /* bytes of the quantized weights */
    uint64_t left, left_elements;       /* tensors that are not quantized */
    struct scheme_sum *schemes;         /* nschemes, in the order of the output; owned */
    size_t nschemes, schemes_room;
    uint32_t worst[LOSS_PAGE_WORST];    /* nworst indices in the choice: the lowest SQNR, lowest first */
    size_t nworst;
};

/* Returns the bits per element, 0 if there are no elements. */
double loss_page_bits(uint64_t nbytes, uint64_t elements);

/* Appends a number of elements: "8192", "516 thousand", "2.92 million". */
void loss_page_count(struct str *out, uint64_t n);

/* loss_tables.c: appends the totals of each scheme if there are several, the worst weights, and, folded, all weights and the
 * other tensors. */
void loss_tables_schemes(const struct loss_page *p);
void loss_tables_worst(const struct loss_page *p);
void loss_tables_weights(const struct loss_page *p);
void loss_tables_left(const struct loss_page *p);

#endif
