/* Parses the JSON of a safetensors header in one pass into a compact list of entries. Types, and which keys may repeat,
 * follow serde's derive in huggingface/safetensors, tensor.rs, HashMetadata and TensorInfo. */
#include "container/safetensors/safetensors_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static bool
json_fault(struct safetensors_reader *r)
{
    char text[PULL_EXPLAIN];
    enum err_kind kind = ERR_MALFORMED;
    if (r->json.fault == PULL_TOO_DEEP)
        kind = ERR_LIMIT;
    const char *name = "InvalidHeaderDeserialization";
    if (r->json.fault == PULL_NOT_UTF8)
        name = "InvalidHeader";
    return err_at(r->err, kind, pull_fault_at(&r->json), "header is not valid JSON: %s (%s)", pull_explain(text, &r->json),
        name);
}

/* Returns the characters of a string: in the scratch, until its next use, if it has escapes. NULL on failure. */
static const char *
decoded_in(struct safetensors_reader *r, struct scratch *scratch, const struct pull_text *text, size_t *n)
{
    *n = text->n;
    if (!text->escaped)
        return text->p;
    if (text->n > scratch->room) {
        if (!budget_bytes(catalog_budget(r->catalog), text->n - scratch->room, "a string", r->err))
            return NULL;
        char *p = realloc(scratch->p, text->n);
        if (!p) {
            err_memory(r->err, text->n);
            return NULL;
        }
        scratch->p = p;
        scratch->room = text->n;
    }
    *n = pull_unescape(scratch->p, text);
    return scratch->p;
}

static const char *
decoded(struct safetensors_reader *r, const struct pull_text *text, size_t *n)
{
    return decoded_in(r, &r->text, text, n);
}

/* Formats a string for a message. */
static const char *
shown(struct safetensors_reader *r, char buf[STR_SHOWN], const struct pull_text *text)
{
    size_t n;
    const char *p = decoded(r, text, &n);
    if (p)
        return str_shown(buf, p, n);
    return "?";
}

static struct pull_text
name_text(const struct safetensors_entry *e)
{
    return (struct pull_text){ .p = e->name, .n = e->name_len, .escaped = e->escaped };
}

uint64_t
entry_at(const struct safetensors_reader *r, const struct safetensors_entry *e)
{
    return r->json.at + (uint64_t)(e->name - r->json.text);
}

const char *
entry_decoded(struct safetensors_reader *r, const struct safetensors_entry *e, size_t *n)
{
    struct pull_text text = name_text(e);
    return decoded(r, &text, n);
}

const char *
entry_shown(struct safetensors_reader *r, char buf[STR_SHOWN], const struct safetensors_entry *e)
{
    struct pull_text text = name_text(e);
    return shown(r, buf, &text);
}

/* Sets an error about the field `what` of a tensor, at the last token. */
static bool
bad_field(struct safetensors_reader *r, const struct safetensors_entry *e, const char *what, const char *expected)
{
    char name[STR_SHOWN], found[STR_SHOWN];
    str_shown(found, r->json.start, (size_t)(r->json.p - r->json.start));
    return err_at(r->err, ERR_MALFORMED, pull_token_at(&r->json),
        "tensor %s: %s: found %s, expected %s (InvalidHeaderDeserialization)", entry_shown(r, name, e), what,
        found, expected);
}

static bool
given_twice(struct safetensors_reader *r, const struct safetensors_entry *e, const char *what)
{
    char name[STR_SHOWN];
    return err_at(r->err, ERR_MALFORMED, pull_token_at(&r->json),
        "tensor %s: duplicate key %s (InvalidHeaderDeserialization)", entry_shown(r, name, e), what);
}

/* Reads the next token, which must be `token`; otherwise sets an error about the field `what`. */
static bool
expect(struct safetensors_reader *r, const struct safetensors_entry *e, const char *what, enum pull_token token)
{
    enum pull_token found = pull_next(&r->json);
    if (found == token)
        return true;
    if (found == PULL_BAD)
        return json_fault(r);
    return bad_field(r, e, what, pull_token_name(token));
}

