/* A forward-only input, whatever its layers. After the head, every byte passes once; ranges given to source_keep() are
 * copied as they pass. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/search.h"
#include "source/source_priv.h"

enum { SKIP_STEP = 64 << 10 };

/* Keeps the end of the bytes p[0..n) that have just passed. */
static void
keep_back(struct source *src, const uint8_t *p, size_t n)
{
    size_t old = 0, new = SOURCE_BACK;
    if (n < SOURCE_BACK) {
        old = (size_t)num_min(src->nback, SOURCE_BACK - n);
        new = n;
    }
    memmove(src->back, src->back + src->nback - old, old);
    memcpy(src->back + old, p + n - new, new);
    src->nback = old + new;
}

/* Copies what the bytes p[0..n) at offset `at` have in common with kept ranges. */
static void
pass(struct source *src, uint64_t at, const uint8_t *p, size_t n)
{
    uint64_t end = at + n;
    keep_back(src, p, n);
    while (src->passing < src->nkept) {
        struct kept *k = &src->kept[src->passing];
        uint64_t from = num_max(at, k->at), to = num_min(end, k->at + k->n);
        if (from < to)
            memcpy(k->p + (from - k->at), p + (from - at), (size_t)(to - from));
        if (k->at + k->n > end)
            return;
        src->passing++;
    }
}

bool
forward_some(struct source *src, void *buf, size_t n, size_t *got, struct err *err)
{
    if (!src->top->kind->some(src->top, src->pos, buf, n, got, err))
        return err_in_file(err, src->name);
    if (*got == 0)
        src->ended = true;
    if (!src->back && !(src->back = malloc(SOURCE_BACK)))
        return err_memory(err, SOURCE_BACK);
    pass(src, src->pos, buf, *got);
    src->pos += *got;
    return true;
}

/* Lets the top layer skip bytes that nothing needs, up to offset `to`. */
static void
skip_unneeded(struct source *src, uint64_t to)
{
    if (!src->top->kind->skip)
        return;
    if (src->passing < src->nkept)
        to = num_min(to, src->kept[src->passing].at);
    uint64_t at;
    if (to > src->pos)
        at = src->top->kind->skip(src->top, to);
    else
        at = src->pos;
    if (at != src->pos)
        src->nback = 0;
    src->pos = at;
}

bool
forward_skip(struct source *src, uint64_t to, struct err *err)
{
    uint8_t *scratch = NULL;
    if (src->pos < to && !src->ended)
        scratch = malloc(SKIP_STEP);
    if (!scratch)
        return src->pos >= to || src->ended || err_memory(err, SKIP_STEP);
    bool ok = true;
    while (ok && src->pos < to && !src->ended) {
        size_t got;
        skip_unneeded(src, to);
        ok = src->pos == to
            || forward_some(src, scratch, (size_t)num_min(SKIP_STEP, to - src->pos), &got, err);
    }
    free(scratch);
    return ok;
}

static uint64_t
forward_end_of(const void *kept, size_t i)
{
    const struct kept *k = &((const struct kept *)kept)[i];
    return k->at + k->n;
}

/* Reads bytes that have already passed, which must all be in one kept range. */
static bool
read_kept(struct source *src, uint64_t at, uint8_t *buf, size_t n, struct err *err)
{
    size_t i = search_end_after(src->kept, src->nkept, forward_end_of, at);
    const struct kept *k = &src->kept[i];
    if (i == src->nkept || at < k->at || n > k->at + k->n - at)
        return err_at(err, ERR_BUG, at, "read of bytes that have passed and were not kept");
    memcpy(buf, k->p + (at - k->at), n);
    return true;
}

bool
forward_read(struct source *src, uint64_t at, void *buf, size_t n, struct err *err)
{
    uint8_t *to = buf;
    if (at < src->pos && src->pos - at <= src->nback) {
        size_t part = (size_t)num_min(n, src->pos - at);
        memcpy(to, src->back + src->nback - (src->pos - at), part);
        to += part;
        at += part;
        n -= part;
    }
    if (at < src->pos)
        return n == 0 || read_kept(src, at, to, n, err);
    if (!forward_skip(src, at, err))
        return false;
    uint64_t end = at + n;
    while (n != 0 && !src->ended) {
        size_t got;
        if (!forward_some(src, to, n, &got, err))
            return false;
        to += got;
        n -= got;
    }
    if (n == 0)
        return true;
    err_at(err, ERR_MALFORMED, src->pos, SOURCE_TRUNCATED, src->pos, num_max(end, src->top->promised));
    return err_in_file(err, src->name);
}

bool
source_keep(struct source *src, uint64_t at, uint64_t n, struct err *err)
{
    if (src->seekable || n == 0 || at + n <= src->have)
        return true;
    struct kept *kept = array_grow(src->kept, src->nkept, &src->room_kept, sizeof *kept, err);
    if (!kept)
        return false;
    src->kept = kept;
    uint8_t *p = malloc((size_t)n);
    if (!p)
        return err_memory(err, n);
    src->kept[src->nkept++] = (struct kept){ .at = at, .n = n, .p = p };
    /* The bytes in the head have already passed. */
    if (at < src->have)
        memcpy(p, src->head + (at - src->gone), (size_t)(src->have - at));
    return true;
}
