/* encode_iq1: how IQ1_S and IQ1_M are made, for whoever has a faster search. Codebook and lists: encode_iq_search.h.
 *
 * A run (32 elements of IQ1_S, 16 of IQ1_M) has one scale; a digit 0, 1, 2 is one of three levels, all a little up
 * or all a little down. The two halves of a run may differ in that in IQ1_M. */
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
    uint8_t order[IQ_RUN];          /* elements by value, equal ones as they stand */
    float scale;                    /* from here on out; negative: the digits are the other way round */
    int first, second;              /* the first so many in order have digit 0, those up to `second` digit 1 */
    int kind;                       /* bit 1: the first half is down; bit 0: the second half is */
    bool empty;
};

/* Which levels the half (0, 1) of a run of that kind has. */
static inline const float *
iq1_levels_of(int kind, int half)
{
    return iq1_levels[kind >> (1 - half) & 1];
}

/* A split, whose sums of w * q * x and of w * q * q are these, is the run's if it is better than the best so far. */
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

/* Sums of w * x and of w over the first j elements in order, for each half of a run of IQ1_M. The levels of a half differ
 * by 1, so that its sum of w * q * x is total_x - x[j] - x[k] for a split at j and k, and that of w * q * q is
 * total_w + w[j] * iq1_steps[down][0] + w[k] * iq1_steps[down][1]. total_*[half][IQ1_UP or IQ1_DOWN] are the sums with all
 * digits 2. Source: ggml-quants.c, quantize_row_iq1_m_impl. */
struct iq1_halves {
    float x[2][IQ1_M_RUN + 1], w[2][IQ1_M_RUN + 1];
    float total_x[2][2], total_w[2][2];
};
extern const float iq1_steps[2][2];

/* Sums the run, whose order is set. */
void iq1_halves_make(struct iq1_halves *h, const struct iq1_run *run);

struct iq1_how {
    /* The first best of all splits in order of first, second, kind: 0 and 3 for IQ1_S. False: none is any good. */
    bool (*split_s)(struct iq1_run *run);
    bool (*split_m)(struct iq1_run *run);
    grid_nearest_fn *nearest;
};

bool encode_iq1_by(const struct iq1_how *how, enum dtype dtype, uint8_t *restrict y, const float *restrict x, size_t rows,
    size_t cols, const float *restrict importance);

#endif
