#include "container/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

enum {
    WINDOW = 32 << 10,          /* bytes per read where elements are close together */
    NEAR = 1024,                /* largest gap in bytes between elements that are read together */
    ITEM = 8                    /* size of the largest element in bytes */
};

/* The part of the file that is in memory. */
struct gather_window {
    struct source *src;
    uint64_t at, end;           /* bytes [at, end) */
    uint8_t bytes[WINDOW];
};

/* Returns the bytes from one element to the last that is worth reading with it: those along inner dimensions with small
 * strides. */
static uint64_t
find_reach(const struct layout *l, uint64_t item)
{
    uint64_t reach = item;
    for (uint32_t d = l->rank; d-- > 0 && l->dim[d].stride * item <= reach + NEAR;)
        reach += (l->dim[d].n - 1) * l->dim[d].stride * item;
    return reach;
}

/* Copies the element of `item` bytes at file offset `at` to y. If it has to be read, reads what follows, up to `to`, with
 * it. */
static bool
pick(struct gather_window *w, uint64_t at, size_t item, uint64_t to, uint8_t *y, struct err *err)
{
    if (at < w->at || at + item > w->end) {
        size_t n = (size_t)num_min(to - at, WINDOW);
        w->at = w->end = at;
        if (!source_read(w->src, at, w->bytes, n, err))
            return false;
        w->end = at + n;
    }
    memcpy(y, w->bytes + (at - w->at), item);
    return true;
}

/* Copies elements [first, first + count) of t to y. */
static bool
gather_elements(struct gather_window *w, const struct tensor *t, uint64_t first, uint64_t count, uint8_t *y, struct err *err)
{
    const struct layout *l = t->layout;
    const struct layout_dim inner = l->dim[l->rank - 1];
    size_t item = dtype_facts(t->dtype)->bytes;
    uint64_t extent;
    if (!layout_extent(l, &extent))
        return err_at(err, ERR_BUG, t->extent.at, "tensor extent overflows 64 bits");
    uint64_t end = t->extent.at + extent * item, step = inner.stride * item, reach = find_reach(l, item);
    for (uint64_t run; count != 0; first += run, count -= run) {
        uint64_t at = t->extent.at + layout_at(l, first) * item;
        run = num_min(count, inner.n - first % inner.n);
        if (inner.stride == 1 && run * item > NEAR) {
            if (!source_read(w->src, at, y, (size_t)(run * item), err))
                return false;
            y += run * item;
            continue;
        }
        for (uint64_t i = 0; i < run; i++, at += step, y += item)
            if (!pick(w, at, item, num_min(end, at + reach), y, err))
                return false;
    }
    return true;
}

/* Copies bytes [from, from + n) of t to y; the first and the last element may be partial. */
static bool
gather_bytes(struct gather_window *w, const struct tensor *t, uint64_t from, uint8_t *y, size_t n, struct err *err)
{
    uint8_t one[ITEM];
    size_t item = dtype_facts(t->dtype)->bytes;
    for (size_t skip = (size_t)(from % item), some; n != 0; skip = 0, from += some, y += some, n -= some) {
        if (skip != 0 || n < item)
            some = (size_t)num_min(item - skip, n);
        else
            some = n / item * item;
        bool cut = some % item != 0;
        if (!gather_elements(w, t, from / item, cut ? 1 : some / item, cut ? one : y, err))
            return false;
        if (cut)
            memcpy(y, one + skip, some);
    }
    return true;
}

bool
gather(struct source *src, const struct tensor *t, uint64_t from, void *buf, size_t n, struct err *err)
{
    if (!t->layout)
        return source_read(src, t->extent.at + from, buf, n, err);
    struct gather_window *w = malloc(sizeof *w);
    if (!w)
        return err_memory(err, sizeof *w);
    w->src = src;
    w->at = w->end = 0;
    bool ok = gather_bytes(w, t, from, buf, n, err);
    free(w);
    return ok;
}
