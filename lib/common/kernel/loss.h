/* loss: quantization error of some elements, as sums in eight lanes: element i of a call goes to lane i % 8.
 *
 *     d = x - back in F32; all products and sums in F64
 */
#ifndef KERNEL_LOSS_H
#define KERNEL_LOSS_H

#include <stddef.h>

enum { LOSS_LANES = 8 };

/* Sums over elements; zero it before the first call. */
struct loss_lanes {
    double distance[LOSS_LANES];        /* sum of |d| */
    double noise[LOSS_LANES];           /* sum of d * d */
    double signal[LOSS_LANES];          /* sum of x * x */
    double back[LOSS_LANES];            /* sum of back * back */
    double both[LOSS_LANES];            /* sum of x * back */
    float most[LOSS_LANES];             /* the largest |d|, ignoring NaN */
};

void loss_add(struct loss_lanes *sum, const float *x, const float *back, size_t n);

#endif
