/* The opcodes of the pickle machine that make plain values and fill containers. */
#include "container/torch/pickle_machine_priv.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"

/* --- plain values */

bool
pickle_values_none(struct pickle_machine *m)
{
    return pickle_push(m, heap_value(m->k, PICKLE_NONE));
}

static bool
push_integer(struct pickle_machine *m, enum pickle_kind kind, int64_t integer)
{
    struct pickle_value *v = heap_value(m->k, kind);
    if (v)
        v->of.integer = integer;
    return pickle_push(m, v);
}

bool
pickle_values_bool(struct pickle_machine *m)
{
    return push_integer(m, PICKLE_BOOL, m->step.byte == OP_NEWTRUE);
}

bool
pickle_values_int(struct pickle_machine *m)
{
    return push_integer(m, PICKLE_INT, (int64_t)m->step.number);
}

/* Pushes bytes, or a text, that stay in the buffer unless it is a window. */
static bool
push_bytes(struct pickle_machine *m, enum pickle_kind kind, const uint8_t *p, uint64_t n, bool odd)
{
    struct pickle_value *v;
    if (n > PICKLE_STRING_MAX)
        return pickle_fail(m, ERR_LIMIT, "length %" PRIu64 " exceeds the limit of %d bytes (built in)", n, PICKLE_STRING_MAX);
    v = heap_value(m->k, kind);
    if (v && m->feed->src) {
        uint8_t *copy = heap_take(m->k, (size_t)n);
        if (!copy)
            return false;
        p = n != 0 ? memcpy(copy, p, (size_t)n) : copy;
    }
    if (v) {
        v->n = (uint32_t)n;
        v->of.text = p;
        v->odd = odd;
    }
    return pickle_push(m, v);
}

/* Pushes an integer of any length: two's complement, little-endian. */
bool
pickle_values_long(struct pickle_machine *m)
{
    const uint8_t *p = m->step.text;
    uint64_t n = m->step.text_len, bits = 0;
    while (n > 1 && p[n - 1] == (p[n - 2] & 0x80 ? 0xFF : 0))
        n--;
    if (n > sizeof bits)
        return push_bytes(m, PICKLE_BIG, p, n, false);
    for (uint64_t i = 0; i < sizeof bits; i++)
        bits |= (uint64_t)(i < n ? p[i] : n != 0 && p[n - 1] & 0x80 ? 0xFF : 0) << 8 * i;
    return push_integer(m, PICKLE_INT, (int64_t)bits);
}

bool
pickle_values_float(struct pickle_machine *m)
{
    struct pickle_value *v = heap_value(m->k, PICKLE_FLOAT);
    if (v)
        memcpy(&v->of.real, &m->step.number, sizeof v->of.real);
    return pickle_push(m, v);
}

bool
pickle_values_bytes(struct pickle_machine *m)
{
    return push_bytes(m, PICKLE_BYTES, m->step.text, m->step.text_len, false);
}

