/* Pickles: the opcodes, the allowed names, and the machine. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "container/torch/pickle_priv.h"

/* --- opcodes */

static void
test_table(void)
{
    unsigned n = 0, with_argument = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        const struct pickle_op *op = pickle_op((uint8_t)byte);
        n += op->name != NULL;
        with_argument += op->name && op->arg != ARG_NONE;
        CHECK_ROW(!op->name || op->protocol <= 5, op->name);
    }
    CHECK(n == 68 && with_argument == 34);
}

#define BYTES(text) (const uint8_t *)(text), sizeof (text) - 1

static bool
steps(enum pickle_step_end end, const uint8_t *p, size_t n, uint64_t number, const char *text, size_t size)
{
    struct pickle_step s;
    return pickle_op_next(&s, p, n) == end && s.number == number
        && s.text_len == (text ? strlen(text) : 0) && (!text || memcmp(s.text, text, s.text_len) == 0)
        && (end != STEP_WHOLE || s.size == size);
}

static void
test_steps(void)
{
    struct pickle_step s;
    CHECK(steps(STEP_WHOLE, BYTES("N"), 0, NULL, 1) && steps(STEP_WHOLE, BYTES("K\xff"), 255, NULL, 2));
    CHECK(steps(STEP_WHOLE, BYTES("M\1\2"), 0x201, NULL, 3));
    CHECK(steps(STEP_WHOLE, BYTES("J\xff\xff\xff\xff"), UINT64_MAX, NULL, 5));
    CHECK(steps(STEP_WHOLE, BYTES("r\xff\xff\xff\xff"), UINT32_MAX, NULL, 5));
    CHECK(steps(STEP_WHOLE, BYTES("\x95\1\2\3\4\5\6\7\x88"), 0x8807060504030201, NULL, 9));
    CHECK(steps(STEP_WHOLE, BYTES("G\x3f\xf0\0\0\0\0\0\0"), 0x3ff0000000000000, NULL, 9));
    CHECK(steps(STEP_WHOLE, BYTES("I12\nN"), 0, "12", 4) && steps(STEP_WHOLE, BYTES("I\n"), 0, "", 2));
    CHECK(steps(STEP_WHOLE, BYTES("X\3\0\0\0abcN"), 3, "abc", 8) && steps(STEP_WHOLE, BYTES("U\0N"), 0, "", 2));
    CHECK(pickle_op_next(&s, BYTES("cmod\r\nna me\nN")) == STEP_WHOLE && s.size == 12 && s.text_len == 4 && s.second_len == 5
        && memcmp(s.text, "mod\r", 4) == 0 && memcmp(s.second, "na me", 5) == 0);
    CHECK(steps(STEP_CUT, BYTES(""), 0, NULL, 0) && steps(STEP_CUT, BYTES("M\1"), 0, NULL, 0));
    CHECK(pickle_op_next(&s, BYTES("X\3\0\0\0ab")) == STEP_CUT && s.text_len == 3);
    CHECK(pickle_op_next(&s, BYTES("\x8d\xff\xff\xff\xff\xff\xff\xff\xff")) == STEP_CUT && s.text_len == UINT64_MAX);
    CHECK(pickle_op_next(&s, BYTES("cmod\nname")) == STEP_CUT && pickle_op_next(&s, BYTES("cmod")) == STEP_CUT);
    CHECK(pickle_op_next(&s, BYTES("\x8b\xff\xff\xff\xff")) == STEP_NEGATIVE && (int64_t)s.number == -1);
    CHECK(pickle_op_next(&s, BYTES("T\0\0\0\x80")) == STEP_NEGATIVE && (int64_t)s.number == INT32_MIN);
    CHECK(pickle_op_next(&s, BYTES("\0")) == STEP_UNKNOWN && pickle_op_next(&s, BYTES("\xff")) == STEP_UNKNOWN);
}

