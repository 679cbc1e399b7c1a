/* bitsandbytes 4-bit: codes into a table of 16, times the absmax of their block. The tensors of a weight X:
 *
 *     X                    [bytes, 1]     two codes a byte, the high nibble first; U8, or the same bytes as BF16 ...
 *     X.absmax             [B] F32        one a block of the flattened weight; rows do not count, the last is short
 *                          [B] U8         or codes into nested_quant_map
 *     X.quant_map          [16] F32       the table
 *     X.nested_absmax      [N] F32        one for nested_blocksize absmax codes
 *     X.nested_quant_map   [256] F32
 *     X.quant_state...     U8             bnb4_state.c; it has the shape, so X alone does not tell it
 *
 *     scale_b = absmax[b], or RN32(RN32(nested_quant_map[absmax[b]] * nested_absmax[b / nested_blocksize]) + offset)
 *     V[t] = RN32(quant_map[code_t] * scale of t's block)
 *
 * FP4 has -0 as its code 8, although its stored table says +0: what CUDA's and the CPU's kernels give.
 * Sources: bitsandbytes functional.py, dequantize_4bit, and csrc/kernels.cu; GPTQModel's names: its
 * nn_modules/qlinear/bitsandbytes.py.
 */
#include "scheme/bnb4.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "scheme/bnb4_state.h"

enum { CODES, ABSMAX, QUANT_MAP, NESTED_ABSMAX, NESTED_MAP };          /* parts */
enum { BLOCKSIZE, NESTED_BLOCKSIZE, OFFSET, TYPE };                     /* facts; OFFSET: the bits of an F32 */
enum { TYPE_UNREAD, TYPE_NF4, TYPE_FP4 };

enum { MAP = 16, NESTED = 256, MINUS_ZERO = 8 };

/* What the tensors beside X are called. */
static const struct naming {
    const char *state, *type;           /* type: what the name says; NULL: nothing */
    const char *part[SCHEME_PARTS];
} namings[] = {
#define PARTS(dot) { NULL, dot "absmax", dot "quant_map", dot "nested_absmax", dot "nested_quant_map" }
    { ".quant_state.bitsandbytes__nf4", "nf4", PARTS(".") },
    { ".quant_state.bitsandbytes__fp4", "fp4", PARTS(".") },
    { "_quant_state", NULL, PARTS("_") },                               /* GPTQModel */
#undef PARTS
};

/* The tables, for a weight without quant_map. */
static const uint32_t nf4_bits[MAP] = {
    0xbf800000, 0xbf3239b1, 0xbf066b30, 0xbeca32a0, 0xbe91a24d, 0xbe3d353f, 0xbdba7871, 0x00000000,
    0x3da2faff, 0x3e24cae3, 0x3e7c04dd, 0x3ead033a, 0x3ee1a4b8, 0x3f1007ab, 0x3f3913b3, 0x3f800000,
};
static const uint32_t fp4_bits[MAP] = {
    0x00000000, 0x3baaaaab, 0x3f2aaaab, 0x3f800000, 0x3eaaaaab, 0x3f000000, 0x3e2aaaab, 0x3e800000,
    0x80000000, 0xbbaaaaab, 0xbf2aaaab, 0xbf800000, 0xbeaaaaab, 0xbf000000, 0xbe2aaaab, 0xbe800000,
};

/* The quant_state of a weight and the naming it follows; NULL when there is none. Two: ERR_MALFORMED. */
static bool
find_state(const struct claims *c, const struct tensor *codes, const struct tensor **blob,
    const struct naming **naming, struct err *err)
{
    *blob = NULL;
    for (size_t i = 0; i < sizeof namings / sizeof *namings; i++) {
        const struct tensor *found = claims_find(c, codes->name, codes->name_len, namings[i].state);
        if (!found || found->dtype != DTYPE_U8)
            continue;
        if (*blob) {
            char a[STR_SHOWN], b[STR_SHOWN], x[STR_SHOWN];
            return err_set(err, ERR_MALFORMED, found->extent.at, "tensor %s: has two quant_states, %s and %s",
                str_shown(x, codes->name, codes->name_len), str_shown(a, (*blob)->name, (*blob)->name_len),
                str_shown(b, found->name, found->name_len));
        }
        *blob = found;
        *naming = &namings[i];
    }
    return true;
}

/* Whether part p is there, of this dtype and one-dimensional, with n elements unless that is ANY. */
#define ANY UINT64_MAX
static bool
check_part(const struct claims *c, const struct weight *w, const struct naming *naming, unsigned p, enum dtype dtype,
    uint64_t n, struct err *err)
{
    const struct tensor *t = w->part[p], *codes = w->part[CODES];
    char x[STR_SHOWN], name[STR_SHOWN], shape[SHAPE_TEXT], count[24] = "n";
    str_shown(x, codes->name, codes->name_len);
    if (!t)
        return claims_missing(c, codes->extent.at, err, "tensor %s: has a quant_state, but %s%s is missing", x, x,
            naming->part[p]);
    if (t->dtype == dtype && t->shape.rank == 1 && (n == ANY || shape_dim(&t->shape, 0) == n))
        return true;
    if (n != ANY)
        snprintf(count, sizeof count, "%" PRIu64, n);
    return err_set(err, ERR_MALFORMED, t->extent.at, "tensor %s: is %s %s, expected %s%s [%s] for %s",
        str_shown(name, t->name, t->name_len), dtype_name(t->dtype), shape_text(shape, &t->shape), dtype_name(dtype),
        p == ABSMAX && dtype == DTYPE_F32 ? " or U8" : "", count, x);
}

