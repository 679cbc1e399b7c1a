/* test_encode_schemes: encoders of FP8 and of bitsandbytes: known vectors, and each set of kernels against the scalar one. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/tree.h"
#include "check.h"
#include "encode/encode.h"
#include "hf/quantizer.h"
#include "fence.h"
#include "sets.h"

/* --- a weight and its encoded parts */

enum { ROOM = 64 << 10 };

struct made {
    struct encoding e;
    struct encode_part parts[ENCODE_PARTS];
    uint8_t part[ENCODE_PARTS][ROOM];
    size_t nbytes[ENCODE_PARTS];
    float back[ROOM];
};

static struct made made;
static _Alignas(max_align_t) uint8_t scratch[ENCODE_ROOM];
static float room[ENCODE_FLOATS], back_room[ENCODE_FLOATS], facts[ROOM];

static bool
read_floats(void *of, uint64_t first, size_t count, float *x, struct err *err)
{
    (void)err;
    memcpy(x, (const float *)of + first, count * sizeof *x);
    return true;
}

static void
compare(void *of, uint64_t first, const float *x, const float *back, size_t n)
{
    (void)of;
    (void)x;
    memcpy(made.back + first, back, n * sizeof *back);
}

static bool
read_largest(void *of, const struct encode_extent *at, float *y, float *x, struct err *err)
{
    for (size_t r = 0; r < at->rows; r++, y += (at->cols + at->group - 1) / at->group) {
        read_floats(of, at->first + r * at->cols, at->cols, x, err);
        encode_absmax(y, x, at->cols, at->group);
    }
    return true;
}

static bool
make_part(struct encode_run *run, unsigned part, uint64_t numel, struct err *err)
{
    const struct encode_part *p = &made.e.part[part];
    uint64_t nbytes = encode_part_nbytes(p);
    made.nbytes[part] = (size_t)nbytes;
    if (p->bytes) {
        memcpy(made.part[part], p->bytes, (size_t)nbytes);
        return true;
    }
    run->n = p->elems ? (size_t)numel : 0;
    run->most = run->back;
    if (p->most)
        read_largest(run->of, &(const struct encode_extent){ 0, 1, run->n, p->most }, run->back, run->x, err);
    else if (p->elems)
        read_floats(run->of, 0, run->n, run->x, err);
    return made.e.encoder->encode(&made.e, run, part, 0, (nbytes + p->grain - 1) / p->grain, made.part[part], err);
}

/* Encodes [rows, cols] values x into all parts, in `made`. */
static bool
encode(const struct kernels *k, struct catalog *memory, const char *scheme, enum dtype dtype, const float *x, uint64_t rows,
    uint64_t cols, struct err *err)
{
    static uint8_t packed[2 * SHAPE_DIM];
    const uint64_t dim[] = { rows, cols };
    const struct encode_options options = { 0 };
    struct encode_run run = { .kernels = k, .read = read_floats, .largest = read_largest, .of = (void *)x, .x = room, .facts = facts,
        .compare = compare, .back = back_room, .room = scratch };
    shape_pack(packed, dim, 2);
    memset(&made, 0, sizeof made);
    memset(facts, 0, sizeof facts);
    made.e = (struct encoding){ .encoder = encode_find(scheme, KEEPS_CODES), .memory = memory, .rows = rows, .cols = cols,
        .part = made.parts,
        .weight = { .name = "m.weight", .name_len = 8, .dtype = dtype, .shape = { 2, packed } } };
    const struct encoder *encoder = made.e.encoder;
    bool ok = encoder && encoder->fit(&made.e, &options, err) == ENCODE_YES;
    for (uint64_t r = 0; ok && r < made.e.nregions; r++)
        ok = encoder->survey.region(&made.e, &run, r, facts, err);
    if (ok && encoder->survey.settle)
        encoder->survey.settle(&made.e, facts);
    ok = ok && (!encoder->survey.finish_parts || encoder->survey.finish_parts(&made.e, facts, err));
    for (unsigned i = 0; ok && i < made.e.nparts; i++)
        ok = make_part(&run, i, rows * cols, err);
    return ok;
}

