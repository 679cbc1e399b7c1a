#include "scan/pickle_scan_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"

/* Notes that Python fails at this opcode. */
static void
scan_fatal(struct scan_machine *m)
{
    if (m->scan->fatal == UINT64_MAX)
        m->scan->fatal = m->at;
}

void
scan_odd(struct scan_machine *m, enum pickle_oddity which)
{
    pickle_scan_odd(m->scan, which, m->at);
    if (which == ODD_UNDERFLOW || which == ODD_NO_MARK || which == ODD_MEMO_UNSET)
        scan_fatal(m);
}

/* --- the stack ------------------------------------------------------------------------------------------- */

bool
scan_push(struct scan_machine *m, struct item item)
{
    if (item.depth > m->scan->depth)
        m->scan->depth = item.depth;
    if (m->lost)
        return true;
    if (m->n == STACK_MAX) {
        scan_odd(m, ODD_UNTRACKED);
        m->lost = true;
        m->n = m->marks = 0;
        return true;
    }
    struct item *stack = array_grow(m->stack, m->n, &m->room, sizeof *stack, m->err);
    if (!stack)
        return false;
    m->stack = stack;
    m->marks += item.kind == MARK;
    stack[m->n++] = item;
    return true;
}

bool
scan_push_kind(struct scan_machine *m, enum scan_kind kind, uint64_t depth)
{
    uint32_t d = UINT32_MAX;
    if (depth < UINT32_MAX)
        d = (uint32_t)depth;
    return scan_push(m, (struct item){ .kind = (uint8_t)kind, .depth = d });
}

struct item *
scan_top(struct scan_machine *m)
{
    if (m->n != 0 && m->stack[m->n - 1].kind != MARK)
        return &m->stack[m->n - 1];
    if (!m->lost)
        scan_odd(m, ODD_UNDERFLOW);
    return NULL;
}

struct item
scan_pop(struct scan_machine *m)
{
    const struct item *item = scan_top(m);
    if (!item)
        return (struct item){ .kind = UNKNOWN };
    m->n--;
    return *item;
}

uint32_t
scan_pop_mark(struct scan_machine *m, const struct item **items, size_t *n)
{
    uint32_t depth = 0;
    size_t from = m->n;
    *n = 0;
    *items = NULL;
    if (m->marks == 0) {
        if (!m->lost)
            scan_odd(m, ODD_NO_MARK);
        return 0;
    }
    for (; m->stack[from - 1].kind != MARK; from--)
        if (m->stack[from - 1].depth > depth)
            depth = m->stack[from - 1].depth;
    *items = m->stack + from;
    *n = m->n - from;
    m->n = from - 1;
    m->marks--;
    return depth;
}

bool
scan_push_tuple(struct scan_machine *m, const struct item *items, size_t n, uint32_t depth)
{
    struct item tuple = { .kind = TUPLE, .first = OTHER, .depth = depth == UINT32_MAX ? depth : depth + 1 };
    if (n != 0) {
        tuple.first = items[0].kind;
        tuple.a = items[0].a;
        tuple.b = items[0].b;
    }
    return scan_push(m, tuple);
}

bool
scan_make_tuple(struct scan_machine *m, size_t n)
{
    struct item items[3];
    uint32_t depth = 0;
    for (size_t i = n; i-- > 0;) {
        items[i] = scan_pop(m);
        if (items[i].depth > depth)
            depth = items[i].depth;
    }
    return scan_push_tuple(m, items, n, depth);
}

void
scan_deepen(struct scan_machine *m, uint32_t depth)
{
    struct item *item = scan_top(m);
    if (item && depth != UINT32_MAX && depth + 1 > item->depth) {
        item->depth = depth + 1;
        if (item->depth > m->scan->depth)
            m->scan->depth = item->depth;
    }
}

void
scan_deepen_from_mark(struct scan_machine *m)
{
    const struct item *items;
    size_t n;
    uint32_t depth = scan_pop_mark(m, &items, &n);
    scan_deepen(m, n != 0 ? depth : 0);
}

