/* test_kernels: known vectors for the kernels, for each set that this CPU runs. The vectors are from an independent decoder
 * that was compared with ggml's C and gguf-py. */
#include "check.h"
#include "sets.h"
#include "sha256.h"

#include <math.h>

#include "block_fields.h"
#include "dtype/bfloat16.h"
#include "dtype/float8.h"
#include "kernel/iq_grids.h"
#include "kernel/kernels.h"

enum { NELEMS = 2048, CANARY = 0xA5 };

static uint32_t state;

static uint32_t
next(void)
{
    return state = state * 1664525u + 1013904223u;
}

/* 2048 elements of pseudo-random blocks with moderate factors; the hashes are of bytes, little-endian. */
static const struct kernels_golden {
    enum dtype dtype;
    const char *input, *f32, *bf16, *f16;       /* first digits of SHA-256 */
    uint32_t first[2];                          /* the first two floats */
} golden[] = {
    { DTYPE_Q4_0, "988e38f3fe072e49", "581064c4e44d62042279c2c09fd057bd",
        "58650a2b9bd7f84a56dd7d06db1925e2", "5518b460362a47f277a9a8e5a767a799", { 0xbe000000, 0x3ea00000 } },
    { DTYPE_Q4_1, "de93d73aa68bf56c", "6dfd82c3f5d7da4f36c528cffd1201a0",
        "8a6d79df6901010780f70faa3fe7aecc", "42389ccf06c9e5be84bd5b14baa7bc86", { 0x3f302c00, 0x3f002c00 } },
    { DTYPE_Q5_0, "5fd3586e1bc27fe3", "9354ddc4ca6c675edc88ed276f76a540",
        "0ebfb54c9435330411f0b2fe191e7769", "966b2ea713d8bcc3602ba150037d2bc3", { 0xbf600000, 0x3f500000 } },
    { DTYPE_Q5_1, "d7c06cb1aafaedbf", "ef20a478c3c3116a0f37fa6d59b789d7",
        "0902207d820e08f77d68f156e400cadc", "d7cde3f911f6acbf4c4406fd4b1fb855", { 0x3f002c00, 0x3fc81600 } },
    { DTYPE_Q8_0, "bb1e2b00d4d7da0d", "a8d30a8e35520d45e18e13da1b7d52e6",
        "c18596bf1cddadbe4a3da3336fded303", "fd30974a34ee25a6d7e0764ec3b23462", { 0xc0280000, 0x40da0000 } },
    { DTYPE_Q8_1, "d14224d161a3f5b8", "2cdb68cae6298142d8277a6ad9a4a21c",
        "49bfb1126eb73033ab933327932f8942", "687d3f837f9d35efda88eda36169d5c6", { 0x40680000, 0xc0d20000 } },
    { DTYPE_Q2_K, "49021637aa1af35b", "a03bf6a716e6aff7caa62c625a753450",
        "5fad3a01b229468708fcf10880a11ef8", "6edbf38de594f9a8309ee37713d49627", { 0x3d6a0000, 0x3f975000 } },
    { DTYPE_Q3_K, "c3c63dd92b79aeac", "4bcf39732d8e14fd1bba59180bca445f",
        "06487c9c8091dc6ab8518dc3ead3d2c4", "d79199fe04460d08f794bea4ff9089a0", { 0xbf000000, 0xbfc00000 } },
    { DTYPE_Q4_K, "f4abdf68acdf83de", "cc6fba825275bdc335d31518ec28d088",
        "e752f9dc1817996df6a6bc77977cc274", "527558316a90dc08e3fc167a49f68b65", { 0x418d7660, 0x4257bb30 } },
    { DTYPE_Q5_K, "65d7ae85b5bedbfb", "664b915269138ddb01b18fefd717c640",
        "ba718f4b7cc0364b60ce8e8d6fb149b9", "3392d6c13314b4d7fa2159dd932a7efc", { 0x42ca1d98, 0x42901d98 } },
    { DTYPE_Q6_K, "06330602d4772e8d", "32aaa7e43082bde310f8501144b7e1e3",
        "25be2c31989f7ac43466163ae8414e44", "010a2590913c7f101e254c0bb87aa400", { 0x41dc8000, 0x42f42000 } },
    { DTYPE_Q8_K, "ee8ff399516218e5", "bbe29575d308ae969bb65e8560b56713",
        "d5b775b6e7c5fc531a86ca7c496ddc66", "ff9c9d06f70a731258409f01afb5908d", { 0x3ee80000, 0xbf520000 } },
    { DTYPE_IQ2_XXS, "a342549675215112", "2cb426b34db2831baf7a6f2a49ee212d",
        "1d11ab06aeac80ed26ba9cd2d96f0de4", "b43b931b5797acd397a2836d82bec0be", { 0x40168000, 0xbee00000 } },
    { DTYPE_IQ2_XS, "2330b2e1382af5ff", "4a710124597faa678fb43af17ec190b9",
        "adbb706e44d66583ee9b9b43c205fc87", "fd35a68728e203ba735f1dbfe29a2cb4", { 0x40a8c000, 0xc1112000 } },
    { DTYPE_IQ3_XXS, "07a399525e46b066", "daec186b9ae8b18d0ee7d4c3c6b83fda",
        "dc33e9525c190a0ed047f72c4cdf0267", "f6a5fa9a9ed2aaa737ce862127ef38f8", { 0xc05c0000, 0x3f300000 } },
    { DTYPE_IQ1_S, "e1eb1757d02a47f0", "9254d526490258ffa6fe2151f3eddeca",
        "d14438ac933d2e3deddeacda65cb1bfa", "d8723864e7cc5af49badd4fd79fcefdc", { 0xbe580000, 0xbcc00000 } },
    { DTYPE_IQ4_NL, "988e38f3fe072e49", "701b5ec01c628af8fe8323bb53ee3ae3",
        "c2b001a109120191aa513bbe72c47ee7", "7e1532320b0b7bef53163153092aff03", { 0xbfb00000, 0x408a0000 } },
    { DTYPE_IQ3_S, "1bf5e1d10c538ac4", "6cbe53f1d611cf533d998f12d4f5e49f",
        "2d3c4ef2903b36fdfb1c17c622cfc933", "7e5dd75dceb862dfbca0a5b138db71ba", { 0x412f0000, 0xbfc80000 } },
    { DTYPE_IQ2_S, "e29a40a1724db694", "529257f050ecd78e79405bad654e9e42",
        "24c7b1e741d09d25c38b7175366f66b6", "462cb4c5ad958dc80e5702a1a066e8b6", { 0x40e1c000, 0x40e1c000 } },
    { DTYPE_IQ4_XS, "6446fd66b06d0a4b", "f22e8f5fbf1af33702d6455d0ffeef0f",
        "f03989c41c4f08119788a757127a22eb", "77dd345791d0436db89e7cf16c32de55", { 0xc0c80000, 0x3f200000 } },
    { DTYPE_IQ1_M, "b6c1b7b2c4d661c0", "8ab5444c3570706b231f874c5fe7e53f",
        "b226144176ad2e25ce24538fa1be566d", "590978f57539bdf5750fa5fb8bab264f", { 0xbd900000, 0xbd900000 } },
    { DTYPE_TQ1_0, "2b279f8bf978bcfa", "064d8c748cb6d333c38df68fd55e2cd5",
        "185f67c509296d87eaa658444ba3e735", "469cd70c6603b5a33ec273803ce59ff0", { 0x00000000, 0x3d800000 } },
    { DTYPE_TQ2_0, "09e486b9028cac0c", "0fe478aa792e2607a5eb869dbc4c2eb5",
        "864a429eac781046076eddafe8ca3c57", "0935037bd6974ff6b2b17737a5e27fe0", { 0x00000000, 0x00000000 } },
    { DTYPE_MXFP4, "a5217e39aaa5b32c", "973e5f5ad9ced3e18d4abe5ea517f52d",
        "7b26e240ad7b7d46f51dbbf6823d9b35", "b2e9530e0bafbd18992daf92e3649c81", { 0x3b800000, 0x3d000000 } },
    { DTYPE_NVFP4, "4c824d95c3b39c84", "4c513316877eb06a3d949ca459ea3a7a",
        "eb13df06fcee1f7f633f99ecfa22b7d7", "d17096c185c7e8feb288a4c6b474a88c", { 0xbc900000, 0x3dd80000 } },
    { DTYPE_Q1_0, "e2181c4e2ce59ea5", "986951dfbc96785f70f59a426bc9bc35",
        "c2bc53ca472dde9ed79e4622615adb0b", "f8e483eabc20fae1f27c82617623cf85", { 0xbd800000, 0x3d800000 } },
    { DTYPE_Q2_0, "cd49ba6284fcad76", "d38a9cb20a743817ce1b64f2fb21c377",
        "b92f8b137c844c637dac5957255c3dfe", "641f467919bcecc2cf9b793a1183bef7", { 0x3d800000, 0x00000000 } },
};