static bool
is_bits(const uint8_t *bytes, const uint32_t *want, size_t n)
{
    bool same = true;
    for (size_t i = 0; i < n; i++)
        same = same && load_le32(bytes + 4 * i) == want[i];
    return same;
}

static bool
back_is(const uint16_t *want, size_t n)
{
    bool same = true;
    for (size_t i = 0; i < n; i++)
        same = same && (bits_of_float(made.back[i]) + 0x7FFF + (bits_of_float(made.back[i]) >> 16 & 1)) >> 16 == want[i];
    return same;
}

static bool
is_object(const struct encoding *e, struct err *err)
{
    struct str text = { 0 };
    json_t *root = NULL;
    const struct hf_quantizer *q = hf_quantizer_of(e->encoder);
    struct hf_module_group group = { .e = e, .quantizer = q };
    q->loader->config(&text, &(const struct hf_modules){ .group = &group, .n = 1 });
    bool ok = !text.failed && tree_read(&root, text.p, text.len, "config.json", err);
    ok = ok && json_is_string(json_object_get(root, "quant_method"));
    json_decref(root);
    str_clear(&text);
    return ok;
}

/* --- known vectors */

static void
test_golden_fp8(const struct kernels *k, struct catalog *memory, const float v[64], struct err *err)
{
    static const struct { const char *name; uint32_t scale; } schemes[] = { { "fp8", 0x3b0fffff },
        { "fp8-division", 0x3b100000 }, { "fp8-per-tensor", 0x3b100000 } };
    static const uint8_t codes[] = { 0xf9, 0x77, 0xf1, 0x7c, 0xce, 0xfc, 0x70, 0xf8, 0x79, 0xed, 0x7d, 0x61, 0xfb, 0x73, 0xf5,
        0x7a };
    static const uint16_t back[] = { 0xbf22, 0x3f07, 0xbea2, 0x3f58, 0xbc7c, 0xbf58, 0x3e90, 0xbf10 };
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        const char *name = schemes[i].name;

        CHECK_ROW(encode(k, memory, name, DTYPE_F32, v, 1, 64, err), name);
        CHECK_ROW(made.e.nparts == 2 && is_bits(made.part[1], &schemes[i].scale, 1), name);
        CHECK_ROW(memcmp(made.part[0], codes, sizeof codes) == 0, name);
        CHECK_ROW(back_is(back, 8), name);
    }
    CHECK(strcmp(made.e.part[1].name, "m.weight_scale") == 0 && made.e.part[1].shape.rank == 1);
}

