/* cache: arrays of floats that several threads use. Each is filled on the first request, in parts, by all threads that request it
 * meanwhile. Arrays without users are kept up to a limit. */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cache;

/* How an array is filled. The functions are called without a lock, except done(). */
struct cache_fill {
    size_t floats;              /* of the array: zeros, at a multiple of 64 bytes */
    uint64_t parts;
    bool (*part)(const void *of, uint64_t part, float *p, struct err *err);
    void (*done)(const void *of, float *p);     /* called once, after all parts succeeded; or NULL */
    const void *of;
};

/* Creates an empty cache that keeps up to `idle` arrays without users, and of these `idle_bytes`. Returns NULL on failure. */
struct cache *cache_new(size_t idle, size_t idle_bytes, struct err *err);
void cache_free(struct cache *c);                       /* accepts NULL */

/* Returns the array of a key. Keys are compared as addresses: they must live, and have the same contents, until cache_free(). If parts
 * fail, every request returns NULL with the error of the first of these parts. Valid until cache_release(). */
const float *cache_take(struct cache *c, const void *key, const struct cache_fill *fill, struct err *err);
void cache_release(struct cache *c, const float *p);

#endif
