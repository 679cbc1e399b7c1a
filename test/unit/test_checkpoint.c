/* Checkpoints: the tensors described by the object of a pickle, at any place of the storages. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "container/torch/checkpoint_priv.h"

#define OD "ccollections\nOrderedDict\n)R"
#define STORAGE_OF(class, key, numel) "(U\7storage" class "U\1" key "U\3cpu" numel "tQ"
#define STORAGE(class, key, numel) STORAGE_OF("ctorch\n" class "\n", key, numel)
#define F6 STORAGE("FloatStorage", "0", "K\6")          /* 24 bytes */
#define V2(rest) "ctorch._utils\n_rebuild_tensor_v2\n(" rest "tR"
#define V3(rest) "ctorch._utils\n_rebuild_tensor_v3\n(" rest "tR"
#define TENSOR(storage, offset, size, stride) V2(storage offset size stride "\x89" OD)
#define T6 TENSOR(F6, "K\0", "K\2K\3\x86", "K\3K\1\x86")
#define IN(key, value) "}U\1" key value "s."
#define ROW(pickle, root, text) { pickle, sizeof (pickle) - 1, root, text }

struct checkpoint_row {
    const char *pickle;
    size_t n;
    const char *root;
    const char *text;           /* all tensors, or "!", the kind of error and part of its text */
};

/* Storages start at multiples of 1000. */
static void
describe(struct str *s, const struct checkpoint_row *row, bool big_endian, const struct limits *limits)
{
    const struct checkpoint_options options = { .root = row->root };
    struct budget budget = { .limits = *limits };
    struct checkpoint c = { 0 };
    struct pickle *k;
    const struct pickle_value *root;
    struct err err;
    size_t used;
    uint8_t *copy = malloc(row->n);
    memcpy(copy, row->pickle, row->n);
    err_init(&err);
    struct catalog *catalog = catalog_new(limits, &err);
    bool ok = pickle_run(&k, &root, copy, row->n, &used, 0, &budget, &err) && checkpoint_read(&c, k, &options, &budget, &err);
    for (size_t i = 0; i < c.nstorages; i++)
        c.storage[i].at = 1000 * (i + 1);
    ok = ok && checkpoint_add(&c, catalog, 0, big_endian, &err) && catalog_seal(catalog, &err);
    for (size_t i = 0; ok && i < catalog_count(catalog); i++) {
        const struct tensor *t = catalog_at(catalog, i);
        char dims[SHAPE_TEXT];
        str_format(s, "%s%.*s %s %s %" PRIu64 "+%" PRIu64 "%s%s", i ? "; " : "", (int)t->name_len, t->name,
            t->type_name ? t->type_name : dtype_name(t->dtype), shape_text(dims, &t->shape), t->extent.at, t->extent.nbytes,
            t->layout ? " view" : "", t->sign == TENSOR_NEGATED ? " neg" : t->sign == TENSOR_CONJUGATED ? " conj" : "");
    }
    if (ok)
        str_text(s, "");
    else
        str_format(s, "!%s: %s", err_kind_word(err.kind), err.text);
    catalog_free(catalog);
    checkpoint_clear(&c);
    pickle_free(k);
    free(copy);
}

static void
check_rows(const struct checkpoint_row *rows, size_t n, bool big_endian)
{
    for (size_t i = 0; i < n; i++) {
        struct str s = { 0 };
        describe(&s, &rows[i], big_endian, &limits_default);
        const char *got = s.len != 0 ? s.p : "", *words = strchr(rows[i].text, ':');
        bool same = *rows[i].text != '!' ? strcmp(got, rows[i].text) == 0
            : words && strncmp(got, rows[i].text, (size_t)(words - rows[i].text)) == 0 && strstr(got, words + 1);
        char what[ERR_TEXT + 300];
        snprintf(what, sizeof what, "row %zu: got %.1500s, expected %.300s", i, got, rows[i].text);
        CHECK_ROW(same, what);
        str_clear(&s);
    }
}

