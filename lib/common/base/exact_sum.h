/* exact_sum: a sum of doubles without rounding: its value depends neither on the order of the addends nor on how they are grouped. */
#ifndef BASE_EXACT_SUM_H
#define BASE_EXACT_SUM_H

#include <stdbool.h>

/* One integer for every 32 exponents; the lowest begins at the exponent of the least subnormal. A mantissa of 53 bits shifted
 * by up to 31 leaves 43 bits for carries. */
enum { EXACT_SUM_STEP = 32, EXACT_SUM_BINS = 2098 / EXACT_SUM_STEP + 1 };

/* Zero-initialise. */
struct exact_sum {
    __int128 bin[EXACT_SUM_BINS];
    bool lost;                  /* an addend was infinite or NaN */
};

void exact_sum_add(struct exact_sum *sum, double v);
void exact_sum_join(struct exact_sum *to, const struct exact_sum *from);

/* Returns the sum as a double, within rounding; NaN if an addend was not finite. */
double exact_sum_value(const struct exact_sum *sum);

#endif
