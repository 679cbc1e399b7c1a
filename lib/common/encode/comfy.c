/* ComfyUI. Every weight P.weight [R, C] has a marker P.comfy_quant, U8, with the JSON object of its format.
 *
 *                     P.weight         P.weight_scale
 *     comfy-fp8       F8_E4M3 [R, C]   F32 []
 *     comfy-int8      I8 [R, C]        F32 [R, 1]
 *     comfy-mxfp8     F8_E4M3 [R, C]   F8_E8M0, the tiled grid (kernel/tiles.h) of R x C/32; its padding is 0
 *     comfy-nvfp4     U8 [R, C/2]      F8_E4M3, the tiled grid of R x C/16; P.weight_scale_2 F32 []
 *
 * R and C are padded with zeros to multiples of 32 for MXFP8 and of 16 for NVFP4. In NVFP4 the high nibble is the even
 * column. T is the largest magnitude of the tensor, A of a block or row, D the weight's type:
 *
 *     FP8      s = RN_D(T/448), code of RN_D(x * RN_D(1/s)), clamped to 448
 *     INT8     s = max(A/127, 1e-30), q = rint(RN_D(x / RN_D(s))); rotated: of the row times H (kernel/convrot.h), in D
 *     MXFP8    s = 2^ceil(log2(A/448)), code of x/s; if s is below 2^-126, all codes are 0
 *     NVFP4    s2 = RN_D(T/2688), s = E4M3(A/6 / s2), code of x / RN32(s2 * s), 0 if that product is 0
 *
 * If the scale of a tensor is 0 in D, or 1/s is infinite, the library yields NaN or zeros; here the scale is then computed
 * in F32. Source: comfy-kitchen backends/eager/quantization.py and tensor/.
 */
#include "encode/table.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "dtype/float8.h"
#include "encode/groups.h"
#include "encode/move.h"
#include "encode/solve_fp8.h"
#include "encode/solve_mx.h"
#include "kernel/convrot.h"
#include "kernel/encode_mx.h"
#include "kernel/rounded.h"
#include "kernel/tiles.h"

enum comfy_kind { FP8, INT8, MXFP8, NVFP4 };

enum { MARKER, ROTATED = 256 };

struct comfy_own {
    uint32_t block;                     /* elements that share a scale; 0: the whole tensor */
    uint32_t rotated;                   /* columns in a rotation group; 0: not rotated */
    uint64_t rows, cols;                /* shape of the codes, including padding */
};

static enum comfy_kind
kind_of(const struct encoding *e)
{
    return *(const enum comfy_kind *)e->encoder->numbers;
}

static const struct solve_fp8 exact_fp8 = { .codes = DTYPE_F8_E4M3, .scale = DTYPE_F32, .share = SOLVE_FP8_WEIGHT };

/* --- fit */

static bool
add_marker(struct encoding *e, struct err *err)
{
    static const char *const formats[] = { "float8_e4m3fn", "int8_tensorwise", "mxfp8", "nvfp4" };
    const struct comfy_own *own = e->own;
    struct str text = { 0 };
    str_format(&text, "{\"format\": \"%s\"", formats[kind_of(e)]);
    if (own->rotated != 0)
        str_format(&text, ", \"convrot\": true, \"convrot_groupsize\": %u", (unsigned)own->rotated);
    str_text(&text, "}");
    uint64_t n = text.len;
    uint8_t *bytes = NULL;
    if (!text.failed)
        bytes = encode_alloc(e, (size_t)n, err);
    bool ok = bytes && groups_part(e, ".comfy_quant", DTYPE_U8, &n, 1, 0, (uint32_t)n, err);
    if (ok) {
        memcpy(bytes, text.p, (size_t)n);
        e->part[MARKER].bytes = bytes;
    } else if (text.failed) {
        err_memory(err, (size_t)n);
    }
    str_clear(&text);
    return ok;
}