static void
test_golden_bnb(const struct kernels *k, struct catalog *memory, const float v[64], struct err *err)
{
    static const uint8_t nf4[] = { 0x1d, 0x4e, 0x70, 0xb2, 0xd4, 0xf8, 0x1c, 0x2e, 0x50, 0x91, 0xc3, 0xe6, 0x0a, 0x2d, 0x4f, 0x81,
        0xb2, 0xe5, 0xf9, 0x1c, 0x3e, 0x60, 0xa1, 0xd4, 0xf7, 0x1b, 0x2e, 0x5f, 0x81, 0xc3, 0xe6, 0x0a };
    static const uint8_t fp4[] = { 0xa5, 0xc3, 0x9b, 0x4d, 0x2f, 0x31, 0xa4, 0xd2, 0xeb, 0x6a, 0x5c, 0x29, 0xb7, 0xa2, 0xf3, 0x1a,
        0x4d, 0x2e, 0x36, 0xa5, 0xc2, 0x9b, 0x7a, 0x5c, 0x31, 0xb4, 0xd2, 0xe3, 0x6a, 0x5d, 0x2e, 0xb6 };
    static const uint8_t int8[] = { 0xad, 0x43, 0xd6, 0x6b, 0xfe, 0x91, 0x26, 0xb9, 0x4f, 0xe2, 0x77, 0x0a, 0x9d, 0x32, 0xc6, 0x5b };
    static const uint16_t back[] = { 0xbf2f, 0x3f0e, 0xbe8f, 0x3f36, 0x0000, 0xbf7c, 0x3eaa, 0xbf04 };
    static const uint32_t absmax[] = { 0x3f7c0000, 0x3f7c0000 };
    static const char state[] = "{\"quant_type\": \"nf4\", \"blocksize\": 64, \"dtype\": \"bfloat16\", \"shape\": [1, 64]}";
    CHECK(encode(k, memory, "nf4", DTYPE_BF16, v, 1, 64, err) && made.e.nparts == 4);
    CHECK(memcmp(made.part[0], nf4, sizeof nf4) == 0 && is_bits(made.part[1], absmax, 1) && back_is(back, 8));
    CHECK(made.nbytes[3] == sizeof state - 1 && memcmp(made.part[3], state, sizeof state - 1) == 0);
    CHECK(encode(k, memory, "fp4", DTYPE_BF16, v, 1, 64, err) && memcmp(made.part[0], fp4, sizeof fp4) == 0);
    CHECK(encode(k, memory, "fp4-cpu", DTYPE_BF16, v, 1, 64, err) && memcmp(made.part[0], fp4, sizeof fp4) == 0);
    CHECK(encode(k, memory, "int8", DTYPE_F16, v, 2, 32, err) && memcmp(made.part[0], int8, sizeof int8) == 0);
    CHECK(is_bits(made.part[1], absmax, 2) && made.nbytes[2] == 1 && made.part[2][0] == 0);
}

/* Eight blocks, each with one value and zeros. */
static void
test_golden_nested(const struct kernels *k, struct catalog *memory, struct err *err)
{
    static const float absmax[] = { 0.5f, 1, 2, 4, 8, 0.25f, 0.125f, 3 };
    static const uint8_t codes[] = { 0x2f, 0x35, 0x4c, 0xcc, 0xff, 0x2c, 0x2a, 0xbf };
    static const uint32_t back[] = { 0x3ef91800, 0x3f766268, 0x3fff2ecd, 0x407fa233, 0x41000000, 0x3e7e8330, 0x3db82000,
        0x403da366 };
    static const char offset[] = "\"nested_blocksize\": 256, \"nested_dtype\": \"float32\", \"nested_offset\": 2.359375}";
    static float x[8 * 64];
    const uint32_t nested = 0x40b48000;
    memset(x, 0, sizeof x);
    for (int i = 0; i < 8; i++)
        x[64 * i] = absmax[i];
    CHECK(encode(k, memory, "nf4-double-quant", DTYPE_F32, x, 8, 64, err) && made.e.nparts == 6);
    CHECK(memcmp(made.part[1], codes, sizeof codes) == 0 && is_bits(made.part[3], &nested, 1));
    CHECK(made.nbytes[4] == 1024 && load_le32(made.part[4] + 4 * 255) == 0x3f800000);
    CHECK(made.nbytes[5] > sizeof offset && memcmp(made.part[5] + made.nbytes[5] - (sizeof offset - 1), offset,
        sizeof offset - 1) == 0);
    for (int i = 0; i < 8; i++)
        CHECK(bits_of_float(made.back[64 * i]) == back[i]);
}

/* Every encoder marks one part as the codes; no other part has their elements. */
static void
test_codes(struct catalog *memory, struct err *err)
{
    static uint8_t packed[2 * SHAPE_DIM];
    const uint64_t dim[] = { 64, 256 };
    const struct encode_options options = { 0 };
    unsigned encoders = 0;
    shape_pack(packed, dim, 2);
    for (size_t i = 0; encode_at(i); i++, encoders++) {
        unsigned codes = 0;
        memset(&made, 0, sizeof made);
        made.e = (struct encoding){ .encoder = encode_at(i), .memory = memory, .rows = 64, .cols = 256, .part = made.parts,
            .weight = { .name = "a.weight", .name_len = 8, .dtype = DTYPE_BF16, .shape = { 2, packed } } };
        made.e.options = options;
        CHECK_ROW(made.e.encoder->fit(&made.e, &made.e.options, err) == ENCODE_YES, made.e.encoder->name);
        for (unsigned p = 0; p < made.e.nparts; p++) {
            codes += made.parts[p].codes;
            CHECK_ROW(!made.parts[p].codes || !made.parts[p].bytes, made.e.encoder->name);
        }
        CHECK_ROW(codes == 1, made.e.encoder->name);
    }
    CHECK(encoders > 40);
}

