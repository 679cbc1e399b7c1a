#include "family/moves.h"

#include <string.h>

#include "base/num.h"

void
moves_init(struct moves *m, const uint64_t *dim, uint32_t rank)
{
    strided_init(&m->s, dim, rank);
    m->rank = rank;
    memset(m->width, 1, sizeof m->width);
    m->open = MOVES_CLOSED;
    m->nopen = 0;
}

/* Returns the first dimension of `s` that belongs to dimension d. */
static uint32_t
moves_first_of(const struct moves *m, uint32_t d)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < d; i++)
        at += m->width[i];
    return at;
}

static uint64_t
product(const struct moves *m, uint32_t from, uint32_t to)
{
    uint64_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= m->s.layout.dim[i].n;
    return n;
}

uint64_t
moves_size(const struct moves *m, uint32_t d)
{
    uint32_t at = moves_first_of(m, d);
    return product(m, at, at + m->width[d]);
}

bool
moves_is_open(const struct moves *m, uint32_t d)
{
    uint32_t at = moves_first_of(m, d);
    return m->open != MOVES_CLOSED && m->open >= at && m->open < at + m->width[d];
}

/* Dimensions of `s` that will replace the `s` dimensions of one dimension, collected from the innermost outwards. */
struct regroup {
    struct layout_dim dim[2 * LAYOUT_RANK];
    uint32_t n;
    uint8_t width[LAYOUT_RANK];         /* of each new dimension */
};

static bool
moves_take(struct regroup *r, uint32_t of, uint64_t n, uint64_t stride)
{
    if (r->n == 2 * LAYOUT_RANK || r->width[of] == LAYOUT_RANK)
        return false;
    r->dim[r->n++] = (struct layout_dim){ n, stride };
    r->width[of]++;
    return true;
}

/* Distributes the dimensions of `s` in [at, at + width) to n new ones. */
static bool
distribute(struct regroup *r, const struct moves *m, uint32_t at, uint32_t width, const uint64_t *size, uint32_t n)
{
    uint32_t i = width;
    struct layout_dim have = { 1, 0 };
    for (uint32_t j = n; j-- > 0;) {
        uint64_t want = size[j];
        while (want != 1) {
            if (have.n == 1 && i == 0)
                return false;
            if (have.n == 1)
                have = m->s.layout.dim[at + --i];
            if (have.n == 1)
                continue;
            uint64_t some;
            if (have.n % want == 0)
                some = want;
            else
                some = have.n;
            if (want % some != 0 || !moves_take(r, j, some, have.stride))
                return false;
            have = (struct layout_dim){ have.n / some, have.stride * some };
            want /= some;
        }
        if (r->width[j] == 0 && !moves_take(r, j, 1, 1))
            return false;
    }
    return true;
}

bool
moves_view(struct moves *m, uint32_t d, const uint64_t *size, uint32_t n)
{
    struct layout *l = &m->s.layout;
    uint32_t at = moves_first_of(m, d), width = m->width[d];
    uint64_t all = 1;
    struct regroup r = { .n = 0 };
    for (uint32_t i = 0; i < n; i++)
        if (size[i] == 0 || !num_mul(&all, all, size[i]))
            return false;
    if (n == 0 || n > LAYOUT_RANK || all != moves_size(m, d) || !distribute(&r, m, at, width, size, n)
            || l->rank - width + r.n > LAYOUT_RANK || m->rank + n - 1 > LAYOUT_RANK)
        return false;
    memmove(&l->dim[at + r.n], &l->dim[at + width], (l->rank - at - width) * sizeof *l->dim);
    for (uint32_t i = 0; i < r.n; i++)
        l->dim[at + i] = r.dim[r.n - 1 - i];
    l->rank = l->rank - width + r.n;
    memmove(&m->width[d + n], &m->width[d + 1], m->rank - d - 1);
    memcpy(&m->width[d], r.width, n);
    m->rank += n - 1;
    if (m->open != MOVES_CLOSED && m->open >= at + width)
        m->open += r.n - width;
    return true;
}

/* Joins neighbours in a dimension that follow each other without a gap, and drops dimensions of one element: the result
 * can be divided at more places. */
