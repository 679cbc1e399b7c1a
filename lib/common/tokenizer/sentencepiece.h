/* sentencepiece: reads the pieces of tokenizer.model, a protobuf message. Source: sentencepiece_model.proto. */
#ifndef TOKENIZER_SENTENCEPIECE_H
#define TOKENIZER_SENTENCEPIECE_H

#include "base/err.h"
#include "hf/folder.h"

/* Numbers of the proto; llama.cpp uses the same. */
enum token_type {
    TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER_DEFINED, TOKEN_UNUSED, TOKEN_BYTE
};

struct sentencepiece {
    const char *text;           /* n bytes of UTF-8, at least one; borrowed from the file */
    size_t n;
    float score;
    enum token_type type;
    uint64_t at;                /* offset in the file */
};

/* Reader; zeroed except for the file, it is at the start. */
struct sentencepieces {
    const struct hf_text *file;
    uint64_t at;
};

/* Reads the next piece; sets *end if there is none. Fails with ERR_MALFORMED and the offset if the message is invalid. */
bool sentencepiece_next(struct sentencepieces *pieces, struct sentencepiece *piece, bool *end, struct err *err);

/* What a model declares besides its pieces. */
struct sentencepiece_settings {
    bool unigram;               /* else a BPE or another kind */
    bool adds_prefix;           /* a space at the start of a text */
    bool removes_spaces;        /* all but one of several, and those at the ends */
    const char *map;            /* nmap bytes, the compiled map of characters; NULL: none. Borrowed from the file */
    size_t nmap;
};

/* Fails with ERR_MALFORMED and the offset if the message is invalid. */
bool sentencepiece_settings(struct sentencepiece_settings *settings, const struct hf_text *file, struct err *err);

#endif
