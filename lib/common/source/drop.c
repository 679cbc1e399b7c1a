/* Giving back the page cache of what was read once. */
#include <fcntl.h>

#include "base/num.h"
#include "source/source_priv.h"

/* A call for each block would cost more than the memory is worth, so neighbours are gathered. Workers go on side by
 * side: what lies less than DROP_LAG behind the last one may still be read by another. */
enum { DROP_STEP = 16 << 20, DROP_LAG = 4 << 20, PAGE = 4096 };

static void
drop(int fd, uint64_t from, uint64_t to)
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
source_drop(struct source *src, uint64_t from, uint64_t to)
{
    struct behind *b = &src->behind;
    if (!src->seekable || src->spool >= 0)
        return;
    pthread_mutex_lock(&b->lock);
    bool near = from <= b->to + DROP_LAG && b->from <= to + DROP_LAG;
    if (!near) {
        drop(src->fd, b->from, b->to);
        b->from = from;
        b->to = to;
    }
    b->from = num_min(b->from, from);
    b->to = num_max(b->to, to);
    if (b->to - b->from >= DROP_STEP) {
        drop(src->fd, b->from, b->to - DROP_LAG);
        b->from = b->to - 2 * DROP_LAG;         /* once more: a folio across the end of the range has stayed */
    }
    pthread_mutex_unlock(&b->lock);
}

void
drop_rest(struct source *src)
{
    if (src->fd >= 0)
        drop(src->fd, src->behind.from, src->behind.to);
}
