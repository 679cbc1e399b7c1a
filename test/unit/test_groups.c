/* Schemes with codes in groups, MLX, HQQ, quanto, EETQ and torchao: weights with random codes and scales and awkward shapes,
 * read in arbitrary ranges (decoded.h). The values themselves are tested with test/corpus, which the schemes' libraries
 * wrote. */
#include "decoded.h"

/* A tensor of a model. With data NULL it has random bytes. */
struct given {
    const char *name;
    enum dtype dtype;
    uint64_t rows, cols;                /* cols 0: rank 1 */
    const void *data;
};

enum { GIVEN = 8 };

struct groups_trial {
    const char *what;
    const char *config, *key, *meta;    /* config.json, and one key of the metadata; or NULL */
    uint64_t rows, cols;                /* of the weight */
    struct given given[GIVEN];
};

static void
add_config(struct catalog *c, const char *text)
{
    const struct catalog_config config = { "config.json", text, strlen(text) };
    struct err err;
    err_init(&err);
    CHECK(catalog_add_config(c, &config, &err));
}

static void
add_meta(struct catalog *c, const char *key, const char *text)
{
    struct meta m = { .key = key, .key_len = (uint32_t)strlen(key), .value = { .type = META_STRING } };
    struct err err;
    uint32_t again;
    err_init(&err);
    m.value.as.s.p = text;
    m.value.as.s.n = strlen(text);
    CHECK(catalog_add_meta(c, &m, &again, &err));
}

static void
run_trial(const struct groups_trial *t)
{
    static uint8_t bytes[ARENA / 4];
    struct err err;
    struct roles *roles = NULL;
    struct catalog *c = model_new(&err);
    for (size_t i = 0; i < GIVEN && t->given[i].name; i++) {
        const struct given *g = &t->given[i];
        fill(bytes, sizeof bytes);
        add(c, g->name, g->dtype, g->rows, g->cols, g->data ? g->data : bytes);
    }
    if (t->config)
        add_config(c, t->config);
    if (t->meta)
        add_meta(c, t->key, t->meta);
    if (!CHECK_ROW(catalog_seal(c, &err) && roles_assign(&roles, c, NULL, &contents, &err)
            && roles_decodable(roles, KEEPS_NONE, NULL, &err), t->what)) {
        printf("%s\n", err.text);
        roles_free(roles);
        catalog_free(c);
        return;
    }
    const struct weight *w = only_weight(roles);
    CHECK_ROW(w->shape.rank == 2 && shape_dim(&w->shape, 0) == t->rows && shape_dim(&w->shape, 1) == t->cols, t->what);
    check_runs(w, (size_t)(t->rows * t->cols));
    roles_free(roles);
    catalog_free(c);
}

static void
run_trials(const struct groups_trial *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        run_trial(&list[i]);
}

#define RUN(list) run_trials(list, sizeof (list) / sizeof *(list))

/* --- MLX */

static void
test_mlx(void)
{
    static const enum dtype types[] = { DTYPE_BF16, DTYPE_F16, DTYPE_F32 };
    for (uint32_t bits = 1; bits <= 8; bits += bits == 6 ? 2 : 1)
        for (uint32_t group = 32, i = 0; group <= 128; group *= 2, i++) {
            char config[80];
            snprintf(config, sizeof config, "{\"quantization\": {\"bits\": %u, \"group_size\": %u}}", bits, group);
            const struct groups_trial t = { "mlx", .config = config, .rows = 7, .cols = 3 * group, .given = {
                { "p.weight", DTYPE_U32, 7, 3 * group * bits / 32, NULL }, { "p.scales", types[i], 7, 3, NULL },
                { bits == 4 ? "p.qbiases" : "p.biases", types[i], 7, 3, NULL } } };
            run_trial(&t);
        }
    static const struct groups_trial floats[] = {
        { "mxfp4", .rows = 5, .cols = 96, .given = { { "p.weight", DTYPE_U32, 5, 12, NULL },
            { "p.scales", DTYPE_U8, 5, 3, NULL } } },
        { "nvfp4", .rows = 5, .cols = 80, .given = { { "p.weight", DTYPE_U32, 5, 10, NULL },
            { "p.scales", DTYPE_U8, 5, 5, NULL }, { "p.global_scale", DTYPE_F32, 1, 0, NULL } } },
        { "mxfp8", .rows = 5, .cols = 96, .given = { { "p.weight", DTYPE_U32, 5, 24, NULL },
            { "p.scales", DTYPE_U8, 5, 3, NULL } } },
    };
    RUN(floats);
}

