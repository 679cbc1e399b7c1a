/* ComfyUI's markers:
 *
 *     P.comfy_quant                              U8 [n]: {"format": "nvfp4", ...}
 *     __metadata__["_quantization_metadata"]     {"format_version": "1.0", "layers": {K: {"format": ...} or "format"}}
 *
 * The weight of a layer K is the first of K.weight, model.diffusion_model.K.weight and diffusion_model.K.weight that exists.
 * A parameter is at the top level, or else in the object `params`. Sources: ComfyUI comfy/utils.py, convert_old_quants, and
 * comfy/ops.py, mixed_precision_ops; ComfyUI-INT8-Fast for markers without a format.
 */
#include "scheme/comfy_marker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/pull.h"
#include "base/str.h"
#include "base/tree.h"

enum { MARKER_MAX = 64 << 10 };         /* bytes; real ones have fewer than 200 */

static const char metadata_key[] = "_quantization_metadata", marker_suffix[] = ".comfy_quant";

/* A layer whose weight is in the model, with its value in the text of the metadata. */
struct comfy_layer {
    const struct tensor *weight;
    const char *p;
    size_t n;
};

struct comfy_markers {
    struct comfy_layer *layers;       /* sorted by weight */
    size_t n, room;
    bool tensors, old;
};

/* --- the metadata */

static bool
bad_metadata(const char *what, struct err *err)
{
    return err_set(err, ERR_MALFORMED, "metadata key %s: %s", metadata_key, what);
}

static bool
bad_json(const struct pull *json, struct err *err)
{
    char why[PULL_EXPLAIN];
    return err_set(err, ERR_MALFORMED, "metadata key %s: not valid JSON: %s", metadata_key,
        pull_explain(why, json));
}

static const struct tensor *
find_weight(const struct claims *c, struct str *name, const struct pull_text *key)
{
    static const char *const before[] = { "", "model.diffusion_model.", "diffusion_model." };
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        name->len = 0;
        str_text(name, before[i]);
        str_add(name, key->p, key->n);
        if (name->failed)
            return NULL;
        name->len = strlen(before[i]) + pull_unescape(name->p + strlen(before[i]), key);
        const struct tensor *t = claims_find(c, name->p, name->len, ".weight");
        if (t)
            return t;
    }
    return NULL;
}

static bool
add_layer(struct comfy_markers *m, const struct tensor *weight, const char *p, const char *end, struct err *err)
{
    struct comfy_layer *layers = array_grow(m->layers, m->n, &m->room, sizeof *layers, err);
    if (!layers)
        return false;
    m->layers = layers;
    m->layers[m->n++] = (struct comfy_layer){ .weight = weight, .p = p, .n = (size_t)(end - p) };
    return true;
}

/* Reads the object `layers`; json is positioned after its key. */
static bool
read_layers(struct comfy_markers *m, struct claims *c, struct pull *json, struct err *err)
{
    struct str name = { 0 };
    size_t nowhere = 0;
    enum pull_token token = pull_next(json);
    bool ok = token == PULL_OBJECT
        || (token == PULL_BAD ? bad_json(json, err) : bad_metadata("layers is not an object", err));
    while (ok && (token = pull_next(json)) == PULL_KEY) {
        const struct tensor *weight = find_weight(c, &name, &json->token);
        const char *p = json->p;
        ok = (name.failed ? err_memory(err, name.len) : true) && (pull_skip(json) || bad_json(json, err))
            && (!weight || add_layer(m, weight, p, json->p, err));
        nowhere += !weight;
    }
    ok = ok && (token == PULL_OBJECT_END || bad_json(json, err));
    if (ok && nowhere != 0)
        claims_warn(c, "layers in metadata key %s that have no weight in this model, ignored: %zu", metadata_key,
            nowhere);
    str_clear(&name);
    return ok;
}

static int
compare_layers(const void *pa, const void *pb)
{
    const struct comfy_layer *a = pa, *b = pb;
    return (a->weight > b->weight) - (a->weight < b->weight);
}