/* Every encoder with a config writes valid JSON. */
static void
test_configs(const struct kernels *k, struct catalog *memory, const float v[64], struct err *err)
{
    unsigned configs = 0;
    for (size_t i = 0; encode_at(i); i++) {
        const struct encoder *encoder = encode_at(i);
        const struct hf_quantizer *q = hf_quantizer_of(encoder);
        if (!q || !q->loader || (strncmp(encoder->label, "FP8", 3) != 0 && strncmp(encoder->label, "bits", 4) != 0))
            continue;
        CHECK_ROW(encode(k, memory, encoder->name, DTYPE_BF16, v, 1, 64, err), encoder->name);
        CHECK_ROW(is_object(&made.e, err), encoder->name);
        configs++;
    }
    CHECK(configs >= 18);
}

/* --- sets against the scalar one */

enum { MOST = 4096 + 37 };

static const float edges[] = { 0.0f, -0.0f, 1e-45f, -1e-45f, 1e-39f, 0x1p-126f, 0x1p-10f, 0x1.8p-10f, 0x1p-9f, 0x1.fp-7f, 0x1p-6f,
    -0x1p-17f, 0x1p-16f, 0x1.8p-15f, 0x1p-14f, 1.0625f, 1.1875f, 447.9f, 448, 464, 464.001f, 480, -500, 57344, 61439, 61440, 65503,
    65519, 65520, 1e30f, 0x1.fffffep127f, INFINITY, -INFINITY, NAN, 0.5f, -0.5f, 2.5f, 1.0f, -1.0f };

static void
fill(float *x, size_t n, int kind)
{
    float scale = ldexpf(1.0f, (int)(fence_random() % 40) - 20);
    for (size_t i = 0; i < n; i++) {
        float sum = -2.0f;
        for (int j = 0; j < 4; j++)
            sum += (float)(fence_random() >> 8) * 0x1p-24f;
        if (i % 64 == 0 && kind == 3)
            scale = ldexpf(1.0f, (int)(fence_random() % 270) - 148);
        switch (kind) {
        case 0: x[i] = sum; break;
        case 1: x[i] = float_of_bits(bits_of_float(sum * scale) & 0xFFFF0000u); break;
        case 2: x[i] = (float)((int)(fence_random() % 65) - 32) / 32; break;
        case 3: x[i] = sum * scale; break;
        case 4: x[i] = edges[fence_random() % (sizeof edges / sizeof *edges)]; break;
        case 5: x[i] = fence_random() % 50 ? sum : edges[fence_random() % (sizeof edges / sizeof *edges)]; break;
        case 6: x[i] = 0.0f; break;
        default: x[i] = float_of_bits(fence_random()); break;
        }
    }
}

enum { KINDS = 8 };

/* The end of what was written is the end of the buffer. */
struct results {
    struct fence bytes, floats;
};

static bool
fp8_agrees(const struct kernels *a, const struct kernels *b, const struct results r[2], const float *x, size_t n,
    const struct encode_fp8 *how)
{
    uint8_t *y[] = { r[0].bytes.end - n, r[1].bytes.end - n };
    a->encode_e4m3(y[0], x, n, how);
    b->encode_e4m3(y[1], x, n, how);
    bool same = memcmp(y[0], y[1], n) == 0;
    a->encode_e5m2(y[0], x, n, how);
    b->encode_e5m2(y[1], x, n, how);
    return same && memcmp(y[0], y[1], n) == 0;
}

