/* The JSON tokenizer, the header writer with its golden file, and the reader of safetensors. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/pull.h"
#include "base/tree.h"
#include "container/container.h"
#include "writer/writer.h"

enum { NBYTES_OF_ROW = 512 };

/* Returns the fault of a whole text, PULL_OK if it is JSON. */
static enum pull_fault
fault_of(const char *text, size_t n)
{
    struct pull json;
    char *copy = malloc(n ? n : 1);     /* exact, so that a sanitizer detects a read past the end */
    memcpy(copy, text, n);
    pull_init(&json, copy, n, 0);
    enum pull_token token;
    do
        token = pull_next(&json);
    while (token != PULL_BAD && token != PULL_END);
    enum pull_fault fault = json.fault;
    free(copy);
    return fault;
}

static void
test_grammar(void)
{
#define ROW(text, fault) { text, sizeof text - 1, fault }
    static const struct { const char *text; size_t n; enum pull_fault fault; } rows[] = {
        ROW("{}", PULL_OK), ROW("[]", PULL_OK), ROW(" \t\r\n{} \t\r\n", PULL_OK), ROW("null", PULL_OK),
        ROW("[1,-0,0.5,1e5,1E+5,1e-5,-12.25e2]", PULL_OK), ROW("[true,false,null,\"\"]", PULL_OK),
        ROW("{\"a\" : {\"b\":[{}]} , \"a\":1}", PULL_OK), ROW("\"\\u0000\"", PULL_OK),
        ROW("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"", PULL_OK), ROW("\"\x7f\xc3\xa9\"", PULL_OK),
        ROW("\"\\ud83d\\uDE00\"", PULL_OK), ROW("[0e999,1e-999,1e308,1.7976931348623157e308]", PULL_OK),
        ROW("0.0001e311", PULL_OK), ROW("18446744073709551616", PULL_OK),
        ROW("", PULL_SYNTAX), ROW(" ", PULL_SYNTAX), ROW("{", PULL_SYNTAX), ROW("{}x", PULL_SYNTAX),
        ROW("{}\0", PULL_SYNTAX), ROW("\f{}", PULL_SYNTAX), ROW("\xef\xbb\xbf{}", PULL_SYNTAX),
        ROW("\xc2\xa0{}", PULL_SYNTAX), ROW("{},", PULL_SYNTAX), ROW("[1,]", PULL_SYNTAX),
        ROW("{\"a\":1,}", PULL_SYNTAX), ROW("{\"a\":1 \"b\":2}", PULL_SYNTAX), ROW("{\"a\"}", PULL_SYNTAX),
        ROW("{\"a\":}", PULL_SYNTAX), ROW("{a:1}", PULL_SYNTAX), ROW("{'a':1}", PULL_SYNTAX),
        ROW("{1:1}", PULL_SYNTAX), ROW("[1 2]", PULL_SYNTAX), ROW("[1}", PULL_SYNTAX), ROW("[,1]", PULL_SYNTAX),
        ROW("/**/{}", PULL_SYNTAX), ROW("NaN", PULL_SYNTAX), ROW("Infinity", PULL_SYNTAX), ROW("+1", PULL_SYNTAX),
        ROW(".5", PULL_SYNTAX), ROW("1.", PULL_SYNTAX), ROW("01", PULL_SYNTAX), ROW("-", PULL_SYNTAX),
        ROW("0x10", PULL_SYNTAX), ROW("1e", PULL_SYNTAX), ROW("1e+", PULL_SYNTAX), ROW("tru", PULL_SYNTAX),
        ROW("nulll", PULL_SYNTAX), ROW("\"", PULL_SYNTAX), ROW("\"a\nb\"", PULL_SYNTAX), ROW("\"\\", PULL_SYNTAX),
        ROW("\"\\x\"", PULL_SYNTAX), ROW("\"\\u12g4\"", PULL_SYNTAX), ROW("\"\\u12", PULL_SYNTAX),
        ROW("\"\\ud800\"", PULL_SYNTAX), ROW("\"\\udc00\"", PULL_SYNTAX), ROW("\"\\ud800\\u0041\"", PULL_SYNTAX),
        ROW("\"\\ud800\\ud800\"", PULL_SYNTAX),
        ROW("1e999", PULL_RANGE), ROW("-1e309", PULL_RANGE), ROW("1.7976931348623159e308", PULL_RANGE),
        ROW("1e99999999999999999999", PULL_RANGE), ROW("0.01e311", PULL_RANGE),
        ROW("\"\xff\"", PULL_NOT_UTF8), ROW("\"\xc0\x80\"", PULL_NOT_UTF8),
        ROW("\"\xed\xa0\x80\"", PULL_NOT_UTF8),
        ROW("{}        \xe9", PULL_NOT_UTF8), ROW("\"\xf4\x90\x80\x80\"", PULL_NOT_UTF8),
    };
#undef ROW
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_ROW(fault_of(rows[i].text, rows[i].n) == rows[i].fault, rows[i].text);
}

