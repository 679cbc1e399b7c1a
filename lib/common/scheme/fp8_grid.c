/* Maps the scales of an FP8 weight to its elements, from the two shapes:
 *
 *     per tensor   [] or [1]                          per row      [R], [R, 1]
 *     per expert   [E], [E, 1]                        per column   [1, C], [E, 1, C], and FBGEMM's [E, C, 1]
 *     blocks       [ceil(R / b0), ceil(C / b1)]; blocks at the edges may be short
 *
 * config.json gives b0 and b1, if it declares them; otherwise each axis determines its own. The E8M0 scales of MXFP8, one for 32
 * columns, may also be in the tiles of the tensor cores ("swizzled", scheme/swizzle.h), which the shape does not always
 * show. The fused queries, keys and values of MiMo-V2.5 were quantized in parts, one for each of its key-value heads, with
 * blocks of their own; keys and values of MiMo-V2-Flash by head, as one matrix. Sources: transformers, finegrained_fp8 and
 * fbgemm_fp8; compressed-tensors, naive_quantized; DeepSeek-V3; llama.cpp's converter and SGLang for MiMo.
 */
#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/comfy_marker.h"
#include "scheme/declared.h"
#include "scheme/dim.h"
#include "scheme/fp8_priv.h"
#include "scheme/swizzle.h"

static void
set_blocks(struct fp8_weight *f, uint64_t b0, uint64_t b1, uint64_t per_row, uint64_t per_expert)
{
    f->b0 = num_max(b0, 1);
    f->b1 = num_max(b1, 1);
    f->per_row = per_row;
    f->per_expert = per_expert;
}

void
fp8_set_single(const struct weight *w, struct fp8_weight *f, uint64_t per_expert)
{
    if (!w->part[SMOOTH]) {
        f->cols *= f->rows;
        f->rows = 1;
    }
    set_blocks(f, f->rows, f->cols, 0, per_expert);
}

/* Reduces the scale's shape to at most two dimensions by removing the expert dimension and singletons. Returns 3 if that
 * fails. */
static uint32_t
squeeze(const struct shape *s, bool own, uint64_t out[2])
{
    uint32_t first = own, n = 0;
    uint32_t extra = 0;
    if (s->rank - first > 2)
        extra = s->rank - first - 2;
    for (uint32_t i = first; i < s->rank; i++) {
        if (extra > 0 && i > first && shape_dim(s, i) == 1) {
            extra--;
            continue;
        }
        if (n == 2)
            return 3;
        out[n++] = shape_dim(s, i);
    }
    return n;
}

static bool
misfit(const struct weight *w, const char *hint, struct err *err)
{
    const struct tensor *codes = w->part[CODES], *scale = w->part[SCALE];
    char a[STR_SHOWN], b[STR_SHOWN], sa[SHAPE_TEXT], sb[SHAPE_TEXT];
    return err_at(err, ERR_MALFORMED, scale->extent.at, "tensor %s: scale %s %s does not fit its weight %s %s%s",
        str_shown(a, scale->name, scale->name_len), dtype_name(scale->dtype), shape_text(sa, &scale->shape),
        str_shown(b, codes->name, codes->name_len), shape_text(sb, &codes->shape), hint);
}

#define ASK_CONFIG "give config.json with --config"

/* Reports a scale with two possible layouts. A report on headers continues, without blocks. */
static bool
unclear(const struct claims *c, const struct weight *w, struct fp8_weight *f, const char *readings, const char *ask,
    struct err *err)
{
    f->advice = ADVICE_NEEDED;
    if (!c->contents)
        return true;
    const struct tensor *codes = w->part[CODES], *scale = w->part[SCALE];
    char a[STR_SHOWN], b[STR_SHOWN], sa[SHAPE_TEXT], sb[SHAPE_TEXT];
    return err_at(err, ERR_UNSUPPORTED, scale->extent.at, "tensor %s: scale %s of weight %s %s may be %s; %s",
        str_shown(a, scale->name, scale->name_len), shape_text(sa, &scale->shape),
        str_shown(b, codes->name, codes->name_len), shape_text(sb, &codes->shape), readings, ask);
}

/* --- blocks */

/* Returns true if the usual block was chosen although an even division fits as well: 192 by 2 is 128, or 96. */
static bool
is_usual(uint64_t n, uint64_t k, uint64_t block)
{
    return k > 1 && k < n && n % k == 0 && n / k != block;
}

static bool
covers(const struct fp8_cover *m, const uint64_t block[2], const uint64_t grid[2])
{
    return num_ceil_div(m->rows, block[0]) == grid[0] && num_ceil_div(m->cols, block[1]) == grid[1];
}