static void
test_tensors(void)
{
    static const struct checkpoint_row rows[] = {
        ROW(IN("w", T6), NULL, "w F32 [2, 3] 1000+24"), ROW(T6 ".", NULL, "tensor F32 [2, 3] 1000+24"),
        ROW(IN("w", "ctorch._utils\n_rebuild_tensor\n(" F6 "K\1K\5\x85K\1\x85tR"), NULL, "w F32 [5] 1004+20"),
        ROW(IN("w", TENSOR(F6, "K\0", "K\3K\2\x86", "K\1K\3\x86")), NULL, "w F32 [3, 2] 1000+24 view"),
        ROW(IN("w", TENSOR(F6, "K\5", "K\1K\4\x86", "K\x63K\0\x86")), NULL, "w F32 [1, 4] 1020+16 view"),
        ROW(IN("w", TENSOR(F6, "K\2", ")", ")")), NULL, "w F32 [] 1008+4"),
        ROW(IN("w", TENSOR(F6, "K\x63", "K\0K\5\x86", "K\x63K\x63\x86")), NULL, "w F32 [0, 5] 1000+0"),
        ROW(IN("w", TENSOR(F6, "K\0", "](K\2K\3e", "ctorch\nSize\nK\3K\1\x86\x85R")), NULL, "w F32 [2, 3] 1000+24"),
        ROW(IN("w", V2(F6 "K\0K\6\x85K\1\x85\x89" OD "}U\3neg\x88s")), NULL, "w F32 [6] 1000+24 neg"),
        ROW(IN("w", V2(STORAGE("ComplexFloatStorage", "0", "K\2") "K\0K\2\x85K\1\x85\x89" OD "}U\4conj\x88s")), NULL,
            "w C64 [2] 1000+16 conj"),
        ROW(IN("w", V3(STORAGE_OF("ctorch.storage\nUntypedStorage\n", "0", "K\6") "K\1K\2\x85K\1\x85\x89" OD "ctorch\nuint16\n")), NULL,
            "w U16 [2] 1002+4"),
        ROW(IN("w", TENSOR(STORAGE_OF("ctorch.storage\nUntypedStorage\n", "0", "K\6"), "K\0", "K\6\x85", "K\1\x85")), NULL,
            "w U8 [6] 1000+6"),
        ROW(IN("w", TENSOR(STORAGE("QUInt8Storage", "0", "K\6"), "K\0", "K\6\x85", "K\1\x85")), NULL, "w quint8 [6] 1000+6"),
        ROW(IN("w", "ctorch._utils\n_rebuild_parameter\n(" T6 "\x88" OD "tR"), NULL, "w F32 [2, 3] 1000+24"),
        ROW(IN("w", "ctorch.nn.parameter\nParameter\n" T6 "\x85R"), NULL, "w F32 [2, 3] 1000+24"),
        ROW(IN("w", "ctorch\nFloatTensor\n)R(" F6 "K\0K\6\x85K\1\x85tb"), NULL, "w F32 [6] 1000+24"),
        ROW(IN("w", "ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\nK\2K\3\x86K\3K\1\x86\x89tR"), NULL,
            "w meta [2, 3] 0+0"),
        /* names */
        ROW("}(U\1aK\1U\1b]" T6 "aU\1c}K\7" T6 "s" "u.", NULL, "b.0 F32 [2, 3] 1000+24; c.7 F32 [2, 3] 1000+24"),
        ROW("}U\1a}U\1b" T6 "ss.", "a", "b F32 [2, 3] 1000+24"), ROW("}U\1a}U\1b" T6 "ss.", "a.b", "tensor F32 [2, 3] 1000+24"),
        ROW("}U\5model}U\1b" T6 "ss.", "auto", "b F32 [2, 3] 1000+24"),
        ROW("}U\5other}U\1b" T6 "ss.", "auto", "other.b F32 [2, 3] 1000+24"), ROW("}U\1ah\0.", NULL, "!malformed:memo"),
        ROW("}N}" "s.", NULL, ""), ROW("K\1.", NULL, ""), ROW(F6 ".", NULL, ""),
    };
    static const struct checkpoint_row big[] = {
        ROW(IN("w", T6), NULL, "w F32 [2, 3] 1000+24"),
        ROW(IN("w", V3(STORAGE_OF("ctorch.storage\nUntypedStorage\n", "0", "K\6") "K\1K\2\x85K\1\x85\x89" OD "ctorch\nuint16\n")), NULL,
            "!unsupported:big-endian"),
        ROW(IN("w", V3(STORAGE_OF("ctorch.storage\nUntypedStorage\n", "0", "K\6") "K\1K\2\x85K\1\x85\x89" OD "ctorch\nfloat8_e5m2\n")), NULL,
            "w F8_E5M2 [2] 1001+2"),
    };
    check_rows(rows, sizeof rows / sizeof *rows, false);
    check_rows(big, sizeof big / sizeof *big, true);
}

