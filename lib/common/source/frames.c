#include "source/frames_priv.h"

#include <string.h>

#include "base/num.h"

bool
frames_next(struct frames *f, uint64_t skip, size_t want, bool (*step)(struct frames *, struct err *))
{
    f->skip = skip;
    f->have = 0;
    f->want = want;
    f->step = step;
    return true;
}

bool
frames_pass(struct frames *f, const uint8_t *p, size_t n, struct err *err)
{
    while (n != 0) {
        size_t over = (size_t)num_min(f->skip, n);
        f->skip -= over;
        p += over;
        n -= over;
        f->at += over;
        size_t part = (size_t)num_min(f->want - f->have, n);
        memcpy(f->header + f->have, p, part);
        f->have += part;
        p += part;
        n -= part;
        f->at += part;
        if (f->skip == 0 && f->have == f->want && !f->step(f, err))
            return false;
    }
    return true;
}
