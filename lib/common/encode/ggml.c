/* A row of floats becomes a row of blocks; a weight is not encoded if the block does not divide its row length. Without
 * importance any run of blocks can be encoded by itself, otherwise only whole rows. */
#include "encode/ggml.h"

#include <inttypes.h>
#include <math.h>

#include "base/str.h"
#include "dtype/ggml_block.h"
#include "encode/solve_ggml.h"
#include "encode/table.h"

/* Returns the number of columns that are encoded together. */
static uint64_t
run_of(const struct encoding *e)
{
    if (e->importance)
        return e->cols;
    return dtype_facts(e->encoder->type)->elems;
}

static enum encode_fit
ggml_fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    const struct dtype_facts *f = dtype_facts(e->encoder->type);
    if (!encode_plain(e, options, false, err))
        return ENCODE_FAIL;
    if (e->cols % f->elems != 0) {
        e->why = "row length is not a multiple of the block size";
        return ENCODE_NO;
    }
    if (run_of(e) > ENCODE_FLOATS) {
        e->why = "rows longer than 131072 elements, which an importance matrix does not allow";
        return ENCODE_NO;
    }
    struct encode_part *part = &e->part[e->nparts++];
    *part = (struct encode_part){ .name = e->weight.name, .name_len = e->weight.name_len, .dtype = e->encoder->type,
        .shape = e->weight.shape, .elems = (uint32_t)run_of(e), .codes = true };
    uint64_t nbytes = 0;
    dtype_row_bytes(&nbytes, e->encoder->type, part->elems);
    part->grain = (uint32_t)nbytes;
    if (e->exact)
        return solve_ggml_fit(e, err);
    return ENCODE_YES;
}

/* Consecutive runs of columns for one call of a kernel. The first one, at x, is run number `first` of the weight. */
struct stretch {
    uint64_t first, n, cols;
    const float *x, *importance;            /* of the columns of a run, or NULL */
};

/* Encodes a stretch. Without importance the blocks of all runs are one row. */
static bool
encode_stretch(const struct encoding *e, const struct encode_run *run, const struct stretch *s, uint8_t *y)
{
    enum dtype type = e->encoder->type;
    kernel_encode *kernel = run->kernels->encode[type];
    if (s->importance)
        return kernel(type, y, s->x, s->n, s->cols, s->importance);
    return kernel(type, y, s->x, 1, s->n * s->cols, NULL);
}

/* Fails with ERR_UNSUPPORTED for run i of a stretch. */
static bool
too_large(const struct encoding *e, const struct stretch *s, uint64_t i, struct err *err)
{
    char name[STR_SHOWN];
    return err_set(err, ERR_UNSUPPORTED, "tensor %s: values in row %" PRIu64 " are too large for %s",
        str_shown(name, e->weight.name, e->weight.name_len), (s->first + i) * s->cols / e->cols, dtype_name(e->encoder->type));
}

/* Fails for the first run that the kernel cannot encode, found by encoding the runs one by one. */
static bool
ggml_refuse(const struct encoding *e, const struct encode_run *run, const struct stretch *s, uint8_t *y, struct err *err)
{
    uint64_t i = 0;
    for (struct stretch one = *s; i + 1 < s->n; i++, one.x += s->cols) {
        one.n = 1;
        if (!encode_stretch(e, run, &one, y))
            break;
    }
    return too_large(e, s, i, err);
}

