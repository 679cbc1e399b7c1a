/* family: translates Hugging Face model directories to GGUF and back, by families that are text. Does not write files and
 * knows no program options. Start here for converting a directory, at back.h for the way back, and at family.h for what a
 * model family is. */
#ifndef FAMILY_HF_MODEL_H
#define FAMILY_HF_MODEL_H

#include "family/config.h"
#include "tokenizer/vocabulary.h"
#include "plan/choice.h"

/* Options of the command line. Zeroed: none. */
struct hf_model_options {
    const char *pre;            /* llama.cpp's name of the pre-tokenizer, for BPE tokenizers; or NULL; borrowed */
    bool no_tokenizer;          /* write no tokenizer.* keys but tokenizer.ggml.model "none", with which llama.cpp loads the
                                 * file */
    const char *family;         /* path of a family file, instead of the built-in family of the class; or NULL; borrowed */
    const char *tokenizer;      /* directory of the tokenizer files; NULL: the model's; borrowed */
    bool no_mtp, mtp_only;      /* without multi-token prediction, or nothing else */
    bool mmproj;                /* the towers, by a family of `kind tower` */
    enum hf_pair { PAIR_NONE, PAIR_MODEL, PAIR_TOWERS } pair;   /* of a model and its towers, in two files: this is the first, or the
                                 * second, which a model without towers does not have */
    bool dequantize;            /* do not keep quantized blocks that GGUF has too */
    bool allow_missing, skip_unknown;       /* of outputs that a family needs; of tensors without a row */
};

/* A zeroed struct holds no model. */
struct hf_model {
    const struct model_family *family;  /* NULL: not a model directory with a known class; nothing is translated */
    struct family_config config;
    struct hf_model_options options;
    struct keys keys;           /* of the GGUF file, except those that depend on its tensors */
    uint64_t tokens;            /* vocabulary size of its tokenizer; 0: it has none */
    bool absent;                /* the second file of a pair, of a model without towers: family is NULL */
};

/* Reads the side files of a model directory that has a config.json. Fails with ERR_UNSUPPORTED for an unknown class, with
 * ERR_MALFORMED if the class is missing, or for any other fault. Call hf_model_clear() even after a failure. */
bool hf_model_open(struct hf_model *hf, struct model *model, const struct hf_model_options *how, struct err *err);
void hf_model_clear(struct hf_model *hf);

/* Puts the keys tokenizer.* of a family, also from its `key` rows. The options need only `size`, `pre_name` and
 * `warnings`. */
bool hf_model_vocabulary(struct keys *keys, const struct hf_folder *folder, struct family_config *c,
    struct vocabulary_options *options, uint64_t *tokens, struct err *err);

/* Replaces the chosen tensors of the model by the tensors of the GGUF file, which borrow from hf. `matrices` and `exact`: see
 * family/rows.h. Fails with ERR_UNSUPPORTED if llama.cpp would not load the model. */
bool hf_model_choose(struct hf_model *hf, struct model *model, struct choice *choice, enum dtype matrices, bool exact,
    struct err *err);

#endif
