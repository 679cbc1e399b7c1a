#include "kernel/lowrank.h"

static double
element(const struct lowrank *p, size_t row, size_t col)
{
    double t = 0;
    for (size_t k = 0; k < p->rank; k++)
        t += p->l[row * p->rank + k] * (double)p->r[lowrank_at(p->rank, k, col)];
    return t;
}

void
lowrank_product(double *v, size_t stride, const struct lowrank *p)
{
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->cols; j++)
            v[i * stride + j] = element(p, i, p->first + j);
}

void
lowrank_add(double *v, size_t stride, const struct lowrank *p)
{
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < p->cols; j++) {
            double product = p->s * element(p, i, p->first + j);
            v[i * stride + j] += product;
        }
}