/* Finds the blocks that config.json declares for the weight. Modules that it lists as not quantized have none, nor have E8M0 scales
 * for 32 columns (declared_by_module). *w gets the contradiction if the grid has another shape. */
static bool
find_declared(struct claims *c, struct weight *w, const struct fp8_cover *m, const uint64_t grid[2], uint64_t block[2],
    bool *known, struct err *err)
{
    static const uint64_t mx[2] = { 1, 32 };
    const uint64_t n[2] = { m->rows, m->cols };
    struct part_name p = claims_module_name(w->part[CODES]);
    bool ignored;
    if (!config_block_size(c->config, p.base, p.base_len, block, known, err))
        return false;
    if (!*known || covers(m, block, grid))
        return true;
    if (!config_ignores(c->config, p.base, p.base_len, &ignored, err))
        return false;
    *known = !ignored && (declared_by_module(c) || !dtype_in(E8M0, w->part[SCALE]->dtype) || !covers(m, mx, grid));
    return !*known || declared_blocks(&w->doubt, c, w->part[SCALE], n, block, grid, err);
}

/* Finds the block size that gives a grid of scales. */
static bool
find_blocks(struct claims *c, struct weight *w, struct fp8_weight *f, const struct fp8_cover *m,
    const uint64_t grid[2], uint64_t block[2], struct err *err)
{
    uint64_t advised[2];
    bool known;
    if (!find_declared(c, w, m, grid, advised, &known, err))
        return false;
    if (w->doubt) {
        f->advice = ADVICE_NEEDED;
        block[0] = m->rows;
        block[1] = m->cols;
        return true;
    }
    enum dim_axis rows = dim_axis(m->rows, grid[0], &block[0]), cols = dim_axis(m->cols, grid[1], &block[1]);
    bool unique = rows == DIM_AXIS_ONE && cols == DIM_AXIS_ONE;
    if (known) {
        bool same = unique && num_min(advised[0], m->rows) == num_min(block[0], m->rows)
            && num_min(advised[1], m->cols) == num_min(block[1], m->cols);
        if (unique && !same)
            f->advice = ADVICE_TAKEN;
        else
            f->advice = ADVICE_NONE;
        memcpy(block, advised, sizeof advised);
        return true;
    }
    bool possible = grid[0] > 0 && grid[0] <= m->rows && grid[1] > 0 && grid[1] <= m->cols;
    if (rows == DIM_AXIS_NONE || cols == DIM_AXIS_NONE)
        return misfit(w, possible ? "; a config.json (--config) may declare its blocks" : "", err);
    bool transposed = !m->stacked && grid[0] == 1 && grid[1] == m->rows && m->rows > 1 && block[1] != DIM_USUAL;
    if (unique && transposed)
        return unclear(c, w, f, "one per row, transposed, or blocks", ASK_CONFIG, err);
    bool usual = is_usual(m->rows, grid[0], block[0]) || is_usual(m->cols, grid[1], block[1]);
    if (usual)
        f->advice = ADVICE_MISSED;
    else
        f->advice = ADVICE_NONE;
    return unique || unclear(c, w, f, "blocks of a power of two or an even division", ASK_CONFIG, err);
}

/* --- layouts that only other tensors or config.json decide */

/* Detects stacked experts.down_proj [E, I, H] of FBGEMM with a scale [E, H, 1] for its columns, even if I = H. */
static bool
fbgemm_columns(const struct claims *c, const struct weight *w, struct fp8_weight *f, const struct fp8_cover *m,
    const uint64_t grid[2], bool *columns, struct err *err)
{
    const char *method = config_method(c->config);
    struct part_name p;
    *columns = false;
    if (!m->stacked || grid[0] != m->cols || grid[1] != 1 || !claims_strip_name(w->part[SCALE], "down_proj_scale", &p)
        || fp8_is_forced(c, FP8_PLAIN))
        return true;
    const struct tensor *other = claims_find(c, p.base, p.base_len, "gate_up_proj_scale");
    *columns = fp8_is_forced(c, FP8_FBGEMM) || (method && strcmp(method, "fbgemm_fp8") == 0)
        || (other && other->shape.rank == 3 && shape_dim(&other->shape, 1) == 1 && shape_dim(&other->shape, 2) != 1);
    return *columns || m->cols == m->rows || unclear(c, w, f, "FBGEMM's columns or blocks of rows",
        ASK_CONFIG ", or --input-scheme fp8-fbgemm or fp8", err);
}

