/* The table of schemes: every row, the roles that it assigns, and the names that only quantizers use. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "scheme/roles.h"
#include "scheme/table.h"

/* --- the rows */

static void
check_row(const struct scheme *s, const struct scheme_row *r)
{
    const struct companion *b = r->companions;
    unsigned parts = 0;
    size_t n = 0;
    CHECK_ROW(r->becomes && (r->codes || r->dtypes || s->code), s->name);
    CHECK_ROW(!r->fits || r->shapes, s->name);
    while (b && b[n].suffix)
        n++;
    CHECK_ROW(n <= COMPANIONS, s->name);
    for (size_t i = 0; i < n; i++) {
        CHECK_ROW(b[i].part == 0 || (s->decode && b[i].part < SCHEME_PARTS && s->need[b[i].part]), s->name);
        CHECK_ROW(b[i].part == 0 || (parts & 1U << b[i].part) == 0, s->name);
        parts |= b[i].part ? 1U << b[i].part : 0;
        if (b[i].presence == ALIAS)
            CHECK_ROW(i != 0 && b[i].dtypes == 0 && b[i].part == 0, s->name);
        else
            CHECK_ROW(b[i].dtypes != 0 && b[i].role >= ROLE_SCALE && b[i].role <= ROLE_ACTIVATION, s->name);
    }
    for (const struct companion *also = r->also; also && also->suffix; also++)
        CHECK_ROW(also->role >= ROLE_SCALE && also->role <= ROLE_ACTIVATION, s->name);
}

