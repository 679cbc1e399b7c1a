/* The inside of an unpacked source, for unpack.c and the decompressors. */
#ifndef SOURCE_UNPACK_PRIV_H
#define SOURCE_UNPACK_PRIV_H

#include "source/source_priv.h"

struct unpack {
    struct source_layer layer;
    const struct packing *packing;
    uint64_t ratio, ratio_later;        /* ceiling of the expansion, and the one behind the header */
    uint64_t window;                    /* bytes that a window may have */

    uint8_t *in;                        /* owned; compressed bytes [in_at, in_at + nin) */
    size_t nin, room;
    uint64_t in_at;
    bool in_given;                      /* unpack_input() has given them */
    bool in_ended;                      /* it has said that there are no more */

    uint64_t used;                      /* compressed bytes that are decompressed */
    uint64_t made;                      /* bytes that came of them */
    void *engine;                       /* the decompressor's own; owned */
};

/* A compression: how it is known, and how it is read. */
struct packing {
    const char *name;
    const char *magic;
    size_t len;
    uint8_t loose;                      /* bits of its first byte that may be anything */
    /* What it holds from now on. NULL: it is only known by name, and `command` decompresses it. */
    bool (*open)(struct unpack *u, struct err *err);
    /* At most n bytes, none only at the end, when all of the input has been looked at. Sets u->used. */
    bool (*some)(struct unpack *u, void *buf, size_t n, size_t *got, struct err *err);
    void (*close)(struct unpack *u);    /* what open() made, also when it failed; not called when it was not */
    const char *command;
};

extern const struct packing packing_gzip, packing_zstd, packing_zstd_skipped, packing_xz;

/* The compressed bytes that come next, each once: *n of them, none at the end. Good until the next call. */
bool unpack_input(struct unpack *u, const uint8_t **p, size_t *n, struct err *err);

/* ERR_MALFORMED: the input ended within the stream, when `made` bytes had come of it. */
bool unpack_cut(const struct unpack *u, uint64_t made, struct err *err);

#endif
