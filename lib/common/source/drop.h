/* drop: removes file data that will not be read again from the page cache. */
#ifndef SOURCE_DROP_H
#define SOURCE_DROP_H

#include <pthread.h>
#include <stdint.h>

/* Ranges that were reported but not dropped yet. Valid between drop_init() and drop_clear(). */
struct drop {
    pthread_mutex_t lock;
    uint64_t from, to;
};

void drop_init(struct drop *d);
/* Drops the remaining ranges. */
void drop_clear(struct drop *d, int fd);

/* Reports that bytes [from, to) of file `fd` have been read. Callable from any thread. Adjacent ranges are dropped some MiB
 * at a time. */
void drop_range(struct drop *d, int fd, uint64_t from, uint64_t to);

#endif