/* --- HQQ */

/* rows x cols codes in this number of planes; the weight is [rows * cols / in, in]. */
static void
try_hqq(const char *packing, uint64_t height, uint64_t rows, uint64_t cols, uint64_t in, bool by_col, enum dtype type)
{
    const char *in_type = type == DTYPE_F16 ? "torch.float16" : type == DTYPE_BF16 ? "torch.bfloat16" : "torch.float32";
    uint8_t shape[16] = { 0 };
    for (unsigned b = 0; b < 8; b++) {
        shape[b] = (uint8_t)(rows * cols / in >> 8 * b);
        shape[8 + b] = (uint8_t)(in >> 8 * b);
    }
    const struct groups_trial t = { packing, .rows = rows * cols / in, .cols = in, .given = {
        { "p.W_q", strcmp(packing, "3bit_32") == 0 ? DTYPE_I32 : DTYPE_U8, height, cols, NULL },
        { "p.scale", DTYPE_F16, by_col ? 1 : rows, by_col ? cols : 1, NULL },
        { "p.zero", type, by_col ? 1 : rows, by_col ? cols : 1, NULL }, { "p.shape", DTYPE_I64, 2, 0, shape },
        { "p.packing", DTYPE_U8, strlen(packing), 0, packing }, { "p.compute_dtype", DTYPE_U8, strlen(in_type), 0, in_type },
        { "p.view_as_float", DTYPE_U8, 1, 0, "" } } };
    run_trial(&t);
}

static void
test_hqq(void)
{
    static const struct { const char *packing; uint64_t planes; } packings[] = { { "8bit_u8", 1 }, { "4bit_u8", 2 },
        { "2bit_u8", 4 }, { "1bit_u8", 8 } };
    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++)
        for (int by_col = 0; by_col < 2; by_col++) {
            uint64_t planes = packings[i].planes;
            try_hqq(packings[i].packing, 40, 40 * planes, 33, 11, by_col, DTYPE_BF16);
            try_hqq(packings[i].packing, 1, planes, 1000, planes, by_col, DTYPE_F16);
            try_hqq(packings[i].packing, 640, 640 * planes, 1, 128, by_col, DTYPE_F32);
        }
    try_hqq("3bit_32", 41, 402, 13, 26, false, DTYPE_BF16);
    try_hqq("3bit_32", 41, 402, 13, 67, true, DTYPE_F16);
    try_hqq("3bit_32", 1, 3, 700, 7, true, DTYPE_BF16);
}

/* --- quanto */

static void
test_quanto(void)
{
    static const struct groups_trial list[] = {
        { "8 bits", .rows = 9, .cols = 123, .given = { { "p.weight._data", DTYPE_I8, 9, 123, NULL },
            { "p.weight._scale", DTYPE_BF16, 9, 1, NULL } } },
        { "FP8", .rows = 9, .cols = 123, .given = { { "p.weight._data", DTYPE_F8_E5M2, 9, 123, NULL },
            { "p.weight._scale", DTYPE_F32, 9, 1, NULL } } },
        { "one scale", .rows = 9, .cols = 523, .given = { { "p.weight._data", DTYPE_F8_E4M3, 9, 523, NULL },
            { "p.weight._scale", DTYPE_F16, 1, 0, NULL } } },
        { "4 bits", .rows = 7, .cols = 160, .given = { { "p.weight._data._data", DTYPE_U8, 18, 32, NULL },
            { "p.weight._scale", DTYPE_BF16, 35, 1, NULL }, { "p.weight._shift", DTYPE_BF16, 35, 1, NULL },
            { "p.bias", DTYPE_BF16, 7, 0, NULL } } },
        { "4 bits, zero points", .rows = 7, .cols = 160, .given = { { "p.weight._data._data", DTYPE_U8, 18, 32, NULL },
            { "p.weight._scale", DTYPE_F16, 35, 1, NULL }, { "p.weight._shift", DTYPE_U8, 35, 1, NULL },
            { "p.bias", DTYPE_BF16, 7, 0, NULL } } },
        { "2 bits", .rows = 9, .cols = 96, .given = { { "p.weight._data._data", DTYPE_U8, 3, 96, NULL },
            { "p.weight._scale", DTYPE_F16, 9, 1, NULL }, { "p.weight._shift", DTYPE_F16, 9, 1, NULL },
            { "p.bias", DTYPE_F16, 9, 0, NULL } } },
        { "2 bits, signed zero points", .rows = 201, .cols = 7, .given = {
            { "p.weight._data._data", DTYPE_U8, 51, 7, NULL }, { "p.weight._scale", DTYPE_F32, 201, 1, NULL },
            { "p.weight._shift", DTYPE_I8, 201, 1, NULL } } },
    };
    RUN(list);
}

