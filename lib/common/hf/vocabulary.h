/* vocabulary: converts the tokenizer of a model directory to GGUF keys tokenizer.*. Sources: gguf-py's vocab.py and
 * convert_hf_to_gguf.py of llama.cpp. */
#ifndef HF_VOCABULARY_H
#define HF_VOCABULARY_H

#include "hf/family/family.h"
#include "hf/folder.h"
#include "writer/keys.h"

/* Everything is borrowed while hf_vocabulary_keys() runs. */
struct hf_vocabulary_options {
    const char *class;          /* of the model: "LlamaForCausalLM"; decides the tokenizer class if none is named; never NULL */
    const char *const *kinds;   /* nkinds words of the family's `vocab`, in order of preference; see hf_vocabulary_is_kind() */
    size_t nkinds;
    uint64_t size;              /* number of tokens that the model has; 0: as many as the tokenizer */
    const struct family_pre *pre;           /* npre rows */
    size_t npre;
    const struct family_special *special;   /* nspecial rows */
    size_t nspecial;
    const char *pre_name;       /* tokenizer.ggml.pre of a BPE, from --pre; NULL: detected by its regexes */
    struct catalog *warnings;   /* receives warnings where llama.cpp differs from the tokenizer; NULL: no warnings */
};

/* Returns true for the kinds of tokenizer that exist: spm, phi3, llama-json, bpe, wordpiece, gemma4 and tiktoken. */
bool hf_vocabulary_is_kind(const char *word);

/* Returns true for the roles of special tokens that a family can give: bos, eos, unk, sep, pad, cls, mask, eot and eom. */
bool hf_vocabulary_is_role(const char *word);

/* Puts all keys in the order of convert_hf_to_gguf.py and sets *tokens to the number of tokens, 0 if there is no tokenizer.
 * The first kind whose files exist is read. Fails with ERR_MALFORMED for an invalid tokenizer and with ERR_UNSUPPORTED for an
 * unknown one; both name the file. */
bool hf_vocabulary_keys(struct keys *keys, const struct hf_folder *folder, const struct hf_vocabulary_options *options,
    uint64_t *tokens, struct err *err);

#endif
