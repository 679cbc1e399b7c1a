/* The values of a pickle: allocated in chunks that are freed together, and charged to its limits. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/num.h"
#include "container/torch/pickle_priv.h"

enum { LEAST_CHUNK = 4 << 10, LARGEST_CHUNK = 1 << 20, FEW = 8 };

struct heap_chunk {
    struct heap_chunk *next;
    size_t used, room;
    _Alignas(8) uint8_t bytes[];
};

/* --- memory */

static bool
charge(struct pickle *k, uint64_t n)
{
    uint64_t max = k->limits->heap;
    if (n > max || k->used > max - n)
        return err_at(k->err, ERR_LIMIT, k->at, "size of the values in the pickle exceeds the limit of %" PRIu64 " bytes "
            "(pickle_heap, built in)", max);
    k->used += n;
    return budget_bytes(k->budget, n, "pickle values", k->err);
}

void *
heap_grow(struct pickle *k, void *array, size_t n, size_t *room, size_t size)
{
    enum { LEAST = 64 };
    if (n < *room)
        return array;
    if (charge(k, (*room ? *room : LEAST) * size))
        return array_grow(array, n, room, size, k->err);
    return NULL;
}

static bool
add_chunk(struct pickle *k, size_t least)
{
    size_t room = LEAST_CHUNK;
    if (k->chunks)
        room = (size_t)num_min(2 * k->chunks->room, LARGEST_CHUNK);
    if (room < least)
        room = least;
    struct heap_chunk *chunk = NULL;
    if (charge(k, room))
        chunk = malloc(sizeof *chunk + room);
    if (!chunk)
        return err_memory(k->err, room);
    *chunk = (struct heap_chunk){ .next = k->chunks, .room = room };
    k->chunks = chunk;
    return true;
}

void *
heap_take(struct pickle *k, size_t n)
{
    n = (n + 7) & ~(size_t)7;
    if ((!k->chunks || n > k->chunks->room - k->chunks->used) && !add_chunk(k, n))
        return NULL;
    void *p = k->chunks->bytes + k->chunks->used;
    k->chunks->used += n;
    return p;
}

