/* bitsandbytes: the kernel of int8_row.h, the two schemes and the quant_state. Golden vectors of 4 bits are
 * bitsandbytes' own; INT8 values were computed in Python from its codes and the formula of doc/schemes.md. */
#include "check.h"

#include <math.h>
#include "base/bytes.h"
#include "decoded.h"
#include "dtype/bfloat16.h"
#include "sets.h"

enum { BLOCK = 64 };

/* --- golden vectors */

static const uint8_t nf4_codes[] = {
    0x1d, 0x4e, 0x70, 0xb2, 0xd4, 0xf8, 0x1c, 0x2e, 0x50, 0x91, 0xc3, 0xe6, 0x0a, 0x2d, 0x4f, 0x81,
    0xb2, 0xe5, 0xf9, 0x1c, 0x3e, 0x60, 0xa1, 0xd4, 0xf7, 0x1b, 0x2e, 0x5f, 0x81, 0xc3, 0xe6, 0x0a,
};
static const uint8_t fp4_codes[] = {
    0xa5, 0xc3, 0x9b, 0x4d, 0x2f, 0x31, 0xa4, 0xd2, 0xeb, 0x6a, 0x5c, 0x29, 0xb7, 0xa2, 0xf3, 0x1a,
    0x4d, 0x2e, 0x36, 0xa5, 0xc2, 0x9b, 0x7a, 0x5c, 0x31, 0xb4, 0xd2, 0xe3, 0x6a, 0x5d, 0x2e, 0xb6,
};
static const uint8_t absmax64[4] = { 0x00, 0x00, 0x7c, 0x3f };
#define NF4_64 "{\"quant_type\": \"nf4\", \"blocksize\": 64, \"dtype\": \"bfloat16\", \"shape\": [2, 32]}"
#define FP4_64 "{\"quant_type\": \"fp4\", \"blocksize\": 64, \"dtype\": \"bfloat16\", \"shape\": [2, 32]}"

/* Returns input i of the golden vectors. */
static double
input(int i)
{
    return (((37 * i + 11) % 64) - 31.5) / 32;
}

static void
test_golden_4bit(const struct kernels *k, bool fp4)
{
    static const uint16_t first[2][8] = {
        { 0xbf2f, 0x3f0e, 0xbe8f, 0x3f36, 0x0000, 0xbf7c, 0x3eaa, 0xbf04 },
        { 0xbf28, 0x3efc, 0xbea8, 0x3f7c, 0xbba8, 0xbf7c, 0x3ea8, 0xbefc },
    };
    const char *blob = fp4 ? FP4_64 : NF4_64;
    struct err err;
    struct roles *roles = NULL;
    struct catalog *c = model_new(&err);
    add(c, "x.weight", DTYPE_U8, 32, 1, fp4 ? fp4_codes : nf4_codes);
    add(c, "x.weight.absmax", DTYPE_F32, 1, 0, absmax64);
    add(c, fp4 ? "x.weight.quant_state.bitsandbytes__fp4" : "x.weight.quant_state.bitsandbytes__nf4", DTYPE_U8,
        strlen(blob), 0, blob);
    CHECK(catalog_seal(c, &err) && roles_assign(&roles, c, NULL, &contents, &err));
    const struct weight *w = only_weight(roles);
    CHECK(w->shape.rank == 2 && shape_dim(&w->shape, 0) == 2 && shape_dim(&w->shape, 1) == 32 && !w->vague);
    CHECK(roles_decodable(roles, KEEPS_NONE, NULL, &err));
    uint16_t y[64];
    double worst = 0;
    decode(w, k, 0, 64, DTYPE_BF16, y);
    CHECK(memcmp(y, first[fp4], sizeof first[fp4]) == 0);
    for (int i = 0; i < 64; i++)
        worst = fmax(worst, fabs(bfloat16_to_float(y[i]) - input(i)));
    CHECK(worst < (fp4 ? 0.17 : 0.16));         /* half of the widest gap of the table, times absmax */
    roles_free(roles);
    catalog_free(c);
}

