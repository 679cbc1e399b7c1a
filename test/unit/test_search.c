/* Searches: the first item that ends after an offset; the end of a name. */
#include "check.h"

#include <string.h>

#include "base/search.h"
#include "base/str.h"

static uint64_t
end_of(const void *ends, size_t i)
{
    return ((const uint64_t *)ends)[i];
}

/* Compares with a linear search, for every length of the list and every offset; items may be empty. */
static void
test_ends(void)
{
    static const uint64_t ends[] = { 2, 2, 5, 9, UINT64_MAX };
    static const uint64_t at[] = { 0, 1, 2, 3, 4, 5, 8, 9, 10, UINT64_MAX - 1, UINT64_MAX };
    for (size_t n = 0; n <= sizeof ends / sizeof *ends; n++)
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
            size_t first = 0;
            while (first < n && ends[first] <= at[k])
                first++;
            CHECK(search_end_after(ends, n, end_of, at[k]) == first);
        }
}

static void
test_suffixes(void)
{
    static const struct { const char *name, *suffix; size_t left; } rows[] = {
        { "a.weight", ".weight", 1 }, { ".weight", ".weight", 0 }, { "weight", ".weight", 6 }, { "a.weighT", ".weight", 8 },
        { "", "", 0 }, { "a", "", 1 }, { "", "a", 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t len = strlen(rows[i].name), n = len;
        bool is = len >= strlen(rows[i].suffix) && strcmp(rows[i].name + len - strlen(rows[i].suffix), rows[i].suffix) == 0;
        CHECK_ROW(str_strip(rows[i].name, &n, rows[i].suffix) == is && n == rows[i].left, rows[i].name);
        CHECK_ROW(str_ends(rows[i].name, rows[i].suffix) == is, rows[i].name);
    }
    size_t n = 3;                       /* of "a\0b": bytes after a NUL count */
    CHECK(str_strip("a\0b", &n, "b") && n == 2);
}

int
main(void)
{
    test_ends();
    test_suffixes();
    return check_done("search");
}
