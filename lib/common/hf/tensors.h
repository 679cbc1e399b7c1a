/* tensors: those of a Hugging Face model as llama.cpp names and lays them. Source: conversion/ of llama.cpp's
 * convert_hf_to_gguf.py, gguf-py's tensor_mapping. */
#ifndef HF_TENSORS_H
#define HF_TENSORS_H

#include "model/model.h"
#include "hf/config.h"
#include "plan/choice.h"

struct hf_tensors_options {
    const struct hf_config *config;
    struct model *model;        /* whose tensors these are */
    uint64_t tokens;            /* of the tokenizer; 0: it is not known */
    enum dtype matrices;        /* what matrices become; DTYPE_UNKNOWN: what the first one of F16 or BF16 is, else F16 */
    bool exact;                 /* where that is not said, F32 stays F32: more becomes of it */
};

/* Turn a choice of the tensors of the input into that of a GGUF file: in the order of the names of each file; what is made
 * is allocated by its catalog. Shapes that the config contradicts and experts that are missing are ERR_MALFORMED, names that
 * the family has no word for, and tensors that llama.cpp would not load or not use, ERR_UNSUPPORTED; each names the tensor. If
 * the family computes logits with the embeddings, a head is read and compared with them; a compressed file is spooled first. */
bool hf_tensors(struct choice *choice, const struct hf_tensors_options *options, struct err *err);

#endif
