/* limits: ceilings on untrusted input that the command line can tighten. Each reader has others of its own, which nothing
 * changes. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include "base/err.h"

struct limits {
    uint64_t alloc;             /* largest single allocation that a header can ask for, bytes */
    uint64_t total;             /* sum of such allocations over the files of a model, bytes */
    uint64_t items;             /* tensors, keys and members of a model */
    uint64_t ratio;             /* expansion of a compressed input */
};

/* The ceilings; `limits` of every tool starts as this. */
extern const struct limits limits_default;

/* What the headers of one model have asked for, over all its files. Copy limits into a new one; the rest is 0. */
struct budget {
    struct limits limits;
    uint64_t bytes;             /* of all allocations so far, freed or not */
    uint64_t items;             /* tensors and keys so far */
};

/* Ask for one allocation of n bytes, before it is made: within limits.alloc, and with all before it within
 * limits.total; else ERR_LIMIT that names `what`. */
bool budget_bytes(struct budget *b, uint64_t n, const char *what, struct err *err);

/* The first half of that alone: whether one allocation of n bytes may be made. */
bool budget_allows(const struct budget *b, uint64_t n, const char *what, struct err *err);

/* Ask for n more items. */
bool budget_items(struct budget *b, uint64_t n, const char *what, struct err *err);

/* Where a limit comes from, for a message: the option, when it has lowered the ceiling to max, else "built in". */
const char *limits_origin(uint64_t max, uint64_t ceiling, const char *option);

/* True when n is within max; otherwise an ERR_LIMIT that names `what` and both numbers. */
bool limits_check(uint64_t n, uint64_t max, const char *what, struct err *err);

#endif