static bool
add_grid(struct encoding *e, enum dtype dtype, struct err *err)
{
    const struct comfy_own *own = e->own;
    const uint64_t dim[2] = { num_ceil_div(e->rows, TILE_ROWS) * TILE_ROWS,
        num_ceil_div(own->cols / own->block, TILE_BLOCKS) * TILE_BLOCKS };
    if (!groups_part(e, ".weight_scale", dtype, dim, 2, 0, TILE, err))
        return false;
    e->part[e->nparts - 1].down = TILE_ROWS;
    e->part[e->nparts - 1].across = TILE_BLOCKS * own->block;
    e->bands = (struct encode_bands){ .rows = TILE_ROWS, .cols = e->cols };
    return true;
}

static bool
is_padded(const struct encoding *e)
{
    const struct comfy_own *own = e->own;
    return own->rows != e->rows || own->cols != e->cols;
}

/* Adds the codes, `per_byte` of them to a byte. Padded codes are encoded row by row. */
static bool
add_codes(struct encoding *e, enum dtype dtype, uint32_t per_byte, uint32_t elems, struct err *err)
{
    const struct comfy_own *own = e->own;
    const uint64_t dim[2] = { own->rows, own->cols / per_byte };
    bool padded = is_padded(e);
    if (!groups_codes(e, ".weight", dtype, dim, 2, padded ? 0 : elems, padded ? (uint32_t)dim[1] : elems / per_byte, err))
        return false;
    if (padded) {
        e->part[e->nparts - 1].down = 1;
        e->part[e->nparts - 1].across = (uint32_t)e->cols;
    }
    return true;
}

static bool
add_parts(struct encoding *e, struct err *err)
{
    const struct comfy_own *own = e->own;
    const uint64_t one = 1, row[2] = { e->rows, 1 };
    uint32_t cols = (uint32_t)e->cols, elems = own->block == 0 ? 32 : groups_elems(e, own->block);
    if (e->cols % elems != 0)
        elems = cols;
    if (!add_marker(e, err))
        return false;
    switch (kind_of(e)) {
    case FP8:
        e->bands = (struct encode_bands){ .rows = 1, .cols = elems };
        return groups_part(e, ".weight_scale", DTYPE_F32, &one, 0, 0, 4, err)
            && add_codes(e, DTYPE_F8_E4M3, 1, elems, err);
    case INT8:
        return groups_part(e, ".weight_scale", DTYPE_F32, row, 2, cols, 4, err)
            && add_codes(e, DTYPE_I8, 1, cols, err);
    case MXFP8:
        return add_grid(e, DTYPE_F8_E8M0, err) && add_codes(e, DTYPE_F8_E4M3, 1, elems, err);
    default:
        return (!e->exact || solve_nvfp4_add_input(e, SOLVE_NVFP4_MULTIPLIES, 0, err))
            && groups_part(e, ".weight_scale_2", DTYPE_F32, &one, 0, 0, 4, err) && add_grid(e, DTYPE_F8_E4M3, err)
            && add_codes(e, DTYPE_U8, 2, elems, err);
    }
}

static enum encode_fit
comfy_fit(struct encoding *e, const struct encode_options *options, struct err *err)
{
    static const uint32_t blocks[] = { 0, 0, 32, 16 };
    enum comfy_kind kind = kind_of(e);
    bool rotates = kind == INT8 && options->convrot;
    struct groups_choice choice = { .symmetric = true, .convrot = kind == INT8 };
    uint32_t group;
    if (rotates) {
        choice.group = ROTATED;
        choice.least = 4;
        choice.most = 4096;
    }
    enum encode_fit fit = groups_fit(e, options, &choice, &group, err);
    if (fit != ENCODE_YES)
        return fit;
    if (rotates && __builtin_ctz(group) % 2 != 0) {
        err_set(err, ERR_USAGE, "--group-size %u: the group size of %s is a power of 4", (unsigned)group,
            e->encoder->label);
        return ENCODE_FAIL;
    }
    uint64_t block = 1;
    if (kind >= MXFP8)
        block = blocks[kind];
    uint64_t rows = num_ceil_div(e->rows, block) * block, cols = num_ceil_div(e->cols, block) * block;
    if ((kind == INT8 || e->cols % 32 != 0 || rows != e->rows) && cols > ENCODE_FLOATS) {
        e->why = "rows longer than 131072 elements";
        return ENCODE_NO;
    }
    struct comfy_own *own = e->own = encode_alloc(e, sizeof *own, err);
    if (!own)
        return ENCODE_FAIL;
    *own = (struct comfy_own){ kind == INT8 ? (uint32_t)e->cols : blocks[kind], rotates ? group : 0, rows, cols };
    if (kind == NVFP4 && e->exact && !solve_nvfp4_fit(e))
        return ENCODE_NO;
    if (kind == FP8 && e->exact)
        solve_fp8_fit(e, &exact_fp8);
    else if (!e->exact && (kind == FP8 || kind == NVFP4))
        groups_absmax_fit(e);
    return encode_yes_if(add_parts(e, err));
}

