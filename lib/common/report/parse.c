#include "report/parse.h"

#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "report/listing.h"
#include "report/ndjson.h"
#include "report/summary.h"

/* ---- JSON ---- */

static void
add_dims(struct ndjson *j, const struct shape *shape)
{
    const uint8_t *p = shape->packed;
    ndjson_array(j);
    for (uint32_t i = 0; i < shape->rank; i++)
        ndjson_u64(j, shape_next(&p));
    ndjson_array_end(j);
}

/* In GGUF's order; its rank is at most 4. */
static void
add_ne(struct ndjson *j, const struct shape *shape)
{
    ndjson_array(j);
    for (uint32_t i = shape->rank; i-- > 0;)
        ndjson_u64(j, shape_dim(shape, i));
    ndjson_array_end(j);
}

/* What tensor i is for: its role, and how the weight is quantized that it is or belongs to. */
static void
add_purpose(struct ndjson *j, const struct roles *roles, size_t i)
{
    char label[SUMMARY_LABEL], detail[SCHEME_DETAIL];
    const struct weight *w = roles_owner(roles, i);
    ndjson_set_text(j, "role", role_name(roles_role(roles, i)));
    ndjson_key(j, "weight");
    if (w)
        ndjson_bytes(j, w->name, w->name_len);
    else
        ndjson_null(j);
    ndjson_set_text(j, "scheme", w ? summary_code(w) : NULL);
    ndjson_set_text(j, "scheme_label", w ? summary_label(label, w) : NULL);
    ndjson_set_text(j, "detail", w && summary_describe(detail, w)[0] ? detail : NULL);
}

static void
add_tensor(struct ndjson *j, const struct parse *in, size_t i, bool gguf)
{
    char dtype[SUMMARY_DTYPE];
    uint64_t parameters;
    const struct tensor *t = catalog_at(in->catalog, i);

    ndjson_object(j);
    ndjson_set_u64(j, "report", VERSION_REPORT);
    ndjson_key(j, "name");
    ndjson_bytes(j, t->name, t->name_len);
    ndjson_set_text(j, "dtype", summary_dtype(dtype, t));
    ndjson_key(j, "shape");
    add_dims(j, &t->shape);
    ndjson_key(j, "ne");
    if (gguf)
        add_ne(j, &t->shape);
    else
        ndjson_null(j);
    ndjson_set_text(j, "model", in->model);
    ndjson_set_text(j, "file", in->nfiles > 1 || in->model ? in->files[t->extent.file] : NULL);
    ndjson_set_u64(j, "offset", t->extent.at);
    ndjson_set_known(j, "nbytes", t->dtype != DTYPE_UNKNOWN, t->extent.nbytes);
    bool known = summary_parameters(&parameters, in->catalog, in->roles, i);
    ndjson_set_known(j, "parameters", known, parameters);
    add_purpose(j, in->roles, i);
    ndjson_object_end(j);
    ndjson_line(j);
}

bool
parse_json(FILE *out, const struct parse *in, struct err *err)
{
    struct page page;
    struct ndjson j;
    bool gguf = strcmp(catalog_facts_of(in->catalog)->format, "GGUF") == 0;
    page_init(&page, out);
    ndjson_init(&j, &page);
    for (size_t i = 0; i < catalog_count(in->catalog) && page.sys == 0; i++)
        add_tensor(&j, in, i, gguf);
    return page_finish(&page, err);
}

/* ---- text ---- */

/* The last cell: of a weight how it is quantized, of a companion what it is to its weight, else nothing. */
static const char *
purpose(char label[SUMMARY_LABEL], const struct roles *roles, size_t i)
{
    enum role role = roles_role(roles, i);
    if (role == ROLE_WEIGHT)
        return summary_label(label, roles_owner(roles, i));
    return role == ROLE_PLAIN ? "" : role_name(role);
}

static void
add_totals(struct listing *t, const struct summary *s)
{
    struct str last = { 0 };
    if (s->uncounted == 0) {
        summary_add_count(&last, s->parameters);
        str_text(&last, s->parameters == 1 ? " parameter" : " parameters");
    }
    t->page.text.failed |= last.failed;
    listing_totals(t, s->tensors, s->nbytes, s->unsized != 0);
    listing_print(t, last.p ? last.p : "");
    str_clear(&last);
}

/* Two passes, for the widths come from all rows. */
static void
add_table(struct listing *t, const struct parse *in, const struct summary *s)
{
    char label[SUMMARY_LABEL];
    size_t n = catalog_count(in->catalog);
    if (n == 0) {
        str_text(&t->page.text, "0 tensors\n");
        return;
    }
    listing_titles(t);
    listing_measure(t);
    listing_totals(t, s->tensors, s->nbytes, s->unsized != 0);
    listing_measure(t);
    for (size_t i = 0; i < n; i++) {
        const struct tensor *tensor = catalog_at(in->catalog, i);
        listing_tensor(t, tensor, tensor->extent.nbytes);
        listing_measure(t);
    }
    listing_titles(t);
    listing_print(t, "Quantization");
    for (size_t i = 0; i < n && t->page.sys == 0; i++) {
        const struct tensor *tensor = catalog_at(in->catalog, i);
        listing_tensor(t, tensor, tensor->extent.nbytes);
        listing_print(t, purpose(label, in->roles, i));
    }
    add_totals(t, s);
}

bool
parse_text(FILE *out, const struct parse *in, struct err *err)
{
    struct listing t;
    struct summary s;
    listing_init(&t, out);
    bool ok = summary_make(&s, in->catalog, in->roles, err);
    if (ok) {
        if (in->heading)
            page_heading(&t.page, in->heading, in->first);
        add_table(&t, in, &s);
    }
    summary_clear(&s);
    return listing_finish(&t, err) && ok;
}