bool
pickle_values_is_text(const uint8_t *p, uint64_t n, bool *odd)
{
    enum { SURROGATE = 3 };
    uint32_t code;
    *odd = false;
    for (uint64_t i = 0; i < n;) {
        size_t len;
        if (p[i] < 0x80)
            len = 1;
        else
            len = str_utf8_char((const char *)p + i, (size_t)(n - i), &code);
        if (len == 0 && n - i >= SURROGATE && p[i] == 0xED && p[i + 1] >= 0xA0 && p[i + 1] <= 0xBF
            && (p[i + 2] & 0xC0) == 0x80) {
            len = SURROGATE;
            *odd = true;
        }
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

/* Also the strings of Python 2, which torch decodes as UTF-8 too, but without surrogates. */
bool
pickle_values_text(struct pickle_machine *m)
{
    bool odd = false, bytes = m->step.byte == OP_BINSTRING || m->step.byte == OP_SHORT_BINSTRING;
    if (m->step.text_len <= PICKLE_STRING_MAX
        && (!pickle_values_is_text(m->step.text, m->step.text_len, &odd) || (odd && bytes)))
        return pickle_fail(m, ERR_MALFORMED, "has a text of %" PRIu64 " bytes that is not UTF-8", m->step.text_len);
    return push_bytes(m, PICKLE_TEXT, m->step.text, m->step.text_len, odd);
}

/* --- containers */

bool
pickle_values_tuple_n(struct pickle_machine *m)
{
    if (m->step.byte == OP_EMPTY_TUPLE)
        return pickle_push(m, heap_empty(m->k));
    size_t n = (size_t)m->step.byte - OP_TUPLE1 + 1;
    return pickle_has(m, n) && pickle_replace(m, n, heap_tuple(m->k, PICKLE_TUPLE, m->stack + m->nstack - n, n));
}

bool
pickle_values_tuple(struct pickle_machine *m)
{
    size_t n;
    struct pickle_value **item = pickle_take_mark(m, &n);
    return item && pickle_push(m, heap_tuple(m->k, PICKLE_TUPLE, item, n));
}

bool
pickle_values_container(struct pickle_machine *m)
{
    return pickle_push(m, heap_container(m->k, m->step.byte == OP_EMPTY_LIST ? PICKLE_LIST
        : m->step.byte == OP_EMPTY_SET ? PICKLE_SET : PICKLE_DICT));
}

bool
pickle_keep(struct pickle_machine *m, struct pickle_value *object, struct pickle_value *value)
{
    if (!object->of.item[2])
        object->of.item[2] = heap_container(m->k, PICKLE_LIST);
    return object->of.item[2] && heap_append(m->k, object->of.item[2], value);
}

/* Appends to a list or set, or stores in an opaque object. */
static bool
append(struct pickle_machine *m, struct pickle_value *to, struct pickle_value *value)
{
    m->k->pins += pickle_is_opaque(to);
    if (pickle_is_opaque(to))
        return pickle_keep(m, to, value);
    if (!pickle_is_taken(value))
        return heap_append(m->k, to, value);
    const struct pickle_taker *taker = m->k->limits->taker;
    if (!taker->item(taker->of, value, m->err))
        return false;
    heap_loose_back(m->k, value);
    return true;
}

static bool
set_key(struct pickle_machine *m, struct pickle_value *to, struct pickle_value *key, struct pickle_value *value)
{
    m->k->pins += pickle_is_opaque(to);
    if (pickle_is_opaque(to))
        return pickle_keep(m, to, key) && pickle_keep(m, to, value);
    if (!pickle_is_taken(key))
        return heap_set(m->k, to, key, value);
    const struct pickle_taker *taker = m->k->limits->taker;
    if (!taker->pair(taker->of, key, value, m->err))
        return false;
    heap_loose_back(m->k, key);
    if (pickle_is_taken(value))
        heap_loose_back(m->k, value);
    return true;
}

/* Returns v, the container that the values above it go into, if it is of this kind, or an opaque object. */
static struct pickle_value *
target(struct pickle_machine *m, struct pickle_value *v, enum pickle_kind kind, const char *expected)
{
    char shown[PICKLE_SHOWN];
    if (v->kind == kind || pickle_is_opaque(v))
        return v;
    pickle_fail(m, ERR_MALFORMED, "is applied to %s, expected %s", pickle_shown(shown, v), expected);
    return NULL;
}

bool
pickle_values_append(struct pickle_machine *m)
{
    struct pickle_value *list = NULL;
    if (pickle_has(m, 2))
        list = target(m, pickle_top(m, 1), PICKLE_LIST, "a list");
    if (!list || !append(m, list, pickle_top(m, 0)))
        return false;
    m->nstack--;
    return true;
}

bool
pickle_values_appends(struct pickle_machine *m)           /* and ADDITEMS */
{
    size_t n;
    bool set = m->step.byte == OP_ADDITEMS;
    struct pickle_value **item = pickle_take_mark(m, &n);
    if (!item || !pickle_has(m, 1) || !target(m, pickle_top(m, 0), set ? PICKLE_SET : PICKLE_LIST, set ? "a set" : "a list"))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((set && !heap_hashable(m->k, item[i])) || !append(m, pickle_top(m, 0), item[i]))
            return false;
    return true;
}

bool
pickle_values_setitem(struct pickle_machine *m)
{
    struct pickle_value *dict = NULL;
    if (pickle_has(m, 3))
        dict = target(m, pickle_top(m, 2), PICKLE_DICT, "a dictionary");
    if (!dict || !set_key(m, dict, pickle_top(m, 1), pickle_top(m, 0)))
        return false;
    m->nstack -= 2;
    return true;
}

bool
pickle_values_setitems(struct pickle_machine *m)
{
    size_t n;
    struct pickle_value **item = pickle_take_mark(m, &n);
    if (!item || !pickle_has(m, 1) || !target(m, pickle_top(m, 0), PICKLE_DICT, "a dictionary"))
        return false;
    if (n % 2 != 0)
        return pickle_fail(m, ERR_MALFORMED, "has an odd number of values (%zu), expected pairs", n);
    for (size_t i = 0; i < n; i += 2)
        if (!set_key(m, pickle_top(m, 0), item[i], item[i + 1]))
            return false;
    return true;
}
