/* num: arithmetic on numbers that come from a file. On overflow, each function returns false and leaves *out unchanged. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stdint.h>

static inline bool
num_add(uint64_t *out, uint64_t a, uint64_t b)
{
    if (a > UINT64_MAX - b)
        return false;
    *out = a + b;
    return true;
}

static inline bool
num_mul(uint64_t *out, uint64_t a, uint64_t b)
{
    if (b != 0 && a > UINT64_MAX / b)
        return false;
    *out = a * b;
    return true;
}

/* Rounds n up to a multiple of `align`, a power of two. */
static inline bool
num_align(uint64_t *out, uint64_t n, uint64_t align)
{
    if (!num_add(out, n, align - 1))
        return false;
    *out &= ~(align - 1);
    return true;
}

static inline uint64_t
num_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static inline uint64_t
num_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t
num_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
