/* hash: SipHash-1-3 with a random key, so that nobody can construct names that collide. J.-P. Aumasson, D. J. Bernstein:
 * SipHash, a fast short-input PRF. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
    uint64_t k0, k1;
};

/* Makes a random key. */
struct hash_key hash_new_key(void);

uint64_t hash_bytes(struct hash_key key, const void *p, size_t n);

#endif
