/* tokens: the tokenizer that the keys of a GGUF file describe. */
#ifndef TOKENIZER_BACK_TOKENS_H
#define TOKENIZER_BACK_TOKENS_H

#include "base/table.h"
#include "catalog/catalog.h"
#include "hf/member.h"

enum back_role { BACK_BOS, BACK_EOS, BACK_UNK, BACK_SEP, BACK_PAD, BACK_CLS, BACK_MASK, BACK_ROLES };

struct back_token {
    const char *p;              /* n bytes of UTF-8; borrowed from the catalog or from `chars` */
    uint32_t n;
    uint8_t type;               /* enum token_type */
    float score;                /* 0 if the file has no scores */
};

/* A zeroed struct has no tokens. */
struct back_tokens {
    struct hf_string model, pre;    /* tokenizer.ggml.model, "gpt2"; tokenizer.ggml.pre; borrowed */
    struct back_token *list;        /* n of them; owned */
    size_t n;
    size_t covered;                 /* ids below it are in the vocabulary: all up to the last that is not an added token */
    const struct meta_array *merges;    /* strings, or NULL; borrowed */
    bool has_scores;
    struct hf_string role[BACK_ROLES];  /* text of the special token; empty: none */
    uint64_t id[BACK_ROLES];
    bool add[3], has_add[3];        /* flags of BOS, EOS and SEP */
    bool lowercase, strip_accents, has_lowercase, has_strip_accents;
    bool space_prefix, has_space_prefix, removes_spaces;
    const struct meta_array *map;   /* of bytes, the compiled map of characters, or NULL; borrowed */
    struct table texts;             /* by text, to find duplicates */
    struct hf_chars chars;
};

/* Reads the tokenizer of a model; WordPiece tokens as a tokenizer.json has them, "##ing" for "ing". Leaves `tokens` without a
 * list if the file has no tokenizer. Fails with ERR_MALFORMED for arrays of different length or the wrong type, a text that
 * is not UTF-8, or a duplicate; and with ERR_LIMIT. Warns in the catalog about an id without a token. Call
 * back_tokens_clear() even after a failure. */
bool back_tokens_read(struct back_tokens *tokens, struct catalog *catalog, struct err *err);
void back_tokens_clear(struct back_tokens *tokens);

/* Gives the type of an added token to normal tokens that look like tags and that no merge makes, "<|turn>": text cannot become
 * them otherwise. The vocabulary stays the same. Takes linear time. Fails with ERR_MEMORY. */
bool back_tokens_find_tags(struct back_tokens *tokens, struct err *err);

/* Returns true for an encoder such as BERT, whose two texts are separated by one token: it names the tokens at the start and the
 * end cls and sep, which GGUF has as bos and eos. */
bool back_tokens_are_bert(const struct back_tokens *tokens);

/* Return true for a token that is an entry of "added_tokens", and for one that the tokenizer must leave whole. */
bool back_token_is_added(const struct back_token *token);
bool back_token_is_special(const struct back_token *token);

/* Name of a member of tokenizer_config.json, such as "bos_token"; static. */
const char *back_role_name(enum back_role role);

/* Returns the string of a key, empty if it is missing or of another type. */
struct hf_string back_key_string(const struct catalog *catalog, const char *key);

#endif
