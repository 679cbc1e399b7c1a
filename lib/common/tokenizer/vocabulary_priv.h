/* vocabulary_priv: the tokens of a model while they are collected. */
#ifndef TOKENIZER_VOCABULARY_PRIV_H
#define TOKENIZER_VOCABULARY_PRIV_H

#include "base/table.h"
#include "hf/member.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/vocabulary.h"

/* More tokens than any known model has; each uses sizeof(struct vocab_token) plus its text. */
enum { TOKENS_MAX = 1 << 22 };

/* Maximum length in bytes of a token that is split into pairs, which takes quadratic time. */
enum { TOKEN_SPLIT_MAX = 512 };

/* Scores of padding and of added tokens. */
#define TOKEN_SCORE_PAD (-10000.0F)
#define TOKEN_SCORE_ADDED (-1000.0F)

/* Members of tokenizer.json. The file may be large, so all are found in one pass. */
enum json_part { HF_ADDED, HF_PRE, HF_NORMALIZER, HF_POST, HF_DECODER, HF_MODEL, HF_PARTS };
enum json_model_part { HF_TYPE, HF_VOCAB, HF_MERGE_LIST, HF_FALLBACK, HF_IGNORE_MERGES, HF_UNKNOWN_ID, HF_MODEL_PARTS };

struct vocab_token {
    const char *p;              /* n bytes; borrowed; NULL: unused id, written as "[PAD12]" */
    uint32_t n;
    float score;
    uint8_t type;               /* enum token_type */
    bool added, special;
    uint32_t merges;            /* number of merges that produce it */
};

struct vocab {
    const struct hf_folder *folder;
    const struct vocabulary_options *options;
    struct hf_value json, config;   /* tokenizer.json, tokenizer_config.json */
    struct hf_value part[HF_PARTS], model[HF_MODEL_PARTS];  /* of tokenizer.json, and of its "model" */
    struct hf_chars chars;
    struct vocab_token *token;     /* n of them; owned */
    size_t n;
    struct table ids;           /* by text, to find duplicates */
    bool phi3, internlm;        /* of these kinds */
};

/* An added token as declared by a file. */
struct added_token {
    struct hf_string text;
    uint64_t id;
    bool special, normalized;
    uint64_t at;
};

/* Forms of a list of tokens. */
enum added_form {
    HF_ADDED_ARRAY,             /* of objects: "added_tokens" of tokenizer.json */
    HF_ADDED_BY_ID,             /* objects by id: "added_tokens_decoder" of tokenizer_config.json */
    HF_ADDED_IDS                /* ids by text: a vocabulary, and added_tokens.json */
};

/* Iterates over such a list; a missing list is empty. */
struct added_walk {
    struct hf_value list;
    struct pull json;
    enum added_form form;
};

bool added_begin(struct added_walk *walk, const struct hf_value *list, enum added_form form, struct err *err);
bool added_next(struct added_walk *walk, struct vocab *v, struct added_token *added, bool *end, struct err *err);

/* Returns true if the text has the form of a special token. Source: does_token_look_special(). */
bool added_looks_special(const struct hf_string *text);

/* Replaces U+2581 by spaces, which llama.cpp requires in user-defined tokens. */
bool added_plain_spaces(struct hf_string *text, struct hf_chars *chars, struct err *err);

/* Resizes to n tokens; new ones are padding. Fails with ERR_LIMIT over TOKENS_MAX. */
bool tokens_resize(struct vocab *v, uint64_t n, struct err *err);

/* Drops unused ids from the end, unless config.json declares vocab_size. */
void bpe_trim(struct vocab *v);

/* Registers the text of a token id. Fails with ERR_MALFORMED if the text is a duplicate. */
bool tokens_register(struct vocab *v, const char *file, const struct hf_string *text, size_t id, uint64_t at,
    struct err *err);
bool tokens_find(const struct vocab *v, const struct hf_string *text, size_t *id);

/* Puts tokenizer.ggml.model, pre unless it is NULL, tokens, token_type and, if requested, scores. */
bool tokens_put(struct keys *keys, const struct vocab *v, const char *model, const char *pre, bool scores,
    struct err *err);

/* Tokenizer classes of transformers that have rules of their own; from CLASS_LLAMA on, the vocabulary consists of characters. */
enum tokenizer_class { CLASS_PLAIN, CLASS_QWEN, CLASS_GPT, CLASS_COHERE, CLASS_LLAMA, CLASS_GEMMA, CLASS_BERT };

/* A BPE tokenizer.json while it is read. */
struct bpe {
    struct vocab *v;
    size_t count;               /* in the vocabulary */
    uint64_t next;              /* id of the next added token */
    enum tokenizer_class class;
    bool by_alphabet;           /* the decoder maps characters of GPT-2's alphabet to bytes */
};

/* Adds a token declared in a file; a->id is UINT64_MAX if the file declares none. Fails with ERR_MALFORMED if the
 * tokenizers library assigns another id. */
bool bpe_add(struct bpe *b, const struct added_token *a, const char *file, struct err *err);

/* Reads all tokens, then the tokens with a role: first the named roles in their order, then lists. `type`: of the model, "BPE".
 * `characters`: the vocabulary consists of characters, not bytes. */
bool bpe_read(struct bpe *b, struct vocab *v, const char *type, bool characters, struct err *err);
bool roles_put(struct bpe *b, bool characters, struct err *err);

