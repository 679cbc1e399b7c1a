#include "pipeline/surveys.h"

#include <pthread.h>
#include <stdlib.h>

enum { IDLE = 2 };                      /* weights without users whose facts are kept */

struct facts {
    struct facts *next;                 /* in order of last use */
    const struct encoding *encoding;
    unsigned users;
    uint64_t begun, done;               /* number of regions */
    uint64_t failed;                    /* lowest failed region, or UINT64_MAX */
    struct err err;
    float f[];
};

struct surveys {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct facts *list;                 /* most recently taken first */
};

struct surveys *
surveys_new(struct err *err)
{
    struct surveys *s = calloc(1, sizeof *s);
    if (!s) {
        err_memory(err, sizeof *s);
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    return s;
}

void
surveys_free(struct surveys *s)
{
    if (!s)
        return;
    for (struct facts *f = s->list, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* Frees facts without users, except the most recent ones. */
static void
forget(struct surveys *s)
{
    unsigned idle = 0;
    for (struct facts **at = &s->list; *at;) {
        struct facts *f = *at;
        if (f->users != 0 || idle++ < IDLE) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        free(f);
    }
}

/* Finds or creates the facts of a weight, moves them to the head of the list and adds a user. */
static struct facts *
find(struct surveys *s, const struct encoding *e, struct err *err)
{
    struct facts **at = &s->list, *f;
    while (*at && (*at)->encoding != e)
        at = &(*at)->next;
    if ((f = *at) != NULL) {
        *at = f->next;
    } else {
        size_t size = sizeof *f + (size_t)e->nfacts * sizeof *f->f;
        if (e->nfacts > SIZE_MAX / 2 / sizeof *f->f || (f = calloc(1, size)) == NULL) {
            err_memory(err, size);
            return NULL;
        }
        f->encoding = e;
        f->failed = UINT64_MAX;
    }
    f->next = s->list;
    f->users++;
    s->list = f;
    forget(s);
    return f;
}

/* Surveys regions until all are done, together with the other callers. */
static void
survey(struct surveys *s, struct facts *f, const struct surveyor *by)
{
    const struct encoding *e = f->encoding;
    while (f->done != e->nregions) {
        if (f->begun == e->nregions) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        uint64_t region = f->begun++;
        struct err err;
        err_init(&err);
        pthread_mutex_unlock(&s->lock);
        bool ok = by->survey(by->of, e, region, f->f, &err);
        pthread_mutex_lock(&s->lock);
        if (!ok && region < f->failed) {
            f->failed = region;
            f->err = err;
        }
        if (++f->done != e->nregions)
            continue;
        if (e->encoder->settle && f->failed == UINT64_MAX)
            e->encoder->settle(e, f->f);
        pthread_cond_broadcast(&s->changed);
    }
}

const float *
surveys_take(struct surveys *s, const struct encoding *e, const struct surveyor *by, struct err *err)
{
    pthread_mutex_lock(&s->lock);
    struct facts *f = find(s, e, err);
    if (f)
        survey(s, f, by);
    if (f && f->failed != UINT64_MAX) {
        *err = f->err;
        f->users--;
        f = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    return f ? f->f : NULL;
}

void
surveys_release(struct surveys *s, const float *facts)
{
    pthread_mutex_lock(&s->lock);
    for (struct facts *f = s->list; f; f = f->next)
        if (f->f == facts)
            f->users--;
    pthread_mutex_unlock(&s->lock);
}
