/* test_cache: arrays are filled once, by all threads together; what fails, and what is kept. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/cache.h"
#include "base/thread.h"

enum { FLOATS = 64, PARTS = 16, THREADS = 4 };

struct filling {
    struct cache *cache;
    atomic_int calls, done;
    uint64_t fails;             /* from this part on */
};

static bool
part(const void *of, uint64_t number, float *p, struct err *err)
{
    struct filling *f = (struct filling *)of;
    f->calls++;
    p[number] += (float)(number + 1);
    return number < f->fails || err_at(err, ERR_MALFORMED, number, "part %d", (int)number);
}

static void
done(const void *of, float *p)
{
    ((struct filling *)of)->done++;
    p[PARTS] = p[0] + p[PARTS - 1];
}

static const float *
take(struct filling *f, const void *key, struct err *err)
{
    const struct cache_fill fill = { FLOATS, PARTS, part, done, f };
    err_init(err);
    return cache_take(f->cache, key, &fill, err);
}

static void *
use(void *of)
{
    struct filling *f = of;
    struct err err;
    const float *p = take(f, f, &err);
    bool right = p && p[0] == 1 && p[PARTS - 1] == PARTS && p[PARTS] == PARTS + 1 && p[FLOATS - 1] == 0 && (uintptr_t)p % 64 == 0;
    if (p)
        cache_release(f->cache, p);
    return right ? of : NULL;
}

static void
test_threads(struct cache *cache)
{
    struct filling f = { .cache = cache, .fails = PARTS };
    pthread_t thread[THREADS];
    int started = 0;
    while (started < THREADS && thread_start(&thread[started], use, &f))
        started++;
    CHECK(use(&f) != NULL);
    for (int i = 0; i < started; i++) {
        void *right = NULL;
        CHECK(pthread_join(thread[i], &right) == 0 && right);
    }
    CHECK(f.calls == PARTS && f.done == 1);
}

static void
test_failure(struct cache *cache)
{
    struct filling f = { .cache = cache, .fails = 3 };
    struct err err;
    for (int i = 0; i < 2; i++) {
        CHECK(!take(&f, &f, &err));
        CHECK(err.kind == ERR_MALFORMED && err.at == 3);
    }
    CHECK(f.calls == PARTS && f.done == 0);
}

/* Uses arrays of keys in turn; the one that was used longest ago goes first. */
static void
test_kept(size_t idle, size_t idle_bytes, int calls)
{
    static const char keys[4];
    static const int order[] = { 0, 1, 0, 1, 2, 1, 3, 0 };
    struct err err;
    err_init(&err);
    struct filling f = { .cache = cache_new(idle, idle_bytes, &err), .fails = PARTS };
    for (size_t i = 0; f.cache && i < sizeof order / sizeof *order; i++) {
        const float *p = take(&f, &keys[order[i]], &err);
        CHECK(p);
        cache_release(f.cache, p);
    }
    CHECK(f.calls == calls * PARTS);
    cache_free(f.cache);
}

int
main(void)
{
    struct err err;
    err_init(&err);
    struct cache *cache = cache_new(2, SIZE_MAX, &err);
    if (CHECK(cache)) {
        test_threads(cache);
        test_failure(cache);
    }
    cache_free(cache);
    cache_free(NULL);
    test_kept(2, SIZE_MAX, 5);          /* 0 1 2 3, and 0 again, which went when 3 came */
    test_kept(0, SIZE_MAX, 8);
    test_kept(2, 1, 8);
    return check_done("test_cache");
}