/* Eight blocks of code 15, which is 1, so the result is the absmax. */
static void
test_golden_nested(const struct kernels *k)
{
    static const uint8_t codes[8] = { 0x2f, 0x35, 0x4c, 0xcc, 0xff, 0x2c, 0x2a, 0xbf };
    static const struct { uint8_t code; uint32_t bits; } map[] = {      /* the entries of the dynamic map that are used */
        { 0x2f, 0xbeaa0000 }, { 0x35, 0xbe7d9999 }, { 0x4c, 0xbd84cccd }, { 0xcc, 0x3e946666 }, { 0xff, 0x3f800000 },
        { 0x2c, 0xbebf999a }, { 0x2a, 0xbece0000 }, { 0xbf, 0x3ddb3334 },
    };
    static const uint32_t expected[8] = { 0x3ef91800, 0x3f766268, 0x3fff2ecd, 0x407fa233, 0x41000000, 0x3e7e8330,
        0x3db82000, 0x403da366 };
    static const char blob[] = "{\"quant_type\": \"nf4\", \"blocksize\": 64, \"dtype\": \"float32\", \"shape\": [512], "
        "\"nested_blocksize\": 256, \"nested_dtype\": \"float32\", \"nested_offset\": 2.359375}";    /* 40170000 */
    static const uint8_t nested_absmax[4] = { 0x00, 0x80, 0xb4, 0x40 };
    uint8_t ones[256], table[1024] = { 0 };
    struct err err;
    struct roles *roles = NULL;
    struct catalog *c = model_new(&err);
    memset(ones, 0xFF, sizeof ones);
    for (size_t i = 0; i < 8; i++)
        for (unsigned b = 0; b < 4; b++)
            table[4 * map[i].code + b] = (uint8_t)(map[i].bits >> 8 * b);
    add(c, "x", DTYPE_U8, 256, 1, ones);
    add(c, "x.absmax", DTYPE_U8, 8, 0, codes);
    add(c, "x.nested_absmax", DTYPE_F32, 1, 0, nested_absmax);
    add(c, "x.nested_quant_map", DTYPE_F32, 256, 0, table);
    add(c, "x.quant_state.bitsandbytes__nf4", DTYPE_U8, sizeof blob - 1, 0, blob);
    CHECK(catalog_seal(c, &err) && roles_assign(&roles, c, NULL, &contents, &err));
    float y[512];
    bool same = true;
    decode(only_weight(roles), k, 0, 512, DTYPE_F32, y);
    for (int i = 0; i < 512; i++)
        same = same && bits_of_float(y[i]) == expected[i / BLOCK];
    CHECK(same);
    roles_free(roles);
    catalog_free(c);
}

static void
test_golden_int8(const struct kernels *k)
{
    static const uint8_t codes[] = { 0xad, 0x43, 0xd6, 0x6b, 0xfe, 0x91, 0x26, 0xb9, 0x4f, 0xe2, 0x77, 0x0a, 0x9d, 0x32,
        0xc6, 0x5b };
    static const uint32_t expected[8] = { 0xbf24b163, 0x3f04f1e4, 0xbea6ad5b, 0x3f5450a1, 0xbc7dfbf8, 0xbf5c4081,
        0x3e96cd9b, 0xbf0ce1c3 };       /* the last one depends on the order of the products */
    struct err err;
    struct roles *roles = NULL;
    struct catalog *c = model_new(&err);
    add(c, "p.weight", DTYPE_I8, 1, 16, codes);
    add(c, "p.SCB", DTYPE_F32, 1, 0, absmax64);
    add(c, "p.weight_format", DTYPE_U8, 1, 0, "");
    CHECK(catalog_seal(c, &err) && roles_assign(&roles, c, NULL, &contents, &err));
    float y[16];
    double worst = 0;
    decode(only_weight(roles), k, 0, 16, DTYPE_F32, y);
    for (int i = 0; i < 8; i++)
        CHECK(bits_of_float(y[i]) == expected[i]);
    for (int i = 0; i < 16; i++)
        worst = fmax(worst, fabs(y[i] - input(i)));
    CHECK(worst < 0.984375 / 254);
    roles_free(roles);
    catalog_free(c);
}

/* --- kernels */

/* FP4's code 8 is -0 whatever the table contains; otherwise the table of the file is used. */
static void
test_minus_zero(const struct kernels *k)
{
    static const uint8_t code[1] = { 0x81 };
    static const char blob[] = "{\"quant_type\": \"fp4\", \"blocksize\": 64, \"dtype\": \"float16\", \"shape\": [1]}";
    uint8_t map[64] = { 0 };
    struct err err;
    struct roles *roles = NULL;
    struct catalog *c = model_new(&err);
    add(c, "x.weight", DTYPE_I8, 1, 1, code);
    add(c, "x.weight_absmax", DTYPE_F32, 1, 0, absmax64);
    add(c, "x.weight_quant_map", DTYPE_F32, 16, 0, map);
    add(c, "x.weight_quant_state", DTYPE_U8, sizeof blob - 1, 0, blob);
    CHECK(catalog_seal(c, &err) && roles_assign(&roles, c, NULL, &contents, &err));
    float y[1];
    decode(only_weight(roles), k, 0, 1, DTYPE_F32, y);
    CHECK(bits_of_float(y[0]) == 0x80000000);
    roles_free(roles);
    catalog_free(c);
}

