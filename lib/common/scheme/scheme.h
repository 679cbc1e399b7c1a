/* Layer scheme: how a quantized weight is recognised and decoded: the engine, and one file for each scheme.
 * Knows no container, no descriptor and no output; opens nothing, and reads what it is given.
 * Begin here; then bnb8.c, a small scheme, table.h, the rows of all, and roles.h, which finds the weights of a model. */

/* scheme: what a quantized weight is made of, and how a run of its elements is decoded.
 *
 * A scheme looks only at names, dtypes, shapes (and config.json) when it claims a weight and its companions.
 * Decoding is a pure function: elements [first, first + count) of the output need these bytes of each part,
 * and become these bytes. Nothing else is read, so any block of an output can be made alone.
 * A new scheme is rows in one file (scheme/table.h), which bnb8.c shows, and its array in the list of table.c.
 */
#ifndef SCHEME_SCHEME_H
#define SCHEME_SCHEME_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "kernel/kernels.h"

enum { SCHEME_PARTS = 6, SCHEME_DETAIL = 96 };

/* Bytes that a run may go back behind the end of the one before. */
enum { SCHEME_BACK = 4096 };

struct scheme;

struct weight {
    const struct scheme *scheme;
    const char *name;                           /* of the output tensor; borrowed */
    uint32_t name_len;
    bool shares;                                /* a companion with other weights of its scheme */
    bool again;                                 /* runs of its codes go back by more than SCHEME_BACK: RUN is AGAIN */
    bool vague;                                 /* shape and numbers hide in contents that were not read */
    struct shape shape;                         /* of the output tensor; borrowed */
    const struct tensor *part[SCHEME_PARTS];    /* [0] the codes, then companions; NULL when absent */
    const void *own;                            /* the scheme's own numbers; live as long as the catalog */
};

/* What a tensor is for. */
enum role {
    ROLE_PLAIN,                 /* itself: nobody's companion, and not quantized */
    ROLE_WEIGHT,                /* the codes of a quantized weight */
    ROLE_SCALE,                 /* multiplies: scales, absmax, pre_quant_scale */
    ROLE_ZERO_POINT,            /* is subtracted or added: zeros, biases, shifts */
    ROLE_G_IDX,                 /* where an element's scale is: group indices, permutations */
    ROLE_CODEBOOK,              /* what codes stand for: maps, tables, centroids */
    ROLE_STATE,                 /* says how the weight is packed: a quant_state, a marker */
    ROLE_SHAPE,                 /* says the shape of the weight */
    ROLE_ACTIVATION             /* about activations or the KV cache; does not alter the weight */
};

/* The word of reports for a role: "zero_point". */
const char *role_name(enum role role);

/* What a run of output elements needs of a part. */
enum need {
    NEED_NONE,
    NEED_RUN,                   /* one contiguous run of its bytes, behind the one before, but for SCHEME_BACK bytes:
                                 * scheme->run says which */
    NEED_AGAIN,                 /* the same, but runs come back to bytes that others had: of codes in planes */
    NEED_WHOLE,                 /* all of it: small; read once for a weight and shared */
    NEED_STRIP                  /* columns of a stored matrix for a band of output rows: scheme->strip */
};

/* Bytes [at, at + len) of a tensor's data; len 0: nothing. */
struct span {
    uint64_t at, len;
};

/* A part whose stored columns are output rows: `matrices` times a matrix of rows x units, a unit unit_bytes long and
 * good for unit_rows rows of the output (words of eight 4-bit codes packed across rows: 8). All output rows of a matrix
 * together have units * unit_rows rows; unit_rows of the parts of a weight divide the largest of them. */
struct strip {
    uint64_t matrices, rows, units;
    uint32_t unit_rows, unit_bytes;
};

/* The bytes of one part that decode() gets.
 *   RUN, AGAIN      p: the span                  stride 0, at: that of the span
 *   WHOLE           p: all of the tensor         stride 0
 *   STRIP           p: the `rows` units, one behind the other, of the first output row of the run; those of the next
 *                   unit_rows output rows are stride bytes on */
