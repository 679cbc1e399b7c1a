/* thrush-ternary (moondream): five digits of base 3 in a byte, the lowest first, and a scale for each 128 of a row. The
 * tensors of a module P:
 *
 *     P.qweight    U8 [out, ceil(in/5)]
 *     P.scales     F16 [out, ceil(in/128)]
 *
 *     V[o][i] = (digit - 1) * scale[o][i / 128]
 *
 * The number of columns is not stored: it is a size that config.json declares, or else whole groups. FP-Quant has the same
 * names with scales of other types. Source: the project's description of its files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "scheme/codes.h"
#include "scheme/dim.h"

enum { CODES, SCALES };                                 /* parts */
enum {
    DIGITS = 5, GROUP = 128,
    STEP_DIGITS = DIGITS * GROUP                        /* in a piece: whole bytes and whole groups */
};

struct ternary {
    struct blocks blocks;
    uint64_t width;                                     /* bytes of a row */
    bool open;                                          /* the columns are unknown */
};

/* Returns true if rows of `cols` elements have so many bytes and groups. */
static bool
has_size(const struct table_match *f, uint64_t cols)
{
    return cols != 0 && num_ceil_div(cols, DIGITS) == dim_cols(f->codes) && num_ceil_div(cols, GROUP) == dim_cols(f->with[0]);
}

/* Matches if some number of columns gives these bytes and these groups. */
static bool
is_ternary(const struct table_match *f)
{
    uint64_t n = dim_cols(f->codes), groups = dim_cols(f->with[0]);
    return f->codes->shape.rank == 2 && dim_same_rows(f->with[0], f->codes) && groups != 0 && n <= UINT64_MAX / DIGITS
        && groups <= UINT64_MAX / GROUP && DIGITS * n > GROUP * (groups - 1) && DIGITS * (n - 1) < GROUP * groups;
}

/* Returns the columns, or 0 if they are not known. */
static uint64_t
find_cols(const struct table_match *f)
{
    static const enum config_size sizes[] = { CONFIG_HIDDEN, CONFIG_INTERMEDIATE };
    uint64_t whole = GROUP * dim_cols(f->with[0]), cols = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && cols == 0; i++)
        if (has_size(f, config_size(f->claims->config, sizes[i])))
            cols = config_size(f->claims->config, sizes[i]);
    if (cols == 0 && has_size(f, whole))
        cols = whole;
    return cols;
}

static bool
ternary_fit(struct table_match *f, struct weight *w, struct err *err)
{
    struct ternary *own = claims_alloc(f->claims, sizeof *own, err);
    uint64_t cols = find_cols(f);
    if (!own)
        return false;
    *own = (struct ternary){ .blocks = { .rows = dim_rows(f->codes), .cols = cols, .b0 = 1, .b1 = GROUP,
        .per_row = dim_cols(f->with[0]) }, .width = dim_cols(f->codes), .open = cols == 0 };
    w->own = own;
    w->vague = own->open;
    return own->open || table_set_cols(f, w, cols, err);
}

static void
ternary_run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    const struct ternary *own = w->own;
    uint64_t cols = own->blocks.cols, last = first + count - 1;
    if (part != CODES) {
        blocks_span(s, &own->blocks, w->part[part], first, count);
        return;
    }
    s->at = first / cols * own->width + first % cols / DIGITS;
    s->len = last / cols * own->width + last % cols / DIGITS + 1 - s->at;
}

/* The digits of a byte, less 1, and bytes that the next ones overwrite. A packed byte is less than 243. */
#define DIGIT(b, power) ((b) / (power) % 3 - 1)
#define WORD(b) { DIGIT(b, 1), DIGIT(b, 3), DIGIT(b, 9), DIGIT(b, 27), DIGIT(b, 81) }
#define WORDS_4(b) WORD(b), WORD((b) + 1), WORD((b) + 2), WORD((b) + 3)
#define WORDS_16(b) WORDS_4(b), WORDS_4((b) + 4), WORDS_4((b) + 8), WORDS_4((b) + 12)
#define WORDS_64(b) WORDS_16(b), WORDS_16((b) + 16), WORDS_16((b) + 32), WORDS_16((b) + 48)
static const int8_t digits[256][8] = { WORDS_64(0), WORDS_64(64), WORDS_64(128), WORDS_64(192) };

static uint64_t
ternary_decode(const struct decoding *d, uint64_t at, uint64_t count, uint8_t *y)
{
    const struct ternary *own = d->w->own;
    uint64_t left = STEP_DIGITS - at % own->blocks.cols % STEP_DIGITS;
    struct codes_piece *p = codes_begin(d, at, num_min(count, left), own->blocks.cols, GROUP);
    const uint8_t *x = decoding_bytes(d, CODES, p->row * own->width + p->col / DIGITS);
    size_t cut = (size_t)(p->col % DIGITS);
    codes_scales(p, d, &own->blocks, SCALES);
    for (size_t i = 0; i < cut + p->n; i += DIGITS)
        memcpy(p->codes + i, digits[*x++], sizeof digits[0]);
    return codes_emit(p, d, p->codes + cut, true, false, y);
}

static void
ternary_describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    const struct ternary *own = w->own;
    blocks_describe(&own->blocks, own->open ? "columns not given by config.json (--config)" : NULL, buf, 0);
}

const struct scheme ternary_schemes[] = {
    {
        .code = "thrush-ternary",
        .name = "thrush-ternary",
        WORDS({ WORD_METHOD, "thrush-ternary*" }, { WORD_FORMAT, "thrush-ternary*" }),
        ROWS({ .codes = ".qweight", .dtypes = IS(U8), .becomes = ".weight", .is = is_ternary,
            WITH(COMPANION(".scales", IS(F16), EVIDENCE, SCALE, .part = SCALES)) }),
        .fit = ternary_fit,
        .need = { [CODES] = NEED_RUN, [SCALES] = NEED_RUN },
        .run = ternary_run,
        .room = sizeof(struct codes_piece),
        .decode = ternary_decode,
        .describe = ternary_describe,
    },
    { 0 },
};
