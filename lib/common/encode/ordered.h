/* ordered: exact encodings in groups of columns that are not neighbours, as GPTQ makes them when it takes the columns in the
 * order of their activations. Group j of a row consists of `group` columns, listed from e->order + j * group on; they are solved
 * like neighbours, and codes keep the order of the columns. Private to this layer. */
#ifndef ENCODE_ORDERED_H
#define ENCODE_ORDERED_H

#include "encode/groups.h"
#include "encode/solve.h"

/* Bytes at the start of the scratch memory that hold the elements and hints of a group. */
enum { ORDERED_ROOM = 4 * GROUPS_MOST * sizeof(float) };
_Static_assert(ORDERED_ROOM + GROUPS_MOST <= ENCODE_ROOM, "the codes of a group fit after its elements");

/* For fit() of an exact encoding: sets e->order if the source has groups of this size that are not neighbours. Returns true if so. */
bool ordered_fit(struct encoding *e, uint32_t group);

/* Sets up group j of a row at x, which is inside the buffer of the run; its first element is number `at` of the weight. Its values are
 * at b->x until the next call. */
void ordered_begin(struct solve_block *b, const struct encoding *e, const struct encode_run *run, const float *x, uint64_t at,
    uint64_t j, size_t group);

/* Stores the group of columns [first, first + count) as I32. */
void ordered_index(const struct encoding *e, size_t group, uint64_t first, uint64_t count, uint8_t *y);

#endif
