/* verify: the checksums that an input has of itself, compared with its bytes while these are read for the output. Runs
 * come in any order from all workers, and are joined; what nobody read is read at the end. */
#ifndef PIPELINE_VERIFY_H
#define PIPELINE_VERIFY_H

#include "model/model.h"
#include "kernel/kernels.h"
#include "plan/pieces.h"

struct verify;

/* For a job that makes these pieces; all borrowed. *v is NULL when nothing of them has a checksum. */
bool verify_new(struct verify **v, const struct model *model, const struct pieces *pieces, const struct kernels *kernels,
    struct err *err);
void verify_free(struct verify *v);                     /* takes NULL */

/* Bytes [at, at + n) of a file, as they lie there, are p[0..n). From any thread. */
bool verify_saw(struct verify *v, uint32_t file, uint64_t at, const uint8_t *p, size_t n, struct err *err);

/* All has been made: ERR_MALFORMED when a checksum is another. `all`: read what is missing; else only what was read
 * whole is compared. */
bool verify_end(struct verify *v, bool all, struct err *err);

#endif
