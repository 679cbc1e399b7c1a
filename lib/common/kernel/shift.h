/* shift: how a change of weights shows in the output, as sums in eight lanes: element i of a call goes to lane i % 8.
 *
 *     d = v - w, r = after - before in F64; all products and sums in F64
 */
#ifndef KERNEL_SHIFT_H
#define KERNEL_SHIFT_H

#include <stddef.h>
#include <stdint.h>

enum { SHIFT_LANES = 8 };

/* Sums over elements; zero it before the first call. */
struct shift_lanes {
    double base[SHIFT_LANES];           /* sum of w * w */
    double change[SHIFT_LANES];         /* sum of d * d */
    double both[SHIFT_LANES];           /* sum of r * d */
    double rest[SHIFT_LANES];           /* sum of (r - d)^2 */
    uint64_t moved;                     /* elements with r != 0 */
};

/* Adds n elements: w before and v after the change, `before` and `after` as the output has them. */
void shift_add(struct shift_lanes *sum, const float *w, const float *v, const float *before, const float *after, size_t n);

#endif
