#include "source/fetch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "base/thread.h"
#include "source/fetch_run.h"
#include "source/source_priv.h"

/* Two windows are fetched ahead. The other four hold the windows being read: current and previous of one stream (another worker
 * may still be in it), and of a second, such as scales. */
enum { AHEAD = 2, SLOTS = AHEAD + 4, TRIES = 4 };

enum fetch_state { FETCH_EMPTY, FETCH_LOADING, FETCH_READY, FETCH_FAILED };

/* A file. */
struct fetched {
    struct source_layer layer;
    struct fetch *fetch;                /* borrowed */
    char *path;                         /* owned */
    uint64_t end;                       /* its size if its first window was short, as far as is known; else unknown */
    bool once;                          /* a command that fails is not run again */
};

struct fetch_slot {
    struct fetch *fetch;
    const struct fetched *of;
    uint64_t at;
    size_t n;                           /* bytes in it, once it is ready */
    uint8_t *p;                         /* owned; fetch->window bytes, and one */
    enum fetch_state state;
    unsigned users;
    uint64_t stamp;                     /* of the last use */
    struct err err;
    pthread_t thread;
    bool threaded;                      /* the thread must be joined */
    atomic_int pid;
    atomic_bool dropped;                /* the file was closed: stop fetching */
};

struct fetch {
    const char *command;                /* borrowed */
    uint64_t window;
    bool once;                          /* of the files that are opened */
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fetch_slot slot[SLOTS];
    uint64_t stamp;
};

struct fetch *
fetch_new(const char *command, uint64_t window, struct err *err)
{
    struct fetch *f = calloc(1, sizeof *f);
    if (!f) {
        err_memory(err, sizeof *f);
        return NULL;
    }
    f->command = command;
    if (window != 0)
        f->window = window;
    else
        f->window = FETCH_WINDOW;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    for (int i = 0; i < SLOTS; i++)
        f->slot[i].fetch = f;
    return f;
}

void
fetch_once(struct fetch *f, bool once)
{
    f->once = once;
}

/* --- one window */

/* Waits 0.5, 1 or 2 seconds. */
static void
wait_a_while(const struct fetch_slot *s, unsigned tries)
{
    const struct timespec tenth = { .tv_nsec = 100000000 };
    for (unsigned i = 0; i < 5u << tries && !atomic_load(&s->fetch->stop) && !atomic_load(&s->dropped); i++)
        nanosleep(&tenth, NULL);
}

/* Returns how many bytes of a window the header guarantees. */
static size_t
least(const struct fetched *file, uint64_t at, uint64_t window)
{
    uint64_t promised = file->layer.promised;
    if (promised > at)
        return (size_t)num_min(promised - at, window);
    return 0;
}

/* Fetches the window of a slot, with retries. Called without the lock. Where the file may end, the last byte of
 * the window before is fetched, too: servers refuse a range that begins at the end. */
static bool
fetch_fill(struct fetch_slot *s)
{
    const struct fetch *f = s->fetch;
    size_t need = least(s->of, s->at, f->window), before = need == 0 && s->at != 0;
    struct fetch_run run = { .command = f->command, .file = s->of->path, .at = s->at - before,
        .n = before + (need != 0 ? need : (size_t)f->window), .pid = &s->pid };
    if (!s->p && (s->p = malloc((size_t)f->window + 1)) == NULL)
        return err_memory(&s->err, f->window);
    run.p = s->p;
    for (unsigned i = 0; i < TRIES; i++) {
        if (i != 0)
            wait_a_while(s, i - 1);
        err_init(&s->err);
        if (fetch_run(&run, &s->err) && run.got >= need + before) {
            s->n = run.got - before;
            memmove(s->p, s->p + before, s->n);
            return true;
        }
        if (s->err.kind == ERR_NONE)
            err_at(&s->err, ERR_IO, run.at + run.got, "the fetch command returned %zu of %zu bytes that the %s promises",
                run.got, need + before, before ? "range before" : "header");
        if (s->of->once || atomic_load(&f->stop) || atomic_load(&s->dropped))
            break;
    }
    return false;
}

/* Fetches, and publishes the result. */
static void
fetch_load(struct fetch_slot *s)
{
    bool ok = fetch_fill(s);
    pthread_mutex_lock(&s->fetch->lock);
    if (ok)
        s->state = FETCH_READY;
    else
        s->state = FETCH_FAILED;
    pthread_cond_broadcast(&s->fetch->changed);
    pthread_mutex_unlock(&s->fetch->lock);
}

static void *
load_ahead(void *of)
{
    fetch_load(of);
    return NULL;
}

/* --- slots; the caller holds the lock */

static struct fetch_slot *
fetch_find(struct fetch *f, const struct fetched *file, uint64_t at)
{
    for (int i = 0; i < SLOTS; i++)
        if (f->slot[i].state != FETCH_EMPTY && f->slot[i].of == file && f->slot[i].at == at)
            return &f->slot[i];
    return NULL;
}

/* Returns the least recently used slot that is idle, prepared for a window; NULL if all are in use. */
static struct fetch_slot *
take_slot(struct fetch *f, const struct fetched *file, uint64_t at)
{
    struct fetch_slot *idle = NULL;
    for (int i = 0; i < SLOTS; i++) {
        struct fetch_slot *s = &f->slot[i];
        if (s->users == 0 && s->state != FETCH_LOADING && (!idle || s->stamp < idle->stamp))
            idle = s;
    }
    if (!idle)
        return NULL;
    if (idle->threaded)
        pthread_join(idle->thread, NULL);       /* it has published its result, so it ends now */
    idle->threaded = false;
    idle->of = file;
    idle->at = at;
    idle->state = FETCH_LOADING;
    atomic_store(&idle->dropped, false);
    idle->stamp = ++f->stamp;
    return idle;
}

