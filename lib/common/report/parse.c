#include "report/parse.h"

#include <string.h>

#include "report/ndjson.h"
#include "report/summary.h"

/* What a tensor is for. */
struct part {
    const char *name;               /* "plain", "quantized", "companion" */
    const char *scheme;             /* NULL unless quantized */
    char detail[SCHEME_DETAIL];
};

static void
role_of(struct part *role, const struct roles *roles, size_t i)
{
    const struct weight *w = roles_weight_of(roles, i);
    *role = (struct part){ .name = w ? "quantized" : roles_is_companion(roles, i) ? "companion" : "plain" };
    if (!w)
        return;
    role->scheme = w->scheme->name;
    summary_describe(role->detail, w);
}

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

static void
add_role(struct ndjson *j, const struct part *role)
{
    ndjson_set_text(j, "role", role->name);
    if (!role->scheme)
        return;
    ndjson_set_text(j, "scheme", role->scheme);
    ndjson_set_text(j, "detail", role->detail[0] ? role->detail : NULL);
}

static void
add_tensor(struct ndjson *j, const struct parse *in, size_t i, bool gguf)
{
    char dtype[SUMMARY_DTYPE];
    struct part role;
    uint64_t parameters;
    const struct tensor *t = catalog_at(in->catalog, i);
    role_of(&role, in->roles, i);

    ndjson_object(j);
    ndjson_key(j, "name");
    ndjson_bytes(j, t->name, t->name_len);
    ndjson_set_text(j, "dtype", summary_dtype(dtype, t));
    ndjson_key(j, "shape");
    add_dims(j, &t->shape);
    if (gguf) {
        ndjson_key(j, "ne");
        add_ne(j, &t->shape);
    }
    if (in->nfiles > 1)
        ndjson_set_text(j, "file", in->files[t->extent.file]);
    ndjson_set_u64(j, "offset", t->extent.at);
    ndjson_key(j, "nbytes");
    if (t->dtype == DTYPE_UNKNOWN)
        ndjson_null(j);
    else
        ndjson_u64(j, t->extent.nbytes);
    ndjson_key(j, "parameters");
    if (summary_parameters(&parameters, in->catalog, in->roles, i))
        ndjson_u64(j, parameters);
    else
        ndjson_null(j);
    add_role(j, &role);
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

enum { COLUMNS = 4, COLUMN_MAX = 56 };

/* The cells of one row that are aligned; what the tensor is for follows them. */
static void
row_cells(struct str cell[COLUMNS], const struct tensor *t)
{
    char dtype[SUMMARY_DTYPE], shape[SHAPE_TEXT], size[STR_SIZE];
    for (int c = 0; c < COLUMNS; c++)
        cell[c].len = 0;
    str_add_escaped(&cell[0], t->name, t->name_len);
    str_text(&cell[1], summary_dtype(dtype, t));
    str_text(&cell[2], shape_text(shape, &t->shape));
    str_text(&cell[3], t->dtype == DTYPE_UNKNOWN ? "?" : str_size(size, t->extent.nbytes));
}

/* Columns of a terminal, one for each character. */
static int
width_of(const struct str *s)
{
    int width = 0;
    for (size_t i = 0; i < s->len; i++)
        width += ((unsigned char)s->p[i] & 0xC0) != 0x80;
    return width;
}

static void
add_row(struct str *out, struct str cell[COLUMNS], const int width[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++) {
        int pad = width[c] - width_of(&cell[c]);
        out->failed |= cell[c].failed;
        str_add(out, cell[c].p ? cell[c].p : "", cell[c].len);
        str_format(out, "%*s  ", pad > 0 ? pad : 0, "");
    }
}

static void
add_purpose(struct str *out, const struct parse *in, size_t i)
{
    struct part role;
    role_of(&role, in->roles, i);
    if (!role.scheme)
        str_text(out, strcmp(role.name, "plain") == 0 ? "" : role.name);
    else if (role.detail[0])
        str_format(out, "%s (%s)", role.scheme, role.detail);
    else
        str_text(out, role.scheme);
    while (!out->failed && out->len != 0 && out->p[out->len - 1] == ' ')
        out->len--;
    str_text(out, "\n");
}

/* Two passes, for the widths come from all rows; a cell wider than COLUMN_MAX only shifts its own row. */
bool
parse_text(FILE *out, const struct parse *in, struct err *err)
{
    struct page page;
    struct str cell[COLUMNS] = { 0 };
    int width[COLUMNS] = { 0 };
    size_t n = catalog_count(in->catalog);

    page_init(&page, out);
    for (size_t i = 0; i < n; i++) {
        row_cells(cell, catalog_at(in->catalog, i));
        for (int c = 0; c < COLUMNS; c++)
            if (width_of(&cell[c]) > width[c] && width_of(&cell[c]) <= COLUMN_MAX)
                width[c] = width_of(&cell[c]);
    }
    for (size_t i = 0; i < n && page.sys == 0; i++) {
        row_cells(cell, catalog_at(in->catalog, i));
        add_row(&page.text, cell, width);
        add_purpose(&page.text, in, i);
        page_turn(&page);
    }
    for (int c = 0; c < COLUMNS; c++)
        str_clear(&cell[c]);
    return page_finish(&page, err);
}
