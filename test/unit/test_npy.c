/* Headers of arrays: the results of valid ones, and the errors of others. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "container/numpy/npy.h"

enum { ROOM = 70000 };

static uint8_t bytes[ROOM];

/* Writes an array with this header and only the first of its elements. Returns the number of bytes. */
static size_t
make(int version, const char *text)
{
    size_t n = strlen(text), fixed = version == 1 ? 10 : 12;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)version;
    bytes[7] = 0;
    for (size_t i = 8; i < fixed; i++)
        bytes[i] = (uint8_t)(n >> 8 * (i - 8));
    memcpy(bytes + fixed, text, n);
    return fixed + n;
}

static enum err_kind
read_bytes(struct npy *npy, size_t n)
{
    struct npy_bytes in = { .name = "a", .name_len = 1, .n = n, .at = ERR_NO_OFFSET };
    struct err err;
    err_init(&err);
    uint8_t *own = malloc(n + 1);           /* exact, so that a sanitizer detects a read past the end */
    memcpy(own, bytes, n);
    in.p = own;
    bool ok = npy_read(npy, &in, &err);
    CHECK(ok == (err.kind == ERR_NONE));
    free(own);
    return err.kind;
}

static enum err_kind
read_text(struct npy *npy, int version, const char *text)
{
    return read_bytes(npy, make(version, text));
}

#define ARRAY(descr, rest) "{'descr': " descr ", 'fortran_order': False, 'shape': " rest ", }   \n"

/* --- types */

static const struct {
    const char *descr;
    enum dtype dtype;
    bool big;
    uint64_t item;
    const char *name;           /* of an unsupported type */
} types[] = {
    { "|b1", DTYPE_BOOL, false, 1, "" }, { "?", DTYPE_BOOL, false, 1, "" },
    { "|i1", DTYPE_I8, false, 1, "" }, { ">i1", DTYPE_I8, false, 1, "" }, { "u1", DTYPE_U8, false, 1, "" },
    { "<i2", DTYPE_I16, false, 2, "" }, { ">i2", DTYPE_I16, true, 2, "" }, { "=i4", DTYPE_I32, false, 4, "" },
    { "|i8", DTYPE_I64, false, 8, "" }, { ">u2", DTYPE_U16, true, 2, "" }, { "<u4", DTYPE_U32, false, 4, "" },
    { "<u8", DTYPE_U64, false, 8, "" }, { "<f2", DTYPE_F16, false, 2, "" }, { ">f4", DTYPE_F32, true, 4, "" },
    { "f8", DTYPE_F64, false, 8, "" }, { "<c8", DTYPE_C64, false, 8, "" }, { ">c8", DTYPE_C64, true, 8, "" },
    { "|V2", DTYPE_BF16, false, 2, "" }, { "<V2", DTYPE_BF16, false, 2, "" },
    { ">V2", DTYPE_UNKNOWN, true, 2, "|V2" }, { "<V1", DTYPE_UNKNOWN, false, 1, "|V1" },
    { "|V0", DTYPE_UNKNOWN, false, 0, "|V0" }, { "<f1", DTYPE_F8_E5M2, false, 1, "" },
    { "<f16", DTYPE_UNKNOWN, false, 16, "<f16" }, { ">c16", DTYPE_UNKNOWN, true, 16, ">c16" },
    { "<U3", DTYPE_UNKNOWN, false, 12, "<U3" }, { ">U1", DTYPE_UNKNOWN, true, 4, ">U1" }, { "|S5", DTYPE_UNKNOWN, false, 5, "|S5" },
    { "|a5", DTYPE_UNKNOWN, false, 5, "|S5" }, { "<M8[ns]", DTYPE_UNKNOWN, false, 8, "<M8[ns]" },
    { ">m8[25us]", DTYPE_UNKNOWN, true, 8, ">m8[25us]" },
};

