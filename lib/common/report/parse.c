#include "report/parse.h"

#include <string.h>

#include "base/version.h"
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
    ndjson_set_text(j, "file", in->nfiles > 1 ? in->files[t->extent.file] : NULL);
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

/* The last cell: of a weight how it is quantized, of a companion what it is to its weight, else nothing. */
static void
add_last(struct str *out, const struct parse *in, size_t i)
{
    char label[SUMMARY_LABEL];
    enum role role = roles_role(in->roles, i);
    if (role == ROLE_WEIGHT)
        str_text(out, summary_label(label, roles_owner(in->roles, i)));
    else if (role != ROLE_PLAIN)
        str_text(out, role_name(role));
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
        add_last(&page.text, in, i);
        page_turn(&page);
    }
    for (int c = 0; c < COLUMNS; c++)
        str_clear(&cell[c]);
    return page_finish(&page, err);
}
