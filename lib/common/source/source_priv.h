/* source_priv: the structs of a source and its layers.
 *
 * Bytes come up through layers: a file or a forward-only descriptor at the bottom, possibly a decompressor on it, possibly a
 * spool on that. The source itself keeps in memory what can be requested again: the head, and of a forward-only input the
 * kept ranges and the last few KiB.
 */
#ifndef SOURCE_SOURCE_PRIV_H
#define SOURCE_SOURCE_PRIV_H

#include "base/limits.h"
#include "base/meter.h"
#include "source/source.h"

struct source_layer {
    const struct layer_kind *kind;
    struct source_layer *under;        /* the layer below, NULL at the bottom; owned */
    uint64_t size;              /* SOURCE_SIZE_UNKNOWN if forward-only */
    uint64_t changed;           /* modification time of a file, ns since 1970; else 0 */
    uint64_t promised;          /* set by source_promise(); 0 if unknown */
};

/* A kind of layer. Each has a file of its own. */
struct layer_kind {
    bool seekable;              /* true: readable at any offset from any thread; false: each byte once, in order */
    bool fetches;               /* a promise is about its own bytes, not about what a layer above decompresses */
    /* Reads 1 to n bytes at `at`, or none at the end. For a forward-only layer, `at` always follows the bytes of the call
     * before. Errors do not have a file name yet. */
    bool (*some)(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err);
    /* Frees the layer, but not the one below. */
    void (*close)(struct source_layer *l);
    /* Called when the header has been read; may be NULL. */
    void (*head_done)(struct source_layer *l);
    /* For a forward-only layer: moves to an offset of at most `to` and returns it; nothing before it will be requested. May
     * be NULL. */
    uint64_t (*skip)(struct source_layer *l, uint64_t to);
    /* For source_drop(); may be NULL. */
    void (*drop)(struct source_layer *l, uint64_t from, uint64_t to);
    /* For source_unchanged(); may be NULL. */
    bool (*unchanged)(const struct source_layer *l, struct err *err);
};

struct kept {
    uint64_t at, n;
    uint8_t *p;                 /* owned, n bytes */
};

struct source {
    struct source_layer *top;          /* owned, with all layers below it; NULL if the open failed */
    bool seekable;
    uint64_t size;              /* SOURCE_SIZE_UNKNOWN until a forward-only input has ended */
    char *name;                 /* owned, escaped */
    struct meter *meter;        /* borrowed, or NULL */
    bool no_spool;
    const char *twice;          /* see source_forbid_spool() */

    uint8_t *head;              /* owned; bytes [gone, have) of the input, in a buffer of `room` bytes */
    uint64_t gone, have, room;

    /* Only for forward-only sources: */
    uint64_t pos;               /* offset of the next byte from the top layer */
    bool ended;                 /* the top layer has no more bytes */
    struct kept *kept;          /* ranges in ascending order; owned */
    size_t nkept, room_kept;
    size_t passing;             /* first kept range that has not passed yet */
    uint8_t *back;              /* owned; the last nback bytes before pos, in SOURCE_BACK bytes; NULL before the first */
    size_t nback;
};

/* source.c: makes a seekable source of one layer of n bytes. Copies the layer struct and `shown`. Fails with ERR_MEMORY. */
bool source_of_layer(struct source **src, const struct source_layer *layer, size_t n, const char *shown, struct err *err);
/* Continues with the bytes of a layer that was put on top of the others, from its first one. The caller has taken or freed the head. */
void source_start_again(struct source *src, struct source_layer *top);
/* Frees a layer with its close() function. */
void layer_free(struct source_layer *l);

/* descriptor.c: opens the path, or standard input if it is NULL, as a file or a forward-only descriptor. `pipe_ok` means the
 * same as in source_open(); `shown` is the name in messages. */
struct source_layer *descriptor_open(const char *path, bool pipe_ok, const char *shown, struct inputs *inputs, struct err *err);
/* Opens a range of a regular file, which it must contain. */
struct source_layer *descriptor_open_range(const struct bundled *file, const char *shown, struct inputs *inputs, struct err *err);

/* fetch.c: opens a file that a command reads, and fetches its first window. The size is unknown. fetch_end() returns the size
 * of a file whose first window was short. */
struct fetch;
struct source_layer *fetch_open(struct fetch *f, const char *path, struct err *err);
uint64_t fetch_end(const struct source_layer *l);

/* unpack.c: makes a layer that decompresses p[0..n) and all that follows in `under`. Sets *layer to NULL if they are not
 * compressed. Copies p[0..n). After a failure the caller still owns `under`. */
bool unpack_open(struct source_layer **layer, struct source_layer *under, const uint8_t *p, size_t n,
    const struct limits *limits, struct err *err);

/* Returns the name of the compression that p[0..n) begins with, supported or not, else NULL. */
const char *unpack_name(const uint8_t *p, size_t n);

/* Fails with ERR_UNSUPPORTED for data compressed by `inner` and again by `outer`. */
bool unpack_refuse_twice(const char *inner, const char *outer, struct err *err);

/* forward.c: reads the next 1 to n bytes, or none at the end. */
bool forward_some(struct source *src, void *buf, size_t n, size_t *got, struct err *err);

/* Reads exactly n bytes at `at`, which is after the head. */
bool forward_read(struct source *src, uint64_t at, void *buf, size_t n, struct err *err);

/* Moves to offset `to`, discarding bytes that are not kept. Stops early at the end. */
bool forward_skip(struct source *src, uint64_t to, struct err *err);

#endif
