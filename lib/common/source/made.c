#include "source/made.h"

#include "base/num.h"
#include "source/source_priv.h"

struct made_layer {
    struct source_layer layer;
    struct made_bytes made;
};

static bool
made_some(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    const struct made_bytes *made = &((const struct made_layer *)l)->made;
    *got = 0;
    if (at >= l->size)
        return true;
    *got = (size_t)num_min(n, l->size - at);
    return made->read(made->of, at, buf, *got, err);
}

static void
made_drop(struct source_layer *l, uint64_t from, uint64_t to)
{
    const struct made_bytes *made = &((const struct made_layer *)l)->made;
    made->drop(made->of, from, to);
}

static void
made_close(struct source_layer *l)
{
    const struct made_bytes *made = &((const struct made_layer *)l)->made;
    made->close(made->of);
    layer_free(l);
}

static const struct layer_kind made_kind = {
    .seekable = true,
    .some = made_some,
    .close = made_close,
    .drop = made_drop,
};

bool
source_of_made(struct source **out, const struct made_bytes *made, uint64_t size, const char *shown, struct err *err)
{
    const struct made_layer layer = { .layer = { .kind = &made_kind, .size = size }, .made = *made };
    return source_of_layer(out, &layer.layer, sizeof layer, shown, err);
}
