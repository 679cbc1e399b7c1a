/* Pickles: the opcodes, the names that are allowed, and the machine. */
#include "check.h"

#include <string.h>

#include "container/pickle_globals.h"
#include "container/pickle_ops.h"

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

int
main(void)
{
    test_table();
    test_steps();
    test_length();
    test_names();
    return check_done("pickle");
}
