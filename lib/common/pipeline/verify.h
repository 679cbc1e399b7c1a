/* verify: compares the checksums stored in an input with its bytes, as they are read for the output. Runs arrive in any
 * order from all workers and are merged; bytes that were not read are read at the end. */
#ifndef PIPELINE_VERIFY_H
#define PIPELINE_VERIFY_H

#include "model/model.h"
#include "kernel/kernels.h"
#include "plan/pieces.h"

struct verify;

/* Prepares for a job that generates these pieces; all arguments are borrowed. Sets *v to NULL if the input has no checksums. */
bool verify_new(struct verify **v, const struct model *model, const struct pieces *pieces, const struct kernels *kernels,
    struct err *err);
void verify_free(struct verify *v);                     /* accepts NULL */

/* Reports that bytes [from, from + n) of a tensor, as stored, are p[0..n). Callable from any thread. */
bool verify_add(struct verify *v, const struct tensor *t, uint64_t from, const uint8_t *p, size_t n, struct err *err);

/* Compares the checksums at the end of a job. Fails with ERR_MALFORMED on a mismatch. With `all`, first reads the missing
 * bytes; otherwise checks only tensors that were read completely. */
bool verify_end(struct verify *v, bool all, struct err *err);

#endif