static void
test_rows(void)
{
    const struct scheme *s;
    for (size_t i = 0; (s = table_scheme(i)) != NULL; i++) {
        CHECK_ROW(s->describe != NULL, s->name);
        bool run = false, strip = false;
        for (unsigned p = 0; p < SCHEME_PARTS; p++) {
            run = run || s->need[p] == NEED_RUN || s->need[p] == NEED_AGAIN;
            strip = strip || s->need[p] == NEED_STRIP;
        }
        CHECK_ROW(!s->decode || (s->code && (s->need[0] != NEED_NONE && s->need[0] != NEED_WHOLE)), s->name);
        CHECK_ROW(!s->decode || s->room != 0, s->name);
        CHECK_ROW((run == (s->run != NULL)) && (strip == (s->strip != NULL)), s->name);
        CHECK_ROW(!s->code || strspn(s->code, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(s->code), s->name);
        for (size_t r = 0; r < s->nrows; r++)
            check_row(s, &s->rows[r]);
    }
}

/* Scheme codes are an interface: existing ones never change. */
static void
test_codes(void)
{
    static const char *const some[] = { "fp8", "mxfp8", "mxfp8-comfy", "nvfp4-comfy", "nvfp4-modelopt", "gptq",
        "awq-gemm", "bnb-4bit", "bnb-int8", "gguf", "sdnq", "unknown", "int8", "awq", "nf4", "q4_k", "Q6_K", "fp8_ue8m0" };
    const char *code;
    struct err err;
    for (size_t i = 0; (code = scheme_code(i)) != NULL; i++)
        for (size_t k = 0; k < i; k++)
            CHECK_ROW(strcmp(scheme_code(k), code) != 0, code);
    err_init(&err);
    CHECK(scheme_known(NULL, &err));
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        CHECK_ROW(scheme_known(some[i], &err), some[i]);
    CHECK(err.kind == ERR_NONE && scheme_known("FP8", &err) && !scheme_known("frobnicate", &err) && err.kind == ERR_USAGE);
    CHECK(strstr(err.text, " or unknown") != NULL);      /* the list is not truncated */
}

/* The left-over companions of doc/schemes.md, except comfy_quant, which comfy.c checks. */
static void
test_left_names(void)
{
    static const struct {
        const char *suffix, *weight;
        enum left left;
    } expected[] = {
        { ".weight_scale_inv", ".weight", LEFT_SCALES },    { ".weight_scale", ".weight", LEFT_BLOCK_SCALES },
        { ".weight_scale_2", ".weight", LEFT_SCALES },      { ".weight_global_scale", ".weight", LEFT_SCALES },
        { ".weight_packed", ".weight", LEFT_PACKED },       { ".weight_zero_point", ".weight", LEFT_SCALES },
        { ".weight_g_idx", ".weight", LEFT_SCALES },        { ".qweight", ".weight", LEFT_PACKED },
        { ".qzeros", ".weight", LEFT_SCALES },              { ".g_idx", ".weight", LEFT_SCALES },
        { ".SCB", ".weight", LEFT_SCALES },                 { ".qscale_weight", ".weight", LEFT_SCALES },
        { ".scaled_zeros", ".weight", LEFT_SCALES },        { ".absmax", "", LEFT_PACKED },
        { ".nested_absmax", "", LEFT_PACKED },              { ".nested_quant_map", "", LEFT_PACKED },
        { ".quant_state.bitsandbytes__nf4", "", LEFT_PACKED }, { ".quant_state.bitsandbytes__fp4", "", LEFT_PACKED },
        { "_scale_inv", "", LEFT_SCALES },                  { "_blocks", "", LEFT_PACKED },
        { "_scales", "", LEFT_GRID },                       { ".svdquant_lora_a", ".weight", LEFT_SCALES },
        { ".svdquant_lora_b", ".weight", LEFT_SCALES },     { ".scale_weight", ".weight", LEFT_SCALES },
        { ".weight_s_rel", ".weight", LEFT_SCALES },        { ".weight_s_channel", ".weight", LEFT_SCALES },
        { ".weight_codebook", ".weight", LEFT_SCALES },     { ".weight_zeros", ".weight", LEFT_SCALES },
        { ".embedding_quantized", ".weight", LEFT_PACKED }, { ".embedding_scale", ".weight", LEFT_SCALES },
        { ".deq_scale", ".weight", LEFT_SCALES },           { ".weight_scales", ".weight", LEFT_SCALES },
        { ".weight_format", ".weight", LEFT_SCALES },       { "_weight_scale_2", "", LEFT_SCALES },
        { ".scale", ".weight", LEFT_E8M0 },                 { ".blocks", "", LEFT_GRID },
        { ".scales", "", LEFT_GRID },                       { ".unpack_view_dtype", ".weight", LEFT_PACKED },
        { "._data", "", LEFT_PACKED },                      { "._data._data", "", LEFT_PACKED },
        { "._shift", "", LEFT_PACKED },                     { ".q_weight", ".weight", LEFT_WORDS },
        { ".q_scale_max", ".weight", LEFT_PACKED },         { ".q_groups", ".weight", LEFT_PACKED },
        { ".codebooks", ".weight", LEFT_PACKED },           { ".W_q", ".weight", LEFT_METHOD },
        { ".codes", ".weight", LEFT_METHOD },               { ".indices", ".weight", LEFT_METHOD },
        { ".centroids.weight", ".weight", LEFT_METHOD },    { ".scale", ".weight", LEFT_METHOD },
        { ".scales", ".weight", LEFT_METHOD },
    };
    enum { EXPECTED = sizeof expected / sizeof *expected };
    struct left_name names[LEFT_NAMES];
    size_t n = table_left_names(names);
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++) {        /* a method's name is there for each scheme that uses it */
        size_t k = 0;
        while (k < i && (strcmp(names[k].suffix, names[i].suffix) != 0 || names[k].left != names[i].left))
            k++;
        distinct += k == i;
    }
    CHECK(distinct == EXPECTED);
    for (size_t e = 0; e < EXPECTED; e++) {
        size_t i = 0;
        while (i < n && (strcmp(names[i].suffix, expected[e].suffix) != 0 || names[i].left != expected[e].left))
            i++;
        CHECK_ROW(i < n && strcmp(names[i].weight, expected[e].weight) == 0, expected[e].suffix);
    }
}

/* --- roles */

struct member {
    const char *name;
    enum dtype dtype;
    uint64_t rows, cols;        /* cols 0: rank 1 */
    enum role role;
    size_t owner;               /* index of the tensor with the codes; for a plain tensor, its own */
};

enum { MEMBERS = 8 };

static struct catalog *
model_of(const struct member *m, struct err *err)
{
    struct catalog *c = catalog_new(&limits_default, err);
    uint64_t at = 0;
    catalog_facts(c)->format = "safetensors";
    for (size_t i = 0; i < MEMBERS && m[i].name; i++) {
        uint64_t dim[2] = { m[i].rows, m[i].cols };
        uint8_t packed[2 * SHAPE_DIM];
        uint64_t nbytes = m[i].rows * (m[i].cols ? m[i].cols : 1) * dtype_facts(m[i].dtype)->bytes;
        struct tensor t = { .name = m[i].name, .name_len = (uint32_t)strlen(m[i].name), .dtype = m[i].dtype,
            .shape = { m[i].cols ? 2 : 1, packed }, .extent = { .at = at, .nbytes = nbytes } };
        shape_pack(packed, dim, 2);
        at += nbytes;
        CHECK(catalog_add(c, &t, err));
    }
    CHECK(catalog_seal(c, err));
    return c;
}

