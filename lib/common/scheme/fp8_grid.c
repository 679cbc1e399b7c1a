/* Which elements of an FP8 weight a scale covers, from the two shapes (schemes.md 3.2):
 *
 *     per tensor   [] or [1]                          per row      [R], [R, 1]
 *     per expert   [E], [E, 1]                        per column   [1, C], [E, 1, C], and FBGEMM's [E, C, 1]
 *     blocks       [ceil(R / b0), ceil(C / b1)]; ragged edges are short
 *
 * config.json says b0 and b1 where it fits; else each axis tells its own. The E8M0 scales of MXFP8, one for 32 columns,
 * may also lie in the tiles of the tensor cores ("swizzled", scheme/swizzle.h), which the shape does not always show.
 * Sources: transformers, finegrained_fp8 and fbgemm_fp8; compressed-tensors, naive_quantized; DeepSeek-V3.
 */
#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "scheme/comfy_marker.h"
#include "scheme/fp8_priv.h"
#include "scheme/swizzle.h"

static void
set_blocks(struct weight *w, uint64_t b0, uint64_t b1, uint64_t per_row, uint64_t per_expert)
{
    w->fact[B0] = num_max(b0, 1);
    w->fact[B1] = num_max(b1, 1);
    w->fact[PER_ROW] = per_row;
    w->fact[PER_EXPERT] = per_expert;
}

void
fp8_set_single(struct weight *w, uint64_t per_expert)
{
    if (!w->part[SMOOTH]) {
        w->fact[COLS] *= w->fact[ROWS];
        w->fact[ROWS] = 1;
    }
    set_blocks(w, w->fact[ROWS], w->fact[COLS], 0, per_expert);
}

/* The scale's shape with the expert dimension and singletons stripped to at most two dimensions. */
static uint32_t
squeeze(const struct shape *s, bool own, uint64_t out[2])
{
    uint32_t first = own, n = 0;
    uint32_t extra = s->rank - first > 2 ? s->rank - first - 2 : 0;
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
    return err_set(err, ERR_MALFORMED, scale->extent.at, "tensor %s: shape %s %s does not fit its weight %s %s%s",
        str_shown(a, scale->name, scale->name_len), dtype_name(scale->dtype), shape_text(sa, &scale->shape),
        str_shown(b, codes->name, codes->name_len), shape_text(sb, &codes->shape), hint);
}

/* Two readings of a scale, and nothing tells which is right. A report goes on without blocks. */
static bool
unclear(const struct claims *c, struct weight *w, const char *readings, const char *ask, struct err *err)
{
    w->fact[ADVICE] = ADVICE_WANTED;
    if (!claims_contents(c))
        return true;
    const struct tensor *codes = w->part[CODES], *scale = w->part[SCALE];
    char a[STR_SHOWN], b[STR_SHOWN], sa[SHAPE_TEXT], sb[SHAPE_TEXT];
    return err_set(err, ERR_UNSUPPORTED, scale->extent.at, "tensor %s: %s on %s %s may be %s: %s",
        str_shown(a, scale->name, scale->name_len), shape_text(sa, &scale->shape),
        str_shown(b, codes->name, codes->name_len), shape_text(sb, &codes->shape), readings, ask);
}

/* --- blocks */

enum { USUAL = 128 };           /* elements along an axis that share a scale */

enum axis { AXIS_NONE, AXIS_ONE, AXIS_TWO };

/* Elements that share a scale along an axis of n elements and k scales; AXIS_TWO: two numbers fit as well. */
static enum axis
axis_block(uint64_t n, uint64_t k, uint64_t *block)
{
    if (k > n || (k == 0 && n != 0))
        return AXIS_NONE;
    bool power_of_two = (n & (n - 1)) == 0;
    *block = k == n ? 1 : k == 1 ? n : USUAL;
    if (k == n || num_ceil_div(n, USUAL) == k || (k == 1 && power_of_two))
        return AXIS_ONE;
    if (k == 1)             /* one scale where the usual blocks have more: half of a grid */
        return AXIS_NONE;
    uint64_t power = 1, even = n % k == 0 ? n / k : 0;
    while (num_ceil_div(n, power) > k)
        power *= 2;
    if (num_ceil_div(n, power) != k)
        power = 0;
    *block = power ? power : even;
    return power && even && power != even ? AXIS_TWO : *block ? AXIS_ONE : AXIS_NONE;
}

/* Whether the block is the usual one although an even division fits as well: 192 by 2 is 128, or 96. */
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

/* Find the block size behind a grid of scales. */
static bool
find_blocks(const struct claims *c, struct weight *w, const struct fp8_cover *m, const uint64_t grid[2],
    uint64_t block[2], struct err *err)
{
    struct part_name module = name_module(w->part[CODES]);
    uint64_t advised[2];
    bool known;
    if (!config_block_size(claims_config(c), module.base, module.base_len, advised, &known, err))
        return false;
    enum axis rows = axis_block(m->rows, grid[0], &block[0]), cols = axis_block(m->cols, grid[1], &block[1]);
    bool told = rows == AXIS_ONE && cols == AXIS_ONE;
    if (known && covers(m, advised, grid)) {
        bool same = told && num_min(advised[0], m->rows) == num_min(block[0], m->rows)
            && num_min(advised[1], m->cols) == num_min(block[1], m->cols);
        w->fact[ADVICE] = told && !same ? ADVICE_TAKEN : ADVICE_NONE;
        memcpy(block, advised, sizeof advised);
        return true;
    }
    bool possible = !known && grid[0] > 0 && grid[0] <= m->rows && grid[1] > 0 && grid[1] <= m->cols;
    if (rows == AXIS_NONE || cols == AXIS_NONE)
        return misfit(w, possible ? "; its blocks may stand in a config.json, beside it or with --config" : "", err);
    bool turned = !m->stacked && grid[0] == 1 && grid[1] == m->rows && m->rows > 1 && block[1] != USUAL;
    if (told && turned && !known)
        return unclear(c, w, "one for each row, turned around, or blocks", "give config.json, beside it or with "
            "--config", err);
    bool usual = is_usual(m->rows, grid[0], block[0]) || is_usual(m->cols, grid[1], block[1]);
    w->fact[ADVICE] = known ? ADVICE_REFUSED : usual ? ADVICE_MISSED : ADVICE_NONE;
    return told || unclear(c, w, "blocks of a power of two, or an even division", "give config.json, beside it or with"
        " --config", err);
}