enum { GOLDEN = sizeof golden / sizeof golden[0] };

static const struct block_fields *
fields_of(enum dtype dtype)
{
    for (int i = 0; i < BLOCK_FIELDS; i++)
        if (block_fields[i].dtype == dtype)
            return &block_fields[i];
    return NULL;
}

static void
put_factors(uint8_t *block, enum dtype dtype, unsigned b)
{
    const struct block_fields *fields = fields_of(dtype);
    int at[2] = { fields->d, fields->m };

    if (dtype == DTYPE_Q8_K)
        block_put_float(block, 0x3C000000u + 0x12345u * b);
    if (dtype == DTYPE_MXFP4)
        block[0] = (uint8_t)(120 + (b & 7));
    for (unsigned f = 0; f < 2; f++)
        if (at[f] != NO_FIELD)
            block_put_half(dtype, block, at[f],
                (uint16_t)(0x2C00 + ((37 * b + 11 * f) & 0x3FF) + (b & 1 ? 0x8000 : 0)));
}

static void
test_golden(const struct kernels *k)
{
    static uint8_t bytes[NELEMS * 2];
    static float f32[NELEMS];
    static uint16_t code[NELEMS];

    for (int i = 0; i < GOLDEN; i++) {
        const struct kernels_golden *g = &golden[i];
        const struct dtype_facts *facts = dtype_facts(g->dtype);
        size_t nblocks = NELEMS / facts->elems, nbytes = nblocks * facts->bytes;

        state = 777;
        for (size_t j = 0; j < nbytes; j++)
            bytes[j] = (uint8_t)(next() >> 24);
        for (size_t b = 0; b < nblocks; b++)
            put_factors(bytes + b * facts->bytes, g->dtype, (unsigned)b);
        CHECK_ROW(sha256_starts(g->input, bytes, nbytes), facts->name);

        kernels_block(k, g->dtype, DTYPE_F32, f32, bytes, nblocks);
        CHECK_ROW(bits_of_float(f32[0]) == g->first[0] && bits_of_float(f32[1]) == g->first[1], facts->name);
        CHECK_ROW(sha256_starts(g->f32, f32, sizeof f32), facts->name);
        kernels_block(k, g->dtype, DTYPE_BF16, code, bytes, nblocks);
        CHECK_ROW(sha256_starts(g->bf16, code, sizeof code), facts->name);
        kernels_block(k, g->dtype, DTYPE_F16, code, bytes, nblocks);
        CHECK_ROW(sha256_starts(g->f16, code, sizeof code), facts->name);
    }
}

