#include "source/watch.h"

#include <stdlib.h>

#include "source/source_priv.h"

struct watch {
    struct source_layer layer;
    struct watcher watcher;
};

static bool
watch_some(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    const struct watcher *w = &((const struct watch *)l)->watcher;
    if (!l->under->kind->some(l->under, at, buf, n, got, err))
        return false;
    if (*got != 0)
        return w->see(w->of, at, buf, *got, err);
    return w->ended(w->of, at, err);
}

static void
watch_close(struct source_layer *l)
{
    const struct watcher *w = &((const struct watch *)l)->watcher;
    w->free(w->of);
    free(l);
}

static void
watch_head_done(struct source_layer *l)
{
    if (l->under->kind->head_done)
        l->under->kind->head_done(l->under);
}

static const struct layer_kind watch_kind = {
    .some = watch_some,
    .close = watch_close,
    .head_done = watch_head_done,
};

bool
source_watch(struct source *src, uint64_t from, const struct watcher *watcher, struct err *err)
{
    struct watch *w = NULL;
    if (!src->seekable)
        w = malloc(sizeof *w);
    if (!w) {
        watcher->free(watcher->of);
        return src->seekable || err_memory(err, sizeof *w);
    }
    *w = (struct watch){ .layer = { .kind = &watch_kind, .under = src->top, .size = SOURCE_SIZE_UNKNOWN },
        .watcher = *watcher };
    src->top = &w->layer;
    bool ok = from >= src->have
        || watcher->see(watcher->of, from, src->head + (from - src->gone), (size_t)(src->have - from), err);
    ok = ok && (!src->ended || watcher->ended(watcher->of, src->pos, err));
    return ok || err_in_file(err, src->name);
}