/* Fills up to the number of tokens that the model has, and sets the types and texts of added tokens. */
bool bpe_settle(struct bpe *b, struct err *err);

/* Makes tokens special only by their role, and sets the types of all: bytes, control, normal, user-defined. `by_flag`: see
 * llama_json_put(). Fails with ERR_MALFORMED if an id below b->next has no token. */
bool llama_json_settle(struct bpe *b, bool by_flag, struct err *err);

/* Reads all pieces of a SentencePiece model, even those beyond vocab_size unless it must `fit`. As in sentencepiece, texts must be
 * unique and there must be exactly one unknown piece. */
bool spm_read_pieces(struct vocab *v, const struct hf_text *file, bool fits, struct err *err);

/* Reads added_tokens.json, { text: id }. Duplicate texts and ids are errors. */
bool spm_add_texts(struct vocab *v, struct err *err);

/* Puts tokenizer.model as "llama". */
bool spm_put(struct keys *keys, struct vocab *v, struct err *err);

/* Put the BPE of tokenizer.json: as "gpt2" with merges, or as "llama" without. `by_flag`: the types of added tokens follow
 * from their declaration, not only from roles. */
bool bpe_put(struct keys *keys, struct vocab *v, struct err *err);
bool llama_json_put(struct keys *keys, struct vocab *v, bool by_flag, struct err *err);

/* Put the WordPiece of tokenizer.json as "bert", and a BPE over characters with its merges as "gemma4". */
bool wordpiece_put(struct keys *keys, struct vocab *v, struct err *err);
bool gemma4_put(struct keys *keys, struct vocab *v, struct err *err);

/* Put a unigram model as "t5": tokenizer.model or spiece.model, sentencepiece.bpe.model, and tokenizer.json. The second has the ids of
 * fairseq; `mask`: with the token that is missing in it. A tokenizer.model that is a BPE becomes "llama". */
bool ugm_put(struct keys *keys, struct vocab *v, struct err *err);
bool fairseq_put(struct keys *keys, struct vocab *v, bool mask, struct err *err);
bool unigram_put(struct keys *keys, struct vocab *v, struct err *err);

/* Puts the vocabulary of RWKV as "rwkv", with the id that llama.cpp ends turns with. */
bool world_put(struct keys *keys, struct vocab *v, struct err *err);

/* Puts tokenizer.jsonl as "plamo2"; `chat`: with the chat template. */
bool plamo_put(struct keys *keys, struct vocab *v, bool chat, struct err *err);

/* Puts tiktoken.model as "gpt2". */
bool tiktoken_put(struct keys *keys, struct vocab *v, struct err *err);

/* Puts tekken.json as "gpt2". */
bool tekken_put(struct keys *keys, struct vocab *v, struct err *err);

/* GPT-2's alphabet: a character for each byte. */

/* Decodes base64, with or without padding, into the characters of its bytes. *text is empty if it is not base64. Fails only
 * with ERR_MEMORY. */
bool bytes_of_base64(struct hf_string *text, struct hf_chars *chars, const char *p, size_t n, struct err *err);

/* Decodes base64, with or without padding, into bytes. *bytes is empty if it is not base64. Fails only with ERR_MEMORY. */
bool bytes_from_base64(struct hf_string *bytes, struct hf_chars *chars, const char *p, size_t n, struct err *err);

/* Decodes the text of a token that is not normalized. If all characters are in the alphabet, they become their bytes, and
 * invalid UTF-8 becomes U+FFFD. */
bool bytes_decode(struct hf_string *text, struct hf_chars *chars, struct err *err);

/* Sets *is if tokenizer.json is a BPE over characters with byte fallback ("llama-json"). */
bool bpe_is_llama_json(bool *is, struct vocab *v, struct err *err);

bool merges_put(struct keys *keys, struct vocab *v, struct err *err);

/* Sets the score of each token produced by merges to -i, where merge i of tokenizer.json is the first that produces it:
 * llama.cpp merges the highest score first. */
bool merges_score(struct vocab *v, struct err *err);

/* Finds tokenizer.ggml.pre by the regexes of "pre_tokenizer" in tokenizer.json: the family's name for this way of splitting,
 * else llama.cpp's usual one; borrowed from the options or static. Fails with ERR_UNSUPPORTED if no row matches. */
bool pre_find(const char **pre, struct vocab *v, struct err *err);

/* Returns tokenizer.ggml.pre of a tokenizer whose files have no regexes: from --pre, from the family's rows, or `otherwise`,
 * which is the usual name of its way of splitting or NULL. */
const char *pre_named(const struct vocab *v, const char *otherwise);

/* Returns the steps of a way of splitting, named as in family files: one line each, R and a regex whose matches are isolated, B
 * or b for bytes as characters (B: after GPT-2's regex), D for single digits. NULL for an unknown name; static. */
const char *pre_steps(const char *split);

/* Returns true if llama.cpp adds a BOS token by default for this pre-tokenizer. Source: llama-vocab.cpp. */
bool pre_adds_bos(const char *pre);

/* Puts the ids of special tokens, the flags that add them to a text, and the chat templates. Skips ids of `limit` and above;
 * 0: no limit. */
bool special_put(struct keys *keys, struct vocab *v, uint64_t limit, struct err *err);
bool chat_template_put(struct keys *keys, struct vocab *v, const struct hf_value *in_config, struct err *err);

#endif
