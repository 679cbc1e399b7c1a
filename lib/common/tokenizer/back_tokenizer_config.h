/* tokenizer_config: the texts of tokenizer_config.json, with the chat templates, and of generation_config.json. */
#ifndef TOKENIZER_BACK_TOKENIZER_CONFIG_H
#define TOKENIZER_BACK_TOKENIZER_CONFIG_H

#include "tokenizer/back_tokens.h"

/* Appends tokenizer_config.json. `class`: tokenizer class of transformers. `decoder`: with the added tokens by id, for a
 * tokenizer without tokenizer.json. Fails with ERR_MALFORMED if a chat template is not UTF-8. */
bool back_tokenizer_config(struct str *out, const struct back_tokens *tokens, const struct catalog *catalog, const char *class,
    bool decoder, struct err *err);

/* Appends generation_config.json: the keys general.sampling.*, and the ids of special tokens. Leaves the text empty without
 * such a key. */
bool back_generation_config(struct str *out, const struct back_tokens *tokens, const struct catalog *catalog, struct err *err);

#endif
