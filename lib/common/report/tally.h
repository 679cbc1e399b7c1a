/* tally: counts and bytes for each label, in order of first use. */
#ifndef REPORT_TALLY_H
#define REPORT_TALLY_H

#include <stddef.h>

#include "base/table.h"

struct tally_row {
    char *label;            /* owned by the tally */
    size_t count;
    uint64_t nbytes;
};

/* Zero-initialise; free with tally_clear(). Rows [0, n) may be read. */
struct tally {
    struct tally_row *rows;
    size_t n, room;
    struct table labels;    /* label -> row */
};

void tally_clear(struct tally *tally);

/* Adds `more` items with this label, which is copied, and their bytes. Fails with ERR_MEMORY. */
bool tally_add(struct tally *tally, const char *label, size_t more, uint64_t nbytes, struct err *err);

/* Puts the indices of the rows with the most bytes into top[0..max), largest first. Returns how many. */
size_t tally_top(const struct tally *tally, size_t *top, size_t max);

#endif
