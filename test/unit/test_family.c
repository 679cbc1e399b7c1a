/* family: all built-in families, expressions, and each error of a family file with its line. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "family/builtin.h"
#include "family/pattern.h"
#include "family/scope.h"

/* --- the built-in families */

static void
test_builtin(void)
{
    const char *name;
    size_t n = 0;
    for (; (name = family_name_at(n)) != NULL; n++) {
        struct model_family *family;
        struct err err;
        err_init(&err);
        CHECK_ROW(family_builtin(&family, name, &err), err.text);
        CHECK_ROW(family && strcmp(family->name, name) == 0, name);
        CHECK_ROW(family && (family->image ? family->image->detect.n : family->rows.n ? family->keys.n : family->refuses.n) != 0, name);
        for (size_t i = 0; family && i < family->classes.n; i++) {
            struct model_family *again;
            const char *class = family->classes.at[i];
            CHECK_ROW(family_of_class(&again, family_builtin_kind(name), class, strlen(class), &err) && again && strcmp(again->name, name) == 0, class);
            family_free(again);
        }
        family_free(family);
    }
    CHECK(n >= 36);
}

static void
test_llama(void)
{
    struct model_family *family;
    struct err err;
    err_init(&err);
    if (!CHECK(family_builtin(&family, "qwen3_5", &err)))
        return;
    const struct family_row *row = NULL;
    for (size_t i = 0; i < family->rows.n; i++)
        if (strstr(family->rows.at[i].hf, "linear_attn.conv1d.weight"))
            row = &family->rows.at[i];
    if (CHECK(row && row->nparts == 2 && row->part[0].n == 3 && row->part[1].n == 3)) {
        const struct verb *order = &row->part[1].verb[2];
        CHECK(row->layered && !row->stacks && row->nshift == 1 && !row->kept);
        CHECK(order->kind == VERB_ORDER && order->nargs == 4 && order->perm[0] == 1 && order->perm[1] == 0
            && order->perm[2] == 2);
        CHECK(row->part[0].verb[0].kind == VERB_MERGE && row->part[0].verb[0].arg[1] == NULL);
        CHECK(strcmp(expr_text(row->part[0].verb[1].arg[2]), "2*K*dk") == 0);
    }
    family_free(family);
}

/* --- expressions */

static const struct {
    const char *text, *value;
} values[] = {
    { "1 + 2 * 3", "7" }, { "(1 + 2) * 3", "9" }, { "7 // 2", "3" }, { "-7 // 2", "-4" }, { "-7 % 3", "2" }, { "7 / 2", "3.5" },
    { "4 / 2", "2" }, { "1 / 0", "null" }, { "none ?? 5", "5" }, { "none + 1", "null" }, { "none < 1", "null" },
    { "null == none", "true" }, { "1 == 1.0", "true" }, { "\"a\" == \"a\"", "true" }, { "0 || \"x\"", "\"x\"" },
    { "2 && 3", "3" }, { "0 && 3", "0" }, { "!0", "true" }, { "![1]", NULL }, { "len(\"M*E\")", "3" }, { "pattern[1]",
        "\"*\"" },
    { "pattern[9]", "null" }, { "kinds[b]", "\"two\"" }, { "len(numbered[3])", "1" }, { "kinds[0] == \"one\" ? 1 : 2", "1" },
    { "index(kinds, \"two\")", "1" }, { "index(kinds, \"no\")", "2" }, { "max(list(1, 4, 2))", "4" }, { "max(3)", "3" },
    { "int(2.9)", "2" }, { "int(-2.9)", "-2" }, { "round(2.5)", "3" }, { "sqrt(16)", "4" }, { "pow(2, 10)", "1024" },
    { "log(1)", "0" }, { "twice", "16" }, { "rope.rope_type", "\"yarn\"" }, { "rope.no", "null" }, { "layers", "8" },
    { "main", "8" }, { "b", "1" }, { "class", "\"X\"" }, { "mtp", "true" }, { "has(\"no\")", "false" }, { "dim(\"no\", 1)",
        "null" }, { "mean(\"no\")", "null" },
    { "1 + 1 == 2 && 3 > 2", "true" }, { "1e-2", "0.01" }, { "wide.deep.x", "1" }, { "none[0]", "null" }, { "1 - 2 - 3", "-4" },
};

static const char family_text[] = "family t\nclass X\narch t\nvocab bpe\nlet twice = 2 * layers\n";

