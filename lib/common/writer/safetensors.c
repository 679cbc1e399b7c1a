/* Layout: container/safetensors/safetensors.c. Form: huggingface/safetensors, tensor.rs, prepare() and serde_json: compact,
 * with __metadata__ first, fields in the order below, and only the escapes that JSON requires. The file is the length of the
 * JSON in 8 bytes, the JSON, spaces up to a multiple of 8, and the data without gaps. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/num.h"
#include "writer/meta_text.h"
#include "writer/writer.h"

enum { PREFIX = 8, ALIGN = 8 };

static const char metadata_name[] = "__metadata__";

static bool
text_is(const char *p, size_t n, const char *text)
{
    return str_is(p, n, text);
}

static void
add_string(struct str *out, const char *p, size_t n)
{
    str_add(out, "\"", 1);
    str_add_json(out, p, n, false);
    str_add(out, "\"", 1);
}

/* --- metadata */

static void
add_key(struct str *out, bool *any, const char *key, size_t n)
{
    if (*any)
        str_add(out, ",", 1);
    *any = true;
    add_string(out, key, n);
    str_add(out, ":", 1);
}

/* Appends the text of a value as a string. It must fit in what is left of the header. */
static void
add_made(struct str *out, const struct meta_value *value, void (*make)(struct str *s, const struct meta_value *value))
{
    struct str text = { .max = out->max - out->len };
    make(&text, value);
    if (text.failed) {
        out->failed = true;
        out->full = out->full || text.full;
    } else {
        add_string(out, str_or(text.p, ""), text.len);
    }
    str_clear(&text);
}

static bool
is_plain(const struct meta_value *v)
{
    return v->type == META_STRING && str_is_utf8(v->as.s.p, v->as.s.n);
}

/* Appends the keys whose values are not strings, with their types. */
static void
add_types(struct str *out, const struct keys *keys)
{
    bool any = false;
    str_text(out, "{");
    for (size_t i = 0; i < keys->n && !out->failed; i++) {
        const struct meta *m = &keys->list[i];
        if (is_plain(&m->value))
            continue;
        add_key(out, &any, m->key, m->key_len);
        add_made(out, &m->value, meta_text_type);
    }
    str_text(out, "}");
}

/* Appends the metadata as strings, and the types of values that are not strings. */
static bool
add_metadata(struct str *out, const struct keys *keys, struct err *err)
{
    static const char types_key[] = META_TEXT_TYPES;
    struct str types = { .max = out->max };
    bool any = false, typed = false;
    str_format(out, "{\"%s\":{", metadata_name);
    for (size_t i = 0; keys && i < keys->n && !out->failed; i++) {
        const struct meta *m = &keys->list[i];
        char shown[STR_SHOWN];
        if (!str_is_utf8(m->key, m->key_len))
            return err_set(err, ERR_MALFORMED, "key %s: not valid UTF-8, which safetensors requires; "
                "--no-metadata drops all keys", str_shown(shown, m->key, m->key_len));
        typed = typed || !is_plain(&m->value);
        add_key(out, &any, m->key, m->key_len);
        add_made(out, &m->value, meta_text);
    }
    if (!keys || !keys_find(keys, "format")) {
        add_key(out, &any, "format", 6);
        str_text(out, "\"pt\"");
    }
    if (typed) {
        add_types(&types, keys);
        add_key(out, &any, types_key, sizeof types_key - 1);
        add_string(out, str_or(types.p, ""), types.len);
        out->failed = out->failed || types.failed;
        out->full = out->full || types.full;
    }
    str_add(out, "}", 1);
    str_clear(&types);
    return true;
}

/* --- tensors */

