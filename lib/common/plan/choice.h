/* Layer plan: which tensors an output has and what each is composed of, then its bytes in order, as pieces.
 * Knows no file format, no loader and no descriptor; reads no weight.
 * Begin here, with choice_make(); then composed.h and pieces.h. */

/* choice: the tensors of an output, in the order of their weights in the input, and what becomes of each. Names and
 * shapes only: where they lie in the output is up to a writer. */
#ifndef PLAN_CHOICE_H
#define PLAN_CHOICE_H

#include "base/err.h"
#include "base/names.h"
#include "catalog/catalog.h"
#include "encode/encode.h"
#include "encode/mix.h"
#include "plan/composed.h"
#include "scheme/roles.h"

/* An input tensor that is kept, a weight to decode, or a composed tensor: exactly one is not NULL. With an encoding,
 * what is encoded, and one part of that. */
struct chosen {
    const struct tensor *copy;
    const struct weight *decode;
    const struct composed *composed;    /* lives as long as the catalog */
    enum dtype dtype;           /* of its elements: in the output, or those that are encoded */
    unsigned part;
    struct encoding *encoding;  /* or NULL; borrowed */
    const char *why;            /* of what could have been encoded and is not; static, or NULL */
    uint32_t name_len;
    const char *name;           /* in the output, with a NUL behind it: borrowed from the choice. NULL: as in the input */
};

/* Zeroed: empty. Catalog and roles are borrowed. */
struct choice {
    const struct catalog *input;
    struct chosen *list;        /* n of them; owned. A writer may order them anew */
    size_t n;
    struct names names;         /* of tensors that are called otherwise than in the input; owned */
    size_t encoded;             /* weights that are encoded */
    const struct mix *mix;      /* the mix that their types are of, or NULL; static */
    struct mix_model model;     /* what keys of the output say of it that are none of the input; or no architecture */
    enum dtype matrices;        /* the type that all matrices are to have that are not encoded, or DTYPE_UNKNOWN */
    bool decodes;               /* some weight of the input is decoded, so that what speaks of quantization is no longer true */
};

/* All tensors but the companions, decoded weights as `to` (BF16, F16 or F32), and with `all` the other floats too (F64, F32,
 * F16, BF16). Everything must be decodable (ERR_UNSUPPORTED). Clear it also after a failure. */
bool choice_make(struct choice *choice, const struct catalog *input, const struct roles *roles, enum dtype to, bool all,
    struct err *err);
void choice_clear(struct choice *choice);

/* Whether all tensors of the output have names of their own; else ERR_USAGE, for it is the user who named them. */
bool choice_distinct(const struct choice *choice, struct err *err);

/* The same where it is not: a failure of this kind, that says `why`. */
bool choice_distinct_or(const struct choice *choice, enum err_kind kind, const char *why, struct err *err);

/* Bytes of all tensors together. One whose elements do not fill bytes is ERR_UNSUPPORTED, too many of them ERR_LIMIT. */
bool choice_nbytes(const struct choice *choice, uint64_t *nbytes, struct err *err);

/* The output tensor: name, dtype and shape. Its extent is that of what it is made of. */
struct tensor chosen_tensor(const struct chosen *chosen);

/* The same as if nothing were encoded. */
struct tensor chosen_source(const struct chosen *chosen);

#endif
