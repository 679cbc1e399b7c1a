/* roles: what each tensor of a model is for: a quantized weight, a companion of one, or itself. */
#ifndef SCHEME_ROLES_H
#define SCHEME_ROLES_H

#include "scheme/scheme.h"

struct roles;

/* Find the quantized weights of a sealed catalog and let them claim their companions. `contents` reads small
 * tensors for the schemes that need it; NULL: headers only, and the weights of such schemes stay vague. A companion that is
 * missing, of the wrong shape or dtype, claimed twice, or left without its weight: ERR_MALFORMED. A scheme
 * that is recognised but not decoded is no failure here: see roles_undecoded. The catalog is borrowed and
 * may get warnings. `scheme`: the code of the scheme of those weights that could be of several, or NULL; ERR_USAGE when
 * no weight is of it. */
bool roles_assign(struct roles **roles, struct catalog *catalog, const char *scheme, const struct contents *contents,
    struct err *err);
void roles_free(struct roles *roles);                   /* takes NULL */

size_t roles_weight_count(const struct roles *roles);
const struct weight *roles_weight(const struct roles *roles, size_t i);

/* The weight whose codes tensor i of the catalog is, or NULL. */
const struct weight *roles_weight_of(const struct roles *roles, size_t i);
/* What tensor i is for, and the weight whose codes or companion it is: NULL of a plain one. */
enum role roles_role(const struct roles *roles, size_t i);
const struct weight *roles_owner(const struct roles *roles, size_t i);
/* Whether tensor i is a companion, and so has no place of its own in the output. */
bool roles_is_companion(const struct roles *roles, size_t i);

/* False, with ERR_UNSUPPORTED, when some weight cannot be decoded yet, which names it and its scheme; or when the
 * weights of the model are rotated. */
bool roles_decodable(const struct roles *roles, struct err *err);

#endif
