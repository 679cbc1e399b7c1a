/* passthrough: a choice that decodes nothing: what is quantized moves as it is, with its companions. */
#ifndef PLAN_PASSTHROUGH_H
#define PLAN_PASSTHROUGH_H

#include "plan/choice.h"

/* What the readers of a format know of quantized weights. */
enum passthrough_packed {
    PASSTHROUGH_NONE,
    PASSTHROUGH_CODES,                 /* tensors of scalars that belong together: codes, scales ... */
    PASSTHROUGH_BLOCKS                 /* the block types of ggml */
};

/* Every tensor of the catalog, as it is; also of schemes that are not decoded. A quantized weight that the readers of
 * the target, called `name` in messages, do not know is ERR_UNSUPPORTED. Clear it also after a failure. */
bool passthrough_make(struct choice *choice, const struct catalog *input, const struct roles *roles, enum passthrough_packed packed,
    const char *name, struct err *err);

/* When names were chosen: what belongs together is still there, else ERR_USAGE. */
bool passthrough_check(const struct choice *choice, const struct roles *roles, struct err *err);

#endif
