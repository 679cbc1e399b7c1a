/* loss_items: what a page about errors says of each tensor, as plain data, whether it compares a model with its quantized form or with
 * another model. */
#ifndef REPORT_LOSS_ITEMS_H
#define REPORT_LOSS_ITEMS_H

#include "encode/losses.h"

/* A tensor. Strings are borrowed. */
struct loss_item {
    const char *name;           /* name_len of any bytes */
    uint32_t name_len;
    bool weighed;               /* there is a loss: the tensor is quantized, or compared */
    const char *type;           /* "q4_k", or "BF16" for a tensor that is not quantized */
    const char *why;            /* why it is not, or NULL */
    uint64_t nbytes;            /* in the output */
    struct loss loss;
};

/* The items with the lowest SQNR, lowest first; NaN comes before all. Zeroed: none. */
enum { LOSS_WORST = 10 };
struct loss_worst {
    size_t n;
    size_t number[LOSS_WORST];
    double sqnr[LOSS_WORST];
};

/* Puts a number among the worst, if it is one of them; among equals, the first that were added. */
void loss_items_add_worst(struct loss_worst *worst, size_t number, double sqnr);

/* Returns sqrt(noise / signal): the error relative to the values. */
double loss_items_relative(double noise, double signal);

#endif