void
scan_drop_top(struct scan_machine *m)
{
    if (m->n != 0 && m->stack[m->n - 1].kind == MARK)
        m->n--, m->marks--;
    else if (scan_pop(m).kind == CALL)
        scan_odd(m, ODD_UNUSED_CALL);
}

void
scan_drop_to_mark(struct scan_machine *m)
{
    const struct item *items;
    size_t n;
    scan_pop_mark(m, &items, &n);
    for (size_t i = 0; i < n; i++)
        if (items[i].kind == CALL)
            scan_odd(m, ODD_UNUSED_CALL);
}

/* --- the memo -------------------------------------------------------------------------------------------- */

static const char *
index_of(const void *owner, uint32_t number, size_t *n)
{
    const struct scan_machine *m = owner;
    *n = sizeof m->memo[number].index;
    return (const char *)&m->memo[number].index;
}

bool
scan_put(struct scan_machine *m, uint64_t index)
{
    const struct item *item = scan_top(m);
    struct item kept = item ? *item : (struct item){ .kind = UNKNOWN };
    m->puts++;
    if (index > m->nmemo && index - m->nmemo > 1000000)
        scan_odd(m, ODD_MEMO_GAP);
    uint32_t number = (uint32_t)m->nmemo;
    bool again = true;
    if (!table_find(&m->by_index, index_of, m, (const char *)&index, sizeof index, &number)) {
        if (m->nmemo == MEMO_MAX) {
            if (!m->memo_lost)
                scan_odd(m, ODD_UNTRACKED);
            return m->memo_lost = true;
        }
        struct memo *memo = array_grow(m->memo, m->nmemo, &m->memo_room, sizeof *memo, m->err);
        if (!memo)
            return false;
        m->memo = memo;
        memo[m->nmemo].index = index;
        number = (uint32_t)m->nmemo;
        if (!table_add(&m->by_index, index_of, m, (const char *)&index, sizeof index, &number, &again, m->err))
            return false;
        m->nmemo++;
    }
    m->memo[number].item = kept;
    return true;
}

bool
scan_get(struct scan_machine *m, uint64_t index)
{
    uint32_t number;
    m->gets++;
    if (table_find(&m->by_index, index_of, m, (const char *)&index, sizeof index, &number))
        return scan_push(m, m->memo[number].item);
    if (!m->memo_lost)
        scan_odd(m, ODD_MEMO_UNSET);
    return scan_push_kind(m, UNKNOWN, 1);
}

/* Reads a decimal number as Python's int() does: surrounded by white space, with a sign, and single underscores between
 * digits. */
static bool
decimal(uint64_t *number, const uint8_t *p, size_t n)
{
    while (n != 0 && memchr(" \t\n\r\f\v", *p, 6))
        p++, n--;
    while (n != 0 && memchr(" \t\n\r\f\v", p[n - 1], 6))
        n--;
    bool negative = n != 0 && *p == '-';
    if (negative || (n != 0 && *p == '+'))
        p++, n--;
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '_' && i != 0 && i + 1 < n && p[i - 1] != '_')
            continue;
        if (p[i] < '0' || p[i] > '9' || !num_mul(&value, value, 10) || !num_add(&value, value, p[i] - '0'))
            return false;
    }
    *number = value;
    return n != 0 && !(negative && value != 0);
}

bool
scan_put_or_get_text(struct scan_machine *m, const struct pickle_step *step)
{
    uint64_t index;
    if (decimal(&index, step->text, (size_t)step->text_len))
        return step->byte == OP_PUT ? scan_put(m, index) : scan_get(m, index);
    scan_odd(m, ODD_NUMBER);
    for (uint64_t i = 0; i < step->text_len; i++)
        if (!memchr("0123456789_+- \t\r\f\v", step->text[i], 18))
            scan_fatal(m);
    return step->byte == OP_PUT || scan_push_kind(m, UNKNOWN, 1);
}
