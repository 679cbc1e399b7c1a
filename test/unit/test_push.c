/* base/push: JSON texts, numbers as their shortest decimals. */
#include <math.h>
#include <string.h>

#include "base/push.h"
#include "check.h"

static void
test_members(void)
{
    struct str out = { 0 };
    struct push json = { .out = &out };
    push_object(&json);
    push_key(&json, "a");
    push_array(&json);
    push_end(&json);
    push_name(&json, "b\"\xC3\xA9", 4);
    push_array(&json);
    push_u64(&json, UINT64_MAX);
    push_i64(&json, -1);
    push_object(&json);
    push_end(&json);
    push_null(&json);
    push_end(&json);
    push_key(&json, "c");
    push_bool(&json, true);
    push_end(&json);
    CHECK(strcmp(out.p, "{\n  \"a\": [],\n  \"b\\\"\xC3\xA9\": [\n    18446744073709551615,\n    -1,\n    {},\n    null\n  ],\n  \"c\": true\n}\n")
        == 0);
    str_clear(&out);
}

static void
check_real(double x, const char *want)
{
    struct str out = { 0 };
    push_real(&(struct push){ .out = &out }, x);
    CHECK_ROW(strcmp(out.p, want) == 0, want);
    str_clear(&out);
}

static void
test_numbers(void)
{
    check_real(10000, "10000.0");
    check_real(0, "0.0");
    check_real(-0.5, "-0.5");
    check_real(1e-05, "1e-05");
    check_real(1e16, "1e+16");
    check_real(0.1, "0.1");
    check_real(1.0 / 3, "0.3333333333333333");
    check_real(INFINITY, "Infinity");
    check_real(NAN, "NaN");
    CHECK(push_real_of(0.1F) == 0.1);
    CHECK(push_real_of(9.99999974e-06F) == 1e-05);
    CHECK(push_real_of(16777216.0F) == 16777216.0);
    CHECK(push_real_of(3.40282347e+38F) == 3.4028235e+38);
    CHECK((float)push_real_of(1e-45F) == 1e-45F);
}

static void
test_values(void)
{
    struct str out = { 0 };
    struct push json = { .out = &out };
    json_t *value = json_loads("{\"z\": [1, 2.0], \"a\": {\"y\": null, \"b\": false}, \"s\": \"x\\u0000\"}", JSON_ALLOW_NUL, NULL);
    push_value(&json, value);
    CHECK(strcmp(out.p, "{\n  \"a\": {\n    \"b\": false,\n    \"y\": null\n  },\n  \"s\": \"x\\u0000\",\n  \"z\": [\n    1,\n    2.0\n  ]\n}\n")
        == 0);
    json_decref(value);
    str_clear(&out);
}

static void
test_depth(void)
{
    struct str out = { 0 };
    struct push json = { .out = &out };
    for (size_t i = 0; i < PUSH_DEPTH_MAX + 2; i++)
        push_array(&json);
    CHECK(out.failed);
    str_clear(&out);
    out = (struct str){ .max = 4 };
    json = (struct push){ .out = &out };
    push_text(&json, "too long");
    CHECK(out.failed && out.full);
    str_clear(&out);
}

int
main(void)
{
    test_members();
    test_numbers();
    test_values();
    test_depth();
    return check_done("push");
}