/* INT8 against the formula, with random bit patterns for the absmax, including NaN. */
static void
test_int8(const struct kernels *k)
{
    enum { N = 3001 };
    static uint8_t codes[N];
    static float y[N];
    static uint16_t y16[N + 1];
    for (int trial = 0; trial < 200; trial++) {
        size_t n = next() % N;
        float absmax = float_of_bits(next());
        bool same = true;
        fill(codes, sizeof codes);
        y16[n] = 0xA5A5;
        k->int8_row_f32(y, codes, n, absmax);
        k->int8_row_bf16(y16, codes, n, absmax);
        for (size_t i = 0; i < n; i++) {
            float scaled = (float)(int8_t)codes[i] * absmax, v = scaled * float_of_bits(0x3c010204);
            same = same && bits_of_float(y[i]) == (isnan(v) ? 0x7FC00000 : bits_of_float(v))
                && y16[i] == bfloat16_of_float(v);
        }
        CHECK(same && y16[n] == 0xA5A5);
    }
}

static void
test_runs(void)
{
    static uint8_t bytes[8192];
    static const char plain[] = "{\"quant_type\":\"nf4\",\"blocksize\":32,\"dtype\":\"float16\",\"shape\":[5,1237]}";
    static const char nested[] = "{\"quant_type\":\"fp4\",\"blocksize\":64,\"dtype\":\"float16\",\"shape\":[7,3,481],"
        "\"nested_blocksize\":32,\"nested_dtype\":\"float32\",\"nested_offset\":1}";
    for (int kind = 0; kind < 3; kind++) {
        struct err err;
        struct roles *roles = NULL;
        struct catalog *c = model_new(&err);
        size_t n = kind == 0 ? 5 * 1237 : kind == 1 ? 7 * 3 * 481 : 3 * 2111;
        fill(bytes, sizeof bytes);
        if (kind == 2) {
            add(c, "x.weight", DTYPE_I8, 3, 2111, bytes);
            add(c, "x.weight_scb", DTYPE_F32, 3, 0, bytes);
        } else {
            add(c, "x.weight", DTYPE_U8, (n + 1) / 2, 1, bytes);
            add(c, "x.weight.absmax", kind ? DTYPE_U8 : DTYPE_F32, kind ? (n + 63) / 64 : (n + 31) / 32, 0, bytes + 100);
            if (kind == 1) {
                add(c, "x.weight.nested_absmax", DTYPE_F32, ((n + 63) / 64 + 31) / 32, 0, bytes + 200);
                add(c, "x.weight.nested_quant_map", DTYPE_F32, 256, 0, bytes + 300);
            }
            const char *blob = kind ? nested : plain;
            add(c, kind ? "x.weight.quant_state.bitsandbytes__fp4" : "x.weight.quant_state.bitsandbytes__nf4", DTYPE_U8,
                strlen(blob), 0, blob);
        }
        CHECK(catalog_seal(c, &err) && roles_assign(&roles, c, NULL, &contents, &err));
        check_runs(only_weight(roles), n);
        roles_free(roles);
        catalog_free(c);
    }
}

/* --- quant_state */

/* Returns the error kind for the golden NF4 weight with another quant_state. */
static enum err_kind
kind_of(const char *blob, size_t n)
{
    struct err err;
    struct roles *roles = NULL;
    struct catalog *c = model_new(&err);
    uint8_t *copy = malloc(n + 1);
    memcpy(copy, blob, n);
    add(c, "x.weight", DTYPE_U8, 32, 1, nf4_codes);
    add(c, "x.weight.absmax", DTYPE_F32, 1, 0, absmax64);
    add(c, "x.weight.quant_state.bitsandbytes__nf4", DTYPE_U8, n, 0, copy);
    bool ok = catalog_seal(c, &err) && roles_assign(&roles, c, NULL, &contents, &err);
    CHECK(ok == (err.kind == ERR_NONE));
    roles_free(roles);
    catalog_free(c);
    free(copy);
    return err.kind;
}

