#include "adapter/resident.h"

#include <pthread.h>
#include <stdlib.h>

enum { IDLE_BYTES = 8 << 20, IDLE_MAX = 256 };      /* the list is searched from the front */

struct resident {
    struct resident *next;              /* most recently taken first */
    const void *key;
    size_t size;
    unsigned users;
    bool ready, failed;
    struct err err;
    _Alignas(64) float p[];
};

struct residents {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct resident *list;
};

struct residents *
residents_new(struct err *err)
{
    struct residents *r = calloc(1, sizeof *r);
    if (!r) {
        err_memory(err, sizeof *r);
        return NULL;
    }
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    return r;
}

void
residents_free(struct residents *r)
{
    if (!r)
        return;
    for (struct resident *f = r->list, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* Frees those without users beyond the bytes that are kept, and those that failed. */
static void
forget(struct residents *r)
{
    size_t idle = 0, n = 0;
    for (struct resident **at = &r->list; *at;) {
        struct resident *f = *at;
        idle += f->users == 0 ? f->size : 0;
        n += f->users == 0;
        if (f->users != 0 || (idle <= IDLE_BYTES && n <= IDLE_MAX && !f->failed)) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        idle -= f->size;
        free(f);
    }
}

/* Finds or makes the entry of a key and moves it to the front. The caller holds the lock. */
static struct resident *
find(struct residents *r, const void *key, size_t floats, bool *made, struct err *err)
{
    struct resident **at = &r->list, *f;
    size_t size = (sizeof *f + floats * sizeof *f->p + 63) / 64 * 64;
    while (*at && ((*at)->key != key || (*at)->failed))
        at = &(*at)->next;
    *made = !*at;
    if (*at) {
        f = *at;
        *at = f->next;
    } else if ((f = aligned_alloc(64, size)) != NULL) {
        *f = (struct resident){ .key = key, .size = size };
    } else {
        err_memory(err, size);
        return NULL;
    }
    f->next = r->list;
    r->list = f;
    f->users++;
    return f;
}

const float *
residents_take(struct residents *r, const void *key, size_t floats, resident_load *load, const void *of,
    struct err *err)
{
    bool made;
    pthread_mutex_lock(&r->lock);
    struct resident *f = find(r, key, floats, &made, err);
    if (f && made) {
        struct err own;
        err_init(&own);
        pthread_mutex_unlock(&r->lock);
        bool ok = load(of, f->p, &own);
        pthread_mutex_lock(&r->lock);
        f->err = own;
        f->ready = true;
        f->failed = !ok;
        pthread_cond_broadcast(&r->changed);
    }
    while (f && !f->ready)
        pthread_cond_wait(&r->changed, &r->lock);
    if (f && f->failed) {
        *err = f->err;
        f->users--;
        f = NULL;
    }
    forget(r);
    pthread_mutex_unlock(&r->lock);
    return f ? f->p : NULL;
}

void
residents_release(struct residents *r, const float *p)
{
    pthread_mutex_lock(&r->lock);
    for (struct resident *f = r->list; f; f = f->next)
        if (f->p == p) {
            f->users--;
            break;
        }
    forget(r);
    pthread_mutex_unlock(&r->lock);
}
