/* limits: limits on untrusted input that the command line can lower. Readers have others of their own, which are fixed. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include "base/err.h"

struct limits {
    uint64_t alloc;             /* largest single allocation that a header can cause, in bytes */
    uint64_t total;             /* total of such allocations over the files of a model, in bytes */
    uint64_t items;             /* tensors, keys and members of a model */
    uint64_t ratio;             /* expansion of a compressed input */
};

/* The maxima; the `limits` of every tool start with these. */
extern const struct limits limits_default;

/* What the headers of one model have requested so far, over all its files. Copy limits into a new one; the rest is 0. */
struct budget {
    struct limits limits;
    uint64_t bytes;             /* total of all allocations, freed or not */
    uint64_t items;             /* tensors and keys so far */
};

/* Charges an allocation of n bytes, before it is made. Fails with ERR_LIMIT, which names `what`, if it exceeds limits.alloc
 * or the total exceeds limits.total. */
bool budget_bytes(struct budget *b, uint64_t n, const char *what, struct err *err);

/* Checks an allocation of n bytes against limits.alloc only, without charging it. */
bool budget_allows(const struct budget *b, uint64_t n, const char *what, struct err *err);

/* Charges n more items. */
bool budget_items(struct budget *b, uint64_t n, const char *what, struct err *err);

/* Returns the origin of a limit for a message: the option if it has lowered the limit to max, else "built in". */
const char *limits_origin(uint64_t max, uint64_t ceiling, const char *option);

/* Fails with ERR_LIMIT, which names `what` and both numbers, if n exceeds max. */
bool limits_check(uint64_t n, uint64_t max, const char *what, struct err *err);

#endif
