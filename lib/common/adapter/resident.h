/* resident: factors in memory that all workers share while they change a weight. Each is loaded once by the first worker that
 * needs it; those without users are kept up to a few MiB. */
#ifndef ADAPTER_RESIDENT_H
#define ADAPTER_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct residents;

/* Fills the values of a key. */
typedef bool resident_load(const void *of, float *p, struct err *err);

struct residents *residents_new(struct err *err);       /* NULL on failure */
void residents_free(struct residents *r);               /* accepts NULL */

/* Returns the `floats` values of a key, which load(of) fills if they are not in memory. Valid until residents_release(). NULL on
 * failure. Called by workers at the same time. */
const float *residents_take(struct residents *r, const void *key, size_t floats, resident_load *load,
    const void *of, struct err *err);
void residents_release(struct residents *r, const float *p);

#endif
