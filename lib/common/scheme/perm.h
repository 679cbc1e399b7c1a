/* perm: a tensor that says in which order the columns of a weight lie. Indices of 16 bits: EXL2, VPTQ; the group of each
 * column: GPTQ, compressed-tensors. */
#ifndef SCHEME_PERM_H
#define SCHEME_PERM_H

#include "base/bytes.h"
#include "scheme/claims.h"

enum { PERM_MAX = 65536 };      /* columns */

/* Item i at p: I16 or U16, both without a sign, or I32. */
static inline uint32_t
perm_at(const struct tensor *t, const uint8_t *p, uint64_t i)
{
    return dtype_facts(t->dtype)->bytes == 2 ? load_le16(p + 2 * i) : load_le32(p + 4 * i);
}

/* Read the n items of t, and see that each of 0 to n - 1 is there once; else ERR_MALFORMED. Without contents it is
 * believed. */
bool perm_check(const struct claims *c, const struct tensor *t, uint64_t n, struct err *err);

/* Reads a g_idx, owned by the caller: n items I32, each one of so many groups; `wraps`: or counted from the end, as Python
 * does, else -1 in all. NULL after a failure. Only where there are contents. */
uint8_t *perm_read_groups(const struct claims *c, const struct tensor *t, uint64_t n, uint64_t groups, bool wraps,
    struct err *err);

#endif
