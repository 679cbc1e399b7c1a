#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "container/torch/pickle_machine_priv.h"

enum { WINDOW = 64 << 10, OPCODE_ROOM = 16 };

void
pickle_feed_start(struct pickle_feed *f)
{
    f->left = f->size;
    f->n = 0;
    if (!f->src) {
        f->p = f->memory;
        f->n = (size_t)f->size;
        f->left = 0;
    }
}

void
pickle_feed_clear(struct pickle_feed *f)
{
    free(f->bytes);
    f->bytes = NULL;
    f->room = 0;
}

/* Makes room for n bytes. */
static bool
reserve(struct pickle_feed *f, size_t n, struct budget *budget, struct err *err)
{
    if (n <= f->room)
        return true;
    uint8_t *bytes = NULL;
    if (budget_bytes(budget, n - f->room, "bytes of the pickle", err) && !(bytes = malloc(n)))
        err_memory(err, n);
    if (!bytes)
        return false;
    if (f->n != 0)
        memcpy(bytes, f->p, f->n);
    free(f->bytes);
    f->p = f->bytes = bytes;
    f->room = n;
    return true;
}

/* Reads more, so that the window has at least `least` bytes, or all that are left. */
static bool
refill(struct pickle_feed *f, uint64_t least, struct budget *budget, struct err *err)
{
    size_t want = (size_t)num_min(num_max(least, WINDOW), f->n + f->left);
    if (!reserve(f, want, budget, err))
        return false;
    if (f->n != 0)
        memmove(f->bytes, f->p, f->n);
    f->p = f->bytes;
    size_t more = (size_t)num_min(f->room - f->n, f->left);
    if (!source_read(f->src, f->size - f->left, f->bytes + f->n, more, err))
        return false;
    f->n += more;
    f->left -= more;
    return true;
}

bool
pickle_feed_next(struct pickle_feed *f, struct pickle_step *step, enum pickle_step_end *end, struct budget *budget, struct err *err)
{
    while ((*end = pickle_op_next(step, f->p, f->n)) == STEP_CUT && f->left != 0) {
        uint64_t least = 2 * (uint64_t)f->n;
        if (step->text_len != 0 && !num_add(&least, step->text_len, OPCODE_ROOM))
            least = UINT64_MAX;
        if (!refill(f, least, budget, err))
            return false;
    }
    return true;
}

void
pickle_feed_skip(struct pickle_feed *f, size_t n)
{
    f->p += n;
    f->n -= n;
}
