/* audit: scales that are NaN or infinite. They are decoded as they stand; this only counts them. */
#ifndef PIPELINE_AUDIT_H
#define PIPELINE_AUDIT_H

#include "model/model.h"
#include "kernel/nonfinite.h"
#include "scheme/roles.h"

/* Read the float companions of all weights. Of a pipe: after pipeline_run, when they have all passed. */
bool audit_scales(struct nonfinite *sum, const struct model *model, const struct roles *roles, struct err *err);

#endif