static void
test_state(void)
{
#define HEAD "{\"quant_type\": \"nf4\", \"blocksize\": 64, \"dtype\": \"bfloat16\", "
#define ROW(text, kind) { text, sizeof text - 1, kind }
    static const struct { const char *text; size_t n; enum err_kind kind; } rows[] = {
        ROW(NF4_64, ERR_NONE), ROW(" " NF4_64 " \n", ERR_NONE),
        ROW(HEAD "\"shape\": [64], \"new\": {\"a\": [null]}}", ERR_NONE), ROW(HEAD "\"shape\": [63]}", ERR_NONE),
        ROW(NF4_64 "\0", ERR_MALFORMED), ROW(NF4_64 "x", ERR_MALFORMED), ROW("", ERR_MALFORMED), ROW("{}", ERR_MALFORMED),
        ROW("[]", ERR_MALFORMED), ROW("null", ERR_MALFORMED), ROW(FP4_64, ERR_MALFORMED),
        ROW("\xef\xbb\xbf" NF4_64, ERR_MALFORMED), ROW(HEAD "\"shape\": [64], \"\\u0000\": 1}", ERR_NONE),
        ROW(HEAD "\"shape\": [64], \"\xff\": 1}", ERR_MALFORMED), ROW(HEAD "\"shape\": [64], \"a\0\": 1}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": [64],}", ERR_MALFORMED), ROW(HEAD "\"shape\": [64], \"dtype\": \"bfloat16\"}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": [65]}", ERR_MALFORMED), ROW(HEAD "\"shape\": [62]}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": []}", ERR_MALFORMED), ROW(HEAD "\"shape\": [-8, -8]}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": [64.0]}", ERR_MALFORMED), ROW(HEAD "\"shape\": [\"64\"]}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": [true]}", ERR_MALFORMED), ROW(HEAD "\"shape\": {\"0\": 64}}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": [9223372036854775808]}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": [4294967296, 4294967296, 64]}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": [9223372036854775807, 2, 0]}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,"
            " 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 64]}", ERR_LIMIT),
        ROW("{\"quant_type\": \"nf4\", \"blocksize\": 0, \"dtype\": \"float32\", \"shape\": [64]}", ERR_MALFORMED),
        ROW("{\"quant_type\": \"nf4\", \"blocksize\": 16, \"dtype\": \"float32\", \"shape\": [64]}", ERR_MALFORMED),
        ROW("{\"quant_type\": \"nf4\", \"blocksize\": 96, \"dtype\": \"float32\", \"shape\": [64]}", ERR_MALFORMED),
        ROW("{\"quant_type\": \"nf4\", \"blocksize\": 8192, \"dtype\": \"float32\", \"shape\": [64]}", ERR_MALFORMED),
        ROW("{\"quant_type\": \"nf4\", \"blocksize\": 64.0, \"dtype\": \"float32\", \"shape\": [64]}", ERR_MALFORMED),
        ROW("{\"quant_type\": \"nf4\", \"blocksize\": 4096, \"dtype\": \"float32\", \"shape\": [64]}", ERR_NONE),
        ROW("{\"quant_type\": \"nf4\", \"blocksize\": 32, \"dtype\": \"float32\", \"shape\": [64]}", ERR_MALFORMED),
        ROW("{\"quant_type\": \"nf4\", \"blocksize\": 64, \"dtype\": \"float64\", \"shape\": [64]}", ERR_MALFORMED),
        ROW("{\"quant_type\": 4, \"blocksize\": 64, \"dtype\": \"float32\", \"shape\": [64]}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": [64], \"nested_offset\": 0.5}", ERR_MALFORMED),
        ROW(HEAD "\"shape\": [64], \"nested_blocksize\": 256, \"nested_dtype\": \"float32\", \"nested_offset\": 0.5}",
            ERR_MALFORMED),     /* the absmax is F32 */
    };
#undef ROW
#undef HEAD
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_ROW(kind_of(rows[i].text, rows[i].n) == rows[i].kind, rows[i].text);

    static char big[70000];
    memset(big, ' ', sizeof big);
    memcpy(big, NF4_64, sizeof NF4_64 - 1);
    CHECK(kind_of(big, 65536) == ERR_NONE);
    CHECK(kind_of(big, 65537) == ERR_LIMIT);
    memset(big, '[', sizeof big);
    CHECK(kind_of(big, 60000) == ERR_MALFORMED);
}