/* --- scales */

/* Returns T / 448 or T / 2688 rounded to D, or in F32 if it would be 0 in D. */
static float
tensor_scale(const struct encoding *e, const float *facts)
{
    float most = kind_of(e) == FP8 ? 448 : 2688, s = rounded(groups_dtype(e), facts[0] / most);
    if (s > 0)
        return s;
    return facts[0] / most;
}

static uint8_t
block_code(const struct encoding *e, const struct encode_run *run, const float *x)
{
    const struct comfy_own *own = e->own;
    float most = run->kernels->encode_most(x, own->block);
    if (kind_of(e) == MXFP8)
        return encode_mx_ceil(most / 448.0f);
    float s2 = tensor_scale(e, run->facts), s = s2 > 0 ? most / 6.0f / s2 : 0;
    return e4m3_of_float(s > 448 ? 448 : s);
}

static float
block_scale(const struct encoding *e, const struct encode_run *run, uint8_t code)
{
    if (kind_of(e) == NVFP4)
        return tensor_scale(e, run->facts) * float8_to_float(DTYPE_F8_E4M3, code);
    if (code != 0)
        return float8_e8m0(code);
    return 0;
}

/* --- exact */

static bool
comfy_survey(const struct encoding *e, const struct encode_run *run, uint64_t region, float *facts, struct err *err)
{
    if (!e->exact)
        return groups_absmax(e, run, region, facts, err);
    if (kind_of(e) == FP8)
        return solve_fp8_survey(e, &exact_fp8, run, region, facts, err);
    return solve_nvfp4_survey(e, run, region, SOLVE_NVFP4_MULTIPLIES, facts, err);
}

static void
comfy_settle(const struct encoding *e, float *facts)
{
    if (!e->exact)
        groups_absmax_settle(e, facts);
}

static bool
comfy_resolve(struct encoding *e, float *facts, struct exact_fail *fail)
{
    if (kind_of(e) == FP8)
        return solve_fp8_resolve(e, &exact_fp8, facts, fail);
    return solve_nvfp4_settle(e, SOLVE_NVFP4_MULTIPLIES, facts, fail);
}

/* Solves a block; elements beyond n are padding. Sets the code of its scale, and its codes, one a byte. The scale 2^-127 is 0 to
 * readers of MXFP8. */
static bool
solve_block(const struct encoding *e, const struct encode_run *run, const float *x, size_t n, uint64_t at, uint8_t *code, uint8_t q[32])
{
    struct solve_block b;
    int t;
    memset(q, 0, 32);
    *code = 0;
    if (n == 0)
        return true;
    solve_begin(&b, e, run, x, n, at);
    if (kind_of(e) == NVFP4)
        return solve_nvfp4(&b, SOLVE_NVFP4_MULTIPLIES, run->facts[0], code, q);
    if (!solve_mx_power(&t, &b, &solve_e4m3, -126, 127))
        return false;
    *code = (uint8_t)(t + 127);
    for (size_t i = 0; i < n; i++)
        q[i] = e4m3_of_float(b.x[i] == 0 ? b.x[i] : (float)(solve_value(&b, i) / ldexp(1, t)));
    return true;
}

