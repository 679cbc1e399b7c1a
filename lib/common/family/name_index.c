#include "family/name_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"

enum { HOLE = 1, NUMBER_MAX = 1 << 24, NONE = UINT32_MAX };

/* A pattern: its text, with a byte HOLE for each hole, then "@" and the tag. */
struct indexed_name {
    char *key;                  /* n bytes; owned */
    size_t n;
    uint32_t next;              /* the next pattern with the same key, or NONE */
    uint32_t last;              /* of the first with this key: the last one */
    uint32_t layer, expert;     /* sets of the numbers that are {b}, {x} */
};

/* Places of holes that patterns have. */
struct hole_places {
    uint32_t set;               /* of the numbers that are holes */
    uint32_t numbers;           /* how many numbers the pattern has */
};

struct name_index {
    struct indexed_name *list;  /* n of them; owned */
    size_t n, room;
    struct hole_places places[NAME_INDEX_HOLES];        /* nplaces of them */
    size_t nplaces;
    struct table table;         /* of the first pattern with each key */
    struct str key;             /* the key looked up last */
};

struct name_index *
name_index_new(struct err *err)
{
    struct name_index *index = calloc(1, sizeof *index);
    if (!index)
        err_memory(err, sizeof *index);
    return index;
}

void
name_index_free(struct name_index *index)
{
    if (!index)
        return;
    for (size_t i = 0; i < index->n; i++)
        free(index->list[i].key);
    free(index->list);
    table_clear(&index->table);
    str_clear(&index->key);
    free(index);
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *
key_of(const void *of, uint32_t number, size_t *n)
{
    const struct name_index *index = of;
    *n = index->list[number].n;
    return index->list[number].key;
}

static void
add_tag(struct str *key, const char *tag)
{
    str_text(key, "@");
    str_text(key, str_or(tag, ""));
}

/* --- patterns */

/* Reads a pattern into `key`, and the sets of its holes. */
static bool
read_pattern(struct str *key, struct indexed_name *name, uint32_t *numbers, const char *pattern, const char *where,
    struct err *err)
{
    for (const char *p = pattern; *p;) {
        bool hole = str_begins(p, "{b}") || str_begins(p, "{x}");
        if (hole && ((p > pattern && (is_digit(p[-1]) || p[-1] == '}')) || is_digit(p[3])))
            return err_set(err, ERR_MALFORMED, "%s: found a digit or brace beside %.3s, expected other text",
                where, p);
        if (!hole && !is_digit(*p)) {
            str_add(key, p++, 1);
            continue;
        }
        if (*numbers == NAME_INDEX_NUMBERS)
            return err_set(err, ERR_LIMIT, "%s: more than %d numbers in a name", where, NAME_INDEX_NUMBERS);
        uint32_t bit = UINT32_C(1) << (*numbers)++;
        if (hole) {
            *(p[1] == 'b' ? &name->layer : &name->expert) |= bit;
            str_add(key, &(const char){ HOLE }, 1);
            p += 3;
        }
        while (!hole && is_digit(*p))
            str_add(key, p++, 1);
    }
    return true;
}

static bool
add_places(struct name_index *index, const struct indexed_name *name, uint32_t numbers, const char *where, struct err *err)
{
    const struct hole_places places = { name->layer | name->expert, numbers };
    for (size_t i = 0; i < index->nplaces; i++)
        if (index->places[i].set == places.set && (places.set == 0 || index->places[i].numbers == numbers))
            return true;
    if (index->nplaces == NAME_INDEX_HOLES)
        return err_set(err, ERR_LIMIT, "%s: more than %d arrangements of {b} and {x} in names", where,
            NAME_INDEX_HOLES);
    index->places[index->nplaces++] = places;
    return true;
}

/* Adds a pattern whose key is complete, after all patterns with the same key. */
static bool
link_name(struct name_index *index, struct indexed_name *name, struct err *err)
{
    uint32_t number = (uint32_t)index->n;
    bool again = false;
    struct indexed_name *list = array_grow(index->list, index->n, &index->room, sizeof *list, err);
    if (!list)
        return false;
    index->list = list;
    name->next = NONE;
    name->last = number;
    list[index->n] = *name;
    if (!table_add(&index->table, key_of, index, name->key, name->n, &number, &again, err))
        return false;
    if (again) {
        list[list[number].last].next = (uint32_t)index->n;
        list[number].last = (uint32_t)index->n;
    }
    index->n++;
    return true;
}

bool
name_index_add(struct name_index *index, const char *pattern, const char *tag, const char *where, struct err *err)
{
    struct str key = { 0 };
    struct indexed_name name = { 0 };
    uint32_t numbers = 0;
    bool ok = read_pattern(&key, &name, &numbers, pattern, where, err) && add_places(index, &name, numbers, where, err);
    add_tag(&key, tag);
    if (ok && key.failed)
        ok = err_memory(err, key.len);
    name.key = key.p;
    name.n = key.len;
    if (ok && link_name(index, &name, err))
        return true;
    str_clear(&key);
    return false;
}

/* --- look-up */

/* A number in a name. */
struct number_place {
    size_t at, n;
};

/* Finds the numbers of a name. Returns how many, at most NAME_INDEX_NUMBERS + 1. */
static size_t
find_numbers(struct number_place *place, uint64_t *number, const char *name, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n && count <= NAME_INDEX_NUMBERS; i++) {
        if (!is_digit(name[i]))
            continue;
        size_t from = i;
        uint64_t value = 0;
        for (; i < n && is_digit(name[i]); i++)
            value = value < NUMBER_MAX ? 10 * value + (uint64_t)(name[i] - '0') : NUMBER_MAX;
        if (count < NAME_INDEX_NUMBERS) {
            place[count] = (struct number_place){ from, i - from };
            if (name[from] == '0' && i - from > 1)
                number[count] = NUMBER_MAX;
            else
                number[count] = value;
        }
        count++;
    }
    return count;
}

