/* vocabulary: converts the tokenizer of a model directory to GGUF keys tokenizer.*. Sources: gguf-py's vocab.py and
 * convert_hf_to_gguf.py of llama.cpp. */
#ifndef HF_VOCABULARY_H
#define HF_VOCABULARY_H

#include "hf/family.h"
#include "hf/folder.h"
#include "writer/keys.h"

struct hf_vocabulary_options {
    const struct hf_family *family;
    uint64_t vocab_size;        /* in config.json; 0: not declared */
    const char *pre;            /* tokenizer.ggml.pre of a BPE, from --pre; NULL: detected by its regexes */
    struct catalog *warnings;   /* receives warnings where llama.cpp differs from the tokenizer; NULL: no warnings */
};

/* Puts all keys in the order of convert_hf_to_gguf.py and sets *tokens to the number of tokens, 0 if there is no tokenizer.
 * Fails with ERR_MALFORMED for an invalid tokenizer and with ERR_UNSUPPORTED for an unknown one; both name the file. */
bool hf_vocabulary_keys(struct keys *keys, const struct hf_folder *folder, const struct hf_vocabulary_options *options,
    uint64_t *tokens, struct err *err);

#endif
