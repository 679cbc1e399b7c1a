/* pieces: every byte of an output, as runs of one kind, in order and without a gap. A writer lays them out; the pipeline
 * cuts them into blocks and knows no container.
 */
#ifndef PLAN_PIECES_H
#define PLAN_PIECES_H

#include "base/str.h"
#include "plan/choice.h"

enum piece_kind {
    PIECE_TEXT,                 /* bytes in memory: a header */
    PIECE_COPY,                 /* an input tensor, row-major and little-endian whatever its layout */
    PIECE_VIEW,                 /* the same of one whose matrices are transposed */
    PIECE_DECODE,               /* elements of a weight */
    PIECE_COMPOSED,             /* parts of tensors or weights put together */
    PIECE_ENCODE,               /* a part that a weight becomes */
    PIECE_ZERO,                 /* padding */
    PIECE_LATE                  /* what is known once everything before it has been made: a checksum, a directory */
};

/* Stored matrices that are transposed: matrices times cols x rows units come out. The layout of the tensor is not looked
 * at. */
struct piece_view {
    const struct tensor *tensor;
    uint64_t matrices, rows, cols;      /* as stored, in units */
    uint32_t unit;                      /* elements that stay side by side */
    const struct layout *order;         /* which stored row each unit of an output row is of; NULL: one behind the other */
};

/* Makes bytes [from, from + n) of a LATE piece; called in turn, when the hooks have seen all that is before them. */
struct late {
    void (*make)(void *of, uint64_t from, uint8_t *y, size_t n);
    void *of;
};

#define PIECE_NOWHERE UINT64_MAX

struct encoded;
struct built;

struct piece {
    enum piece_kind kind;
    enum dtype to;              /* of the elements of a COPY, VIEW, DECODE or COMPOSED: a COPY or VIEW is cast when it has another */
    uint64_t at, nbytes;        /* in the output, or PIECE_NOWHERE; nbytes may be 0 */
    const char *name;           /* of a tensor that is called otherwise than in the input: as struct chosen has it */
    uint32_t name_len;
    union {
        const char *text;               /* TEXT: owned by the pieces */
        const struct tensor *tensor;    /* COPY */
        const struct piece_view *view;        /* VIEW: owned by the pieces */
        const struct weight *weight;    /* DECODE */
        const struct built *built;      /* COMPOSED: owned by the pieces */
        const struct encoded *encoded;  /* ENCODE: owned by the pieces */
        const struct late *late;        /* LATE: borrowed */
    } of;
};

/* A composed tensor and, for each part, a COPY, VIEW or DECODE of all elements of its source: in the type of the whole, or F32
 * where there are operations. */
struct built {
    const struct composed *composed;    /* borrowed */
    struct piece *part[];               /* composed->n of them */
};

/* The elements of a weight, as a COPY, VIEW, DECODE or COMPOSED that is not a piece of the output, and how they are encoded. The
 * pieces of its parts have one `elements` together. */
struct encoded {
    const struct piece *elements;
    const struct piece *const *fused;   /* those of all weights of encoding->fused, in its order; or NULL */
    struct encoding *encoding;  /* borrowed */
    unsigned part;
    bool first;                 /* of these: frees them */
};

/* Something that sees the output in order, whoever makes it and however it is written. */
struct hook {
    /* Out of turn, by the thread that made bytes [at, at + n) of the output: what can be computed of them alone. NULL:
     * nothing, 0. */
    uint64_t (*digest)(void *of, uint64_t at, const uint8_t *p, size_t n);
    /* In turn: the same bytes, and their digest. */
    void (*see)(void *of, uint64_t at, const uint8_t *p, size_t n, uint64_t digest);
    void *of;
};
enum { PIECES_HOOKS = 4 };      /* of a writer, or of a job */

struct pieces;

struct pieces *pieces_new(struct err *err);             /* NULL on failure */
void pieces_free(struct pieces *p);                     /* takes NULL */

/* Append a piece. All together have less than 2^63 bytes: else ERR_LIMIT. */
bool pieces_text(struct pieces *p, struct str *text, struct err *err);      /* takes the text, and clears it */
bool pieces_chosen(struct pieces *p, const struct chosen *chosen, struct err *err);     /* COPY to ENCODE */
bool pieces_view(struct pieces *p, const struct piece_view *view, struct err *err);           /* copied */
bool pieces_zero(struct pieces *p, uint64_t nbytes, struct err *err);
bool pieces_late(struct pieces *p, const struct late *late, uint64_t nbytes, struct err *err);

/* Something of a writer's that its hooks and LATE pieces use: freed together with the pieces. One at most. */
void pieces_own(struct pieces *p, void *of, void (*free_of)(void *of));

/* What the writer needs to see for its LATE pieces; copied. At most PIECES_HOOKS. */
void pieces_hook(struct pieces *p, const struct hook *hook);
size_t pieces_hooks(const struct pieces *p, const struct hook **hooks);

uint64_t pieces_nbytes(const struct pieces *p);
size_t pieces_count(const struct pieces *p);
const struct piece *pieces_at(const struct pieces *p, size_t i);

/* The piece that holds byte `at` of the output, which is below pieces_nbytes(). */
size_t pieces_find(const struct pieces *p, uint64_t at);

/* A piece of all elements of what is chosen, encoded or not, outside of any output. NULL on failure. */
struct piece *piece_elements(const struct chosen *chosen, struct err *err);
void piece_free(struct piece *piece);                   /* takes NULL */

/* The next byte from `at` on that belongs to a LATE piece, or UINT64_MAX. */
uint64_t pieces_next_late(const struct pieces *p, uint64_t at);

/* Whether bytes [from, to) can be made alone: a LATE piece needs all that is before it. Else ERR_UNSUPPORTED. */
bool pieces_can_make(const struct pieces *p, uint64_t from, uint64_t to, struct err *err);

/* Part i, below SCHEME_PARTS, of what a piece is made of: its tensor, or one of its weight; NULL when there is none. A COMPOSED
 * has none itself, but each of the pieces that it is put together of. */
const struct tensor *piece_input(const struct piece *piece, unsigned i);

/* Returns the i-th piece that a piece, or what it encodes, is put together of: of one that is not COMPOSED itself, once; then those
 * of the other weights in its fused group. NULL after the last. */
const struct piece *piece_component(const struct piece *piece, size_t i);

/* The part that an ENCODE is. */
const struct encode_part *encoded_part(const struct piece *piece);

/* The output tensor that a piece is; false of a header, padding and the like. */
bool piece_output(struct tensor *t, const struct piece *piece);

#endif
