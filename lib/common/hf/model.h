/* hf knows model directories of Hugging Face: what config.json and the tokenizer mean to llama.cpp, and what loaders are told of
 * a directory that is written. It must not know where bytes go, nor the options of a program.
 * Begin here for a directory on its way into a GGUF file, and with hf/quantization.h for one that is written. */
#ifndef HF_MODEL_H
#define HF_MODEL_H

#include "hf/tensors.h"

/* Zeroed: none. */
struct hf_model {
    const struct hf_family *family;     /* NULL: this is no such directory, and nothing changes */
    struct hf_config config;
    struct keys keys;           /* of the GGUF file, but what its tensors alone tell */
    uint64_t tokens;            /* of its tokenizer; 0: it has none */
};

/* Reads the side files of a model directory that has a config.json. An unknown class is ERR_UNSUPPORTED; a missing one, and any
 * other fault, is ERR_MALFORMED. `pre`: as in hf/vocabulary.h. Clear also after a
 * failure. */
bool hf_model_open(struct hf_model *hf, struct model *model, const char *pre, struct err *err);
void hf_model_clear(struct hf_model *hf);

/* Turns the choice of the model's tensors into that of the GGUF file, which borrows from hf. `matrices` and `exact` are those
 * of hf/tensors.h. */
bool hf_model_choose(struct hf_model *hf, struct model *model, struct choice *choice, enum dtype matrices, bool exact,
    struct err *err);

#endif
