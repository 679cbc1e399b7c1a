/* writer/meta_text: every value of GGUF keeps its bytes when converted to text and back. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "check.h"
#include "writer/meta_text.h"

/* --- random values in the encoding of GGUF */

static uint64_t state = 12;

static uint32_t
draw(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static void
put(struct str *s, uint64_t v, size_t nbytes)
{
    uint8_t bytes[8];
    store_le64(bytes, v);
    str_add(s, (const char *)bytes, nbytes);
}

/* Numbers at the limits of their types, and in between; NaN of all kinds. */
static void
put_number(struct str *s, size_t size)
{
    static const uint64_t ends[] = { 0, 1, UINT64_MAX, UINT64_MAX / 2, UINT64_MAX / 2 + 1, 0x7F800000, 0x7FC00000, 0xFF800001,
        UINT64_C(0x7FF) << 52, (UINT64_C(0x7FF) << 52) + 1, UINT64_C(0xFFF8) << 48, 0x80000000, 0x7FFFFFFF, 0x3F800000 };
    uint64_t v = 0;
    for (int i = 0; i < 4; i++)
        v = v << 16 | draw(65536);
    put(s, draw(3) ? v >> draw(64) : ends[draw(sizeof ends / sizeof *ends)], size);
}

static void
put_string(struct str *s)
{
    static const char *const some[] = { "", "a", "\xC3\xA9", "\\", "\"", "\n", "NaN", "\\x41", "\xFF", "\xC3", "\xF0\x90\x8D\x88",
        "\x7F", "1" };
    struct str text = { 0 };
    for (uint32_t n = draw(6); n > 0; n--)
        str_text(&text, some[draw(draw(3) ? 8 : sizeof some / sizeof *some)]);
    if (draw(4) == 0)
        str_add(&text, "", 1);          /* NUL */
    put(s, text.len, 8);
    str_add(s, text.p ? text.p : "", text.len);
    str_clear(&text);
}

static void
put_value(struct str *s, enum meta_type type, unsigned depth)
{
    if (type == META_STRING) {
        put_string(s);
    } else if (type == META_BOOL) {
        put(s, draw(2), 1);
    } else if (type != META_ARRAY) {
        put_number(s, meta_type_size(type));
    } else {
        enum meta_type of = (enum meta_type)draw(META_TYPES);
        of = of == META_ARRAY && depth == 1 ? META_STRING : of;
        uint32_t n = draw(5);
        put(s, of, 4);
        put(s, n, 8);
        while (n-- > 0)
            put_value(s, of, depth - 1);
    }
}

static bool
comes_back(const struct str *raw, enum meta_type type)
{
    struct meta_value value, again;
    struct str text = { 0 }, name = { 0 }, bytes = { 0 };
    uint64_t used;
    const char *why = NULL;
    bool ok = meta_decode(&value, type, (const uint8_t *)raw->p, raw->len, false, 4, &used) && used == raw->len;
    meta_text(&text, &value);
    meta_text_type(&name, &value);
    ok = ok && str_is_utf8(text.p ? text.p : "", text.len)
        && meta_read_text(&again, &bytes, name.p, text.p ? text.p : "", text.len, &why)
        && again.type == type && bytes.len == raw->len && memcmp(bytes.p, raw->p, raw->len) == 0;
    if (!ok)
        printf("%s: %.*s: %s\n", name.p, (int)text.len, text.p ? text.p : "", why ? why : "other bytes");
    str_clear(&text);
    str_clear(&name);
    str_clear(&bytes);
    return ok;
}

static void
test_random(void)
{
    for (int i = 0; i < 200000; i++) {
        enum meta_type type = draw(3) ? (enum meta_type)draw(META_TYPES) : META_ARRAY;
        struct str raw = { 0 };
        put_value(&raw, type, 4);
        bool ok = comes_back(&raw, type);
        str_clear(&raw);
        if (!CHECK(ok))
            return;
    }
}

/* --- words */

static void
test_words(void)
{
    static const struct { const char *type, *text; bool ok; } rows[] = {
        { "u8", "255", true },          { "u8", "256", false },         { "u8", "-0", true },       { "u8", "", false },
        { "i8", "-128", true },         { "i8", "-129", false },        { "i8", "128", false },     { "u8", " 1 ", true },
        { "i64", "-9223372036854775808", true },    { "i64", "9223372036854775808", false },
        { "u64", "18446744073709551615", true },    { "u64", "18446744073709551616", false },
        { "f32", "1e38", true },        { "f32", "1e39", false },       { "f32", "1", true },       { "f32", "\"NaN\"", false },
        { "f32", "\"NaN(7f800001)\"", true },       { "f32", "\"NaN(7f800000)\"", false },
        { "f64", "\"NaN(7ff0000000000001)\"", true }, { "f64", "\"NaN(7f800001)\"", false }, { "f64", "-Infinity", true },
        { "bool", "true", true },       { "bool", "1", false },         { "str", "\\", true },      { "strx", "\\", false },
        { "strx", "\\xff\\\\", true },  { "strx", "\\xf", false },      { "strx", "\\xFF", false }, { "strx", "", true },
        { "[u8]", "[]", true },         { "[]", "[]", true },           { "[]", "[[]]", false },    { "[[u8]]", "[[],[1]]", true },
        { "[[u8],[str]]", "[[1],[\"a\"]]", true },  { "[[u8],[str]]", "[[1]]", false },
        { "[[u8],[str]]", "[[1],[\"a\"],[\"b\"]]", false },     { "[u8,u8]", "[1,1]", false },  { "[[u8],u8]", "[[1],1]", false },
        { "[[[[u8]]]]", "[[[[1]]]]", true },        { "[[[[[u8]]]]]", "[]", false },            { "[u8", "[1]", false },
        { "u8]", "1", false },          { "", "1", false },             { "arr", "[]", false },     { "[u8]", "[1]x", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct meta_value value;
        struct str bytes = { 0 };
        const char *why = NULL;
        bool ok = meta_read_text(&value, &bytes, rows[i].type, rows[i].text, strlen(rows[i].text), &why);
        if (!CHECK(ok == rows[i].ok && (ok || why)))
            printf("%s %s\n", rows[i].type, rows[i].text);
        str_clear(&bytes);
    }
}

/* Text has a limit, which is reported differently from an invalid value. */
static void
test_ceiling(void)
{
    struct meta_value value;
    struct str bytes = { .max = 100 };
    const char *why = "";
    CHECK(!meta_read_text(&value, &bytes, "[u64]", "[1,2,3,4,5,6,7,8,9,10,11,12]", 28, &why) && !why && bytes.full);
    str_clear(&bytes);
}

int
main(void)
{
    test_random();
    test_words();
    test_ceiling();
    return check_done("meta_text");
}