/* Makes the key of a name whose numbers in `set` are holes. Returns false if one of them cannot be. */
static bool
make_key(struct name_index *index, const struct name_walk *walk, const struct number_place *place, uint32_t set,
    const char *tag)
{
    size_t done = 0;
    index->key.len = 0;
    for (size_t i = 0; set >> i != 0; i++) {
        if (!(set >> i & 1))
            continue;
        if (walk->number[i] >= NUMBER_MAX)
            return false;
        str_add(&index->key, walk->name + done, place[i].at - done);
        str_add(&index->key, &(const char){ HOLE }, 1);
        done = place[i].at + place[i].n;
    }
    str_add(&index->key, walk->name + done, walk->n - done);
    add_tag(&index->key, tag);
    return true;
}

bool
name_walk_begin(struct name_walk *walk, struct name_index *index, const char *name, size_t n, const char *tag, struct err *err)
{
    struct number_place place[NAME_INDEX_NUMBERS];
    walk->index = index;
    walk->name = name;
    walk->n = n;
    walk->numbers = find_numbers(place, walk->number, name, n);
    for (size_t i = 0; i < index->nplaces; i++) {
        const struct hole_places *p = &index->places[i];
        walk->at[i] = NONE;
        if ((p->set == 0 || p->numbers == walk->numbers) && make_key(index, walk, place, p->set, tag)
                && !table_find(&index->table, key_of, index, index->key.p, index->key.len, &walk->at[i]))
            walk->at[i] = NONE;
    }
    return !index->key.failed || err_memory(err, n);
}

/* Sets *value to the number at the holes in `set`. Returns false if they differ. */
static bool
same_number(uint64_t *value, const struct name_walk *walk, uint32_t set)
{
    bool any = false;
    *value = 0;
    for (size_t i = 0; set >> i != 0; i++) {
        if (!(set >> i & 1))
            continue;
        if (any && walk->number[i] != *value)
            return false;
        *value = walk->number[i];
        any = true;
    }
    return true;
}

bool
name_walk_next(struct name_walk *walk, uint32_t *pattern, uint64_t *b, uint64_t *x)
{
    const struct name_index *index = walk->index;
    for (;;) {
        size_t best = index->nplaces;
        for (size_t i = 0; i < index->nplaces; i++)
            if (walk->at[i] != NONE && (best == index->nplaces || walk->at[i] < walk->at[best]))
                best = i;
        if (best == index->nplaces)
            return false;
        *pattern = walk->at[best];
        const struct indexed_name *name = &index->list[*pattern];
        walk->at[best] = name->next;
        if (same_number(b, walk, name->layer) && same_number(x, walk, name->expert))
            return true;
    }
}
