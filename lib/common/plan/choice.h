/* Layer plan: which tensors an output has and what each is composed of, then its bytes in order, as pieces.
 * Knows no file format, no loader and no descriptor; reads no weight.
 * Begin here, with choice_make(); then composed.h and pieces.h. */

/* choice: the tensors of an output, in the order of their weights in the input, and how each is made. Names and shapes only:
 * their offsets are decided by a writer. */
#ifndef PLAN_CHOICE_H
#define PLAN_CHOICE_H

#include "base/err.h"
#include "base/names.h"
#include "catalog/catalog.h"
#include "encode/encode.h"
#include "encode/mix.h"
#include "plan/composed.h"
#include "scheme/roles.h"

/* An input tensor that is copied, a weight to decode, or a composed tensor: exactly one is not NULL. If `encoding` is set,
 * this is what gets encoded, and the entry is one part of the result. */
struct chosen {
    const struct tensor *copy;
    const struct weight *kept;          /* the quantized weight that `copy` belongs to and that stays as it is stored; or NULL */
    const struct weight *decode;
    const struct composed *composed;    /* valid as long as the catalog */
    enum dtype dtype;           /* type of the elements in the output, or, if encoded, of those given to the encoder */
    unsigned part;
    struct encoding *encoding;  /* or NULL; borrowed */
    bool typed;                 /* the user gave it a type by name: it is not encoded */
    bool same;                  /* kept, because it has the wanted type already */
    const struct encoding *stored;      /* if same: the encoding that the stored weight has; NULL for block types. Borrowed */
    const char *why;            /* reason why a candidate was not encoded; static, or NULL */
    const char *rule;           /* what gave an encoded tensor another type than the mix has; static, or NULL */
    uint32_t name_len;
    const char *name;           /* name in the output, NUL-terminated, borrowed from the choice. NULL: the input's name */
};

struct naming;

/* Zeroed: empty. Catalog and roles are borrowed. */
struct choice {
    const struct catalog *input;
    const struct roles *roles;
    struct chosen *list;        /* n of them; owned. A writer may reorder them */
    size_t n;
    struct names names;         /* new names of renamed tensors; owned */
    size_t encoded;             /* number of weights that are encoded */
    size_t same;                /* number of weights that are copied because they have the wanted type already */
    size_t dropped;             /* number of tensors that naming_apply() left out, except those that no model needs, and: */
    struct tensor first_dropped;        /* the first of them */
    const struct mix *mix;      /* the mix that chose the types, or NULL; static */
    struct mix_model model;     /* what the output's metadata declares about the model and the input's does not; or no
                                 * architecture */
    enum dtype matrices;        /* type of all matrices that are not encoded, or DTYPE_UNKNOWN */
    bool restored;              /* tensors have the shapes that keys of the input say, which no longer apply */
    bool decodes;               /* no quantized weight is kept and one is decoded: metadata about the input's quantization no
                                 * longer applies */
};

/* Selects all tensors except the companions of weights that are decoded. Weights that the output keeps are copied with their
 * companions; all other weights are decoded to `to` (BF16, F16 or F32), and with `all` the plain floats (F64, F32, F16, BF16) are
 * converted too. Fails with ERR_UNSUPPORTED if a weight cannot be decoded. Clear the choice also after a failure. */
bool choice_make(struct choice *choice, const struct catalog *input, const struct roles *roles, enum keeps keeps, enum dtype to,
    bool all, struct err *err);

/* How a choice is made if the user selects tensors by name; names are those of the input. Borrowed, and NULL: all, or none. */
struct choice_how {
    enum keeps keeps;           /* quantized weights that stay, of those that are selected */
    enum keeps others;          /* of the others, none of which is decoded */
    enum dtype to;
    bool all;
    const struct naming *written;       /* the tensors that naming_apply() will not leave out: others need not be decodable */
    const struct naming *selected;      /* the tensors that change */
    const struct naming *types;         /* those that get a type, selected or not: their weights are decoded */
};

/* Like choice_make(). Fails with ERR_USAGE if a weight that is not selected cannot be kept. */
bool choice_make_of(struct choice *choice, const struct catalog *input, const struct roles *roles, const struct choice_how *how,
    struct err *err);

/* Gives floats the types that the user chose by name, after naming_check(). Fails with ERR_USAGE if none gets one. */
bool choice_type(struct choice *choice, const struct naming *types, struct err *err);

/* Gives the selected matrices of a family's choice another type. */
void choice_cast(struct choice *choice, const struct naming *selected, enum dtype to);
void choice_clear(struct choice *choice);

/* Appends a tensor; copied. */
bool choice_append(struct choice *choice, const struct chosen *chosen, struct err *err);

/* Checks that no two output tensors share a name. ERR_USAGE, because only the user's options can cause this. */
bool choice_distinct(const struct choice *choice, struct err *err);

/* Like choice_distinct(), but fails with the given kind and says `why`. */
bool choice_distinct_or(const struct choice *choice, enum err_kind kind, const char *why, struct err *err);

/* Sums the bytes of all tensors. Fails with ERR_UNSUPPORTED if the elements of one do not fill whole bytes, with ERR_LIMIT
 * on overflow. */
bool choice_nbytes(const struct choice *choice, uint64_t *nbytes, struct err *err);

/* Returns the output tensor: name, dtype and shape. It has the extent of its source. */
struct tensor chosen_tensor(const struct chosen *chosen);

/* Returns the output tensor as it would be without encoding. */
struct tensor chosen_source(const struct chosen *chosen);

/* Returns true if is() is true for the names of all input tensors or weights that an entry is made from, and there is one. */
bool chosen_all_stored(const struct chosen *chosen, bool (*is)(const void *of, const struct tensor *t), const void *of);

/* Returns true if the entry is a quantized weight, or is composed of such. */
bool chosen_is_quantized(const struct chosen *chosen);

/* Returns the encoding if the tensor is the first part of an encoded weight, else NULL: each encoded weight once. */
const struct encoding *chosen_weight(const struct chosen *chosen);

#endif
