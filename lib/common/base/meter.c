#include "base/meter.h"

#include <stddef.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)

static uint64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void
meter_init(struct meter *m, const char *phase)
{
    uint64_t time = now();
    *m = (struct meter){ .lock = PTHREAD_MUTEX_INITIALIZER, .phase = phase, .made = time, .began = time };
}

void
meter_phase(struct meter *m, const char *phase, uint64_t total)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->phase = phase;
    m->done = 0;
    m->total = total;
    m->began = now();
    pthread_mutex_unlock(&m->lock);
}

void
meter_spool(struct meter *m, uint64_t nbytes)
{
    meter_phase(m, "reading into a temporary file", nbytes);
    if (m && m->spools)
        m->spools(m->of, nbytes);
}

void
meter_add(struct meter *m, uint64_t nbytes)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->done += nbytes;
    pthread_mutex_unlock(&m->lock);
}

struct meter_reading
meter_read(struct meter *m)
{
    pthread_mutex_lock(&m->lock);
    uint64_t time = now();
    struct meter_reading r = {
        .phase = m->phase,
        .done = m->done,
        .total = m->total,
        .seconds = (double)(time - m->began) / (double)SECOND,
        .age = (double)(time - m->made) / (double)SECOND,
    };
    pthread_mutex_unlock(&m->lock);
    return r;
}
