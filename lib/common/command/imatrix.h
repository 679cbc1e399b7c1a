/* imatrix: reads importance matrices of llama-imatrix, in GGUF form and in the older form without a magic number. */
#ifndef COMMAND_IMATRIX_H
#define COMMAND_IMATRIX_H

#include "base/limits.h"
#include "plan/importance.h"
#include "source/inputs.h"

/* Reads a file. Values and names are allocated from `memory`, and the file is added to `inputs`. Errors name the file. */
bool imatrix_read(struct importance *out, const char *path, const struct limits *limits, struct catalog *memory,
    struct inputs *inputs, struct err *err);

#endif
