/* Composed tensors: orders of elements against indices counted one by one, ranges of random parts, and operations with their
 * inverses. test_layout runs composed tensors through the pipeline. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/composed.h"

enum { RANK = 4, MOST = 1 << 14, PARTS = 5 };

static uint32_t
random_below(uint32_t n)
{
    static uint32_t state = 24;
    state = state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(state >> 4) * n >> 28);
}

/* --- order */

/* An array whose elements are positions in the source, with its dimensions, built in the same steps as an order. */
struct array {
    uint32_t rank;
    uint64_t dim[LAYOUT_RANK];
    uint64_t *at;
};

static uint64_t
numel(const struct array *a)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < a->rank; i++)
        n *= a->dim[i];
    return n;
}

static bool
is_same(const struct strided *s, const struct array *a)
{
    bool same = s->layout.rank == a->rank;
    for (uint32_t i = 0; same && i < a->rank; i++)
        same = s->layout.dim[i].n == a->dim[i];
    for (uint64_t i = 0; same && i < numel(a); i++)
        same = s->first + layout_at(&s->layout, i) == a->at[i];
    return same;
}

/* Returns element i of the array with its dimensions permuted, found index by index. */
static void
permute(struct array *a, uint32_t d, const uint32_t *from, uint32_t n)
{
    uint64_t *at = malloc(MOST * sizeof *at), old[LAYOUT_RANK], count = numel(a);
    memcpy(old, a->dim, sizeof old);
    for (uint32_t i = 0; i < n; i++)
        a->dim[d + i] = old[d + from[i]];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t rest = i, index[LAYOUT_RANK], place = 0;
        for (uint32_t k = a->rank; k-- > 0; rest /= a->dim[k])
            index[k >= d && k < d + n ? d + from[k - d] : k] = rest % a->dim[k];
        for (uint32_t k = 0; k < a->rank; k++)
            place = place * old[k] + index[k];
        at[i] = a->at[place];
    }
    free(a->at);
    a->at = at;
}

static void
slice(struct array *a, uint32_t d, uint64_t from, uint64_t n)
{
    uint64_t inner = 1, count = numel(a), kept = 0;
    for (uint32_t k = d + 1; k < a->rank; k++)
        inner *= a->dim[k];
    for (uint64_t i = 0; i < count; i++)
        if (i / inner % a->dim[d] >= from && i / inner % a->dim[d] < from + n)
            a->at[kept++] = a->at[i];
    a->dim[d] = n;
}

/* Splits a dimension in two, swaps some, undoes that, repeats it, takes a slice. */
static void
check_step(struct strided *s, struct array *a)
{
    uint32_t d = random_below(a->rank), from[LAYOUT_RANK], back[LAYOUT_RANK];
    uint64_t two[2] = { 1 + random_below(4), 0 };
    two[1] = a->dim[d] / two[0];
    if (two[0] * two[1] != a->dim[d]) {
        struct strided same = *s;
        CHECK(!strided_split(s, d, two, 2) && memcmp(&same, s, sizeof same) == 0);
    } else {
        CHECK(strided_split(s, d, two, 2));
        memmove(&a->dim[d + 2], &a->dim[d + 1], (a->rank - d - 1) * sizeof *a->dim);
        memcpy(&a->dim[d], two, sizeof two);
        a->rank++;
    }
    CHECK(is_same(s, a));
    d = random_below(a->rank);
    uint32_t n = 1 + random_below(a->rank - d);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = random_below(i + 1);
        from[i] = from[k];
        from[k] = i;
    }
    for (uint32_t i = 0; i < n; i++)
        back[from[i]] = i;
    strided_permute(s, d, from, n);
    strided_permute(s, d, back, n);
    CHECK(is_same(s, a));
    strided_permute(s, d, from, n);
    permute(a, d, from, n);
    CHECK(is_same(s, a));
    d = random_below(a->rank);
    uint64_t first = random_below((uint32_t)a->dim[d]), count = 1 + random_below((uint32_t)(a->dim[d] - first));
    CHECK(!strided_slice(s, d, first, a->dim[d] - first + 1) && !strided_slice(s, d, a->dim[d] + 1, 0));
    CHECK(strided_slice(s, d, first, count));
    slice(a, d, first, count);
    CHECK(is_same(s, a));
}

