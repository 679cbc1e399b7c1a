/* The outputs of a family by name, and what all files of rows use. */
#include <inttypes.h>
#include <string.h>

#include "family/pattern.h"
#include "family/rows_priv.h"

bool
rows_fail(const struct family_source *source, enum err_kind kind, const char *what, struct err *err)
{
    char name[STR_SHOWN], shape[SHAPE_TEXT];
    return err_set(err, kind, "tensor %s: shape %s: %s", str_shown(name, source->name, source->name_len),
        shape_text(shape, &source->t.shape), what);
}

bool
rows_output_name(const char **name, uint32_t *n, struct scope *scope, const struct family_row *row, uint64_t b,
    struct catalog *memory, struct err *err)
{
    struct str s = { .max = META_KEY_MAX };
    size_t hole = 0;
    bool ok = true;
    for (const char *p = row->gguf; ok && *p;) {
        size_t plain = strcspn(p, "{");
        uint64_t number;
        str_add(&s, p, plain);
        p += plain;
        if (*p && (ok = expr_size(&number, row->shift[hole++], scope, b, err))) {
            str_format(&s, "%" PRIu64, number);
            p += strcspn(p, "}") + 1;
        }
    }
    if (ok)
        return pattern_name(name, n, &s, memory, err);
    str_clear(&s);
    return false;
}

const struct row_match *
rows_member(const struct rows_work *w, const struct row_output *out, size_t i)
{
    if (out->nmembers != 0)
        return &w->member[out->member + i].match;
    return &out->match;
}

static const char *
output_name(const void *of, uint32_t number, size_t *n)
{
    const struct rows_work *w = of;
    *n = w->out[number].name_len;
    return w->out[number].name;
}

bool
rows_index(uint32_t *number, bool *again, struct rows_work *w, const struct row_output *out, struct err *err)
{
    return table_add(&w->names, output_name, w, out->name, out->name_len, number, again, err);
}

struct row_output *
rows_find(const struct rows_work *w, const char *name, size_t n)
{
    uint32_t number;
    if (table_find(&w->names, output_name, w, name, n, &number))
        return &w->out[number];
    return NULL;
}
