/* codes: converts rows of integer codes to values, V = RN32((code - zero_point) * scale), for decoders whose codes are
 * stored row by row. A row is processed in pieces. For each piece the decoder puts scales, zero points and unpacked codes
 * into this struct, which is its `room`. */
#ifndef SCHEME_CODES_H
#define SCHEME_CODES_H

#include "scheme/blocks.h"

enum {
    CODES_STEP = 1024,                  /* elements in a piece, at most */
    CODES_GROUPS = CODES_STEP + 1       /* groups that a piece touches, at most */
};

/* Some elements of one row. */
struct codes_piece {
    float v[CODES_STEP];                /* buffer for values */
    uint8_t codes[CODES_STEP];          /* buffer for unpacked codes */
    uint64_t row, col;                  /* the first element; rows are counted over all matrices */
    size_t n, group, groups;            /* elements; elements in a group; groups touched */
    float scales[CODES_GROUPS], zeros[CODES_GROUPS];    /* of the groups touched */
    bool narrow;                        /* codes have 4 bits or fewer */
    unsigned smooth;                    /* the part that holds pre_quant_scale, or 0 */
};

/* Starts a piece of at most `count` elements at `at`, in d->room. Pass group 1 if scales follow no group order (the piece
 * then has as many groups as elements). The piece starts with narrow = false and smooth = 0; the caller may change both. */
struct codes_piece *codes_begin(const struct decoding *d, uint64_t at, uint64_t count, uint64_t cols, uint64_t group);

/* Reads the scales of the piece; sets all of its zero points to one value. */
void codes_scales(struct codes_piece *p, const struct decoding *d, const struct blocks *b, unsigned part);
void codes_fill_zeros(struct codes_piece *p, float zero);

/* Flips the highest bit of each 4-bit code in p->codes, which adds 8 to codes in two's complement. */
void codes_flip(struct codes_piece *p);

/* Rounds the values of the piece into y, from codes of one byte each, and returns how many. `zeros`: p->zeros is valid. */
uint64_t codes_emit(struct codes_piece *p, const struct decoding *d, const uint8_t *codes, bool is_signed, bool zeros,
    uint8_t *y);

/* Like codes_emit, for 4-bit codes packed two to a byte, low nibble first. x is the byte of the first code, the one of
 * column `col`. All groups have zero points. is_signed: codes in two's complement. */
uint64_t codes_emit4(struct codes_piece *p, const struct decoding *d, const uint8_t *x, bool is_signed, uint8_t *y);

/* Describes codes of `bits` bits; `group` neighbours share a scale. zeros: the zero points, or NULL. */
void codes_grid(struct weight_grid *g, uint32_t bits, uint64_t group, const struct tensor *scale, const struct tensor *zeros);

/* Checks that zero points are present if config.json declares them for the module. Fails as claims_missing does. */
bool codes_check_zeros(const struct table_match *f, const struct tensor *zero, struct err *err);

#endif
