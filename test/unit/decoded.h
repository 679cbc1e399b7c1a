/* decoded: builds a model in memory and checks the values that a scheme decodes: every range of elements equals that part of
 * the whole. */
#ifndef DECODED_H
#define DECODED_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernel/kernels.h"
#include "scheme/roles.h"

enum { ARENA = 1 << 20 };

/* --- a model in memory */

static uint8_t arena[ARENA];        /* data of all tensors */
static size_t used;
static uint64_t read_limit;         /* a read of more bytes fails the test */

static inline bool
read_arena(void *of, const struct tensor *t, void *buf, struct err *err)
{
    (void)of, (void)err;
    CHECK(t->extent.nbytes <= read_limit);
    memcpy(buf, arena + t->extent.at, (size_t)t->extent.nbytes);
    return true;
}

static const struct contents contents = { read_arena, NULL };

static inline struct catalog *
model_new(struct err *err)
{
    err_init(err);
    used = 0;
    read_limit = 64 << 10;
    struct catalog *c = catalog_new(&limits_default, err);
    catalog_facts(c)->format = "safetensors";
    return c;
}

/* Adds a tensor of `rows` x `cols`, of rank 1 if cols is 0. Copies its data. */
static inline void
add(struct catalog *c, const char *name, enum dtype dtype, uint64_t rows, uint64_t cols, const void *data)
{
    uint64_t dim[2] = { rows, cols };
    uint8_t packed[2 * SHAPE_DIM];
    uint64_t nbytes = rows * (cols ? cols : 1) * dtype_facts(dtype)->bytes;
    struct err err;
    err_init(&err);
    struct tensor t = { .name = name, .name_len = (uint32_t)strlen(name), .dtype = dtype,
        .shape = { cols ? 2 : 1, packed }, .extent = { .at = used, .nbytes = nbytes } };
    shape_pack(packed, dim, 2);
    if (!CHECK(used + nbytes <= ARENA))
        exit(1);
    if (nbytes != 0)
        memcpy(arena + used, data, (size_t)nbytes);
    used += nbytes;
    CHECK(catalog_add(c, &t, &err));
}

/* --- decoding through a scheme */

/* Allocates part p, a STRIP of one matrix: the units of the output rows in the run. */
static inline uint8_t *
copy_strip(const struct weight *w, unsigned p, uint64_t first, uint64_t count, size_t *stride)
{
    uint64_t cols = shape_dim(&w->shape, 1), row = first / cols, rows = (first + count - 1) / cols - row + 1;
    struct strip s;
    w->scheme->strip(&s, w, p);
    CHECK(s.matrices == 1 && s.unit_rows == 1 && row + rows <= s.units);
    *stride = (size_t)s.rows * s.unit_bytes;
    uint8_t *y = malloc((size_t)rows * *stride + 1);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t i = 0; i < s.rows; i++)
            memcpy(y + r * *stride + i * s.unit_bytes,
                arena + w->part[p]->extent.at + (i * s.units + row + r) * s.unit_bytes, s.unit_bytes);
    return y;
}

/* Decodes elements [first, first + count) like the pipeline. Every part has its own allocation, so that a sanitizer detects
 * an access outside its span. */
static inline void
decode(const struct weight *w, const struct kernels *k, uint64_t first, uint64_t count, enum dtype to, void *y)
{
    struct part_bytes in[SCHEME_PARTS];
    uint8_t *copy[SCHEME_PARTS];
    for (unsigned p = 0; p < SCHEME_PARTS; p++) {
        enum need need = weight_need(w, p);
        struct span s = { .len = need == NEED_WHOLE ? w->part[p]->extent.nbytes : 0 };
        size_t stride = 0;
        if (weight_has_run(w, p))
            w->scheme->run(&s, w, p, first, count);
        if (need == NEED_STRIP) {
            copy[p] = copy_strip(w, p, first, count, &stride);
            in[p] = (struct part_bytes){ .p = copy[p], .stride = stride };
            continue;
        }
        copy[p] = malloc((size_t)s.len + (s.len == 0));
        CHECK(s.len == 0 || s.at + s.len <= w->part[p]->extent.nbytes);
        if (s.len != 0)
            memcpy(copy[p], arena + w->part[p]->extent.at + s.at, (size_t)s.len);
        in[p] = (struct part_bytes){ .p = s.len != 0 ? copy[p] : NULL, .at = s.at };
    }
    void *room = malloc(w->scheme->room);
    scheme_decode(&(const struct decoding){ w, k, in, first, count, to, room, false }, y);
    free(room);
    for (unsigned p = 0; p < SCHEME_PARTS; p++)
        free(copy[p]);
}

static inline const struct weight *
only_weight(const struct roles *roles)
{
    return CHECK(roles_weight_count(roles) == 1) ? roles_weight(roles, 0) : (exit(1), NULL);
}

static uint32_t state = 1;

static inline uint32_t
next(void)
{
    return state = state * 1664525u + 1013904223u;
}

static inline void
fill(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(next() >> 24);
}

/* Checks random ranges with every set of kernels and every target against the scalar floats, rounded. */
static inline void
check_runs(const struct weight *w, size_t n)
{
    static const char *const sets[] = { "scalar", "avx2" };
    static const enum dtype targets[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
    struct err err;
    err_init(&err);
    const struct kernels *scalar = kernels_pick("scalar", &err);
    float *whole = malloc(n * sizeof *whole), *scratch = malloc(n * sizeof *scratch);
    uint8_t *expected = malloc(4 * n), *got = malloc(4 * n);
    decode(w, scalar, 0, n, DTYPE_F32, whole);
    for (size_t s = 0; s < 2; s++) {
        err_init(&err);
        const struct kernels *k = kernels_pick(sets[s], &err);
        for (size_t t = 0; k && t < 3; t++) {
            size_t size = dtype_facts(targets[t])->bytes;
            bool same = true;
            memcpy(scratch, whole, n * sizeof *scratch);
            kernels_round(scalar, targets[t], expected, scratch, n);
            for (int trial = 0; trial < 60; trial++) {
                size_t first = trial ? next() % n : 0, count = trial ? 1 + next() % (n - first) : n;
                if (trial % 3 == 1)
                    count = 1 + count % 5 % (n - first);
                decode(w, k, first, count, targets[t], got);
                same = same && memcmp(got, expected + first * size, count * size) == 0;
            }
            CHECK_ROW(same, sets[s]);
        }
    }
    free(whole);
    free(scratch);
    free(expected);
    free(got);
}

#endif
