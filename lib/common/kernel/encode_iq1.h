/* encode_iq1: encoding of IQ1_S and IQ1_M, shared with implementations that have a faster search. Codebook and lists are in
 * encode_iq_search.h.
 *
 * A run (32 elements of IQ1_S, 16 of IQ1_M) has one scale. A digit 0, 1, 2 selects one of three levels, which are all
 * shifted a little up or all a little down. In IQ1_M the two halves of a run may be shifted differently.
 */
#ifndef KERNEL_ENCODE_IQ1_H
#define KERNEL_ENCODE_IQ1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/encode_iq_search.h"

enum { IQ1_UP, IQ1_DOWN };
extern const float iq1_levels[2][3];

struct iq1_run {
    int n;
    float x[IQ_RUN], w[IQ_RUN];
    uint8_t order[IQ_RUN];          /* elements sorted by value, stable */
    float scale;                    /* output, as are the following; negative: the digits are reversed */
    int first, second;              /* digit 0 for elements before `first` in `order`, digit 1 for those before `second` */
    int kind;                       /* bit 1: the first half is shifted down; bit 0: the second half is */
    bool empty;
};

/* Returns the levels of half 0 or 1 of a run of this kind. */
static inline const float *
iq1_levels_of(int kind, int half)
{
    return iq1_levels[kind >> (1 - half) & 1];
}

/* Stores a split in the run if it is better than the best so far. qx and q2 are its sums of w * q * x and of w * q * q. */
static inline bool
iq1_improve(struct iq1_run *run, float *best, int first, int second, int kind, float qx, float q2)
{
    if (!(q2 > 0 && qx * qx > *best * q2))
        return false;
    run->scale = qx / q2;
    run->first = first;
    run->second = second;
    run->kind = kind;
    *best = run->scale * qx;
    return true;
}

enum { IQ1_M_RUN = 16 };

/* Sums of w * x and of w over the first j elements in order, for each half of a run of IQ1_M. The levels of a half differ by
 * 1, so for a split at j and k its sum of w * q * x is total_x - x[j] - x[k], and its sum of w * q * q is total_w + w[j] *
 * iq1_steps[down][0] + w[k] * iq1_steps[down][1]. total_*[half][IQ1_UP or IQ1_DOWN] are the sums with all digits 2. Source:
 * ggml-quants.c, quantize_row_iq1_m_impl. */
struct iq1_halves {
    float x[2][IQ1_M_RUN + 1], w[2][IQ1_M_RUN + 1];
    float total_x[2][2], total_w[2][2];
};
extern const float iq1_steps[2][2];

/* Computes the sums of a run, whose `order` must be set. */
void iq1_halves_make(struct iq1_halves *h, const struct iq1_run *run);

struct iq1_how {
    /* Finds the best of all splits, in order of first, second, kind (0 and 3 for IQ1_S); the first one wins a tie. Returns
     * false if none is usable. */
    bool (*split_s)(struct iq1_run *run);
    bool (*split_m)(struct iq1_run *run);
    grid_nearest_fn *nearest;
};

bool encode_iq1_by(const struct iq1_how *how, enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows,
    size_t cols, const float *restrict importance);

#endif