static bool
bnb4_agrees(kernel_encode_bnb4 *a, kernel_encode_bnb4 *b, const struct results r[2], const float *x, size_t n, size_t block)
{
    size_t bytes = (n + 1) / 2, blocks = (n + block - 1) / block * sizeof(float);
    a(r[0].bytes.end - bytes, (float *)(void *)(r[0].floats.end - blocks), x, n, block);
    b(r[1].bytes.end - bytes, (float *)(void *)(r[1].floats.end - blocks), x, n, block);
    return memcmp(r[0].bytes.end - bytes, r[1].bytes.end - bytes, bytes) == 0
        && memcmp(r[0].floats.end - blocks, r[1].floats.end - blocks, blocks) == 0;
}

static bool
int8_agrees(const struct kernels *a, const struct kernels *b, const struct results r[2], const float *x, size_t n)
{
    float s = a->encode_int8_row((int8_t *)r[0].bytes.end - n, x, n), t = b->encode_int8_row((int8_t *)r[1].bytes.end - n, x, n);
    return memcmp(r[0].bytes.end - n, r[1].bytes.end - n, n) == 0 && bits_of_float(s) == bits_of_float(t);
}

static bool
absmax_agrees(const struct kernels *a, const struct kernels *b, const struct results r[2], const float *x, size_t n,
    size_t group)
{
    size_t bytes = (n + group - 1) / group * sizeof(float);
    a->encode_absmax((float *)(void *)(r[0].floats.end - bytes), x, n, group);
    b->encode_absmax((float *)(void *)(r[1].floats.end - bytes), x, n, group);
    return memcmp(r[0].floats.end - bytes, r[1].floats.end - bytes, bytes) == 0;
}

/* Codes of 16 bits, which the bits of floats serve as, at an odd address. The definition is checked by their values. */
static bool
absmax_of_agrees(const struct kernels *a, const struct kernels *b, const struct results r[2], const float *x, size_t n, size_t group)
{
    static const enum dtype types[] = { DTYPE_BF16, DTYPE_F16 };
    static uint8_t codes[2 * MOST + 1];
    static float wide[MOST], most[MOST];
    bool same = true;
    memcpy(codes + 1, x, n * 2);
    for (size_t i = 0; i < 2; i++) {
        size_t bytes = (n + group - 1) / group * sizeof(float);
        a->absmax_of[types[i]]((float *)(void *)(r[0].floats.end - bytes), codes + 1, n, group);
        b->absmax_of[types[i]]((float *)(void *)(r[1].floats.end - bytes), codes + 1, n, group);
        a->widen[types[i]](wide, codes + 1, n);
        a->encode_absmax(most, wide, n, group);
        same = same && memcmp(r[0].floats.end - bytes, r[1].floats.end - bytes, bytes) == 0
            && memcmp(r[0].floats.end - bytes, most, bytes) == 0;
    }
    return same;
}

/* Scale and zero point, codes, and decoded values of a group. A zero may have either sign. */
static bool
int_agrees(const struct int_method *a, const struct int_method *b, const struct results r[2], const float *x, size_t n,
    const struct int_rule *rule)
{
    struct int_group g = { 0 }, h = { 0 };
    float *back[2] = { (float *)(void *)(r[0].floats.end - n * sizeof(float)), (float *)(void *)(r[1].floats.end - n * sizeof(float)) };
    uint8_t *q[2] = { r[0].bytes.end - n, r[1].bytes.end - n };
    a->find(&g, x, n, rule);
    b->find(&h, x, n, rule);
    a->codes(q[0], x, n, &g, rule);
    b->codes(q[1], x, n, &h, rule);
    a->back(back[0], q[0], n, &g, rule);
    b->back(back[1], q[1], n, &h, rule);
    bool finite = g.scale - g.scale == 0 && g.zero - g.zero == 0;
    return (!finite || (g.scale == h.scale && g.zero == h.zero && memcmp(back[0], back[1], n * sizeof *x) == 0))
        && memcmp(q[0], q[1], n) == 0;
}

