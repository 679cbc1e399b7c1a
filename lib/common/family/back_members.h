/* members: config.json of a model, from the keys of a GGUF file, by the rows of its family read backwards. */
#ifndef FAMILY_BACK_MEMBERS_H
#define FAMILY_BACK_MEMBERS_H

#include "tokenizer/back_tokens.h"
#include "family/scope.h"
#include "model/model.h"

/* Fills scope->config, an empty object, in this order: members that a `key` row copies, rope_parameters, vocab_size, `back` rows,
 * `const` rows, tie_word_embeddings, special token ids, architectures, model_type. scope->keys is set. Appends the names of
 * members that come from `const` rows to `constants`. Fails with ERR_MALFORMED for an expression that cannot be evaluated, and
 * as rope_keys_back(). */
bool back_members(struct scope *scope, struct model *model, const struct back_tokens *tokens, struct str *constants,
    struct err *err);

/* Sets *hf to the first `hf` row that holds; without one, to the first without a condition; else to NULL. */
bool back_members_class(const struct family_hf **hf, struct scope *scope, struct err *err);

#endif
