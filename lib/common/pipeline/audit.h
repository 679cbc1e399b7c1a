/* audit: counts scales that are NaN or infinite. They are decoded unchanged. */
#ifndef PIPELINE_AUDIT_H
#define PIPELINE_AUDIT_H

#include "model/model.h"
#include "kernel/nonfinite.h"
#include "scheme/roles.h"

/* Reads the floating-point companions of all weights. For a pipe, call it after pipeline_run(), when they have all been
 * read. */
bool audit_scales(struct nonfinite *sum, const struct model *model, const struct roles *roles, struct err *err);

#endif
