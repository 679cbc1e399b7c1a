/* scheme: what a quantized weight is made of, and how a run of its elements is decoded.
 *
 * A scheme looks only at names, dtypes, shapes (and config.json) when it claims a weight and its companions.
 * Decoding is a pure function: elements [first, first + count) of the output need these bytes of each part,
 * and become these bytes. Nothing else is read, so any block of an output can be made alone.
 * A new scheme is one row in the table of roles.c and one file.
 */
#ifndef SCHEME_SCHEME_H
#define SCHEME_SCHEME_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "kernel/kernels.h"

enum { SCHEME_PARTS = 5, SCHEME_FACTS = 9, SCHEME_DETAIL = 96 };

struct scheme;

struct weight {
    const struct scheme *scheme;
    const char *name;                           /* of the output tensor; borrowed */
    uint32_t name_len;
    struct shape shape;                         /* of the output tensor; borrowed */
    const struct tensor *part[SCHEME_PARTS];    /* [0] the codes, then companions; NULL when absent */
    uint64_t fact[SCHEME_FACTS];                /* the scheme's own numbers, named in its file */
    bool shares;                                /* a companion with other weights of its scheme */
    bool vague;                                 /* shape and facts hide in contents that were not read */
};

/* Bytes of one part that a run of elements needs: `count` pieces of `len` bytes, `stride` bytes apart, from
 * byte `at` of the tensor's data. They arrive back to back. count 0: nothing. */
struct span {
    uint64_t at, len, stride, count;
};

/* Where a scheme may read the bytes of a small tensor that says what the weight is (a quant_state blob, a
 * shape tensor). All of t, t->extent.nbytes. */
struct contents {
    bool (*read)(void *of, const struct tensor *t, void *buf, struct err *err);
    void *of;
};

struct claims;              /* claims.h: what a scheme may see and take while it claims */
struct pattern;             /* recognised.h */

enum claim {
    CLAIM_NO,               /* not a weight of this scheme */
    CLAIM_YES,              /* *w is filled, the companions are taken */
    CLAIM_FAIL              /* it is one, and something is wrong: err is set */
};

struct scheme {
    const char *name;                   /* "FP8", "GGUF" ...: for reports and messages */
    const struct pattern *pattern;      /* of a scheme that is only recognised; else NULL */

    /* Whether `codes`, which nobody has claimed yet, is a weight of this scheme. */
    enum claim (*claim)(const struct scheme *self, struct claims *c, const struct tensor *codes,
        struct weight *w, struct err *err);

    /* Bytes of part p needed for elements [first, first + count) of the output. */
    void (*span)(struct span *span, const struct weight *w, unsigned p, uint64_t first, uint64_t count);

    /* Decode those elements into y as `to` (BF16, F16, F32). in[p] holds the span of part p; it is scratch.
     * NULL: the scheme is recognised, not decoded yet. */
    void (*decode)(const struct weight *w, const struct kernels *k, uint8_t *const in[SCHEME_PARTS],
        uint64_t first, uint64_t count, enum dtype to, void *y);

    /* What reports say behind the name: "E4M3, 128x128 blocks", "Q4_K". */
    void (*describe)(const struct weight *w, char buf[SCHEME_DETAIL]);
};

#endif
