/* Layer scheme: recognises quantized weights and decodes them. It holds the engine and one file for each scheme. It does not
 * know containers, descriptors or outputs, opens no files and reads only what it is given. Start with this header; then
 * bnb8.c, a small scheme; table.h, the rows of all schemes; and roles.h, which finds the weights of a model.
 * doc/schemes.md has the tensors and formulas of every scheme. */

/* scheme: the parts of a quantized weight, and how a run of its elements is decoded.
 *
 * A scheme claims a weight and its companions by names, dtypes and shapes (and config.json) only. Decoding is a pure
 * function: it computes the bytes of elements [first, first + count) of the output from known byte ranges of each part, and
 * reads nothing else. Any block of an output can therefore be computed independently. A new scheme is a set of rows in one
 * file (see scheme/table.h; bnb8.c is an example), and its array in the list of table.c.
 */
#ifndef SCHEME_SCHEME_H
#define SCHEME_SCHEME_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "kernel/kernels.h"

enum { SCHEME_PARTS = 6, SCHEME_DETAIL = 160, SCHEME_WORD = 24 };

/* Bytes by which a run may start before the end of the previous one. */
enum { SCHEME_BACK = 32 << 10 };

struct scheme;
struct delta;
struct weight;

/* Why a weight is not decoded although its scheme is (siblings.c, declared.h). */
struct doubt {
    bool (*refuse)(const struct weight *w, struct err *err);    /* fails with ERR_UNSUPPORTED */
    const struct tensor *tensor;                                /* which raises it; borrowed */
};

struct weight {
    const struct scheme *scheme;
    const char *name;                           /* of the output tensor; borrowed */
    uint32_t name_len;
    bool shares;                                /* has a companion that other weights of its scheme use too */
    bool again;                                 /* runs of its codes go back by more than SCHEME_BACK: treat RUN as AGAIN */
    bool vague;                                 /* shape or numbers are unknown: ambiguous, or in contents that were not read */
    struct shape shape;                         /* of the output tensor; borrowed */
    const struct tensor *part[SCHEME_PARTS];    /* [0] the codes, then companions; NULL if absent */
    const struct delta *delta;                  /* a change of its elements (plan/delta.h), or NULL; borrowed */
    const struct doubt *doubt;                  /* or NULL; lives as long as the catalog */
    const void *own;                            /* the scheme's own numbers; live as long as the catalog */
};

/* The purpose of a tensor. */
enum role {
    ROLE_PLAIN,                 /* not quantized and not a companion */
    ROLE_WEIGHT,                /* the codes of a quantized weight */
    ROLE_SCALE,                 /* is multiplied: scales, absmax, pre_quant_scale */
    ROLE_ZERO_POINT,            /* is subtracted or added: zeros, biases, shifts */
    ROLE_G_IDX,                 /* maps elements to their scales: group indices, permutations */
    ROLE_CODEBOOK,              /* maps codes to values: maps, tables, centroids */
    ROLE_STATE,                 /* declares how the weight is packed: a quant_state, a marker */
    ROLE_SHAPE,                 /* holds the shape of the weight */
    ROLE_ACTIVATION             /* concerns activations or the KV cache; does not alter the weight */
};

/* Returns the name of a role in reports, for example "zero_point". */
const char *role_name(enum role role);

/* The numbers that a weight can hold: codes times scales. Encoders that move weights from one scheme to another without a
 * change of values start from the scales of the source. */
enum grid_codes {
    GRID_OTHER,                 /* no codes with one scale each */
    GRID_INT,                   /* (code - zero point) * scale */
    GRID_AFFINE,                /* code * scale + term */
    GRID_E2M1,
    GRID_FP8,
    GRID_NF4
};

struct weight_grid {
    enum grid_codes codes;
    uint32_t bits;
    uint64_t group;             /* neighbours in a row that share a scale; 0: no such number */
    enum dtype scale;           /* type of the scales: F32, F16, BF16, F8_E8M0 or F8_E4M3 */
    bool zeros;                 /* stores zero points */
    bool plus_zero;             /* E2M1 code 8 is +0 */
    bool divides, late;         /* `second` divides; it multiplies products that are rounded */
    bool exact;                 /* the product of code and scale is never rounded */
    const struct tensor *second;        /* scale of the whole weight, F32; or NULL */
    uint32_t over;                      /* divides `second` first; 0: nothing does */
    bool short_name;            /* the scales are called P.scale */
    const struct tensor *g_idx;         /* I32: the group of each column, if columns of a group are not neighbours; else NULL */
    uint64_t groups;                    /* of these; negative numbers in g_idx count from the end */
};

