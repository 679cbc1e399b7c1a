#include "base/matcher.h"

#include <string.h>

enum { BYTE, ANY, CLASS, SPLIT, BEGIN, END, DONE };

enum { NONE = UINT16_MAX, DEPTH = 32 };

struct parser {
    struct matcher *p;
    const char *at, *end;
    int depth;                      /* nested parentheses */
    bool bad;
};

/* A fragment of an expression: its first state, and the list of its open ends, chained through their targets: 2 * state, + 1
 * for or_to. */
struct matcher_part {
    uint16_t start, ends;
};

static uint16_t
new_state(struct parser *r, uint8_t op, uint8_t c, uint16_t set)
{
    struct matcher *p = r->p;
    if (p->nstates == MATCHER_STATES) {
        r->bad = true;
        return 0;
    }
    p->state[p->nstates] = (struct matcher_state){ .op = op, .c = c, .to = NONE, .or_to = NONE, .set = set };
    return p->nstates++;
}

static uint16_t *
target(struct parser *r, uint16_t end)
{
    struct matcher_state *s = &r->p->state[end / 2];
    if (end % 2)
        return &s->or_to;
    return &s->to;
}

/* Connects all open ends of a list to a state. */
static void
lead(struct parser *r, uint16_t ends, uint16_t to)
{
    while (ends != NONE) {
        uint16_t *at = target(r, ends);
        ends = *at;
        *at = to;
    }
}

/* Concatenates two lists. */
static uint16_t
both(struct parser *r, uint16_t a, uint16_t b)
{
    uint16_t last = a;
    if (a == NONE)
        return b;
    while (*target(r, last) != NONE)
        last = *target(r, last);
    *target(r, last) = b;
    return a;
}

static struct matcher_part
one(struct parser *r, uint8_t op, uint8_t c, uint16_t set)
{
    uint16_t s = new_state(r, op, c, set);
    return (struct matcher_part){ s, (uint16_t)(2 * s) };
}

/* --- classes */

static void
add_range(uint32_t set[8], unsigned from, unsigned to)
{
    for (unsigned c = from; c <= to; c++)
        set[c / 32] |= UINT32_C(1) << c % 32;
}

static void
invert(uint32_t set[8])
{
    for (int i = 0; i < 8; i++)
        set[i] = ~set[i];
}

/* Adds what \d, \w, \s or a capital of them matches. Returns false for any other letter. */
static bool
add_named(uint32_t set[8], char name)
{
    uint32_t own[8] = { 0 };
    switch (name | 0x20) {
    case 'd':
        add_range(own, '0', '9');
        break;
    case 'w':
        add_range(own, '0', '9');
        add_range(own, 'a', 'z');
        add_range(own, 'A', 'Z');
        add_range(own, '_', '_');
        add_range(own, 0x80, 0xFF);
        break;
    case 's':
        add_range(own, '\t', '\r');
        add_range(own, ' ', ' ');
        break;
    default:
        return false;
    }
    if (name < 'a')
        invert(own);
    for (int i = 0; i < 8; i++)
        set[i] |= own[i];
    return true;
}

static bool
is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static uint32_t *
new_set(struct parser *r)
{
    if (r->p->nsets == sizeof r->p->sets / sizeof *r->p->sets) {
        r->bad = true;
        return NULL;
    }
    return memset(r->p->sets[r->p->nsets++], 0, sizeof *r->p->sets);
}

/* Parses one end of a range in [ ]: a byte, or \ and punctuation. */
static bool
class_byte(struct parser *r, unsigned char *c)
{
    if (*r->at == '\\' && (r->at + 1 == r->end || is_letter_or_digit(r->at[1])))
        return false;
    r->at += *r->at == '\\';
    *c = (unsigned char)*r->at++;
    return true;
}