static bool
read_metadata(struct comfy_markers *m, struct claims *c, const char *text, size_t n, struct err *err)
{
    struct pull json;
    bool found = false, ok = true;
    pull_init(&json, text, n, 0);
    enum pull_token token = pull_next(&json);
    if (token != PULL_OBJECT)
        return token == PULL_BAD ? bad_json(&json, err) : bad_metadata("not a JSON object", err);
    while (ok && (token = pull_next(&json)) == PULL_KEY) {
        bool layers = pull_text_is(&json.token, "layers");
        if (layers && found)
            return bad_metadata("duplicate key layers", err);
        found = found || layers;
        if (layers)
            ok = read_layers(m, c, &json, err);
        else
            ok = pull_skip(&json) || bad_json(&json, err);
    }
    ok = ok && (token == PULL_OBJECT_END || bad_json(&json, err))
        && (pull_next(&json) == PULL_END || bad_json(&json, err)) && (found || bad_metadata("layers is missing", err));
    if (m->n != 0)
        qsort(m->layers, m->n, sizeof *m->layers, compare_layers);
    for (size_t i = 1; ok && i < m->n; i++)
        if (m->layers[i].weight == m->layers[i - 1].weight)
            ok = bad_metadata("two layers refer to one weight", err);
    return ok;
}

bool
comfy_markers_new(struct comfy_markers **out, struct claims *c, struct err *err)
{
    const struct catalog *catalog = c->catalog;
    struct comfy_markers *m = calloc(1, sizeof *m);
    struct part_name p;
    if (!m)
        return err_memory(err, sizeof *m);
    *out = m;
    for (size_t i = 0; i < catalog_count(catalog); i++) {
        const struct tensor *t = catalog_at(catalog, i);
        m->tensors = m->tensors || claims_strip_name(t, marker_suffix, &p);
        m->old = m->old || (claims_strip_name(t, "scaled_fp8", &p) && (p.base_len == 0 || p.base[p.base_len - 1] == '.'));
    }
    const struct meta *meta = catalog_meta_find(catalog, metadata_key);
    return !meta || meta->value.type != META_STRING
        || read_metadata(m, c, meta->value.as.s.p, meta->value.as.s.n, err);
}

void
comfy_markers_free(struct comfy_markers *m)
{
    if (!m)
        return;
    free(m->layers);
    free(m);
}

bool
comfy_markers_any(const struct comfy_markers *m)
{
    return m->tensors || m->n != 0;
}

bool
comfy_markers_old(const struct comfy_markers *m)
{
    return m->old;
}

/* --- one weight */

static const struct comfy_layer *
find_layer(const struct comfy_markers *m, const struct tensor *weight)
{
    struct comfy_layer key = { .weight = weight };
    if (m->n)
        return bsearch(&key, m->layers, m->n, sizeof key, compare_layers);
    return NULL;
}

static const struct tensor *
find_tensor(const struct claims *c, const struct tensor *codes)
{
    struct part_name p;
    if (c->comfy->tensors && claims_strip_name(codes, ".weight", &p))
        return claims_find(c, p.base, p.base_len, marker_suffix);
    return NULL;
}

bool
comfy_marker_is_there(const struct claims *c, const struct tensor *codes)
{
    return find_layer(c->comfy, codes) || find_tensor(c, codes);
}

const json_t *
comfy_marker_get(const struct comfy_marker *m, const char *key)
{
    const json_t *v = json_object_get(m->root, key);
    if (!v || json_is_null(v))
        v = json_object_get(json_object_get(m->root, "params"), key);
    if (v && json_is_null(v))
        return NULL;
    return v;
}

bool
comfy_marker_wrong(const struct comfy_marker *m, const struct tensor *codes, const char *key, const char *expected,
    struct err *err)
{
    char name[STR_SHOWN], shown[STR_SHOWN] = "missing", text[STR_SHOWN];
    const json_t *found = comfy_marker_get(m, key);
    size_t n = 0;
    if (found)
        n = json_dumpb(found, text, sizeof text, JSON_ENCODE_ANY | JSON_COMPACT);
    if (n != 0)
        str_shown(shown, text, num_min(n, sizeof text));
    return err_at(err, ERR_MALFORMED, codes->extent.at, "tensor %s: %s in its ComfyUI marker is %s, expected %s",
        str_shown(name, codes->name, codes->name_len), key, shown, expected);
}

