/* The scan of pickles: every opcode leaves the stack as Python's machine does, so that a name after it is found; the tables
 * of dangerous names are sorted, and everything on the allowlist is allowed. */
#include "check.h"

#include <string.h>

#include "container/torch/pickle_globals.h"
#include "container/torch/pickle_ops.h"
#include "scan/pickle_scan.h"

struct bytes {
    const uint8_t *p;
    size_t n;
};

/* One byte at a time. */
static bool
some(void *of, uint8_t *buf, size_t n, size_t *got, struct err *err)
{
    struct bytes *b = of;
    (void)err;
    *got = n != 0 && b->n != 0;
    if (*got != 0) {
        *buf = *b->p++;
        b->n--;
    }
    return true;
}

static bool
scan(struct pickle_scan *out, struct window *w, struct bytes *b)
{
    struct err err;
    err_init(&err);
    *w = (struct window){ .some = some, .of = b, .max = 1 << 20 };
    return pickle_scan(out, w, &err) && err.kind == ERR_NONE;
}

/* Runs `before` between "os" and "system" on the stack and a STACK_GLOBAL. `before` must leave `left` values above these
 * two; once these are dropped, STACK_GLOBAL must find os.system. */
static bool
leaves(const char *before, size_t n, int left)
{
    static const char first[] = "\x80\x04X\2\0\0\0osX\6\0\0\0system", end[] = "\x93.";
    uint8_t text[256];
    size_t at = 0;
    memcpy(text, first, sizeof first - 1);
    at += sizeof first - 1;
    memcpy(text + at, before, n);
    at += n;
    for (int i = 0; i < left; i++)
        text[at++] = OP_POP;
    memcpy(text + at, end, 2);
    at += 2;

    struct bytes b = { text, at };
    struct window w;
    struct pickle_scan s;
    bool ok = scan(&s, &w, &b) && s.stopped && s.length == at && s.nfindings != 0;
    const struct pickle_finding *f = ok ? &s.finding[s.nfindings - 1] : NULL;
    ok = ok && f->module && f->module_len == 2 && memcmp(f->module, "os", 2) == 0 && f->name && f->name_len == 6
        && f->verdict == VERDICT_DANGEROUS && s.odd[ODD_UNDERFLOW].count == 0 && s.odd[ODD_NO_MARK].count == 0;
    pickle_scan_clear(&s);
    window_clear(&w);
    return ok;
}

static void
test_opcodes(void)
{
#define ROW(text, left) { text, sizeof text - 1, left }
    static const struct { const char *text; size_t n; int left; } rows[] = {
        ROW("(", 1), ROW(")", 1), ROW("N0", 0), ROW("(NN1", 0), ROW("N2", 2), ROW("B\1\0\0\0x", 1), ROW("C\1x", 1),
        ROW("F1.5\n", 1), ROW("G\1\2\3\4\5\6\7\x08", 1), ROW("I01\n", 1), ROW("J\1\2\3\4", 1), ROW("K\1", 1),
        ROW("L12L\n", 1), ROW("M\1\2", 1), ROW("N", 1), ROW("Pid\n", 1), ROW("NQ", 1), ROW("N)R", 1), ROW("S'x'\n", 1),
        ROW("T\1\0\0\0x", 1), ROW("U\1x", 1), ROW("Vx\n", 1), ROW("X\1\0\0\0x", 1), ROW("]", 1), ROW("]Na", 1),
        ROW("N}b", 1), ROW("cm\nn\n", 1), ROW("(NNd", 1), ROW("](NNe", 1), ROW("Nq\1g1\n", 2), ROW("Nq\1h\1", 2),
        ROW("(Nim\nn\n", 1), ROW("Nq\1j\1\0\0\0", 2), ROW("(NNl", 1), ROW("(NNo", 1), ROW("Np1\n", 1), ROW("Nq\1", 1),
        ROW("Nr\1\0\0\0", 1), ROW("}NNs", 1), ROW("(NNt", 1), ROW("}(NNu", 1), ROW("}", 1), ROW("\x80\4", 0),
        ROW("N)\x81", 1), ROW("\x82\1", 1), ROW("\x83\1\2", 1), ROW("\x84\1\2\3\4", 1), ROW("N\x85", 1),
        ROW("NN\x86", 1), ROW("NNN\x87", 1), ROW("\x88", 1), ROW("\x89", 1), ROW("\x8A\1x", 1), ROW("\x8B\1\0\0\0x", 1),
        ROW("\x8C\1x", 1), ROW("\x8D\1\0\0\0\0\0\0\0x", 1), ROW("\x8E\1\0\0\0\0\0\0\0x", 1), ROW("\x8F", 1),
        ROW("\x8F(NN\x90", 1), ROW("(NN\x91", 1), ROW("N)}\x92", 1), ROW("\x8C\1x\x8C\1y\x93", 1), ROW("N\x94", 1),
        ROW("\x95\1\0\0\0\0\0\0\0", 0), ROW("\x96\1\0\0\0\0\0\0\0x", 1), ROW("\x97", 1), ROW("\x97\x98", 1),
    };
#undef ROW
    bool seen[256] = { [OP_STOP] = true };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_ROW(leaves(rows[i].text, rows[i].n, rows[i].left), rows[i].text);
        struct pickle_step step;
        for (size_t at = 0; at < rows[i].n; at += step.size)
            if (CHECK(pickle_op_next(&step, (const uint8_t *)rows[i].text + at, rows[i].n - at) == STEP_WHOLE))
                seen[step.byte] = true;
    }
    for (unsigned byte = 0; byte < 256; byte++)
        if (pickle_op((uint8_t)byte)->name)
            CHECK_ROW(seen[byte], pickle_op((uint8_t)byte)->name);
}

