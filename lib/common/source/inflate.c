/* The members of a ZIP archive as a layer: inflated, each once, in file order.
 *
 * Threads inflate ahead of the reader, each one member at a time into a ring buffer of its own. They take the members in
 * order, so the member that the reader needs next is always assigned to one of them; without threads, the reader inflates it
 * itself. A thread is released when the reader moves on to the next member or skips some.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/num.h"
#include "base/search.h"
#include "base/thread.h"
#include "source/inflater_priv.h"
#include "source/source_priv.h"

enum {
    RINGS = 4,
    RING = (8 << 20) / RINGS,
    OUT_STEP = 256 << 10            /* bytes produced between two uses of the lock */
};

#define OUTPUT_FREE (UINT64_C(1) << 30)

struct inflate;

/* A thread and the bytes that it has inflated. */
struct ring {
    struct inflate *of;
    pthread_t thread;
    struct inflater *inflater;      /* owned */
    uint8_t *p;                     /* RING bytes; owned */
    size_t member;                  /* its current member, or SIZE_MAX */
    uint64_t made, taken;           /* bytes of the member: inflated, and given to the reader */
    bool failed;                    /* after `made` bytes, with err */
    struct err err;
};

struct inflate {
    struct source_layer layer;
    struct zip zip;                 /* owned */
    bool check;
    uint8_t *head;                  /* the first `have` bytes of the archive, owned; the layer below has the rest */
    uint64_t have, nbytes;          /* bytes of all members */

    /* Used by the reader only: */
    uint64_t given;                 /* bytes read of the current member */
    uint32_t crc;                   /* of those bytes, if the member is stored */
    struct inflater *own;           /* for use without threads; owned */
    bool started;                   /* start_threads() was called */
    unsigned nrings;

    pthread_mutex_t lock;           /* protects all that follows, and the counters of the rings */
    pthread_cond_t more, room;      /* signalled for the reader, and for the threads */
    bool quit;
    size_t i;                       /* the reader's current member; only the reader changes it */
    size_t next;                    /* first member that no thread has taken */
    struct ring ring[RINGS];
};

/* Reads the archive, from any thread. */
static bool
read_under(void *of, uint64_t at, void *buf, size_t n, struct err *err)
{
    const struct inflate *l = of;
    struct source_layer *under = l->layer.under;
    uint8_t *to = buf;
    for (size_t got = 0; n != 0; to += got, at += got, n -= got) {
        if (at < l->have) {
            got = (size_t)num_min(n, l->have - at);
            memcpy(to, l->head + at, got);
        } else if (!under->kind->some(under, at, to, n, &got, err)) {
            return false;
        } else if (got == 0) {
            return err_at(err, ERR_BUG, at, "read past the end");
        }
    }
    return true;
}

/* Takes the next deflated member. The caller holds the lock. */
static bool
take_member(struct inflate *l, struct ring *r)
{
    for (l->next = l->next < l->i ? l->i : l->next; l->next < l->zip.n; l->next++)
        if (l->zip.member[l->next].deflated && l->zip.member[l->next].nbytes != 0) {
            r->member = l->next++;
            r->made = r->taken = 0;
            r->failed = false;
            err_init(&r->err);
            inflater_begin(r->inflater, &l->zip.member[r->member], l->check);
            return true;
        }
    return false;
}

/* Returns true if the reader has finished the member of this ring, or everything. The caller holds the lock. */
static bool
is_past(const struct ring *r)
{
    return r->of->quit || r->member < r->of->i;
}

/* Inflates into the ring, at most `room` bytes at offset r->made. The caller does not hold the lock. */
static bool
inflate_fill(struct ring *r, size_t room, size_t *got)
{
    size_t from = (size_t)(r->made % RING);
    return inflater_some(r->inflater, read_under, r->of, r->p + from, (size_t)num_min(num_min(room, RING - from), OUT_STEP),
        got, &r->err);
}