/* Rejects P.scale [1, C] without a config: SDNQ stores some weights as [in, out], with such a scale. */
static bool
check_transposed(const struct claims *c, const struct weight *w, struct fp8_weight *f, const uint64_t grid[2], struct err *err)
{
    struct part_name p;
    return grid[0] != 1 || grid[1] == 1 || f->rows == 1 || config_method(c->config)
        || !claims_strip_name(w->part[SCALE], ".scale", &p) || fp8_is_forced(c, FP8_PLAIN)
        || unclear(c, w, f, "one per column, or one per row of a weight that SDNQ stored transposed",
            ASK_CONFIG ", or --input-scheme fp8", err);
}

/* --- E8M0 scales for 32 columns each: plain, or in the tiles of the tensor cores */

static bool
is_e8m0(const struct tensor *scale)
{
    return scale->dtype == DTYPE_U8 || scale->dtype == DTYPE_F8_E8M0;
}

static void
set_tiles(struct weight *w, struct fp8_weight *f, const struct fp8_cover *m)
{
    uint64_t grid[2] = { 0, 0 };
    swizzle_grid(grid, m->rows, m->cols / 32);
    set_blocks(f, 1, 32, 0, m->stacked ? grid[0] * grid[1] : 0);
    f->tiles = grid[1] / TILE_BLOCKS;
    w->scheme = &fp8_schemes[FP8_MX_TILES];
}

/* Determines the order of scales that no marker defines. */
static bool
check_tiles(const struct claims *c, struct weight *w, struct fp8_weight *f, const struct fp8_cover *m, struct err *err)
{
    const struct tensor *scale = w->part[SCALE];
    switch (is_e8m0(scale) ? swizzle_of(c, w->part[CODES], scale) : GRID_NONE) {
    case GRID_SWIZZLED:
        if (!fp8_is_forced(c, FP8_MX_TILES))
            return unclear(c, w, f, "MXFP8 in ComfyUI's tiles", "if so, give --input-scheme "
                SCHEME_MXFP8_COMFY, err);
        set_tiles(w, f, m);
        return true;
    case GRID_EITHER:
        return unclear(c, w, f, "MXFP8 row by row or in ComfyUI's tiles", ASK_CONFIG ", or --input-scheme "
            SCHEME_MXFP8 " or " SCHEME_MXFP8_COMFY, err);
    case GRID_DENIED:
        return misfit(w, c->forced ? "; --input-scheme requires the other order"
            : "; the method in config.json stores scales row by row", err);
    case GRID_PLAIN:
        w->scheme = &fp8_schemes[FP8_MX];
        return true;
    default:
        return true;
    }
}

/* Sets *parts to the number of matrices that MiMo-V2.5 quantized apart, above each other, and block to their blocks. *parts
 * is 0 if the weight is a single matrix. */
static bool
find_parts(struct claims *c, const struct weight *w, const struct fp8_cover *m, const uint64_t grid[2], uint64_t block[2],
    uint64_t *parts, struct err *err)
{
    struct part_name p;
    bool known;
    uint64_t n = 0, head = config_size(c->config, CONFIG_HEAD_DIM);
    *parts = 0;
    if (config_is_model(c->config, "mimo_v2") && claims_strip_name(w->part[CODES], "qkv_proj.weight", &p))
        n = config_size(c->config, CONFIG_KV_HEADS);
    else if (head != 0 && config_is_model(c->config, "mimo_v2_flash") && claims_strip_name(w->part[CODES], "k_proj.weight", &p))
        n = m->rows / head;
    if (n == 0)
        return true;
    if (!config_block_size(c->config, p.base, p.base_len, block, &known, err))
        return false;
    if (!known || m->stacked || m->rows % n != 0 || grid[0] % n != 0 || covers(m, block, grid))
        return true;
    const struct fp8_cover one = { .rows = m->rows / n, .cols = m->cols };
    if (covers(&one, block, (const uint64_t[]){ grid[0] / n, grid[1] }))
        *parts = n;
    return true;
}

/* Maps the values of MiMo-V2-Flash, if they were quantized together with the keys of their head: below the keys, in blocks of
 * rows that both share. *joint is false if they were not. Source: SGLang models/mimo_v2_flash.py. */
