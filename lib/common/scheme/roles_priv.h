/* Private to roles.c and claims.c. */
#ifndef SCHEME_ROLES_PRIV_H
#define SCHEME_ROLES_PRIV_H

#include "scheme/roles.h"
#include "scheme/words.h"

struct roles {
    struct weight *weights;
    size_t nweights, room;
    uint32_t *owner;            /* for each tensor: 1 + index of its weight, or 0 */
    uint8_t *role;              /* for each tensor: enum role */
    const struct catalog *catalog;
    struct words words;         /* of the configs */
    const char *rotated;        /* the key or suffix that shows that the weights are rotated (rotation.h), or NULL */
};

#endif
