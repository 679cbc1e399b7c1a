/* bnb4_nested: what bitsandbytes' double quantization makes of the absmax of all blocks: their mean is taken off, and
 * 256 of what is left share one absmax and are codes into the dynamic map. */
#ifndef ENCODE_BNB4_NESTED_H
#define ENCODE_BNB4_NESTED_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { BNB4_NESTED = 256, BNB4_LANES = 32 };

/* The mean of n floats to the bit as PyTorch computes it on a CPU with AVX2 and one thread: 32 lanes, each the sum of
 * every 32nd float, which is a sum of sums of `step` of them, three levels high. So regions of step * step * 32 floats
 * can be added up alone, and be put together in order. */
struct bnb4_sum {
    uint64_t n, regions;        /* the last region has what is left, perhaps nothing */
    uint64_t floats;            /* that all regions leave */
    uint32_t step;
};

/* One region on the way: sums of the lanes since the last `step`, of steps, and floats that fill no line of lanes. */
struct bnb4_lanes {
    float since[BNB4_LANES], steps[BNB4_LANES], rest[BNB4_LANES];
    uint32_t nsince;
};

struct bnb4_sum bnb4_sum_of(uint64_t n);

/* The floats of a region: [*first, *end). */
void bnb4_sum_region(const struct bnb4_sum *s, uint64_t region, uint64_t *first, uint64_t *end);

/* The next n of a region, a multiple of BNB4_LANES but for the last ones of all; lanes are zeroed before the first. */
void bnb4_sum_add(const struct bnb4_sum *s, struct bnb4_lanes *lanes, const float *x, size_t n);

/* Into kept[0..floats), which were 0. */
void bnb4_sum_keep(const struct bnb4_sum *s, const struct bnb4_lanes *lanes, uint64_t region, float *kept);

/* When all regions are kept. */
float bnb4_sum_mean(const struct bnb4_sum *s, const float *kept);

/* Of at most 256 floats: the largest magnitude without the mean, and the codes of what is left, divided by it. */
float bnb4_nested_absmax(const float *absmax, size_t n, float mean);
void bnb4_nested_codes(uint8_t *codes, const float *absmax, size_t n, float mean, float most);
/* And back. */
void bnb4_nested_values(float *absmax, const uint8_t *codes, size_t n, float mean, float most);

/* Append f as Python writes it in JSON, as a double. */
void bnb4_add_number(struct str *s, float f);

#endif
