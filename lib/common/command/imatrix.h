/* imatrix: reads importance matrices of llama-imatrix, in GGUF form and in the older form without a magic number. */
#ifndef COMMAND_IMATRIX_H
#define COMMAND_IMATRIX_H

#include "base/limits.h"
#include "plan/importance.h"
#include "source/inputs.h"
#include "writer/keys.h"

/* Reads a file. Values and names are allocated from `memory`, and the file is added to `inputs`. Errors name the file. */
bool imatrix_read(struct importance *out, const char *path, const struct limits *limits, struct catalog *memory,
    struct inputs *inputs, struct err *err);

/* Makes the keys by which llama-quantize declares that it used an importance matrix (tools/quantize/quantize.cpp). Clear them also
 * after a failure. */
bool imatrix_keys(struct keys *keys, const struct importance *from, struct err *err);

#endif
