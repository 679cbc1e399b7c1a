/* gguf_names: the names that llama.cpp shows for file types (its enum LLAMA_FTYPE, key general.file_type). */
#ifndef REPORT_GGUF_NAMES_H
#define REPORT_GGUF_NAMES_H

#include <stdint.h>

#include "dtype/dtype.h"

/* Returns a static name such as "Q4_K - Medium"; "unknown, may not work" for an unknown id. */
const char *gguf_names_file_type(uint64_t id);

/* Returns llama.cpp's static name for a file without the key whose most frequent tensor type is this one. */
const char *gguf_names_guess(enum dtype dtype);

#endif
