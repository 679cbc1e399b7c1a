/* memory_source: a source of bytes in memory, as a file or as a pipe that is not seekable. For fuzz targets, which run a
 * million inputs in a process and open no files. */
#ifndef MEMORY_SOURCE_H
#define MEMORY_SOURCE_H

#include <stdlib.h>
#include <string.h>

#include "source/source_priv.h"

struct memory_layer {
    struct source_layer layer;
    const uint8_t *p;           /* borrowed */
    size_t n;
};

static bool
memory_some(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    const struct memory_layer *m = (const struct memory_layer *)l;
    (void)err;
    size_t left = at < m->n ? m->n - (size_t)at : 0;
    *got = n < left ? n : left;
    if (*got != 0)
        memcpy(buf, m->p + at, *got);
    return true;
}

static void
memory_close(struct source_layer *l)
{
    free(l);
}

static const struct layer_kind memory_file = { .seekable = true, .some = memory_some, .close = memory_close };
static const struct layer_kind memory_pipe = { .seekable = false, .some = memory_some, .close = memory_close };

/* Opens p[0..n), borrowed until source_close(), as a file or a pipe. Returns NULL if memory runs out. */
static inline struct source *
memory_source(const uint8_t *p, size_t n, bool file)
{
    struct source *src = calloc(1, sizeof *src);
    struct memory_layer *m = calloc(1, sizeof *m);
    char *name = strdup("(memory)");
    if (!src || !m || !name) {
        free(src);
        free(m);
        free(name);
        return NULL;
    }
    *m = (struct memory_layer){
        .layer = { .kind = file ? &memory_file : &memory_pipe, .size = file ? n : SOURCE_SIZE_UNKNOWN }, .p = p, .n = n,
    };
    src->top = &m->layer;
    src->seekable = file;
    src->size = m->layer.size;
    src->name = name;
    return src;
}

#endif