/* --- EETQ and torchao */

static void
test_eetq(void)
{
    static const struct groups_trial list[] = {
        { "EETQ", .rows = 6, .cols = 192, .given = { { "p.weight", DTYPE_I8, 192, 6, NULL },
            { "p.weight_scales", DTYPE_F16, 6, 0, NULL } } },
        { "EETQ, two rows", .rows = 2, .cols = 64, .given = { { "p.weight", DTYPE_I8, 64, 2, NULL },
            { "p.weight_scales", DTYPE_BF16, 2, 0, NULL } } },
    };
    RUN(list);
}

#define TYPE(name, block) .key = "p.weight", .meta = "{\"_type\": \"" name "\", \"_data\": {\"block_size\": " block "}}"
#define QDATA(type, rows, cols) { "p._weight_qdata", DTYPE_##type, rows, cols, NULL }
#define OF(part, type, rows, cols) { "p._weight_" part, DTYPE_##type, rows, cols, NULL }

static void
test_torchao(void)
{
    static const struct groups_trial list[] = {
        { "row", TYPE("Float8Tensor", "[1, 75]"), .rows = 9, .cols = 75, .given = { QDATA(F8_E4M3, 9, 75),
            OF("scale", F32, 9, 1) } },
        { "tensor", TYPE("Float8Tensor", "[9, 75]"), .rows = 9, .cols = 75, .given = { QDATA(F8_E5M2, 9, 75),
            OF("scale", BF16, 1, 1) } },
        { "blocks", TYPE("Float8Tensor", "[3, 5]"), .rows = 9, .cols = 75, .given = { QDATA(F8_E4M3, 9, 75),
            OF("scale", F32, 3, 15) } },
        { "INT8", TYPE("Int8Tensor", "[1, 75]"), .rows = 9, .cols = 75, .given = { QDATA(I8, 9, 75),
            OF("scale", F32, 9, 1), OF("zero_point", I8, 9, 1) } },
        { "groups", TYPE("IntxUnpackedToInt8Tensor", "[1, 25]"), .rows = 9, .cols = 75, .given = { QDATA(I8, 9, 75),
            OF("scale", BF16, 9, 3), OF("zero_point", I8, 9, 3) } },
        { "groups of one", TYPE("IntxUnpackedToInt8Tensor", "[1, 1]"), .rows = 3, .cols = 75, .given = {
            QDATA(I8, 3, 75), OF("scale", BF16, 3, 75), OF("zero_point", I8, 3, 75) } },
        { "no zeros", TYPE("Int8Tensor", "[2, 25]"), .rows = 4, .cols = 75, .given = { QDATA(I8, 4, 75),
            OF("scale", F16, 2, 3) } },
        { "MXFP8", TYPE("MXTensor", "32"), .rows = 5, .cols = 96, .given = { QDATA(F8_E4M3, 5, 96),
            OF("scale", F8_E8M0, 5, 3) } },
        { "MXFP4", TYPE("MXTensor", "32"), .rows = 5, .cols = 96, .given = { QDATA(U8, 5, 48),
            OF("scale", F8_E8M0, 5, 3) } },
        { "NVFP4", TYPE("NVFP4Tensor", "16"), .rows = 5, .cols = 80, .given = { QDATA(U8, 5, 40),
            OF("scale", F8_E4M3, 5, 5), OF("per_tensor_scale", F32, 1, 0) } },
        { "INT4", TYPE("Int4Tensor", "[1, 32]"), .rows = 7, .cols = 96, .given = { QDATA(I8, 7, 48),
            OF("scale", BF16, 3, 7), OF("zero_point", F16, 3, 7) } },
        { "INT4, a short group", TYPE("Int4Tensor", "[1, 32]"), .rows = 7, .cols = 90, .given = { QDATA(I8, 7, 45),
            OF("scale", BF16, 3, 7), OF("zero_point", BF16, 3, 7) } },
        { "INT4 in words", TYPE("Int4PlainInt32Tensor", "[1, 32]"), .rows = 7, .cols = 96, .given = { QDATA(I32, 7, 12),
            OF("scale", BF16, 3, 7), OF("zero_point", I8, 3, 7) } },
    };
    RUN(list);
}

int
main(void)
{
    test_mlx();
    test_hqq();
    test_quanto();
    test_eetq();
    test_torchao();
    return check_done("test_groups");
}
