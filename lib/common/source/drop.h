/* drop: giving back the page cache of what was read of a file and will not be again. */
#ifndef SOURCE_DROP_H
#define SOURCE_DROP_H

#include <pthread.h>
#include <stdint.h>

/* What was said and has not been given back yet; between drop_init and drop_clear. */
struct drop {
    pthread_mutex_t lock;
    uint64_t from, to;
};

void drop_init(struct drop *d);
/* Give back what is left. */
void drop_clear(struct drop *d, int fd);

/* Bytes [from, to) of the file `fd` have been read; from any thread. Neighbours are given back some MiB at a time. */
void drop_range(struct drop *d, int fd, uint64_t from, uint64_t to);

#endif
