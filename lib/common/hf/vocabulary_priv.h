/* vocabulary_priv: the tokens of a model while they are gathered. */
#ifndef HF_VOCABULARY_PRIV_H
#define HF_VOCABULARY_PRIV_H

#include "base/table.h"
#include "hf/member.h"
#include "hf/sentencepiece.h"
#include "hf/vocabulary.h"

/* More than any model has; each takes sizeof(struct hf_token) and its text. */
enum { HF_TOKENS_MAX = 1 << 22 };

/* Tokens of more bytes are not split into pairs, which takes the square of their length. */
enum { HF_SPLIT_MAX = 512 };

/* What pads a vocabulary has this score, what was added later that one. */
#define HF_SCORE_PAD (-10000.0F)
#define HF_SCORE_ADDED (-1000.0F)

/* The members of tokenizer.json, which may be large: each is looked for once. */
enum hf_part { HF_ADDED, HF_PRE, HF_NORMALIZER, HF_POST, HF_DECODER, HF_MODEL, HF_PARTS };
enum hf_model_part { HF_TYPE, HF_VOCAB, HF_MERGE_LIST, HF_FALLBACK, HF_IGNORE_MERGES, HF_MODEL_PARTS };

struct hf_token {
    const char *p;              /* n bytes; borrowed; NULL: no token has this id, "[PAD12]" */
    uint32_t n;
    float score;
    uint8_t type;               /* enum hf_piece_type */
    bool added, special;
    uint32_t merges;            /* how many make it */
};

struct hf_vocab {
    const struct hf_folder *folder;
    const struct hf_vocabulary_options *options;
    struct hf_value json, config;   /* tokenizer.json, tokenizer_config.json */
    struct hf_value part[HF_PARTS], model[HF_MODEL_PARTS];  /* of tokenizer.json, and of its "model" */
    struct hf_chars chars;
    struct hf_token *token;     /* n of them; owned */
    size_t n;
    struct table ids;           /* of the texts that must be different */
};

/* A token as files name it that add some. */
struct hf_added {
    struct hf_string text;
    uint64_t id;
    bool special, normalized;
    uint64_t at;
};

/* The forms in which files list tokens. */
enum hf_added_form {
    HF_ADDED_ARRAY,             /* of objects: "added_tokens" of tokenizer.json */
    HF_ADDED_BY_ID,             /* objects by id: "added_tokens_decoder" of tokenizer_config.json */
    HF_ADDED_IDS                /* ids by text: a vocabulary, and added_tokens.json */
};

/* Walks such a list; one that is not there is empty. */
struct hf_added_walk {
    struct hf_value list;
    struct pull json;
    enum hf_added_form form;
};

bool hf_added_begin(struct hf_added_walk *walk, const struct hf_value *list, enum hf_added_form form, struct err *err);
bool hf_added_next(struct hf_added_walk *walk, struct hf_vocab *v, struct hf_added *added, bool *end, struct err *err);

/* Whether it is named like one that has a meaning of its own. Source: does_token_look_special(). */
bool hf_looks_special(const struct hf_string *text);

/* U+2581 as spaces, which llama.cpp wants in tokens of users. */
bool hf_plain_spaces(struct hf_string *text, struct hf_chars *chars, struct err *err);

/* Places for n tokens, all padding. ERR_LIMIT. */
bool hf_vocab_room(struct hf_vocab *v, uint64_t n, struct err *err);

/* Drops the places after the last token that has a text, where config.json does not say how many there are. */
void hf_vocab_cut(struct hf_vocab *v);

/* Know a text by its id; one that is known already is ERR_MALFORMED. */
bool hf_vocab_name(struct hf_vocab *v, const char *file, const struct hf_string *text, size_t id, uint64_t at,
    struct err *err);
bool hf_vocab_find(const struct hf_vocab *v, const struct hf_string *text, size_t *id);

/* Put the model, pre, the tokens, their scores when asked for, their types. */
bool hf_vocab_put(struct keys *keys, const struct hf_vocab *v, const char *model, const char *pre, bool scores,
    struct err *err);

/* tokenizer.json's BPE while it is read. */
struct hf_bpe {
    struct hf_vocab *v;
    size_t count;               /* tokens of the vocabulary */
    uint64_t next;              /* id of what is added next */
    enum { CLASS_PLAIN, CLASS_QWEN, CLASS_GPT, CLASS_LLAMA } class;     /* of transformers */
    bool by_alphabet;           /* the decoder takes characters for bytes */
};

/* Reads all tokens, then those with a role: the named ones in the order of the roles, and lists. `characters`: the vocabulary is
 * of characters, not bytes. */
bool hf_bpe_read(struct hf_bpe *b, struct hf_vocab *v, bool characters, struct err *err);
bool hf_bpe_roles(struct hf_bpe *b, bool characters, struct err *err);

/* Read tokenizer.json's BPE: as "gpt2", with merges; or as "llama", without. */
bool hf_vocab_bpe(struct keys *keys, struct hf_vocab *v, struct err *err);
bool hf_vocab_llama_json(struct keys *keys, struct hf_vocab *v, struct err *err);

/* Reads tekken.json as "gpt2". */
bool hf_vocab_tekken(struct keys *keys, struct hf_vocab *v, struct err *err);

/* Returns the byte that a character of GPT-2's alphabet encodes, -1 if it is not in the alphabet. */
int hf_byte_of(uint32_t code);

/* Whether tokenizer.json is a BPE over characters with bytes for what it lacks, "llama-json". */
bool hf_vocab_is_llama_json(bool *is, struct hf_vocab *v, struct err *err);

bool hf_merges_put(struct keys *keys, struct hf_vocab *v, struct err *err);

/* Gives each token that merges make the score -i, where merge i of tokenizer.json is the first that makes it: llama.cpp
 * merges the best score first. */
bool hf_merges_score(struct hf_vocab *v, struct err *err);

/* tokenizer.ggml.pre by the expressions of tokenizer.json's "pre_tokenizer"; static. ERR_UNSUPPORTED for others. */
bool hf_pre_find(const char **pre, struct hf_vocab *v, struct err *err);

/* Checks that llama.cpp puts a BOS in front of a text under this name when no key says whether it should. Source:
 * llama-vocab.cpp. */
bool hf_pre_adds_bos(const char *pre);

/* Put the ids of tokens with a role, whether they are added to a text, and the chat templates. Ids of `limit` and
 * more are passed over; 0: no limit. */
bool hf_special_put(struct keys *keys, struct hf_vocab *v, uint64_t limit, struct err *err);
bool hf_template_put(struct keys *keys, struct hf_vocab *v, const struct hf_value *in_config, struct err *err);

#endif