/* Decodes a block as readers do, for comparison. */
static void
prove(const struct encoding *e, const struct encode_run *run, const uint8_t *y, uint8_t code, float *back)
{
    static const float map[16] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 };
    const struct comfy_own *own = e->own;
    float s = kind_of(e) == NVFP4 ? run->facts[0] * float8_to_float(DTYPE_F8_E4M3, code) : float8_e8m0(code);
    if (kind_of(e) == NVFP4)
        run->kernels->codes4_f32(back, y, 0, own->block, &(struct codes4){ map, NULL, &s, own->block, false });
    else
        run->kernels->fp8_f32(back, own->block, &(const struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1, .cols = own->block,
            .x = y, .scales = &s, .scale_cols = own->block });
}

/* Writes the codes of blocks of one row or more: n elements from number `at`, and padding. */
static bool
solve_codes(const struct encoding *e, const struct encode_run *run, size_t n, uint64_t at, uint8_t *y)
{
    const struct comfy_own *own = e->own;
    bool small = kind_of(e) == NVFP4;
    for (size_t i = 0, size = own->block; i < run->n; i += size, y += small ? size / 2 : size) {
        uint8_t code, q[32];
        if (!solve_block(e, run, run->x + i, i < n ? num_min(size, n - i) : 0, at + i, &code, q))
            return false;
        for (size_t k = 0; small && k < size; k += 2)
            y[k / 2] = (uint8_t)(q[k] << 4 | q[k + 1]);
        if (!small)
            memcpy(y, q, size);
        if (run->compare)
            prove(e, run, y, code, run->back + i);
    }
    return true;
}

/* Moves the codes of NVFP4; the high nibble comes first here. */
static bool
comfy_move(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y)
{
    struct move_nvfp4 m;
    (void)first, (void)count;
    if (kind_of(e) != NVFP4 || part + 1 != e->nparts)
        return false;
    move_nvfp4_begin(&m, e, SOLVE_NVFP4_MULTIPLIES, run->facts);
    for (size_t i = 0; i < run->n; i += 16) {
        const struct hint_pack pack = hint_pack_at(run->hints.pack, i);
        uint64_t code = load_le64(pack.code), low = UINT64_C(0x0F0F0F0F0F0F0F0F);
        uint8_t scale;
        if (pack.mark != HINT_MARK || !move_nvfp4(&m, &pack, false, &scale))
            return false;
        if (y)
            store_le64(y + i / 2, (code & low) << 4 | (code >> 4 & low));
    }
    return true;
}

/* Writes scales or codes of rows [first, first + count) of INT8. */
static bool
solve_rows(const struct encoding *e, const struct encode_run *run, bool codes, uint64_t first, uint64_t count, uint8_t *y)
{
    static const struct solve_int how = { 8, false, -128, DTYPE_F32 };
    size_t n = (size_t)e->cols;
    for (uint64_t i = 0; i < count; i++) {
        const float *x = run->x + i * n;
        struct solve_block b;
        struct int_group g;
        uint8_t *q = y;
        if (!codes)
            q = (uint8_t *)run->back;
        solve_begin(&b, e, run, x, n, (first + i) * n);
        if (!solve_int(&b, &how, &g, q))
            return false;
        if (!codes) {
            y += groups_store(y, DTYPE_F32, g.scale);
            continue;
        }
        for (size_t k = 0; k < n; k++) {
            y[k] ^= 0x80;
            run->back[k] = (float)(int8_t)y[k] * g.scale;
        }
        if (run->compare)
            run->compare(run->of, (first + i) * n, x, run->back, n);
        y += n;
    }
    return true;
}

/* --- grids and codes */

/* Finds the codes of the scales of `count` elements from number `at`, a block each, from the scales alone: scales of NVFP4 are
 * moved, and powers of two divided, as the codes will be. Clears *found if the codes need a look at their values. */
