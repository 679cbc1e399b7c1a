/* post_processor: the member "post_processor" of a tokenizer.json: special tokens at the start and end of a text. */
#ifndef TOKENIZER_BACK_POST_PROCESSOR_H
#define TOKENIZER_BACK_POST_PROCESSOR_H

#include "tokenizer/back_tokenizer_json.h"

/* Writes the member. `split` is used for BACK_BPE only. */
void back_post_processor(struct push *json, const struct back_tokens *tokens, enum back_kind kind, const struct back_split *split);

/* Opens an object of tokenizer.json with its "type". */
void back_put_type(struct push *json, const char *type);

#endif