static unsigned
loading(const struct fetch *f)
{
    unsigned n = 0;
    for (int i = 0; i < SLOTS; i++)
        n += f->slot[i].state == FETCH_LOADING;
    return n;
}

/* Starts to fetch the windows after this one, if the file is read in order and the header promises bytes in them. */
static void
look_ahead(struct fetch *f, const struct fetched *file, uint64_t at)
{
    if (at != 0 && !fetch_find(f, file, at - f->window))
        return;
    for (uint64_t i = 1; i <= AHEAD && loading(f) < AHEAD; i++) {
        uint64_t next = at + i * f->window;
        struct fetch_slot *s = NULL;
        if (least(file, next, f->window) != 0 && !fetch_find(f, file, next))
            s = take_slot(f, file, next);
        if (!s)
            continue;
        s->threaded = thread_start(&s->thread, load_ahead, s);
        if (!s->threaded)
            s->state = FETCH_EMPTY;
    }
}

static bool
is_short(const struct fetch_slot *s)
{
    return s->state == FETCH_READY && s->n < least(s->of, s->at, s->fetch->window);
}

/* Returns the window with a byte of the file, in use until release(), or NULL on failure. Takes and returns the lock. */
static struct fetch_slot *
take_window(struct fetch *f, const struct fetched *file, uint64_t at, struct err *err)
{
    struct fetch_slot *s;
    while ((s = fetch_find(f, file, at)) == NULL || s->state == FETCH_LOADING || is_short(s)) {
        if (s && s->state == FETCH_READY && s->users == 0) {
            s->state = FETCH_EMPTY;     /* the header promises more than came when it was not known */
            continue;
        }
        if (!s && (s = take_slot(f, file, at)) != NULL) {
            pthread_mutex_unlock(&f->lock);
            fetch_load(s);
            pthread_mutex_lock(&f->lock);
        } else {
            pthread_cond_wait(&f->changed, &f->lock);
        }
    }
    if (s->state == FETCH_FAILED) {
        *err = s->err;
        s->state = FETCH_EMPTY;
        return NULL;
    }
    s->stamp = ++f->stamp;
    s->users++;
    look_ahead(f, file, at);
    return s;
}

/* --- the layer */

static bool
fetched_some(struct source_layer *l, uint64_t at, void *buf, size_t n, size_t *got, struct err *err)
{
    struct fetched *file = (struct fetched *)l;
    struct fetch *f = file->fetch;
    uint64_t from = at / f->window * f->window;
    *got = 0;
    if (at >= l->size)
        return true;
    pthread_mutex_lock(&f->lock);
    struct fetch_slot *s = take_window(f, file, from, err);
    pthread_mutex_unlock(&f->lock);
    if (!s)
        return false;
    size_t skip = (size_t)(at - from);
    if (skip < s->n) {
        *got = num_min(n, s->n - skip);
        memcpy(buf, s->p + skip, *got);
    }
    pthread_mutex_lock(&f->lock);
    s->users--;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return true;
}

/* Ends the command that fills a slot. */
static void
drop(struct fetch_slot *s)
{
    int pid = atomic_load(&s->pid);
    atomic_store(&s->dropped, true);
    if (pid > 0)
        kill(-pid, SIGTERM);
}

static void
fetched_close(struct source_layer *l)
{
    struct fetched *file = (struct fetched *)l;
    struct fetch *f = file->fetch;
    pthread_mutex_lock(&f->lock);
    for (int i = 0; i < SLOTS; i++) {
        struct fetch_slot *s = &f->slot[i];
        while (s->of == file && s->state == FETCH_LOADING) {
            drop(s);
            pthread_cond_wait(&f->changed, &f->lock);
        }
        if (s->of == file)
            s->state = FETCH_EMPTY;
    }
    pthread_mutex_unlock(&f->lock);
    free(file->path);
    free(file);
}

static const struct layer_kind fetched_kind = { .seekable = true, .fetches = true, .some = fetched_some, .close = fetched_close };

uint64_t
fetch_end(const struct source_layer *l)
{
    if (l->kind == &fetched_kind)
        return ((const struct fetched *)l)->end;
    return l->size;
}

struct source_layer *
fetch_open(struct fetch *f, const char *path, struct err *err)
{
    struct fetched *file = calloc(1, sizeof *file);
    if (!file || (file->path = strdup(path)) == NULL) {
        free(file);
        err_memory(err, sizeof *file);
        return NULL;
    }
    file->fetch = f;
    file->once = f->once;
    file->layer.kind = &fetched_kind;
    file->layer.size = file->end = SOURCE_SIZE_UNKNOWN;
    pthread_mutex_lock(&f->lock);
    struct fetch_slot *s = take_window(f, file, 0, err);
    if (s && s->n < f->window)
        file->end = s->n;
    if (s)
        s->users--;
    pthread_mutex_unlock(&f->lock);
    if (s)
        return &file->layer;
    fetched_close(&file->layer);
    return NULL;
}

/* Stops what is still fetched ahead. */
void
fetch_free(struct fetch *f)
{
    if (!f)
        return;
    atomic_store(&f->stop, true);
    for (int i = 0; i < SLOTS; i++) {
        struct fetch_slot *s = &f->slot[i];
        drop(s);
        if (s->threaded)
            pthread_join(s->thread, NULL);
        free(s->p);
    }
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    free(f);
}
