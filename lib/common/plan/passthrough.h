/* passthrough: a choice that decodes nothing: quantized weights are copied with their companions. */
#ifndef PLAN_PASSTHROUGH_H
#define PLAN_PASSTHROUGH_H

#include "plan/choice.h"

/* The quantized weights that the readers of a format understand. */
enum passthrough_packed {
    PASSTHROUGH_NONE,
    PASSTHROUGH_CODES,                 /* codes and scales as separate tensors */
    PASSTHROUGH_BLOCKS                 /* ggml's block types */
};

/* Selects every tensor of the catalog unchanged, also of schemes that cannot be decoded. Fails with ERR_UNSUPPORTED if the
 * readers of the target, called `name` in messages, do not understand a quantized weight. Clear the choice also after a
 * failure. */
bool passthrough_make(struct choice *choice, const struct catalog *input, const struct roles *roles, enum passthrough_packed packed,
    const char *name, struct err *err);

/* Checks, after names were selected, that no weight lost a companion. ERR_USAGE. */
bool passthrough_check(const struct choice *choice, const struct roles *roles, struct err *err);

#endif
