/* gguf_kv: reads the keys of a GGUF file.
 *
 *      | key: length u64, bytes | type of the value u32 | value |      n_kv times
 *
 * Values do not declare their length, so every value is walked once, in place (catalog/metadata.c formats them). The head of
 * the source grows, and may move, as the walk needs more, so positions are offsets until a value is complete; then the
 * catalog copies it.
 */
#include "container/gguf/gguf_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/str.h"
#include "base/table.h"

enum { ARRAY_HEAD = 4 + 8, STRING_LEAST = 8, NAME = 8 };     /* NAME: bytes of the length before a name */

/* The position of a key, to find duplicates. */
struct key {
    uint64_t at;        /* file offset of its record */
    uint64_t n;         /* bytes of its name */
};

struct gguf_keys {
    const struct gguf *g;
    struct key *key;    /* owned */
    size_t count, room;
    struct table names;
};

/* Reads the type id of a value, or of the elements of an array. */
static bool
read_type(struct gguf *g, const char *what, enum meta_type *type, struct err *err)
{
    uint64_t at = g->c.at;
    if (!gguf_need(g, 4, err))
        return false;
    uint32_t id = cursor_u32(&g->c);
    if (id >= META_TYPES)
        return gguf_fail(g, err, ERR_MALFORMED, at, "unknown %s type %" PRIu32 ", expected 0 to %d", what, id, META_TYPES - 1);
    *type = (enum meta_type)id;
    return true;
}

/* Like str_is_utf8(), but fast for what vocabularies contain: ASCII, and characters of two or three bytes. It may read
 * `left` bytes, which is at least n. */
static bool
is_utf8(const uint8_t *p, uint64_t n, uint64_t left)
{
    uint64_t i = 0, seen = 0;
    for (; n - i >= 8; i += 8)
        seen |= load_le64(p + i);
    if (i < n && left - i >= 8)
        seen |= load_le64(p + i) & (UINT64_MAX >> 8 * (8 - (n - i)));
    else
        for (; i < n; i++)
            seen |= p[i];
    if ((seen & UINT64_C(0x8080808080808080)) == 0)
        return true;

    size_t len;
    uint32_t code;
    for (; n != 0; p += len, n -= len) {
        if (p[0] < 0x80)
            len = 1;
        else if (n >= 2 && p[0] >= 0xC2 && p[0] <= 0xDF && (p[1] & 0xC0) == 0x80)
            len = 2;
        else if (n >= 3 && p[0] >= 0xE1 && p[0] <= 0xEC && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80)
            len = 3;
        else if ((len = str_utf8_char((const char *)p, n, &code)) == 0)
            return false;
    }
    return true;
}

static bool
skip_strings(struct gguf *g, uint64_t count, struct err *err)
{
    struct cursor c = g->c;     /* in registers: vocabularies have hundreds of thousands of strings */
    while (count != 0) {
        uint64_t n = 0;
        if (c.left >= STRING_LEAST)
            n = c.big ? load_be64(c.p) : load_le64(c.p);
        if (c.left < STRING_LEAST || n > c.left - STRING_LEAST) {
            /* The string is not all here yet: read it the careful way, once per step of the head. */
            const char *p;
            g->c = c;
            if (!gguf_string(g, "string in the array", GGUF_STRING_MAX, &p, &n, err))
                return false;
            if (!str_is_utf8(p, n))
                gguf_odd(g, GGUF_ODD_TEXT);
            c = g->c;
            count--;
            continue;
        }
        if (n > GGUF_STRING_MAX)
            return gguf_fail(g, err, ERR_LIMIT, c.at,
                "string in the array: length %" PRIu64 " exceeds the limit of %d bytes", n, GGUF_STRING_MAX);
        if (!is_utf8(c.p + STRING_LEAST, n, c.left - STRING_LEAST))
            gguf_odd(g, GGUF_ODD_TEXT);
        cursor_take(&c, STRING_LEAST + n);
        count--;
    }
    g->c = c;
    return true;
}

