/* encode knows which tensors a weight becomes when its precision is reduced, and how a run of their bytes is made.
 * It must not know files, formats or loaders; the way back is scheme/.
 * Begin with struct encoder: an encoder is one file with its rows, and these in the list of table.c.
 *
 * An encoder looks at a weight's name, dtype and shape when it says which tensors the weight becomes, its parts. Encoding is a
 * pure function: grains [first, first + count) of a part are these bytes, of these elements and of what was surveyed. So any
 * block of an output can be made alone. */
#ifndef ENCODE_ENCODE_H
#define ENCODE_ENCODE_H

#include "base/err.h"
#include "base/str.h"
#include "catalog/catalog.h"
#include "kernel/kernels.h"

enum {
    ENCODE_PARTS = 8,
    ENCODE_FLOATS = 128 << 10,      /* elements that are at hand at a time, and the longest row of what is made by rows */
    ENCODE_ROOM = 32 << 10          /* bytes of scratch memory */
};

struct encoder;
struct fused;

/* One tensor that a weight becomes. */
struct encode_part {
    const char *name;               /* name_len bytes, then a NUL; borrowed as the encoding is */
    uint32_t name_len;
    enum dtype dtype;
    struct shape shape;
    uint32_t grain;                 /* bytes that are made together; the last ones of the part may be fewer */
    uint32_t elems;                 /* elements of the weight that a grain is made of, one behind the other; 0: encode() reads */
    const uint8_t *bytes;           /* the part itself, where it depends on no element; else NULL */
};

/* The user's options for all weights. All members have one type, so that the struct has no padding: plan/fingerprint.c
 * hashes its bytes, and with them any member that is added. */
struct encode_options {
    uint64_t asymmetric, symmetric; /* neither: as the scheme has it by default */
    uint64_t group_size;            /* elements that share a scale; 0: as the scheme has it */
    uint64_t convrot;               /* ComfyUI: rotated by Hadamard matrices */
};
_Static_assert(sizeof(struct encode_options) == 4 * sizeof(uint64_t), "members of encode_options are uint64_t");

/* A weight, and what becomes of it. Lives as long as the catalog it is allocated of. */
struct encoding {
    const struct encoder *encoder;
    struct encode_options options;  /* that fit() was given; group_size and asymmetric as the scheme settled them */
    struct catalog *memory;
    struct tensor weight;           /* name, dtype and shape as it would be in the output; layout and extent mean nothing */
    uint64_t rows, cols;            /* of all its matrices: cols is its last dimension */
    unsigned nparts;
    struct encode_part *part;       /* nparts; while fit() runs there is room for ENCODE_PARTS */
    uint64_t nfacts;                /* floats that are known of it once it was surveyed; 0: encode() needs none */
    uint64_t nregions;              /* that can be surveyed alone */
    const float *importance;        /* of each column, not negative; or NULL. Borrowed */
    uint64_t matrix_rows;           /* of a matrix that has `importance` of its own, one behind the other; 0: all share it */
    size_t number;                  /* among the weights of the job that are encoded */
    size_t place;                   /* in the choice that it was of before parts took their places */
    const char *why;                /* of what does not fit: why it stays as it is; static */
    void *own;                      /* the encoder's own numbers */
    const struct fused *fused;      /* the weights whose facts are found together (plan/fused.h); NULL: it is alone. Borrowed */
};

/* What encode() and survey() are lent. */
struct encode_run {
    const struct kernels *kernels;
    /* Elements [first, first + count) of the weight, row-major, F64 rounded. What is no number is ERR_MALFORMED. */
    bool (*read)(void *of, uint64_t first, size_t count, float *x, struct err *err);
    void *of;
    const float *facts;             /* of encode(): what was surveyed */
    float *x;                       /* room for ENCODE_FLOATS; of a part with `elems` it holds the n elements of the grains, */
    size_t n;                       /* of which the last one of a weight may have fewer */
    /* NULL, or: told by the part that has the codes what was encoded, and the F32 that decoding makes of it: elements [first,
     * first + n), a multiple of 32 but at the end of a row or of the weight. */
    void (*compare)(void *of, uint64_t first, const float *x, const float *back, size_t n);
    float *back;                    /* room for ENCODE_FLOATS, where compare is not NULL */
    /* ENCODE_ROOM bytes of scratch memory, aligned for any type. Its contents mean nothing before and after a call. Buffers
     * go there, not on the stack of a worker, which is small (base/thread.h). */
    void *room;
};

enum encode_fit {
    ENCODE_NO,                      /* it stays as it is: e->why */
    ENCODE_YES,
    ENCODE_FAIL                     /* err */
};

struct encoder {
    const char *name;               /* "nf4": for --scheme and --to, never changes */
    const char *label;              /* "bitsandbytes NF4" */
    enum dtype type;                /* the block type that a weight becomes; DTYPE_UNKNOWN: it becomes parts of plain types */
    const void *numbers;            /* of the row: what its file tells rows apart by */

    /* Whether the encoder can take this weight: fills parts, nfacts, nregions, own. rows, cols, weight and importance are
     * set. Both are at least 1. */
    enum encode_fit (*fit)(struct encoding *e, const struct encode_options *options, struct err *err);

    /* NULL, or: write what is known of one region into its places of facts[0..nfacts), which were 0. */
    bool (*survey)(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err);
    /* NULL, or: once, when all regions are surveyed. */
    void (*settle)(const struct encoding *e, float *facts);
    bool stacks;                    /* it takes experts in one tensor of three dimensions, and so do its loaders */
    /* Loaders concatenate weights such as q_proj, k_proj and v_proj, and apply one scale to the result. Weights of such a group
     * are surveyed together: `facts` holds those of one weight after those of another, settle() is called once, with the sums of
     * nregions and nfacts, and leaves what encode() uses at its beginning. */
    bool fuses;
    /* NULL, or: a part's size or bytes depend on facts. Called before any output is laid out; facts go then. */
    bool (*survey_first)(struct encoding *e, const float *facts, struct err *err);

    /* Grains [first, first + count) of a part whose bytes are not known; y needs no alignment. With `elems` they need no more
     * than ENCODE_FLOATS elements, which are at run->x. */
    bool (*encode)(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count,
        uint8_t *y, struct err *err);
};

/* For fit(): one more part, called weight.name[0..base) and suffix, of these dimensions. NULL on failure. */
struct encode_part *encode_add_part(struct encoding *e, size_t base, const char *suffix, enum dtype dtype,
    const uint64_t *dim, uint32_t rank, struct err *err);

/* n bytes that live as long as the encoding. NULL on failure. */
void *encode_alloc(struct encoding *e, size_t n, struct err *err);

/* For fit(), of an encoder without zero points: true when the options ask for nothing that it has not; else ERR_USAGE.
 * `groups`: --group-size goes with it. */
bool encode_plain(const struct encoding *e, const struct encode_options *options, bool groups, struct err *err);

/* Length of the weight's name without ".weight". */
size_t encode_module(const struct encoding *e);

/* Bytes of a part. */
uint64_t encode_part_nbytes(const struct encode_part *part);

/* Encoder i of all, in the order of reports; NULL behind the last. */
const struct encoder *encode_at(size_t i);

/* Returns the encoder of a name in any case, or NULL: of two with one name, that of a block type if `blocks`. */
const struct encoder *encode_find(const char *name, bool blocks);

#endif