static void
coalesce(struct moves *m, uint32_t d)
{
    struct layout *l = &m->s.layout;
    uint32_t at = moves_first_of(m, d), end = at + m->width[d], to = at;
    for (uint32_t i = at + 1; i < end; i++) {
        struct layout_dim *a = &l->dim[to], b = l->dim[i];
        if (a->n == 1)
            *a = b;
        else if (a->stride == b.n * b.stride)
            *a = (struct layout_dim){ a->n * b.n, b.stride };
        else if (b.n != 1)
            l->dim[++to] = b;
    }
    uint32_t gone = end - to - 1;
    memmove(&l->dim[to + 1], &l->dim[end], (l->rank - end) * sizeof *l->dim);
    l->rank -= gone;
    m->width[d] = (uint8_t)(m->width[d] - gone);
    if (m->open != MOVES_CLOSED && m->open >= end)
        m->open -= gone;
}

void
moves_merge(struct moves *m, uint32_t d, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        m->width[d] = (uint8_t)(m->width[d] + m->width[d + i]);
    memmove(&m->width[d + 1], &m->width[d + n], m->rank - d - n);
    m->rank -= n - 1;
    if (!moves_is_open(m, d))
        coalesce(m, d);
}

void
moves_permute(struct moves *m, uint32_t d, const uint32_t *from, uint32_t n)
{
    const struct moves was = *m;
    for (uint32_t i = 0, to = moves_first_of(m, d); i < n; i++) {
        uint32_t at = moves_first_of(&was, d + from[i]), width = was.width[d + from[i]];
        memcpy(&m->s.layout.dim[to], &was.s.layout.dim[at], width * sizeof *was.s.layout.dim);
        m->width[d + i] = (uint8_t)width;
        if (was.open != MOVES_CLOSED && was.open >= at && was.open < at + width)
            m->open = to + was.open - at;
        to += width;
    }
}

void
moves_swap(struct moves *m, uint32_t d, uint32_t e)
{
    uint32_t from[LAYOUT_RANK], low = d < e ? d : e, high = d < e ? e : d;
    for (uint32_t i = low; i <= high; i++)
        from[i - low] = i - low;
    from[0] = high - low;
    from[high - low] = 0;
    moves_permute(m, low, from, high - low + 1);
}

bool
moves_slice(struct moves *m, uint32_t d, uint64_t from, uint64_t n)
{
    uint32_t at = moves_first_of(m, d), end = at + m->width[d];
    while (at + 1 < end && m->s.layout.dim[at].n == 1)
        at++;
    uint64_t inner = product(m, at + 1, end);
    return n != 0 && inner != 0 && from % inner == 0 && n % inner == 0 && strided_slice(&m->s, at, from / inner, n / inner);
}

bool
moves_insert(struct moves *m, uint32_t d)
{
    struct layout *l = &m->s.layout;
    uint32_t at = moves_first_of(m, d);
    if (l->rank == LAYOUT_RANK || m->rank == LAYOUT_RANK)
        return false;
    memmove(&l->dim[at + 1], &l->dim[at], (l->rank - at) * sizeof *l->dim);
    l->dim[at] = (struct layout_dim){ 1, 1 };
    l->rank++;
    memmove(&m->width[d + 1], &m->width[d], m->rank - d);
    m->width[d] = 1;
    m->rank++;
    if (m->open != MOVES_CLOSED && m->open >= at)
        m->open++;
    return true;
}

void
moves_shift(struct moves *m)
{
    uint32_t width = m->width[0];
    m->s.layout.rank -= width;
    memmove(m->s.layout.dim, m->s.layout.dim + width, m->s.layout.rank * sizeof *m->s.layout.dim);
    m->rank--;
    memmove(m->width, m->width + 1, m->rank);
}

void
moves_set_open(struct moves *m, uint32_t d)
{
    m->open = moves_first_of(m, d);
    m->nopen = m->width[d];
}

uint64_t
moves_outer(const struct moves *m)
{
    return product(m, 0, m->open);
}

uint64_t
moves_run(const struct moves *m)
{
    return product(m, m->open, m->s.layout.rank);
}