/* The bytes of a part that a run of output elements needs. */
enum need {
    NEED_NONE,
    NEED_RUN,                   /* one contiguous run of bytes, given by scheme->run, that starts after the previous run or
                                 * overlaps its last SCHEME_BACK bytes */
    NEED_AGAIN,                 /* like RUN, but later runs return to bytes of earlier runs, as with codes in planes */
    NEED_WHOLE,                 /* all of it: small; read once for a weight and shared */
    NEED_STRIP                  /* columns of a stored matrix for a band of output rows: scheme->strip */
};

/* Bytes [at, at + len) of a tensor's data; len 0: nothing. */
struct span {
    uint64_t at, len;
};

/* A part whose stored columns are output rows. It consists of `matrices` matrices of rows x units; a unit has unit_bytes
 * bytes and covers unit_rows output rows (8 for words of eight 4-bit codes packed across rows). A matrix has units *
 * unit_rows output rows. The unit_rows of each part of a weight divides the largest among them. */
struct strip {
    uint64_t matrices, rows, units;
    uint32_t unit_rows, unit_bytes;
};

/* The bytes of one part that decode() gets.
 *     RUN, AGAIN      p: the span                  stride 0, at: the span's `at`
 *     WHOLE           p: all of the tensor         stride 0
 *     STRIP           p: the `rows` units of the first output row of the run, consecutively; the units of the next
 *                     unit_rows output rows start `stride` bytes later
 */
struct part_bytes {
    const uint8_t *p;
    size_t stride;
    uint64_t at;
};

/* Elements [first, first + count) of a weight while they are decoded. */
struct decoding {
    const struct weight *w;
    const struct kernels *k;
    const struct part_bytes *in;        /* SCHEME_PARTS entries */
    uint64_t first, count;
    enum dtype to;                      /* BF16, F16, F32 */
    void *room;                         /* scheme->room bytes of scratch memory, aligned to 64 */
    bool plain;                         /* leave the scale of the whole weight out (kernel/hints.h) */
};

/* Returns the bytes of a RUN, AGAIN or WHOLE part from offset `at` of its tensor. */
static inline const uint8_t *
decoding_bytes(const struct decoding *d, unsigned part, uint64_t at)
{
    return d->in[part].p + (at - d->in[part].at);
}

/* Returns the bytes of a STRIP part for unit `i`, counted from the unit of the first output row. */
static inline const uint8_t *
decoding_unit(const struct decoding *d, unsigned part, uint64_t i)
{
    return d->in[part].p + i * d->in[part].stride;
}

/* Decodes all elements of d into y. */
void scheme_decode(const struct decoding *d, void *y);

/* Reads small tensors that define a weight (a quant_state blob, a shape tensor) for schemes that need them. read() copies
 * all t->extent.nbytes bytes of t into buf. */
struct contents {
    bool (*read)(void *of, const struct tensor *t, void *buf, struct err *err);
    void *of;
};

struct claims;              /* claims.h: what a scheme can see and take while it claims */
struct scheme_row;          /* table.h: a pattern of names, types and shapes */
struct table_match;         /* table.h: a candidate weight */

enum claim {
    CLAIM_NO,               /* not a weight of this scheme */
    CLAIM_YES,              /* *w is filled and the companions are taken */
    CLAIM_FAIL              /* a weight of this scheme, but invalid: err is set */
};

/* Return what weight w needs of its part p, and whether that is a RUN or AGAIN. */
enum need weight_need(const struct weight *w, unsigned p);
bool weight_has_run(const struct weight *w, unsigned p);

/* The places where a config declares how weights are stored (words.c). */
enum word_place {
    WORD_METHOD = 1, WORD_FORMAT, WORD_ALGO, WORD_PACKING, WORD_DATA_TYPE, WORD_PACK_METHOD, WORD_MODE, WORD_SEMANTICS,
    WORD_WEIGHTS_DTYPE, WORD_QUANT_TYPE,
    WORD_ENGINE,                /* a WORD_ALGO in a checkpoint of TensorRT-LLM, whose layouts differ from ModelOpt's */
    WORD_DESCRIPTION,           /* a value of ModelSlim's description file */
    WORD_PLACES
};

