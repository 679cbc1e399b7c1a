#include "report/listing.h"

#include <stdio.h>
#include <string.h>

#include "report/summary.h"

enum { COLUMN_MAX = 56 };

void
listing_init(struct listing *t, FILE *file)
{
    *t = (struct listing){ 0 };
    page_init(&t->page, file);
}

static void
set_cells(struct listing *t, const char *name, size_t name_len, const char *type, const char *shape, const char *size)
{
    for (int c = 0; c < LISTING_COLUMNS; c++)
        t->cell[c].len = 0;
    str_add_escaped(&t->cell[LISTING_NAME], name, name_len);
    str_text(&t->cell[LISTING_TYPE], type);
    str_text(&t->cell[LISTING_SHAPE], shape);
    str_text(&t->cell[LISTING_SIZE], size);
}

void
listing_titles(struct listing *t)
{
    set_cells(t, "Tensor", strlen("Tensor"), "Type", "Shape", "Size");
}

void
listing_tensor(struct listing *t, const struct tensor *tensor, uint64_t nbytes)
{
    char dtype[SUMMARY_DTYPE], shape[SHAPE_TEXT], size[STR_SIZE];
    set_cells(t, tensor->name, tensor->name_len, summary_dtype(dtype, tensor), shape_text(shape, &tensor->shape),
        tensor->dtype == DTYPE_UNKNOWN ? "?" : str_size(size, nbytes));
}

void
listing_totals(struct listing *t, size_t tensors, uint64_t nbytes, bool more)
{
    char name[64], size[STR_SIZE + 4], all[STR_SIZE];
    snprintf(name, sizeof name, "%zu tensor%s", tensors, tensors == 1 ? "" : "s");
    snprintf(size, sizeof size, "%s%s", str_size(all, nbytes), more ? " + ?" : "");
    set_cells(t, name, strlen(name), "", "", size);
}

/* A cell wider than COLUMN_MAX only shifts its own row. */
void
listing_measure(struct listing *t)
{
    for (int c = 0; c < LISTING_COLUMNS; c++) {
        size_t width = page_columns(t->cell[c].p, t->cell[c].len);
        if (width > t->width[c] && width <= COLUMN_MAX)
            t->width[c] = width;
    }
}

/* Sizes stand to the right. */
void
listing_print(struct listing *t, const char *last)
{
    struct str *out = &t->page.text;
    for (int c = 0; c < LISTING_COLUMNS; c++) {
        const struct str *cell = &t->cell[c];
        size_t width = page_columns(cell->p, cell->len);
        int pad = width < t->width[c] ? (int)(t->width[c] - width) : 0;
        out->failed |= cell->failed;
        str_format(out, "%*s", c == LISTING_SIZE ? pad : 0, "");
        str_add(out, cell->p ? cell->p : "", cell->len);
        str_format(out, "%*s", c == LISTING_SIZE ? 0 : pad + 2, "");
    }
    str_format(out, "%s%s\n", *last ? "  " : "", last);
    page_turn(&t->page);
}

bool
listing_finish(struct listing *t, struct err *err)
{
    for (int c = 0; c < LISTING_COLUMNS; c++)
        str_clear(&t->cell[c]);
    return page_finish(&t->page, err);
}
