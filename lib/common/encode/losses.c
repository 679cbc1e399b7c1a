#include "encode/losses.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/exact_sum.h"
#include "base/real.h"

struct loss_sums {
    uint64_t n;
    float most;
    struct exact_sum distance, noise, signal, back, both;
};

struct losses {
    pthread_mutex_t lock;
    struct weight_loss {
        struct loss_sums *sums;      /* until the weight is complete; owned */
        struct loss loss;       /* after that */
    } *list;                    /* n, by number */
    size_t n;
    struct loss_sums all;            /* of the complete weights */
    bool failed;                /* an allocation failed */
};

struct losses *
losses_new(size_t n, struct err *err)
{
    struct losses *l = calloc(1, sizeof *l);
    if (!l) {
        err_memory(err, sizeof *l);
        return NULL;
    }
    l->n = n;
    l->list = calloc(l->n + 1, sizeof *l->list);
    if (!l->list) {
        err_memory(err, (l->n + 1) * sizeof *l->list);
        free(l);
        return NULL;
    }
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void
losses_free(struct losses *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    for (size_t i = 0; i < l->n; i++)
        free(l->list[i].sums);
    free(l->list);
    free(l);
}

static void
add_lanes(struct exact_sum *to, const double lanes[LOSS_LANES])
{
    for (unsigned i = 0; i < LOSS_LANES; i++)
        exact_sum_add(to, lanes[i]);
}

static void
losses_join(struct loss_sums *to, const struct loss_sums *from)
{
    to->n += from->n;
    if (from->most > to->most)
        to->most = from->most;
    exact_sum_join(&to->distance, &from->distance);
    exact_sum_join(&to->noise, &from->noise);
    exact_sum_join(&to->signal, &from->signal);
    exact_sum_join(&to->back, &from->back);
    exact_sum_join(&to->both, &from->both);
}

double
losses_sqnr(double signal, double noise)
{
    double ratio = signal / noise;
    if (noise == 0 || ratio == 0 || !isfinite(ratio))
        return noise == 0 ? INFINITY : ratio == 0 ? -INFINITY : ratio;
    return real_log2(ratio) * 0x1.8151824c7587fp+1;     /* 10 log10(2) */
}

static struct loss
losses_value_of(const struct loss_sums *s)
{
    double noise = exact_sum_value(&s->noise), signal = exact_sum_value(&s->signal), back = exact_sum_value(&s->back);
    double length = sqrt(signal) * sqrt(back);
    return (struct loss){
        .n = s->n,
        .distance = s->n != 0 ? exact_sum_value(&s->distance) / (double)s->n : 0,
        .most = s->most,
        .sqnr = losses_sqnr(signal, noise),
        .cosine = length > 0 || isnan(length) ? exact_sum_value(&s->both) / length : noise == 0,
        .noise = noise,
        .signal = signal,
    };
}

/* Computes the results of a weight that is completely added, and frees its sums. */
static void
complete(struct losses *l, struct weight_loss *w)
{
    w->loss = losses_value_of(w->sums);
    losses_join(&l->all, w->sums);
    free(w->sums);
    w->sums = NULL;
}

void
losses_add(struct losses *l, size_t number, const struct loss_lanes *sum, uint64_t n, uint64_t total)
{
    struct weight_loss *w = &l->list[number];
    pthread_mutex_lock(&l->lock);
    struct loss_sums *s = w->sums = w->sums ? w->sums : calloc(1, sizeof *s);
    l->failed = l->failed || !s;
    if (s) {
        s->n += n;
        for (unsigned i = 0; i < LOSS_LANES; i++)
            s->most = sum->most[i] > s->most ? sum->most[i] : s->most;
        add_lanes(&s->distance, sum->distance);
        add_lanes(&s->noise, sum->noise);
        add_lanes(&s->signal, sum->signal);
        add_lanes(&s->back, sum->back);
        add_lanes(&s->both, sum->both);
        if (s->n == total)
            complete(l, w);
    }
    pthread_mutex_unlock(&l->lock);
}

bool
losses_check(const struct losses *l, struct err *err)
{
    return !l->failed || err_memory(err, sizeof(struct loss_sums));
}

struct loss
losses_of(const struct losses *l, size_t number)
{
    return l->list[number].loss;
}

struct loss
losses_all(const struct losses *l)
{
    return losses_value_of(&l->all);
}