static void *
inflate_ahead(void *of)
{
    struct ring *r = of;
    struct inflate *l = r->of;
    pthread_mutex_lock(&l->lock);
    while (!l->quit && take_member(l, r)) {
        pthread_cond_signal(&l->more);
        while (!is_past(r)) {
            size_t room = RING - (size_t)(r->made - r->taken), got = 0;
            if (r->failed || room == 0 || r->made == l->zip.member[r->member].nbytes) {
                pthread_cond_wait(&l->room, &l->lock);
                continue;
            }
            pthread_mutex_unlock(&l->lock);
            bool ok = inflate_fill(r, room, &got);
            pthread_mutex_lock(&l->lock);
            r->failed = !ok;
            if (ok)
                r->made += got;
            pthread_cond_signal(&l->more);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static unsigned
count_deflated(const struct zip *zip, unsigned most)
{
    unsigned n = 0;
    for (size_t i = 0; i < zip->n && n < most; i++)
        n += zip->member[i].deflated;
    return n;
}

/* Starts one thread per processor, but no more than there are deflated members. If some cannot be started, the others or the
 * reader do their work. */
static void
start_threads(struct inflate *l)
{
    unsigned n = count_deflated(&l->zip, (unsigned)num_min(RINGS, cpus_count()));
    struct err ignored;
    err_init(&ignored);
    l->started = true;
    pthread_mutex_lock(&l->lock);
    while (l->nrings < n) {
        struct ring *r = &l->ring[l->nrings];
        *r = (struct ring){ .of = l, .member = SIZE_MAX, .p = malloc(RING), .inflater = inflater_new(INFLATER_STEP, &ignored) };
        if (!r->p || !r->inflater || !thread_start(&r->thread, inflate_ahead, r)) {
            inflater_free(r->inflater);
            free(r->p);
            break;
        }
        l->nrings++;
    }
    pthread_mutex_unlock(&l->lock);
}

/* Returns the ring with the reader's current member, or NULL. The caller holds the lock. */
static struct ring *
ring_of(struct inflate *l)
{
    for (unsigned i = 0; i < l->nrings; i++)
        if (l->ring[i].member == l->i)
            return &l->ring[i];
    return NULL;
}

/* Copies bytes that a thread has inflated. Some thread takes the member in time, since all members before it are finished. */
static bool
some_ahead(struct inflate *l, uint8_t *buf, size_t n, size_t *got, struct err *err)
{
    struct ring *r;
    pthread_mutex_lock(&l->lock);
    while (!(r = ring_of(l)) || (r->made == r->taken && !r->failed))
        pthread_cond_wait(&l->more, &l->lock);
    size_t from = (size_t)(r->taken % RING);
    *got = (size_t)num_min(num_min(n, r->made - r->taken), RING - from);
    bool ok = *got != 0;
    pthread_mutex_unlock(&l->lock);
    if (!ok) {
        if (err->kind == ERR_NONE)
            *err = r->err;
        return false;
    }
    memcpy(buf, r->p + from, *got);
    pthread_mutex_lock(&l->lock);
    r->taken += *got;
    pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->lock);
    return true;
}

static bool
some_deflated(struct inflate *l, const struct zip_member *m, uint8_t *buf, size_t n, size_t *got, struct err *err)
{
    if (!l->started)
        start_threads(l);
    if (l->nrings != 0)
        return some_ahead(l, buf, n, got, err);
    if (!l->own && !(l->own = inflater_new(INFLATER_STEP, err)))
        return false;
    if (l->given == 0)
        inflater_begin(l->own, m, l->check);
    return inflater_some(l->own, read_under, l, buf, n, got, err);
}

static bool
some_stored(struct inflate *l, const struct zip_member *m, uint8_t *buf, size_t n, size_t *got, struct err *err)
{
    if (!read_under(l, m->at + l->given, buf, n, err))
        return false;
    *got = n;
    if (l->check)
        l->crc = zip_crc(l->crc, buf, n);
    else
        l->crc = m->crc;
    return l->given + n < m->nbytes || l->crc == m->crc
        || inflater_bad_crc(m, err);
}

/* Moves the reader to the beginning of member i. */
static void
go_to_member(struct inflate *l, size_t i)
{
    l->given = 0;
    l->crc = 0;
    pthread_mutex_lock(&l->lock);
    l->i = i;
    pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->lock);
}

static bool
inflate_some(struct source_layer *layer, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    struct inflate *l = (struct inflate *)layer;
    (void)at;
    *got = 0;
    while (l->i < l->zip.n && l->given == l->zip.member[l->i].nbytes)
        go_to_member(l, l->i + 1);
    if (l->i == l->zip.n)
        return true;
    const struct zip_member *m = &l->zip.member[l->i];
    n = (size_t)num_min(num_min(n, OUT_STEP), m->nbytes - l->given);
    bool ok;
    if (m->deflated)
        ok = some_deflated(l, m, buf, n, got, err);
    else
        ok = some_stored(l, m, buf, n, got, err);
    if (ok)
        l->given += *got;
    return ok;
}

static uint64_t
inflate_end_of(const void *members, size_t i)
{
    const struct zip_member *m = &((const struct zip_member *)members)[i];
    return m->out_at + m->nbytes;
}

/* Skips whole members only, so that a member that is read in part is still verified by its checksum. */
static uint64_t
inflate_skip(struct source_layer *layer, uint64_t to)
{
    struct inflate *l = (struct inflate *)layer;
    size_t i = search_end_after(l->zip.member, l->zip.n, inflate_end_of, to);
    if (i > l->i)
        go_to_member(l, i);
    if (l->i == l->zip.n)
        return l->nbytes;
    return l->zip.member[l->i].out_at + l->given;
}

static void
inflate_close(struct source_layer *layer)
{
    struct inflate *l = (struct inflate *)layer;
    pthread_mutex_lock(&l->lock);
    l->quit = true;
    pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->lock);
    for (unsigned i = 0; i < l->nrings; i++) {
        pthread_join(l->ring[i].thread, NULL);
        inflater_free(l->ring[i].inflater);
        free(l->ring[i].p);
    }
    pthread_cond_destroy(&l->room);
    pthread_cond_destroy(&l->more);
    pthread_mutex_destroy(&l->lock);
    inflater_free(l->own);
    l->zip.lent = false;
    zip_clear(&l->zip);
    free(l->head);
    free(l);
}