static bool
find_joint(struct claims *c, struct weight *w, struct fp8_weight *f, const struct fp8_cover *m, const uint64_t grid[2],
    bool *joint, struct err *err)
{
    uint64_t key = config_size(c->config, CONFIG_HEAD_DIM), value = config_size(c->config, CONFIG_V_HEAD_DIM), block[2];
    char name[STR_SHOWN];
    struct part_name p;
    bool known;
    *joint = false;
    if (!config_is_model(c->config, "mimo_v2_flash") || !claims_strip_name(w->part[CODES], "v_proj.weight", &p))
        return true;
    if (!config_block_size(c->config, p.base, p.base_len, block, &known, err))
        return false;
    const struct tensor *keys = claims_find(c, p.base, p.base_len, "k_proj.weight_scale_inv");
    if (known && !keys)
        return claims_is_report_on_shard(c) || claims_missing(c, w->part[CODES]->extent.at, err, "tensor %s: may share blocks "
            "with the keys, but k_proj.weight_scale_inv is not there",
            str_shown(name, w->part[CODES]->name, w->part[CODES]->name_len));
    if (!known || key == 0 || value == 0 || m->stacked || m->rows % value != 0 || keys->shape.rank != 2)
        return true;
    uint64_t heads = m->rows / value, above = num_ceil_div(key, block[0]);
    uint64_t own = num_ceil_div(key + value, block[0]) - above;
    if (shape_dim(&keys->shape, 0) == num_ceil_div(heads * key, block[0]) || shape_dim(&keys->shape, 0) != heads * above
        || shape_dim(&keys->shape, 1) != grid[1] || grid[0] != heads * own || keys->dtype != w->part[SCALE]->dtype
        || num_ceil_div(m->cols, block[1]) != grid[1])
        return true;
    if (above > UINT16_MAX)             /* more rows of blocks than the keys of any head have */
        return misfit(w, "", err);
    f->rows = value;
    f->row0 = key - (above - 1) * block[0];
    f->joint = (uint16_t)above;
    set_blocks(f, block[0], block[1], grid[1], own * grid[1]);
    w->part[JOINT] = keys;
    w->scheme = &fp8_schemes[FP8_JOINT];
    c->shares = *joint = true;
    return true;
}

/* Maps a grid of scales. */
static bool
map_grid(struct claims *c, struct weight *w, struct fp8_weight *f, const struct fp8_cover *m, const uint64_t grid[2], bool own,
    struct err *err)
{
    uint64_t block[2], parts;
    bool columns, joint;
    if (!find_joint(c, w, f, m, grid, &joint, err) || joint)
        return joint;
    if (!find_parts(c, w, m, grid, block, &parts, err) || !fbgemm_columns(c, w, f, m, grid, &columns, err)
        || !check_tiles(c, w, f, m, err) || !check_transposed(c, w, f, grid, err))
        return false;
    if (columns)
        w->scheme = &fp8_schemes[FP8_FBGEMM];
    if (f->tiles != 0)
        return true;
    if (parts != 0) {
        f->rows = m->rows / parts;
        set_blocks(f, block[0], block[1], grid[1], grid[0] / parts * grid[1]);
    } else if (f->advice == ADVICE_NEEDED)
        fp8_set_single(w, f, 0);
    else if (columns || (grid[0] == 1 && grid[1] == m->cols))
        set_blocks(f, m->rows, 1, 0, own ? m->cols : 0);
    else if (grid[0] == m->rows && grid[1] == 1)
        set_blocks(f, 1, m->cols, 1, own ? m->rows : 0);
    else if (find_blocks(c, w, f, m, grid, block, err))
        set_blocks(f, block[0], block[1], grid[1], own ? grid[0] * grid[1] : 0);
    else
        return false;
    return true;
}

bool
fp8_map_scale(struct claims *c, struct weight *w, struct fp8_weight *f, const struct fp8_cover *m, struct err *err)
{
    const struct shape *s = &w->part[SCALE]->shape;
    uint64_t numel, grid[2] = { 0, 0 };
    bool own = m->stacked && s->rank > 1 && shape_dim(s, 0) == m->experts;       /* one grid per expert */
    bool codes = w->part[SCALE]->dtype == DTYPE_U8;                     /* E8M0 codes, which only occur in grids */
    uint32_t rank = squeeze(s, own, grid);
    if (!shape_numel(s, &numel))
        numel = 0;
    if (is_e8m0(w->part[SCALE]) && comfy_marker_is_there(c, w->part[CODES]))
        set_tiles(w, f, m);             /* the marker says so, and the shapes were checked with it */
    else if (numel == 1 && !codes)
        fp8_set_single(w, f, 0);
    else if (m->stacked && numel == m->experts && !codes)
        fp8_set_single(w, f, 1);
    else if (rank == 1 && grid[0] == m->rows && !codes)
        set_blocks(f, 1, m->cols, 1, own ? m->rows : 0);
    else if (rank != 2 || (m->stacked && !own))
        return misfit(w, "", err);
    else if (!map_grid(c, w, f, m, grid, own, err))
        return false;
    if (f->joint == 0)
        f->row0 = m->row0;
    if (m->split) {
        f->base = m->expert * f->per_expert;
        f->per_expert = 0;
    }
    return true;
}