static void
test_tables(void)
{
    for (size_t i = 1; dangerous_module(i); i++)
        CHECK_ROW(strcmp(dangerous_module(i - 1), dangerous_module(i)) < 0, dangerous_module(i));
    for (size_t i = 1; dangerous_old_module(i); i++)
        CHECK_ROW(strcmp(dangerous_old_module(i - 1), dangerous_old_module(i)) < 0, dangerous_old_module(i));
    const char *why;
    for (size_t i = 0; dangerous_module(i); i++) {
        const uint8_t *module = (const uint8_t *)dangerous_module(i);
        size_t n = strlen(dangerous_module(i));
        CHECK_ROW(dangerous_verdict(&why, module, n, (const uint8_t *)"run", 3) == VERDICT_DANGEROUS, dangerous_module(i));
    }
}

static void
test_allowed(void)
{
    char buf[PICKLE_GLOBAL_NAME];
    const char *why;
    for (size_t i = 0; i < PICKLE_GLOBALS; i++) {
        const char *path = pickle_global_name(buf, i), *dot = strrchr(path, '.');
        CHECK_ROW(dangerous_verdict(&why, (const uint8_t *)path, (size_t)(dot - path), (const uint8_t *)dot + 1,
            strlen(dot + 1)) == VERDICT_ALLOWED && !why, path);
    }
    static const char *const numpy[][2] = { { "numpy", "dtype" }, { "numpy", "ndarray" },
        { "numpy.core.multiarray", "_reconstruct" }, { "numpy._core.multiarray", "scalar" },
        { "numpy._core.numeric", "_frombuffer" } };
    for (size_t i = 0; i < sizeof numpy / sizeof *numpy; i++)
        CHECK_ROW(dangerous_verdict(&why, (const uint8_t *)numpy[i][0], strlen(numpy[i][0]), (const uint8_t *)numpy[i][1],
            strlen(numpy[i][1])) == VERDICT_ALLOWED && !why, numpy[i][1]);
}

static void
test_verdicts(void)
{
    static const struct { const char *module, *name; enum verdict verdict; } rows[] = {
        { "os", "system", VERDICT_DANGEROUS }, { "os.path", "join", VERDICT_DANGEROUS },
        { "osmium", "x", VERDICT_SUSPICIOUS }, { "my.os", "x", VERDICT_DANGEROUS }, { "torch", "load", VERDICT_DANGEROUS },
        { "torch", "loads", VERDICT_SUSPICIOUS }, { "torch.hub", "load", VERDICT_DANGEROUS },
        { "torch", "hub.load", VERDICT_DANGEROUS }, { "io", "open", VERDICT_DANGEROUS },
        { "io", "BytesIO", VERDICT_SUSPICIOUS }, { "builtins", "eval", VERDICT_DANGEROUS },
        { "builtins", "list", VERDICT_SUSPICIOUS }, { "builtins", "list.append", VERDICT_DANGEROUS },
        { "__builtin__", "unicode", VERDICT_SUSPICIOUS }, { "builtins", "getattr", VERDICT_DANGEROUS },
        { "exceptions", "ValueError", VERDICT_DANGEROUS }, { "cStringIO", "StringIO", VERDICT_SUSPICIOUS },
        { "urlparse", "urlparse", VERDICT_DANGEROUS }, { "numpy", "load", VERDICT_SUSPICIOUS },
        { "numpy.f2py", "x", VERDICT_DANGEROUS }, { "a", "b.__globals__", VERDICT_DANGEROUS },
        { "a", "__init__", VERDICT_SUSPICIOUS }, { "", "x", VERDICT_DANGEROUS }, { "x", "", VERDICT_DANGEROUS },
        { "a\xC2\x9B", "x", VERDICT_DANGEROUS }, { "\xFF", "x", VERDICT_DANGEROUS },
    };
    const char *why;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_ROW(dangerous_verdict(&why, (const uint8_t *)rows[i].module, strlen(rows[i].module),
            (const uint8_t *)rows[i].name, strlen(rows[i].name)) == rows[i].verdict && why, rows[i].name);
}

int
main(void)
{
    test_opcodes();
    test_tables();
    test_allowed();
    test_verdicts();
    return check_done("pickle_scan");
}
