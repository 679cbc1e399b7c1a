/* back_priv: the texts that a tokenizer is written as. */
#ifndef TOKENIZER_BACK_PRIV_H
#define TOKENIZER_BACK_PRIV_H

#include "base/push.h"
#include "tokenizer/back_tokens.h"
#include "tokenizer/vocabulary.h"

/* back_split.c */

/* A pre-tokenizer and what its name implies in llama.cpp. */
struct back_split {
    const char *steps;          /* see pre_steps(); static */
    bool literal;               /* published regexes have line ends as characters and quotes as escapes */
    bool composes;              /* the normalizer is NFC */
    bool ignores_merges;        /* a word that is a token is not merged */
    bool adds_bos;              /* a BOS token is added unless a key says otherwise */
};

/* Finds the pre-tokenizer of a name: by the family's n rows, else by llama.cpp's names. Returns false if it is unknown. */
bool back_split_find(struct back_split *split, const struct hf_string *name, const struct tokenizer_pre *rows, size_t n);

/* Writes the member "pre_tokenizer". */
void back_split_push(struct push *json, const struct back_split *split);

/* back_tokenizer_json.c */

enum back_kind { BACK_BPE, BACK_GEMMA4, BACK_WORDPIECE, BACK_UNIGRAM };

/* Appends the text. `split` is used for BACK_BPE only. Takes linear time. Fails with ERR_UNSUPPORTED if merges are missing,
 * and with ERR_MALFORMED if one is not two texts of UTF-8; a failed append shows in the text. */
bool back_tokenizer_json(struct str *out, const struct back_tokens *tokens, enum back_kind kind, const struct back_split *split,
    struct err *err);

/* back_post_processor.c */

/* Writes the member. `split` is used for BACK_BPE only. */
void back_post_processor(struct push *json, const struct back_tokens *tokens, enum back_kind kind, const struct back_split *split);

/* Opens an object of tokenizer.json with its "type". */
void back_put_type(struct push *json, const char *type);

/* back_unigram.c: members of tokenizer.json for BACK_UNIGRAM. */

/* Write the value of "normalizer", "pre_tokenizer" and "decoder". */
void back_unigram_normalizer(struct push *json, const struct back_tokens *tokens);
void back_unigram_pre_tokenizer(struct push *json, const struct back_tokens *tokens);
void back_unigram_metaspace(struct push *json, const struct back_tokens *tokens);

/* Writes the member "model". Fails with ERR_UNSUPPORTED if there are no scores. */
bool back_unigram_model(struct push *json, const struct back_tokens *tokens, struct err *err);

/* back_pieces_model.c */

/* Appends the message. Trailing unused tokens are left out. Fails with ERR_UNSUPPORTED if all scores are equal, so that the
 * order of merges is lost; a failed append shows in the text. */
bool back_pieces_model(struct str *out, const struct back_tokens *tokens, struct err *err);

/* Appends the text of an added token as SentencePiece has it: user-defined ones have U+2581 for each space. */
void back_piece_text(struct str *out, const struct back_token *token);

/* back_lines.c */

/* Append the lines of the vocabulary of RWKV, and of PLaMo. Trailing unused tokens are left out. The second fails with
 * ERR_UNSUPPORTED without scores; a failed append shows in the text. */
bool back_world(struct str *out, const struct back_tokens *tokens, struct err *err);
bool back_plamo(struct str *out, const struct back_tokens *tokens, struct err *err);

/* back_tokenizer_config.c */

/* Appends tokenizer_config.json. `class`: tokenizer class of transformers. `decoder`: with the added tokens by id, for a
 * tokenizer without tokenizer.json. Fails with ERR_MALFORMED if a chat template is not UTF-8. */
bool back_tokenizer_config(struct str *out, const struct back_tokens *tokens, const struct catalog *catalog, const char *class,
    bool decoder, struct err *err);

#endif
