#include "report/parse.h"

#include <stdio.h>
#include <string.h>

#include "report/listing.h"
#include "report/ndjson.h"
#include "report/summary.h"

/* ---- JSON ---- */

/* Adds the dimensions in GGUF order; the rank is at most 4. */
static void
add_ne(struct page *j, const struct shape *shape)
{
    ndjson_array(j, "ne");
    for (uint32_t i = shape->rank; i-- > 0;)
        ndjson_u64(j, NULL, shape_dim(shape, i));
    ndjson_array_end(j);
}

/* Adds the role of tensor i, and the scheme of the weight that it is or belongs to. */
static void
add_purpose(struct page *j, const struct roles *roles, size_t i)
{
    char label[SUMMARY_LABEL], detail[SCHEME_DETAIL], word[SCHEME_WORD];
    const struct weight *w = roles_owner(roles, i);
    ndjson_text(j, "role", role_name(roles_role(roles, i)));
    ndjson_bytes(j, "weight", w ? w->name : NULL, w ? w->name_len : 0);
    ndjson_text(j, "scheme", w ? scheme_word(w, word) : NULL);
    ndjson_text(j, "scheme_label", w ? summary_label(label, w) : NULL);
    ndjson_text(j, "detail", w && summary_describe(detail, w)[0] ? detail : NULL);
}

static void
add_digest(struct page *j, const char *key, bool known, const uint8_t digest[SHA256_BYTES])
{
    char hex[SHA256_HEX];
    ndjson_text(j, key, known ? sha256_hex(hex, digest) : NULL);
}

static void
add_digests(struct page *j, const struct digests *d, size_t i)
{
    struct tensor values;
    bool has_values = digests_values(&values, d, i) && d->which & DIGESTS_VALUES;
    add_digest(j, "sha256", d->which & DIGESTS_STORED, d->list[i].stored);
    add_digest(j, "values_sha256", has_values, d->list[i].values);
    if (has_values)
        ndjson_dims(j, "values_shape", &values.shape);
    else
        ndjson_null(j, "values_shape");
}

void
parse_add_model(struct page *page, const struct digests *d, const char *model)
{
    ndjson_begin(page);
    ndjson_text(page, "model", model);
    ndjson_u64(page, "tensors", catalog_count(d->catalog));
    add_digest(page, "sha256", d->which & DIGESTS_STORED, d->model.stored);
    add_digest(page, "values_sha256", d->which & DIGESTS_VALUES, d->model.values);
    ndjson_text(page, "rounded_to", d->to == DTYPE_BF16 || d->to == DTYPE_F16 ? dtype_name(d->to) : NULL);
    ndjson_end(page);
}

/* Adds where the parts of a tensor lie that no file holds as a whole. */
static void
add_tiles(struct page *j, const struct parse *in, const struct tensor *t)
{
    struct catalog_tile tile;
    ndjson_array(j, "pieces");
    for (size_t i = 0; catalog_next_tile(in->catalog, t, 0, t->extent.nbytes, &i, &tile);) {
        ndjson_object(j, NULL);
        ndjson_text(j, "file", in->files[tile.file]);
        ndjson_u64(j, "offset", tile.at);
        ndjson_u64(j, "nbytes", tile.nbytes);
        ndjson_bool(j, "gaps", tile.gaps);
        ndjson_array(j, "from");
        for (uint32_t d = 0; d < tile.axes; d++)
            ndjson_u64(j, NULL, tile.from[d]);
        ndjson_array_end(j);
        ndjson_array(j, "size");
        for (uint32_t d = 0; d < tile.axes; d++)
            ndjson_u64(j, NULL, tile.size[d]);
        ndjson_array_end(j);
        ndjson_object_end(j);
    }
    ndjson_array_end(j);
}

