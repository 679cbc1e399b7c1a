/* imatrix: importance matrices as files: the GGUF form, and the older one without a magic. Both: spec of llama-imatrix. */
#ifndef COMMAND_IMATRIX_H
#define COMMAND_IMATRIX_H

#include "base/limits.h"
#include "plan/importance.h"
#include "source/inputs.h"

/* Read a file; values and names are allocated of `memory`, and the file is added to `inputs`. Errors bear its
 * name. */
bool imatrix_read(struct importance *out, const char *path, const struct limits *limits, struct catalog *memory,
    struct inputs *inputs, struct err *err);

#endif