static bool
has_value(const char *text, const char *expected, struct scope *scope)
{
    struct expr *e;
    struct err err;
    json_t *value = NULL;
    err_init(&err);
    bool ok = expr_parse(&e, text, strlen(text), "t:1", &err) && expr_value(&value, e, scope, 1, &err);
    char *found = ok ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    bool same = expected ? found && strcmp(found, expected) == 0 : !ok;
    if (!same)
        printf("%s: %s %s\n", text, found ? found : "", err.text);
    free(found);
    json_decref(value);
    expr_free(e);
    return same;
}

static void
test_values(void)
{
    struct model_family *family;
    struct err err;
    err_init(&err);
    if (!CHECK(family_read(&family, "t", family_text, strlen(family_text), NULL, NULL, &err)))
        return;
    json_t *config = json_pack("{s:i,s:s,s:[s,s],s:{s:{s:i}},s:{s:{s:i}}}", "num_hidden_layers", 8, "pattern", "M*E", "kinds",
        "one",
        "two", "numbered", "03", "x", 5, "wide", "deep", "x", 1);
    json_t *rope = json_pack("{s:s}", "rope_type", "yarn");
    struct scope scope = { .family = family, .class = "X", .config = config, .rope = rope, .mtp = true };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        CHECK_ROW(has_value(values[i].text, values[i].value, &scope), values[i].text);
    json_decref(config);
    json_decref(rope);
    family_free(family);
}

/* --- errors: the text after the four lines that a family needs, and a part of the message */

static const struct {
    const char *text, *message;
} errors[] = {
    { "nonsense", "t:5: found 'nonsense', expected a statement" },
    { "tensor a b turn 1", "t:5: found 'turn', expected a verb" },
    { "tensor a b view 0", "t:5: found 1 arguments of 'view', expected at least 3" },
    { "tensor a b |", "expected a verb" },
    { "tensor a b f32 |", "expected a verb after it" },
    { "key k u32 sine(1)", "t:5: found 'sine(1)', expected the name of a function" },
    { "key k u16 1", "t:5: found 'u16', expected the type" },
    { "key k u32 int(1, 2)", "t:5: found 2 arguments of int(), expected 1 to 1" },
    { "key k u32", "t:5: found the end of the line, expected an expression" },
    { "key k u32 each 1", "expected a type in brackets" },
    { "hf A", "t:5: found 1 arguments of 'hf', expected 2" },
    { "key k u32 1 2", "t:5: found '2', expected an operator" },
    { "key k str \"abc", "expected a string that ends with a double quote" },
    { "key k u32 (1", "expected ')'" },
    { "key k u32 a[1", "expected ']'" },
    { "key k u32 a ? 1", "expected ':'" },
    { "key k u32 1 < 2 < 3", "expected parentheses around a comparison" },
    { "let a = a + 1", "t:5: found 'a', expected a let that does not refer to itself" },
    { "let a = c\nlet c = a", "expected a let that does not refer to itself" },
    { "let rope = 1", "t:5: found 'rope', expected a name that is not built in" },
    { "let b = 1", "expected a name that is not built in" },
    { "let a 1 2", "expected '='" },
    { "family u", "expected only one statement 'family'" },
    { "arch u", "expected only one statement 'arch'" },
    { "tensor a b\ntensor a b", "t:6: found 'b', expected one row for the same two names" },
    { "tensor a blk.{b}.x", "t:5: found 'blk.{b}.x', expected no {b} that the HF name lacks" },
    { "tensor a.{x} b.{x}", "expected no {x} in a GGUF name" },
    { "tensor a.{y} b", "expected no braces except {b} and one {x}" },
    { "tensor a.* b.weight", "expected '.*' at the end of both names" },
    { "tensor a b view 0 2 * | part 1 0 1\ntensor a c view 0 4 * | part 1 0 1",
        "t:6: found 'a', expected the same verbs before" },
    { "tensor a b part 0 0 1 ; f32", "expected the verb 'part'" },
    { "tensor a b order 0 2 3 : 0 0", "t:5: found '0', expected a permutation" },
    { "tensor a b order 0 2 3 : 0", "found 1 numbers after ':', expected 2" },
    { "tensor a b order 0 2 3", "expected ':'" },
    { "tensor a b by \"c\" | f32", "t:5: found 'by', expected it as the last verb of a row without {x} and with one part" },
    { "tensor a.{x} b by \"c\"", "expected it as the last verb of a row without {x}" },
    { "tensor a b view 0 * *", "expected only one '*'" },
    { "include _none", "t:5: found '_none', expected the name of a fragment that exists" },
    { "include none", "expected the name of a fragment, which begins with '_'" },
    { "include _self", "_self.family:1: found '_self', expected a fragment that does not include itself" },
    { "vocab words", "t:5: found 'words', expected spm" },
    { "make a b", "expected llama3" },
    { "refuse true no", "expected a string in double quotes" },
    { "const a {", "expected a JSON value" },
    { "rope when true", "expected the end of the statement" },
    { "drop a.{x}", "expected no braces except {b}" },
};

