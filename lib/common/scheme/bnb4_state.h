/* bnb4_state: the quant_state of a bitsandbytes 4-bit weight. Not a hint but the definition: shape and block
 * size of the weight stand nowhere else. */
#ifndef SCHEME_BNB4_STATE_H
#define SCHEME_BNB4_STATE_H

#include "scheme/claims.h"

struct bnb4_state {
    bool fp4;                   /* else NF4 */
    bool nested;                /* absmax is quantized itself: the two numbers below say how */
    uint64_t blocksize;         /* elements that share an absmax */
    uint64_t nested_blocksize;  /* absmax codes that share a nested_absmax */
    float nested_offset;
    struct shape shape;         /* of the weight; lives as long as the catalog */
    uint64_t numel;
};

/* Read the blob that belongs to `codes`. `type`: the quant_type that the blob's name tells, or NULL. The shape
 * covers the codes exactly, to the nibble that an odd number of elements leaves over. Anything else, or JSON
 * that is not strict: ERR_MALFORMED; a blob over 64 KiB: ERR_LIMIT. */
bool bnb4_state_read(struct bnb4_state *s, struct claims *c, const struct tensor *blob, const char *type,
    const struct tensor *codes, struct err *err);

#endif
