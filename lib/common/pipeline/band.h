/* band: how the output rows of a piece that is made of strips are cut, so that what a band needs fits a panel. */
#ifndef PIPELINE_BAND_H
#define PIPELINE_BAND_H

#include "plan/pieces.h"

/* What a piece needs of its part p: that of its weight; the tensor of a VIEW is a strip. */
enum need band_need(const struct piece *piece, unsigned p);

/* How a STRIP part lies. */
void band_strip(struct strip *strip, const struct piece *piece, unsigned p);

struct bands {
    uint64_t rows, cols;        /* of an output matrix; rows 0: no STRIP part, all is one band */
    uint64_t granule;           /* rows that share units; a band has a multiple of them */
    uint64_t band;              /* rows of a band */
    uint64_t from, to;          /* rows that are wanted, counted over all matrices */
};

/* As few bands as `most` bytes allow, of one size; bytes [from, to) of the output are wanted. A row that is made of more
 * than 64 MiB: ERR_LIMIT. */
bool bands_find(struct bands *b, const struct piece *piece, uint64_t from, uint64_t to, uint64_t most, struct err *err);

struct band {
    uint64_t first, end;        /* elements of the piece */
    uint64_t row;               /* the first one, counted over all matrices */
};

/* The band with this element: no more of it than is wanted. */
void bands_at(struct band *band, const struct bands *b, uint64_t element);

#endif