/* Parses [...] after its opening bracket. */
static struct matcher_part
read_class(struct parser *r)
{
    uint32_t *set = new_set(r);
    const char *first;
    bool inverted = r->at < r->end && *r->at == (r->p->glob ? '!' : '^');
    r->at += inverted;
    for (first = r->at; set && r->at < r->end && (*r->at != ']' || r->at == first);) {
        unsigned char from, to;
        if (!r->p->glob && *r->at == '\\' && r->at + 1 < r->end && add_named(set, r->at[1])) {
            r->at += 2;
            continue;
        }
        if (!class_byte(r, &from))
            break;
        to = from;
        if (r->end - r->at >= 2 && *r->at == '-' && r->at[1] != ']') {
            r->at++;
            if (!class_byte(r, &to))
                break;
        }
        r->bad = r->bad || from > to;
        if (!r->bad)
            add_range(set, from, to);
    }
    r->bad = r->bad || r->at == r->end || *r->at != ']';
    r->at++;
    if (set && inverted)
        invert(set);
    return one(r, CLASS, 0, (uint16_t)(r->p->nsets - 1));
}

/* --- expressions */

static struct matcher_part read_choice(struct parser *r);

static struct matcher_part
read_escape(struct parser *r)
{
    if (r->at == r->end) {
        r->bad = true;
        return (struct matcher_part){ 0, NONE };
    }
    char c = *r->at++;
    if (!is_letter_or_digit(c))
        return one(r, BYTE, (uint8_t)c, 0);
    uint32_t *set = new_set(r);
    r->bad = r->bad || !set || !add_named(set, c);
    return one(r, CLASS, 0, (uint16_t)(r->p->nsets - 1));
}

static struct matcher_part
read_group(struct parser *r)
{
    if (r->end - r->at >= 1 && *r->at == '?') {
        r->bad = r->bad || r->end - r->at < 2 || r->at[1] != ':';
        r->at += 2;
    }
    r->bad = r->bad || ++r->depth > DEPTH;
    struct matcher_part p = r->bad ? (struct matcher_part){ 0, NONE } : read_choice(r);
    r->depth--;
    r->bad = r->bad || r->at >= r->end || *r->at != ')';
    r->at++;
    return p;
}

static struct matcher_part
read_atom(struct parser *r)
{
    char c = *r->at++;
    if (c == '[')
        return read_class(r);
    if (r->p->glob)
        return one(r, c == '*' || c == '?' ? ANY : BYTE, (uint8_t)c, 0);
    switch (c) {
    case '(':   return read_group(r);
    case '\\':  return read_escape(r);
    case '.':   return one(r, ANY, 0, 0);
    case '^':   return one(r, BEGIN, 0, 0);
    case '$':   return one(r, END, 0, 0);
    case '*': case '+': case '?': case '{': case '}': case ']':
        r->bad = true;
        return (struct matcher_part){ 0, NONE };
    default:
        return one(r, BYTE, (uint8_t)c, 0);
    }
}

/* Parses an atom and its repetition; the star of a glob is both. */
static struct matcher_part
read_repeated(struct parser *r)
{
    char how = *r->at;
    struct matcher_part p = read_atom(r);
    if (!r->p->glob)
        how = r->at < r->end ? *r->at : '\0';
    if (r->bad || (how != '*' && (r->p->glob || (how != '+' && how != '?'))))
        return p;
    r->at += !r->p->glob;
    uint16_t split = new_state(r, SPLIT, 0, 0);
    if (r->bad)
        return p;
    r->p->state[split].to = p.start;
    uint16_t skip = (uint16_t)(2 * split + 1);
    if (!r->p->glob && r->at < r->end && *r->at == '?')     /* a lazy form matches the same names */
        r->at++;
    if (how == '?')
        return (struct matcher_part){ split, both(r, p.ends, skip) };
    lead(r, p.ends, split);
    return (struct matcher_part){ how == '*' ? split : p.start, skip };
}

static struct matcher_part
read_sequence(struct parser *r)
{
    struct matcher_part p = { NONE, NONE };
    while (!r->bad && r->at < r->end && (r->p->glob || (*r->at != '|' && *r->at != ')'))) {
        struct matcher_part next = read_repeated(r);
        if (r->bad)
            break;
        if (p.start == NONE)
            p.start = next.start;
        else
            lead(r, p.ends, next.start);
        p.ends = next.ends;
    }
    if (p.start != NONE || r->bad)
        return p;
    uint16_t empty = new_state(r, SPLIT, 0, 0);         /* an empty alternative: both ways lead on */
    return (struct matcher_part){ empty, (uint16_t)(2 * empty) };
}