static bool
all_finite(const float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* Fails if the factor of a block at y is infinite or NaN although the values of its run are not. */
static bool
check_factors(const struct encoding *e, const struct stretch *s, const uint8_t *y, struct err *err)
{
    const struct dtype_facts *f = dtype_facts(e->encoder->type);
    size_t per_run = (size_t)(s->cols / f->elems), n = (size_t)s->n * per_run;
    for (size_t at = 0; (at += ggml_block_first_nonfinite(e->encoder->type, y + at * f->bytes, n - at)) < n; at++)
        if (all_finite(s->x + at / per_run * s->cols, s->cols))
            return too_large(e, s, at / per_run, err);
    return true;
}

static bool
ggml_encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    enum dtype type = e->encoder->type;
    const uint8_t *begin = y;
    uint64_t cols = run_of(e), matrix = e->importance && e->matrix_rows != 0 ? e->matrix_rows : e->rows;
    (void)part;
    for (uint64_t done = 0; done < count;) {
        struct stretch s = { .first = first + done, .n = count - done, .cols = cols, .x = run->x + done * cols };
        if (e->importance) {
            uint64_t left = matrix - s.first % matrix;
            s.n = s.n < left ? s.n : left;
            s.importance = e->importance + (e->matrix_rows != 0 ? s.first / matrix * cols : 0);
        }
        if (!encode_stretch(e, run, &s, y))
            return ggml_refuse(e, run, &s, y, err);
        if (!check_factors(e, &s, y, err))
            return false;
        y += s.n * e->part[0].grain;
        done += s.n;
    }
    if (run->compare && run->kernels->block_f32[type]) {
        run->kernels->block_f32[type](run->back, begin, count * e->part[0].elems / dtype_facts(type)->elems);
        run->compare(run->of, first * cols, run->x, run->back, run->n);
    }
    return true;
}

#define GGML(code, dtype) { .name = code, .label = #dtype, .held = KEEPS_BLOCKS, .type = DTYPE_##dtype, \
    .fit = ggml_fit, .encode = ggml_encode }

#define EXACT(code, dtype, offer_, bits_, ...) { .name = code, .label = #dtype, .held = KEEPS_BLOCKS, .type = DTYPE_##dtype, \
    .fit = ggml_fit, .encode = ggml_encode, \
    .exact.solve = solve_ggml, .exact.move = solve_ggml_move, .exact.offer = offer_, .grid.bits = bits_, __VA_ARGS__ }

const struct encoder encode_ggml[] = {
    EXACT("q8_0", Q8_0, 7, 8500), EXACT("q4_0", Q4_0, 2, 4502), EXACT("q4_1", Q4_1, 4, 5000), EXACT("q5_0", Q5_0, 5, 5500),
    EXACT("q5_1", Q5_1, 6, 6000),
    GGML("q2_k", Q2_K), GGML("q3_k", Q3_K), GGML("q4_k", Q4_K), GGML("q5_k", Q5_K), GGML("q6_k", Q6_K),
    GGML("q8_k", Q8_K),
    GGML("iq4_nl", IQ4_NL), GGML("iq4_xs", IQ4_XS), GGML("iq3_s", IQ3_S), GGML("iq3_xxs", IQ3_XXS),
    GGML("iq2_s", IQ2_S), GGML("iq2_xs", IQ2_XS), GGML("iq2_xxs", IQ2_XXS), GGML("iq1_m", IQ1_M), GGML("iq1_s", IQ1_S),
    GGML("tq1_0", TQ1_0), GGML("tq2_0", TQ2_0), EXACT("mxfp4", MXFP4, 1, 4250),
    EXACT("nvfp4", NVFP4, 3, 4503, .grid.two = true, .survey.region = solve_ggml_survey, .exact.resolve = solve_ggml_resolve,
        .exact.seconds = true),
    GGML("q1_0", Q1_0), GGML("q2_0", Q2_0),
    /* Names of mixes, with their default type. */
    GGML("q2_k_s", Q2_K), GGML("q3_k_s", Q3_K), GGML("q3_k_m", Q3_K), GGML("q3_k_l", Q3_K), GGML("q4_k_s", Q4_K),
    GGML("q4_k_m", Q4_K), GGML("q5_k_s", Q5_K), GGML("q5_k_m", Q5_K), GGML("iq2_m", IQ2_S), GGML("iq3_xs", IQ3_S),
    GGML("iq3_m", IQ3_S), GGML("mxfp4_moe", MXFP4), { .name = NULL },
};

const struct encoder *
encode_ggml_of(enum dtype type)
{
    for (const struct encoder *e = encode_ggml; e->name; e++)
        if (e->type == type)
            return e;
    return NULL;
}
