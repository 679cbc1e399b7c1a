#include "scan/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

enum { STEP = 16 << 10 };

/* Makes room for n bytes, with the bytes held at its start. */
static bool
reserve(struct window *w, size_t n, struct err *err)
{
    if (w->n != 0)
        memmove(w->base, w->p, w->n);
    if (n > w->room) {
        size_t room = (size_t)num_min(num_max(n, 2 * (uint64_t)w->room), w->max);
        uint8_t *base = realloc(w->base, room);
        if (!base)
            return w->p = w->base, err_memory(err, room);
        w->base = base;
        w->room = room;
    }
    w->p = w->base;
    return true;
}

bool
window_hold(struct window *w, size_t n, struct err *err)
{
    size_t want = (size_t)num_min(n, w->max);
    static const uint8_t nothing[1];
    if (!w->p)
        w->p = nothing;
    while (w->n < want && !w->ended) {
        uint64_t to = num_min(num_max(want, w->n + (uint64_t)STEP), num_max(2 * (uint64_t)w->n, STEP));
        size_t room = (size_t)num_min(to, w->max), got = 0;     /* grows as bytes arrive, not as they are announced */
        if (!reserve(w, room, err) || !w->some(w->of, w->base + w->n, room - w->n, &got, err))
            return false;
        w->n += got;
        w->ended = got == 0;
    }
    return true;
}

uint64_t
window_left(const struct window *w, size_t from)
{
    if (w->total == 0)
        return UINT64_MAX;
    return w->total - num_min(w->total, w->at + from);
}

void
window_drop(struct window *w, size_t n)
{
    w->p += n;
    w->n -= n;
    w->at += n;
}

void
window_clear(struct window *w)
{
    free(w->base);
    w->base = NULL;
    w->p = NULL;
    w->n = w->room = 0;
}
