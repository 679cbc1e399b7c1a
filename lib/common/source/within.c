#include "source/within.h"

#include <string.h>

#include "base/num.h"
#include "source/source_priv.h"

struct within_layer {
    struct source_layer layer;
    struct source *whole;       /* borrowed; if NULL, the bytes are at p */
    uint64_t at;
    const uint8_t *p;           /* borrowed */
};

static bool
within_some(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    const struct within_layer *w = (const struct within_layer *)l;
    if (at < l->size)
        *got = (size_t)num_min(n, l->size - at);
    else
        *got = 0;
    if (w->whole)
        return *got == 0 || source_read(w->whole, w->at + at, buf, *got, err);
    if (*got != 0)
        memcpy(buf, w->p + at, *got);
    return true;
}

static const struct layer_kind within_kind = {
    .seekable = true,
    .some = within_some,
    .close = layer_free,
};

bool
source_within(struct source **out, struct source *whole, uint64_t at, uint64_t n, const char *shown, struct err *err)
{
    const struct within_layer layer = { .layer = { .kind = &within_kind, .size = n }, .whole = whole, .at = at };
    return source_of_layer(out, &layer.layer, sizeof layer, shown, err);
}

bool
source_of_memory(struct source **out, const uint8_t *p, size_t n, const char *shown, struct err *err)
{
    const struct within_layer layer = { .layer = { .kind = &within_kind, .size = n }, .p = p };
    return source_of_layer(out, &layer.layer, sizeof layer, shown, err);
}
