/* llama3: frequency factors of rope_type llama3. Source: generate_extra_tensors of LlamaModel in llama.cpp's
 * convert_hf_to_gguf.py, with torch.float32: p, f and w are tensors, so each operation on them is rounded, and plain numbers are
 * rounded before they meet one. */
#ifndef HF_FAMILY_LLAMA3_H
#define HF_FAMILY_LLAMA3_H

#include <stdint.h>

struct llama3_rope {
    double theta, factor, low, high, length;
};

/* Returns the factor of pair i of a head with n dimensions. */
float llama3_factor(const struct llama3_rope *rope, uint64_t i, uint64_t n);

#endif
