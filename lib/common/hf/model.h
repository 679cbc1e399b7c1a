/* hf: everything about Hugging Face model directories. Translates config.json and the tokenizer to GGUF keys, and writes the
 * config that loaders need in an output directory. Does not write files and knows no program options. Start here for
 * converting a directory to GGUF, and at hf/quantization.h for writing a directory. */
#ifndef HF_MODEL_H
#define HF_MODEL_H

#include "hf/tensors.h"
#include "hf/vocabulary.h"

/* A zeroed struct holds no model. */
struct hf_model {
    const struct hf_family *family;     /* NULL: not a model directory with a known class; nothing is translated */
    struct hf_config config;
    struct keys keys;           /* of the GGUF file, except those that depend on its tensors */
    uint64_t tokens;            /* vocabulary size of its tokenizer; 0: it has none */
};

/* Options of the command line. Zeroed: none. */
struct hf_model_options {
    const char *pre;            /* llama.cpp's name of the pre-tokenizer, for BPE tokenizers; or NULL; borrowed */
    bool no_tokenizer;          /* write no tokenizer.* keys but tokenizer.ggml.model "none", with which llama.cpp loads the file */
};

/* Reads the side files of a model directory that has a config.json. Fails with ERR_UNSUPPORTED for an unknown class, with
 * ERR_MALFORMED if the class is missing, or for any other fault. Call hf_model_clear() even after a failure. */
bool hf_model_open(struct hf_model *hf, struct model *model, const struct hf_model_options *how, struct err *err);
void hf_model_clear(struct hf_model *hf);

/* Puts the keys tokenizer.* of a family: sets the options that depend on it, and calls hf_vocabulary_keys(). */
bool hf_model_vocabulary(struct keys *keys, const struct hf_folder *folder, const struct hf_family *family,
    struct hf_vocabulary_options *options, uint64_t *tokens, struct err *err);

/* Replaces the chosen tensors of the model by those of the GGUF file, which borrow from hf. `matrices` and `exact`: see
 * hf/tensors.h. */
bool hf_model_choose(struct hf_model *hf, struct model *model, struct choice *choice, enum dtype matrices, bool exact,
    struct err *err);

#endif
