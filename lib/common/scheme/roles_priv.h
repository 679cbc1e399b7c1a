/* roles_priv: what the files share that assign roles. */
#ifndef SCHEME_ROLES_PRIV_H
#define SCHEME_ROLES_PRIV_H

#include "scheme/claims.h"
#include "scheme/roles.h"
#include "scheme/words.h"

struct roles {
    struct weight *weights;
    size_t nweights, room;
    uint32_t *owner;            /* for each tensor: 1 + index of its weight, or 0 */
    uint8_t *role;              /* for each tensor: enum role */
    const struct catalog *catalog;
    struct words words;         /* of the configs */
    const char *rotated;        /* the key or suffix that shows that the weights are rotated (rotation.c), or NULL */
};

/* --- the steps after all schemes have claimed their weights, each in a file of its name */

/* Checks, after all schemes have claimed their weights, that no tensor of a described weight is missing, and that each weight is of a
 * scheme of its word. Fails as claims_missing() does. Without a description file, or with --input-scheme, does nothing. */
bool described_check(const struct claims *c, struct err *err);

/* Examines the tensors that no weight claimed but that are beside one: P.x for P.weight; X.x and X_x for any other weight X.
 *
 *     biases, state of batch norms and mixers, factors of LoRA     not parts of the weight: kept
 *     tensors of a submodule with its own weight                   kept
 *     companions of activations and caches (table_idle)            assigned to the weight, and so dropped
 *     P.weight_offset, if all zero                                 assigned to the weight, and so dropped
 *     what --allow-unclaimed names                                 kept
 *     all others                                                   a doubt: the weight is not decoded (roles_decodable)
 *
 * Such a tensor may hold half of the weight, whatever its name: an offset, a second scale, a rotation. In GGUF, a weight is
 * complete in its blocks, and what is beside it belongs to the architecture. Fails with ERR_USAGE if a glob of
 * --allow-unclaimed matches nothing. */
bool siblings_check(struct claims *c, struct err *err);

/* Returns true if a tensor is beside a weight that was recognised, other than a float8 weight without a scale. */
bool siblings_is_beside(const struct claims *c, const struct tensor *t);

/* Such a tensor beside a weight of a float dtype remains from a conversion: it is kept, with a warning. Otherwise a part of
 * a quantized weight is missing: fails with ERR_MALFORMED. */
bool leftover_check(const struct roles *roles, struct claims *c, struct err *err);

/* Raw codes must never be passed through because their scheme is new. An integer tensor of rank 2 or more, or a tensor of
 * bytes, that no row claimed becomes a weight of a scheme without a decoder if it is
 *
 *     - named as a weight, or has a tensor under its own name, beside floats named as scales, zeros, absmax, codebooks or
 *       tables; or
 *     - named P.weight, where config.json names a method and does not exclude P; or
 *     - named as the weight of a linear layer, where config.json names no method: q_proj.weight, in_proj_weight, gate_up_proj.
 *
 * Otherwise it is data (position_ids, mask.weight) and is passed through, with a warning if a word for weights is in its name.
 */
bool unclaimed_claim(const struct roles *roles, struct claims *c, struct err *err);

/* Returns the evidence, a key of the configuration or the suffix of a tensor (static), or NULL if there is none. */
const char *rotation_evidence(const struct claims *c);

#endif
