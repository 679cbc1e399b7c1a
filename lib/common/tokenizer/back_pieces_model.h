/* pieces_model: the bytes of tokenizer.model, a protobuf message, for SentencePiece tokenizers ("llama"). Source:
 * sentencepiece_model.proto. */
#ifndef TOKENIZER_BACK_PIECES_MODEL_H
#define TOKENIZER_BACK_PIECES_MODEL_H

#include "tokenizer/back_tokens.h"

/* Appends the message. Trailing unused tokens are left out. Fails with ERR_UNSUPPORTED if all scores are equal, so that the
 * order of merges is lost; a failed append shows in the text. */
bool back_pieces_model(struct str *out, const struct back_tokens *tokens, struct err *err);

/* Appends the text of an added token as SentencePiece has it: user-defined ones have U+2581 for each space. */
void back_piece_text(struct str *out, const struct back_token *token);

#endif
