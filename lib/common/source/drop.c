#include "source/drop.h"

#include <fcntl.h>
#include <stdbool.h>

#include "base/num.h"

/* A call for each block would cost more than the memory is worth, so neighbours are gathered. Workers go on side by
 * side: what lies less than DROP_LAG behind the last one may still be read by another. */
enum { DROP_STEP = 16 << 20, DROP_LAG = 4 << 20, PAGE = 4096 };

static void
give_back(int fd, uint64_t from, uint64_t to)
{
#ifdef POSIX_FADV_DONTNEED
    /* A page that is only partly in the range stays; the first one goes, for its other half belongs to what went
     * before. */
    off_t page = (off_t)(from / PAGE * PAGE);
    if (from < to)
        posix_fadvise(fd, page, (off_t)to - page, POSIX_FADV_DONTNEED);    /* advice: its failure harms nobody */
#else
    (void)fd, (void)from, (void)to;
#endif
}

void
drop_init(struct drop *d)
{
    pthread_mutex_init(&d->lock, NULL);
    d->from = d->to = 0;
}

void
drop_range(struct drop *d, int fd, uint64_t from, uint64_t to)
{
    pthread_mutex_lock(&d->lock);
    bool near = from <= d->to + DROP_LAG && d->from <= to + DROP_LAG;
    if (!near) {
        give_back(fd, d->from, d->to);
        d->from = from;
        d->to = to;
    }
    d->from = num_min(d->from, from);
    d->to = num_max(d->to, to);
    if (d->to - d->from >= DROP_STEP) {
        give_back(fd, d->from, d->to - DROP_LAG);
        d->from = d->to - 2 * DROP_LAG;         /* once more: a folio across the end of the range has stayed */
    }
    pthread_mutex_unlock(&d->lock);
}

void
drop_clear(struct drop *d, int fd)
{
    give_back(fd, d->from, d->to);
    pthread_mutex_destroy(&d->lock);
}
