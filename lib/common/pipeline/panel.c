#include "pipeline/panel.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/num.h"
#include "pipeline/band.h"

enum {
    SLOTS = 8,
    LINE = 64,
    GAP = 4096                  /* bytes read needlessly rather than with another call */
};

enum panel_state { EMPTY, LOADING, READY, FAILED };

/* A part of a panel while it is loaded. */
struct load {
    const struct tensor *tensor;
    struct strip strip;         /* rows 0: WHOLE */
    uint64_t at;                /* offset of the first stored unit in the tensor */
    uint64_t first, units;      /* units of the band */
    uint64_t slab;              /* stored rows that are read and transposed at a time */
    bool whole;                 /* in one read, including the gaps */
    uint64_t chunks;
    size_t offset;              /* in the panel's memory */
};

struct slot {
    struct panel panel;         /* must be first: a panel is cast to its slot */
    const struct piece *piece;
    enum panel_state state;
    unsigned users;
    uint64_t stamp;             /* of the last use */
    uint8_t *mem;               /* owned, `size` bytes */
    size_t size;
    struct load load[SCHEME_PARTS];
    uint64_t chunks, next, done;
    uint64_t failed;            /* lowest failed chunk */
    struct err err;
};

struct panels {
    const struct pipeline *job;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slot slot[SLOTS];
    size_t size, most;          /* total of all slots, and its limit */
    uint64_t stamp;
};

struct panels *
panels_new(const struct pipeline *job, struct err *err)
{
    struct panels *p = calloc(1, sizeof *p);
    if (!p) {
        err_memory(err, sizeof *p);
        return NULL;
    }
    p->job = job;
    if (job->panel_bytes)
        p->most = job->panel_bytes;
    else
        p->most = PANELS_BYTES;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    return p;
}