/* nested_offset: any JSON number that is finite after rounding to F32. */
static void
test_offset(void)
{
    static const struct { const char *offset; enum err_kind kind; } rows[] = {
        { "0.0805719643831253", ERR_NONE }, { "1.5e-05", ERR_NONE }, { "0", ERR_NONE }, { "-1e-300", ERR_NONE },
        { "1e39", ERR_MALFORMED }, { "1e999", ERR_MALFORMED }, { "null", ERR_MALFORMED },
        /* Python's words for numbers that JSON lacks; no others. */
        { "NaN", ERR_NONE }, { "Infinity", ERR_NONE }, { "-Infinity", ERR_NONE }, { "nan", ERR_MALFORMED },
        { "+Infinity", ERR_MALFORMED }, { "Infinit", ERR_MALFORMED },
        { "[0]", ERR_MALFORMED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static const float zeros[256];
        char blob[256];
        struct err err;
        struct roles *roles = NULL;
        struct catalog *c = model_new(&err);
        int n = snprintf(blob, sizeof blob, "{\"quant_type\":\"nf4\",\"blocksize\":64,\"dtype\":\"float32\",\"shape\":[64],"
            "\"nested_blocksize\":256,\"nested_dtype\":\"float32\",\"nested_offset\":%s}", rows[i].offset);
        add(c, "x.weight", DTYPE_U8, 32, 1, nf4_codes);
        add(c, "x.weight.absmax", DTYPE_U8, 1, 0, nf4_codes);
        add(c, "x.weight.nested_absmax", DTYPE_F32, 1, 0, zeros);
        add(c, "x.weight.nested_quant_map", DTYPE_F32, 256, 0, zeros);
        add(c, "x.weight.quant_state.bitsandbytes__nf4", DTYPE_U8, (uint64_t)n, 0, blob);
        CHECK(catalog_seal(c, &err));
        roles_assign(&roles, c, NULL, &contents, &err);
        CHECK_ROW(err.kind == rows[i].kind, rows[i].offset);
        roles_free(roles);
        catalog_free(c);
    }
}

/* Companions that do not match, and layouts of INT8. */
static void
test_misfits(void)
{
    static const struct {
        const char *why;
        enum dtype codes; uint64_t rows, cols;
        const char *scale_name; enum dtype scale; uint64_t scales;
        const char *other_name; enum dtype other; uint64_t others;
        uint8_t format;
        enum err_kind kind;
    } rows[] = {
        { "int8", DTYPE_I8, 4, 8, "x.SCB", DTYPE_F32, 4, NULL, DTYPE_U8, 0, 0, ERR_NONE },
        { "row", DTYPE_I8, 4, 8, "x.SCB", DTYPE_F32, 4, "x.weight_format", DTYPE_U8, 1, 0, ERR_NONE },
        { "col32", DTYPE_I8, 4, 8, "x.SCB", DTYPE_F32, 4, "x.weight_format", DTYPE_U8, 1, 1, ERR_UNSUPPORTED },
        { "col_ampere", DTYPE_I8, 4, 8, "x.SCB", DTYPE_F32, 4, "x.weight_format", DTYPE_U8, 1, 3, ERR_UNSUPPORTED },
        { "format 4", DTYPE_I8, 4, 8, "x.SCB", DTYPE_F32, 4, "x.weight_format", DTYPE_U8, 1, 4, ERR_MALFORMED },
        { "two formats", DTYPE_I8, 4, 8, "x.SCB", DTYPE_F32, 4, "x.weight_format", DTYPE_U8, 2, 0, ERR_MALFORMED },
        { "F32 format", DTYPE_I8, 4, 8, "x.SCB", DTYPE_F32, 4, "x.weight_format", DTYPE_F32, 1, 0, ERR_MALFORMED },
        { "short SCB", DTYPE_I8, 4, 8, "x.SCB", DTYPE_F32, 3, NULL, DTYPE_U8, 0, 0, ERR_MALFORMED },
        { "F16 SCB", DTYPE_I8, 4, 8, "x.SCB", DTYPE_F16, 4, NULL, DTYPE_U8, 0, 0, ERR_MALFORMED },
        { "rank 1", DTYPE_I8, 4, 0, "x.SCB", DTYPE_F32, 4, NULL, DTYPE_U8, 0, 0, ERR_MALFORMED },
        { "two SCB", DTYPE_I8, 4, 8, "x.SCB", DTYPE_F32, 4, "x.weight_scb", DTYPE_F32, 4, 0, ERR_MALFORMED },
        { "plain", DTYPE_I8, 4, 8, "y.weight", DTYPE_F32, 4, NULL, DTYPE_U8, 0, 0, ERR_NONE },
    };
    static const uint8_t zeros[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err;
        struct roles *roles = NULL;
        struct catalog *c = model_new(&err);
        add(c, "x.weight", rows[i].codes, rows[i].rows, rows[i].cols, zeros);
        add(c, rows[i].scale_name, rows[i].scale, rows[i].scales, 0, zeros);
        uint8_t other[16] = { rows[i].format };
        if (rows[i].other_name)
            add(c, rows[i].other_name, rows[i].other, rows[i].others, 0, other);
        CHECK(catalog_seal(c, &err));
        roles_assign(&roles, c, NULL, &contents, &err);
        CHECK_ROW(err.kind == rows[i].kind, rows[i].why);
        roles_free(roles);
        catalog_free(c);
    }
}

/* Parts of a 4-bit weight that do not match, detected without the quant_state. */
static void
test_headers_only(void)
{
    static const uint8_t zeros[2048];
    static const struct {
        const char *why;
        uint64_t rows, cols;
        enum dtype absmax;
        uint64_t map, nested_absmax, nested_map;        /* 0: absent */
        enum err_kind kind;
    } rows[] = {
        { "plain", 32, 1, DTYPE_F32, 16, 0, 0, ERR_NONE }, { "no map", 32, 1, DTYPE_F32, 0, 0, 0, ERR_NONE },
        { "nested", 32, 1, DTYPE_U8, 16, 1, 256, ERR_NONE }, { "map of 15", 32, 1, DTYPE_F32, 15, 0, 0, ERR_MALFORMED },
        { "BF16 absmax", 32, 1, DTYPE_BF16, 16, 0, 0, ERR_MALFORMED },
        { "no nested_absmax", 32, 1, DTYPE_U8, 16, 0, 256, ERR_MALFORMED },
        { "no nested_quant_map", 32, 1, DTYPE_U8, 16, 1, 0, ERR_MALFORMED },
        { "nested map of 16", 32, 1, DTYPE_U8, 16, 1, 16, ERR_MALFORMED },
        { "nested with F32 absmax", 32, 1, DTYPE_F32, 16, 1, 256, ERR_MALFORMED },
        { "transposed", 1, 32, DTYPE_F32, 16, 0, 0, ERR_MALFORMED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err;
        struct roles *roles = NULL;
        struct catalog *c = model_new(&err);
        add(c, "x.weight", DTYPE_U8, rows[i].rows, rows[i].cols, zeros);
        add(c, "x.weight.absmax", rows[i].absmax, 1, 0, zeros);
        if (rows[i].map)
            add(c, "x.weight.quant_map", DTYPE_F32, rows[i].map, 0, zeros);
        if (rows[i].nested_absmax)
            add(c, "x.weight.nested_absmax", DTYPE_F32, rows[i].nested_absmax, 0, zeros);
        if (rows[i].nested_map)
            add(c, "x.weight.nested_quant_map", DTYPE_F32, rows[i].nested_map, 0, zeros);
        add(c, "x.weight.quant_state.bitsandbytes__nf4", DTYPE_U8, 5, 0, zeros);
        CHECK(catalog_seal(c, &err));
        bool ok = roles_assign(&roles, c, NULL, NULL, &err);
        CHECK_ROW(ok == (rows[i].kind == ERR_NONE) && err.kind == rows[i].kind, rows[i].why);
        if (ok) {
            const struct weight *w = only_weight(roles);
            char detail[SCHEME_DETAIL];
            w->scheme->describe(w, detail);
            CHECK(w->vague && shape_dim(&w->shape, 0) == 32 && shape_dim(&w->shape, 1) == 1 && !roles_decodable(roles, KEEPS_NONE, NULL, &err));
            CHECK(strcmp(detail, rows[i].absmax == DTYPE_U8 ? "NF4, double-quantized" : "NF4") == 0);
        }
        roles_free(roles);
        catalog_free(c);
    }
}

int
main(void)
{
    for (size_t i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);

        if (k == NULL)
            continue;
        test_golden_4bit(k, false);
        test_golden_4bit(k, true);
        test_golden_nested(k);
        test_golden_int8(k);
        test_minus_zero(k);
        test_int8(k);
    }
    test_runs();
    test_state();
    test_offset();
    test_misfits();
    test_headers_only();
    return check_done("test_bnb");
}
