/* The inside of a source.
 *
 * Its bytes come up through layers: a file or a descriptor that only goes forward at the bottom, on it perhaps what
 * decompresses them, on that perhaps a spool. The source itself keeps in memory what is asked for again: the head,
 * and of what only goes forward the ranges that were named and the last few KiB. */
#ifndef SOURCE_SOURCE_PRIV_H
#define SOURCE_SOURCE_PRIV_H

#include "base/limits.h"
#include "base/meter.h"
#include "source/source.h"

struct source_layer {
    const struct layer_kind *kind;
    struct source_layer *under;        /* what it sits on, NULL at the bottom; owned */
    uint64_t size;              /* SOURCE_SIZE_UNKNOWN when it only goes forward */
    uint64_t changed;           /* when a file was changed last, ns since 1970; else 0 */
    uint64_t promised;          /* source_promise(); 0: nothing is known yet */
};

/* One kind of layer, in one file. */
struct layer_kind {
    bool seekable;              /* any byte at any time, from any thread; else each byte once, in order */
    /* Some of the bytes at `at`, at most n of them; none only at the end. What only goes forward is always asked
     * for the byte behind those it gave. Errors bear no file name yet. */
    bool (*some)(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err);
    /* Give back all but what is under it. */
    void (*close)(struct source_layer *l);
    /* NULL or: the header has been read. */
    void (*head_done)(struct source_layer *l);
    /* NULL or: go on to offset `to` or less, where nothing before is asked for; returns the offset. Of what only goes
     * forward. */
    uint64_t (*skip)(struct source_layer *l, uint64_t to);
    /* NULL or: source_drop(). */
    void (*drop)(struct source_layer *l, uint64_t from, uint64_t to);
    /* NULL or: source_unchanged(). */
    bool (*unchanged)(const struct source_layer *l, struct err *err);
};

struct kept {
    uint64_t at, n;
    uint8_t *p;                 /* owned, n bytes */
};

struct source {
    struct source_layer *top;          /* owned, with all that is under it; NULL when nothing could be opened */
    bool seekable;
    uint64_t size;              /* SOURCE_SIZE_UNKNOWN until what only goes forward is known to have ended */
    char *name;                 /* owned, escaped */
    struct meter *meter;        /* borrowed; or NULL */
    bool no_spool;

    uint8_t *head;              /* owned; the bytes [gone, have) of the input, in `room` bytes */
    uint64_t gone, have, room;

    /* Of what only goes forward: */
    uint64_t pos;               /* offset of the next byte that the top gives */
    bool ended;                 /* it has no more */
    struct kept *kept;          /* ranges in rising order; owned */
    size_t nkept, room_kept;
    size_t passing;             /* first kept range that has not passed yet */
    uint8_t back[SOURCE_BACK];  /* the bytes just before pos */
    size_t nback;
};

/* source.c: makes a seekable source of one layer of n bytes, whose struct is copied. `shown` is copied. ERR_MEMORY. */
bool source_of_layer(struct source **src, const struct source_layer *layer, size_t n, const char *shown, struct err *err);
/* Frees such a layer: its close(). */
void layer_free(struct source_layer *l);

/* descriptor.c: open the path, or standard input when it is NULL, as a file or as what only goes forward; `pipe_ok`
 * as for source_open(). `shown` names it in messages. */
struct source_layer *descriptor_open(const char *path, bool pipe_ok, const char *shown, struct inputs *inputs, struct err *err);

/* unpack.c: what the compressed bytes p[0..n), and all that follow them in `under`, hold. NULL in *layer: they are not
 * compressed. p[0..n) is copied. After a failure `under` is still the caller's. */
bool unpack_open(struct source_layer **layer, struct source_layer *under, const uint8_t *p, size_t n, const struct limits *limits,
    struct err *err);

/* Whether p[0..n) begins what unpack_open() would decompress or refuse: its name, else NULL. */
const char *unpack_name(const uint8_t *p, size_t n);

/* ERR_UNSUPPORTED: what was compressed by `inner` was compressed again by `outer`. */
bool unpack_twice(const char *inner, const char *outer, struct err *err);

/* forward.c: at most n of the bytes that come next, none only at the end. */
bool forward_some(struct source *src, void *buf, size_t n, size_t *got, struct err *err);

/* Exactly n bytes at `at`, which is behind the head. */
bool forward_read(struct source *src, uint64_t at, void *buf, size_t n, struct err *err);

/* Go on to offset `to`, dropping what is not kept. Stops early at the end. */
bool forward_skip(struct source *src, uint64_t to, struct err *err);

#endif