static const struct grid {
    const char *name;
    const int8_t *values;
    int entries, base;
    uint16_t code[6];                           /* the first four and the last two */
    const char *bitmap, *codes, *table;         /* SHA-256 */
} grids[] = {
    { "iq2xxs", iq_grids.iq2xxs[0], 256, 3, { 0, 2, 5, 8, 43088, 43268 },
        "6e641d33a6f588ecbbfc8a24fee7e1446a9d6033db9fb2fd2de4e20e62611ef0",
        "915952ebc4af8ddba8113583ca1316fc818843f7b825bbf1a25ae1c39bf0e16d",
        "05826b5d3e472a3a78f196be62ac78acf81df0f909626e12ab9fa2a5d490dd54" },
    { "iq2xs", iq_grids.iq2xs[0], 512, 3, { 0, 2, 5, 8, 43665, 43690 },
        "0be9378c0c354f68ffcaab478d37d2cd74730c60ab271ec599827549abd54994",
        "f66435966ca8d64e9e4a6e3c91e64afcf9015e700ec85962f527283ebae207b9",
        "06e47aaca60b4dc1d9b5a3f34540437058a6b142b4d7a59d5ded769b4d1bf1de" },
    { "iq2s", iq_grids.iq2s[0], 1024, 3, { 0, 2, 5, 8, 43656, 43690 },
        "90050a5805b545127d6aced26a375b4c21bdcc6d84c1d4a7bc2ff48b16728d2f",
        "e6e75e121b65e8afa5c1f92b71463cfbe217b83893f438acde22fd5db06a43f7",
        "e1aa1473412b0552c2174c30ef22ab4073f6a181b85a17056e8249bd2932fd88" },
    { "iq1s", iq_grids.iq1s[0], 2048, 3, { 0, 2, 5, 8, 43688, 43690 },
        "178243565ad8ef0a64292973d70c37028ca81375f097a55c6f57370e1ba6d9f0",
        "e9ffebfc997ad6023063a667c0bf4eedd8ebf7f56b3da399cbc7d1b1f7ea52c6",
        "07540ffc1aeaf6ad4d97e96b0fcc765aae39671d4ae4a27bbd0e796fde167c6a" },
    { "iq3xxs", iq_grids.iq3xxs[0], 256, 8, { 0, 2, 4, 9, 3924, 3992 },
        "a3723a6c95cb0ecbcc29cc860043dc24b29e699aa8569f88bc47fa3c15987258",
        "c9678803c61b2210fbd8cbbb3f965a835409cd7d88a04d086d236261bd221d11",
        "46e35f5a997efdee6c99ce57854c8a0d4f0ff8ca57e5e8a60c0793ea580acf5d" },
    { "iq3s", iq_grids.iq3s[0], 512, 8, { 0, 1, 2, 5, 3993, 4032 },
        "f8e48a281c5a9ec3ff28aada17999158565b540055c1dc2734ebd2778b9ad234",
        "353274c58dd7d8dc5ee960dc8fc54ff9164eaf2b49206b841cd49415cf393f81",
        "bd1af4945a1717c65610b0284e4628b9a1ba3b306fae3a06f6e5f597356e349f" },
};

