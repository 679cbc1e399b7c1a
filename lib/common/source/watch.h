/* watch: an observer that sees every byte of a forward-only source as it passes, for counts and checksums that are stored
 * among the data and not known in advance. */
#ifndef SOURCE_WATCH_H
#define SOURCE_WATCH_H

#include "source/source.h"

struct watcher {
    bool (*see)(void *of, uint64_t at, const uint8_t *p, size_t n, struct err *err);
    bool (*ended)(void *of, uint64_t at, struct err *err);      /* the input has ended; `at` is its length */
    void (*free)(void *of);                                     /* called when the source is closed */
    void *of;
};

/* Shows the watcher all bytes from offset `from` on, once and in order, whoever reads them. `from` must be in the head,
 * whose rest is shown now, as is the end of the input if it has ended. A failure of the watcher is a failure of the read.
 * Takes ownership of watcher->of, even on failure. Does nothing for a seekable source: the watcher's owner has to read it. */
bool source_watch(struct source *src, uint64_t from, const struct watcher *watcher, struct err *err);

#endif