/* Reads an array; `depth` is the number of array levels still allowed, this one included. */
static bool
read_array(struct gguf *g, struct meta_array *a, uint64_t depth, struct err *err)
{
    uint64_t at = g->c.at, least;
    *a = (struct meta_array){ .big_endian = g->c.big };
    if (depth == 0)
        return gguf_fail(g, err, ERR_LIMIT, at, "nesting of arrays exceeds the limit of %d levels", META_DEPTH_MAX);
    if (!read_type(g, "element", &a->type, err) || !gguf_need(g, 8, err))
        return false;
    a->count = cursor_u64(&g->c);

    size_t size = meta_type_size(a->type);
    if (size)
        least = size;
    else if (a->type == META_STRING)
        least = STRING_LEAST;
    else
        least = ARRAY_HEAD;
    if (!num_mul(&least, a->count, least))
        return gguf_fail(g, err, ERR_MALFORMED, at + 4, "size of an array of %" PRIu64 " elements overflows 64 bits: the file "
            "is damaged", a->count);
    if (g->size != SOURCE_SIZE_UNKNOWN && least > g->size - g->c.at)
        return gguf_fail(g, err, ERR_MALFORMED, at + 4, "array of %" PRIu64 " elements needs at least %" PRIu64 " bytes, but "
            "only %" PRIu64 " are left: the file is truncated or damaged", a->count, least, g->size - g->c.at);
    if (a->count > META_ARRAY_MAX)
        return gguf_fail(g, err, ERR_LIMIT, at + 4, "array of %" PRIu64 " elements exceeds the limit of %d", a->count,
            META_ARRAY_MAX);

    uint64_t start = g->c.at;
    if (size != 0) {
        if (!gguf_need(g, least, err))
            return false;
        const uint8_t *p = cursor_take(&g->c, least);
        for (uint64_t i = 0; a->type == META_BOOL && i < least; i++)
            if (p[i] > 1)
                gguf_odd(g, GGUF_ODD_BOOL);
    } else if (a->type == META_STRING) {
        if (!skip_strings(g, a->count, err))
            return false;
    } else {
        gguf_odd(g, GGUF_ODD_NESTED);
        for (uint64_t i = 0; i < a->count; i++) {
            struct meta_array inner;
            if (!read_array(g, &inner, depth - 1, err))
                return false;
        }
    }
    a->p = (const uint8_t *)gguf_at(g, start);
    a->nbytes = g->c.at - start;
    return true;
}

static bool
read_value(struct gguf *g, struct meta_value *value, enum meta_type type, struct err *err)
{
    *value = (struct meta_value){ .type = type };
    if (type == META_ARRAY)
        return read_array(g, &value->as.a, META_DEPTH_MAX, err);
    if (type == META_STRING) {
        uint64_t n;
        if (!gguf_string(g, "value", GGUF_STRING_MAX, &value->as.s.p, &n, err))
            return false;
        value->as.s.n = (size_t)n;
        if (!str_is_utf8(value->as.s.p, value->as.s.n))
            gguf_odd(g, GGUF_ODD_TEXT);
        return true;
    }
    uint64_t size = meta_type_size(type), used;
    if (!gguf_need(g, size, err))
        return false;
    if (type == META_BOOL && *g->c.p > 1)
        gguf_odd(g, GGUF_ODD_BOOL);
    meta_decode(value, type, g->c.p, size, g->c.big, 0, &used);
    cursor_take(&g->c, size);
    return true;
}

/* Reads the name of a key. Borrowed until the next gguf_need. */
static bool
read_name(struct gguf *g, const char **name, uint64_t *n, struct err *err)
{
    uint64_t at = g->c.at;
    g->name_at = 0;
    if (!gguf_string(g, "name", META_KEY_MAX, name, n, err))
        return false;
    g->name_at = at + NAME;
    g->name_len = *n;
    if (*n == 0)
        return gguf_fail(g, err, ERR_MALFORMED, at, "empty name");
    if (memchr(*name, '\0', *n))
        return gguf_fail(g, err, ERR_MALFORMED, at, "name contains a NUL byte");
    return true;
}

