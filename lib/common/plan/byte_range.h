/* byte_range: which bytes of an output to write: all of them, a range, or one of several consecutive parts. */
#ifndef PLAN_BYTE_RANGE_H
#define PLAN_BYTE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Zeroed: the entire output. */
struct byte_range {
    bool range;                 /* bytes first to last, inclusive: */
    bool has_first, has_last;   /* A-B, A-, -LAST_N */
    uint64_t first, last;
    uint64_t part, parts;       /* part number, from 1; 0 if not given. parts: how many; 0 if not given */
    uint64_t part_size;         /* size of every part except the last; 0: nearly equal parts, cut at multiples of a block */
};

/* Parses "A-B", "A-" or "-N". */
bool byte_range_read_range(struct byte_range *cut, const char *text);

/* Parses "I/N" or, if a part size is given, "I". */
bool byte_range_read_part(struct byte_range *cut, const char *text);

/* Checks that the total of --part I is known. ERR_USAGE. */
bool byte_range_check(const struct byte_range *cut, struct err *err);

/* Returns true for a range or a part, false for the whole output. */
bool byte_range_is_part(const struct byte_range *cut);

/* Returns the number of parts of part_size bytes in an output; at least one. */
uint64_t byte_range_parts(const struct byte_range *cut, uint64_t size);

/* Computes the bytes [*from, *to) of an output of `size` bytes. Parts without a size end at multiples of `block`; if there
 * are more parts than blocks, some are empty. Fails with ERR_USAGE if the range or part is beyond the end. */
bool byte_range_find(const struct byte_range *cut, uint64_t size, uint64_t block, uint64_t *from, uint64_t *to, struct err *err);

#endif