/* Converts the token just read to an integer in 0 .. 2^64-1. */
static bool
read_u64(struct safetensors_reader *r, const struct safetensors_entry *e, const char *what, enum pull_token token,
    uint64_t *out)
{
    if (token == PULL_BAD)
        return json_fault(r);
    if (token != PULL_NUMBER || !pull_as_u64(&r->json, out))
        return bad_field(r, e, what, "an integer from 0 to 2^64-1");
    return true;
}

static bool
read_dtype(struct safetensors_reader *r, struct safetensors_entry *e)
{
    size_t n;
    enum dtype dtype;
    char name[STR_SHOWN], tag[STR_SHOWN];
    if (!expect(r, e, "dtype", PULL_STRING))
        return false;
    struct pull_text text = r->json.token;
    const char *p = decoded(r, &text, &n);
    if (!p)
        return false;
    if (str_is(p, n, "Q4") || str_is(p, n, "Q5"))
        return err_at(r->err, ERR_UNSUPPORTED, pull_token_at(&r->json), "tensor %s: dtype %.2s of Jlama, which is not supported: look for "
            "the model that it was quantized from", entry_shown(r, name, e), p);
    if (!dtype_from_tag(&dtype, p, n))
        return err_at(r->err, ERR_UNSUPPORTED, pull_token_at(&r->json),
            "tensor %s: unknown dtype %s, expected one that safetensors defines (InvalidHeaderDeserialization)",
            entry_shown(r, name, e), shown(r, tag, &text));
    e->dtype = (uint8_t)dtype;
    return true;
}

/* Checks and counts the dimensions; pack_shape() reads them later. */
static bool
safetensors_header_read_shape(struct safetensors_reader *r, struct safetensors_entry *e)
{
    uint64_t dim, rank = 0;
    enum pull_token token;
    char name[STR_SHOWN];
    if (!expect(r, e, "shape", PULL_ARRAY))
        return false;
    e->shape = r->json.p;
    while ((token = pull_next(&r->json)) != PULL_ARRAY_END) {
        if (!read_u64(r, e, "shape", token, &dim))
            return false;
        if (++rank > LAYOUT_RANK)
            return err_at(r->err, ERR_LIMIT, pull_token_at(&r->json), "tensor %s: number of dimensions exceeds the limit of "
                "%d", entry_shown(r, name, e), LAYOUT_RANK);
    }
    e->rank = (uint32_t)rank;
    if (e->rank > r->rank_max)
        r->rank_max = e->rank;
    return true;
}

static bool
read_offsets(struct safetensors_reader *r, struct safetensors_entry *e)
{
    static const char what[] = "data_offsets";
    return expect(r, e, what, PULL_ARRAY)
        && read_u64(r, e, what, pull_next(&r->json), &e->begin)
        && read_u64(r, e, what, pull_next(&r->json), &e->end)
        && expect(r, e, what, PULL_ARRAY_END);
}

enum { FIELD_DTYPE, FIELD_SHAPE, FIELD_OFFSETS, FIELDS };
static const char *const field_names[FIELDS] = { "dtype", "shape", "data_offsets" };

/* Reads the value of the field whose key was just read. Unknown fields are skipped. */
static bool
read_field(struct safetensors_reader *r, struct safetensors_entry *e, bool seen[FIELDS])
{
    static bool (*const read[FIELDS])(struct safetensors_reader *, struct safetensors_entry *)
        = { read_dtype, safetensors_header_read_shape, read_offsets };
    size_t n;
    const char *key = decoded(r, &r->json.token, &n);
    if (!key)
        return false;
    for (int i = 0; i < FIELDS; i++) {
        if (strlen(field_names[i]) != n || memcmp(field_names[i], key, n) != 0)
            continue;
        if (seen[i])
            return given_twice(r, e, field_names[i]);
        seen[i] = true;
        return read[i](r, e);
    }
    return pull_skip(&r->json) || json_fault(r);
}

static struct safetensors_entry *
new_entry(struct safetensors_reader *r)
{
    struct budget *budget = catalog_budget(r->catalog);
    struct safetensors_entry *entries = NULL;
    if (budget_items(budget, 1, "tensors and keys", r->err) && budget_bytes(budget, sizeof *entries, "tensors", r->err))
        entries = array_grow(r->entries, r->count, &r->room, sizeof *entries, r->err);
    if (!entries)
        return NULL;
    r->entries = entries;
    return &r->entries[r->count++];
}