/* --- what only other tensors or config.json tell */

/* Stacked experts.down_proj [E, I, H] of FBGEMM under a scale [E, H, 1]: its columns, also when I = H. */
static bool
fbgemm_columns(const struct claims *c, struct weight *w, const struct fp8_cover *m, const uint64_t grid[2],
    bool *columns, struct err *err)
{
    const char *method = config_method(claims_config(c));
    struct part_name p;
    *columns = false;
    if (!m->stacked || grid[0] != m->cols || grid[1] != 1 || !name_strip(w->part[SCALE], "down_proj_scale", &p))
        return true;
    const struct tensor *other = claims_find(c, p.base, p.base_len, "gate_up_proj_scale");
    *columns = (method && strcmp(method, "fbgemm_fp8") == 0)
        || (other && other->shape.rank == 3 && shape_dim(&other->shape, 1) == 1 && shape_dim(&other->shape, 2) != 1);
    return *columns || m->cols == m->rows || unclear(c, w, "FBGEMM's columns, or blocks of rows",
        "give config.json, beside it or with --config", err);
}

/* Lay the tiles of a ComfyUI MXFP8 weight, whose marker said so and whose shapes were checked with it. */
static void
set_tiles(struct weight *w, const struct fp8_cover *m)
{
    uint64_t grid[2] = { 0, 0 };
    swizzle_grid(grid, m->rows, m->cols / 32);
    set_blocks(w, 1, 32, 0, m->stacked ? grid[0] * grid[1] : 0);
    w->fact[TILES] = grid[1] / TILE_BLOCKS;
}

/* P.scale [1, C] without a config: SDNQ may store a weight as [in, out], and has such a scale then. */
static bool
check_turned(const struct claims *c, struct weight *w, const uint64_t grid[2], struct err *err)
{
    struct part_name p;
    return grid[0] != 1 || grid[1] == 1 || w->fact[ROWS] == 1 || config_method(claims_config(c))
        || !name_strip(w->part[SCALE], ".scale", &p)
        || unclear(c, w, "one for each column, or for each row of a weight that SDNQ turned around",
            "give config.json, beside it or with --config", err);
}

/* E8M0 scales for 32 columns each: plain, not in the tiles of the tensor cores? */
static bool
check_tiles(const struct claims *c, struct weight *w, struct err *err)
{
    const struct tensor *scale = w->part[SCALE];
    if (scale->dtype != DTYPE_U8 && scale->dtype != DTYPE_F8_E8M0)
        return true;
    switch (swizzle_of(c, w->part[CODES], scale)) {
    case GRID_SWIZZLED:
        return unclear(c, w, "only scales in tiles, as ComfyUI stores MXFP8", "these cannot be decoded", err);
    case GRID_EITHER:
        return unclear(c, w, "MXFP8 by rows, or in tiles as ComfyUI stores it", "give config.json, beside it or with "
            "--config", err);
    default:
        return true;
    }
}

bool
fp8_map_scale(struct claims *c, struct weight *w, const struct fp8_cover *m, struct err *err)
{
    const struct shape *s = &w->part[SCALE]->shape;
    uint64_t numel, grid[2] = { 0, 0 }, block[2];
    bool own = m->stacked && s->rank > 1 && shape_dim(s, 0) == m->experts;       /* one grid an expert */
    bool codes = w->part[SCALE]->dtype == DTYPE_U8, columns;            /* E8M0 codes, which only grids are made of */
    uint32_t rank = squeeze(s, own, grid);
    if (!shape_numel(s, &numel))
        numel = 0;
    if ((codes || w->part[SCALE]->dtype == DTYPE_F8_E8M0) && comfy_is_marked(c, w->part[CODES]))
        set_tiles(w, m);
    else if (numel == 1 && !codes)
        fp8_set_single(w, 0);
    else if (m->stacked && numel == m->experts && !codes)
        fp8_set_single(w, 1);
    else if (rank == 1 && grid[0] == m->rows && !codes)
        set_blocks(w, 1, m->cols, 1, own ? m->rows : 0);
    else if (rank != 2 || (m->stacked && !own))
        return misfit(w, "", err);
    else if (!fbgemm_columns(c, w, m, grid, &columns, err) || !check_tiles(c, w, err)
            || !check_turned(c, w, grid, err))
        return false;
    else if (w->fact[ADVICE] == ADVICE_WANTED)
        fp8_set_single(w, 0);
    else if (columns || (grid[0] == 1 && grid[1] == m->cols))
        set_blocks(w, m->rows, 1, 0, own ? m->cols : 0);
    else if (grid[0] == m->rows && grid[1] == 1)
        set_blocks(w, 1, m->cols, 1, own ? m->rows : 0);
    else if (find_blocks(c, w, m, grid, block, err))
        set_blocks(w, block[0], block[1], grid[1], own ? grid[0] * grid[1] : 0);
    else
        return false;
    w->fact[ROW0] = m->row0;
    if (m->split) {
        w->fact[BASE] = m->expert * w->fact[PER_EXPERT];
        w->fact[PER_EXPERT] = 0;
    }
    return true;
}
