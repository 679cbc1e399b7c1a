/* tally: how many of each kind, and how many bytes, in the order of first use. */
#ifndef REPORT_TALLY_H
#define REPORT_TALLY_H

#include <stddef.h>

#include "base/table.h"

struct tally_row {
    char *label;            /* owned by the tally */
    size_t count;
    uint64_t nbytes;
};

/* Zero-initialise; clear with tally_clear. Read rows [0, n) freely. */
struct tally {
    struct tally_row *rows;
    size_t n, room;
    struct table labels;    /* to rows */
};

void tally_clear(struct tally *tally);

/* `more` of this label (copied), which have so many bytes. False with ERR_MEMORY when there is none. */
bool tally_add(struct tally *tally, const char *label, size_t more, uint64_t nbytes, struct err *err);

/* Indices of the rows with the most bytes, most first, into top[0..max); returns how many. */
size_t tally_top(const struct tally *tally, size_t *top, size_t max);

#endif