static bool
foresee_scales(const struct encoding *e, const struct encode_run *run, uint64_t at, uint64_t count, uint8_t *code, bool *found,
    struct err *err)
{
    const struct exact_source *s = &e->exact->source;
    struct move_nvfp4 m;
    bool moves = move_is_nvfp4(e);
    *found = kind_of(e) == NVFP4 && (moves || move_is_e2m1(e)) && s->group != 0 && s->group % 16 == 0 && count % 16 == 0;
    if (*found && !run->hints.scales(run->of, at, (size_t)count, run->x, found, err))
        return false;
    if (*found && !moves)
        move_nvfp4_begin(&m, e, SOLVE_NVFP4_MULTIPLIES, run->facts);
    for (uint64_t i = 0; *found && i < count / 16; i++) {
        float scale = run->hints.scale[16 * i];
        if (moves)
            code[i] = e4m3_of_float(scale);
        else
            *found = m.any && move_nvfp4_scale(&m, scale, false, &code[i]);
    }
    return true;
}

/* Writes tiles [at, at + n) of a row of tiles that starts at row `row` of the weight. */
static bool
grid_run(const struct encoding *e, const struct encode_run *run, uint64_t row, uint64_t at, uint64_t n, uint8_t *y,
    struct err *err)
{
    const struct comfy_own *own = e->own;
    uint64_t blocks = own->cols / own->block, from = at * TILE_BLOCKS, to = num_min(blocks, (at + n) * TILE_BLOCKS);
    uint64_t first = from * own->block, end = to * own->block, here = num_min(end, e->cols) - first;
    memset(y, 0, (size_t)n * TILE);
    for (uint64_t r = row; r < row + TILE_ROWS && r < e->rows; r++) {
        uint8_t *codes = (uint8_t *)run->back;
        bool found = false;
        if (e->exact && !foresee_scales(e, run, r * e->cols + first, here, codes, &found, err))
            return false;
        if (found) {
            for (uint64_t b = from; b < to && (b - from) * own->block < here; b++)
                y[swizzle_at(r - row, b - from, n)] = codes[b - from];
            continue;
        }
        if (!run->read(run->of, r * e->cols + first, (size_t)here, run->x, err))
            return false;
        memset(run->x + here, 0, (size_t)(end - first - here) * sizeof *run->x);
        for (uint64_t b = from; b < to; b++) {
            uint64_t done = (b - from) * own->block;
            uint8_t *code = &y[swizzle_at(r - row, b - from, n)], q[32];
            if (!e->exact)
                *code = block_code(e, run, run->x + done);
            else if (!solve_block(e, run, run->x + done, (size_t)(done < here ? num_min(own->block, here - done) : 0),
                r * e->cols + first + done, code, q))
                return false;
        }
    }
    return true;
}

static bool
comfy_grid(const struct encoding *e, const struct encode_run *run, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct comfy_own *own = e->own;
    uint64_t tiles = num_ceil_div(own->cols / own->block, TILE_BLOCKS), most = ENCODE_FLOATS / TILE_BLOCKS / own->block;
    for (uint64_t n; count != 0; first += n, count -= n, y += n * TILE) {
        n = num_min(num_min(count, tiles - first % tiles), most);
        if (!grid_run(e, run, first / tiles * TILE_ROWS, first % tiles, n, y, err))
            return false;
    }
    return true;
}

static void
fp8_codes(const struct encoding *e, const struct encode_run *run, uint8_t *y)
{
    enum dtype d = groups_dtype(e);
    float s = tensor_scale(e, run->facts), inverse = rounded(d, 1.0f / s);
    if (!isfinite(inverse)) {
        d = DTYPE_F32;
        inverse = 0;
        if (s > 0)
            inverse = fminf(1.0f / s, 0x1p127f);
    }
    run->kernels->encode_e4m3(y, run->x, run->n,
        &(const struct encode_fp8){ .scale = inverse, .multiplies = true, .quotient = d });
    if (run->compare)
        run->kernels->fp8_f32(run->back, run->n, &(const struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1,
            .cols = run->n, .x = y, .scales = &s, .scale_cols = run->n });
}