static struct matcher_part
read_choice(struct parser *r)
{
    struct matcher_part p = read_sequence(r);
    while (!r->bad && r->at < r->end && *r->at == '|') {
        r->at++;
        struct matcher_part other = read_sequence(r);
        uint16_t split = new_state(r, SPLIT, 0, 0);
        if (r->bad)
            break;
        r->p->state[split].to = p.start;
        r->p->state[split].or_to = other.start;
        p = (struct matcher_part){ split, both(r, p.ends, other.ends) };
    }
    return p;
}

bool
matcher_read(struct matcher *p, const char *text, size_t n, bool glob)
{
    struct parser r = { .p = p, .at = text, .end = text + n };
    p->nstates = p->nsets = 0;
    p->glob = glob;
    struct matcher_part all = read_choice(&r);
    uint16_t done = new_state(&r, DONE, 0, 0);
    if (r.bad || r.at != r.end)
        return false;
    lead(&r, all.ends, done);
    p->start = all.start;
    return true;
}

/* --- matching */

/* The states that wait for the next byte. */
struct walk {
    uint16_t list[MATCHER_STATES];
    size_t n;
    uint32_t seen[MATCHER_STATES / 32];
    bool done;
};

/* Adds a state and all states that are reached from it without a byte. */
static void
reach(const struct matcher *p, struct walk *w, uint16_t from, bool at_begin, bool at_end)
{
    uint16_t stack[2 * MATCHER_STATES];
    size_t n = 0;
    stack[n++] = from;
    while (n != 0) {
        uint16_t i = stack[--n];
        if (i == NONE || (w->seen[i / 32] >> i % 32 & 1))
            continue;
        w->seen[i / 32] |= UINT32_C(1) << i % 32;
        const struct matcher_state *s = &p->state[i];
        if (s->op == DONE) {
            w->done = true;
        } else if (s->op == SPLIT) {
            stack[n++] = s->to;
            stack[n++] = s->or_to;
        } else if (s->op == BEGIN || s->op == END) {
            if (s->op == BEGIN ? at_begin : at_end)
                stack[n++] = s->to;
        } else {
            w->list[w->n++] = i;
        }
    }
}

static bool
takes(const struct matcher *p, const struct matcher_state *s, unsigned char c)
{
    switch (s->op) {
    case BYTE:  return s->c == c;
    case ANY:   return c != '\n';
    default:    return p->sets[s->set][c / 32] >> c % 32 & 1;
    }
}

/* Matches at `from`. */
static bool
match_at(const struct matcher *p, const char *name, size_t n, size_t from, uint64_t *left)
{
    struct walk now = { .n = 0 };
    reach(p, &now, p->start, from == 0, from == n);
    for (size_t i = from; i < n; i++) {
        if (now.done && !p->glob)
            return true;
        if (now.n == 0)
            return false;
        struct walk next = { .n = 0 };
        uint64_t cost = 1 + now.n;
        if (*left > cost)
            *left = *left - cost;
        else
            *left = 0;
        if (*left == 0)
            return false;
        for (size_t k = 0; k < now.n; k++) {
            const struct matcher_state *s = &p->state[now.list[k]];
            if (takes(p, s, (unsigned char)name[i]))
                reach(p, &next, s->to, false, i + 1 == n);
        }
        now = next;
    }
    return now.done;
}

bool
matcher_match(const struct matcher *p, const char *name, size_t n, uint64_t *left)
{
    return match_at(p, name, n, 0, left);
}

bool
matcher_find(const struct matcher *p, const char *name, size_t n, size_t *at, uint64_t *left)
{
    for (*at = 0; *at <= n && *left != 0; ++*at)
        if (match_at(p, name, n, *at, left))
            return true;
    return false;
}
