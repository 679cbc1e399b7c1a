/* byte_range: which bytes of an output are wanted: all, a range, or one of several parts that are the output together. */
#ifndef PLAN_BYTE_RANGE_H
#define PLAN_BYTE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Zeroed: all. */
struct byte_range {
    bool range;                 /* bytes first to last, both included: */
    bool has_first, has_last;   /* A-B, A-, -LAST_N */
    uint64_t first, last;
    uint64_t part, parts;       /* the part-th of so many, from 1 on; part 0: not asked for; parts 0: not said */
    uint64_t part_size;         /* of every part but the last; 0: nearly equal ones, cut at multiples of a block */
};

/* "A-B", "A-" or "-N". */
bool byte_range_read_range(struct byte_range *cut, const char *text);

/* "I/N" or, with a part size, "I". */
bool byte_range_read_part(struct byte_range *cut, const char *text);

/* Whether the options go together, `counted`: with the question how many parts there are; else ERR_USAGE. */
bool byte_range_check(const struct byte_range *cut, bool counted, struct err *err);

/* How many parts of part_size an output has: one at least. */
uint64_t byte_range_parts(const struct byte_range *cut, uint64_t size);

/* The bytes [*from, *to) of an output of `size` bytes. Parts without a size end at multiples of `block`; some are empty
 * when there are more of them than blocks. A range or a part behind the end: ERR_USAGE. */
bool byte_range_find(const struct byte_range *cut, uint64_t size, uint64_t block, uint64_t *from, uint64_t *to, struct err *err);

#endif