static void
make_order(struct strided *s, struct array *a)
{
    a->rank = 1 + random_below(RANK);
    for (uint32_t i = 0; i < a->rank; i++)
        a->dim[i] = 1 + random_below(i == 0 && a->rank < RANK ? 24 : 9);
    a->at = malloc(MOST * sizeof *a->at);
    for (uint64_t i = 0; i < numel(a); i++)
        a->at[i] = i;
    strided_init(s, a->dim, a->rank);
    for (int step = 0; step < 3; step++)
        check_step(s, a);
}

/* --- parts */

static uint64_t reads;

/* The source of each part has the numbers 0, 1, 2 ... and the number of the part. */
static bool
read_numbers(void *of, size_t part, uint64_t first, uint64_t n, uint8_t *y, struct err *err)
{
    (void)of;
    (void)err;
    reads++;
    for (uint64_t i = 0; i < n; i++, y += sizeof(uint32_t)) {
        uint32_t x = (uint32_t)((first + i) * PARTS + part);
        memcpy(y, &x, sizeof x);
    }
    return true;
}

static bool
fail_to_read(void *of, size_t part, uint64_t first, uint64_t n, uint8_t *y, struct err *err)
{
    (void)of, (void)part, (void)first, (void)n, (void)y;
    return err_set(err, ERR_IO, "nothing is read");
}

static void
check_runs(struct catalog *memory, uint8_t *tile)
{
    static const struct weight weight;
    struct composed_part part[PARTS];
    size_t n = 1 + random_below(PARTS);
    uint32_t *want = malloc(PARTS * MOST * sizeof *want), all = 0;
    struct err err;
    err_init(&err);
    for (size_t i = 0; i < n; i++) {
        struct strided s;
        struct array a;
        make_order(&s, &a);
        CHECK(composed_part_make(&part[i], NULL, &weight, &s, memory, &err) && part[i].end == numel(&a));
        for (uint64_t k = 0; k < numel(&a); k++)
            want[all++] = (uint32_t)(a.at[k] * PARTS + i);
        part[i].end = all;
        free(a.at);
    }
    const struct composed composed = { .part = part, .n = n };
    uint8_t *y = malloc((size_t)all * sizeof *want + 1);
    for (int i = 0; i < 8; i++) {
        uint32_t first = i == 0 ? 0 : random_below(all), count = i == 0 ? all : 1 + random_below(all - first);
        size_t p = composed_find(&composed, first);
        CHECK(composed_begin(&composed, p) <= first && first < part[p].end);
        CHECK(composed_run(&composed, first, count, sizeof *want, y + 1, tile, read_numbers, NULL, &err)
            && memcmp(y + 1, want + first, count * sizeof *want) == 0);
    }
    CHECK(!composed_run(&composed, 0, all, sizeof *want, y, tile, fail_to_read, NULL, &err) && err.kind == ERR_IO);
    free(y);
    free(want);
}

/* Parts that alternate, with layouts of their own, against the same elements joined one by one. */
static void
check_alternating(struct catalog *memory, uint8_t *tile)
{
    static const struct weight weight;
    struct composed_part part[PARTS];
    struct array a[PARTS];
    size_t n = 1 + random_below(PARTS);
    uint64_t periods = 1 + random_below(40), all = 0, run[PARTS];
    struct err err;
    err_init(&err);
    for (size_t i = 0; i < n; i++) {
        struct strided s;
        run[i] = 1 + random_below(random_below(2) ? 3 : 200);
        a[i] = (struct array){ .rank = 2, .dim = { run[i], periods }, .at = malloc(MOST * sizeof *a[i].at) };
        for (uint64_t k = 0; k < numel(&a[i]); k++)
            a[i].at[k] = k;
        strided_init(&s, a[i].dim, 2);
        if (random_below(2)) {
            strided_permute(&s, 0, (const uint32_t[]){ 1, 0 }, 2);
            permute(&a[i], 0, (const uint32_t[]){ 1, 0 }, 2);
        }
        CHECK(composed_part_make(&part[i], NULL, &weight, &s, memory, &err));
        part[i].end = all += run[i];
    }
    const struct composed composed = { .part = part, .n = n, .period = all };
    uint64_t count = all * periods, from, to;
    uint32_t *want = malloc(count * sizeof *want), *y = malloc(count * sizeof *y);
    for (uint64_t i = 0; i < count; i++) {
        size_t p = composed_find(&composed, i);
        uint64_t place = i / all * run[p] + i % all - composed_begin(&composed, p);
        want[i] = (uint32_t)(a[p].at[place] * PARTS + p);
        CHECK(composed_run_length(&composed, i) == part[p].end - i % all);
        CHECK(composed_part_range(&composed, p, i, i + 1, &from, &to) && from == place && to == place + 1);
    }
    for (int i = 0; i < 4; i++) {
        uint32_t first = i == 0 ? 0 : random_below((uint32_t)count), some = (uint32_t)count - first;
        some = i == 0 ? some : 1 + random_below(some);
        CHECK(composed_run(&composed, first, some, sizeof *y, (uint8_t *)y, tile, read_numbers, NULL, &err)
            && memcmp(y, want + first, some * sizeof *y) == 0);
    }
    for (size_t i = 0; i < n; i++)
        free(a[i].at);
    free(want);
    free(y);
}