static bool
is_nested(const struct weight *w)
{
    return w->part[ABSMAX]->dtype == DTYPE_U8;
}

/* The parts against each other and against a number of blocks, both ANY while the blob was not read. */
static bool
check_parts(const struct claims *c, const struct weight *w, const struct naming *naming, uint64_t blocks,
    uint64_t nested, struct err *err)
{
    bool quantized = w->part[ABSMAX] && is_nested(w);
    if (!check_part(c, w, naming, ABSMAX, quantized ? DTYPE_U8 : DTYPE_F32, blocks, err)
        || (w->part[QUANT_MAP] && !check_part(c, w, naming, QUANT_MAP, DTYPE_F32, MAP, err)))
        return false;
    if (quantized)
        return check_part(c, w, naming, NESTED_ABSMAX, DTYPE_F32, nested, err)
            && check_part(c, w, naming, NESTED_MAP, DTYPE_F32, NESTED, err);
    const struct tensor *extra = w->part[NESTED_ABSMAX] ? w->part[NESTED_ABSMAX] : w->part[NESTED_MAP];
    char a[STR_SHOWN], b[STR_SHOWN];
    return !extra || err_set(err, ERR_MALFORMED, extra->extent.at, "tensor %s: is there although %s is F32, expected "
        "U8", str_shown(a, extra->name, extra->name_len), str_shown(b, w->part[ABSMAX]->name, w->part[ABSMAX]->name_len));
}

/* Codes of shape [1, n] are a transposed view, which bitsandbytes would turn back into other elements. */
static bool
check_codes(const struct tensor *codes, struct err *err)
{
    const struct shape *s = &codes->shape;
    char name[STR_SHOWN], shape[SHAPE_TEXT];
    if (s->rank < 2 || shape_dim(s, 0) != 1 || shape_dim(s, 1) <= 1)
        return true;
    return err_set(err, ERR_MALFORMED, codes->extent.at, "tensor %s: 4-bit codes of shape %s, expected [%" PRIu64
        ", 1]", str_shown(name, codes->name, codes->name_len), shape_text(shape, s), shape_dim(s, 1));
}

/* Take the shape and the facts from the blob, and hold the parts against them. */
static bool
define(struct weight *w, const struct naming *naming, struct claims *c, const struct tensor *blob, struct err *err)
{
    struct bnb4_state s;
    char name[STR_SHOWN];
    if (!bnb4_state_read(&s, c, blob, naming->type, w->part[CODES], err))
        return false;
    if (s.nested != is_nested(w))
        return err_set(err, ERR_MALFORMED, blob->extent.at, "tensor %s: speaks of %s absmax, but found is %s",
            str_shown(name, blob->name, blob->name_len), s.nested ? "nested" : "plain",
            dtype_name(w->part[ABSMAX]->dtype));
    uint64_t blocks = num_ceil_div(s.numel, s.blocksize);
    w->shape = s.shape;
    w->fact[BLOCKSIZE] = s.blocksize;
    w->fact[NESTED_BLOCKSIZE] = s.nested_blocksize;
    w->fact[OFFSET] = bits_of_float(s.nested_offset);
    w->fact[TYPE] = s.fp4 ? TYPE_FP4 : TYPE_NF4;
    return check_parts(c, w, naming, blocks, s.nested ? num_ceil_div(blocks, s.nested_blocksize) : 0, err);
}

static enum claim
claim(const struct scheme *self, struct claims *c, const struct tensor *codes, struct weight *w, struct err *err)
{
    const struct tensor *blob;
    const struct naming *naming;
    bool bytes = codes->dtype == DTYPE_U8 || codes->dtype == DTYPE_I8;
    (void)self;
    if (codes->dtype >= DTYPE_SCALARS || codes->big_endian)
        return CLAIM_NO;
    if (!bytes && (codes->shape.rank != 2 || shape_dim(&codes->shape, 1) != 1))    /* spares most the look-ups */
        return CLAIM_NO;
    if (!find_state(c, codes, &blob, &naming, err))
        return CLAIM_FAIL;
    if (!blob)
        return CLAIM_NO;
    for (unsigned p = 1; p < SCHEME_PARTS; p++)
        w->part[p] = claims_find(c, codes->name, codes->name_len, naming->part[p]);
    if (!check_codes(codes, err) || !check_parts(c, w, naming, ANY, ANY, err) || !claims_take(c, blob, codes, err)
        || !claims_take_idle(c, codes, err))
        return CLAIM_FAIL;
    for (unsigned p = 1; p < SCHEME_PARTS; p++)
        if (w->part[p] && !claims_take(c, w->part[p], codes, err))
            return CLAIM_FAIL;
    if (claims_contents(c))
        return define(w, naming, c, blob, err) ? CLAIM_YES : CLAIM_FAIL;
    w->vague = true;
    if (naming->type)
        w->fact[TYPE] = strcmp(naming->type, "fp4") == 0 ? TYPE_FP4 : TYPE_NF4;
    return CLAIM_YES;
}

