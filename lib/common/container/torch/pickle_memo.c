/* The opcodes of the memo, by which a pickle refers to a value again. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/num.h"
#include "container/torch/pickle_machine_priv.h"

enum { SHORT_MEMO = 255 };

static int
compare_entry(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorts the entries and removes copies. */
static void
memo_sort(struct pickle_memo *memo)
{
    size_t n = 0;
    array_sort(memo->read, memo->nread, sizeof *memo->read, compare_entry);
    for (size_t i = 0; i < memo->nread; i++)
        if (n == 0 || memo->read[n - 1] != memo->read[i])
            memo->read[n++] = memo->read[i];
    memo->nread = n;
}

static bool
memo_reads(struct pickle_memo *memo, uint64_t i, struct err *err)
{
    if (memo->nread == memo->room_read) {
        memo_sort(memo);
        if (memo->nread >= memo->room_read / 2) {       /* sorting again would not help for long */
            uint64_t *read = array_grow(memo->read, memo->room_read, &memo->room_read, sizeof *read, err);
            if (!read)
                return false;
            memo->read = read;
        }
    }
    memo->read[memo->nread++] = i;
    return true;
}

bool
pickle_memo_survey(struct pickle_memo *memo, struct pickle_feed *f, struct budget *budget, struct err *err)
{
    struct pickle_step step;
    enum pickle_step_end end;
    bool ok;
    memo->on = true;
    pickle_feed_start(f);
    while ((ok = pickle_feed_next(f, &step, &end, budget, err)) && end == STEP_WHOLE && step.byte != OP_STOP) {
        pickle_feed_skip(f, step.size);
        if ((step.byte == OP_BINGET || step.byte == OP_LONG_BINGET) && !memo_reads(memo, step.number, err))
            return false;
    }
    memo_sort(memo);
    return ok;
}

/* Returns true if an entry is read; *i then is its index in the memo. */
static bool
memo_index(const struct pickle_memo *memo, uint64_t *i)
{
    if (!memo->on)
        return true;
    const uint64_t *at = NULL;
    if (memo->nread != 0)
        at = bsearch(i, memo->read, memo->nread, sizeof *at, compare_entry);
    if (at)
        *i = (uint64_t)(at - memo->read);
    return at != NULL;
}

static bool
memo_has(const struct pickle_memo *memo, uint64_t i)
{
    return i < memo->dense || (i / 64 < memo->nset && memo->set[i / 64] >> i % 64 & 1);
}

/* Counts an entry as set. Writers set them in order. */
static bool
memo_count(struct pickle_machine *m, uint64_t i)
{
    struct pickle_memo *memo = &m->few;
    if (!memo->on || memo_has(memo, i))
        return true;
    m->nmemo++;
    if (i == memo->dense) {
        while (memo_has(memo, ++memo->dense))
            ;
        return true;
    }
    if (i / 64 >= memo->nset) {
        size_t n = (size_t)num_max(2 * (uint64_t)memo->nset, i / 64 + 1);
        uint64_t *set = realloc(memo->set, n * sizeof *set);
        if (!set)
            return err_memory(m->err, n * sizeof *set);
        memset(set + memo->nset, 0, (n - memo->nset) * sizeof *set);
        memo->set = set;
        memo->nset = n;
    }
    memo->set[i / 64] |= UINT64_C(1) << i % 64;
    return true;
}

static bool
memo_set(struct pickle_machine *m, uint64_t i)
{
    if (!pickle_has(m, 1))
        return false;
    if (i > num_max(m->nops, SHORT_MEMO))       /* writers count from 0: allocate no more than they can have set */
        return pickle_fail(m, ERR_LIMIT, "sets memo entry %" PRIu64 ", which exceeds the limit of %" PRIu64 ", the number of opcodes "
            "so far", i, m->nops);
    if (!memo_count(m, i))
        return false;
    if (!memo_index(&m->few, &i))
        return true;
    while (i >= m->room_memo) {
        size_t before = m->room_memo;
        struct pickle_value **memo = heap_grow(m->k, m->memo, before, &m->room_memo, sizeof *memo);
        if (!memo)
            return false;
        m->memo = memo;
        memset(memo + before, 0, (m->room_memo - before) * sizeof *memo);
    }
    m->nmemo += !m->few.on && m->memo[i] == NULL;
    m->memo[i] = pickle_top(m, 0);
    if (pickle_is_taken(m->memo[i]))
        m->memo[i]->n = 0;
    m->k->pins++;
    return true;
}

bool
pickle_memo_put(struct pickle_machine *m)
{
    return memo_set(m, m->step.number);
}

bool
pickle_memo_next(struct pickle_machine *m)
{
    return memo_set(m, m->nmemo);
}

bool
pickle_memo_get(struct pickle_machine *m)
{
    uint64_t i = m->step.number;
    if (!memo_index(&m->few, &i) || i >= m->room_memo || !m->memo[i])
        return pickle_fail(m, ERR_MALFORMED, "reads memo entry %" PRIu64 ", which is not set", i);
    return pickle_push(m, m->memo[i]);
}