/* A transposed matrix is read by stored rows, not element by element. */
static void
check_reads(struct catalog *memory, uint8_t *tile)
{
    static const struct weight weight;
    static uint32_t y[512 * 300];
    const uint64_t dim[] = { 300, 512 };
    struct composed_part part;
    struct strided s;
    struct err err;
    err_init(&err);
    strided_init(&s, dim, 2);
    strided_permute(&s, 0, (const uint32_t[]){ 1, 0 }, 2);
    CHECK(composed_part_make(&part, NULL, &weight, &s, memory, &err));
    const struct composed composed = { .part = &part, .n = 1 };
    reads = 0;
    CHECK(composed_run(&composed, 0, 512 * 300, sizeof *y, (uint8_t *)y, tile, read_numbers, NULL, &err));
    CHECK(reads == 3 * 300);            /* a tile has 218 rows of 300 elements */
    CHECK(y[1] == 512 * PARTS && y[300] == PARTS);
}

/* --- operations */

static void
check_arithmetic(void)
{
    /* torch 2.15: (x + 1) * 3 of float32, and of float16 */
    const struct operation two[] = { { OPERATION_ADD, 1 }, { OPERATION_MULTIPLY, 3 } };
    float x[] = { 0x1p-11f, 0x1.8p-24f, -1, 1000.5f }, half[] = { 0x1p-11f, 0x1.8p-24f, -1, 1000.5f };
    const float want[] = { 0x1.803p+1f, 0x1.800004p+1f, 0, 0x1.779p+11f }, want_half[] = { 3, 3, 0, 3004 };
    operations_apply(two, 2, x, 4, false);
    operations_apply(two, 2, half, 4, true);
    for (int i = 0; i < 4; i++) {
        CHECK(x[i] == want[i]);
        CHECK(half[i] == want_half[i]);
    }
}

/* Inverse operations return the original values: all of them for additions and multiplications of BF16, those that the
 * definition promises for an exponential. */
static void
check_inverses(void)
{
    const struct operation ops[] = { { OPERATION_ADD, 1 }, { OPERATION_MULTIPLY, 3 }, { OPERATION_DIVIDE, 8 },
        { .kind = OPERATION_NEGATIVE_EXP } };
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        for (int i = 0; i < 500; i++) {
            float was = (float)((int)random_below(2048) - 1024) / 256, x = was;
            const struct operation back = operation_inverse(ops[k]);
            operations_apply(&ops[k], 1, &x, 1, false);
            CHECK(ops[k].kind != OPERATION_NEGATIVE_EXP || x < 0);
            operations_apply(&back, 1, &x, 1, false);
            CHECK(ops[k].kind == OPERATION_NEGATIVE_EXP ? fabsf(x - was) <= 0x1p-22f * fmaxf(fabsf(was), 1) : x == was);
        }
    struct operation log = { .kind = OPERATION_LOG_NEGATIVE };
    CHECK(operation_inverse(log).kind == OPERATION_NEGATIVE_EXP);
}

int
main(void)
{
    struct err err;
    err_init(&err);
    struct catalog *memory = catalog_new(&limits_default, &err);
    uint8_t *tile = malloc(COMPOSED_TILE);
    for (int i = 0; i < 200; i++)
        check_runs(memory, tile);
    for (int i = 0; i < 50; i++)
        check_alternating(memory, tile);
    check_reads(memory, tile);
    check_arithmetic();
    check_inverses();
    free(tile);
    catalog_free(memory);
    return check_done("composed");
}