/* Computes the size of a tensor, if the format can store it. */
static bool
safetensors_measure(const struct tensor *t, uint64_t *nbytes, struct err *err)
{
    char name[STR_SHOWN], text[SHAPE_TEXT];
    bool whole = true;
    str_shown(name, t->name, t->name_len);
    if (!shape_nbytes(&t->shape, t->dtype, nbytes, &whole) || !whole) {
        /* An empty tensor has only a shape to refuse; otherwise the size is too large. */
        enum err_kind kind = ERR_LIMIT;
        if (shape_is_empty(&t->shape) || !whole)
            kind = ERR_UNSUPPORTED;
        return err_set(err, kind, "tensor %s: safetensors cannot store shape %s of %s", name,
            shape_text(text, &t->shape), dtype_name(t->dtype));
    }
    if (!str_is_utf8(t->name, t->name_len))
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: names in a safetensors file must be valid UTF-8", name);
    if (text_is(t->name, t->name_len, metadata_name))
        return err_set(err, ERR_UNSUPPORTED,
            "tensor %s: this name is reserved in safetensors", metadata_name);
    return t->dtype < DTYPE_SCALARS || err_set(err, ERR_UNSUPPORTED, "tensor %s: safetensors has no type for %s",
        name, dtype_name(t->dtype));
}

/* Appends the entry of a tensor whose data begins at *at, and advances *at to its end. */
static bool
safetensors_add_tensor(struct str *out, const struct chosen *chosen, uint64_t *at, struct err *err)
{
    const struct tensor t = chosen_tensor(chosen);
    uint64_t nbytes, end;
    if (!safetensors_measure(&t, &nbytes, err))
        return false;
    if (!num_add(&end, *at, nbytes))
        return err_set(err, ERR_LIMIT, "size of the output overflows 64 bits");
    str_add(out, ",", 1);
    add_string(out, t.name, t.name_len);
    str_format(out, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(t.dtype));
    const uint8_t *dims = t.shape.packed;
    for (uint32_t i = 0; i < t.shape.rank; i++)
        str_format(out, "%s%" PRIu64, i ? "," : "", shape_next(&dims));
    str_format(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *at, end);
    *at = end;
    return true;
}

/* Compares as the reference writer sorts: wider types first (by rank), then names by bytes. */
static int
compare_reference(const void *pa, const void *pb)
{
    const struct tensor a = chosen_tensor(pa), b = chosen_tensor(pb);
    if (a.dtype != b.dtype)
        return a.dtype > b.dtype ? -1 : 1;
    return str_compare(a.name, a.name_len, b.name, b.name_len);
}

/* Appends the header; the data of the tensors follows back to back. The caller clears `out` in any case. */
static bool
add_header(struct str *out, const struct choice *choice, const struct keys *keys, struct err *err)
{
    static const char zero[PREFIX];
    uint64_t at = 0, most = num_min(META_JSON_MAX, catalog_limits(choice->input)->alloc);
    out->max = PREFIX + most;
    str_add(out, zero, PREFIX);
    if (!add_metadata(out, keys, err))
        return false;
    for (size_t i = 0; i < choice->n; i++)
        if (!safetensors_add_tensor(out, &choice->list[i], &at, err))
            return false;
    str_add(out, "}", 1);
    while (!out->failed && out->len % ALIGN != 0)
        str_add(out, " ", 1);
    if (out->full)
        return err_set(err, ERR_LIMIT, "safetensors header of the output exceeds the limit of %" PRIu64 " "
            "bytes (%s)", most, limits_origin(most, META_JSON_MAX, "--max-alloc"));
    if (out->failed)
        return err_memory(err, out->len);
    store_le64((uint8_t *)out->p, out->len - PREFIX);
    return true;
}

static bool
safetensors_lay_out(struct pieces *pieces, struct choice *choice, const struct writer_options *options, struct err *err)
{
    struct str header = { 0 };
    if (options->order == WRITER_ORDER_NAME && choice->n != 0)
        qsort(choice->list, choice->n, sizeof *choice->list, compare_reference);
    bool ok = add_header(&header, choice, options->keys, err) && pieces_text(pieces, &header, err);
    for (size_t i = 0; ok && i < choice->n; i++)
        ok = pieces_chosen(pieces, &choice->list[i], err);
    str_clear(&header);
    return ok;
}

static void
safetensors_lengthen(struct str *header, size_t n)
{
    while (n-- != 0)
        str_add(header, " ", 1);
    if (!header->failed)
        store_le64((uint8_t *)header->p, header->len - PREFIX);
}

const struct writer writer_safetensors = { .name = "safetensors", .align = 1, .keeps = KEEPS_CODES, .keys = KEYS_TEXT,
    .lay_out = safetensors_lay_out, .lengthen = safetensors_lengthen };
