#include "source/drop.h"

#include <fcntl.h>
#include <stdbool.h>

#include "base/num.h"

/* Adjacent ranges are combined, because a system call per block would cost more than the memory is worth. Other workers may
 * still be reading less than DROP_LAG bytes before the last range, so those bytes are kept for now. */
enum { DROP_STEP = 16 << 20, DROP_LAG = 4 << 20, PAGE = 4096 };

static void
drop_pages(int fd, uint64_t from, uint64_t to)
{
#ifdef POSIX_FADV_DONTNEED
    /* A partial last page stays cached. A partial first page is dropped, because the rest of it belongs to the range before. */
    off_t page = (off_t)(from / PAGE * PAGE);
    if (from < to)
        posix_fadvise(fd, page, (off_t)to - page, POSIX_FADV_DONTNEED);    /* only advice: failure is harmless */
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
        drop_pages(fd, d->from, d->to);
        d->from = from;
        d->to = to;
    }
    d->from = num_min(d->from, from);
    d->to = num_max(d->to, to);
    if (d->to - d->from >= DROP_STEP) {
        drop_pages(fd, d->from, d->to - DROP_LAG);
        d->from = d->to - 2 * DROP_LAG;         /* again, because a folio across the end of the range has stayed */
    }
    pthread_mutex_unlock(&d->lock);
}

void
drop_clear(struct drop *d, int fd)
{
    drop_pages(fd, d->from, d->to);
    pthread_mutex_destroy(&d->lock);
}