/* Reads the entry of the tensor whose name was just read. */
static bool
safetensors_header_read_tensor(struct safetensors_reader *r)
{
    bool seen[FIELDS] = { false };
    enum pull_token token;
    struct safetensors_entry *e = new_entry(r);
    if (!e)
        return false;
    const struct pull_text *name = &r->json.token;
    *e = (struct safetensors_entry){ .name = name->p, .name_len = (uint32_t)name->n, .escaped = name->escaped };
    if (!expect(r, e, "entry", PULL_OBJECT))
        return false;
    while ((token = pull_next(&r->json)) == PULL_KEY)
        if (!read_field(r, e, seen))
            return false;
    if (token == PULL_BAD)
        return json_fault(r);
    for (int i = 0; i < FIELDS; i++)
        if (!seen[i])
            return bad_field(r, e, "entry", field_names[i]);
    return true;
}

/* Adds a metadata key found at byte `at`. If several shards of a model have it, the first one counts. */
static bool
add_key(struct safetensors_reader *r, const struct meta *m, uint64_t at)
{
    uint32_t again;
    char key[STR_SHOWN];
    static const char slices[] = "DCP_SHARDING_INFO";
    if (!r->slices && str_is(m->key, m->key_len, slices))
        return err_at(r->err, ERR_UNSUPPORTED, at, "this file has one rank's slices of tensors, as torch.distributed.checkpoint writes "
            "them, with saved_offsets under %s: give its directory", slices);
    if (!catalog_add_meta(r->catalog, m, &again, r->err))
        return false;
    return again != r->file || err_at(r->err, ERR_MALFORMED, at, "__metadata__: duplicate key %s",
        str_shown(key, m->key, m->key_len));
}

static bool
bad_metadata(struct safetensors_reader *r, enum pull_token found, const char *expected)
{
    if (found == PULL_BAD)
        return json_fault(r);
    return err_at(r->err, ERR_MALFORMED, pull_token_at(&r->json),
        "__metadata__: found %s, expected %s (InvalidHeaderDeserialization)", pull_token_name(found), expected);
}

/* Reads __metadata__, whose key was just read: an object of strings, or null, which means none. */
static bool
read_metadata(struct safetensors_reader *r)
{
    if (r->has_metadata)
        return err_at(r->err, ERR_MALFORMED, pull_token_at(&r->json),
            "duplicate key __metadata__ (InvalidHeaderDeserialization)");
    r->has_metadata = true;
    enum pull_token token = pull_next(&r->json);
    if (token == PULL_NULL)
        return true;
    if (token != PULL_OBJECT)
        return bad_metadata(r, token, "an object of strings");
    while ((token = pull_next(&r->json)) == PULL_KEY) {
        struct meta m = { .file = r->file, .value.type = META_STRING };
        uint64_t at = pull_token_at(&r->json);
        size_t n;
        m.key = decoded_in(r, &r->key, &r->json.token, &n);
        m.key_len = (uint32_t)n;        /* the header is not longer */
        if (!m.key || !budget_items(catalog_budget(r->catalog), 1, "tensors and keys", r->err))
            return false;
        token = pull_next(&r->json);
        if (token != PULL_STRING)
            return bad_metadata(r, token, "a string");
        m.value.as.s.p = decoded(r, &r->json.token, &m.value.as.s.n);
        if (!m.value.as.s.p || !add_key(r, &m, at))
            return false;
    }
    return token != PULL_BAD || json_fault(r);
}

bool
safetensors_read_header(struct safetensors_reader *r)
{
    static const char metadata[] = "__metadata__";
    enum pull_token token = pull_next(&r->json);
    if (token != PULL_OBJECT && token != PULL_BAD)
        return err_at(r->err, ERR_MALFORMED, pull_token_at(&r->json),
            "header is %s, expected an object, { ... } (InvalidHeaderDeserialization)", pull_token_name(token));
    while ((token = pull_next(&r->json)) == PULL_KEY) {
        size_t n;
        const char *key = decoded(r, &r->json.token, &n);
        if (!key)
            return false;
        bool is_metadata = str_is(key, n, metadata);
        if (is_metadata ? !read_metadata(r) : !safetensors_header_read_tensor(r))
            return false;
    }
    return (token != PULL_BAD && pull_next(&r->json) == PULL_END) || json_fault(r);
}