static void
test_refusals(void)
{
    static const struct checkpoint_row rows[] = {
        ROW(IN("w", TENSOR(STORAGE("DoubleStorage", "0", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"), "K\0", ")", ")")), NULL, "!malformed:overflows 63 bits"),
        ROW(IN("w", TENSOR(STORAGE("FloatStorage", "0", "\x88"), "K\0", ")", ")")), NULL, "!malformed:True"),
        ROW(IN("w", TENSOR(STORAGE("FloatStorage", "0", "J\xff\xff\xff\xff"), "K\0", ")", ")")), NULL, "!malformed:-1"),
        ROW(IN("w", TENSOR(STORAGE_OF("ccollections\nOrderedDict\n", "0", "K\1"), "K\0", ")", ")")), NULL, "!malformed:collections.OrderedDict"),
        ROW(IN("w", "U\7storageQ"), NULL, "!malformed:'storage'"), ROW("NQ.", NULL, "!malformed:an id that is None"),
        ROW(IN("w", TENSOR(F6, "K\1", "K\2K\3\x86", "K\3K\1\x86")), NULL, "!malformed:tensor w: size, strides and offset 1 reach beyond its storage of 24 bytes"),
        ROW(IN("w", TENSOR(F6, "K\0", "K\2K\3\x86", "K\4K\1\x86")), NULL, "!malformed:reach beyond"),
        ROW(IN("w", TENSOR(F6, "K\0", "\x8a\x08\0\0\0\0\0\0\0\x40K\4\x86", "K\0K\0\x86")), NULL, "!malformed:number of elements overflows"),
        ROW(IN("w", TENSOR(F6, "K\0", "\x8a\x06\0\0\0\0\0\1\x85", "K\0\x85")), NULL, "!limit:expand"),
        ROW(IN("w", TENSOR(F6, "K\0", "K\2\x85", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85")), NULL, "!malformed:reach beyond"),
        ROW(IN("w", TENSOR(F6, "J\xff\xff\xff\xff", ")", ")")), NULL, "!malformed:offset is -1"),
        ROW(IN("w", TENSOR(F6, "K\0", "K\2\x85", ")")), NULL, "!malformed:1 dimensions and 0 strides"),
        ROW(IN("w", TENSOR(F6, "K\0", "\x88\x85", "K\1\x85")), NULL, "!malformed:size is True"),
        ROW(IN("w", TENSOR(F6, "K\0", "\x8a\x09\0\0\0\0\0\0\0\0\1\x85", "K\1\x85")), NULL, "!malformed:outside 64 bits"),
        ROW(IN("w", TENSOR("N", "K\0", ")", ")")), NULL, "!malformed:storage is None"),
        ROW(IN("w", V2(F6)), NULL, "!malformed:1 arguments"), ROW(IN("w", "ctorch._utils\n_rebuild_parameter\n(K\1\x88NtR"), NULL, "!malformed:value is 1"),
        ROW(IN("w", V2(F6 "K\0K\6\x85K\1\x85\x89" OD "}U\4conj\x88s")), NULL, "!malformed:marked as conjugate"),
        ROW(IN("w", V2(F6 "K\0K\6\x85K\1\x85\x89" OD "K\5")), NULL, "!malformed:metadata is 5"),
        ROW(IN("w", V3(F6 "K\0K\6\x85K\1\x85\x89" OD "ctorch\nint4\n")), NULL, "!unsupported:int4"),
        ROW(IN("w", V3(F6 "K\0K\6\x85K\1\x85\x89" OD "K\1")), NULL, "!malformed:dtype is 1"),
        ROW("}(U\1a" T6 "U\1b" TENSOR(STORAGE("FloatStorage", "0", "K\5"), "K\0", ")", ")") "u.", NULL, "!malformed:with 6 elements of float32 and with 5"),
        ROW("}(U\1a" T6 "U\1b" TENSOR(STORAGE("IntStorage", "0", "K\6"), "K\0", ")", ")") "u.", NULL, "!malformed:of int32"),
        ROW("}(U\3a.b" T6 "U\1a}U\1b" T6 "su.", NULL, "!unsupported:two tensors have this name"),
        ROW("}N" T6 "s.", NULL, "!unsupported:neither a text nor an integer"), ROW("}U\1x}N\x85" T6 "ss.", NULL, "!unsupported:below x"),
        ROW("}X\3\0\0\0\xed\xa0\x80" T6 "s.", NULL, "!unsupported:surrogate"), ROW("c__builtin__\nset\n](" T6 "e\x85R.", NULL, "!unsupported:in a set"),
        ROW("}q\0U\1ah\0s.", NULL, "!malformed:cyclic"), ROW("]q\0(K\1h\0\x86" "e.", NULL, "!malformed:cyclic"),
        ROW(IN("w", T6), "nowhere", "!usage:nowhere"),
        ROW(IN("w", "ctorch.nn.parameter\nParameter\n)\x81q\0(h\0NN\x89NtbK\0" "0"), NULL, "!limit:nesting of wrappers"),
    };
    check_rows(rows, sizeof rows / sizeof *rows, false);
}

/* Graphs of shared objects, and names that grow with their paths. */
static void
test_amplification(void)
{
    struct str s = { 0 };
    static const char tensor[] = "](" TENSOR(STORAGE("ByteStorage", "0", "\x8a\4\0\0\0\1"), "K\0", "\x8a\4\0\0\0\1\x85", "K\1\x85") "q\1";
    str_add(&s, tensor, sizeof tensor - 1);
    for (int i = 0; i < 20; i++)
        str_text(&s, "h\1");
    str_text(&s, "e.");
    struct checkpoint_row row = { s.p, s.len, NULL, "" };
    struct str got = { 0 };
    describe(&got, &row, false, &limits_default);
    CHECK_ROW(strncmp(got.p, "!limit: total size of the tensors exceeds", 41) == 0, got.p);
    str_clear(&got);
    str_clear(&s);

    str_text(&s, "]q0");
    for (int i = 0; i < 40; i++)
        str_text(&s, "0h0h0\x86q0");
    str_text(&s, ".");
    row = (struct checkpoint_row){ s.p, s.len, NULL, "" };
    describe(&got, &row, false, &limits_default);
    CHECK_ROW(strstr(got.p, "walk_nodes") || strstr(got.p, "the tensor names"), got.p);
    str_clear(&got);
    str_clear(&s);
}

int
main(void)
{
    test_tensors();
    test_refusals();
    test_amplification();
    return check_done("checkpoint");
}