static void
parse_add_tensor(struct page *j, const struct parse *in, size_t i, bool gguf)
{
    char dtype[SUMMARY_DTYPE];
    uint64_t parameters;
    const struct tensor *t = catalog_at(in->catalog, i);

    ndjson_begin(j);
    ndjson_bytes(j, "name", t->name, t->name_len);
    ndjson_text(j, "dtype", summary_dtype(dtype, t));
    ndjson_dims(j, "shape", &t->shape);
    if (gguf)
        add_ne(j, &t->shape);
    else
        ndjson_null(j, "ne");
    ndjson_text(j, "model", in->model);
    bool made = catalog_is_made(in->catalog, t->extent.file);
    ndjson_text(j, "file", (in->nfiles > 1 || in->model) && !made ? in->files[t->extent.file] : NULL);
    ndjson_known(j, "offset", !made, t->extent.at);
    ndjson_known(j, "nbytes", t->dtype != DTYPE_UNKNOWN, t->extent.nbytes);
    bool known = summary_parameters(&parameters, in->catalog, in->roles, i);
    ndjson_known(j, "parameters", known, parameters);
    add_purpose(j, in->roles, i);
    if (made)
        add_tiles(j, in, t);
    if (in->digests)
        add_digests(j, in->digests, i);
    ndjson_end(j);
}

void
parse_json(struct page *page, const struct parse *in)
{
    bool gguf = strcmp(catalog_facts_of(in->catalog)->format, "GGUF") == 0;
    for (size_t i = 0; i < catalog_count(in->catalog) && page->sys == 0; i++)
        parse_add_tensor(page, in, i, gguf);
    if (in->digests)
        parse_add_model(page, in->digests, in->model);
}

/* ---- text ---- */

static struct tensor
tensor_at(const void *own, size_t i, uint64_t *nbytes)
{
    const struct parse *in = own;
    const struct tensor *t = catalog_at(in->catalog, i);
    *nbytes = t->extent.nbytes;
    return *t;
}

/* Adds how a weight is quantized, or what a companion is to its weight; in a checkpoint of several ranks, the number of pieces. */
static enum screen_style
add_shown_purpose(struct str *cell, const void *own, size_t i)
{
    const struct parse *in = own;
    char label[SUMMARY_LABEL];
    enum role role = roles_role(in->roles, i);
    const struct tensor *t = catalog_at(in->catalog, i);
    struct catalog_tile tile;
    size_t n = 0;
    for (size_t k = 0; catalog_next_tile(in->catalog, t, 0, t->extent.nbytes, &k, &tile);)
        n++;
    if (n != 0 && role == ROLE_PLAIN)
        str_format(cell, "%zu piece%s", n, str_plural(n));
    if (role == ROLE_WEIGHT) {
        str_text(cell, summary_label(label, roles_owner(in->roles, i)));
        return SCREEN_KIND;
    }
    if (role != ROLE_PLAIN)
        str_text(cell, role_name(role));
    return SCREEN_PLAIN;
}

static void
add_table(struct page *page, const struct parse *in, const struct summary *s)
{
    struct str totals = { 0 };
    if (s->uncounted == 0) {
        summary_add_count(&totals, s->parameters);
        str_text(&totals, s->parameters == 1 ? " parameter" : " parameters");
    }
    page->text.failed |= totals.failed;
    const struct listing list = { .n = s->tensors, .nbytes = s->nbytes, .more = s->unsized != 0, .title = "Quantization",
        .totals = str_or(totals.p, ""), .own = in, .at = tensor_at, .add_last = add_shown_purpose };
    if (list.n != 0)
        listing_add(page, &list);
    else
        str_text(&page->text, "0 tensors\n");
    str_clear(&totals);
}

/* Adds the digests of the model below the table. */
static void
add_shown_digests(struct str *out, const struct digests *d)
{
    char hex[SHA256_HEX];
    if (d->which & DIGESTS_STORED)
        str_format(out, "SHA-256 of the stored bytes  %s\n", sha256_hex(hex, d->model.stored));
    if (d->which & DIGESTS_VALUES)
        str_format(out, "SHA-256 of the values        %s\n", sha256_hex(hex, d->model.values));
}

bool
parse_text(struct page *page, const struct parse *in, struct err *err)
{
    struct summary s;
    bool ok = summary_make(&s, in->catalog, in->roles, err);
    if (ok) {
        if (in->heading)
            page_heading(page, in->heading, in->first);
        add_table(page, in, &s);
        if (in->digests)
            add_shown_digests(&page->text, in->digests);
    }
    summary_clear(&s);
    return ok;
}
