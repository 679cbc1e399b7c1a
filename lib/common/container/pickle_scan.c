#include "container/pickle_scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/table.h"
#include "container/pickle_ops.h"

/* What is tracked, beyond which values are unknown, and what is listed. */
enum {
    STACK_MAX = 1 << 20, MEMO_MAX = 1 << 20, LISTED_MAX = 1 << 16,
    NAME_CUT = 1025,            /* one byte more than dangerous_verdict() takes for a name */
    TEXTS_MAX = 64 << 20
};

/* What can be said of a value. */
enum kind {
    UNKNOWN,                    /* nothing */
    MARK,
    OTHER,                      /* it is no text, no global and no tuple */
    TEXT, TEXT_RAW, TEXT_QUOTED,        /* bytes [a, a + b) of the pickle: as they are, of UNICODE, of STRING */
    GLOBAL,                     /* finding a, or one that is not listed */
    TUPLE,                      /* whose first item is `first`, with a and b of that */
    CALL                        /* what a call returned */
};
enum { UNLISTED = UINT32_MAX };

struct item {
    uint8_t kind, first;        /* enum kind */
    uint32_t a, b;
    uint32_t depth;
};

struct memo {
    uint64_t index;
    struct item item;
};

struct machine {
    struct pickle_scan *scan;
    const struct window *window;
    struct err *err;
    size_t at;                  /* of the opcode */
    struct item *stack;         /* n of them; owned */
    size_t n, room, marks;
    bool lost;                  /* the stack went over its limit: from then on it is unknown */
    struct memo *memo;          /* owned */
    size_t nmemo, memo_room;
    struct table by_index;      /* of memo */
    bool memo_lost;             /* the same of the memo */
    struct table by_name;       /* of findings */
    struct str texts;           /* of findings: opcode, module, LF, name; NUL for what cannot be told */
    struct str module, name;    /* scratch */
    uint64_t gets, puts, dups, ops_but_proto;
    uint8_t last_number;        /* the opcode before, when it was a number, else 0 */
};

/* --- oddities -------------------------------------------------------------------------------------------- */

static const struct { const char *code, *phrase; } oddities[ODDITIES] = {
    [ODD_SECOND_PROTO] = { "second_proto", "it says a second time which protocol it is of" },
    [ODD_LATE_PROTO] = { "late_proto", "it does not begin with its protocol" },
    [ODD_PROTOCOL] = { "protocol", "there is no such protocol" },
    [ODD_UNKNOWN_OPCODE] = { "unknown_opcode", "there is no such opcode" },
    [ODD_TRUNCATED] = { "truncated", "it ends before its STOP" },
    [ODD_TOO_LARGE] = { "too_large", "it is larger than is looked at" },
    [ODD_AFTER_STOP] = { "after_stop", "bytes follow its STOP" },
    [ODD_LEFT_ON_STACK] = { "left_on_stack", "it leaves more than one value" },
    [ODD_UNDERFLOW] = { "underflow", "it takes a value that is not there" },
    [ODD_NO_MARK] = { "no_mark", "it goes back to a mark that is not there" },
    [ODD_MEMO_UNSET] = { "memo_unset", "it fetches what was not kept" },
    [ODD_MEMO_GAP] = { "memo_gap", "it keeps a value under a number far beyond the others" },
    [ODD_MANY_GETS] = { "many_gets", "it fetches values more than 10 times as often as it keeps some" },
    [ODD_EXPANSION] = { "expansion", "it fetches values more than 50 times as often as it keeps some" },
    [ODD_DUPS] = { "dups", "it doubles values more than 100 times" },
    [ODD_UNUSED_CALL] = { "unused_call", "it calls something and drops what comes back" },
    [ODD_EXTENSION] = { "extension", "it names something by a number of the extension registry" },
    [ODD_NESTED] = { "nested_pickle", "a string in it is a pickle" },
    [ODD_BUFFER] = { "buffer", "it wants bytes from outside" },
    [ODD_PERSISTENT] = { "persistent_id", "a persistent id is not that of a storage" },
    [ODD_FIRST_PICKLE] = { "first_pickle", "other pickles follow, and it is not just a number" },
    [ODD_NUMBER] = { "number", "a number is none" },
    [ODD_UNLISTED] = { "unlisted", "it names more globals than are listed" },
    [ODD_UNTRACKED] = { "untracked", "it holds more values than are followed" },
};

