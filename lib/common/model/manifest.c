#include "model/manifest.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/tree.h"
#include "source/source.h"

enum { WHAT = 64 };

struct manifest_reader {
    struct manifest *manifest;
    struct budget budget;
    bool values;                /* the digests of values are required */
    bool ended;                 /* the line of the model was read */
    struct err *err;
};

static const char *
stored_name(const void *of, uint32_t number, size_t *n)
{
    const struct manifest *m = of;
    *n = strlen(m->entry[number].name);
    return m->entry[number].name;
}

static const char *
values_name(const void *of, uint32_t number, size_t *n)
{
    const struct manifest *m = of;
    *n = strlen(m->entry[number].values_name);
    return m->entry[number].values_name;
}

const struct manifest_entry *
manifest_find(const struct manifest *m, bool values, const char *name, size_t n)
{
    uint32_t number;
    bool found;
    if (values)
        found = table_find(&m->values, values_name, m, name, n, &number);
    else
        found = table_find(&m->stored, stored_name, m, name, n, &number);
    if (found)
        return &m->entry[number];
    return NULL;
}

void
manifest_clear(struct manifest *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->entry[i].name);
        free(m->entry[i].shape);
        free(m->entry[i].values_name);
        free(m->entry[i].values_shape);
    }
    for (size_t i = 0; i < m->nmodels; i++)
        free(m->model[i].name);
    free(m->model);
    free(m->files);
    free(m->entry);
    free(m->path);
    table_clear(&m->stored);
    table_clear(&m->values);
    *m = (struct manifest){ 0 };
}

/* --- one line */

static bool
manifest_wrong(struct manifest_reader *r, uint64_t line, const char *why)
{
    return err_set(r->err, ERR_MALFORMED, "line %" PRIu64 " is not a line of amn-parse --hash: %s", line, why);
}

static bool
copy_text(struct manifest_reader *r, char **copy, const char *text)
{
    size_t n = strlen(text) + 1;
    if (!budget_bytes(&r->budget, n, "text of the manifest", r->err))
        return false;
    *copy = strdup(text);
    return *copy || err_memory(r->err, n);
}

/* Reads an array of dimensions as "2,3". */
static bool
manifest_read_shape(struct manifest_reader *r, char **shape, const json_t *array, uint64_t line)
{
    struct str text = { 0 };
    size_t i;
    json_t *dim;
    bool ok = json_is_array(array) || manifest_wrong(r, line, "it has no shape");
    json_array_foreach(array, i, dim) {
        str_text(&text, i == 0 ? "" : ",");
        if (json_is_string(dim))                /* beyond 2^53 */
            str_text(&text, json_string_value(dim));
        else if (json_is_integer(dim))
            str_format(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(dim));
        else
            ok = ok && manifest_wrong(r, line, "its shape is not an array of integers");
    }
    if (ok && !text.failed)
        ok = copy_text(r, shape, str_or(text.p, ""));
    else
        ok = ok && err_memory(r->err, text.room);
    str_clear(&text);
    return ok;
}

/* Reads a digest, which may be null. */
static bool
read_digest(struct manifest_reader *r, bool *has, uint8_t digest[SHA256_BYTES], const json_t *line, const char *key,
    uint64_t number)
{
    char why[WHAT];
    const json_t *text = json_object_get(line, key);
    *has = json_is_string(text);
    if ((!text || json_is_null(text)) || (*has && sha256_from_hex(digest, json_string_value(text), json_string_length(text))))
        return true;
    snprintf(why, sizeof why, "its %s is not 64 hexadecimal digits", key);
    return manifest_wrong(r, number, why);
}