/* Converts the values back to digits, codes and the bitmap of ranks. */
static void
test_grid(const struct grid *g)
{
    static uint8_t codes[2 * 2048], bitmap[821];
    int digits = g->base == 3 ? 8 : 4, width = g->base == 3 ? 2 : 3;
    size_t bitmap_size = g->base == 3 ? 821 : 512;

    memset(bitmap, 0, sizeof bitmap);
    for (int i = 0; i < g->entries; i++) {
        unsigned code = 0, rank = 0, place = 1;

        for (int j = 0; j < digits; j++, place *= (unsigned)g->base) {
            int value = g->values[i * digits + j];
            int digit = g->base == 3 ? (value < 8 ? value + 1 : value / 18)
                : strcmp(g->name, "iq3s") == 0 ? value / 2 : value / 8;

            code |= (unsigned)digit << width * j;
            rank += (unsigned)digit * place;
        }
        codes[2 * i] = (uint8_t)code;
        codes[2 * i + 1] = (uint8_t)(code >> 8);
        bitmap[rank / 8] |= (uint8_t)(1 << rank % 8);
    }
    for (int i = 0; i < 6; i++)
        CHECK_ROW(load_le16(codes + 2 * (i < 4 ? i : g->entries - 6 + i)) == g->code[i], g->name);
    CHECK_ROW(sha256_starts(g->bitmap, bitmap, bitmap_size), g->name);
    CHECK_ROW(sha256_starts(g->codes, codes, 2 * (size_t)g->entries), g->name);
    CHECK_ROW(sha256_starts(g->table, g->values, (size_t)(g->entries * digits)), g->name);
}

static uint32_t
canonical_bits(float f)
{
    return isnan(f) ? 0x7FC00000u : bits_of_float(f);
}

/* rows x cols against the definition. There is a scale for every scale_cols columns, taken from the list cyclically from
 * `offset`, or powers of two for the last offset. Memory between and after the rows must not change. */
enum { POWERS = 15 };

