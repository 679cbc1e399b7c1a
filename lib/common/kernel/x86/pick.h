/* pick: the factors of a group of 4-bit codes, as nibbles.h hands them on. */
#ifndef KERNEL_X86_PICK_H
#define KERNEL_X86_PICK_H

#include <stdbool.h>

/* y = scale * value - min */
struct pick {
    bool finite;                /* both factors are: no NaN can come out */
    bool has_min;               /* constant once inlined */
    float scale, min;
};

#endif
