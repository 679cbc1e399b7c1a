#include "base/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

struct cached {
    struct cached *next;                /* most recently taken first */
    const void *key;
    size_t size;
    unsigned users;
    uint64_t begun, done;               /* number of parts */
    uint64_t failed;                    /* lowest failed part, or UINT64_MAX */
    struct err err;
    _Alignas(LINE) float p[];
};

struct cache {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct cached *list;
    size_t idle, idle_bytes;
};

struct cache *
cache_new(size_t idle, size_t idle_bytes, struct err *err)
{
    struct cache *c = calloc(1, sizeof *c);
    if (!c) {
        err_memory(err, sizeof *c);
        return NULL;
    }
    c->idle = idle;
    c->idle_bytes = idle_bytes;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    return c;
}

void
cache_free(struct cache *c)
{
    if (!c)
        return;
    for (struct cached *a = c->list, *next; a; a = next) {
        next = a->next;
        free(a);
    }
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Frees arrays without users, except the most recent ones. The caller holds the lock. */
static void
drop_idle(struct cache *c)
{
    size_t n = 0, bytes = 0;
    for (struct cached **at = &c->list; *at;) {
        struct cached *a = *at;
        if (a->users != 0 || (n < c->idle && a->size <= c->idle_bytes - bytes)) {
            n += a->users == 0;
            if (a->users == 0)
                bytes += a->size;
            at = &a->next;
            continue;
        }
        *at = a->next;
        free(a);
    }
}

static struct cached *
new_cached(const void *key, size_t floats, struct err *err)
{
    struct cached *a = NULL;
    size_t size = (sizeof *a + floats * sizeof *a->p + LINE - 1) / LINE * LINE;
    if (floats <= SIZE_MAX / 2 / sizeof *a->p)
        a = aligned_alloc(LINE, size);
    if (!a) {
        err_memory(err, size);
        return NULL;
    }
    memset(a, 0, size);
    a->key = key;
    a->size = size;
    a->failed = UINT64_MAX;
    return a;
}

/* Finds or makes the array of a key, moves it to the head of the list and adds a user. The caller holds the lock. */
static struct cached *
cached_of(struct cache *c, const void *key, size_t floats, struct err *err)
{
    struct cached **at = &c->list;
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    struct cached *a = *at;
    if (a)
        *at = a->next;
    drop_idle(c);
    if (!a && !(a = new_cached(key, floats, err)))
        return NULL;
    a->next = c->list;
    a->users++;
    c->list = a;
    return a;
}

/* Fills parts until all are done, together with the other callers. The caller holds the lock. */
static void
fill_parts(struct cache *c, struct cached *a, const struct cache_fill *fill)
{
    while (a->done != fill->parts) {
        if (a->begun == fill->parts) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        uint64_t part = a->begun++;
        struct err err;
        err_init(&err);
        pthread_mutex_unlock(&c->lock);
        bool ok = fill->part(fill->of, part, a->p, &err);
        pthread_mutex_lock(&c->lock);
        if (!ok && part < a->failed) {
            a->failed = part;
            a->err = err;
        }
        if (++a->done != fill->parts)
            continue;
        if (fill->done && a->failed == UINT64_MAX)
            fill->done(fill->of, a->p);
        pthread_cond_broadcast(&c->changed);
    }
}

const float *
cache_take(struct cache *c, const void *key, const struct cache_fill *fill, struct err *err)
{
    pthread_mutex_lock(&c->lock);
    struct cached *a = cached_of(c, key, fill->floats, err);
    if (a)
        fill_parts(c, a, fill);
    if (a && a->failed != UINT64_MAX) {
        *err = a->err;
        a->users--;
        a = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    if (a)
        return a->p;
    return NULL;
}

void
cache_release(struct cache *c, const float *p)
{
    pthread_mutex_lock(&c->lock);
    for (struct cached *a = c->list; a; a = a->next)
        if (a->p == p)
            a->users--;
    pthread_mutex_unlock(&c->lock);
}