/* jansson reads past a zero byte after a number or a word. */
static void
test_zero_in_tree(void)
{
    static const char text[] = "{\"a\":[1\0]}";
    json_t *root;
    struct err err;
    err_init(&err);
    CHECK(!tree_read(&root, text, sizeof text - 1, "it", &err) && !root && err.kind == ERR_MALFORMED && err.at == 7);
}

static void
test_depth(void)
{
    char text[2 * 128 + 1];
    for (unsigned levels = 126; levels <= 128; levels++) {
        memset(text, '[', levels);
        memset(text + levels, ']', levels);
        CHECK(fault_of(text, 2 * levels) == (levels <= 127 ? PULL_OK : PULL_TOO_DEEP));
    }
}

static void
test_values(void)
{
    static const char text[] =
        "{\"k\\u00e9\":[18446744073709551615,-1,1.0], \"skip\":[{\"a\":[]}],\"s\":\"\\ud83d\\ude00\\n\"}";
    struct pull json;
    char out[16];
    uint64_t v = 0;
    pull_init(&json, text, sizeof text - 1, 100);
    CHECK(pull_next(&json) == PULL_OBJECT && pull_next(&json) == PULL_KEY);
    CHECK(json.token.escaped && pull_unescape(out, &json.token) == 3 && memcmp(out, "k\xc3\xa9", 3) == 0);
    CHECK(pull_next(&json) == PULL_ARRAY);
    CHECK(pull_next(&json) == PULL_NUMBER && pull_as_u64(&json, &v) && v == UINT64_MAX);
    CHECK(pull_next(&json) == PULL_NUMBER && !pull_as_u64(&json, &v) && pull_token_at(&json) == 100 + 33);
    CHECK(pull_next(&json) == PULL_NUMBER && !pull_as_u64(&json, &v));
    CHECK(pull_next(&json) == PULL_ARRAY_END && pull_next(&json) == PULL_KEY && pull_skip(&json));
    CHECK(pull_next(&json) == PULL_KEY && !json.token.escaped && json.token.n == 1);
    CHECK(pull_next(&json) == PULL_STRING && pull_unescape(out, &json.token) == 5);
    CHECK(memcmp(out, "\xf0\x9f\x98\x80\n", 5) == 0);
    CHECK(pull_next(&json) == PULL_OBJECT_END && pull_next(&json) == PULL_END && pull_next(&json) == PULL_END);
}

