/* unpack_priv: the state of a decompressing layer, for unpack.c and the decompressors. */
#ifndef SOURCE_UNPACK_PRIV_H
#define SOURCE_UNPACK_PRIV_H

#include "source/source_priv.h"

struct unpack {
    struct source_layer layer;
    const struct packing *packing;
    uint64_t ratio, ratio_later;        /* limits of the expansion: now, and once the header is read */
    uint64_t window;                    /* largest window, in bytes */

    uint8_t *in;                        /* owned; compressed bytes [in_at, in_at + nin) */
    size_t nin, room;
    uint64_t in_at;
    bool in_given;                      /* unpack_input() has returned them */
    bool in_ended;                      /* unpack_input() has returned the end */

    uint64_t used;                      /* compressed bytes consumed */
    uint64_t made;                      /* decompressed bytes produced */
    void *engine;                       /* the state of the decompressor; owned */
};

/* A compression: how to detect and how to read it. */
struct packing {
    const char *name;
    const char *magic;
    size_t len;
    uint8_t loose;                      /* bits of the first byte that may have any value */
    /* Starts decompression. NULL if the compression is only detected; `command` decompresses it. */
    bool (*open)(struct unpack *u, struct err *err);
    /* Produces 1 to n bytes, or none at the end, once the whole input has been checked. Sets u->used. */
    bool (*some)(struct unpack *u, void *buf, size_t n, size_t *got, struct err *err);
    void (*close)(struct unpack *u);    /* frees what open() allocated, even if it failed; not called if it allocated nothing */
    const char *command;
};

extern const struct packing packing_gzip, packing_zstd, packing_zstd_skipped, packing_xz;

/* Returns the next compressed bytes, each once: *n of them, 0 at the end. Valid until the next call. */
bool unpack_input(struct unpack *u, const uint8_t **p, size_t *n, struct err *err);

/* Fails with ERR_MALFORMED because the input ended within the stream, after `made` decompressed bytes. */
bool unpack_truncated(const struct unpack *u, uint64_t made, struct err *err);

#endif
