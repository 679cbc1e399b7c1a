/* bench_encoders TYPE [LIBRARY]: print how many million elements a second one thread encodes to blocks of TYPE, with the
 * kernels of this CPU (AMN_CPU applies), with the scalar ones, and with ggml_quantize_chunk of a shared library of ggml; and
 * compare the bytes. One line: ours, scalar, ggml, "same" or the number of bytes that differ; "-" if something is not
 * available. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/err.h"
#include "dtype/dtype.h"
#include "kernel/encode_iq.h"
#include "kernel/kernels.h"

enum { ROWS = 64, COLS = 4096, IDS = 64, LEAST = 5 };

typedef size_t ggml_quantize_chunk(int type, const float *src, void *dst, int64_t start, int64_t nrows,
    int64_t n_per_row, const float *importance);

static float values[ROWS * COLS], importance[COLS];
static uint8_t ours[ROWS * COLS * 4], scalar[ROWS * COLS * 4], theirs[ROWS * COLS * 4];

/* Fills rows of approximately normal values with a different magnitude in each row, like weights. */
static void
fill(void)
{
    uint64_t seed = 14;

    for (size_t i = 0; i < ROWS * COLS; i++) {
        double sum = -6;

        for (int k = 0; k < 12; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(seed >> 40) / (1 << 24);
        }
        values[i] = (float)(sum * 0.02 * (1 + (double)(i / COLS) / 16));
    }
    for (size_t i = 0; i < COLS; i++)
        importance[i] = 0.25f + fabsf(values[i]);
}

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the fastest of a few runs, because other processes only slow it down, in million elements a second; negative: a
 * run failed. */
static double
rate(kernel_encode *encode, enum dtype dtype, ggml_quantize_chunk *chunk, int id, uint8_t *to, const float *weights)
{
    double best = 1e9, began = now();

    for (int run = 0; run < LEAST || (now() - began < 0.5 && run < 200); run++) {
        double start = now();

        if (encode ? !encode(dtype, to, values, ROWS, COLS, weights) : !chunk(id, values, to, 0, ROWS, COLS, weights))
            return -1;
        best = fmin(best, now() - start);
        if (run + 1 >= LEAST && now() - began > 5)
            break;
    }
    return ROWS * COLS / best / 1e6;
}

static int
find(enum dtype *dtype, const char *name)
{
    for (int id = 0; id < IDS; id++)
        if (dtype_from_ggml(dtype, (uint32_t)id) && strcasecmp(dtype_name(*dtype), name) == 0)
            return id;
    return -1;
}

static ggml_quantize_chunk *
load(const char *path)
{
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;

    if (path && !lib)
        fprintf(stderr, "bench_encoders: %s\n", dlerror());
    return lib ? (ggml_quantize_chunk *)dlsym(lib, "ggml_quantize_chunk") : NULL;
}

static void
figure(double rate)
{
    if (rate > 0)
        printf("%.4f ", rate);
    else
        printf("- ");
}

int
main(int argc, char **argv)
{
    struct err err = {.kind = ERR_NONE};
    const struct kernels *k = kernels_pick(getenv("AMN_CPU"), &err), *plain = kernels_pick("scalar", &err);
    ggml_quantize_chunk *chunk = load(argc > 2 ? argv[2] : NULL);
    enum dtype dtype;
    int id = argc > 1 ? find(&dtype, argv[1]) : -1;
    bool needs;

    if (!k || !plain || id < 0 || !k->encode[dtype] || !encode_grids_build(dtype, &err)) {
        fprintf(stderr, "bench_encoders: no encoder for %s\n", argc > 1 ? argv[1] : "nothing");
        return 1;
    }
    fill();
    needs = encode_needs_importance(dtype);

    size_t n = ROWS * COLS / dtype_facts(dtype)->elems * dtype_facts(dtype)->bytes, other = 0;
    const float *weights = needs ? importance : NULL;
    double mine = rate(k->encode[dtype], dtype, NULL, id, ours, weights);
    double slow = rate(plain->encode[dtype], dtype, NULL, id, scalar, weights);
    double their = chunk ? rate(NULL, dtype, chunk, id, theirs, weights) : -1;

    if (mine <= 0 || slow <= 0 || memcmp(ours, scalar, n) != 0) {
        fprintf(stderr, "bench_encoders: %s differs from the scalar one\n", argv[1]);
        return 1;
    }
    figure(mine), figure(slow), figure(their);
    for (size_t i = 0; their > 0 && i < n; i++)
        other += ours[i] != theirs[i];
    if (their > 0 && other)
        printf("%zu\n", other);
    else
        printf("%s\n", their > 0 ? "same" : "-");
    return 0;
}
