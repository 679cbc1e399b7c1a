/* window: a moving window over sequential bytes, for scanning data of unknown length. */
#ifndef SCAN_WINDOW_H
#define SCAN_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct window {
    /* Returns the next bytes, at most n; none only at the end. */
    bool (*some)(void *of, uint8_t *buf, size_t n, size_t *got, struct err *err);
    void *of;                   /* borrowed */
    uint64_t max;               /* most bytes to hold */
    const uint8_t *p;           /* n bytes */
    size_t n;
    uint8_t *base;              /* the buffer they are in, `room` bytes; owned */
    size_t room;
    uint64_t at;                /* offset of the first byte held */
    bool ended;                 /* no more bytes follow */
    uint64_t total;             /* total number of bytes, or 0 if unknown */
};

/* Holds n bytes, or all that remain: w->n tells how many, at most w->max. Fails if reading fails, or without memory. */
bool window_hold(struct window *w, size_t n, struct err *err);

/* Returns the number of bytes from `from` bytes after the first one held up to the end; UINT64_MAX if unknown. */
uint64_t window_left(const struct window *w, size_t from);

/* Drops the first n bytes held. */
void window_drop(struct window *w, size_t n);

void window_clear(struct window *w);

#endif
