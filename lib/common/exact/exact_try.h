/* exact_try: surveys a weight for an exact encoding, before the output is laid out. */
#ifndef EXACT_EXACT_TRY_H
#define EXACT_EXACT_TRY_H

#include "pipeline/pipeline.h"

/* The outcome for one weight. */
struct exact_outcome {
    struct exact_fail fail;             /* cause EXACT_HOLDS: the encoding is exact, and has its facts */
    enum exact_way way;
};

/* Tries the encoding of a chosen weight, with all processors. It reports the failure of the first block in row-major order,
 * whatever the number of processors. Returns false on an error of another kind. The input must be seekable. */
bool exact_try(struct exact_outcome *out, const struct pipeline *p, const struct chosen *c, struct err *err);

/* Sets *finite to whether all values of a chosen weight are numbers, neither NaN nor infinite. It has an encoding. */
bool exact_try_finite(bool *finite, const struct pipeline *p, const struct chosen *c, struct err *err);

/* Returns the part with the codes. */
unsigned exact_try_codes(const struct encoding *e);

/* Counts the elements of a chosen weight of E2M1 codes that have this code. It has an exact encoding. */
bool exact_try_count_code(uint64_t *n, const struct pipeline *p, const struct chosen *c, unsigned code, struct err *err);

#endif
