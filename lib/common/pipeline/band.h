/* band: divides the output rows of a piece with STRIP parts so that each band fits into a panel. */
#ifndef PIPELINE_BAND_H
#define PIPELINE_BAND_H

#include "plan/pieces.h"

/* Returns how a piece needs its part p: as its weight does; the tensor of a VIEW is a strip. */
enum need band_need(const struct piece *piece, unsigned p);

/* Returns the geometry of a STRIP part. */
void band_strip(struct strip *strip, const struct piece *piece, unsigned p);

struct bands {
    uint64_t rows, cols;        /* of an output matrix; rows 0: no STRIP part, a single band */
    uint64_t granule;           /* rows that share units; a band is a multiple of it */
    uint64_t band;              /* rows per band */
    uint64_t from, to;          /* requested rows, counted over all matrices */
};

/* Divides the rows into as few bands of equal size as `most` bytes allow; output bytes [from, to) are requested. Fails with
 * ERR_LIMIT if a single row needs more than 64 MiB of input. */
bool bands_find(struct bands *b, const struct piece *piece, uint64_t from, uint64_t to, uint64_t most, struct err *err);

struct band {
    uint64_t first, end;        /* range of elements of the piece */
    uint64_t row;               /* first row, counted over all matrices */
};

/* Returns the band that contains this element, limited to the requested rows. */
void bands_at(struct band *band, const struct bands *b, uint64_t element);

#endif