const char *
pickle_oddity_code(enum pickle_oddity odd)
{
    return oddities[odd].code;
}

const char *
pickle_oddity_phrase(enum pickle_oddity odd)
{
    return oddities[odd].phrase;
}

void
pickle_scan_odd(struct pickle_scan *scan, enum pickle_oddity odd, uint64_t offset)
{
    if (scan->odd[odd].count++ == 0)
        scan->odd[odd].offset = offset;
}

static void
odd(struct machine *m, enum pickle_oddity which)
{
    pickle_scan_odd(m->scan, which, m->at);
}

/* --- the stack ------------------------------------------------------------------------------------------- */

static bool
push(struct machine *m, struct item item)
{
    if (item.depth > m->scan->depth)
        m->scan->depth = item.depth;
    if (m->lost)
        return true;
    if (m->n == STACK_MAX) {
        odd(m, ODD_UNTRACKED);
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

static bool
push_kind(struct machine *m, enum kind kind, uint64_t depth)
{
    uint32_t d = depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
    return push(m, (struct item){ .kind = (uint8_t)kind, .depth = d });
}

/* The top, or NULL when it is unknown. */
static struct item *
top(struct machine *m)
{
    if (m->n != 0 && m->stack[m->n - 1].kind != MARK)
        return &m->stack[m->n - 1];
    if (!m->lost)
        odd(m, ODD_UNDERFLOW);
    return NULL;
}

static struct item
pop(struct machine *m)
{
    const struct item *item = top(m);
    if (!item)
        return (struct item){ .kind = UNKNOWN };
    m->n--;
    return *item;
}

/* Take all down to the last mark, and the mark: the first of it at *items, how many at *n, how deep the deepest is. They are
 * good until the next push. */
static uint32_t
pop_mark(struct machine *m, const struct item **items, size_t *n)
{
    uint32_t depth = 0;
    size_t from = m->n;
    *n = 0;
    *items = NULL;
    if (m->marks == 0) {
        if (!m->lost)
            odd(m, ODD_NO_MARK);
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

/* A tuple of items[0..n), the deepest of which has this depth. */
static bool
push_tuple(struct machine *m, const struct item *items, size_t n, uint32_t depth)
{
    struct item tuple = { .kind = TUPLE, .first = OTHER, .depth = depth == UINT32_MAX ? depth : depth + 1 };
    if (n != 0) {
        tuple.first = items[0].kind;
        tuple.a = items[0].a;
        tuple.b = items[0].b;
    }
    return push(m, tuple);
}

/* TUPLE1 to TUPLE3. */
static bool
make_tuple(struct machine *m, size_t n)
{
    struct item items[3];
    uint32_t depth = 0;
    for (size_t i = n; i-- > 0;) {
        items[i] = pop(m);
        depth = items[i].depth > depth ? items[i].depth : depth;
    }
    return push_tuple(m, items, n, depth);
}

/* The container on top got something of this depth. */
static void
deepen(struct machine *m, uint32_t depth)
{
    struct item *item = top(m);
    if (item && depth != UINT32_MAX && depth + 1 > item->depth) {
        item->depth = depth + 1;
        if (item->depth > m->scan->depth)
            m->scan->depth = item->depth;
    }
}

static void
deepen_from_mark(struct machine *m)
{
    const struct item *items;
    size_t n;
    uint32_t depth = pop_mark(m, &items, &n);
    deepen(m, n != 0 ? depth : 0);
}

/* POP drops a mark as well. */
static void
drop_top(struct machine *m)
{
    if (m->n != 0 && m->stack[m->n - 1].kind == MARK)
        m->n--, m->marks--;
    else if (pop(m).kind == CALL)
        odd(m, ODD_UNUSED_CALL);
}

static void
drop_to_mark(struct machine *m)
{
    const struct item *items;
    size_t n;
    pop_mark(m, &items, &n);
    for (size_t i = 0; i < n; i++)
        if (items[i].kind == CALL)
            odd(m, ODD_UNUSED_CALL);
}

/* --- the memo -------------------------------------------------------------------------------------------- */

static const char *
index_of(const void *owner, uint32_t number, size_t *n)
{
    const struct machine *m = owner;
    *n = sizeof m->memo[number].index;
    return (const char *)&m->memo[number].index;
}

static bool
put(struct machine *m, uint64_t index)
{
    const struct item *item = top(m);
    struct item kept = item ? *item : (struct item){ .kind = UNKNOWN };
    m->puts++;
    if (index > m->nmemo && index - m->nmemo > 1000000)
        odd(m, ODD_MEMO_GAP);
    uint32_t number = (uint32_t)m->nmemo;
    bool again = true;
    if (!table_find(&m->by_index, index_of, m, (const char *)&index, sizeof index, &number)) {
        if (m->nmemo == MEMO_MAX) {
            if (!m->memo_lost)
                odd(m, ODD_UNTRACKED);
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

static bool
get(struct machine *m, uint64_t index)
{
    uint32_t number;
    m->gets++;
    if (table_find(&m->by_index, index_of, m, (const char *)&index, sizeof index, &number))
        return push(m, m->memo[number].item);
    if (!m->memo_lost)
        odd(m, ODD_MEMO_UNSET);
    return push_kind(m, UNKNOWN, 1);
}

/* A decimal number as Python's int() reads it: white space around it, a sign, single underscores between digits. */
static bool
decimal(uint64_t *number, const uint8_t *p, size_t n)
{
    while (n != 0 && memchr(" \t\n\r\f\v", *p, 6))
        p++, n--;
    while (n != 0 && memchr(" \t\n\r\f\v", p[n - 1], 6))
        n--;
    if (n != 0 && *p == '+')
        p++, n--;
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '_' && i != 0 && i + 1 < n && p[i - 1] != '_')
            continue;
        if (p[i] < '0' || p[i] > '9' || !num_mul(&value, value, 10) || !num_add(&value, value, p[i] - '0'))
            return false;
    }
    *number = value;
    return n != 0;
}

static bool
put_or_get_text(struct machine *m, const struct pickle_step *step)
{
    uint64_t index;
    if (decimal(&index, step->text, (size_t)step->text_len))
        return step->byte == OP_PUT ? put(m, index) : get(m, index);
    odd(m, ODD_NUMBER);
    return step->byte == OP_PUT || push_kind(m, UNKNOWN, 1);
}

/* --- texts ----------------------------------------------------------------------------------------------- */

static void
add_char(struct str *out, uint32_t c)
{
    char utf8[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (n == 1)
        utf8[0] = (char)c;
    for (size_t i = n; n > 1 && i-- > 0; c >>= 6)
        utf8[i] = (char)(i != 0 ? 0x80 | (c & 0x3F) : ((0xF00 >> n) & 0xFF) | c);
    str_add(out, utf8, n);
}

/* `digits` hexadecimal digits of p[0..n). */
static bool
hex(uint32_t *c, const uint8_t *p, size_t n, size_t digits)
{
    *c = 0;
    if (n < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        const char *all = "0123456789abcdef0123456789ABCDEF", *d = p[i] ? strchr(all, p[i]) : NULL;
        if (!d)
            return false;
        *c = *c << 4 | (uint32_t)((d - all) & 15);
    }
    return true;
}

/* The text of UNICODE, raw-unicode-escape: \uXXXX and \UXXXXXXXX, every other byte one of Latin-1. */
static void
add_raw(struct str *out, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n && out->len <= NAME_CUT; i++) {
        uint32_t c = p[i];
        size_t digits = i + 1 < n && p[i] == '\\' ? (p[i + 1] == 'u' ? 4 : p[i + 1] == 'U' ? 8 : 0) : 0;
        if (digits != 0 && hex(&c, p + i + 2, n - i - 2, digits) && c < 0x110000) {
            i += 1 + digits;
        } else if (p[i] == '\\' && i + 1 < n) {
            add_char(out, p[i++]);
            c = p[i];
        } else {
            c = p[i];
        }
        add_char(out, c);
    }
}

/* One escape of STRING, behind its backslash: how many bytes it takes; 0 when it is none. */
static size_t
escape(uint32_t *c, const uint8_t *p, size_t n)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    const char *plain = n != 0 && *p ? strchr(from, *p) : NULL;
    if (plain) {
        *c = (uint8_t)to[plain - from];
        return 1;
    }
    if (n != 0 && *p == 'x')
        return hex(c, p + 1, n - 1, 2) ? 3 : 0;
    size_t digits = 0;
    for (*c = 0; digits < 3 && digits < n && p[digits] >= '0' && p[digits] <= '7'; digits++)
        *c = *c << 3 | (uint32_t)(p[digits] - '0');
    *c &= 0xFF;
    return digits;
}

/* The text of STRING: in quotes, with the escapes of Python. */
static void
add_quoted(struct str *out, const uint8_t *p, size_t n)
{
    while (n != 0 && memchr(" \t\r\f\v", p[n - 1], 5))
        n--;
    if (n >= 2 && (*p == '\'' || *p == '"') && p[n - 1] == *p)
        p++, n -= 2;
    for (size_t i = 0; i < n && out->len <= NAME_CUT; i++) {
        uint32_t c = p[i];
        if (c == '\\')
            i += escape(&c, p + i + 1, n - i - 1);
        char byte = (char)c;
        str_add(out, &byte, 1);
    }
}

/* The text of an item; false when it has none. */
static bool
text_of(struct machine *m, struct str *out, const struct item *item)
{
    out->len = 0;
    const uint8_t *p = m->window->p + item->a;
    if (item->kind == TEXT)
        str_add(out, (const char *)p, (size_t)num_min(item->b, NAME_CUT));
    else if (item->kind == TEXT_RAW)
        add_raw(out, p, item->b);
    else if (item->kind == TEXT_QUOTED)
        add_quoted(out, p, item->b);
    else
        return false;
    return true;
}

static bool
push_text(struct machine *m, enum kind kind, const struct pickle_step *step)
{
    size_t at = (size_t)(step->text - m->window->p);
    return push(m, (struct item){ .kind = (uint8_t)kind, .a = (uint32_t)at, .b = (uint32_t)step->text_len, .depth = 1 });
}

/* What a string of bytes holds is a pickle when three opcodes can be read of it. */
static void
look_inside(struct machine *m, const struct pickle_step *step)
{
    const uint8_t *p = step->text;
    size_t n = (size_t)step->text_len;
    if (n < 2 || p[0] != OP_PROTO || p[1] > 5)
        return;
    struct pickle_step inner;
    for (unsigned i = 0; i < 3; i++, p += inner.size, n -= inner.size)
        if (pickle_op_next(&inner, p, n) != STEP_WHOLE)
            return;
    odd(m, ODD_NESTED);
}

/* --- globals --------------------------------------------------------------------------------------------- */

static const char *
key_of(const void *owner, uint32_t number, size_t *n)
{
    const struct machine *m = owner;
    const struct pickle_finding *f = &m->scan->finding[number];
    *n = 2 + f->module_len + f->name_len;
    return m->texts.p + f->text;
}

/* One more finding, whose key is the last n bytes of the texts; *number says which it is. */
static bool
list(struct machine *m, uint32_t *number, struct pickle_finding finding, size_t n)
{
    struct pickle_scan *s = m->scan;
    bool again = false;
    struct pickle_finding *all = array_grow(s->finding, s->nfindings, &s->room, sizeof *all, m->err);
    if (!all)
        return false;
    s->finding = all;
    finding.text = m->texts.len - n;
    *number = (uint32_t)s->nfindings;
    if (!table_add(&m->by_name, key_of, m, m->texts.p + finding.text, n, number, &again, m->err))
        return false;
    all[s->nfindings++] = finding;
    return true;
}

static void
count_verdict(struct pickle_scan *s, const struct pickle_finding *f)
{
    s->verdicts[f->verdict]++;
    s->unresolved += !f->module || !f->name;
}

/* A global is named: *number says which finding it is, or UNLISTED. What cannot be told is NULL. */
static bool
name(struct machine *m, uint32_t *number, uint8_t opcode, const struct str *module, const struct str *attribute)
{
    struct pickle_finding f = { .offset = m->at, .count = 1, .opcode = opcode, .verdict = VERDICT_DANGEROUS,
        .why = "what it names cannot be told" };
    const char none = '\0';
    size_t before = m->texts.len;
    f.module = module && module->p ? module->p : module ? "" : NULL;        /* NULL or not, until the end */
    f.name = attribute && attribute->p ? attribute->p : attribute ? "" : NULL;
    f.module_len = module ? (size_t)num_min(module->len, NAME_CUT) : 1;
    f.name_len = attribute ? (size_t)num_min(attribute->len, NAME_CUT) : 1;
    str_add(&m->texts, (const char *)&opcode, 1);
    str_add(&m->texts, module ? f.module : &none, f.module_len);
    str_add(&m->texts, "\n", 1);
    str_add(&m->texts, attribute ? f.name : &none, f.name_len);
    if (m->texts.failed || m->module.failed || m->name.failed)
        return err_memory(m->err, m->texts.room);
    size_t n = m->texts.len - before;
    if (table_find(&m->by_name, key_of, m, m->texts.p + before, n, number)) {
        m->texts.len = before;
        m->scan->finding[*number].count++;
        return true;
    }
    if (module && attribute)
        f.verdict = dangerous_verdict(&f.why, (const uint8_t *)f.module, f.module_len, (const uint8_t *)f.name, f.name_len);
    count_verdict(m->scan, &f);
    /* Those that matter have as much room again. */
    if (m->scan->nfindings < (f.verdict == VERDICT_DANGEROUS ? 2 * LISTED_MAX : LISTED_MAX) && m->texts.len < TEXTS_MAX)
        return list(m, number, f, n);
    odd(m, ODD_UNLISTED);
    m->texts.len = before;
    *number = UNLISTED;
    return true;
}

/* GLOBAL and INST, which have both as lines. */
static bool
name_lines(struct machine *m, uint32_t *number, const struct pickle_step *step)
{
    m->module.len = m->name.len = 0;
    str_add(&m->module, (const char *)step->text, (size_t)num_min(step->text_len, NAME_CUT));
    str_add(&m->name, (const char *)step->second, (size_t)num_min(step->second_len, NAME_CUT));
    return name(m, number, step->byte, &m->module, &m->name);
}

static bool
push_global(struct machine *m, uint32_t number)
{
    return push(m, (struct item){ .kind = GLOBAL, .a = number, .depth = 1 });
}

static bool
stack_global(struct machine *m)
{
    struct item attribute = pop(m), module = pop(m);
    uint32_t number;
    const struct str *first = text_of(m, &m->module, &module) ? &m->module : NULL;
    const struct str *second = text_of(m, &m->name, &attribute) ? &m->name : NULL;
    return name(m, &number, OP_STACK_GLOBAL, first, second) && push_global(m, number);
}

static bool
extension(struct machine *m, uint8_t opcode)
{
    uint32_t number;
    odd(m, ODD_EXTENSION);
    return name(m, &number, opcode, NULL, NULL) && push_global(m, number);
}

/* --- calls ----------------------------------------------------------------------------------------------- */

static void
mark_called(struct machine *m, uint32_t number, uint8_t via)
{
    if (number != UNLISTED && m->scan->finding[number].via == 0)
        m->scan->finding[number].via = via;
}

/* What calls the first of its arguments. */
static bool
calls_first(const struct machine *m, uint32_t number)
{
    static const char path[] = "torch._tensor\n_rebuild_from_type_v2";
    size_t n;
    const char *key = number != UNLISTED ? key_of(m, number, &n) : NULL;
    return key && n == sizeof path && memcmp(key + 1, path, sizeof path - 1) == 0;
}

/* The callee is called with args. */
static bool
call(struct machine *m, uint8_t via, const struct item *callee, const struct item *args)
{
    if (callee->kind == GLOBAL) {
        mark_called(m, callee->a, via);
        if (args->kind == TUPLE && args->first == GLOBAL && calls_first(m, callee->a))
            mark_called(m, args->a, via);
    }
    return push_kind(m, CALL, (uint64_t)args->depth + 1);
}

static bool
reduce(struct machine *m, uint8_t via)
{
    if (via == OP_NEWOBJ_EX)
        pop(m);
    struct item args = pop(m), callee = pop(m);
    return call(m, via, &callee, &args);
}

/* OBJ: the class is the first item above the mark. */
static bool
obj(struct machine *m)
{
    const struct item *items;
    size_t n;
    uint32_t depth = pop_mark(m, &items, &n);
    struct item callee = n != 0 ? items[0] : (struct item){ .kind = UNKNOWN }, args = { .kind = OTHER, .depth = depth };
    return call(m, OP_OBJ, &callee, &args);
}

static bool
inst(struct machine *m, const struct pickle_step *step)
{
    const struct item *items;
    size_t n;
    uint32_t number, depth = pop_mark(m, &items, &n);
    if (!name_lines(m, &number, step))
        return false;
    mark_called(m, number, OP_INST);
    return push_kind(m, CALL, (uint64_t)depth + 1);
}

static void
build(struct machine *m)
{
    struct item state = pop(m);
    const struct item *object = top(m);
    if (object && object->kind == GLOBAL)
        mark_called(m, object->a, OP_BUILD);
    if (object)
        deepen(m, state.depth);
}

/* torch's are ('storage', class, key, ...). */
static bool
persistent(struct machine *m)
{
    struct item id = pop(m), word = { .kind = id.first, .a = id.a, .b = id.b };
    if (id.kind != TUPLE || !text_of(m, &m->name, &word) || m->name.len != 7 || memcmp(m->name.p, "storage", 7) != 0)
        odd(m, ODD_PERSISTENT);
    return push_kind(m, OTHER, 1);
}

/* --- opcodes --------------------------------------------------------------------------------------------- */

static void
proto(struct machine *m, uint64_t number)
{
    if (m->scan->protocol >= 0)
        odd(m, ODD_SECOND_PROTO);
    else if (m->at != 0)
        odd(m, ODD_LATE_PROTO);
    if (m->scan->protocol < 0)
        m->scan->protocol = (int)number;
    if (number > 5)
        odd(m, ODD_PROTOCOL);
}

static bool
container(struct machine *m)
{
    const struct item *items;
    size_t n;
    uint32_t depth = pop_mark(m, &items, &n);
    return push_kind(m, OTHER, (uint64_t)depth + 1);
}

static bool
dup(struct machine *m)
{
    const struct item *item = top(m);
    if (++m->dups == 101)
        odd(m, ODD_DUPS);
    return item ? push(m, *item) : push_kind(m, UNKNOWN, 1);
}

static bool
tuple(struct machine *m)
{
    const struct item *items;
    size_t n;
    uint32_t depth = pop_mark(m, &items, &n);
    struct item first = n != 0 ? items[0] : (struct item){ .kind = OTHER };
    return push_tuple(m, &first, n != 0, depth);
}

/* The number that stacked pickles of torch begin with. */
static bool
is_magic(const struct pickle_step *step)
{
    static const uint8_t bytes[] = { 0x6C, 0xFC, 0x9C, 0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19 };
    static const char digits[] = "119547037146038801333356";
    const struct { const void *p; size_t n; } forms[] = { { bytes, sizeof bytes }, { digits, sizeof digits - 1 } };
    bool line = step->byte == OP_LONG || step->byte == OP_INT;
    size_t n = (size_t)step->text_len;
    if (line && n != 0 && step->text[n - 1] == 'L')
        n--;
    return (line || step->byte == OP_LONG1 || step->byte == OP_LONG4) && n == forms[line].n
        && memcmp(step->text, forms[line].p, n) == 0;
}

static bool
number(struct machine *m, const struct pickle_step *step)
{
    if (m->ops_but_proto == 1) {
        m->scan->plain_int = true;
        m->scan->magic = is_magic(step);
    }
    return push_kind(m, OTHER, 1);
}

/* What takes values and leaves none, or names and calls: false without memory. */
static bool
run_other(struct machine *m, const struct pickle_step *step)
{
    switch (step->byte) {
    case OP_APPEND:
        return deepen(m, pop(m).depth), true;
    case OP_SETITEM: {
        struct item value = pop(m), key = pop(m);
        return deepen(m, value.depth > key.depth ? value.depth : key.depth), true;
    }
    case OP_APPENDS:
    case OP_SETITEMS:
    case OP_ADDITEMS:
        return deepen_from_mark(m), true;
    case OP_BUILD:
        return build(m), true;
    case OP_POP:
        return drop_top(m), true;
    case OP_POP_MARK:
        return drop_to_mark(m), true;
    case OP_DUP:
        return dup(m);
    case OP_REDUCE:
    case OP_NEWOBJ:
    case OP_NEWOBJ_EX:
        return reduce(m, step->byte);
    case OP_OBJ:
        return obj(m);
    case OP_INST:
        return inst(m, step);
    case OP_GLOBAL: {
        uint32_t number;
        return name_lines(m, &number, step) && push_global(m, number);
    }
    case OP_STACK_GLOBAL:
        return stack_global(m);
    case OP_EXT1:
    case OP_EXT2:
    case OP_EXT4:
        return extension(m, step->byte);
    case OP_PERSID:
        return odd(m, ODD_PERSISTENT), push_kind(m, OTHER, 1);
    case OP_BINPERSID:
        return persistent(m);
    case OP_NEXT_BUFFER:
        return odd(m, ODD_BUFFER), push_kind(m, OTHER, 1);
    default:                    /* FRAME, READONLY_BUFFER, STOP */
        return true;
    }
}

/* What makes a value: false without memory. */
static bool
run(struct machine *m, const struct pickle_step *step)
{
    switch (step->byte) {
    case OP_PROTO:
        return proto(m, step->number), true;
    case OP_MARK:
        return push_kind(m, MARK, 0);
    case OP_NONE: case OP_NEWTRUE: case OP_NEWFALSE: case OP_FLOAT: case OP_BINFLOAT:
    case OP_EMPTY_LIST: case OP_EMPTY_DICT: case OP_EMPTY_SET:
        return push_kind(m, OTHER, 1);
    case OP_INT: case OP_BININT: case OP_BININT1: case OP_BININT2: case OP_LONG: case OP_LONG1: case OP_LONG4:
        return number(m, step);
    case OP_BINBYTES: case OP_SHORT_BINBYTES: case OP_BINBYTES8: case OP_BYTEARRAY8:
        return look_inside(m, step), push_kind(m, OTHER, 1);
    case OP_BINSTRING: case OP_SHORT_BINSTRING:
        look_inside(m, step);
        return push_text(m, TEXT, step);
    case OP_BINUNICODE: case OP_SHORT_BINUNICODE: case OP_BINUNICODE8:
        return push_text(m, TEXT, step);
    case OP_UNICODE:
        return push_text(m, TEXT_RAW, step);
    case OP_STRING:
        return push_text(m, TEXT_QUOTED, step);
    case OP_EMPTY_TUPLE:
        return push_tuple(m, NULL, 0, 0);
    case OP_TUPLE1: case OP_TUPLE2: case OP_TUPLE3:
        return make_tuple(m, (size_t)(step->byte - OP_TUPLE1) + 1);
    case OP_TUPLE:
        return tuple(m);
    case OP_LIST: case OP_DICT: case OP_FROZENSET:
        return container(m);
    case OP_PUT: case OP_GET:
        return put_or_get_text(m, step);
    case OP_BINPUT: case OP_LONG_BINPUT:
        return put(m, step->number);
    case OP_MEMOIZE:
        return put(m, m->nmemo);
    case OP_BINGET: case OP_LONG_BINGET:
        return get(m, step->number);
    default:
        return run_other(m, step);
    }
}

/* Read the next opcode, holding more when it is cut. False at the end of what can be read. */
static bool
next(struct machine *m, struct window *w, struct pickle_step *step)
{
    enum pickle_step_end end;
    while ((end = pickle_op_next(step, w->p + m->at, w->n - m->at)) == STEP_CUT && !w->ended && w->n < w->max)
        if (!window_hold(w, w->n + 1, m->err))
            return false;
    if (end == STEP_UNKNOWN)
        odd(m, ODD_UNKNOWN_OPCODE);
    else if (end == STEP_CUT)
        odd(m, w->ended ? ODD_TRUNCATED : ODD_TOO_LARGE);
    else if (end == STEP_NEGATIVE)
        odd(m, ODD_NUMBER);
    return end == STEP_WHOLE || end == STEP_NEGATIVE;
}

/* What is odd about all of it. */
static void
look_back(struct machine *m)
{
    struct pickle_scan *s = m->scan;
    if (m->gets > 100 && m->gets > 10 * m->puts)
        odd(m, ODD_MANY_GETS);
    if (m->gets > 100 && m->gets > 50 * m->puts)
        odd(m, ODD_EXPANSION);
    if (s->stopped && m->n > 1)
        odd(m, ODD_LEFT_ON_STACK);
    if (s->stopped && m->n == 0 && !m->lost)
        odd(m, ODD_UNDERFLOW);
    s->plain_int = s->plain_int && s->stopped && m->ops_but_proto == 2;
    s->magic = s->magic && s->plain_int;
}

/* Findings point into texts that do not move any more. */
static void
settle(struct pickle_scan *s, struct str *texts)
{
    for (size_t i = 0; i < s->nfindings; i++) {
        struct pickle_finding *f = &s->finding[i];
        f->module = f->module ? texts->p + f->text + 1 : NULL;
        f->name = f->name ? texts->p + f->text + 2 + f->module_len : NULL;
        f->module_len = f->module ? f->module_len : 0;
        f->name_len = f->name ? f->name_len : 0;
    }
    s->texts = texts->p;
    *texts = (struct str){ 0 };
}

bool
pickle_scan(struct pickle_scan *scan, struct window *window, struct err *err)
{
    struct machine m = { .scan = scan, .window = window, .err = err };
    struct pickle_step step;
    bool ok = true;
    *scan = (struct pickle_scan){ .protocol = -1 };
    while (ok && !scan->stopped && next(&m, window, &step)) {
        scan->opcodes++;
        m.ops_but_proto += step.byte != OP_PROTO && step.byte != OP_FRAME;
        ok = run(&m, &step);
        scan->stopped = step.byte == OP_STOP;
        m.at += scan->stopped ? 0 : step.size;
    }
    ok = ok && err->kind == ERR_NONE;
    if (ok)
        look_back(&m);
    scan->length = m.at + scan->stopped;
    settle(scan, &m.texts);
    free(m.stack);
    free(m.memo);
    table_clear(&m.by_index);
    table_clear(&m.by_name);
    str_clear(&m.texts);
    str_clear(&m.module);
    str_clear(&m.name);
    return ok;
}

void
pickle_scan_clear(struct pickle_scan *scan)
{
    free(scan->finding);
    free(scan->texts);
    *scan = (struct pickle_scan){ 0 };
}
