/* roles: the role of each tensor of a model: quantized weight, companion of one, or plain. */
#ifndef SCHEME_ROLES_H
#define SCHEME_ROLES_H

#include "scheme/scheme.h"

struct roles;

/* How the user wants a model to be read. */
enum { ROLES_ALLOWED = 16 };
struct roles_options {
    const char *scheme;                 /* the code of the scheme that ambiguous weights have, or NULL; borrowed */
    const char *const *allowed;         /* globs of tensors that may be beside quantized weights (siblings.c); borrowed */
    size_t nallowed;                    /* at most ROLES_ALLOWED */
};

/* Finds the quantized weights of a sealed catalog and assigns their companions to them.
 *
 * `contents` reads small tensors for the schemes that need them. With NULL only headers are used, and the weights of such
 * schemes stay vague. `options` may be NULL. The catalog is borrowed and may get warnings.
 *
 * Fails with ERR_MALFORMED if a companion is missing, has a wrong shape or dtype, is claimed twice or has no weight; with
 * ERR_USAGE if no weight is of the given scheme, or a glob matches nothing. A scheme that is recognised but not decoded is not an error here; see
 * roles_decodable.
 */
bool roles_assign(struct roles **roles, struct catalog *catalog, const struct roles_options *options,
    const struct contents *contents, struct err *err);
void roles_free(struct roles *roles);                   /* takes NULL */

size_t roles_weight_count(const struct roles *roles);
const struct weight *roles_weight(const struct roles *roles, size_t i);

/* Returns the weight whose codes are tensor i of the catalog, or NULL. */
const struct weight *roles_weight_of(const struct roles *roles, size_t i);
/* Return the role of tensor i, and the weight that it is the codes or a companion of (NULL for a plain tensor). */
enum role roles_role(const struct roles *roles, size_t i);
const struct weight *roles_owner(const struct roles *roles, size_t i);
/* Returns true if tensor i is a companion and therefore not written to the output. */
bool roles_is_companion(const struct roles *roles, size_t i);

/* Returns true if an output can hold the weight as it is stored: not if its length is unknown, its blocks are big-endian or
 * its elements change. */
bool roles_is_kept(const struct weight *w, enum keeps keeps);

/* The weights that an output leaves out. */
struct roles_left_out {
    bool (*is)(const void *of, const struct weight *w);
    const void *of;
};

/* Fails with ERR_UNSUPPORTED if a weight that is neither kept nor left out cannot be decoded, naming the weight and its
 * scheme, if a tensor beside it is no known part of it, if its shapes contradict config.json, or if the weights of the model
 * are rotated and one is decoded, or none can be kept. left_out: NULL for none. */
bool roles_decodable(const struct roles *roles, enum keeps keeps, const struct roles_left_out *left_out, struct err *err);

#endif
