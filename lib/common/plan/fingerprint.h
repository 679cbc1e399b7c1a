/* fingerprint: a 64-bit hash of everything that decides the bytes of an output. A resuming job compares its own with
 * the fingerprint of the interrupted job.
 *
 * It covers the plan, which is all that the pipeline receives, rather than the options that led to it: whatever changes
 * bytes changes the plan. SipHash-1-3, chained.
 */
#ifndef PLAN_FINGERPRINT_H
#define PLAN_FINGERPRINT_H

#include "plan/pieces.h"

/* Zeroed: empty. */
struct fingerprint {
    uint64_t hash;
};

/* Adds n, then n bytes. */
void fingerprint_add(struct fingerprint *f, const void *p, size_t n);

/* Adds all pieces: kinds, offsets, names and types; headers; input tensors with their extents; weights and the scheme that
 * decodes them; encoders with their options, parts and importance. */
void fingerprint_pieces(struct fingerprint *f, const struct pieces *pieces);

#endif