static const char golden_json[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"b.weight_scale\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
    "\"b.weight\":{\"dtype\":\"F8_E4M3\",\"shape\":[2,3],\"data_offsets\":[4,10]},"
    "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[10,13]}}      ";
static const uint8_t golden_data[] = { 0, 0, 0, 0x40, 1, 2, 3, 4, 5, 6, 1, 2, 3 };
enum { GOLDEN_JSON = sizeof golden_json - 1, GOLDEN = 8 + GOLDEN_JSON + sizeof golden_data };

static bool
is_golden(const struct str *s)
{
    return s->len == 8 + GOLDEN_JSON && load_le64((const uint8_t *)s->p) == 224
        && memcmp(s->p + 8, golden_json, GOLDEN_JSON) == 0;
}

static const uint8_t dims[] = { 3, 2, 3 };          /* packed: one byte each */
static const struct tensor tensors[] = {        /* of the golden file, by name */
    { .name = "a", .name_len = 1, .dtype = DTYPE_U8, .shape = { 1, dims }, .extent = { 0, 10, 3 } },
    { .name = "b.weight", .name_len = 8, .dtype = DTYPE_F8_E4M3, .shape = { 2, dims + 1 },
      .extent = { 0, 4, 6 } },
    { .name = "b.weight_scale", .name_len = 14, .dtype = DTYPE_F32, .shape = { 0, dims }, .extent = { 0, 0, 4 } },
};

static struct meta
text_meta(const char *key, const char *value)
{
    struct meta m = { .key = key, .key_len = (uint32_t)strlen(key), .value.type = META_STRING };
    m.value.as.s.p = value;
    m.value.as.s.n = strlen(value);
    return m;
}

/* Writes the header of an output of these tensors in this order. Returns the kind of the error, or ERR_NONE. */
static enum err_kind
write_header(struct str *out, const struct tensor *t, size_t n, const struct meta *m, size_t nmeta)
{
    const struct keys_given nothing = { 0 };
    struct keys keys = { 0 };
    const struct writer_options options = { .order = WRITER_ORDER_INPUT, .keys = &keys };
    struct chosen list[8] = { { 0 } };
    struct err err;
    err_init(&err);
    struct catalog *c = catalog_new(&limits_default, &err);
    struct pieces *pieces = pieces_new(&err);
    struct choice choice = { .input = c, .list = list, .n = n };
    bool ok = c && pieces;
    uint32_t again;
    for (size_t i = 0; i < n; i++)
        list[i] = (struct chosen){ .copy = &t[i], .dtype = t[i].dtype };
    for (size_t i = 0; ok && i < nmeta; i++)
        ok = catalog_add_meta(c, &m[i], &again, &err);
    ok = ok && keys_make(&keys, KEYS_TEXT, &nothing, &choice, &err)
        && writer_safetensors.lay_out(pieces, &choice, &options, &err);
    if (ok) {
        const struct piece *header = pieces_at(pieces, 0);
        CHECK(header->kind == PIECE_TEXT && pieces_count(pieces) == 1 + n);
        str_add(out, header->of.text, (size_t)header->nbytes);
    }
    pieces_free(pieces);
    keys_clear(&keys);
    catalog_free(c);
    CHECK(ok == (err.kind == ERR_NONE));
    return err.kind;
}

static bool
shape_equal(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && (a->rank == 0 || memcmp(a->packed, b->packed, shape_packed_len(a)) == 0);
}

static void
test_writer(void)
{
    const struct tensor golden[] = { tensors[2], tensors[1], tensors[0] };
    struct str out = { 0 };

    CHECK(write_header(&out, golden, 3, NULL, 0) == ERR_NONE && is_golden(&out));
    str_clear(&out);

    struct meta format = text_meta("format", "mlx");
    CHECK(write_header(&out, golden, 3, &format, 1) == ERR_NONE && is_golden(&out));
    str_clear(&out);

    struct meta more[] = { text_meta("z\"\n\x01", "/\x7f\xc3\xa9\\"), text_meta("b", "") };
    static const char text[] =
        "{\"__metadata__\":{\"z\\\"\\n\\u0001\":\"/\x7f\xc3\xa9\\\\\",\"b\":\"\",\"format\":\"pt\"}}";
    CHECK(write_header(&out, NULL, 0, more, 2) == ERR_NONE && out.len % 8 == 0);
    CHECK(out.len >= 8 + sizeof text - 1 && memcmp(out.p + 8, text, sizeof text - 1) == 0);
    str_clear(&out);

    struct tensor bad = golden[0];
    bad.name = "b.weight\xff_scale";
    CHECK(write_header(&out, &bad, 1, NULL, 0) == ERR_UNSUPPORTED);
    bad.name = "__metadata__";
    bad.name_len = 12;
    CHECK(write_header(&out, &bad, 1, NULL, 0) == ERR_UNSUPPORTED);
    str_clear(&out);
}

/* Reads a file of these bytes. Returns the kind of the error; if it is ERR_NONE and a catalog is requested, the catalog is
 * sealed. */
static enum err_kind
read_file(const void *bytes, size_t n, struct catalog **out)
{
    char path[] = "/tmp/test_safetensors.XXXXXX";
    struct source *src = NULL;
    struct err err;
    err_init(&err);
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
    struct catalog *c = catalog_new(&limits_default, &err);
    bool ok = c && source_open(&src, path, false, NULL, &err)
        && container_safetensors.read(c, src, 0, &(const struct container_options){ .limits = &limits_default }, &err)
        && catalog_seal(c, &err);
    CHECK(ok == (err.kind == ERR_NONE));
    source_close(src);
    unlink(path);
    if (out)
        *out = c;
    else
        catalog_free(c);
    return err.kind;
}

static void
test_read_golden(void)
{
    uint8_t file[GOLDEN];
    struct catalog *c;
    store_le64(file, GOLDEN_JSON);
    memcpy(file + 8, golden_json, GOLDEN_JSON);
    memcpy(file + 8 + GOLDEN_JSON, golden_data, sizeof golden_data);
    CHECK(container_safetensors.probe(file, 16, GOLDEN) && container_safetensors.probe(file, 16, 200));

    CHECK(read_file(file, GOLDEN, &c) == ERR_NONE && catalog_count(c) == 3);
    for (size_t i = 0; i < catalog_count(c); i++) {
        const struct tensor *t = catalog_at(c, i), *want = &tensors[2 - i];
        CHECK(t->name_len == want->name_len && memcmp(t->name, want->name, t->name_len) == 0);
        CHECK(t->dtype == want->dtype && shape_equal(&t->shape, &want->shape));
        CHECK(t->extent.at == 8 + GOLDEN_JSON + want->extent.at && t->extent.nbytes == want->extent.nbytes);
    }
    CHECK(catalog_meta_count(c) == 1);
    catalog_free(c);
    for (size_t n = 0; n < GOLDEN; n++)
        CHECK(read_file(file, n, NULL) == ERR_MALFORMED);
}

/* Makes one tensor of F32 [1], with its entry given in pieces, and 4 bytes of data. */
static enum err_kind
read_header(const char *json)
{
    uint8_t file[NBYTES_OF_ROW] = { 0 };
    size_t n = strlen(json);
    store_le64(file, n);
    memcpy(file + 8, json, n);
    return read_file(file, 8 + n + 4, NULL);
}

static void
test_reader(void)
{
#define T(offsets) "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" offsets "}"
#define D(dtype, shape) "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":[0,4]}}"
    static const struct { const char *json; enum err_kind kind; } rows[] = {
        { "{\"a\":" T("[0,4]") "}", ERR_NONE },
        { " {\"b\":" T("[0,4]") ",\"__metadata__\":null}\n", ERR_NONE },
        { "{\"__metadat\\u0061__\":{\"dtype\":\"x\"},\"\":" T("[0,4]") "}", ERR_NONE },
        { "{\"a\":{\"x\":[{}],\"x\":1,"
          "\"d\\u0074ype\":\"F\\u00332\",\"data_offsets\":[0,4],\"shape\":[ 1 ]}}", ERR_NONE },
        { D("\"U8\"", "[2,2]"), ERR_NONE }, { D("\"F4\"", "[8]"), ERR_NONE }, { D("\"F32\"", "[]"), ERR_NONE },
        { D("\"F32\"", "[2]"), ERR_MALFORMED }, { D("\"F4\"", "[9]"), ERR_MALFORMED },
        { D("\"F32\"", "[-1]"), ERR_MALFORMED }, { D("\"F32\"", "[1.0]"), ERR_MALFORMED },
        { D("\"F32\"", "null"), ERR_MALFORMED }, { D("\"F32\"", "[4294967296,4294967296,0]"), ERR_MALFORMED },
        { D("\"F8\"", "[4]"), ERR_UNSUPPORTED }, { D("\"f32\"", "[1]"), ERR_UNSUPPORTED },
        { D("8", "[4]"), ERR_MALFORMED }, { D("\"U8\",\"dtype\":\"U8\"", "[4]"), ERR_MALFORMED },
        { "{\"a\":" T("[0,2]") "}", ERR_MALFORMED }, { "{\"a\":" T("[4,0]") "}", ERR_MALFORMED },
        { "{\"a\":" T("[4,8]") "}", ERR_MALFORMED }, { "{\"a\":" T("[0,4,4]") "}", ERR_MALFORMED },
        { "{\"a\":" T("[0]") "}", ERR_MALFORMED }, { "{\"a\":" T("[0,18446744073709551616]") "}", ERR_MALFORMED },
        { "{\"a\":" T("[0,4]") ",\"b\":" T("[0,4]") "}", ERR_MALFORMED },
        { "{\"a\":" T("[0,4]") ",\"\\u0061\":" T("[0,4]") "}", ERR_MALFORMED },
        { "{}", ERR_MALFORMED }, { "[]", ERR_MALFORMED }, { "{\"a\":{}}", ERR_MALFORMED },
        { "{\"__metadata__\":{\"k\":1},\"a\":" T("[0,4]") "}", ERR_MALFORMED },
        { "{\"__metadata__\":{\"k\":\"\",\"\\u006b\":\"\"},\"a\":" T("[0,4]") "}", ERR_MALFORMED },
        { "{\"__metadata__\":null,\"__metadata__\":{},\"a\":" T("[0,4]") "}", ERR_MALFORMED },
    };
#undef T
#undef D
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_ROW(read_header(rows[i].json) == rows[i].kind, rows[i].json);

    uint8_t large[10] = { 0 };
    store_le64(large, 100000001);
    CHECK(read_file(large, sizeof large, NULL) == ERR_LIMIT);
    store_le64(large, 100000000);
    CHECK(read_file(large, sizeof large, NULL) == ERR_MALFORMED);
}

int
main(void)
{
    test_grammar();
    test_zero_in_tree();
    test_depth();
    test_values();
    test_writer();
    test_read_golden();
    test_reader();
    return check_done("test_safetensors");
}
