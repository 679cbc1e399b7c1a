/* tokenizer: the tokenizer files of a model directory, made from the keys of a GGUF file. */
#ifndef TOKENIZER_BACK_TOKENIZER_H
#define TOKENIZER_BACK_TOKENIZER_H

#include "base/texts.h"
#include "tokenizer/back_tokens.h"
#include "tokenizer/vocabulary.h"

struct back_tokenizer_options {
    struct catalog *catalog;    /* of the GGUF file; gets warnings */
    const char *family, *arch;  /* names of the family and its architecture */
    const struct tokenizer_pre *pre_row;    /* npre rows of the family */
    size_t npre;
    const char *pre;            /* replaces tokenizer.ggml.pre; or NULL */
};

/* Adds tokenizer.json or tokenizer.model, and tokenizer_config.json. Without tokens adds nothing. Fails with ERR_UNSUPPORTED
 * for a kind or a pre-tokenizer that is not known or cannot be recovered, and as back_tokens_read(). */
bool back_tokenizer(struct texts *texts, struct back_tokens *tokens, const struct back_tokenizer_options *options,
    struct err *err);

/* Appends generation_config.json: the keys general.sampling.*, and the ids of special tokens. Leaves the text empty without
 * such a key. */
bool back_generation_config(struct str *out, const struct back_tokens *tokens, const struct catalog *catalog, struct err *err);

#endif
