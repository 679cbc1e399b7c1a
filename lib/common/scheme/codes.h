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
    bool narrow;                        /* codes have 4 bits or fewer */
    unsigned smooth;                    /* the part that is pre_quant_scale, or 0 */
};

/* Begins the piece of elements from `at` on, of at most `count`, in d->room; a group of 1 holds what has no order. The codes
 * are wide and nothing is folded, until the piece says else. */
struct codes_piece *codes_begin(const struct decoding *d, uint64_t at, uint64_t count, uint64_t cols, uint64_t group);

/* Its scales; or all of its zero points. */
void codes_scales(struct codes_piece *p, const struct decoding *d, const struct blocks *b, unsigned part);
void codes_fill_zeros(struct codes_piece *p, float zero);

/* Rounds its values from one code a byte into y and returns how many. `zeros`: whether it has zero points. */
uint64_t codes_emit(struct codes_piece *p, const struct decoding *d, const uint8_t *codes, bool is_signed, bool zeros,
    uint8_t *y);

/* The same of 4-bit codes, two a byte, the low one first: x is the byte of the first one, of column col. All have zero
 * points. */
uint64_t codes_emit4(struct codes_piece *p, const struct decoding *d, const uint8_t *x, uint8_t *y);

/* Whether zero points are there where config.json says that the module has them; else as claims_missing. */
bool codes_check_zeros(const struct table_match *f, const struct tensor *zero, struct err *err);

#endif
