/* watch: someone who is shown every byte of what only goes forward, as it passes: counts and checksums that lie between
 * the data, of which nothing is known before the data have gone by. */
#ifndef SOURCE_WATCH_H
#define SOURCE_WATCH_H

#include "source/source.h"

struct watcher {
    bool (*see)(void *of, uint64_t at, const uint8_t *p, size_t n, struct err *err);
    bool (*ended)(void *of, uint64_t at, struct err *err);      /* the input has no more; `at` is its length */
    void (*free)(void *of);                                     /* when the source is closed */
    void *of;
};

/* Show it all bytes from offset `from` on, once and in order, whoever reads them; `from` lies in the head, whose rest is
 * shown now, and that the input has ended, when it has. Its failures are those of the reads. It takes watcher->of, after a failure too. A seekable source is shown
 * to nobody: what watches it reads it. */
bool source_watch(struct source *src, uint64_t from, const struct watcher *watcher, struct err *err);

#endif