static bool
read_key(struct gguf *g, struct err *err)
{
    uint64_t n;
    const char *name;
    if (!read_name(g, &name, &n, err))
        return false;
    /* Words of lower-case letters, digits and _, joined by dots; names of architectures contain "-". */
    bool good = name[0] != '.' && name[n - 1] != '.';
    for (uint64_t i = 0; i < n; i++) {
        char k = name[i];
        good = good && ((k >= 'a' && k <= 'z') || (k >= '0' && k <= '9') || k == '_' || k == '-'
            || (k == '.' && name[i - 1] != '.'));
    }
    if (!good)
        gguf_odd(g, GGUF_ODD_KEY);
    return true;
}

static bool
is_key(const struct meta *m, const char *key)
{
    return str_is(m->key, m->key_len, key);
}

static bool
note_alignment(struct gguf *g, const struct meta_value *value, uint64_t at, struct err *err)
{
    if (value->type != META_U32)
        return gguf_fail(g, err, ERR_MALFORMED, at, "type is %s, expected u32", meta_type_name(value->type));
    uint64_t a = value->as.u;
    if (a == 0 || (a & (a - 1)) != 0)
        return gguf_fail(g, err, ERR_MALFORMED, at, "value is %" PRIu64 ", expected a power of two", a);
    if (a > META_ALIGNMENT_MAX)
        return gguf_fail(g, err, ERR_LIMIT, at, "value %" PRIu64 " exceeds the limit of %d", a, META_ALIGNMENT_MAX);
    g->alignment = a;
    return true;
}

/* Notes the values that the reader itself needs. */
static bool
note_value(struct gguf *g, const struct meta *m, uint64_t at, struct err *err)
{
    if (is_key(m, "general.alignment"))
        return note_alignment(g, &m->value, at, err);
    bool no = is_key(m, "split.no"), count = is_key(m, "split.count");
    if (!no && !count)
        return true;
    if (!meta_as_u64(&m->value, no ? &g->split_no : &g->split_count))
        return gguf_fail(g, err, ERR_MALFORMED, at, "found %s, expected an integer of 0 or more",
            meta_type_name(m->value.type));
    g->split_no_given |= no;
    g->split_count_given |= count;
    return true;
}

static const char *
name_of_key(const void *of, uint32_t i, size_t *n)
{
    const struct gguf_keys *keys = of;
    *n = (size_t)keys->key[i].n;
    return gguf_at(keys->g, keys->key[i].at + NAME);
}

/* Refuses a duplicate key: readers differ in which of its values they use, so neither is right. `at`: offset of the key's
 * record. */
static bool
check_new(struct gguf *g, struct gguf_keys *keys, const struct meta *m, uint64_t at, struct err *err)
{
    uint32_t number = (uint32_t)keys->count;
    bool again;
    struct key *key = NULL;
    if (budget_bytes(catalog_budget(g->catalog), sizeof *key, "keys", err))
        key = array_grow(keys->key, keys->count, &keys->room, sizeof *key, err);
    if (!key)
        return false;
    keys->key = key;
    if (!table_add(&keys->names, name_of_key, keys, m->key, m->key_len, &number, &again, err))
        return false;
    if (again)
        return gguf_fail(g, err, ERR_MALFORMED, at, "duplicate key, the first is at byte %" PRIu64, key[number].at);
    key[keys->count++] = (struct key){ .at = at, .n = m->key_len };
    return true;
}

bool
gguf_read_keys(struct gguf *g, uint64_t count, struct err *err)
{
    struct gguf_keys keys = { .g = g };
    bool ok = true;
    g->item = "key";
    for (g->index = 0; ok && g->index < count; g->index++) {
        struct meta m = { .file = g->file };
        enum meta_type type = META_U8;
        uint64_t at = g->c.at, value_at;
        uint32_t again;
        ok = read_key(g, err)
            && read_type(g, "value", &type, err);
        value_at = g->c.at;
        ok = ok && read_value(g, &m.value, type, err);
        if (!ok)
            break;
        m.key = gguf_at(g, at + NAME);
        m.key_len = (uint32_t)g->name_len;      /* at most META_KEY_MAX */
        /* The parts of a split model after the first only repeat what its first part declares about the split. */
        ok = note_value(g, &m, value_at, err)
            && check_new(g, &keys, &m, at, err)
            && (g->file != 0 || catalog_add_meta(g->catalog, &m, &again, err));
    }
    free(keys.key);
    table_clear(&keys.names);
    g->item = NULL;
    return ok;
}