void
panels_free(struct panels *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        free(p->slot[i].mem);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

bool
panel_is_needed(const struct piece *piece)
{
    for (unsigned p = 0; p < SCHEME_PARTS; p++)
        if (band_need(piece, p) == NEED_STRIP || band_need(piece, p) == NEED_WHOLE)
            return true;
    return false;
}

/* --- reading */

/* Pads a stride that would map all rows to a few cache sets. */
static size_t
spread(size_t stride)
{
    if (stride % 512 == 0)
        return stride + LINE;
    return stride;
}

/* Plans how part p is read; its offset in the panel is `size`. Returns the size including this part. */
static size_t
plan_load(struct slot *slot, const struct bands *b, unsigned p, size_t size)
{
    struct load *l = &slot->load[p];
    enum need need = band_need(slot->piece, p);
    *l = (struct load){ .tensor = piece_input(slot->piece, p), .offset = size };
    slot->panel.part[p] = (struct part_bytes){ .p = NULL };
    slot->panel.unit_rows[p] = 0;
    if (need == NEED_WHOLE) {
        l->chunks = 1;
        return size + (size_t)num_ceil_div(l->tensor->extent.nbytes, LINE) * LINE;
    }
    if (need != NEED_STRIP)
        return size;
    band_strip(&l->strip, slot->piece, p);
    const struct strip *s = &l->strip;
    uint64_t rows = (slot->panel.end - slot->panel.first) / b->cols, top = slot->panel.row % b->rows;
    uint64_t matrix = slot->panel.row / b->rows;
    l->first = top / s->unit_rows;
    l->units = num_ceil_div(rows, s->unit_rows);
    l->at = ((matrix * s->rows) * s->units + l->first) * s->unit_bytes;
    /* Fill whole cache lines of a transposed row at a time. */
    uint64_t per_line = num_max(LINE / s->unit_bytes, 1);
    uint64_t width = l->units * s->unit_bytes, pitch = s->units * s->unit_bytes;
    l->whole = pitch - width <= GAP && pitch <= PANEL_STAGING;
    l->slab = num_max(PANEL_STAGING / num_max(l->whole ? pitch : spread((size_t)width), 1), 1);
    if (l->slab > per_line)
        l->slab = l->slab / per_line * per_line;
    l->chunks = num_ceil_div(s->rows, l->slab);
    slot->panel.part[p].stride = spread((size_t)num_ceil_div(s->rows * s->unit_bytes, LINE) * LINE);
    slot->panel.unit_rows[p] = s->unit_rows;
    return size + (size_t)l->units * slot->panel.part[p].stride;
}

/* Reads bytes of a part: as stored for a VIEW, whose layout the panel undoes itself, else its elements in row-major order. */
static bool
read_part(const struct panels *panels, const struct slot *slot, const struct load *l, uint64_t from, uint8_t *y, size_t n,
    struct err *err)
{
    const struct extent *e = &l->tensor->extent;
    if (slot->piece->kind == PIECE_VIEW)
        return source_read(panels->job->model->src[e->file], e->at + from, y, n, err);
    return model_bytes(panels->job->model, l->tensor, from, y, n, err);
}

/* Reads the band's units of stored rows [r0, r1) and transposes them into the panel. */
static bool
load_strip(const struct panels *panels, const struct slot *slot, unsigned p, uint64_t r0, uint64_t r1,
    uint8_t *staging, struct err *err)
{
    const struct load *l = &slot->load[p];
    const struct strip *s = &l->strip;
    uint64_t pitch = s->units * s->unit_bytes, most = PANEL_STAGING / s->unit_bytes;
    for (uint64_t u = 0, n; u < l->units; u += n) {
        n = num_min(l->units - u, most);
        size_t width = (size_t)n * s->unit_bytes, step = l->whole ? (size_t)pitch : r1 - r0 > 1 ? spread(width) : width;
        size_t size = 0;
        if (l->whole)
            size = (size_t)(pitch * (r1 - r0 - 1)) + width;
        bool ok = !l->whole || read_part(panels, slot, l, l->at + r0 * pitch, staging, size, err);
        for (uint64_t r = r0; !l->whole && ok && r < r1; r++)
            ok = read_part(panels, slot, l, l->at + r * pitch + u * s->unit_bytes, staging + (r - r0) * step, width, err);
        if (!ok)
            return false;
        size_t stride = slot->panel.part[p].stride;
        uint8_t *y = slot->mem + l->offset + u * stride + r0 * s->unit_bytes;
        panels->job->kernels->transpose(y, stride, staging, step, (size_t)(r1 - r0), (size_t)n, s->unit_bytes);
    }
    return true;
}

static bool
load_chunk(const struct panels *panels, const struct slot *slot, uint64_t chunk, uint8_t *staging, struct err *err)
{
    unsigned p = 0;
    for (; chunk >= slot->load[p].chunks; p++)
        chunk -= slot->load[p].chunks;
    const struct load *l = &slot->load[p];
    if (l->strip.rows != 0)
        return load_strip(panels, slot, p, chunk * l->slab, num_min(l->strip.rows, (chunk + 1) * l->slab), staging, err);
    return read_part(panels, slot, l, 0, slot->mem + l->offset, (size_t)l->tensor->extent.nbytes, err);
}

/* --- slots; the caller holds the lock */

static struct slot *
find_slot(struct panels *panels, const struct piece *piece, uint64_t element)
{
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *s = &panels->slot[i];
        if (s->state != EMPTY && s->piece == piece && s->panel.first <= element && element < s->panel.end)
            return s;
    }
    return NULL;
}

/* Returns the least recently used slot without users that has at least `size` bytes, or NULL. */
static struct slot *
idle_slot(struct panels *panels, size_t size)
{
    struct slot *idle = NULL;
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *s = &panels->slot[i];
        if (s->users == 0 && s->size >= size && (!idle || s->stamp < idle->stamp))
            idle = s;
    }
    return idle;
}

static void
resize(struct panels *panels, struct slot *s, size_t size)
{
    free(s->mem);
    if (size != 0)
        s->mem = aligned_alloc(LINE, size);
    else
        s->mem = NULL;
    panels->size -= s->size;
    if (s->mem)
        s->size = size;
    else
        s->size = 0;
    panels->size += s->size;
    s->state = EMPTY;
}

static bool
is_used(const struct panels *panels)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (panels->slot[i].users != 0)
            return true;
    return false;
}

/* Returns a slot with `size` bytes, allocating memory and freeing idle slots if necessary. Returns NULL with *wait if that
 * must wait until other slots are released. */
static struct slot *
make_room(struct panels *panels, size_t size, bool *wait, struct err *err)
{
    struct slot *s = idle_slot(panels, num_max(size, 1));
    *wait = false;
    if (s)
        return s;
    while (panels->size + size > panels->most && (s = idle_slot(panels, 1)) != NULL)
        resize(panels, s, 0);
    s = idle_slot(panels, 0);
    *wait = !s || (panels->size + size > panels->most && is_used(panels));
    if (*wait)
        return NULL;
    resize(panels, s, size);
    if (!s->mem)
        err_memory(err, size);
    if (s->mem)
        return s;
    return NULL;
}

