/* factors: what the two shared ways of decoding, decode.h and nibbles.h, hand to the code of an instruction
 * set. Flags and formats are constants once inlined. */
#ifndef KERNEL_X86_FACTORS_H
#define KERNEL_X86_FACTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum format { TO_F32, TO_BF16 };

/* Bytes of an element. */
static inline size_t
size_of(const enum format format)
{
    return format == TO_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* 32 codes: y = scale * q - min; [0] for codes 0..15, [1] for 16..31. */
struct factors {
    bool has_min;
    float scale[2], min[2];
};

/* A group of 4-bit codes: y = scale * value - min. */
struct pick {
    bool finite;                /* both factors are: no NaN can come out */
    bool has_min;
    float scale, min;
};

#endif
