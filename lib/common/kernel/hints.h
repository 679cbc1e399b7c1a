/* hints: a set of kernels that decodes the scales, zero points or codes of a quantized weight instead of its values. A scheme's
 * decoder that runs with such a set yields, for each element, what it would have multiplied or added.
 *
 *     HINT_SCALE      the factor of the element's group or block
 *     HINT_TERM       what is added to the product: the bias of an affine group, the minimum of a block; otherwise 0
 *     HINT_ZERO       the zero point of the group, which is subtracted from the code; otherwise 0
 *     HINT_UNIT       the value of the code without factor and term, less the zero point
 *     HINT_CODE       the stored code of an E2M1 element, 0 to 15
 *     HINT_PACK       16 elements at a time, struct hint_pack or codes of a byte in place of the first floats
 *
 * Only decoding to F32 is replaced. Values of encodings without a single factor, such as K-quants, are NaN, which callers
 * treat as "no hint".
 */
#ifndef KERNEL_HINTS_H
#define KERNEL_HINTS_H

#include <string.h>

#include "kernel/kernels.h"

enum hint { HINT_SCALE, HINT_TERM, HINT_ZERO, HINT_UNIT, HINT_CODE, HINT_PACK, HINTS };

/* The codes of 16 neighbours that share a scale. */
enum { HINT_PACKED = 16, HINT_MARK = 0x6B636170, HINT_MARK_BYTES = 0x65747962 };
struct hint_pack {
    uint8_t code[HINT_PACKED / 2];      /* the low nibble of a byte first */
    float scale, zero;                  /* the zero point of integers: the value is (code - zero) * scale */
    uint32_t mark;                      /* HINT_MARK; anything else: not packed */
};

/* Places of mark, scale and zero point if codes have a byte in two's complement, and so take the first four of the 16 floats.
 * Not a struct: copying a struct here stalls on store forwarding. */
enum { HINT_BYTES_MARK = 4, HINT_BYTES_SCALE, HINT_BYTES_ZERO };

/* Reads one of a list of floats. */
static inline struct hint_pack
hint_pack_at(const float *list, size_t i)
{
    struct hint_pack pack;
    memcpy(&pack, list + i, sizeof pack);
    return pack;
}

/* Makes a set for each hint from `base`, the set of this CPU. The caller frees them; NULL: no memory. */
struct kernels *kernels_hints(const struct kernels *base, struct err *err);

#endif
