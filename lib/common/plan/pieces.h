/* pieces: every byte of an output, as runs of one kind, in order and without gaps. A writer lays them out; the pipeline cuts
 * them into blocks and knows no container. */
#ifndef PLAN_PIECES_H
#define PLAN_PIECES_H

#include "base/str.h"
#include "plan/choice.h"
#include "plan/delta.h"

enum piece_kind {
    PIECE_TEXT,                 /* bytes in memory: a header */
    PIECE_COPY,                 /* an input tensor, row-major and little-endian whatever its layout */
    PIECE_VIEW,                 /* an input tensor whose matrices are transposed on the way */
    PIECE_DECODE,               /* elements of a weight */
    PIECE_REPACK,               /* quantized data in another arrangement; only as part of a COMPOSED */
    PIECE_COMPOSED,             /* several tensors or weights put together */
    PIECE_ENCODE,               /* one part of an encoded weight */
    PIECE_ZERO,                 /* padding */
    PIECE_LATE                  /* bytes known only once everything before them was made: a checksum, a directory */
};

/* Stored matrices to transpose: the output is `matrices` matrices of cols x (rows * units). The tensor's own layout is
 * ignored. */
struct piece_view {
    const struct tensor *tensor;
    uint64_t matrices, rows, cols;      /* as stored, counted in units */
    uint32_t unit;                      /* elements that stay adjacent */
    const struct layout *order;         /* the stored row of each unit of an output row; NULL: consecutive rows */
};

/* Makes bytes [from, from + n) of a LATE piece. Called in order, after the hooks have seen all bytes before them. */
struct late {
    void (*make)(void *of, uint64_t from, uint8_t *y, size_t n);
    void *of;
};

#define PIECE_NOWHERE UINT64_MAX

struct encoded;
struct built;

struct piece {                  /* 40 bytes: there is one for each tensor */
    enum piece_kind kind : 8;
    enum dtype to : 16;         /* type of the elements of a COPY, VIEW, DECODE or COMPOSED; a COPY or VIEW whose source has
                                 * another type is cast */
    uint32_t name_len;          /* of `name` */
    uint64_t at, nbytes;        /* offset in the output, or PIECE_NOWHERE; nbytes may be 0 */
    const char *name;           /* name of a renamed tensor, as in struct chosen */
    union {
        const char *text;               /* TEXT: owned by the pieces */
        const struct tensor *tensor;    /* COPY */
        const struct piece_view *view;        /* VIEW: owned by the pieces */
        const struct weight *weight;    /* DECODE */
        const struct repack *repack;    /* REPACK: borrowed */
        const struct built *built;      /* COMPOSED: owned by the pieces */
        const struct encoded *encoded;  /* ENCODE: owned by the pieces */
        const struct late *late;        /* LATE: borrowed */
    } of;
};

/* A composed tensor and, for each part, a COPY, VIEW, DECODE or REPACK of all elements of its source: in the type of the
 * whole, or in F32 if the part has operations. */
struct built {
    const struct composed *composed;    /* borrowed */
    struct piece *part[];               /* composed->n of them */
};

/* The elements of a weight, as a COPY, VIEW, DECODE or COMPOSED that is not itself a piece of the output, and how they are
 * encoded. The pieces of its parts share one `elements`. */
struct encoded {
    const struct piece *elements;
    const struct piece *wide;           /* the same in F32, if a delta changes them and they are of a narrower type; or NULL */
    const struct piece *const *fused;   /* the pieces of all weights of encoding->fused, in its order; or NULL */
    struct encoding *encoding;  /* borrowed */
    unsigned part;
    bool first;                 /* number of pieces that share this; the last one frees it */
};