static void
test_types(void)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[200];
        struct npy npy;
        snprintf(text, sizeof text, ARRAY("'%s'", "(2, 3)"), types[i].descr);
        CHECK_ROW(read_text(&npy, 1, text) == ERR_NONE && npy.dtype == types[i].dtype && npy.item == types[i].item
            && npy.sized && npy.nbytes == 6 * npy.item && strcmp(npy.type_name, types[i].name) == 0, types[i].descr);
        CHECK_ROW(types[i].dtype == DTYPE_UNKNOWN || npy.big_endian == types[i].big, types[i].descr);
    }
}

/* --- forms */

static const struct {
    const char *text;
    uint32_t rank;
    uint64_t numel;
    bool fortran;
} forms[] = {
    { ARRAY("'<f4'", "()"), 0, 1, false },
    { ARRAY("'<f4'", "(3,)"), 1, 3, false },
    { ARRAY("'<f4'", "(2, 3, 4)"), 3, 24, false },
    { ARRAY("'<f4'", "(0, 5)"), 2, 0, false },
    { "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 2, 6, true },
    { "{\"shape\":(2,3,),\"descr\":\"<f4\",\"fortran_order\":True}", 2, 6, true },
    { " \t\n{'shape' :\f(2\r\n,3) , u'descr': U'<f4', 'fortran_order':False}# the end }\n\n", 2, 6, false },
    { "{'descr': '<f4', # a comment, with a ' in it\n 'fortran_order': False, 'shape': (2L, 3l)}", 2, 6, false },
};

static void
test_forms(void)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int version = 1; version <= 3; version++) {
            struct npy npy;
            enum err_kind kind = read_text(&npy, version, forms[i].text);
            if (version == 3 && strstr(forms[i].text, "2L"))
                CHECK_ROW(kind == ERR_MALFORMED, forms[i].text);
            else
                CHECK_ROW(kind == ERR_NONE && npy.rank == forms[i].rank && npy.nbytes == 4 * forms[i].numel
                    && npy.fortran == forms[i].fortran && npy.version == (uint32_t)version, forms[i].text);
        }
}

/* --- errors */