static void
free_chunks(struct heap_chunk *chunk)
{
    for (struct heap_chunk *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
}

void
pickle_free(struct pickle *k)
{
    if (!k)
        return;
    free_chunks(k->chunks);
    free_chunks(k->loose_chunks);
    table_clear(&k->pairs);
    for (int i = 0; i < 3; i++)
        table_clear(&k->likes[i]);
    free(k->like);
    free(k->cell);
    free(k->persistent);
    free(k);
}

struct heap_mark
heap_here(const struct pickle *k)
{
    return (struct heap_mark){ .chunk = k->chunks, .used = k->chunks ? k->chunks->used : 0, .ncells = k->ncells, .recent = k->ncontainers,
        .pins = k->pins };
}

bool
heap_back(struct pickle *k, const struct heap_mark *mark)
{
    if (k->chunks != mark->chunk || k->pins != mark->pins)
        return false;
    if (k->chunks)
        k->chunks->used = mark->used;
    k->ncells = mark->ncells;
    return true;
}

/* --- values */

struct pickle_value *
heap_loose(struct pickle *k, int64_t number)
{
    enum { SOME = 128 };
    struct pickle_value *v = k->loose;
    if (!v) {
        struct heap_chunk *chunk = NULL;
        if (charge(k, SOME * sizeof *v) && !(chunk = malloc(sizeof *chunk + SOME * sizeof *v)))
            err_memory(k->err, SOME * sizeof *v);
        if (!chunk)
            return NULL;
        *chunk = (struct heap_chunk){ .next = k->loose_chunks };
        k->loose_chunks = chunk;
        v = (struct pickle_value *)(void *)chunk->bytes;
        for (size_t i = 0; i < SOME; i++)
            v[i] = (struct pickle_value){ .of.item = i + 1 < SOME ? (struct pickle_value **)(void *)(v + i + 1) : NULL };
    }
    k->loose = (struct pickle_value *)(void *)v->of.item;
    *v = (struct pickle_value){ .kind = PICKLE_INT, .odd = true, .n = 1, .of.integer = number };
    return v;
}

void
heap_loose_back(struct pickle *k, struct pickle_value *v)
{
    if (v->n != 1)
        return;
    *v = (struct pickle_value){ .of.item = (struct pickle_value **)(void *)k->loose };
    k->loose = v;
}

struct pickle_value *
heap_value(struct pickle *k, enum pickle_kind kind)
{
    struct pickle_value *v = heap_take(k, sizeof *v);
    if (v)
        *v = (struct pickle_value){ .kind = (uint8_t)kind };
    return v;
}

static bool
deepen(struct pickle *k, struct pickle_value *v, const struct pickle_value *item)
{
    if (item->depth < v->depth)
        return true;
    if (item->depth >= PICKLE_DEPTH_MAX)
        return err_at(k->err, ERR_LIMIT, k->at, "nesting of values in the pickle exceeds the limit of %d levels (built in)",
            PICKLE_DEPTH_MAX);
    v->depth = (uint16_t)(item->depth + 1);
    return true;
}

struct pickle_value *
heap_tuple(struct pickle *k, enum pickle_kind kind, struct pickle_value *const *item, size_t n)
{
    struct pickle_value *v = heap_value(k, kind);
    struct pickle_value **own = NULL;
    if (v)
        own = heap_take(k, n * sizeof *own);
    if (!own)
        return NULL;
    v->n = (uint32_t)n;
    v->of.item = own;
    for (size_t i = 0; i < n; i++) {
        own[i] = item[i];
        if (item[i] && !deepen(k, v, item[i]))
            return NULL;
    }
    return v;
}

struct pickle_value *
heap_empty(struct pickle *k)
{
    k->pins += !k->empty;
    if (!k->empty)
        k->empty = heap_tuple(k, PICKLE_TUPLE, NULL, 0);
    return k->empty;
}

struct pickle_value *
heap_container(struct pickle *k, enum pickle_kind kind)
{
    struct pickle_value *v = heap_value(k, kind);
    if (v)
        v->number = k->ncontainers++;
    return v;
}

/* Appends a cell. */
static struct pickle_cell *
add_cell(struct pickle *k, struct pickle_value *v, struct pickle_value *item)
{
    if (k->ncells == 0)
        k->ncells = 1;
    struct pickle_cell *cells = heap_grow(k, k->cell, k->ncells, &k->room_cells, sizeof *cells);
    if (!cells)
        return NULL;
    k->cell = cells;
    k->pins += v->number < k->recent;
    uint32_t i = (uint32_t)k->ncells++;
    cells[i] = (struct pickle_cell){ .container = v->number, .value = item };
    if (v->n++ == 0)
        v->of.cells.first = i;
    else
        cells[v->of.cells.last].next = i;
    v->of.cells.last = i;
    return &cells[i];
}

bool
heap_append(struct pickle *k, struct pickle_value *list, struct pickle_value *item)
{
    return deepen(k, list, item) && add_cell(k, list, item) != NULL;
}

/* --- keys */

enum { LIKE_TEXT, LIKE_BYTES, LIKE_OTHER };

static const char *
name_of_like(const void *pickle, uint32_t i, size_t *n)
{
    const struct like *like = &((const struct pickle *)pickle)->like[i];
    *n = like->n;
    return (const char *)like->p;
}

static const char *
name_of_pair(const void *pickle, uint32_t i, size_t *n)
{
    const struct pickle_cell *cell = &((const struct pickle *)pickle)->cell[i];
    *n = 2 * sizeof cell->container;
    return (const char *)&cell->container;
}

/* Numbers a key; equal keys get the same number. */
static bool
number_like(struct pickle *k, struct pickle_value *v, int table, const uint8_t *p, size_t n)
{
    uint32_t i = (uint32_t)k->nlikes;
    bool again;
    enum { SLOTS = 16 };                /* bytes charged for an entry of the table */
    struct like *like = heap_grow(k, k->like, k->nlikes, &k->room_likes, sizeof *like);
    if (!like)
        return false;
    k->like = like;
    if (!charge(k, SLOTS) || !table_add(&k->likes[table], name_of_like, k, (const char *)p, n, &i, &again, k->err))
        return false;
    if (!again) {
        like[k->nlikes++] = (struct like){ p, n };
        k->pins++;
    }
    v->number = i + 1;
    return true;
}

/* Like number_like(), for keys that are not texts: the form is a letter and n bytes, copied. */
static bool
number_form(struct pickle *k, struct pickle_value *v, char letter, const void *p, size_t n)
{
    uint8_t *form = heap_take(k, 1 + n);
    if (!form)
        return false;
    form[0] = (uint8_t)letter;
    if (n != 0)
        memcpy(form + 1, p, n);
    return number_like(k, v, LIKE_OTHER, form, 1 + n);
}

/* Numbers are equal across their types: 1 == 1.0 == True. */
static bool
number_float(struct pickle *k, struct pickle_value *v)
{
    const double most = 9223372036854775808.0;
    double x = v->of.real;
    if (isnan(x) || (!isinf(x) && fabs(x) >= most))
        return err_at(k->err, ERR_UNSUPPORTED, k->at, "pickle uses a float as a dictionary key that is %s",
            isnan(x) ? "not a number" : "outside 64 bits");
    int64_t integer = 0;
    if (!isinf(x))
        integer = (int64_t)x;
    if (!isinf(x) && (double)integer == x)
        return number_form(k, v, 'I', &integer, sizeof integer);
    return number_form(k, v, 'F', &x, sizeof x);
}

/* The form is the numbers of its items, which get theirs first. */
static bool
number_tuple(struct pickle *k, struct pickle_value *v)
{
    uint32_t *form = heap_take(k, ((size_t)v->n + 1) * sizeof *form);
    if (!form)
        return false;
    form[0] = 'T';
    for (uint32_t i = 0; i < v->n; i++)
        form[i + 1] = v->of.item[i]->number;
    return number_like(k, v, LIKE_OTHER, (const uint8_t *)form, ((size_t)v->n + 1) * sizeof *form);
}

/* Numbers a key whose parts have numbers. */
static bool
number_one(struct pickle *k, struct pickle_value *v)
{
    switch ((enum pickle_kind)v->kind) {
    case PICKLE_TEXT:
        return number_like(k, v, LIKE_TEXT, v->of.text, v->n);
    case PICKLE_BYTES:
        return number_like(k, v, LIKE_BYTES, v->of.text, v->n);
    case PICKLE_NONE:
        return number_form(k, v, 'N', NULL, 0);
    case PICKLE_BOOL:
    case PICKLE_INT:
        return number_form(k, v, 'I', &v->of.integer, sizeof v->of.integer);
    case PICKLE_BIG:
        return number_form(k, v, 'L', v->of.text, v->n);
    case PICKLE_FLOAT:
        return number_float(k, v);
    case PICKLE_TUPLE:
        return number_tuple(k, v);
    case PICKLE_GLOBAL:
        return number_form(k, v, 'G', v->of.name->text, strlen(v->of.name->text));
    case PICKLE_CALL:
    case PICKLE_PERSISTENT:             /* equal only to itself */
        return number_form(k, v, 'C', &v, sizeof v);
    case PICKLE_LIST:
    case PICKLE_DICT:
    case PICKLE_SET:
        break;
    }
    return err_at(k->err, ERR_MALFORMED, k->at, "pickle has a %s as a dictionary key or in a set, expected an immutable value",
        v->kind == PICKLE_LIST ? "list" : v->kind == PICKLE_DICT ? "dictionary" : "set");
}

static bool
is_numbered(const struct pickle_value *v)
{
    return v->number != 0 && v->kind != PICKLE_LIST && v->kind != PICKLE_DICT && v->kind != PICKLE_SET;
}

/* Returns the next item of a tuple without a number, or NULL. */
static struct pickle_value *
next_unnumbered(const struct pickle_value *v, uint32_t *i)
{
    while (v->kind == PICKLE_TUPLE && *i < v->n)
        if (!is_numbered(v->of.item[(*i)++]))
            return v->of.item[*i - 1];
    return NULL;
}

/* Numbers a key, parts first, without recursion. Tuples cannot form cycles, since their items exist before them. */
static bool
number_key(struct pickle *k, struct pickle_value *key)
{
    enum { DEEPEST = 257 };             /* the limit on depth, plus the key */
    struct { struct pickle_value *v; uint32_t i; } path[DEEPEST];
    size_t depth = 1;
    path[0].v = key;
    path[0].i = 0;
    while (depth != 0) {
        struct pickle_value *v = path[depth - 1].v;
        struct pickle_value *part = NULL;
        if (!is_numbered(v))
            part = next_unnumbered(v, &path[depth - 1].i);
        if (part && depth == DEEPEST)
            return err_at(k->err, ERR_LIMIT, k->at, "nesting of tuples in a key of the pickle exceeds the limit of %d levels",
                DEEPEST);
        if (part) {
            path[depth].v = part;
            path[depth++].i = 0;
        } else if (is_numbered(v) || number_one(k, v)) {
            depth--;
        } else {
            return false;
        }
    }
    return true;
}

bool
heap_hashable(struct pickle *k, struct pickle_value *key)
{
    return number_key(k, key);
}

/* Adds a cell of a dictionary to the table. */
static bool
index_pair(struct pickle *k, uint32_t i)
{
    enum { SLOTS = 16 };
    const uint32_t name[2] = { k->cell[i].container, k->cell[i].like };
    bool again;
    k->pins++;
    return charge(k, SLOTS) && table_add(&k->pairs, name_of_pair, k, (const char *)name, sizeof name, &i, &again, k->err);
}

/* Finds the pair of a key: in the table, or among a few. */
static bool
find_pair(const struct pickle *k, const struct pickle_value *dict, const struct pickle_value *key, uint32_t *i)
{
    const uint32_t name[2] = { dict->number, key->number };
    if (dict->n > FEW)
        return table_find(&k->pairs, name_of_pair, k, (const char *)name, sizeof name, i);
    *i = dict->of.cells.first;
    for (uint32_t n = 0; n < dict->n; n++, *i = k->cell[*i].next)
        if (k->cell[*i].like == key->number)
            return true;
    return false;
}

bool
heap_set(struct pickle *k, struct pickle_value *dict, struct pickle_value *key, struct pickle_value *value)
{
    uint32_t i;
    if (!number_key(k, key) || !deepen(k, dict, key) || !deepen(k, dict, value))
        return false;
    if (find_pair(k, dict, key, &i)) {
        k->pins += dict->number < k->recent;
        k->cell[i].value = value;
        return true;
    }
    struct pickle_cell *cell = add_cell(k, dict, value);
    if (!cell)
        return false;
    cell->key = key;
    cell->like = key->number;
    bool ok = true;
    i = dict->of.cells.first;
    if (dict->n > FEW + 1)
        ok = index_pair(k, dict->of.cells.last);
    for (uint32_t n = 0; ok && dict->n == FEW + 1 && n < dict->n; n++, i = k->cell[i].next)
        ok = index_pair(k, i);
    return ok;
}

/* --- reading */

const char *
pickle_quoted(char buf[PICKLE_SHOWN], const uint8_t *p, size_t n)
{
    enum { MOST = 48 };
    char shown[STR_SHOWN];
    size_t cut = n;
    if (n > MOST)
        for (cut = MOST; cut > MOST - 4 && (p[cut] & 0xC0) == 0x80; cut--)
            ;
    str_shown(shown, (const char *)p, cut);
    if (cut < n)
        snprintf(buf, PICKLE_SHOWN, "%s... (%zu bytes more)", shown, n - cut);
    else
        snprintf(buf, PICKLE_SHOWN, "%s", shown);
    return buf;
}

const char *
pickle_shown(char buf[PICKLE_SHOWN], const struct pickle_value *v)
{
    static const char *const words[] = {
        [PICKLE_NONE] = "None", [PICKLE_BIG] = "an integer outside 64 bits", [PICKLE_FLOAT] = "a float",
        [PICKLE_BYTES] = "bytes", [PICKLE_PERSISTENT] = "a storage", [PICKLE_CALL] = "an object",
    };
    static const char *const many[] = {
        [PICKLE_TUPLE] = "a tuple", [PICKLE_LIST] = "a list", [PICKLE_DICT] = "a dictionary", [PICKLE_SET] = "a set",
    };
    enum { MOST = 24 };
    char text[PICKLE_SHOWN];
    if (v->kind == PICKLE_TEXT && v->n > MOST)
        snprintf(buf, PICKLE_SHOWN, "a text of %u bytes", (unsigned)v->n);
    else if (v->kind == PICKLE_TEXT)
        snprintf(buf, PICKLE_SHOWN, "the text '%.*s'", STR_SHOWN, pickle_quoted(text, v->of.text, v->n));
    else if (v->kind == PICKLE_INT)
        snprintf(buf, PICKLE_SHOWN, "%" PRId64, v->of.integer);
    else if (v->kind == PICKLE_BOOL)
        snprintf(buf, PICKLE_SHOWN, "%s", v->of.integer ? "True" : "False");
    else if (v->kind == PICKLE_GLOBAL)
        snprintf(buf, PICKLE_SHOWN, "%s", v->of.name->text);
    else if (v->kind == PICKLE_TUPLE || v->kind == PICKLE_LIST || v->kind == PICKLE_DICT || v->kind == PICKLE_SET)
        snprintf(buf, PICKLE_SHOWN, "%s of %u", many[v->kind], (unsigned)v->n);
    else
        snprintf(buf, PICKLE_SHOWN, "%s", words[v->kind]);
    return buf;
}

bool
pickle_next(const struct pickle *k, const struct pickle_value *v, struct pickle_walk *walk,
    struct pickle_value **key, struct pickle_value **value)
{
    *key = NULL;
    if (walk->i == v->n)
        return false;
    if (v->kind == PICKLE_TUPLE) {
        *value = v->of.item[walk->i++];
        return true;
    }
    if (walk->i++ == 0)
        walk->cell = v->of.cells.first;
    else
        walk->cell = k->cell[walk->cell].next;
    *key = k->cell[walk->cell].key;
    *value = k->cell[walk->cell].value;
    return true;
}