/* --- decoding */

static void
run(struct span *s, const struct weight *w, unsigned part, uint64_t first, uint64_t count)
{
    uint64_t from = first / w->fact[BLOCKSIZE], to = (first + count - 1) / w->fact[BLOCKSIZE];
    uint64_t size = dtype_facts(w->part[part]->dtype)->bytes;
    if (part == CODES) {
        *s = (struct span){ .at = first / 2, .len = (first + count + 1) / 2 - first / 2 };
        return;
    }
    if (part == NESTED_ABSMAX) {
        from /= w->fact[NESTED_BLOCKSIZE];
        to /= w->fact[NESTED_BLOCKSIZE];
    }
    *s = (struct span){ .at = from * size, .len = (to - from + 1) * size };
}

static float
float_at(const uint8_t *p, uint64_t i)
{
    return float_of_bits(load_le32(p + 4 * i));
}

static void
read_map(float map[MAP], const struct weight *w, const uint8_t *stored)
{
    bool fp4 = w->fact[TYPE] == TYPE_FP4;
    for (unsigned i = 0; i < MAP; i++)
        map[i] = w->part[QUANT_MAP] ? float_at(stored, i) : float_of_bits(fp4 ? fp4_bits[i] : nf4_bits[i]);
    if (fp4)
        map[MINUS_ZERO] = -0.0f;
}

/* The absmax of n blocks from block b on; in[] begins with block `from`. */
static void
read_absmax(float *absmax, size_t n, const struct weight *w, const struct part_bytes in[SCHEME_PARTS], uint64_t b,
    uint64_t from)
{
    uint64_t per = w->fact[NESTED_BLOCKSIZE];
    float offset = float_of_bits((uint32_t)w->fact[OFFSET]);
    for (size_t i = 0; i < n; i++, b++) {
        if (!is_nested(w)) {
            absmax[i] = float_at(in[ABSMAX].p, b - from);
            continue;
        }
        float value = float_at(in[NESTED_MAP].p, in[ABSMAX].p[b - from]);
        float scaled = value * float_at(in[NESTED_ABSMAX].p, b / per - from / per);
        absmax[i] = scaled + offset;
    }
}

static void
decode(const struct weight *w, const struct kernels *k, const struct part_bytes in[SCHEME_PARTS], uint64_t first,
    uint64_t count, enum dtype to, void *out)
{
    enum { STEP = 2048, BLOCKS = STEP / 32 };           /* 32: the smallest blocksize */
    uint64_t blocksize = w->fact[BLOCKSIZE], from = first / blocksize, end = first + count;
    uint8_t *y = out;
    float map[MAP];
    read_map(map, w, in[QUANT_MAP].p);
    /* Steps end at multiples of STEP, so that they touch whole blocks or one. */
    for (uint64_t at = first, n; at < end; at += n) {
        float absmax[BLOCKS], v[STEP];
        const struct codes4 c = { .map = map, .scales = absmax, .group = (size_t)blocksize };
        uint64_t block = at / blocksize;
        const uint8_t *codes = in[CODES].p + (at / 2 - first / 2);
        n = num_min(end - at, STEP - at % STEP);
        read_absmax(absmax, (size_t)((at + n - 1) / blocksize - block + 1), w, in, block, from);
        if (to == DTYPE_BF16) {
            k->codes4_bf16((void *)y, codes, (size_t)(at % blocksize), (size_t)n, &c);
        } else {
            k->codes4_f32(v, codes, (size_t)(at % blocksize), (size_t)n, &c);
            kernels_round(k, to, y, v, (size_t)n);
        }
        y += n * dtype_facts(to)->bytes;
    }
}

static void
describe(const struct weight *w, char buf[SCHEME_DETAIL])
{
    static const char *const types[] = { [TYPE_UNREAD] = "4-bit", [TYPE_NF4] = "NF4", [TYPE_FP4] = "FP4" };
    int n = snprintf(buf, SCHEME_DETAIL, "%s", types[w->fact[TYPE]]);
    if (!w->vague)
        n += snprintf(buf + n, SCHEME_DETAIL - (size_t)n, ", blocks of %" PRIu64, w->fact[BLOCKSIZE]);
    snprintf(buf + n, SCHEME_DETAIL - (size_t)n, "%s", is_nested(w) ? ", double-quantized" : "");
}

const struct scheme scheme_bnb4 = {
    .code = "bnb-4bit",
    .name = "bitsandbytes 4-bit",
    .claim = claim,
    .need = { [CODES] = NEED_RUN, [ABSMAX] = NEED_RUN, [QUANT_MAP] = NEED_WHOLE, [NESTED_ABSMAX] = NEED_RUN,
        [NESTED_MAP] = NEED_WHOLE },
    .run = run,
    .decode = decode,
    .describe = describe,
};
