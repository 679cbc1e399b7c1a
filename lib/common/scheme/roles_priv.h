/* Private to roles.c and claims.c. */
#ifndef SCHEME_ROLES_PRIV_H
#define SCHEME_ROLES_PRIV_H

#include "scheme/roles.h"

struct roles {
    struct weight *weights;
    size_t nweights, room;
    uint32_t *owner;            /* of each tensor: 1 + index of its weight, 0 when it is nobody's */
    uint8_t *role;              /* of each tensor: enum role */
    const struct catalog *catalog;
    const char *rotated;        /* what says that the weights are (rotation.h), or NULL */
};

#endif