static void
test_length(void)
{
    static const uint8_t pickle[] = "\x80\2}q\0X\1\0\0\0.cos\nsystem\n.N";
    const size_t len = sizeof pickle - 2;
    for (size_t step = 1; step <= len; step++) {
        size_t from = 0, n = 0, got = 0;
        for (; got == 0 && n < len; got = pickle_length(pickle, n, &from))
            n = n + step < len ? n + step : len;
        CHECK(got == len);
    }
    for (size_t n = 0, from; n < len; n++)
        CHECK((from = 0, pickle_length(pickle, n, &from)) == 0);
    size_t from = 0;
    CHECK(pickle_length(BYTES("NN\xffN"), &from) == 3);
}

/* --- names */

static bool
allowed(struct pickle_global *g, const char *module, const char *name)
{
    return pickle_global_find(g, (const uint8_t *)module, strlen(module), (const uint8_t *)name, strlen(name));
}

static void
test_names(void)
{
    struct pickle_global g;
    char name[PICKLE_GLOBAL_NAME], other[PICKLE_GLOBAL_NAME];
    for (size_t i = 0; i < PICKLE_GLOBALS; i++) {
        pickle_global_name(name, i);
        char *dot = strrchr(name, '.');
        for (size_t k = 0; k < i; k++)
            CHECK_ROW(strcmp(name, pickle_global_name(other, k)) != 0, name);
        *dot = '\0';
        CHECK_ROW(allowed(&g, name, dot + 1) && !allowed(&g, dot + 1, name) && !allowed(&g, name, ""), dot + 1);
    }
    CHECK(allowed(&g, "__builtin__", "set") && g.role == GLOBAL_SET && allowed(&g, "torch.cuda", "HalfStorage")
        && g.role == GLOBAL_STORAGE && g.type->dtype == DTYPE_F16 && !g.untyped);
    CHECK(allowed(&g, "torch.storage", "UntypedStorage") && g.role == GLOBAL_STORAGE && g.untyped && g.type->item == 1);
    CHECK(allowed(&g, "torch", "bits16") && g.role == GLOBAL_DTYPE && g.type->dtype == DTYPE_UNKNOWN && g.type->item == 2);
    CHECK(!allowed(&g, "torch", "UntypedStorage") && !allowed(&g, "torch.cuda", "QInt8Storage")
        && !allowed(&g, "torch.sparse", "BoolTensor") && !allowed(&g, "torch", "ComplexFloatTensor")
        && !allowed(&g, "builtins", "bytes") && !allowed(&g, "os", "system") && !allowed(&g, "torch", "Storage")
        && !allowed(&g, "torch._utils", "_rebuild_sparse_csr_tensor") && !allowed(&g, "", ""));
}

/* --- the machine */

/* Appends a value in approximately Python's notation. */
static void
show(struct str *s, const struct pickle *k, const struct pickle_value *v, int depth)
{
    static const char brackets[][3] = { [PICKLE_TUPLE] = "()", [PICKLE_LIST] = "[]", [PICKLE_DICT] = "{}",
        [PICKLE_SET] = "<>" };
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *value;
    switch (v->kind) {
    case PICKLE_NONE: str_text(s, "None"); return;
    case PICKLE_BOOL: str_text(s, v->of.integer ? "True" : "False"); return;
    case PICKLE_INT: str_format(s, "%" PRId64, v->of.integer); return;
    case PICKLE_BIG: str_format(s, "big:%u", (unsigned)v->n); return;
    case PICKLE_FLOAT: str_format(s, "%gf", v->of.real); return;
    case PICKLE_TEXT: str_text(s, "'"); str_add(s, (const char *)v->of.text, v->n); str_text(s, "'"); return;
    case PICKLE_BYTES: str_text(s, "b'"); str_add_escaped(s, (const char *)v->of.text, v->n); str_text(s, "'"); return;
    case PICKLE_GLOBAL: str_text(s, v->of.name->text); return;
    case PICKLE_PERSISTENT: str_text(s, "pid"); show(s, k, v->of.item[0], depth + 1); return;
    case PICKLE_CALL:
        show(s, k, v->of.item[0], depth + 1);
        show(s, k, v->of.item[1], depth + 1);
        return;
    }
    if (depth > 4) {
        str_text(s, "...");
        return;
    }
    str_add(s, brackets[v->kind], 1);
    for (const char *gap = ""; pickle_next(k, v, &walk, &key, &value); gap = ",") {
        str_text(s, gap);
        if (key) {
            show(s, k, key, depth + 1);
            str_text(s, ":");
        }
        show(s, k, value, depth + 1);
    }
    str_add(s, brackets[v->kind] + 1, 1);
}

