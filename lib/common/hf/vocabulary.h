/* vocabulary: the tokenizer of a Hugging Face folder as the keys tokenizer.* of GGUF. Source: gguf-py's vocab.py and
 * convert_hf_to_gguf.py of llama.cpp. */
#ifndef HF_VOCABULARY_H
#define HF_VOCABULARY_H

#include "hf/family.h"
#include "hf/folder.h"
#include "writer/keys.h"

struct hf_vocabulary_options {
    const struct hf_family *family;
    uint64_t vocab_size;        /* of config.json; 0: it does not say */
    const char *pre;            /* tokenizer.ggml.pre of a BPE, as the user has it; NULL: found by its expressions */
    struct catalog *warnings;   /* takes what llama.cpp does otherwise than the tokenizer; NULL: nothing does */
};

/* Put all of them, in the order of the reference. What is no tokenizer is ERR_MALFORMED, one that is not known
 * ERR_UNSUPPORTED: both name the file. *tokens: how many there are. */
bool hf_vocabulary_keys(struct keys *keys, const struct hf_folder *folder, const struct hf_vocabulary_options *options,
    uint64_t *tokens, struct err *err);

#endif
