/* emit: what emit32 is given (decode.h). */
#ifndef KERNEL_X86_EMIT_H
#define KERNEL_X86_EMIT_H

#include <stdbool.h>

enum format { TO_F32, TO_BF16 };

/* y = scale * q - min; [0] for codes 0..15, [1] for 16..31. The flag is a constant once inlined. */
struct factors {
    bool has_min;
    float scale[2], min[2];
};

#endif
