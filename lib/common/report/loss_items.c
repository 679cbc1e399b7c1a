#include "report/loss_items.h"

#include <math.h>

double
loss_items_relative(double noise, double signal)
{
    if (noise == 0)
        return 0;
    return sqrt(noise / signal);
}

static bool
is_worse(double sqnr, double than)
{
    return sqnr < than || (isnan(sqnr) && !isnan(than));
}

void
loss_items_add_worst(struct loss_worst *w, size_t number, double sqnr)
{
    if (w->n == LOSS_WORST && !is_worse(sqnr, w->sqnr[LOSS_WORST - 1]))
        return;
    size_t i;
    if (w->n < LOSS_WORST)
        i = w->n++;
    else
        i = LOSS_WORST - 1;
    for (; i > 0 && is_worse(sqnr, w->sqnr[i - 1]); i--) {
        w->number[i] = w->number[i - 1];
        w->sqnr[i] = w->sqnr[i - 1];
    }
    w->number[i] = number;
    w->sqnr[i] = sqnr;
}