static void
check_roles(const char *code, const struct member *m)
{
    struct err err;
    struct roles *roles = NULL;
    err_init(&err);
    struct catalog *c = model_of(m, &err);
    if (!CHECK_ROW(roles_assign(&roles, c, NULL, NULL, &err), err.text))
        exit(1);
    for (size_t i = 0; i < MEMBERS && m[i].name; i++) {
        bool plain = m[i].role == ROLE_PLAIN;
        const struct weight *w = roles_owner(roles, i);
        CHECK_ROW(roles_role(roles, i) == m[i].role, m[i].name);
        CHECK_ROW(plain == !w, m[i].name);
        CHECK_ROW(!w || (w->part[0] == catalog_at(c, m[i].owner) && strcmp(w->scheme->code, code) == 0), m[i].name);
        CHECK_ROW(roles_is_companion(roles, i) == (m[i].role > ROLE_WEIGHT), m[i].name);
        CHECK_ROW((roles_weight_of(roles, i) != NULL) == (m[i].role == ROLE_WEIGHT), m[i].name);
    }
    roles_free(roles);
    catalog_free(c);
}

static void
test_roles(void)
{
    check_roles("fp8", (const struct member[MEMBERS]){
        { "a.weight", DTYPE_F8_E4M3, 4, 8, ROLE_WEIGHT, 0 }, { "a.weight_scale", DTYPE_F32, 4, 1, ROLE_SCALE, 0 },
        { "a.weight_zero_point", DTYPE_F8_E4M3, 4, 1, ROLE_ZERO_POINT, 0 },
        { "a.pre_quant_scale", DTYPE_BF16, 8, 0, ROLE_SCALE, 0 },
        { "a.input_scale", DTYPE_F32, 1, 0, ROLE_ACTIVATION, 0 }, { "n.weight", DTYPE_BF16, 4, 0, ROLE_PLAIN, 0 },
        { "n.input_scale", DTYPE_F32, 1, 0, ROLE_PLAIN, 0 } });
    check_roles("bnb-4bit", (const struct member[MEMBERS]){
        { "x", DTYPE_U8, 64, 1, ROLE_WEIGHT, 0 }, { "x.absmax", DTYPE_U8, 2, 0, ROLE_SCALE, 0 },
        { "x.quant_map", DTYPE_F32, 16, 0, ROLE_CODEBOOK, 0 }, { "x.nested_absmax", DTYPE_F32, 1, 0, ROLE_SCALE, 0 },
        { "x.nested_quant_map", DTYPE_F32, 256, 0, ROLE_CODEBOOK, 0 },
        { "x.quant_state.bitsandbytes__nf4", DTYPE_U8, 100, 0, ROLE_STATE, 0 } });
    check_roles("int8", (const struct member[MEMBERS]){
        { "p.SCB", DTYPE_F32, 4, 0, ROLE_SCALE, 1 }, { "p.weight", DTYPE_I8, 4, 8, ROLE_WEIGHT, 1 },
        { "p.weight_format", DTYPE_U8, 1, 0, ROLE_STATE, 1 } });
    check_roles("gptq", (const struct member[MEMBERS]){
        { "p.g_idx", DTYPE_I32, 128, 0, ROLE_G_IDX, 2 }, { "p.qzeros", DTYPE_I32, 4, 8, ROLE_ZERO_POINT, 2 },
        { "p.qweight", DTYPE_I32, 16, 64, ROLE_WEIGHT, 2 }, { "p.scales", DTYPE_F16, 4, 64, ROLE_SCALE, 2 },
        { "p.bias", DTYPE_F16, 64, 0, ROLE_PLAIN, 0 } });
    check_roles("ct-packed", (const struct member[MEMBERS]){
        { "p.weight_packed", DTYPE_I32, 8, 4, ROLE_WEIGHT, 0 }, { "p.weight_shape", DTYPE_I64, 2, 0, ROLE_SHAPE, 0 },
        { "p.weight_scale", DTYPE_BF16, 8, 1, ROLE_SCALE, 0 } });
    check_roles("unknown", (const struct member[MEMBERS]){
        { "p.weight", DTYPE_I16, 8, 4, ROLE_WEIGHT, 0 }, { "p.my_scale", DTYPE_F32, 8, 0, ROLE_SCALE, 0 } });
}

int
main(void)
{
    test_rows();
    test_codes();
    test_left_names();
    test_roles();
    return check_done("test_table");
}
