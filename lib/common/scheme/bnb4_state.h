/* bnb4_state: the quant_state of a bitsandbytes 4-bit weight. It is not a hint but the definition: the shape and the block
 * size of the weight are stored nowhere else. */
#ifndef SCHEME_BNB4_STATE_H
#define SCHEME_BNB4_STATE_H

#include "scheme/claims.h"

struct bnb4_state {
    bool fp4;                   /* otherwise NF4 */
    bool nested;                /* absmax is itself quantized, by the two numbers below */
    uint64_t blocksize;         /* elements that share an absmax */
    uint64_t nested_blocksize;  /* absmax codes that share a nested_absmax */
    float nested_offset;
    struct shape shape;         /* of the weight; lives as long as the catalog */
    uint64_t numel;
};

/* Reads the blob that belongs to `codes`. `type` is the quant_type in the name of the blob, or NULL. The shape must cover
 * the codes exactly, except for the spare nibble after an odd number of elements. Fails with ERR_MALFORMED if it does not,
 * or if the blob is not strict JSON; with ERR_LIMIT if the blob is larger than 64 KiB. */
bool bnb4_state_read(struct bnb4_state *s, struct claims *c, const struct tensor *blob, const char *type,
    const struct tensor *codes, struct err *err);

#endif