struct part_bytes {
    const uint8_t *p;
    size_t stride;
    uint64_t at;
};

/* Elements [first, first + count) of a weight while they are decoded. */
struct decoding {
    const struct weight *w;
    const struct kernels *k;
    const struct part_bytes *in;        /* SCHEME_PARTS of them */
    uint64_t first, count;
    enum dtype to;                      /* BF16, F16, F32 */
    void *room;                         /* scheme->room bytes of scratch memory, at a multiple of 64 */
};

/* The bytes of a RUN, AGAIN or WHOLE part from offset `at` of its tensor on. */
static inline const uint8_t *
decoding_bytes(const struct decoding *d, unsigned part, uint64_t at)
{
    return d->in[part].p + (at - d->in[part].at);
}

/* Those of a STRIP part for unit `i`, counted from that of the first output row. */
static inline const uint8_t *
decoding_unit(const struct decoding *d, unsigned part, uint64_t i)
{
    return d->in[part].p + i * d->in[part].stride;
}

/* Decodes all of them into y. */
void scheme_decode(const struct decoding *d, void *y);

/* Where a scheme may read the bytes of a small tensor that says what the weight is (a quant_state blob, a
 * shape tensor). All of t, t->extent.nbytes. */
struct contents {
    bool (*read)(void *of, const struct tensor *t, void *buf, struct err *err);
    void *of;
};

struct claims;              /* claims.h: what a scheme may see and take while it claims */
struct scheme_row;                 /* table.h: what its weights look like */
struct table_match;               /* table.h: a weight while it is looked at */

enum claim {
    CLAIM_NO,               /* not a weight of this scheme */
    CLAIM_YES,              /* *w is filled, the companions are taken */
    CLAIM_FAIL              /* it is one, and something is wrong: err is set */
};

/* What weight w needs of its part p, and whether that is a run. */
enum need weight_need(const struct weight *w, unsigned p);
bool weight_has_run(const struct weight *w, unsigned p);

struct scheme {
    const char *code;           /* "fp8", "gptq": for programs and --scheme, never changes; NULL: it has no weights */
    const char *name;           /* "FP8", "GGUF" ...: for reports and messages */
    const char *ask;            /* what a refusal adds: what could tell more; or NULL */
    const struct scheme_row *rows;     /* nrows of them, tried in turn */
    size_t nrows;

    /* NULL, or whether what a row found fits, with w->part set: sets w->own and whatever else the row did not say.
     * Anything that is wrong: false, and err is set. */
    bool (*fit)(struct table_match *f, struct weight *w, struct err *err);

    /* By part; RUN and AGAIN parts have a run(), STRIP parts a strip(). A part that a weight lacks is needed by none.
     * The codes are not WHOLE. */
    enum need need[SCHEME_PARTS];

    /* Bytes of part p, a RUN or AGAIN that is there, needed for elements [first, first + count) of the output. Where
     * they do not fit it is asked for fewer elements; one alone needs few bytes. */
    void (*run)(struct span *span, const struct weight *w, unsigned p, uint64_t first, uint64_t count);

    /* How part p, a STRIP that is there, lies. */
    void (*strip)(struct strip *strip, const struct weight *w, unsigned p);

    /* Bytes of scratch memory that decode() is lent for a run. Buffers go there, not on the stack of a worker, which is
     * small (base/thread.h). */
    size_t room;

    /* Decodes some elements from `at` on, at most `count`, into y, and returns how many; the first call of a run has `at` at
     * its first. Of a weight with STRIP parts a run lies in one band: rows that begin at a multiple of the largest
     * unit_rows. NULL: recognised, not decoded yet. */
    uint64_t (*decode)(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);

    /* What reports say behind the name: "E4M3, 128x128 blocks", "Q4_K"; or nothing. */
    void (*describe)(const struct weight *w, char buf[SCHEME_DETAIL]);
};

/* The codes of all schemes, each once, in the order in which they are tried; NULL behind the last. */
const char *scheme_code(size_t i);

/* Whether `code` is one of them in any case, or NULL; else ERR_USAGE, which names the nearest, or all. */
bool scheme_known(const char *code, struct err *err);

#endif