/* Starts loading the panel that contains this element. Sets *slot to NULL if it must wait. Returns false on failure. */
static bool
panel_begin(struct panels *panels, const struct piece *piece, uint64_t element, struct slot **slot, struct err *err)
{
    struct slot plan = { .piece = piece, .state = LOADING, .failed = UINT64_MAX };
    struct bands b;
    struct band band;
    size_t size = 0;
    bool wait;
    if (!bands_find(&b, piece, panels->job->from, panels->job->to, panels->most, err))
        return false;
    bands_at(&band, &b, element);
    plan.panel = (struct panel){ .first = band.first, .end = band.end, .row = band.row, .cols = b.cols };
    for (unsigned p = 0; p < SCHEME_PARTS; p++) {
        size = plan_load(&plan, &b, p, size);
        plan.chunks += plan.load[p].chunks;
    }
    *slot = make_room(panels, num_max(size, LINE), &wait, err);
    if (!*slot)
        return wait;
    plan.mem = (*slot)->mem;
    plan.size = (*slot)->size;
    if (plan.chunks != 0)
        plan.state = LOADING;
    else
        plan.state = READY;
    for (unsigned p = 0; p < SCHEME_PARTS; p++)
        plan.panel.part[p].p = plan.load[p].chunks ? plan.mem + plan.load[p].offset : NULL;
    **slot = plan;
    return true;
}

/* Loads chunks until the panel is complete, together with the other callers. */
static void
panel_load(struct panels *panels, struct slot *s, uint8_t *staging)
{
    while (s->state == LOADING) {
        if (s->next == s->chunks) {
            pthread_cond_wait(&panels->changed, &panels->lock);
            continue;
        }
        uint64_t chunk = s->next++;
        struct err err;
        err_init(&err);
        pthread_mutex_unlock(&panels->lock);
        bool ok = load_chunk(panels, s, chunk, staging, &err);
        pthread_mutex_lock(&panels->lock);
        if (!ok && chunk < s->failed) {
            s->failed = chunk;
            s->err = err;
        }
        if (++s->done == s->chunks) {
            if (s->failed == UINT64_MAX)
                s->state = READY;
            else
                s->state = FAILED;
            pthread_cond_broadcast(&panels->changed);
        }
    }
}

/* With direct output, drops a stored matrix from the page cache after its last band was used. */
static void
drop_matrix(const struct panels *panels, const struct slot *s, unsigned p)
{
    const struct load *l = &s->load[p];
    uint64_t nbytes = l->strip.rows * l->strip.units * l->strip.unit_bytes;
    if (nbytes == 0 || l->first + l->units != l->strip.units || !sink_is_direct(panels->job->sink)
        || (l->tensor->layout && s->piece->kind != PIECE_VIEW))
        return;
    uint64_t from = l->tensor->extent.at + l->at - l->first * l->strip.unit_bytes;
    source_drop(panels->job->model->src[l->tensor->extent.file], from, from + nbytes);
}

static void
release(struct panels *panels, struct slot *s)
{
    if (--s->users != 0)
        return;
    if (s->state == FAILED)
        s->state = EMPTY;
    for (unsigned p = 0; p < SCHEME_PARTS; p++)
        drop_matrix(panels, s, p);
    pthread_cond_broadcast(&panels->changed);
}

const struct panel *
panels_take(struct panels *panels, const struct piece *piece, uint64_t element, uint8_t *staging, struct err *err)
{
    struct slot *s;
    pthread_mutex_lock(&panels->lock);
    bool ok = true;
    while ((s = find_slot(panels, piece, element)) == NULL && (ok = panel_begin(panels, piece, element, &s, err)) && !s)
        pthread_cond_wait(&panels->changed, &panels->lock);
    if (ok) {
        s->users++;
        s->stamp = ++panels->stamp;
        panel_load(panels, s, staging);
        if (s->state == FAILED) {
            *err = s->err;
            release(panels, s);
            ok = false;
        }
    }
    pthread_mutex_unlock(&panels->lock);
    if (ok)
        return &s->panel;
    return NULL;
}

void
panels_release(struct panels *panels, const struct panel *panel)
{
    pthread_mutex_lock(&panels->lock);
    release(panels, (struct slot *)panel);
    pthread_mutex_unlock(&panels->lock);
}

struct part_bytes
panel_part(const struct panel *panel, unsigned p, uint64_t element)
{
    struct part_bytes part = panel->part[p];
    if (panel->unit_rows[p] != 0)
        part.p += (element / panel->cols - panel->row) / panel->unit_rows[p] * part.stride;
    else
        part.stride = 0;
    return part;
}
