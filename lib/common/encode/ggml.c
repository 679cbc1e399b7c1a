/* A row of floats is a row of blocks: a length that the block does not divide stays. Without weights of importance any run
 * of blocks can be made alone, else whole rows. */
#include "encode/ggml.h"

#include <inttypes.h>

#include "base/str.h"

/* Columns that are encoded together. */
static uint64_t
run_of(const struct encoding *e)
{
    return e->importance ? e->cols : dtype_facts(e->encoder->type)->elems;
}

static enum encode_fit
fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    const struct dtype_facts *f = dtype_facts(e->encoder->type);
    (void)options;
    if (e->cols % f->elems != 0) {
        e->why = "the block does not divide its rows";
        return ENCODE_NO;
    }
    if (run_of(e) > ENCODE_FLOATS) {
        e->why = "its rows are too long for weights of importance";
        return ENCODE_NO;
    }
    struct encode_part *part = &e->part[e->nparts++];
    *part = (struct encode_part){ .name = e->weight.name, .name_len = e->weight.name_len, .dtype = e->encoder->type,
        .shape = e->weight.shape, .elems = (uint32_t)run_of(e) };
    part->grain = part->elems / f->elems * f->bytes;
    (void)err;
    return ENCODE_YES;
}

static bool
encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    enum dtype type = e->encoder->type;
    const uint8_t *begin = y;
    uint64_t cols = run_of(e), matrix = e->importance && e->matrix_rows != 0 ? e->matrix_rows : e->rows;
    char name[STR_SHOWN];
    (void)part;
    for (uint64_t done = 0, rows; done < count; done += rows) {
        const float *importance = NULL;
        rows = count - done;
        if (e->importance) {
            uint64_t row = first + done, left = matrix - row % matrix;
            rows = rows < left ? rows : left;
            importance = e->importance + (e->matrix_rows != 0 ? row / matrix * cols : 0);
        }
        /* Without weights of importance the blocks of all rows are one row. */
        bool ok = importance ? run->kernels->encode[type](y, run->x + done * cols, rows, cols, importance)
            : run->kernels->encode[type](y, run->x + done * cols, 1, rows * cols, NULL);
        if (!ok)
            return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "tensor %s: its values are too large for %s, near element %"
                PRIu64, str_shown(name, e->weight.name, e->weight.name_len), dtype_name(type), (first + done) * cols);
        y += rows * e->part[0].grain;
    }
    if (run->compare && run->kernels->block_f32[type]) {
        run->kernels->block_f32[type](run->back, begin, count * e->part[0].elems / dtype_facts(type)->elems);
        run->compare(run->of, first * cols, run->x, run->back, run->n);
    }
    return true;
}

#define GGML(code, dtype) { .name = code, .label = #dtype, .type = DTYPE_##dtype, .fit = fit, .encode = encode }

const struct encoder encode_ggml[] = {
    GGML("q8_0", Q8_0), GGML("q4_0", Q4_0), GGML("q4_1", Q4_1), GGML("q5_0", Q5_0), GGML("q5_1", Q5_1),
    GGML("q2_k", Q2_K), GGML("q3_k", Q3_K), GGML("q4_k", Q4_K), GGML("q5_k", Q5_K), GGML("q6_k", Q6_K),
    GGML("q8_k", Q8_K),
    GGML("iq4_nl", IQ4_NL), GGML("iq4_xs", IQ4_XS), GGML("iq3_s", IQ3_S), GGML("iq3_xxs", IQ3_XXS),
    GGML("iq2_s", IQ2_S), GGML("iq2_xs", IQ2_XS), GGML("iq2_xxs", IQ2_XXS), GGML("iq1_m", IQ1_M), GGML("iq1_s", IQ1_S),
    GGML("tq1_0", TQ1_0), GGML("tq2_0", TQ2_0), GGML("mxfp4", MXFP4), GGML("nvfp4", NVFP4), GGML("q1_0", Q1_0),
    GGML("q2_0", Q2_0),
    /* Names of mixes, with the type of what no rule of theirs speaks of. */
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
