#include "source/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/search.h"
#include "source/source_priv.h"

static bool
reserve(struct parts *p, size_t n, struct err *err)
{
    if (n <= p->room - p->n)
        return true;
    size_t room = (size_t)num_max(p->n + n, 2 * p->room);
    uint8_t *bytes = realloc(p->bytes, room);
    if (!bytes)
        return err_memory(err, room);
    p->bytes = bytes;
    p->room = room;
    return true;
}

bool
parts_keep(struct parts *p, uint64_t at, const uint8_t *bytes, size_t n, struct err *err)
{
    struct part *last = NULL;
    if (p->nparts != 0)
        last = &p->part[p->nparts - 1];
    if (n == 0)
        return true;
    if (!reserve(p, n, err))
        return false;
    if (!last || last->at + last->n != at) {
        struct part *part = array_grow(p->part, p->nparts, &p->room_parts, sizeof *part, err);
        if (!part)
            return false;
        p->part = part;
        last = &part[p->nparts++];
        *last = (struct part){ .at = at, .from = p->n };
    }
    memcpy(p->bytes + p->n, bytes, n);
    p->n += n;
    last->n += n;
    return true;
}

void
parts_clear(struct parts *p)
{
    free(p->part);
    free(p->bytes);
    *p = (struct parts){ 0 };
}

/* --- as a source */

struct parts_layer {
    struct source_layer layer;
    const struct parts *parts;
};

static uint64_t
parts_end_of(const void *parts, size_t i)
{
    const struct part *p = &((const struct parts *)parts)->part[i];
    return p->at + p->n;
}

static bool
parts_some(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    const struct parts *p = ((const struct parts_layer *)l)->parts;
    size_t i = search_end_after(p, p->nparts, parts_end_of, at);
    const struct part *part = NULL;
    if (i < p->nparts)
        part = &p->part[i];
    (void)err;
    *got = 0;
    if (at >= l->size)
        return true;
    *got = (size_t)num_min(n, l->size - at);
    if (part && part->at <= at) {
        *got = (size_t)num_min(*got, part->at + part->n - at);
        memcpy(buf, p->bytes + part->from + (at - part->at), *got);
        return true;
    }
    if (part)
        *got = (size_t)num_min(*got, part->at - at);
    memset(buf, 0, *got);
    return true;
}

static const struct layer_kind parts_kind = {
    .seekable = true,
    .some = parts_some,
    .close = layer_free,
};

bool
source_of_parts(struct source **out, const struct parts *parts, uint64_t size, const char *shown, struct err *err)
{
    const struct parts_layer layer = { .layer = { .kind = &parts_kind, .size = size }, .parts = parts };
    return source_of_layer(out, &layer.layer, sizeof layer, shown, err);
}