static bool
read_members(struct manifest_reader *r, struct manifest_entry *e, const json_t *line)
{
    const json_t *name = json_object_get(line, "name"), *weight = json_object_get(line, "weight");
    const json_t *role = json_object_get(line, "role"), *values = json_object_get(line, "values_shape");
    bool is_weight = json_is_string(role) && strcmp(json_string_value(role), "weight") == 0;
    bool companion = json_is_string(role) && !is_weight && strcmp(json_string_value(role), "plain") != 0;
    if (!copy_text(r, &e->name, json_string_value(name)) || !manifest_read_shape(r, &e->shape, json_object_get(line, "shape"),
        e->line)
        || !read_digest(r, &e->has_stored, e->stored, line, "sha256", e->line)
        || !read_digest(r, &e->has_values, e->values, line, "values_sha256", e->line))
        return false;
    if (!r->values && !e->has_stored)
        return manifest_wrong(r, e->line, "it has no sha256");
    if (!r->values || companion)
        return true;
    if (!e->has_values)
        return manifest_wrong(r, e->line, e->has_stored ? "it has no values_sha256, only sha256, which --stored compares"
            : "it has no values_sha256");
    if (is_weight && !json_is_string(weight))
        return manifest_wrong(r, e->line, "the weight has no name");
    return copy_text(r, &e->values_name, json_string_value(is_weight ? weight : name))
        && manifest_read_shape(r, &e->values_shape, values ? values : json_object_get(line, "shape"), e->line);
}

/* Adds an entry to the tables, whose names are unique. */
static bool
index_entry(struct manifest_reader *r, const struct manifest_entry *e)
{
    struct manifest *m = r->manifest;
    uint32_t first = (uint32_t)(m->n - 1), number = first;
    bool again = false;
    if (!table_add(&m->stored, stored_name, m, e->name, strlen(e->name), &number, &again, r->err))
        return false;
    if (!again && e->values_name) {
        number = first;
        if (!table_add(&m->values, values_name, m, e->values_name, strlen(e->values_name), &number, &again, r->err))
            return false;
    }
    char shown[STR_SHOWN], why[STR_SHOWN + WHAT];
    snprintf(why, sizeof why, "line %" PRIu64 " lists %s, too", m->entry[number].line, str_shown(shown, e->name, strlen(e->name)));
    return !again || manifest_wrong(r, e->line, why);
}

static bool
read_line(struct manifest_reader *r, const char *text, size_t n, uint64_t number)
{
    struct manifest *m = r->manifest;
    char what[WHAT];
    json_t *line;
    snprintf(what, sizeof what, "line %" PRIu64, number);
    if (!tree_read(&line, text, n, what, r->err))
        return false;
    bool ok = true;
    if (!json_is_string(json_object_get(line, "name"))) {
        ok = json_object_get(line, "tensors") || manifest_wrong(r, number, "it has no name");
        r->ended = true;
    } else if (r->ended) {
        ok = manifest_wrong(r, number, "it follows that of the model; a manifest describes one model");
    } else {
        struct manifest_entry *list = NULL;
        ok = budget_items(&r->budget, 1, "lines of the manifest", r->err)
            && budget_bytes(&r->budget, sizeof *list, "lines of the manifest", r->err)
            && (list = array_grow(m->entry, m->n, &m->room, sizeof *list, r->err)) != NULL;
        if (ok) {
            m->entry = list;
            list[m->n++] = (struct manifest_entry){ .line = number };
            ok = read_members(r, &list[m->n - 1], line) && index_entry(r, &list[m->n - 1]);
        }
    }
    json_decref(line);
    return ok;
}

/* --- the file */

/* How a line of amn hash begins. */
static const struct model_head {
    const char *text;
    bool stored;
    enum dtype to;
} heads[] = {
    { .text = "AMN-VALUES (", .stored = false, .to = DTYPE_F32 }, { .text = "AMN-STORED (", .stored = true, .to = DTYPE_F32 },
    { .text = "AMN-VALUES-BF16 (", .stored = false, .to = DTYPE_BF16 }, { .text = "AMN-VALUES-F16 (", .stored = false, .to = DTYPE_F16 },
};

static const struct model_head *
find_head(const char *p, size_t n)
{
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (str_prefixed(p, n, heads[i].text))
            return &heads[i];
    return NULL;
}

const char *
manifest_model_head(bool stored, enum dtype to)
{
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (heads[i].stored == stored && (stored || heads[i].to == to))
            return heads[i].text;
    return heads[0].text;
}