static void
block_codes(const struct encoding *e, const struct encode_run *run, uint8_t *y)
{
    const struct comfy_own *own = e->own;
    bool small = kind_of(e) == NVFP4;
    for (size_t i = 0, n = own->block, bytes = small ? n / 2 : n; i < run->n; i += n, y += bytes) {
        const float *x = run->x + i, s = block_scale(e, run, block_code(e, run, x));
        float *back = NULL;
        if (run->compare)
            back = run->back + i;
        if (s == 0)
            memset(y, 0, bytes);
        else if (small)
            run->kernels->encode_e2m1(y, back, x, n, &(const struct encode_e2m1){ .scale = s, .quotient = DTYPE_F32,
                .rule = E2M1_SIGNED, .high_first = true });
        else
            run->kernels->encode_e4m3(y, x, n, &(const struct encode_fp8){ .scale = s, .quotient = DTYPE_F32 });
        if (back && s == 0)
            memset(back, 0, n * sizeof *back);
        else if (back && !small)
            run->kernels->fp8_f32(back, n, &(const struct fp8_rows){ .dtype = DTYPE_F8_E4M3, .rows = 1, .cols = n, .x = y,
                .scales = &s, .scale_cols = n });
    }
}

/* Writes rows [first, first + count) of codes, with zeros in the padding. */
static bool
padded_codes(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count, uint8_t *y,
    struct err *err)
{
    const struct comfy_own *own = e->own;
    struct encode_run row = *run;
    row.n = (size_t)own->cols;
    for (uint64_t r = first; r < first + count; r++, y += e->part[part].grain) {
        if (r >= e->rows) {
            memset(y, 0, e->part[part].grain);
            continue;
        }
        if (!run->read(run->of, r * e->cols, (size_t)e->cols, run->x, err))
            return false;
        memset(run->x + e->cols, 0, (size_t)(own->cols - e->cols) * sizeof *run->x);
        if (!e->exact)
            block_codes(e, &row, y);
        else if (!solve_codes(e, &row, (size_t)e->cols, r * e->cols, y))
            return false;
        if (run->compare)
            run->compare(run->of, r * e->cols, run->x, run->back, (size_t)e->cols);
    }
    return true;
}

/* Multiplies a row by the Hadamard matrix in place: F32 sums, with the four terms of each digit in the order of
 * kernel/ref/convrot.c, and one rounding to D. */
static void
rotate(float *x, size_t n, size_t group, enum dtype d)
{
    float shrink = convrot_shrink(group);
    for (size_t step = 1; step < group; step *= 4)
        for (size_t at = 0; at < n; at += 4 * step)
            for (size_t i = at; i < at + step; i++) {
                float a = x[i], b = x[i + step], c = x[i + 2 * step], last = x[i + 3 * step];
                x[i] = a + b + c - last;
                x[i + step] = a + b - c + last;
                x[i + 2 * step] = a - b + c + last;
                x[i + 3 * step] = b + c + last - a;
            }
    for (size_t i = 0; i < n; i++)
        x[i] = rounded(d, x[i] * shrink);
}

static float
row_scale(const struct encode_run *run, const float *x, size_t n)
{
    return fmaxf(run->kernels->encode_most(x, n) / 127.0f, 1e-30f);
}

static void
row_codes(uint8_t *y, const float *x, size_t n, float scale, enum dtype d)
{
    float s = rounded(d, scale);
    if (s == 0)
        s = rounded_tiny(d);
    for (size_t i = 0; i < n; i++) {
        float q = rintf(rounded(d, x[i] / s)), near = q >= 127 ? 127 : q > -128 ? q : -128;
        if (q == q)
            y[i] = (uint8_t)(int)near;
        else
            y[i] = 0;
    }
}

_Static_assert(sizeof(struct convrot_room) <= ENCODE_ROOM, "the sums of a rotation fit in the scratch memory");

