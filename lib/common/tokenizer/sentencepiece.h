/* sentencepiece: reads the pieces of tokenizer.model, a protobuf message. Source: sentencepiece_model.proto. */
#ifndef TOKENIZER_SENTENCEPIECE_H
#define TOKENIZER_SENTENCEPIECE_H

#include "base/err.h"
#include "hf/folder.h"

/* Numbers of the proto; llama.cpp uses the same. */
enum hf_piece_type {
    HF_PIECE_NORMAL = 1, HF_PIECE_UNKNOWN, HF_PIECE_CONTROL, HF_PIECE_USER_DEFINED, HF_PIECE_UNUSED, HF_PIECE_BYTE
};

struct hf_piece {
    const char *text;           /* n bytes of UTF-8, at least one; borrowed from the file */
    size_t n;
    float score;
    enum hf_piece_type type;
    uint64_t at;                /* offset in the file */
};

/* Reader; zeroed except for the file, it is at the start. */
struct hf_pieces {
    const struct hf_text *file;
    uint64_t at;
};

/* Reads the next piece; sets *end if there is none. Fails with ERR_MALFORMED and the offset if the message is invalid. */
bool hf_pieces_next(struct hf_pieces *pieces, struct hf_piece *piece, bool *end, struct err *err);

#endif
