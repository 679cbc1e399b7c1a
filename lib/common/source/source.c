#include "source/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "source/source_priv.h"

enum {
    HEAD_STEP = 64 << 10,           /* smallest read that extends the head */
    UNPACK_PROBE = 16               /* bytes needed to detect a compression */
};

static char *
shown_name(const char *path)
{
    struct str s = { 0 };
    if (path)
        str_add_escaped(&s, path, strlen(path));
    else
        str_text(&s, "(standard input)");
    if (s.failed)
        return NULL;
    return s.p;
}

bool
source_open(struct source **out, const char *path, bool pipe_ok, struct inputs *inputs, struct err *err)
{
    struct source *src = calloc(1, sizeof *src);
    if (!src)
        return err_memory(err, sizeof *src);
    *out = src;
    src->name = shown_name(path);
    if (!src->name)
        return err_memory(err, path ? strlen(path) : 0);
    struct fetch *fetch = NULL;
    const struct bundled *file = NULL;
    if (path && inputs) {
        fetch = inputs_fetch(inputs, path);
        file = bundle_find(&inputs->bundle, path);
    }
    if (file)
        src->top = descriptor_open_range(file, src->name, inputs, err);
    else if (fetch)
        src->top = fetch_open(fetch, path, err);
    else
        src->top = descriptor_open(path, pipe_ok, src->name, inputs, err);
    if (!src->top)
        return err_in_file(err, src->name);
    src->seekable = src->top->kind->seekable;
    src->size = src->top->size;
    return true;
}

void
source_close(struct source *src)
{
    if (!src)
        return;
    for (struct source_layer *l = src->top, *under; l; l = under) {
        under = l->under;
        l->kind->close(l);
    }
    free(src->head);
    free(src->back);
    for (size_t i = 0; i < src->nkept; i++)
        free(src->kept[i].p);
    free(src->kept);
    free(src->name);
    free(src);
}

void
source_forbid_spool(struct source *src, const char *twice)
{
    src->no_spool = true;
    src->twice = twice;
}

void
source_set_meter(struct source *src, struct meter *meter)
{
    src->meter = meter;
}

const char *
source_name(const struct source *src)
{
    return src->name;
}

bool
source_seekable(const struct source *src)
{
    return src->seekable;
}

static const struct source_layer *
bottom(const struct source *src)
{
    const struct source_layer *l = src->top;
    while (l->under)
        l = l->under;
    return l;
}

bool
source_is_file(const struct source *src)
{
    return bottom(src)->kind->seekable;
}

uint64_t
source_size(const struct source *src)
{
    return src->size;
}

uint64_t
source_file_size(const struct source *src)
{
    if (src->top)
        return bottom(src)->size;
    return SOURCE_SIZE_UNKNOWN;
}

/* --- the head -------------------------------------------------------------------------------------------- */

/* Makes room in the head up to offset `end`. The room doubles, up to the size of a file. */
static bool
reserve_head(struct source *src, uint64_t end, struct err *err)
{
    uint64_t need = end - src->gone;
    if (need <= src->room)
        return true;
    uint64_t room = num_max(need, num_min(2 * src->room, src->size - src->gone));
    uint8_t *head = realloc(src->head, (size_t)room);
    if (!head)
        return err_memory(err, room);
    src->head = head;
    src->room = room;
    return true;
}

/* Reads until the head has n bytes of the input, or all of it. */
static bool
grow_head(struct source *src, uint64_t n, struct err *err)
{
    uint64_t most = num_min(src->size, src->gone + SOURCE_HEAD_MAX);
    if (n > src->gone + SOURCE_HEAD_MAX)
        return err_set(err, ERR_LIMIT, "header bytes: size exceeds the limit of %" PRIu64 " (built in)",
            (uint64_t)SOURCE_HEAD_MAX);
    while (src->have < n && !src->ended) {
        uint64_t end = num_min(num_max(n, src->have + HEAD_STEP), most);
        size_t want = (size_t)(end - src->have), got;
        if (want == 0)
            break;
        if (!reserve_head(src, end, err))
            return false;
        uint8_t *to = src->head + (src->have - src->gone);
        if (!(src->seekable ? src->top->kind->some(src->top, src->have, to, want, &got, err)
                : forward_some(src, to, want, &got, err)))
            return false;
        src->have += got;
        meter_add(src->meter, got);
        if (got == 0 && src->seekable)
            break;              /* the end of a file of unknown size */
    }
    return true;
}

bool
source_head(struct source *src, uint64_t n, const uint8_t **p, uint64_t *have, struct err *err)
{
    if (!grow_head(src, n, err))
        return err_in_file(err, src->name);
    static const uint8_t nothing[1];
    if (src->head)
        *p = src->head;
    else
        *p = nothing;
    *have = src->have;
    return true;
}

void
source_head_done(struct source *src, uint64_t end)
{
    bool again = src->pos == 0;         /* a file can be read there again; of any other input, the rest is only here */
    size_t left;
    if (again || end >= src->have)
        left = 0;
    else
        left = (size_t)(src->have - end);
    if (left != 0) {
        memmove(src->head, src->head + (end - src->gone), left);
        uint8_t *head = realloc(src->head, left);
        if (head) {
            src->room = left;
            src->head = head;
        }
    } else {
        free(src->head);
        src->head = NULL;
        src->room = 0;
    }
    if (again)
        src->have = 0;
    src->gone = src->have - left;
    if (src->top->kind->head_done)
        src->top->kind->head_done(src->top);
}

void
source_promise(struct source *src, uint64_t nbytes)
{
    for (struct source_layer *l = src->top; l; l = l->under)
        if (l == src->top || !l->kind->fetches)
            l->promised = nbytes;
}

