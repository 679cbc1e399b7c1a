/* ggml: tensors of ggml's block types, the NVFP4 ones with their scale beside them. */
#ifndef SCHEME_GGML_H
#define SCHEME_GGML_H

#include "scheme/scheme.h"

extern const struct scheme scheme_ggml;
extern const struct scheme scheme_ggml_unknown;         /* a type id without a row in dtype.c */

#endif
