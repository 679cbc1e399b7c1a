/* declared: sizes of blocks and groups that config.json declares, compared with shapes. What is declared is not guessed: if the
 * shapes contradict it, the weight is described, but not decoded (roles_decodable). */
#ifndef SCHEME_DECLARED_H
#define SCHEME_DECLARED_H

#include "scheme/claims.h"

/* Sets *out to why scales [k[0], k[1]] do not fit a matrix [n[0], n[1]] in these blocks, or to NULL. */
bool declared_blocks(const struct doubt **out, struct claims *c, const struct tensor *scale, const uint64_t n[2],
    const uint64_t block[2], const uint64_t k[2], struct err *err);

/* Finds the declared size of the groups of a module, whose row of n columns has k scales. *size is 0 if none is declared or they
 * contradict the shapes, which *out then explains. Entries for single modules are not resolved: any size that is declared for some
 * module explains the shapes. */
bool declared_groups(uint64_t *size, const struct doubt **out, struct claims *c, const struct part_name *module,
    const struct tensor *scale, uint64_t n, uint64_t k, struct err *err);

/* Returns true if config.json declares sizes for groups of modules. A size for the whole model does not concern E8M0 scales of 32
 * elements, whose type defines the groups: models with other blocks have them, too. */
bool declared_by_module(const struct claims *c);

#endif
