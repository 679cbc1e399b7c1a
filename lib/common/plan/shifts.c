#include "plan/shifts.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/exact_sum.h"

enum { BASE, CHANGE, BOTH, REST, SUMS };

struct shift_sums {
    uint64_t n, moved;
    struct exact_sum sum[SUMS];
};

struct shifts {
    pthread_mutex_t lock;
    struct delta_shift {
        struct shift_sums *sums;        /* until all elements are added; owned */
        struct shift shift;             /* after that */
    } *list;                    /* n, by number of the delta */
    size_t n;
    struct shift_sums all;
    bool again, failed;         /* failed: an allocation */
};

struct shifts *
shifts_new(size_t n, bool again, struct err *err)
{
    struct shifts *s = calloc(1, sizeof *s);
    if (s)
        s->list = calloc(n + 1, sizeof *s->list);
    if (!s || !s->list) {
        free(s);
        err_memory(err, (n + 1) * sizeof *s->list);
        return NULL;
    }
    s->n = n;
    s->again = again;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void
shifts_free(struct shifts *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    for (size_t i = 0; i < s->n; i++)
        free(s->list[i].sums);
    free(s->list);
    free(s);
}

bool
shifts_again(const struct shifts *s)
{
    return s->again;
}

static struct shift
shifts_value_of(const struct shift_sums *s)
{
    double base = exact_sum_value(&s->sum[BASE]), change = exact_sum_value(&s->sum[CHANGE]);
    struct shift shift = { .n = s->n, .kept = NAN, .noise = NAN, .changed = s->n != 0 ? (double)s->moved / (double)s->n : 0 };
    if (change != 0) {
        shift.relative = sqrt(change) / sqrt(base);
        shift.kept = exact_sum_value(&s->sum[BOTH]) / change;
        shift.noise = sqrt(exact_sum_value(&s->sum[REST])) / sqrt(change);
    }
    return shift;
}

static void
add(struct shift_sums *to, const struct shift_lanes *from, uint64_t n)
{
    const double *const lanes[SUMS] = { from->base, from->change, from->both, from->rest };
    to->n += n;
    to->moved += from->moved;
    for (unsigned k = 0; k < SUMS; k++)
        for (unsigned i = 0; i < SHIFT_LANES; i++)
            exact_sum_add(&to->sum[k], lanes[k][i]);
}

void
shifts_add(struct shifts *s, const struct delta *delta, const struct shift_lanes *sum, uint64_t n, uint64_t total)
{
    struct delta_shift *d = &s->list[delta->number];
    pthread_mutex_lock(&s->lock);
    if (!d->sums && d->shift.n == 0 && (d->sums = calloc(1, sizeof *d->sums)) == NULL)
        s->failed = true;
    if (d->sums) {
        add(d->sums, sum, n);
        add(&s->all, sum, n);
    }
    if (d->sums && d->sums->n >= total) {        /* the sums are large, so they do not stay */
        d->shift = shifts_value_of(d->sums);
        free(d->sums);
        d->sums = NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

bool
shifts_check(const struct shifts *s, struct err *err)
{
    return !s->failed || err_memory(err, sizeof(struct shift_sums));
}

struct shift
shifts_of(const struct shifts *s, const struct delta *delta)
{
    const struct delta_shift *d = NULL;
    if (delta)
        d = &s->list[delta->number];
    if (!d)
        return shifts_value_of(&s->all);
    if (d->sums)
        return shifts_value_of(d->sums);
    return d->shift;
}
