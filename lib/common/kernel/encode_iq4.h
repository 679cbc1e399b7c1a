/* encode_iq4: encoding of IQ4_NL and IQ4_XS, shared with implementations that have a faster search. A run is 32 elements
 * with one scale. */
#ifndef KERNEL_ENCODE_IQ4_H
#define KERNEL_ENCODE_IQ4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype/dtype.h"

enum { IQ4_RUN = 32, IQ4_RUNS = 8, IQ4_STEPS = 7 };

/* Midpoints between the levels of iq4.h. The code of a value is the number of midpoints not above it: a tie goes up, and a
 * NaN gets 15. The midpoints are exact, as are the differences to neighbouring levels, so this is the nearest level. */
extern const float iq4_between[15];

struct iq4_how {
    /* Finds the scales of eight consecutive runs, each the best of a few tries; the first one wins a tie. w has a weight for
     * each element. */
    void (*scales)(float scale[IQ4_RUNS], const float *x, const float *w);
    /* Encodes the elements of a run times id to 16 bytes: element j in the low and j + 16 in the high nibble of byte j. */
    void (*codes)(uint8_t *qs, const float *x, float id);
};

bool encode_iq4_by(const struct iq4_how *how, enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows,
    size_t cols, const float *restrict importance);

#endif
