/* file_type: llama.cpp's name for the types of all weights of a file. */
#ifndef WRITER_FILE_TYPE_H
#define WRITER_FILE_TYPE_H

#include "plan/choice.h"

enum { FILE_TYPE_NONE = -1 };

/* Returns general.file_type of an output: the type of the requested mix; otherwise the most frequent type of its matrices,
 * or of all tensors if there are no matrices. On a tie, the type that reached the number first. FILE_TYPE_NONE: the type has no
 * number. Numbers and rule: llama-model-loader.cpp of llama.cpp. */
int file_type(const struct choice *choice);

/* Returns true if some tensor of an output has a block type. */
bool file_type_is_quantized(const struct choice *choice);

/* Returns true if some tensor of an output has another type than in the input. */
bool file_type_changed(const struct choice *choice);

#endif
