/* tokenizer: the tokenizers of model directories and of GGUF files. Knows no families: it gets their words as rows.
 *
 * vocabulary: converts the tokenizer of a model directory to GGUF keys tokenizer.*. Sources: gguf-py's vocab.py and
 * convert_hf_to_gguf.py of llama.cpp. */
#ifndef TOKENIZER_VOCABULARY_H
#define TOKENIZER_VOCABULARY_H

#include "hf/folder.h"
#include "writer/keys.h"

/* What a family says about its tokenizers. */
struct tokenizer_pre {
    const char *name, *split;   /* llama.cpp's name of a pre-tokenizer, and its way of splitting; "*": always this name */
};

struct tokenizer_special {
    const char *role, *text;    /* the token that a role has if the files give none */
};

/* Everything is borrowed while vocabulary_keys() runs. */
struct vocabulary_options {
    const char *class;          /* of the model: "LlamaForCausalLM"; decides the tokenizer class if none is named; never NULL */
    const char *const *kinds;   /* nkinds words of the family's `vocab`, in order of preference; spm, phi3, llama-json, bpe,
                                 * wordpiece, gemma4 or tiktoken */
    size_t nkinds;
    uint64_t size;              /* number of tokens that the model has; 0: as many as the tokenizer */
    const struct tokenizer_pre *pre;           /* npre rows */
    size_t npre;
    const struct tokenizer_special *special;   /* nspecial rows */
    size_t nspecial;
    const char *pre_name;       /* tokenizer.ggml.pre of a BPE, from --pre; NULL: detected by its regexes */
    struct catalog *warnings;   /* receives warnings where llama.cpp differs from the tokenizer; NULL: no warnings */
};

/* Puts all keys in the order of convert_hf_to_gguf.py and sets *tokens to the number of tokens, 0 if there is no tokenizer.
 * The first kind whose files exist is read. Fails with ERR_MALFORMED for an invalid tokenizer and with ERR_UNSUPPORTED for an
 * unknown one; both name the file. */
bool vocabulary_keys(struct keys *keys, const struct hf_folder *folder, const struct vocabulary_options *options,
    uint64_t *tokens, struct err *err);

#endif