static bool
include(void *of, const char *name, const char **text, size_t *n, struct err *err)
{
    static const char self[] = "include _self\n";
    (void)of;
    (void)err;
    *text = strcmp(name, "_self") == 0 ? self : NULL;
    *n = strlen(self);
    return true;
}

static void
test_error(const char *text, const char *message)
{
    struct model_family *family;
    struct err err;
    err_init(&err);
    bool ok = family_read(&family, "t", text, strlen(text), include, NULL, &err);
    if (!CHECK_ROW(!ok && !family && err.kind == ERR_MALFORMED && strstr(err.text, message), message))
        printf("  found: %s\n", err.text);
    family_free(family);
}

static void
test_errors(void)
{
    char text[512];
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        snprintf(text, sizeof text, "family t\r\nclass X  # first\narch t\nvocab bpe\n%s\n", errors[i].text);
        test_error(text, errors[i].message);
    }
    test_error("class X\n", "t:1: found 'class', expected the statement 'family' first");
    test_error("family t\narch t\nvocab bpe\n", "t:3: found the end of the file, expected the statement 'class'");
    test_error("family t\nclass X\narch t\n", "expected the statement 'vocab'");
    test_error("family t\nclass X\nvocab bpe\n", "expected the statement 'arch'");
    test_error("", "expected the statement 'family'");
    test_error("family \xff\n", "t:1: found bytes that are not UTF-8");
}

/* Texts cut anywhere, and with a byte changed, end without a fault. */
static void
test_broken(void)
{
    for (size_t i = 0; i < family_text_files_n; i++) {
        const struct family_text_file *file = &family_text_files[i];
        for (size_t cut = 0; cut < file->n; cut += 97) {
            struct model_family *family;
            struct err err;
            char *text = malloc(file->n + 1);
            memcpy(text, file->text, file->n + 1);
            text[cut] = "\"{}|;:*#$@ \n"[cut % 12];
            err_init(&err);
            CHECK(family_read(&family, file->name, text, cut % 2 != 0 ? cut : file->n, include, NULL,
                &err) == (family != NULL));
            family_free(family);
            free(text);
        }
    }
}

static void
test_limits(void)
{
    struct str text = { 0 };
    struct expr *e;
    struct err err;
    for (int i = 0; i < 2000; i++)
        str_text(&text, "(");
    err_init(&err);
    CHECK(!expr_parse(&e, text.p, text.len, "t:1", &err) && err.kind == ERR_MALFORMED);
    str_clear(&text);
    str_text(&text, "1");
    for (int i = 0; i < 1000; i++)
        str_text(&text, "+1");
    err_init(&err);
    CHECK(!expr_parse(&e, text.p, text.len, "t:1", &err) && err.kind == ERR_MALFORMED);
    str_clear(&text);
}

static void
test_patterns(void)
{
    uint64_t b = 0;
    CHECK(pattern_matches("model.layers.{b}.*", "model.layers.12.x.y", 19, &b) && b == 12);
    CHECK(!pattern_matches("model.layers.{b}.*", "model.layers.x.y", 16, &b));
    CHECK(pattern_matches("*.bias", "a.b.bias", 8, &b));
    CHECK(!pattern_matches("*.bias", "a.b.bias2", 9, &b));
    CHECK(pattern_matches("", "", 0, &b) && !pattern_matches("", "a", 1, &b) && pattern_matches("*", "", 0, &b));
    CHECK(!pattern_matches("{b}", "99999999999999999999999", 23, &b));
}

int
main(void)
{
    test_builtin();
    test_llama();
    test_values();
    test_errors();
    test_broken();
    test_limits();
    test_patterns();
    return check_done("family");
}
