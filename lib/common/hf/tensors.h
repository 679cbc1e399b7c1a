/* tensors: converts the tensors of a Hugging Face model to the names and layout of llama.cpp. Sources: conversion/ of
 * llama.cpp's convert_hf_to_gguf.py, gguf-py's tensor_mapping. Tables: doc/gguf.md. */
#ifndef HF_TENSORS_H
#define HF_TENSORS_H

#include "model/model.h"
#include "hf/config.h"
#include "plan/choice.h"

struct hf_tensors_options {
    const struct hf_config *config;
    struct model *model;        /* owner of the tensors */
    uint64_t tokens;            /* in the tokenizer; 0: unknown */
    enum dtype matrices;        /* output dtype of matrices; DTYPE_UNKNOWN: that of the first F16 or BF16 matrix, else F16 */
    bool exact;                 /* with DTYPE_UNKNOWN: keep F32 as F32, for further encoding */
};

/* Replaces a choice of input tensors by those of a GGUF file, sorted by name within each file. New objects are allocated by
 * the catalog. Errors name the tensor: ERR_MALFORMED if a shape contradicts the config or an expert is missing,
 * ERR_UNSUPPORTED if the family has no such tensor or llama.cpp would not load or not use it. If the family computes logits
 * with the embeddings, lm_head is read and compared with them; a compressed file is then spooled. */
bool hf_tensors(struct choice *choice, const struct hf_tensors_options *options, struct err *err);

#endif
