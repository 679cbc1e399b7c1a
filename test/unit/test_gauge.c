/* cli/gauge.h: the progress bar at every width, and its words. */
#include "check.h"

#include <string.h>

#include "cli/gauge.h"

#define GIB (UINT64_C(1) << 30)

static const struct meter_reading writing = {
    .phase = "writing", .done = 1299227607, .total = 3092376453, .seconds = 2.42,
};

static bool
is_line(const struct meter_reading *r, unsigned width, const char *want)
{
    char got[GAUGE_ROOM];
    return check_that(strcmp(gauge_line(got, r, width), want) == 0, __FILE__, __LINE__, got);
}

static bool
is_words(const struct meter_reading *r, const char *want)
{
    char got[GAUGE_ROOM];
    return check_that(strcmp(gauge_words(got, r), want) == 0, __FILE__, __LINE__, got);
}

/* Parts that are omitted as the window gets narrower. */
static void
test_forms(void)
{
    is_line(&writing, 159, "writing  [################........................]  42%  1.21 of 2.88 GiB  512.00 MiB/s  0:03 left");
    is_line(&writing, 79, "writing  [########............]  42%  1.21 of 2.88 GiB  512.00 MiB/s  0:03 left");
    is_line(&writing, 69, "writing  [####......]  42%  1.21 of 2.88 GiB  512.00 MiB/s  0:03 left");
    is_line(&writing, 68, "writing  42%  1.21 of 2.88 GiB  512.00 MiB/s  0:03 left");
    is_line(&writing, 55, "writing  42%  1.21 of 2.88 GiB  512.00 MiB/s  0:03 left");
    is_line(&writing, 54, "writing  42%  512.00 MiB/s  0:03 left");
    is_line(&writing, 36, "42%  512.00 MiB/s  0:03 left");
    is_line(&writing, 19, "42%  0:03 left");
    is_line(&writing, 13, "42%");
    is_line(&writing, 2, "");
}

/* Every word of a line is a word of the full line, and a wider line has at least as many. */
static void
test_widths(const struct meter_reading *r)
{
    char all[GAUGE_ROOM], line[GAUGE_ROOM];
    size_t least = 0;
    gauge_line(all, r, 300);
    for (unsigned width = 0; width < 160; width++) {
        size_t n = strlen(gauge_line(line, r, width)), words = 0;
        bool ok = n <= width;
        for (char *word = line, *next; *word; word = next, words++) {
            char *end = strstr(word, "  ");
            next = end ? end + 2 : word + strlen(word);
            if (end)
                *end = '\0';
            const char *same = strstr(all, word);
            size_t len = strlen(word);
            ok = ok && (*word == '[' || (same && (same == all || same[-1] == ' ') && (same[len] == ' ' || !same[len])));
        }
        CHECK_ROW(ok && words >= least, line);
        least = words;
    }
}

static void
test_times(void)
{
    static const struct {
        double left;
        const char *words;
    } rows[] = {
        { 0, "0:00 left" }, { 59.9, "0:59 left" }, { 61, "1:01 left" }, { 3599, "59:59 left" }, { 3600, "1:00:00 left" },
        { 3723, "1:02:03 left" }, { 86399, "23:59:59 left" }, { 86400, "1d 0h left" }, { 183600, "2d 3h left" },
        { 8639999, "99d 23h left" },
    };
    char got[GAUGE_ROOM];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct meter_reading r = { .phase = "x", .done = GIB, .total = 2 * GIB, .seconds = rows[i].left + 1e-6 };
        const char *last = strrchr(gauge_words(got, &r), ',');
        CHECK_ROW(last && strcmp(last + 2, rows[i].words) == 0, got);
    }
    struct meter_reading r = { .phase = "x", .done = GIB, .total = 2 * GIB, .seconds = 8640000 };
    CHECK(!strstr(gauge_words(got, &r), "left"));
}

static void
test_totals(void)
{
    struct meter_reading r = { .phase = "reading", .done = 0, .total = METER_UNKNOWN };
    is_words(&r, "reading, 0 bytes");
    r = (struct meter_reading){ .phase = "reading", .done = 3 * GIB, .total = METER_UNKNOWN, .seconds = 2 };
    is_words(&r, "reading, 3.00 GiB, 1.50 GiB/s");
    is_line(&r, 79, "reading  3.00 GiB  1.50 GiB/s");
    is_line(&r, 10, "3.00 GiB");
    r = (struct meter_reading){ .phase = "completing the output", .seconds = 1 };
    is_words(&r, "completing the output");
    is_line(&r, 20, "");
    r = (struct meter_reading){ .phase = "writing", .done = 0, .total = GIB, .seconds = 1 };
    is_words(&r, "writing, 0%, 0.00 of 1.00 GiB");
    r = (struct meter_reading){ .phase = "writing", .done = 999, .total = 1000, .seconds = 1 };
    is_words(&r, "writing, 99%, 999 of 1000 bytes, 999 bytes/s, 0:00 left");
    r = (struct meter_reading){ .phase = "writing", .done = GIB - 1, .total = GIB, .seconds = 4 };
    is_words(&r, "writing, 99%, 1.00 of 1.00 GiB, 256.00 MiB/s, 0:00 left");
    r = (struct meter_reading){ .phase = "writing", .done = 2 * GIB, .total = GIB, .seconds = 4 };
    is_words(&r, "writing, 100%, 1.00 of 1.00 GiB, 512.00 MiB/s, 0:00 left");
}

int
main(void)
{
    const struct meter_reading long_ago = { .phase = "reading into a temporary file", .done = 3 * GIB, .total = 4000 * GIB,
        .seconds = 200 };
    const struct meter_reading unknown = { .phase = "reading the header", .done = 4096, .total = METER_UNKNOWN,
        .seconds = 3 };
    test_forms();
    test_widths(&writing);
    test_widths(&long_ago);
    test_widths(&unknown);
    test_times();
    test_totals();
    return check_done("gauge");
}
