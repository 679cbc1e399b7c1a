/* sentencepiece: the pieces of tokenizer.model, a protobuf message. Source: sentencepiece_model.proto. */
#ifndef HF_SENTENCEPIECE_H
#define HF_SENTENCEPIECE_H

#include "base/err.h"
#include "hf/folder.h"

/* As the proto numbers them, which are those of llama.cpp too. */
enum hf_piece_type {
    HF_PIECE_NORMAL = 1, HF_PIECE_UNKNOWN, HF_PIECE_CONTROL, HF_PIECE_USER_DEFINED, HF_PIECE_UNUSED, HF_PIECE_BYTE
};

struct hf_piece {
    const char *text;           /* n bytes of UTF-8, at least one; borrowed from the file */
    size_t n;
    float score;
    enum hf_piece_type type;
    uint64_t at;                /* where it begins in the file */
};

/* Zeroed but for the file: at its beginning. */
struct hf_pieces {
    const struct hf_text *file;
    uint64_t at;
};

/* The next piece; *end when there is none. What is no such message is ERR_MALFORMED with its offset. */
bool hf_pieces_next(struct hf_pieces *pieces, struct hf_piece *piece, bool *end, struct err *err);

#endif
