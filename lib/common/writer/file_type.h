/* file_type: what llama.cpp calls the types of all weights of a file together. */
#ifndef WRITER_FILE_TYPE_H
#define WRITER_FILE_TYPE_H

#include "plan/choice.h"

enum { FILE_TYPE_NONE = -1 };

/* general.file_type of an output: that of the mix that was asked for; else of its matrices, or else of all tensors, the type that
 * most of them have; the first of
 * two that are even. FILE_TYPE_NONE: it has no number. Numbers and rule: llama-model-loader.cpp of llama.cpp. */
int file_type(const struct choice *choice);

/* Whether some tensor of an output is of a block type. */
bool file_type_is_quantized(const struct choice *choice);

/* Whether some tensor of an output has another type than in the input. */
bool file_type_changed(const struct choice *choice);

#endif