static bool
fp8_rows_hold(const struct kernels *k, enum dtype dtype, size_t rows, size_t cols, size_t scale_cols, size_t offset)
{
    static const uint32_t list[] = { 0x3F800000, 0x3951B717, 0xBE000001, 0x00000000, 0x80000000, 0x00000001,
        0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x7F800001 };
    enum { ROOM = 8192, SCALES = 600 };
    static uint8_t x[ROOM];
    static float f32[ROOM], expected_f32[ROOM], scales[SCALES];
    static uint16_t bf16[ROOM], expected_bf16[ROOM];
    size_t x_stride = cols + 3, y_stride = cols + 5;

    for (size_t i = 0; i < ROOM; i++)
        x[i] = (uint8_t)(next() >> 24);
    for (size_t i = 0; i < SCALES; i++)
        scales[i] = float_of_bits(offset == POWERS ? (uint32_t)(127 - 109 + i * 7 % 219) << 23
            : list[(offset + i) % (sizeof list / sizeof list[0])]);
    memset(f32, CANARY, sizeof f32);
    memset(bf16, CANARY, sizeof bf16);
    memset(expected_f32, CANARY, sizeof expected_f32);
    memset(expected_bf16, CANARY, sizeof expected_bf16);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) {
            float product = float8_to_float(dtype, x[r * x_stride + c]) * scales[c / scale_cols];

            expected_f32[r * y_stride + c] = float_of_bits(canonical_bits(product));
            expected_bf16[r * y_stride + c] = bfloat16_of_float(product);
        }
    const struct fp8_rows m = { dtype, rows, cols, x, x_stride, scales, scale_cols };
    k->fp8_f32(f32, y_stride, &m);
    k->fp8_bf16(bf16, y_stride, &m);
    return memcmp(f32, expected_f32, sizeof f32) == 0 && memcmp(bf16, expected_bf16, sizeof bf16) == 0;
}

static void
test_fp8(const struct kernels *k)
{
    static const enum dtype types[] = { DTYPE_F8_E4M3, DTYPE_F8_E5M2, DTYPE_F8_E4M3FNUZ, DTYPE_F8_E5M2FNUZ };
    static const size_t sizes[][3] = { { 0, 0, 1 }, { 0, 9, 9 }, { 9, 0, 4 }, { 1, 1, 1 }, { 3, 70, 70 },
        { 1, 511, 511 }, { 1, 512, 512 }, { 64, 8, 8 }, { 33, 100, 100 }, { 600, 1, 1 }, { 5, 600, 1 },
        { 13, 520, 16 }, { 20, 300, 32 }, { 12, 513, 128 }, { 4, 600, 256 }, { 2, 50, 1000 } };

    for (int t = 0; t < 4; t++)
        for (size_t offset = 0; offset <= POWERS; offset++)
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                CHECK_ROW(fp8_rows_hold(k, types[t], sizes[i][0], sizes[i][1], sizes[i][2], offset),
                    dtype_name(types[t]));
}

/* Any number of blocks equals one by one, and nothing after them changes. */
static void
test_pieces(const struct kernels *k)
{
    enum { BLOCKS = 100, SPARE = 8 };
    static uint8_t src[BLOCKS * 300];
    static float f32[BLOCKS * 256], piece[256];
    static uint16_t code[BLOCKS * 256 + SPARE], one[256];

    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (uint8_t)(next() >> 24);
    for (int i = 0; i < BLOCK_FIELDS; i++) {
        enum dtype dtype = block_fields[i].dtype;
        const struct dtype_facts *facts = dtype_facts(dtype);
        bool ok = true;

        for (size_t n = 0; n <= BLOCKS; n += n < 12 ? 1 : 11)
            for (int half = 0; half < 2; half++) {
                enum dtype to = half ? DTYPE_F16 : DTYPE_BF16;

                memset(code, CANARY, sizeof code);
                kernels_block(k, dtype, to, code, src, n);
                kernels_block(k, dtype, DTYPE_F32, f32, src, n);
                for (size_t b = 0; b < n; b++) {
                    k->block_f32[dtype](piece, src + b * facts->bytes, 1);
                    kernels_round(k, to, one, piece, facts->elems);
                    ok &= memcmp(one, code + b * facts->elems, 2 * (size_t)facts->elems) == 0;
                    ok &= memcmp(piece, f32 + b * facts->elems, 4 * (size_t)facts->elems) == 0;
                }
                ok &= code[n * facts->elems] == CANARY * 0x101;
            }
        CHECK_ROW(ok, facts->name);
    }
}