struct outcome {
    struct err err;
    char text[512];             /* of the root */
    size_t used;
};

static const struct pickle_limits *own_limits;          /* NULL: the built-in ones */

/* Runs a copy of exactly its size, so that a sanitizer detects a read past the end. */
static struct outcome
run(const uint8_t *p, size_t n, const struct limits *limits)
{
    struct outcome o = { .used = 0 };
    struct budget budget = { .limits = *limits };
    struct pickle *k;
    const struct pickle_value *root;
    struct str s = { 0 };
    uint8_t *copy = malloc(n ? n : 1);
    memcpy(copy, p, n);
    err_init(&o.err);
    bool ok = own_limits ? pickle_run_within(&k, &root, copy, n, &o.used, 1000, &budget, own_limits, &o.err)
        : pickle_run(&k, &root, copy, n, &o.used, 1000, &budget, &o.err);
    if (ok) {
        show(&s, k, root, 0);
        snprintf(o.text, sizeof o.text, "%s", s.p);
    }
    str_clear(&s);
    pickle_free(k);
    free(copy);
    return o;
}

static void
test_values(void)
{
    static const struct { const uint8_t *p; size_t n; const char *text; } rows[] = {
        { BYTES("N."), "None" }, { BYTES("\x80\2\x88."), "True" }, { BYTES("\x89."), "False" },
        { BYTES("J\xfe\xff\xff\xff."), "-2" }, { BYTES("K\xff."), "255" }, { BYTES("M\xff\xff."), "65535" },
        { BYTES("\x8a\0."), "0" }, { BYTES("\x8a\1\xff."), "-1" }, { BYTES("\x8a\2\xff\0."), "255" },
        { BYTES("\x8a\x08\0\0\0\0\0\0\0\x80."), "-9223372036854775808" },
        { BYTES("\x8a\x09\0\0\0\0\0\0\0\x80\0."), "big:9" }, { BYTES("\x8a\x0a\1\0\0\0\0\0\0\0\0\0."), "1" },
        { BYTES("\x8a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff."), "-1" },
        { BYTES("G\xc0\x04\0\0\0\0\0\0."), "-2.5f" }, { BYTES("X\2\0\0\0\xc3\xa9."), "'\xc3\xa9'" },
        { BYTES("X\3\0\0\0\xed\xa0\x80."), "'\xed\xa0\x80'" }, { BYTES("U\1a."), "'a'" }, { BYTES("T\1\0\0\0a."), "'a'" },
        { BYTES("\x80\4\x95\1\0\0\0\0\0\0\0\x8c\1a\x94."), "'a'" }, { BYTES("C\2\xff" "a."), "b'\\xffa'" },
        { BYTES("B\1\0\0\0z."), "b'z'" },
        { BYTES(")."), "()" }, { BYTES("N\x85."), "(None)" }, { BYTES("NK\1\x86."), "(None,1)" },
        { BYTES("K\1K\2K\3\x87."), "(1,2,3)" }, { BYTES("(t."), "()" }, { BYTES("(K\1K\2t."), "(1,2)" },
        { BYTES("]K\1a(K\2K\3e."), "[1,2,3]" }, { BYTES("}X\1\0\0\0aK\1s(K\2K\3K\4K\5u."), "{'a':1,2:3,4:5}" },
        { BYTES("\x8f(K\1K\2\x90."), "<1,2>" },
        /* shared: an item added later is visible */
        { BYTES("}q\0h\0K\1K\2s\x86."), "({1:2},{1:2})" }, { BYTES("]q\0h\0a."), "[[[[[...]]]]]" },
        { BYTES("K\7q\xff" "0h\xff."), "7" }, { BYTES("Nq\5K\1\x94h\1."), "1" },        /* MEMOIZE counts set entries */
        { BYTES("Nr\3\0\0\0j\3\0\0\0."), "None" }, { BYTES("NK\1" "0."), "None" }, { BYTES("N(K\1K\2" "1."), "None" },
        { BYTES("N(0."), "None" }, { BYTES("NK\1."), "1" }, { BYTES("\x80\2\x80\4N."), "None" },
        /* keys are compared as in Python; the first key is kept, with the last value */
        { BYTES("}(K\1X\1\0\0\0aK\2N\x88X\1\0\0\0bG\x3f\xf0\0\0\0\0\0\0X\1\0\0\0cu."), "{1:'c',2:None}" },
        { BYTES("}(X\1\0\0\0aK\1C\1aK\2U\1aK\3u."), "{'a':3,b'a':2}" }, { BYTES("}(K\0NJ\0\0\0\0K\1\x89K\2Nu."), "" },
        { BYTES("}(K\1K\2\x86NG\x3f\xf0\0\0\0\0\0\0K\2\x86K\1u."), "{(1,2):1}" },
        { BYTES("}(K\1\x85\x85NK\1\x85\x85K\5)K\6Nu."), "" },
        { BYTES("}(G\x7f\xf0\0\0\0\0\0\0K\1G\xff\xf0\0\0\0\0\0\0K\2u."), "{inff:1,-inff:2}" },
        { BYTES("ctorch\nfloat32\n."), "torch.float32" }, { BYTES("c__builtin__\ncomplex\n."), "builtins.complex" },
        { BYTES("\x8c\5torch\x8c\4Size\x93."), "torch.Size" }, { BYTES("ctorch\nSize\n(K\1tR."), "torch.Size(1)" },
        { BYTES("ccollections\nOrderedDict\n)R."), "{}" },
        { BYTES("ccollections\nOrderedDict\n](]K\1aK\2ae\x85R."), "{1:2}" },
        { BYTES("ccollections\nOrderedDict\n](K\1e\x85R."), "" },
        { BYTES("ccollections\nOrderedDict\n]((K\1K\2t(K\3K\4te\x85R."), "{1:2,3:4}" },
        { BYTES("ccollections\nOrderedDict\n}K\1K\2s\x85R}K\5K\6sb."), "{1:2}" },
        { BYTES("ccollections\nCounter\n}K\1K\2s\x85R."), "{1:2}" },
        { BYTES("c__builtin__\nset\n](K\1K\2e\x85R."), "<1,2>" },
        { BYTES("c_codecs\nencode\nX\4\0\0\0a\xc3\xbfzX\6\0\0\0latin1\x86R."), "b'a\\xffz'" },
        { BYTES("X\1\0\0\0sQ."), "pid's'" },
        { BYTES("ctorch.nn.parameter\nParameter\n)\x81."), "torch.nn.parameter.Parameter()" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct outcome o = run(rows[i].p, rows[i].n, &limits_default);
        char what[ERR_TEXT + 600];
        snprintf(what, sizeof what, "row %zu: got %s%s, expected %s", i, o.text, o.err.text, rows[i].text);
        if (*rows[i].text == '\0')      /* an odd number of values, or not a pair */
            CHECK_ROW(o.err.kind == ERR_MALFORMED, what);
        else
            CHECK_ROW(o.err.kind == ERR_NONE && strcmp(o.text, rows[i].text) == 0 && o.used == rows[i].n, what);
    }
}

/* Refused pickles, with part of the message. */
static void
test_refusals(void)
{
    static const struct { const uint8_t *p; size_t n; enum err_kind kind; uint64_t at; const char *word; } rows[] = {
        { BYTES("cos\nsystem\n0N."), ERR_UNSAFE, 1000, "references os.system" },
        { BYTES("N\x8c\2os\x8c\6system\x93."), ERR_UNSAFE, 1013, "references os.system" },
        { BYTES("cbuiltins\neval\n."), ERR_UNSAFE, 1000, "builtins.eval" },
        { BYTES("ctorch\nstorage.UntypedStorage\n)R."), ERR_UNSAFE, 1031, "torch.storage.UntypedStorage" },
        { BYTES("ctorch\nSize\r\n."), ERR_UNSAFE, 1000, "torch.Size\\u{d}" },
        { BYTES("c\xff\nx\n."), ERR_MALFORMED, 1000, "UTF-8" }, { BYTES("ctorch\nSize."), ERR_MALFORMED, 1000, "GLOBAL is truncated" },
        { BYTES("K\1K\2\x93."), ERR_UNSAFE, 1004, "a name that is" },
        { BYTES("K\1)R."), ERR_MALFORMED, 1003, "calls 1" },
        { BYTES("ctorch\nSize\n)R)R."), ERR_MALFORMED, 1015, "calls an object" },
        { BYTES("ctorch\nfloat32\n)R."), ERR_MALFORMED, 1016, "calls torch.float32" },
        { BYTES("ctorch\nSize\nNR."), ERR_MALFORMED, 1013, "with None" },
        { BYTES("ctorch._utils\n_rebuild_tensor\n)\x81."), ERR_MALFORMED, 1031, "expected a class" },
        { BYTES("K\1Nb."), ERR_MALFORMED, 1003, "gives 1 the state" }, { BYTES("}}b."), ERR_MALFORMED, 1002, "state" },
        { BYTES("}Na."), ERR_MALFORMED, 1002, "a dictionary of 0, expected a list" },
        { BYTES("]NNs."), ERR_MALFORMED, 1003, "a list of 0, expected a dictionary" },
        { BYTES("](NNu."), ERR_MALFORMED, 1004, "expected a dictionary" }, { BYTES("}(Ne."), ERR_MALFORMED, 1003, "expected a list" },
        { BYTES("\x82\1."), ERR_UNSUPPORTED, 1000, "EXT1" }, { BYTES("P1\n."), ERR_UNSUPPORTED, 1000, "PERSID" },
        { BYTES("\x97."), ERR_UNSUPPORTED, 1000, "NEXT_BUFFER" }, { BYTES("I1\n."), ERR_UNSUPPORTED, 1000, "INT" },
        { BYTES("N\0."), ERR_MALFORMED, 1001, "byte 0x00" },
        { BYTES("Nr\0\1\0\0."), ERR_LIMIT, 1001, "memo entry 256" },
        { BYTES("\x8c\5abc."), ERR_MALFORMED, 1000, "declares 5 bytes, but only 6 are left" },
        { BYTES("T\xff\xff\xff\xff."), ERR_MALFORMED, 1000, "declares -1 bytes" },
        { BYTES("N"), ERR_MALFORMED, 1001, "without STOP" }, { BYTES(""), ERR_MALFORMED, 1000, "without STOP" },
        { BYTES("\x95\1\0\0."), ERR_MALFORMED, 1000, "FRAME is truncated" },
        { BYTES("\x80\6N."), ERR_MALFORMED, 1000, "protocol 6" },
        { BYTES("X\1\0\0\0\xff."), ERR_MALFORMED, 1000, "not UTF-8" },
        { BYTES("U\3\xed\xa0\x80."), ERR_MALFORMED, 1000, "not UTF-8" },
        { BYTES("X\2\0\0\0\xc0\x80."), ERR_MALFORMED, 1000, "not UTF-8" },
        { BYTES("h\1."), ERR_MALFORMED, 1000, "memo entry 1" }, { BYTES("."), ERR_MALFORMED, 1000, "0 values" },
        { BYTES("0."), ERR_MALFORMED, 1000, "POP" }, { BYTES("Nt."), ERR_MALFORMED, 1001, "no MARK" },
        { BYTES("}(NNNu."), ERR_MALFORMED, 1005, "odd number of values (3)" }, { BYTES("N(."), ERR_MALFORMED, 1002, "STOP" },
        { BYTES("N(\x85."), ERR_MALFORMED, 1002, "TUPLE1" }, { BYTES("N(R."), ERR_MALFORMED, 1002, "REDUCE" },
        { BYTES("}]Ns."), ERR_MALFORMED, 1003, "a list as a dictionary key" }, { BYTES("}]\x85Ns."), ERR_MALFORMED, 1004, "a list as a dictionary key" },
        { BYTES("\x8f(}\x90."), ERR_MALFORMED, 1003, "a dictionary as a dictionary key or in a set" },
        { BYTES("}G\x7f\xf8\0\0\0\0\0\0Ns."), ERR_UNSUPPORTED, 1011, "not a number" },
        { BYTES("c_codecs\nencode\nX\3\0\0\0\xe2\x82\xacX\6\0\0\0latin1\x86R."), ERR_MALFORMED, 1036, "Latin-1" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct outcome o = run(rows[i].p, rows[i].n, &limits_default);
        char what[ERR_TEXT + 100];
        snprintf(what, sizeof what, "row %zu: %s at %" PRIu64 ": %s", i, err_kind_name(o.err.kind), o.err.at, o.err.text);
        CHECK_ROW(o.err.kind == rows[i].kind && o.err.at == rows[i].at && strstr(o.err.text, rows[i].word), what);
    }
}

/* Runs `before`, the same bytes n times, and `after`. */
static struct outcome
run_many(const char *before, const uint8_t *p, size_t len, size_t n, const char *after, const struct limits *limits)
{
    struct str s = { 0 };
    str_text(&s, before);
    for (size_t i = 0; i < n; i++)
        str_add(&s, (const char *)p, len);
    str_text(&s, after);
    struct outcome o = run((const uint8_t *)s.p, s.len, limits);
    str_clear(&s);
    return o;
}

static void
test_limits(void)
{
    struct limits small = limits_default;
    const struct pickle_limits low = { .heap = 1 << 20, .ops = 100000 };
    CHECK(run_many("N", BYTES("\x85"), 256, ".", &limits_default).err.kind == ERR_NONE);
    CHECK(run_many("N", BYTES("\x85"), 257, ".", &limits_default).err.kind == ERR_LIMIT);
    CHECK(run_many("N", BYTES("Q"), 100000, ".", &limits_default).err.kind == ERR_LIMIT);
    CHECK(run_many("", BYTES("("), 256, "N.", &limits_default).err.kind == ERR_NONE);
    CHECK(run_many("", BYTES("("), 257, "N.", &limits_default).err.kind == ERR_LIMIT);
    own_limits = &low;
    CHECK(run_many("", BYTES("N"), 50000, ".", &limits_default).err.kind == ERR_LIMIT);
    CHECK(run_many("", BYTES("N0"), 100000, "N.", &limits_default).err.kind == ERR_LIMIT);
    CHECK(run_many("]q", BYTES("\0h\0a0h\0"), 0, "", &limits_default).err.kind == ERR_MALFORMED);
    CHECK(strstr(run_many("]", BYTES("Na"), 30000, ".", &limits_default).err.text, "pickle_heap"));
    CHECK(run_many("}", BYTES("C\1xNs"), 20000, ".", &limits_default).err.kind == ERR_LIMIT);
    own_limits = NULL;
    CHECK(run_many("Nq0(", BYTES("h0h0\x86q0"), 100, "t.", &limits_default).err.kind == ERR_NONE);        /* shared objects are not visited again */
    small.total = 1 << 16;
    CHECK(strstr(run_many("", BYTES("N"), 50000, ".", &small).err.text, "--max-total"));

    struct outcome o = run_many("c", BYTES("evil"), 5000, "\nname\n.", &limits_default);
    CHECK(o.err.kind == ERR_UNSAFE && strlen(o.err.text) < 300 && strstr(o.err.text, "... (19952 bytes more)"));
    CHECK(run_many("c", BYTES("evil"), 20000, "\nname\n.", &limits_default).err.kind == ERR_LIMIT);
}

/* Every truncation of a pickle is malformed, and none is read past its end. */
static void
test_cuts(void)
{
    static const uint8_t pickle[] = "\x80\2}q\0(X\1\0\0\0aq\1K\1\x8a\1\5G\0\0\0\0\0\0\0\0ctorch\nSize\nK\1K\2\x86\x85RNu.";
    for (size_t n = 0; n < sizeof pickle - 1; n++)
        CHECK(run(pickle, n, &limits_default).err.kind == ERR_MALFORMED);
    CHECK(run(pickle, sizeof pickle - 1, &limits_default).err.kind == ERR_NONE);
}

int
main(void)
{
    test_table();
    test_steps();
    test_length();
    test_names();
    test_values();
    test_refusals();
    test_limits();
    test_cuts();
    return check_done("pickle");
}
