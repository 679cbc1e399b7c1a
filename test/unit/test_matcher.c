/* matcher: against Python's re and fnmatch, unsupported patterns, and bounds on time and memory. */
#include <stdlib.h>
#include <string.h>

#include "base/matcher.h"
#include "check.h"
#include "matcher_expected.h"

static uint64_t steps = UINT64_MAX;

static void
test_expected(void)
{
    for (size_t i = 0; i < sizeof expected_matches / sizeof *expected_matches; i++) {
        const char *text = expected_matches[i].pattern;
        bool glob = expected_matches[i].glob;
        struct matcher m;
        bool known = matcher_read(&m, text, strlen(text), glob);
        uint32_t names = 0;
        for (size_t n = 0; known && n < sizeof expected_names / sizeof *expected_names; n++)
            names |= (uint32_t)matcher_match(&m, expected_names[n], strlen(expected_names[n]), &steps) << n;
        CHECK_ROW(known && names == expected_matches[i].names, text);
    }
}

/* Unknown or truncated syntax is refused, never taken for something similar. */
static void
test_refused(void)
{
    static const char *const rows[] = {
        "(?!x)a", "(?=a)", "(?P<n>a)", "(?i)a", "a{2}", "a{", "}", "\\b", "\\1", "\\A", "\\n", "\\", "(", ")", "(a", "a)", "[",
        "[a", "[b-a]", "[\\", "*", "+a", "?", "a**", "(*a)", "a|*", "[a-\\d]",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct matcher m;
        CHECK_ROW(!matcher_read(&m, rows[i], strlen(rows[i]), false), rows[i]);
    }
    struct matcher m;
    CHECK(!matcher_read(&m, "[a", 2, true));
    CHECK(matcher_read(&m, "", 0, true) && matcher_match(&m, "", 0, &steps) && !matcher_match(&m, "a", 1, &steps));
}

static void
test_bounds(void)
{
    enum { LONG = 100000 };
    static char text[LONG];
    struct matcher m;
    memset(text, 'a', sizeof text);
    CHECK(!matcher_read(&m, text, sizeof text, false));
    CHECK(matcher_read(&m, text, MATCHER_STATES - 1, false));
    CHECK(!matcher_read(&m, text, MATCHER_STATES, false));
    memset(text, '(', sizeof text);
    CHECK(!matcher_read(&m, text, sizeof text, false));
    memset(text, '*', sizeof text);
    CHECK(!matcher_read(&m, text, sizeof text, true));
    /* The time of a backtracking matcher would double with each part. */
    static const char evil[] = "(a*)*(a|a)*(a?a?a?a?a?a?a?a?)*(a|aa)+(.*a)*(.*.*.*a)*b";
    memset(text, 'a', sizeof text);
    CHECK(matcher_read(&m, evil, sizeof evil - 1, false));
    CHECK(!matcher_match(&m, text, sizeof text, &steps));
    text[LONG - 1] = 'b';
    CHECK(matcher_match(&m, text, sizeof text, &steps));
    uint64_t few = 1000;
    CHECK(!matcher_match(&m, text, sizeof text, &few) && few == 0);
}

int
main(void)
{
    test_expected();
    test_refused();
    test_bounds();
    return check_done("test_matcher");
}
