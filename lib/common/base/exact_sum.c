#include "base/exact_sum.h"

#include <math.h>
#include <stdint.h>

enum { STEP = EXACT_SUM_STEP, BINS = EXACT_SUM_BINS, LEAST = -1074 };

void
exact_sum_add(struct exact_sum *sum, double v)
{
    int e;
    double m = frexp(v, &e);            /* 53 bits, below 1 */
    if (!isfinite(v)) {
        sum->lost = true;
        return;
    }
    if (v == 0)
        return;
    int low = e - 53;
    if (low < LEAST) {
        m = ldexp(m, low - LEAST);
        low = LEAST;
    }
    int64_t digits = (int64_t)ldexp(m, 53);
    sum->bin[(low - LEAST) / STEP] += (__int128)digits * ((__int128)1 << (low - LEAST) % STEP);
}

void
exact_sum_join(struct exact_sum *to, const struct exact_sum *from)
{
    for (int i = 0; i < BINS; i++)
        to->bin[i] += from->bin[i];
    to->lost = to->lost || from->lost;
}

/* Carries go up, then digits are added from the highest down. */
double
exact_sum_value(const struct exact_sum *sum)
{
    __int128 carry = 0, digit[BINS];
    double v = 0;
    for (int i = 0; i < BINS; i++) {
        digit[i] = sum->bin[i] + carry;
        carry = 0;
        if (i + 1 < BINS)
            carry = digit[i] >> STEP;
        digit[i] -= carry * ((__int128)1 << STEP);
    }
    for (int i = BINS; i-- > 0;)
        v += ldexp((double)digit[i], i * STEP + LEAST);
    if (sum->lost)
        return NAN;
    return v;
}