static const struct {
    const char *text;
    enum err_kind kind;
} refused[] = {
    { "", ERR_MALFORMED }, { "{}", ERR_MALFORMED }, { "{,}", ERR_MALFORMED }, { "[]", ERR_MALFORMED },
    { "{'descr', 'fortran_order', 'shape'}", ERR_MALFORMED },
    { "{'descr': '<f4', 'fortran_order': False}", ERR_MALFORMED },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", ERR_MALFORMED },
    { "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", ERR_MALFORMED },
    { "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}", ERR_UNSUPPORTED },
    { "{'descr': '<f4', 'fortran_order': False 'shape': (3,)}", ERR_MALFORMED },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", ERR_MALFORMED },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,),, }", ERR_MALFORMED },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", ERR_MALFORMED },
    { "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", ERR_MALFORMED },
    { "{'descr': '<f4', 'fortran_order': 'True', 'shape': (3,)}", ERR_MALFORMED },
    { "{'descr': '<f4', 'fortran_order': None, 'shape': (3,)}", ERR_MALFORMED },
    { ARRAY("'<f4'", "(3)"), ERR_MALFORMED }, { ARRAY("'<f4'", "3"), ERR_MALFORMED },
    { ARRAY("'<f4'", "[3]"), ERR_MALFORMED }, { ARRAY("'<f4'", "(3 4)"), ERR_MALFORMED },
    { ARRAY("'<f4'", "(,)"), ERR_MALFORMED }, { ARRAY("'<f4'", "(3,,)"), ERR_MALFORMED },
    { ARRAY("'<f4'", "(3.0,)"), ERR_MALFORMED }, { ARRAY("'<f4'", "(True,)"), ERR_MALFORMED },
    { ARRAY("'<f4'", "(-3,)"), ERR_MALFORMED }, { ARRAY("'<f4'", "(03,)"), ERR_MALFORMED },
    { ARRAY("'<f4'", "(3, (4,))"), ERR_MALFORMED }, { ARRAY("'<f4'", "(3x,)"), ERR_MALFORMED },
    { ARRAY("'<f4'", "(9223372036854775808,)"), ERR_MALFORMED },
    { ARRAY("'<f4'", "(99999999999999999999,)"), ERR_MALFORMED },
    { ARRAY("'<f4'", "(4294967296, 4294967296)"), ERR_MALFORMED },
    { ARRAY("'<f4'", "(4294967296, 4294967296, 0)"), ERR_MALFORMED },
    { ARRAY("'<f8'", "(4611686018427387904,)"), ERR_MALFORMED },
    { ARRAY("'<f4'", "(0x3,)"), ERR_UNSUPPORTED }, { ARRAY("'<f4'", "(1_0,)"), ERR_UNSUPPORTED },
    { ARRAY("'<f4'", "(+3,)"), ERR_UNSUPPORTED },
    { ARRAY("'<' 'f4'", "(3,)"), ERR_UNSUPPORTED }, { ARRAY("'<\\x66" "4'", "(3,)"), ERR_UNSUPPORTED },
    { ARRAY("b'<f4'", "(3,)"), ERR_UNSUPPORTED }, { ARRAY("'float32'", "(3,)"), ERR_UNSUPPORTED },
    { ARRAY("'<f4,<i2'", "(3,)"), ERR_UNSUPPORTED }, { ARRAY("'3f4'", "(3,)"), ERR_UNSUPPORTED },
    { ARRAY("'<f3'", "(3,)"), ERR_UNSUPPORTED }, { ARRAY("'<i16'", "(3,)"), ERR_UNSUPPORTED },
    { ARRAY("'<f4 '", "(3,)"), ERR_UNSUPPORTED }, { ARRAY("''", "(3,)"), ERR_UNSUPPORTED },
    { ARRAY("'<M8[n\x01]'", "(3,)"), ERR_MALFORMED }, { ARRAY("'<f4", "(3,)"), ERR_UNSUPPORTED },
    { ARRAY("None", "(3,)"), ERR_MALFORMED }, { ARRAY("3", "(3,)"), ERR_MALFORMED },
    { ARRAY("'|O'", "(3,)"), ERR_UNSAFE }, { ARRAY("'O8'", "(3,)"), ERR_UNSAFE },
    { ARRAY("[('a', '|O')]", "(3,)"), ERR_UNSAFE }, { ARRAY("[('a', [('b', '<f4'), ('c', 'O', (2,))])]", "(3,)"), ERR_UNSAFE },
    { ARRAY("('|O', (2,))", "(3,)"), ERR_UNSAFE },
    { ARRAY("[('a',)]", "(3,)"), ERR_MALFORMED }, { ARRAY("['<f4']", "(3,)"), ERR_MALFORMED },
    { ARRAY("[('a', '<f4', 2, 3)]", "(3,)"), ERR_MALFORMED }, { ARRAY("[('a', '<f4', (2))]", "(3,)"), ERR_MALFORMED },
    { ARRAY("[('a' '<f4')]", "(3,)"), ERR_MALFORMED }, { ARRAY("[('a', '<f4']", "(3,)"), ERR_MALFORMED },
    { ARRAY("[(3, '<f4')]", "(3,)"), ERR_MALFORMED },
    { ARRAY("[('a', [('a', [('a', [('a', [('a', '<f4')])])])])]", "(3,)"), ERR_MALFORMED },
};

static const char *const structured[] = {
    ARRAY("[]", "(3,)"), ARRAY("[('a', '<f4')]", "(3,)"), ARRAY("[('shape', '<f4'), ('descr', '<i2', (2, 3)), ]", "(3,)"),
    ARRAY("[(('title', 'name'), '<f4'), ('', '|V4')]", "(3,)"), ARRAY("[('a', [('b', '<f4'), ('|O', '<i8')])]", "(3,)"),
    ARRAY("('<f4', (2,))", "(3,)"), ARRAY("[('a', '<f4', 2)]", "(3,)"), ARRAY("[('a', ('<f4', (2, 2)))]", "(3,)"),
};

