/* perm: tensors that reorder the columns of a weight. EXL2 and VPTQ have 16-bit column indices; GPTQ and compressed-tensors
 * have the group of each column. */
#ifndef SCHEME_PERM_H
#define SCHEME_PERM_H

#include "base/bytes.h"
#include "scheme/claims.h"

enum { PERM_MAX = 65536 };      /* columns */

/* Returns item i at p. I16 and U16 are both read as unsigned; otherwise the type is I32. */
static inline uint32_t
perm_at(const struct tensor *t, const uint8_t *p, uint64_t i)
{
    if (dtype_facts(t->dtype)->bytes == 2)
        return load_le16(p + 2 * i);
    return load_le32(p + 4 * i);
}

/* Checks that the n items of t are a permutation of 0 to n - 1; otherwise fails with ERR_MALFORMED. Without contents the
 * tensor is not read and is accepted. */
bool perm_check(const struct claims *c, const struct tensor *t, uint64_t n, struct err *err);

/* Reads a g_idx of n I32 items, each the number of one of `groups` groups. The caller frees it. With `wraps`, numbers may
 * also count from the end, as negative indices do in Python; without, all items may be -1. May be called only if c->contents
 * is set. NULL on failure. */
uint8_t *perm_read_groups(const struct claims *c, const struct tensor *t, uint64_t n, uint64_t groups, bool wraps,
    struct err *err);

#endif