/* Reads a line of amn hash: AMN-VALUES (NAME) = DIGEST, or another of the heads. */
static bool
read_model(struct manifest_reader *r, const char *p, size_t n, uint64_t number)
{
    static const char tail[] = ") = ";
    struct manifest *m = r->manifest;
    struct manifest_model one = { 0 };
    size_t escaped = n != 0 && *p == '\\', head = 0, end = sizeof tail - 1 + SHA256_HEX - 1;
    p += escaped;
    n -= escaped;
    const struct model_head *is = find_head(p, n);
    if (is) {
        one.stored = is->stored;
        one.to = is->to;
        head = strlen(is->text);
    }
    bool ok = is && n > head + end && memcmp(p + n - end, tail, sizeof tail - 1) == 0
        && sha256_from_hex(one.digest, p + n - (SHA256_HEX - 1), SHA256_HEX - 1);
    if (!ok)
        return err_set(r->err, ERR_MALFORMED, "line %" PRIu64 " is not a line of amn hash", number);
    struct manifest_model *list = array_grow(m->model, m->nmodels, &m->models_room, sizeof *list, r->err);
    if (!list || !budget_bytes(&r->budget, n, "text of the manifest", r->err))
        return false;
    m->model = list;
    one.name = str_unescaped(p + head, n - head - end, escaped);
    list[m->nmodels++] = one;
    return one.name || err_memory(r->err, n);
}

/* Recognizes a line of sha256sum: digits and a name, or SHA256 (NAME) = DIGITS. */
static bool
is_file_line(const char *text, size_t n)
{
    size_t hex = 0, escaped = n != 0 && *text == '\\';
    while (escaped + hex < n && isxdigit((unsigned char)text[escaped + hex]))
        hex++;
    return hex == SHA256_HEX - 1 || (n > 8 && memcmp(text, "SHA256 (", 8) == 0);
}

static bool
copy_files(struct manifest_reader *r, const char *text, size_t n)
{
    struct manifest *m = r->manifest;
    if (!budget_bytes(&r->budget, n, "text of the manifest", r->err))
        return false;
    m->files = strndup(text, n);
    m->nfiles = n;
    return m->files || err_memory(r->err, n);
}

/* Recognizes a line of amn hash. */
static bool
is_model_line(const char *text, size_t n)
{
    size_t escaped = n != 0 && *text == '\\';
    return n > escaped + 4 && memcmp(text + escaped, "AMN-", 4) == 0;
}

static bool
read_lines(struct manifest_reader *r, const char *text, size_t n)
{
    const bool models = is_model_line(text, n);
    if (is_file_line(text, n))
        return copy_files(r, text, n);
    for (uint64_t number = 1; n != 0; number++) {
        const char *end = memchr(text, '\n', n);
        size_t len = n;
        if (end)
            len = (size_t)(end - text);
        if (len != 0 && !(models ? read_model : read_line)(r, text, len, number))
            return false;
        text += len + (end != NULL);
        n -= len + (end != NULL);
    }
    return r->manifest->n != 0 || models || r->ended || err_set(r->err, ERR_MALFORMED, "the manifest lists no tensor; expected the "
        "output of amn-parse --hash");
}

bool
manifest_read(struct manifest *m, const char *path, bool values, const struct limits *limits, struct err *err)
{
    struct manifest_reader r = { .manifest = m, .budget.limits = *limits, .values = values, .err = err };
    struct source *src = NULL;
    const uint8_t *text = NULL;
    uint64_t n = 0;
    bool ok = source_open(&src, path, true, NULL, err) && source_unpack(src, limits, err)
        && source_head(src, SOURCE_HEAD_MAX, &text, &n, err)
        && limits_check(n, SOURCE_HEAD_MAX - 1, "bytes of the manifest", err);
    ok = ok && read_lines(&r, (const char *)text, (size_t)n);
    if (src) {
        m->path = strdup(source_name(src));
        ok = (m->path || err_memory(err, 0)) && ok;
        if (!ok)
            err_in_file(err, source_name(src));
    }
    source_close(src);
    return ok;
}
