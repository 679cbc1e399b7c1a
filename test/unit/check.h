/* check: support for unit tests. CHECK(condition) counts failures and prints the line of each; check_skip() counts tests
 * that cannot run here, so that they do not count as passed; main ends with return check_done("name"). */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned check_passed, check_failed, check_skipped;

static inline bool
check_that(bool ok, const char *file, int line, const char *what)
{
    if (ok)
        check_passed++;
    else
        check_failed++;
    if (!ok)
        printf("%s:%d: %s\n", file, line, what);
    return ok;
}

/* Returns the value of the condition. */
#define CHECK(condition) check_that((condition), __FILE__, __LINE__, #condition)

/* Same for one row of a table, named `what`. */
#define CHECK_ROW(condition, what) check_that((condition), __FILE__, __LINE__, (what))

static inline void
check_skip(const char *what, const char *why)
{
    check_skipped++;
    printf("skip: %s: %s\n", what, why);
}

/* Returns the number of random trials: `few`, or `all` if AMN_ALL_ROUNDS is in the environment, as in make check-full. */
static inline int
check_rounds(int few, int all)
{
    return getenv("AMN_ALL_ROUNDS") ? all : few;
}

static inline int
check_done(const char *name)
{
    printf("%s: %u passed, %u failed, %u skipped\n", name, check_passed, check_failed, check_skipped);
    return check_failed != 0;
}

#endif
