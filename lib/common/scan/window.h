/* window: bytes that come one after the other, held from a first one that moves on. What a scan of unknown length reads
 * through. */
#ifndef SCAN_WINDOW_H
#define SCAN_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct window {
    /* The bytes that come next, at most n of them; none only at the end. */
    bool (*some)(void *of, uint8_t *buf, size_t n, size_t *got, struct err *err);
    void *of;                   /* borrowed */
    uint64_t max;               /* bytes that may be held */
    const uint8_t *p;           /* n bytes */
    size_t n;
    uint8_t *base;              /* what they lie in, `room` bytes; owned */
    size_t room;
    uint64_t at;                /* of the first one held */
    bool ended;                 /* no more come */
    uint64_t total;             /* bytes from the first to the last, where that is known; else 0 */
};

/* Hold n bytes, or all that come: w->n says how many. False when reading fails, or there is no memory; more than
 * w->max are not held. */
bool window_hold(struct window *w, size_t n, struct err *err);

/* Returns the number of bytes from `from` bytes after the first one held to the last one that comes, UINT64_MAX if that is not
 * known. */
uint64_t window_left(const struct window *w, size_t from);

/* The first n bytes that are held are done with. */
void window_drop(struct window *w, size_t n);

void window_clear(struct window *w);

#endif
