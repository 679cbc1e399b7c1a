/* codes: rows of integer codes to values, V = RN32((code - zero_point) * scale), for the decoders of this layer whose codes
 * lie by rows. A row goes through in pieces, of which a decoder puts scales, zero points and unpacked codes here:
 * its `room`. */
#ifndef SCHEME_CODES_H
#define SCHEME_CODES_H

#include "scheme/blocks.h"

enum {
    CODES_STEP = 1024,                  /* elements of a piece */
    CODES_GROUPS = CODES_STEP + 1       /* groups that they touch at most */
};

/* Some elements of one row. */
struct codes_piece {
    float v[CODES_STEP];                /* room for values */
    uint8_t codes[CODES_STEP];          /* room to unpack codes to */
    uint64_t row, col;                  /* the first one; rows are counted over all matrices */
    size_t n, group, groups;            /* elements, those of a group, and groups that they touch */
    float scales[CODES_GROUPS], zeros[CODES_GROUPS];    /* of these groups */
};

/* What becomes of the values. */
struct codes_target {
    const struct kernels *k;
    enum dtype to;
    bool narrow;                        /* codes have 4 bits or fewer */
    const struct tensor *smooth;        /* pre_quant_scale, or NULL: */
    const uint8_t *factors;             /* from that of column smooth_from on */
    uint64_t smooth_from;
};

/* The piece that begins with element `at`, of at most `count`; a group of 1 holds what has no order. */
void codes_begin(struct codes_piece *p, uint64_t at, uint64_t count, uint64_t cols, uint64_t group);

/* Its scales; `bytes` begins with scale `from`. */
void codes_scales(struct codes_piece *p, const struct blocks *b, const struct tensor *scale, const uint8_t *bytes,
    uint64_t from);

/* All of its zero points. */
void codes_fill_zeros(struct codes_piece *p, float zero);

/* Its values from one code a byte: round them into y. `zeros`: whether it has zero points. */
void codes_emit(struct codes_piece *p, const struct codes_target *t, const uint8_t *codes, bool is_signed,
    bool zeros, uint8_t *y);

/* The same of 4-bit codes, two a byte, the low one first: x is the byte of the first one, of column col. All have zero
 * points. */
void codes_emit4(struct codes_piece *p, const struct codes_target *t, const uint8_t *x, uint8_t *y);

/* Whether zero points are there where config.json says that the module has them; else as claims_missing. */
bool codes_check_zeros(const struct table_match *f, const struct tensor *zero, struct err *err);

#endif
