/* Private to roles.c and claims.c: what roles_assign fills. */
#ifndef SCHEME_ROLES_PRIV_H
#define SCHEME_ROLES_PRIV_H

#include "scheme/roles.h"
#include "scheme/swizzle.h"
#include "scheme/table.h"

struct roles {
    struct weight *weights;
    size_t nweights, room;
    uint32_t *owner;            /* of each tensor: 1 + index of its weight, 0 when it is nobody's */
    uint8_t *role;              /* of each tensor: enum role */
    const struct catalog *catalog;
};

struct claims {
    struct roles *roles;
    struct catalog *catalog;
    struct config *config;
    const struct contents *contents;
    const char *told;           /* --scheme */
    char *scratch;              /* a name that is put together: */
    size_t longest;             /* bytes of the longest name of the model, and of scratch */
    bool shares;                /* the weight being claimed shares a companion */
    struct comfy_markers *comfy;        /* owned */
    struct grids grids;
    bool idle[TABLE_IDLE];      /* which of table_idle occur in the model at all */
    struct left_name left[LEFT_NAMES];
    size_t nleft;
};

#endif
