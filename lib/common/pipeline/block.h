/* block: generates any range of output bytes from the input. Internal to this layer, exact/ and their tests. */
#ifndef PIPELINE_BLOCK_H
#define PIPELINE_BLOCK_H

#include "kernel/nonfinite.h"
#include "pipeline/panel.h"
#include "pipeline/pipeline.h"

/* What elements are read as. */
enum reading_what {
    READING_VALUES,
    READING_BARE,               /* their values without deltas */
    READING_HINTS,              /* what the kernels of a hint yield (kernel/hints.h) */
    READING_FACTORS             /* what a hint yields that takes no notice of codes */
};

/* Buffers of one worker. */
struct workspace {
    uint8_t *out;               /* buffer for one block, page aligned; owned */
    uint8_t *in;                /* BLOCK_WINDOW bytes after it */
    uint8_t *spare;             /* BLOCK_SPARE bytes after that, for elements that would be misaligned */
    void *room;                 /* scratch memory of decode(), room_size bytes; allocated on first use; owned */
    size_t room_size;
    float *floats;              /* ENCODE_FLOATS, again as many decoded ones, ENCODE_ROOM bytes; allocated on first use;
                                 * owned */
    float *hints;               /* HINTS lists of ENCODE_FLOATS, for exact encodings; allocated on first use; owned */
    struct grain {              /* the last grain that was only partly in a block */
        const struct encoding *encoding;
        unsigned part;
        uint64_t number;
        uint8_t *p;             /* `room` bytes; owned */
        size_t room;
    } grain;
    struct held {               /* elements [first, first + n) of a piece that block_hold() has read */
        const struct piece *elements;
        enum reading_what what;
        bool finite;            /* known to have neither NaN nor infinity as floats */
        uint64_t first, n;
        uint8_t *p;             /* in the type of the piece; `room` bytes; owned */
        size_t room;
    } held;
    struct band_facts {         /* results of the survey of the elements that are held */
        const struct encoding *encoding;
        uint64_t first;         /* held.first */
        float *p;               /* of the whole weight; owned */
    } facts;
    uint8_t *tile;              /* COMPOSED_TILE bytes, allocated on first use; owned */
    double *wide;               /* BLOCK_WIDE elements of a piece with a delta; allocated on first use; owned */
    float *before;              /* the same elements before the change, if it is measured; owned */
    float *shown;               /* twice ENCODE_FLOATS, to compare a change with its encoding; allocated on first use; owned */
    struct nonfinite values;    /* infinite and NaN values after rounding to a narrower type */
    struct changed_values changed;
};

/* How one worker reads elements. All pointers are borrowed. */
struct reading {
    const struct pipeline *p;
    struct panels *panels;
    struct workspace *b;
    const struct kernels *kernels;      /* of the job, or of a hint */
    enum reading_what what;
    bool nonfinite;                     /* NaN and infinity are no errors */
    bool bands;                         /* the elements of whole bands are held */
    bool measures;                      /* the elements are bytes of the output: their change counts. Only for block.c and changed.c */
};

/* The window holds all codes of a block of BF16 output: at most 292 bytes per 256 elements, plus scales. It is also the read
 * buffer for panels. */
enum { BLOCK_WINDOW = 320 << 10, BLOCK_SPARE = 64 << 10 };

/* Elements that a delta changes at a time: several rows, so that its resident part is read once for all of them. */
enum { BLOCK_WIDE = 64 << 10 };

bool workspace_init(struct workspace *b, size_t block, struct err *err);        /* `block`: bytes per block */
void workspace_clear(struct workspace *b);

/* Reads elements [first, first + n) of a piece as floats. Fails with ERR_MALFORMED for NaN or infinity, unless how->nonfinite. */
bool block_floats(const struct reading *how, const struct piece *elements, uint64_t first, size_t n, float *x, struct err *err);

/* Reads the largest magnitudes of groups of elements. x has room for all elements. Fails like block_floats(). */
bool block_largest(const struct reading *how, const struct piece *elements, const struct encode_extent *at, float *y, float *x,
    struct err *err);

/* Reads elements [first, first + n) of a piece, from which block_floats() takes them until something else is held. Fails like it for
 * the first NaN or infinity. */
bool block_hold(const struct reading *how, const struct piece *elements, uint64_t first, uint64_t n, struct err *err);

/* Returns true if these elements are held. */
bool block_holds(const struct reading *how, const struct piece *elements, uint64_t first, uint64_t n);

/* Generates output bytes [from, to), at most one block, in b->out. Skips the bytes of LATE pieces. */
bool block_make(const struct pipeline *p, struct panels *panels, struct workspace *b, uint64_t from, uint64_t to,
    struct err *err);

/* Generates elements [first, first + count) of a COPY, VIEW or DECODE without its delta, as type `to`. For changed.c. */
bool block_source(const struct reading *how, const struct piece *piece, enum dtype to, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err);

#endif