static bool
pack_agrees(const struct kernels *a, const struct kernels *b, const struct results r[2], size_t n, unsigned bits)
{
    static uint8_t q[MOST];
    size_t bytes = n / 8 * bits;
    for (size_t i = 0; i < n; i++)
        q[i] = (uint8_t)(fence_random() & ((1u << bits) - 1));
    a->int_pack(r[0].bytes.end - bytes, q, n, bits);
    b->int_pack(r[1].bytes.end - bytes, q, n, bits);
    return memcmp(r[0].bytes.end - bytes, r[1].bytes.end - bytes, bytes) == 0;
}

static void
test_set(const struct kernels *scalar, const struct kernels *k, struct fence input, const struct results r[2])
{
    static const enum dtype types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < 60; round++) {
            size_t n = 1 + fence_random() % (round % 2 ? 100 : MOST - 1), block = (size_t)32 << fence_random() % 8;
            float *x = (float *)(void *)input.end - n;
            const struct encode_fp8 how = { round % 5 == 0 ? x[0] : 0.0125f * (float)(1 + fence_random() % 99),
                fence_random() % 2, fence_random() % 2, types[fence_random() % 3] };
            fill(x, n, kind);
            CHECK_ROW(fp8_agrees(scalar, k, r, x, n, &how), "FP8");
            CHECK_ROW(absmax_agrees(scalar, k, r, x, n, 1 + fence_random() % 300), "absmax");
            CHECK_ROW(absmax_of_agrees(scalar, k, r, x, n, 1 + fence_random() % 300), "absmax of codes");
            CHECK_ROW(bnb4_agrees(scalar->encode_nf4, k->encode_nf4, r, x, n, block), "NF4");
            CHECK_ROW(bnb4_agrees(scalar->encode_fp4, k->encode_fp4, r, x, n, block), "FP4");
            CHECK_ROW(bnb4_agrees(scalar->encode_fp4_cpu, k->encode_fp4_cpu, r, x, n, block), "FP4 of the CPU");
            CHECK_ROW(int8_agrees(scalar, k, r, x, n), "INT8");
            const struct int_rule rule = { types[fence_random() % 3], 2 + fence_random() % 7, fence_random() % 2 };
            CHECK_ROW(int_agrees(scalar->int_ct, k->int_ct, r, x, n, &rule), "integers of compressed-tensors");
            CHECK_ROW(int_agrees(scalar->int_gptq, k->int_gptq, r, x, n, &rule), "integers of GPTQ");
            CHECK_ROW(int_agrees(scalar->int_awq, k->int_awq, r, x, n, &rule), "integers of AWQ");
            CHECK_ROW(int_agrees(scalar->int_mlx, k->int_mlx, r, x, n, &rule), "integers of MLX");
            CHECK_ROW(pack_agrees(scalar, k, r, n / 8 * 8, rule.bits), "packed integers");
        }
}

int
main(void)
{
    const struct kernels *scalar = sets_pick(sets[0]);
    const struct results r[2] = { { fence_new(MOST), fence_new(4 * MOST) }, { fence_new(MOST), fence_new(4 * MOST) } };
    struct fence input = fence_new(MOST * sizeof(float));
    struct err err;
    float v[64];
    err_init(&err);
    struct catalog *memory = catalog_new(&limits_default, &err);
    fence_guard("test_encode_schemes");
    if (!CHECK(scalar && memory))
        return check_done("test_encode_schemes");
    test_codes(memory, &err);
    for (int i = 0; i < 64; i++)
        v[i] = ((float)((37 * i + 11) % 64) - 31.5f) / 32.0f;
    for (int i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);
        if (!k)
            continue;
        fence_what[0] = sets[i];
        test_golden_fp8(k, memory, v, &err);
        test_golden_bnb(k, memory, v, &err);
        test_golden_nested(k, memory, &err);
        test_configs(k, memory, v, &err);
        if (k != scalar)
            test_set(scalar, k, input, r);
    }
    catalog_free(memory);
    return check_done("test_encode_schemes");
}
