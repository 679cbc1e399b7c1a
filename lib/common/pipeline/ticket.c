#include "pipeline/ticket.h"

#include <time.h>

enum {
    SPIN_NS = 100000,                   /* how long a worker spins before it sleeps */
    SPIN_ITERATIONS = 64                /* iterations between two reads of the clock */
};

void
ticket_init(struct ticket *t, bool spins)
{
    t->spins = spins;
    atomic_init(&t->turn, 0);
    atomic_init(&t->sleepers, 0);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->turned, NULL);
}

void
ticket_clear(struct ticket *t)
{
    pthread_cond_destroy(&t->turned);
    pthread_mutex_destroy(&t->lock);
}

static uint64_t
now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Spins for a while. Returns true if it is this block's turn. */
static bool
spin(struct ticket *t, uint64_t block)
{
    for (uint64_t end = now_ns() + SPIN_NS; now_ns() < end;)
        for (int i = 0; i < SPIN_ITERATIONS; i++) {
            if (atomic_load_explicit(&t->turn, memory_order_acquire) == block)
                return true;
#ifdef __x86_64__
            __builtin_ia32_pause();
#endif
        }
    return false;
}

/* Sleeps until at least this turn. */
static void
sleep_until(struct ticket *t, uint64_t turn)
{
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleepers, 1);
    while (atomic_load(&t->turn) < turn)
        pthread_cond_wait(&t->turned, &t->lock);
    atomic_fetch_sub(&t->sleepers, 1);
    pthread_mutex_unlock(&t->lock);
}

/* Waking a thread costs as much as writing a block. So a thread sleeps only until one turn before its own, and spins while
 * the preceding block is written. */
void
ticket_wait(struct ticket *t, uint64_t block)
{
    if (t->spins && atomic_load(&t->turn) + 1 < block)
        sleep_until(t, block - 1);
    if (!t->spins || !spin(t, block))
        sleep_until(t, block);
}

void
ticket_pass(struct ticket *t, uint64_t block)
{
    atomic_store(&t->turn, block + 1);
    if (atomic_load(&t->sleepers) == 0)
        return;
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->turned);
    pthread_mutex_unlock(&t->lock);
}
