/* gguf_names: the file types of llama.cpp (its enum LLAMA_FTYPE, key general.file_type) as it shows them. */
#ifndef REPORT_GGUF_NAMES_H
#define REPORT_GGUF_NAMES_H

#include <stdint.h>

#include "dtype/dtype.h"

/* "Q4_K - Medium"; "unknown, may not work" for an id without a name. Static. */
const char *gguf_names_file_type(uint64_t id);

/* What llama.cpp calls a file without the key most of whose tensors are of this type. Static. */
const char *gguf_names_guess(enum dtype dtype);

#endif
