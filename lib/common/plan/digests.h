/* digests: the SHA-256 digests of the tensors of a model: of their stored bytes, and of their values, which do not depend on
 * the container or on how a weight is stored.
 *
 *     stored    the elements as stored, row-major and little-endian
 *     values    quantized weights, F16, BF16 and F32: as F32, little-endian, as amn-remember dequantizes them; other types
 *               as stored
 *     a model   the digest of NAME NUL SHAPE NUL DIGEST LF for each tensor, sorted by the bytes of NAME. SHAPE is the
 *               dimensions, row-major, in decimal, separated by commas; DIGEST is 64 hexadecimal digits
 */
#ifndef PLAN_DIGESTS_H
#define PLAN_DIGESTS_H

#include "base/sha256.h"
#include "scheme/roles.h"

enum { DIGESTS_STORED = 1, DIGESTS_VALUES = 2 };

struct digest_pair {
    uint8_t stored[SHA256_BYTES], values[SHA256_BYTES];
    uint8_t have;                       /* DIGESTS_*: those that are known before digest_model() */
};

/* Zeroed: empty. Catalog and roles are borrowed. */
struct digests {
    const struct catalog *catalog;
    const struct roles *roles;
    unsigned which;                     /* DIGESTS_*: those that are computed */
    enum dtype to;                      /* BF16 or F16: floats are rounded to it, then digested as F32. Another: they are not rounded */
    struct digest_pair *list;           /* one for each tensor of the catalog; owned */
    struct digest_pair model;
};

bool digests_init(struct digests *d, const struct catalog *catalog, const struct roles *roles, unsigned which,
    struct err *err);
void digests_clear(struct digests *d);

/* Sets *t to the name and shape of the values that tensor i of the catalog holds: the weight's, if the tensor has the codes of
 * one. Returns false for a companion, which has no values. */
bool digests_values(struct tensor *t, const struct digests *d, size_t i);

/* Computes d->model from the list. */
bool digests_total(struct digests *d, const struct sha256_library *library, struct err *err);

#endif
