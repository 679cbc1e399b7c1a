/* tokenizer_json: the text of tokenizer.json for BPE over bytes ("gpt2"), BPE over characters ("gemma4") and WordPiece ("bert"). */
#ifndef TOKENIZER_BACK_TOKENIZER_JSON_H
#define TOKENIZER_BACK_TOKENIZER_JSON_H

#include "tokenizer/back_split.h"
#include "tokenizer/back_tokens.h"

enum back_kind { BACK_BPE, BACK_GEMMA4, BACK_WORDPIECE };

/* Appends the text. `split` is used for BACK_BPE only. Takes linear time. Fails with ERR_UNSUPPORTED if merges are missing,
 * and with ERR_MALFORMED if one is not two texts of UTF-8; a failed append shows in the text. */
bool back_tokenizer_json(struct str *out, const struct back_tokens *tokens, enum back_kind kind, const struct back_split *split,
    struct err *err);

#endif
