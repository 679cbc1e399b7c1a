/* names: what llama.cpp calls the tensors of a family. */
#ifndef HF_NAMES_H
#define HF_NAMES_H

#include <stdint.h>

#include "hf/family.h"

/* What becomes of the rows of a tensor. */
enum hf_change { HF_AS_IS, HF_QUERY, HF_KEY, HF_EXPERT, HF_EXPERTS, HF_EXPERTS_GATE_UP, HF_EMBEDDING, HF_HEAD };

/* What a name means. */
struct hf_name {
    bool drops;                 /* nothing in GGUF */
    const char *word;           /* "attn_q"; static. NULL: no name of the family */
    const char *suffix;         /* ".weight", ".bias"; static */
    int64_t layer;              /* "blk.N."; -1: none */
    uint64_t expert;            /* of HF_EXPERT */
    enum hf_change change;
};

/* The second word of experts that are stored as one, gates first. */
extern const char hf_up_experts[];

/* The meaning of name[0..n), a tensor of the input. */
struct hf_name hf_name_read(const struct hf_family *family, const char *name, size_t n);

/* The order in which llama.cpp's converter writes the words of experts: 0, 1, 2. */
unsigned hf_expert_order(const struct hf_family *family, const char *word);

#endif
