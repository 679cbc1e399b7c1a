/* plan: what the output is made of: its catalog, and for each of its tensors where the bytes come from.
 *
 * A pure function of the input's catalog, the roles and the options. Once it returns, every output name,
 * dtype, shape and offset is known; no weight was read.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "scheme/roles.h"

enum plan_order {
    PLAN_ORDER_INPUT,           /* as the weights lie in the input */
    PLAN_ORDER_NAME             /* as the reference safetensors writer has it */
};

struct plan_options {
    enum dtype to;              /* of decoded weights: BF16, F16 or F32 */
    enum plan_order order;
    bool metadata;              /* carry the input's metadata over; without it only the tensors are planned */
};

/* One output tensor: the bytes of an input tensor, or a weight to decode. Exactly one is not NULL. */
struct step {
    const struct tensor *copy;
    const struct weight *decode;
    enum dtype dtype;           /* of the output */
};

struct plan;

/* Everything must be decodable (ERR_UNSUPPORTED), no two output names equal (ERR_MALFORMED), and the metadata as text
 * no longer than a header may be (ERR_LIMIT). Catalog and roles are borrowed until plan_free. */
bool plan_make(struct plan **plan, const struct catalog *input, const struct roles *roles,
    const struct plan_options *options, struct err *err);
void plan_free(struct plan *plan);                      /* takes NULL */

/* The tensors of the output, in order; extents count from the first data byte, without gaps. Its metadata
 * are the input's as strings, without what only describes the quantization that is gone. */
const struct catalog *plan_output(const struct plan *plan);
const struct step *plan_step(const struct plan *plan, size_t i);
uint64_t plan_data_bytes(const struct plan *plan);

/* The step whose bytes hold data byte `at`, which is below plan_data_bytes. */
size_t plan_find(const struct plan *plan, uint64_t at);

/* The input tensors a step reads: part p of its weight, or the copied tensor as part 0. NULL when absent. */
const struct tensor *step_part(const struct step *step, unsigned p);

/* Whether the input may be read once, forward: every step's codes lie behind those of the step before it. */
bool plan_is_forward(const struct plan *plan);

#endif