void
source_settle_size(struct source *src)
{
    src->size = src->top->size = fetch_end(src->top);
    src->seekable = src->size != SOURCE_SIZE_UNKNOWN;
    if (src->seekable)
        src->pos = 0;
    else
        src->pos = src->have;
}

bool
source_ended_by(struct source *src, uint64_t n, bool *ended, struct err *err)
{
    if (!src->seekable)
        meter_phase(src->meter, "reading the input", METER_UNKNOWN);
    if (!src->seekable && !grow_head(src, n, err))
        return err_in_file(err, src->name);
    if (src->ended && src->have == src->pos && !src->seekable) {
        src->seekable = true;       /* all that is left of the input is in memory */
        src->size = src->pos;
    }
    *ended = src->seekable;
    return true;
}

/* --- one layer */

bool
source_of_layer(struct source **out, const struct source_layer *layer, size_t n, const char *shown, struct err *err)
{
    struct source_layer *top = malloc(n);
    struct source *src = calloc(1, sizeof *src);
    char *name = strdup(shown);
    if (!top || !src || !name) {
        free(top);
        free(src);
        free(name);
        return err_memory(err, sizeof *src);
    }
    memcpy(top, layer, n);
    *src = (struct source){ .top = top, .seekable = true, .size = layer->size, .name = name };
    *out = src;
    return true;
}

void
layer_free(struct source_layer *l)
{
    free(l);
}

void
source_start_again(struct source *src, struct source_layer *top)
{
    free(src->back);
    *src = (struct source){ .top = top, .size = SOURCE_SIZE_UNKNOWN, .name = src->name, .meter = src->meter,
        .no_spool = src->no_spool, .twice = src->twice };
}

/* --- decompression --------------------------------------------------------------------------------------- */

bool
source_unpack(struct source *src, const struct limits *limits, struct err *err)
{
    const uint8_t *p = NULL;
    uint64_t have = 0;
    struct source_layer *layer;
    if (!source_head(src, UNPACK_PROBE, &p, &have, err))
        return false;
    if (!unpack_open(&layer, src->top, p, (size_t)have, limits, err))
        return err_in_file(err, src->name);
    if (!layer)
        return true;
    const char *outer = unpack_name(p, (size_t)have);
    free(src->head);
    source_start_again(src, layer);
    if (!source_head(src, UNPACK_PROBE, &p, &have, err))
        return false;
    const char *inner = unpack_name(p, (size_t)have);
    return !inner || unpack_refuse_twice(inner, outer, err) || err_in_file(err, src->name);
}

/* --- */

bool
source_read(struct source *src, uint64_t at, void *buf, size_t n, struct err *err)
{
    uint8_t *to = buf;
    /* Serves reads within the head from memory. */
    if (at >= src->gone && at < src->have) {
        size_t part = (size_t)num_min(n, src->have - at);
        memcpy(to, src->head + (at - src->gone), part);
        to += part;
        at += part;
        n -= part;
    }
    if (n != 0 && !src->seekable)
        return forward_read(src, at, to, n, err);
    while (n != 0) {
        size_t got;
        if (!src->top->kind->some(src->top, at, to, n, &got, err))
            return err_in_file(err, src->name);
        if (got == 0 && src->size == SOURCE_SIZE_UNKNOWN) {
            err_at(err, ERR_IO, at, "the input ends at byte %" PRIu64 ", before data that its header declares", at);
            return err_in_file(err, src->name);
        }
        if (got == 0)
            return err_at(err, ERR_BUG, at, "read past the end");
        to += got;
        at += got;
        n -= got;
    }
    return true;
}

/* Reads a forward-only source to its end, but not far past the end that it should have: a decompressor could produce zeros
 * for hours. */
static bool
look_for_end(struct source *src, uint64_t end, bool tail_ok, struct err *err)
{
    bool unpacked = src->top->under != NULL;
    uint64_t to;
    return forward_skip(src, unpacked && !tail_ok && num_add(&to, end, HEAD_STEP) ? to : UINT64_MAX, err);
}

void
source_drop(struct source *src, uint64_t from, uint64_t to)
{
    if (src->top->kind->drop)
        src->top->kind->drop(src->top, from, to);
}

bool
source_finish(struct source *src, uint64_t end, bool tail_ok, struct err *err)
{
    uint64_t size = src->size;
    if (!src->seekable) {
        meter_phase(src->meter, "reading the input to its end", 0);
        if (!look_for_end(src, end, tail_ok, err))
            return false;
        size = src->pos;
    }
    if (src->seekable && size == SOURCE_SIZE_UNKNOWN)
        return true;            /* a fetched file: what its header declares was there */
    if (size < end)
        err_at(err, ERR_MALFORMED, size, SOURCE_TRUNCATED, size, end);
    else if (size > end && !tail_ok)
        err_at(err, ERR_MALFORMED, end, "%s%" PRIu64 " bytes of trailing data after the last tensor "
            "(MetadataIncompleteBuffer)",
            src->seekable || src->ended ? "" : "at least ", size - end);
    return err->kind == ERR_NONE || err_in_file(err, src->name);
}

bool
source_unchanged(const struct source *src, struct err *err)
{
    for (const struct source_layer *l = src->top; l; l = l->under)
        if (l->kind->unchanged && !l->kind->unchanged(l, err))
            return err_in_file(err, src->name);
    return true;
}

void
source_stamp(const struct source *src, uint64_t stamp[2])
{
    const struct source_layer *l = src->top;
    while (l->under)
        l = l->under;
    if (l->changed)
        stamp[0] = l->size;
    else
        stamp[0] = 0;
    stamp[1] = l->changed;
}
