/* bnb4_nested: bitsandbytes' double quantization of the absmax values of all blocks. Their mean is subtracted, and each 256
 * of the differences share one absmax and become codes into the dynamic map. */
#ifndef ENCODE_BNB4_NESTED_H
#define ENCODE_BNB4_NESTED_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { BNB4_NESTED = 256, BNB4_LANES = 32 };

/* The mean of n floats, bit-identical to PyTorch on a CPU with AVX2 and one thread: 32 lanes, each the sum of every 32nd
 * float, computed in three levels as sums of sums of `step` floats. Regions of step * step * 32 floats can therefore be
 * summed separately and combined in order. */
struct bnb4_sum {
    uint64_t n, regions;        /* the last region has the remaining lines, possibly none */
    uint64_t floats;            /* length of `kept`: sums of all regions */
    uint32_t step;
};

/* State of one region: sums of the lanes since the last full step, sums of full steps, and floats that do not fill a line of
 * lanes. */
struct bnb4_lanes {
    float since[BNB4_LANES], steps[BNB4_LANES], rest[BNB4_LANES];
    uint32_t nsince;
};

struct bnb4_sum bnb4_sum_of(uint64_t n);

/* Returns the floats of a region: [*first, *end). */
void bnb4_sum_region(const struct bnb4_sum *s, uint64_t region, uint64_t *first, uint64_t *end);

/* Adds the next n floats of a region. n is a multiple of BNB4_LANES except in the last call for the last region. The caller
 * zeroes `lanes` before the first call. */
void bnb4_sum_add(const struct bnb4_sum *s, struct bnb4_lanes *lanes, const float *x, size_t n);

/* Stores the sums of a region in kept[0..floats), which the caller has zeroed. */
void bnb4_sum_keep(const struct bnb4_sum *s, const struct bnb4_lanes *lanes, uint64_t region, float *kept);

/* Returns the mean, after all regions are kept. */
float bnb4_sum_mean(const struct bnb4_sum *s, const float *kept);

/* For n <= 256 absmax values: bnb4_nested_absmax() returns the largest magnitude after subtraction of the mean,
 * bnb4_nested_codes() encodes the differences divided by it. */
float bnb4_nested_absmax(const float *absmax, size_t n, float mean);
void bnb4_nested_codes(uint8_t *codes, const float *absmax, size_t n, float mean, float most);
/* Decodes the codes. */
void bnb4_nested_values(float *absmax, const uint8_t *codes, size_t n, float mean, float most);

/* Appends f as Python's json module writes it, converted to double. */
void bnb4_add_number(struct str *s, float f);

#endif