static void
test_refused(void)
{
    struct npy npy;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        CHECK_ROW(read_text(&npy, 1, refused[i].text) == refused[i].kind, refused[i].text);
    for (size_t i = 0; i < sizeof structured / sizeof *structured; i++)
        CHECK_ROW(read_text(&npy, 1, structured[i]) == ERR_NONE && npy.dtype == DTYPE_UNKNOWN && !npy.sized
            && strcmp(npy.type_name, "structured") == 0 && npy.dim[0] == 3, structured[i]);
}

/* --- lengths */

static void
test_lengths(void)
{
    static char text[ROOM];
    struct npy npy;
    size_t n = make(1, forms[0].text);
    for (size_t i = 0; i < n; i++)
        CHECK(read_bytes(&npy, i) == ERR_MALFORMED);
    CHECK(read_bytes(&npy, n) == ERR_NONE);
    bytes[7] = 1;
    CHECK(read_bytes(&npy, n) == ERR_UNSUPPORTED);
    make(4, forms[0].text);
    CHECK(read_bytes(&npy, n) == ERR_UNSUPPORTED);
    make(1, forms[0].text);
    bytes[0] = 'N';
    CHECK(read_bytes(&npy, n) == ERR_MALFORMED);

    /* 10000 bytes of text are accepted, one more is not; a trailing NUL; Latin-1 in a comment; version 3 is UTF-8. */
    snprintf(text, sizeof text, "%-10000s", forms[0].text);
    CHECK(read_text(&npy, 2, text) == ERR_NONE);
    strcat(text, " ");
    CHECK(read_text(&npy, 2, text) == ERR_LIMIT);
    n = make(1, forms[0].text);
    bytes[n - 1] = '\0';
    CHECK(read_bytes(&npy, n) == ERR_MALFORMED);
    snprintf(text, sizeof text, "%s# \xe9", forms[0].text);
    CHECK(read_text(&npy, 1, text) == ERR_NONE && read_text(&npy, 3, text) == ERR_MALFORMED);

    /* 64 dimensions, and 65. */
    strcpy(text, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
    for (int i = 0; i < 64; i++)
        strcat(text, "1,");
    strcat(text, ")}");
    CHECK(read_text(&npy, 1, text) == ERR_NONE && npy.rank == 64 && npy.nbytes == 4);
    strcpy(text + strlen(text) - 2, "1,)}");
    CHECK(read_text(&npy, 1, text) == ERR_LIMIT);
}

/* --- in the catalog */

static void
test_layout(void)
{
    static const struct {
        const char *shape;
        bool turned;
    } rows[] = {
        { "()", false }, { "(5,)", false }, { "(1, 5)", false }, { "(5, 1, 1)", false }, { "(0, 5)", false },
        { "(2, 3)", true }, { "(1, 2, 1, 3)", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        struct err err;
        struct npy npy;
        const struct npy_bytes in = { .name = "a", .name_len = 1 };
        err_init(&err);
        struct catalog *c = catalog_new(&limits_default, &err);
        snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': True, 'shape': %s}", rows[i].shape);
        bool ok = CHECK_ROW(read_text(&npy, 1, text) == ERR_NONE, text)
            && CHECK(c && npy_add(c, &npy, &in, &(struct extent){ 0, 100, npy.nbytes }, &err) && catalog_seal(c, &err));
        const struct tensor *t = ok ? catalog_at(c, 0) : NULL;
        if (t) {
            CHECK_ROW((t->layout != NULL) == rows[i].turned && t->shape.rank == npy.rank, text);
            CHECK(!t->layout || (t->layout->rank == 2 && layout_at(t->layout, 1) == 2 && layout_at(t->layout, 3) == 1));
        }
        catalog_free(c);
    }
}

int
main(void)
{
    test_types();
    test_forms();
    test_refused();
    test_lengths();
    test_layout();
    return check_done("test_npy");
}