/* Infinite and NaN factors: every NaN in the output is the canonical one. */
static void
test_nan(const struct kernels *k)
{
    static const uint16_t halves[] = { 0x7C00, 0xFC00, 0x7C01, 0xFE00, 0xFFFF };
    static uint8_t block[300];
    static float f32[256];

    for (int i = 0; i < BLOCK_FIELDS; i++) {
        const struct block_fields *fields = &block_fields[i];
        const struct dtype_facts *facts = dtype_facts(fields->dtype);
        bool canonical = true, any = false;

        for (int trial = 0; trial < 50; trial++) {
            for (size_t j = 0; j < sizeof block; j++)
                block[j] = (uint8_t)(next() >> 24);
            if (fields->dtype == DTYPE_Q8_K)
                block_put_float(block, (uint32_t)halves[trial % 5] << 16 | 0x7F800000u);
            if (fields->d != NO_FIELD)
                block_put_half(fields->dtype, block, fields->d, trial & 1 ? 0x3C00 : halves[trial / 2 % 5]);
            if (fields->m != NO_FIELD)
                block_put_half(fields->dtype, block, fields->m, trial & 2 ? 0x3C00 : halves[trial / 4 % 5]);
            k->block_f32[fields->dtype](f32, block, 1);
            for (int e = 0; e < facts->elems; e++) {
                any |= isnan(f32[e]);
                canonical &= !isnan(f32[e]) || bits_of_float(f32[e]) == 0x7FC00000u;
            }
        }
        CHECK_ROW(canonical, facts->name);
        if (fields->dtype != DTYPE_MXFP4 && fields->dtype != DTYPE_NVFP4)
            CHECK_ROW(any, facts->name);
    }
}

static void
test_round(const struct kernels *k)
{
    float x[5] = { 1.0f, -0.0f, float_of_bits(0xFFC00001u), INFINITY, 0x1p-140f }, y[5];
    float scratch[5];
    uint16_t code[6] = { 0, 0, 0, 0, 0, 0xA5A5 };

    memcpy(scratch, x, sizeof x);
    kernels_round(k, DTYPE_F32, y, scratch, 5);
    for (int i = 0; i < 5; i++)
        CHECK(bits_of_float(y[i]) == canonical_bits(x[i]));
    memcpy(scratch, x, sizeof x);
    kernels_round(k, DTYPE_BF16, code, scratch, 5);
    CHECK(code[0] == 0x3F80 && code[1] == 0x8000 && code[2] == 0x7FC0 && code[3] == 0x7F80 && code[4] == 0x0000
        && code[5] == 0xA5A5);
    memcpy(scratch, x, sizeof x);
    kernels_round(k, DTYPE_F16, code, scratch, 5);
    CHECK(code[0] == 0x3C00 && code[1] == 0x8000 && code[2] == 0x7E00 && code[3] == 0x7C00 && code[4] == 0
        && code[5] == 0xA5A5);
    kernels_round(k, DTYPE_F16, code, scratch, 0);
    kernels_round(k, DTYPE_F32, y, scratch, 0);
    CHECK(code[0] == 0x3C00);
}

static void
test_pick(void)
{
    struct err err;

    err_init(&err);
    CHECK(kernels_pick(NULL, &err) != NULL && err.kind == ERR_NONE);
    CHECK(kernels_pick("", &err) == kernels_pick(NULL, &err) && err.kind == ERR_NONE);
    CHECK(strcmp(kernels_pick("scalar", &err)->name, "scalar") == 0 && err.kind == ERR_NONE);
    CHECK(kernels_pick("AVX2", &err) == NULL && err.kind == ERR_USAGE);
    err_init(&err);
    CHECK(kernels_pick("sse9", &err) == NULL && err.kind == ERR_USAGE);
}

static void
test_sha256(void)
{
    static const char abc[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

    CHECK(sha256_starts("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", abc, 0));
    CHECK(sha256_starts("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", abc, 3));
    CHECK(sha256_starts("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", abc, 56));
}

int
main(void)
{
    test_sha256();
    test_pick();
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++)
        test_grid(&grids[i]);
    CHECK((int)GOLDEN == DTYPE_FORKS - DTYPE_SCALARS && (int)BLOCK_FIELDS == DTYPE_IQ4_KS - DTYPE_SCALARS);
    for (int i = 0; i < SETS; i++) {
        const struct kernels *k = sets_pick(sets[i]);

        if (k == NULL)
            continue;
        test_golden(k);
        test_fp8(k);
        test_pieces(k);
        test_nan(k);
        test_round(k);
    }
    return check_done("test_kernels");
}
