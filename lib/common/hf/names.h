/* names: llama.cpp's names for the tensors of a family. */
#ifndef HF_NAMES_H
#define HF_NAMES_H

#include <stdint.h>

#include "hf/family.h"

/* How a tensor is changed. */
enum hf_change { HF_AS_IS, HF_QUERY, HF_KEY, HF_EXPERT, HF_EXPERTS, HF_EXPERTS_GATE_UP, HF_EMBEDDING, HF_HEAD };

/* A parsed tensor name. */
struct hf_name {
    bool drops;                 /* not stored in GGUF */
    const char *word;           /* "attn_q"; static. NULL: unknown in this family */
    const char *suffix;         /* ".weight", ".bias"; static */
    int64_t layer;              /* "blk.N."; -1: none */
    uint64_t expert;            /* for HF_EXPERT */
    enum hf_change change;
};

/* GGUF name of the up projection in a fused gate_up tensor, where the gate comes first. */
extern const char hf_up_experts[];

/* Parses the name of an input tensor, name[0..n). */
struct hf_name hf_name_read(const struct hf_family *family, const char *name, size_t n);

/* Returns 0, 1 or 2: the position of an expert tensor in the output order of llama.cpp's converter. */
unsigned hf_expert_order(const struct hf_family *family, const char *word);

#endif