/* Finds the format that a marker names. ComfyUI-INT8-Fast writes markers without a name, with convrot or per_row, for I8
 * weights. */
static bool
read_format(struct comfy_marker *m, const struct tensor *codes, struct err *err)
{
    const json_t *params = json_object_get(m->root, "params"), *format = json_object_get(m->root, "format");
    if (params && !json_is_null(params) && !json_is_object(params))
        return comfy_marker_wrong(m, codes, "params", "an object", err);
    m->format = json_string_value(format);
    if (!format && codes->dtype == DTYPE_I8 && (comfy_marker_get(m, "convrot") || comfy_marker_get(m, "per_row")))
        m->format = "int8_tensorwise";
    return m->format || comfy_marker_wrong(m, codes, "format", "a format name", err);
}

/* Reads a layer: an object, or a string as shorthand for an object that has only a format. */
static bool
read_layer(struct comfy_marker *m, const struct comfy_layer *layer, struct err *err)
{
    struct str text = { 0 };
    char shown[STR_SHOWN], what[STR_SHOWN + 64];
    const char *p = layer->p;
    size_t n = layer->n;
    snprintf(what, sizeof what, "metadata key %s: layer of %s", metadata_key,
        str_shown(shown, layer->weight->name, layer->weight->name_len));
    for (; n > 0 && strchr(" \t\r\n", *p); n--)
        p++;
    if (!limits_check(n, MARKER_MAX, "bytes of a layer of _quantization_metadata", err))
        return false;
    bool name = n > 0 && *p == '"';
    str_text(&text, name ? "{\"format\":" : "");
    str_add(&text, p, n);
    str_text(&text, name ? "}" : "");
    bool ok = (!text.failed || err_memory(err, n))
        && tree_read(&m->root, text.p, text.len, what, err)
        && read_format(m, layer->weight, err);
    str_clear(&text);
    return ok;
}

static bool
comfy_marker_read_tensor(struct comfy_marker *m, const struct claims *c, const struct tensor *codes, struct err *err)
{
    const struct contents *contents = c->contents;
    const struct tensor *t = m->tensor;
    uint64_t n = t->extent.nbytes;
    char name[STR_SHOWN], what[STR_SHOWN + 16], shape[SHAPE_TEXT];
    snprintf(what, sizeof what, "tensor %s", str_shown(name, t->name, t->name_len));
    if (t->dtype != DTYPE_U8 || t->shape.rank != 1)
        return err_at(err, ERR_MALFORMED, t->extent.at, "tensor %s: expected U8 [n], found %s %s", name,
            dtype_name(t->dtype), shape_text(shape, &t->shape));
    if (!limits_check(n, MARKER_MAX, "bytes of a comfy_quant", err))
        return false;
    m->unread = !contents;
    if (m->unread)
        return true;
    char *text = malloc(n + 1);
    bool ok = (text ? true : err_memory(err, n)) && contents->read(contents->of, t, text, err)
        && tree_read(&m->root, text, (size_t)n, what, err) && read_format(m, codes, err);
    free(text);
    return ok;
}

bool
comfy_marker_read(struct comfy_marker *m, const struct claims *c, const struct tensor *codes, struct err *err)
{
    const struct comfy_layer *layer = find_layer(c->comfy, codes);
    *m = (struct comfy_marker){ .tensor = find_tensor(c, codes) };
    if (m->tensor && !comfy_marker_read_tensor(m, c, codes, err))
        return false;
    if (!layer)
        return true;
    struct comfy_marker second = { 0 }, *of = m->root ? &second : m;
    bool ok = read_layer(of, layer, err);
    m->unread = false;
    if (ok && of == &second && strcmp(m->format, second.format) != 0) {
        char name[STR_SHOWN], a[STR_SHOWN], b[STR_SHOWN];
        ok = err_at(err, ERR_MALFORMED, codes->extent.at, "tensor %s: comfy_quant declares %s, but the metadata declares %s",
            str_shown(name, codes->name, codes->name_len), str_shown(a, m->format, strlen(m->format)),
            str_shown(b, second.format, strlen(second.format)));
    }
    comfy_marker_clear(&second);
    return ok;
}

void
comfy_marker_clear(struct comfy_marker *m)
{
    json_decref(m->root);
    m->root = NULL;
}
