/* Layout: container/safetensors.c. Form: huggingface/safetensors, tensor.rs, prepare() and serde_json:
 * compact, __metadata__ first, fields as below, only what JSON demands is escaped. */
#include "sink/safetensors.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"

enum { PREFIX = 8, ALIGN = 8 };

static const char metadata_name[] = "__metadata__";

static bool
text_is(const char *p, size_t n, const char *text)
{
    return n == strlen(text) && memcmp(p, text, n) == 0;
}

static void
add_string(struct str *out, const char *p, size_t n)
{
    str_add(out, "\"", 1);
    str_add_json(out, p, n, false);
    str_add(out, "\"", 1);
}

static bool
add_metadata(struct str *out, const struct catalog *output, struct err *err)
{
    bool has_format = false;
    str_format(out, "{\"%s\":{", metadata_name);
    for (size_t i = 0; i < catalog_meta_count(output); i++) {
        const struct meta *m = catalog_meta_at(output, i);
        if (m->value.type != META_STRING)
            return err_set(err, ERR_BUG, ERR_NO_OFFSET, "metadata of type %s in a safetensors header",
                meta_type_name(m->value.type));
        bool is_format = text_is(m->key, m->key_len, "format");
        has_format = has_format || is_format;
        if (i != 0)
            str_add(out, ",", 1);
        add_string(out, m->key, m->key_len);
        str_add(out, ":", 1);
        if (is_format)
            str_text(out, "\"pt\"");
        else
            add_string(out, m->value.as.s.p, m->value.as.s.n);
    }
    if (!has_format)
        str_format(out, "%s\"format\":\"pt\"", catalog_meta_count(output) ? "," : "");
    str_add(out, "}", 1);
    return true;
}

/* `at`: where the tensor before it ends. */
static bool
add_tensor(struct str *out, const struct tensor *t, uint64_t at, struct err *err)
{
    char name[STR_SHOWN];
    if (!str_is_utf8(t->name, t->name_len))
        return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET,
            "tensor %s: a name in a safetensors file must be UTF-8", str_shown(name, t->name, t->name_len));
    if (text_is(t->name, t->name_len, metadata_name))
        return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET,
            "tensor %s: a safetensors file cannot hold a tensor of this name", metadata_name);
    if (t->dtype >= DTYPE_SCALARS || t->extent.at != at || t->extent.nbytes > UINT64_MAX - at)
        return err_set(err, ERR_BUG, ERR_NO_OFFSET,
            "tensor %s: %s at %" PRIu64 ", expected a scalar type at %" PRIu64,
            str_shown(name, t->name, t->name_len), dtype_name(t->dtype), t->extent.at, at);

    str_add(out, ",", 1);
    add_string(out, t->name, t->name_len);
    str_format(out, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(t->dtype));
    const uint8_t *dims = t->shape.packed;
    for (uint32_t i = 0; i < t->shape.rank; i++)
        str_format(out, "%s%" PRIu64, i ? "," : "", shape_next(&dims));
    str_format(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at, at + t->extent.nbytes);
    return true;
}

bool
safetensors_header(struct str *out, const struct catalog *output, struct err *err)
{
    static const char zero[PREFIX];
    size_t start = out->len;
    uint64_t at = 0;

    out->max = start + PREFIX + limits_default.json_header;
    str_add(out, zero, PREFIX);
    if (!add_metadata(out, output, err))
        return false;
    for (size_t i = 0; i < catalog_count(output); i++) {
        const struct tensor *t = catalog_at(output, i);
        if (!add_tensor(out, t, at, err))
            return false;
        at += t->extent.nbytes;
    }
    str_add(out, "}", 1);
    while (!out->failed && (out->len - start) % ALIGN != 0)
        str_add(out, " ", 1);
    if (out->full)
        return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "safetensors header of the output: more than the limit of %" PRIu64
            " bytes", limits_default.json_header);
    if (out->failed)
        return err_memory(err, out->len);
    store_le64((uint8_t *)out->p + start, out->len - start - PREFIX);
    return true;
}