static const struct layer_kind inflate_kind = {
    .some = inflate_some,
    .close = inflate_close,
    .skip = inflate_skip,
};

/* Checks the total size of the deflated members. */
static bool
check_output(const struct zip *zip, uint64_t size, struct err *err)
{
    uint64_t sum = 0, most = UINT64_MAX;
    if (num_mul(&most, size, ZIP_OUTPUT_MAX) && !num_add(&most, most, OUTPUT_FREE))
        most = UINT64_MAX;
    for (size_t i = 0; i < zip->n; i++)
        sum += zip->member[i].deflated ? zip->member[i].nbytes : 0;     /* cannot overflow: zip_read() has checked the sum */
    return sum <= most || err_set(err, ERR_LIMIT, "inflated bytes: %" PRIu64 " from an archive of %"
        PRIu64 " bytes exceeds the limit of %" PRIu64 " (built in)", sum, size, most);
}

bool
source_inflate(struct source *src, struct zip *zip, bool check, struct err *err)
{
    if (!check_output(zip, src->size, err))
        return false;
    struct inflate *l = calloc(1, sizeof *l);
    if (!l)
        return err_memory(err, sizeof *l);
    const struct zip_member *last = NULL;
    if (zip->n != 0)
        last = &zip->member[zip->n - 1];
    zip->lent = true;
    l->layer = (struct source_layer){ .kind = &inflate_kind, .under = src->top, .size = SOURCE_SIZE_UNKNOWN };
    l->zip = *zip;
    l->check = check;
    l->head = src->head;
    l->have = src->have;
    if (last)
        l->nbytes = last->out_at + last->nbytes;
    else
        l->nbytes = 0;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    pthread_cond_init(&l->room, NULL);
    source_start_again(src, &l->layer);
    return true;
}
