/* compare_block: compares some elements that are in memory. Internal to this layer. */
#ifndef PIPELINE_COMPARE_BLOCK_H
#define PIPELINE_COMPARE_BLOCK_H

#include "plan/differences.h"

enum { COMPARE_CHUNK = 1024 };          /* elements that are converted at a time; they stay in L1 */

/* Elements of a pair, and what comparing them yields. */
struct compare_block {
    const struct kernels *k;
    const struct difference *of;
    enum dtype a_type, b_type;          /* of the elements below */
    const uint8_t *a, *b;               /* aligned for their types */
    uint64_t first;                     /* number of the first element */
    size_t n;
    struct loss_lanes sum;              /* zeroed before, as the rest */
    double most;
    uint64_t differs;                   /* the first element that differs, or DIFFERENCE_NOWHERE */
    uint64_t count, nonfinite;          /* as in struct difference */
    bool bits, unexplained;             /* as in struct difference */
    double x[COMPARE_CHUNK], y[COMPARE_CHUNK];          /* scratch memory */
    float fx[COMPARE_CHUNK], fy[COMPARE_CHUNK];
    uint16_t codes[COMPARE_CHUNK];
};

void compare_block(struct compare_block *c);

#endif