/* A hook sees the output in order, independent of how it is made and written. */
struct hook {
    /* Called out of order, by the thread that made bytes [at, at + n) of the output: computes whatever depends on these
     * alone. NULL: nothing to compute, the digest is 0. */
    uint64_t (*digest)(void *of, uint64_t at, const uint8_t *p, size_t n);
    /* Called in order, with the same bytes and their digest. */
    void (*see)(void *of, uint64_t at, const uint8_t *p, size_t n, uint64_t digest);
    /* Called instead of see() for an output that is not made in order, with the digest of n bytes and the number of bytes after
     * them. NULL: such an output has to be made in order. */
    void (*join)(void *of, size_t n, uint64_t after, uint64_t digest);
    void *of;
};
enum { PIECES_HOOKS = 4 };      /* hooks of a writer, and hooks of a job */

struct pieces;

struct pieces *pieces_new(struct err *err);             /* NULL on failure */
void pieces_free(struct pieces *p);                     /* accepts NULL */

/* Appends a piece. Fails with ERR_LIMIT if the total reaches 2^63 bytes. */
bool pieces_text(struct pieces *p, struct str *text, struct err *err);      /* takes ownership of the text, and clears it */
bool pieces_chosen(struct pieces *p, const struct chosen *chosen, struct err *err);     /* COPY to ENCODE */
bool pieces_view(struct pieces *p, const struct piece_view *view, struct err *err);           /* copied */
bool pieces_zero(struct pieces *p, uint64_t nbytes, struct err *err);
bool pieces_late(struct pieces *p, const struct late *late, uint64_t nbytes, struct err *err);

/* Sets data of the writer that its hooks and LATE pieces use; freed together with the pieces. At most one. */
void pieces_own(struct pieces *p, void *of, void (*free_of)(void *of));

/* Adds a hook that the writer needs for its LATE pieces; copied. At most PIECES_HOOKS. */
void pieces_hook(struct pieces *p, const struct hook *hook);
size_t pieces_hooks(const struct pieces *p, const struct hook **hooks);

uint64_t pieces_nbytes(const struct pieces *p);
size_t pieces_count(const struct pieces *p);
const struct piece *pieces_at(const struct pieces *p, size_t i);

/* Returns the piece that holds byte `at` of the output, which must be below pieces_nbytes(). */
size_t pieces_find(const struct pieces *p, uint64_t at);

/* Returns a piece of all elements of a chosen tensor, encoded or not, outside of any output. NULL on failure. */
struct piece *piece_elements(const struct chosen *chosen, struct err *err);
void piece_free(struct piece *piece);                   /* accepts NULL */

/* Returns the first byte at or after `at` that belongs to a LATE piece, or UINT64_MAX. */
uint64_t pieces_next_late(const struct pieces *p, uint64_t at);

/* Checks that bytes [from, to) can be made on their own: a LATE piece needs everything before it. ERR_UNSUPPORTED. */
bool pieces_can_make(const struct pieces *p, uint64_t from, uint64_t to, struct err *err);

/* Returns the bytes of an element of a piece that consists of elements, or of a unit of repacked data. */
size_t piece_size(const struct piece *piece);

/* Returns source i, below SCHEME_PARTS, of a piece: its tensor, or one part of its weight; NULL if there is none. A COMPOSED
 * piece has no sources itself, only the pieces that it consists of have. */
const struct tensor *piece_input(const struct piece *piece, unsigned i);

/* Returns the delta of the source of a COPY, VIEW or DECODE, which changes its elements before they are rounded to piece->to; or
 * NULL. */
const struct delta *piece_delta(const struct piece *piece);

/* Returns the i-th piece that a piece, or the elements it encodes, consists of: if it is not COMPOSED, itself, once; then
 * the pieces of the other weights in its fused group. NULL after the last. */
const struct piece *piece_component(const struct piece *piece, size_t i);

/* Returns the part that an ENCODE piece holds. */
const struct encode_part *encoded_part(const struct piece *piece);

/* Gets the output tensor of a piece; returns false for a header, padding and the like. */
bool piece_output(struct tensor *t, const struct piece *piece);

#endif