/* Compares a row with its decoded codes q. */
static bool
compare_row(const struct encoding *e, const struct encode_run *run, uint64_t row, float *x, const uint8_t *q,
    float scale, struct err *err)
{
    const struct comfy_own *own = e->own;
    size_t n = (size_t)e->cols;
    for (size_t i = 0; own->rotated == 0 && i < n; i++)
        run->back[i] = (float)(int8_t)q[i] * scale;
    if (own->rotated != 0) {
        if (!run->read(run->of, row * n, n, x, err))        /* x was rotated in place */
            return false;
        run->kernels->convrot_f32(run->back, q, 0, n, own->rotated, scale, run->room);
    }
    run->compare(run->of, row * n, x, run->back, n);
    return true;
}

static bool
int8_rows(const struct encoding *e, const struct encode_run *run, bool codes, uint64_t first, uint64_t count,
    uint8_t *y, struct err *err)
{
    const struct comfy_own *own = e->own;
    size_t n = (size_t)e->cols;
    for (uint64_t i = 0; i < count; i++) {
        float *x = run->x + i * n;
        if (own->rotated != 0)
            rotate(x, n, own->rotated, groups_dtype(e));
        float scale = row_scale(run, x, n);
        if (!codes) {
            y += groups_store(y, DTYPE_F32, scale);
            continue;
        }
        row_codes(y, x, n, scale, groups_dtype(e));
        if (run->compare && !compare_row(e, run, first + i, x, y, scale, err))
            return false;
        y += n;
    }
    return true;
}

/* The codes are the last part and the marker is the first; NVFP4 has the tensor's scale before the grid. */
static bool
comfy_encode(const struct encoding *e, const struct encode_run *run, unsigned part, uint64_t first, uint64_t count,
    uint8_t *y, struct err *err)
{
    bool codes = part + 1 == e->nparts;
    enum comfy_kind kind = kind_of(e);
    if (kind == INT8 && e->exact)
        return solve_rows(e, run, codes, first, count, y);
    if (kind == INT8)
        return int8_rows(e, run, codes, first, count, y, err);
    if (!codes && e->part[part].grain == TILE)
        return comfy_grid(e, run, first, count, y, err);
    if (!codes) {
        groups_store(y, DTYPE_F32, e->exact ? run->facts[0] : tensor_scale(e, run->facts));
        return true;
    }
    if (is_padded(e))
        return padded_codes(e, run, part, first, count, y, err);
    if (kind == FP8 && e->exact)
        return solve_fp8_codes(e, &exact_fp8, run, first * e->part[part].elems, y);
    if (e->exact) {
        if (!solve_codes(e, run, run->n, first * e->part[part].elems, y))
            return false;
    } else if (kind == FP8)
        fp8_codes(e, run, y);
    else
        block_codes(e, run, y);
    if (run->compare)
        run->compare(run->of, first * e->part[part].elems, run->x, run->back, run->n);
    return true;
}

static const enum comfy_kind fp8 = FP8, int8 = INT8, mxfp8 = MXFP8, nvfp4 = NVFP4;

#define BLOCKS(code, label_, kind) .name = code, .label = label_, .held = KEEPS_CODES, .type = DTYPE_UNKNOWN, .numbers = &kind, .fit = comfy_fit, \
    .encode = comfy_encode, .exact.solve = comfy_encode, .exact.move = comfy_move
#define OF_TENSOR .survey = { .region = comfy_survey, .settle = comfy_settle }, .exact.resolve = comfy_resolve

const struct encoder encode_comfy[] = {
    { BLOCKS("comfy-fp8", "ComfyUI FP8", fp8), OF_TENSOR },
    { BLOCKS("comfy-int8", "ComfyUI INT8", int8) },
    { BLOCKS("comfy-mxfp8", "ComfyUI MXFP8", mxfp8) },
    { BLOCKS("comfy-nvfp4", "ComfyUI NVFP4", nvfp4), .grid.two = true, OF_TENSOR },
    { .name = NULL },
};