/* A word by which a config declares weights of a scheme. Case and '-' for '_' do not matter; '*' matches any characters. */
struct scheme_word_row {
    enum word_place place;
    const char *text;
};

struct scheme {
    const char *code;           /* "fp8", "gptq": for --input-scheme, never changes; NULL if no weight has the scheme */
    const char *name;           /* "FP8", "GGUF" ...: for reports and messages */
    const char *ask;            /* hint appended to a refusal: what input would decide; or NULL */
    const struct scheme_row *rows;      /* nrows rows, tried in turn */
    size_t nrows;
    bool follows;               /* the weights are biases, of no use without the stored form of the weight of their module */
    const struct scheme_word_row *words;           /* ends with an entry without text; or NULL */
    bool (*knows)(enum word_place place, const char *word);     /* for words that a rule describes; or NULL */

    /* Checks what a row matched, with w->part set, and sets w->own and whatever the row does not define. Returns false with
     * err set if something is wrong. May be NULL. */
    bool (*fit)(struct table_match *f, struct weight *w, struct err *err);

    /* Checks that all parts of the weights that the metadata of the file describes are there. Returns false with err set if one
     * is missing. Called once for a model, after all weights are claimed. May be NULL. */
    bool (*complete)(struct claims *c, struct err *err);

    /* By part. RUN and AGAIN parts require run(), STRIP parts strip(). Ignored for parts that a weight does not have. The
     * codes are not WHOLE. */
    enum need need[SCHEME_PARTS];

    /* Returns the bytes of part p (RUN or AGAIN, present) that elements [first, first + count) of the output need. If they
     * do not fit, the caller asks again for fewer elements; a single element needs few bytes. */
    void (*run)(struct span *span, const struct weight *w, unsigned p, uint64_t first, uint64_t count);

    /* Describes the layout of part p (STRIP, present). */
    void (*strip)(struct strip *strip, const struct weight *w, unsigned p);

    /* Bytes of scratch memory that decode() needs. Buffers go there and not on the stack of a worker, which is small
     * (base/thread.h). */
    size_t room;

    /* Decodes at most `count` elements from `at` into y and returns how many; `at` is the first element of the run in the
     * first call. If a weight has STRIP parts, a run stays within one band: rows that start at a multiple of the largest
     * unit_rows. NULL: the scheme is recognised but not decoded. */
    uint64_t (*decode)(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y);

    /* Writes the text that reports show after the name: "E4M3, 128x128 blocks", "Q4_K"; may be empty. */
    void (*describe)(const struct weight *w, char buf[SCHEME_DETAIL]);

    /* Writes what amn-forget --scheme calls this weight's variant of the scheme; leaves buf empty for a variant that it does
     * not write. NULL: the code is the name of all variants. */
    void (*variant)(const struct weight *w, char buf[SCHEME_WORD]);

    /* Describes the numbers that the weight can hold; g is zeroed. Decoding with the kernels of kernel/hints.h must then yield
     * its scales. NULL: GRID_OTHER. */
    void (*grid)(const struct weight *w, struct weight_grid *g);

    /* Makes another view of a weight whose blocks are not along its rows, with the dimensions in which they are; it lives as
     * long as the catalog. Returns NULL on failure. NULL: blocks are along the rows. */
    const struct weight *(*upright)(const struct weight *w, struct catalog *memory, struct err *err);
};

/* Describes the numbers that a weight can hold. */
void scheme_grid(const struct weight *w, struct weight_grid *g);

/* Writes the name of a weight's scheme for programs: the one of amn-forget --scheme if amn-forget can write it, else the
 * code. Returns buf. */
const char *scheme_word(const struct weight *w, char buf[SCHEME_WORD]);

/* Returns the i-th of the distinct codes of all schemes, in the order in which schemes are tried; NULL after the last. */
const char *scheme_code(size_t i);

/* Returns true if --input-scheme `name` means the scheme with this code: it is the code, a former code, or the name of a
 * variant. Case and '-' for '_' do not matter. */
bool scheme_is_called(const char *name, const char *code);

/* Checks that `name` is NULL or means a scheme. Otherwise fails with ERR_USAGE, naming the closest codes or all. */
bool scheme_known(const char *name, struct err *err);

#endif
