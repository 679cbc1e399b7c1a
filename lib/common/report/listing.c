#include "report/listing.h"

#include <stdio.h>
#include <string.h>

#include "report/summary.h"

enum { COLUMN_MAX = 56 };
enum { NAME, TYPE, SHAPE, SIZE, COLUMNS };

/* Column widths depend on all rows, so each row is made twice: once to measure it, once to print it. */
struct listing_row {
    struct str cell[COLUMNS];       /* aligned columns; one more follows */
    size_t width[COLUMNS];
};

static void
set_cells(struct listing_row *r, const char *name, size_t name_len, const char *type, const char *shape, const char *size)
{
    for (int c = 0; c < COLUMNS; c++)
        r->cell[c].len = 0;
    str_add_escaped(&r->cell[NAME], name, name_len);
    str_text(&r->cell[TYPE], type);
    str_text(&r->cell[SHAPE], shape);
    str_text(&r->cell[SIZE], size);
}

static void
set_titles(struct listing_row *r)
{
    set_cells(r, "Tensor", strlen("Tensor"), "Type", "Shape", "Size");
}

static void
set_tensor(struct listing_row *r, const struct listing *list, size_t i)
{
    char dtype[SUMMARY_DTYPE], shape[SHAPE_TEXT], size[STR_SIZE];
    uint64_t nbytes;
    const struct tensor t = list->at(list->own, i, &nbytes);
    set_cells(r, t.name, t.name_len, summary_dtype(dtype, &t), shape_text(shape, &t.shape),
        t.dtype == DTYPE_UNKNOWN ? "?" : str_size(size, nbytes));
}

static void
set_totals(struct listing_row *r, const struct listing *list)
{
    char name[64], size[STR_SIZE + 4], all[STR_SIZE];
    snprintf(name, sizeof name, "%zu tensor%s", list->n, list->n == 1 ? "" : "s");
    snprintf(size, sizeof size, "%s%s", str_size(all, list->nbytes), list->more ? " + ?" : "");
    set_cells(r, name, strlen(name), "", "", size);
}

/* A cell wider than COLUMN_MAX shifts only its own row. */
static void
measure(struct listing_row *r)
{
    for (int c = 0; c < COLUMNS; c++) {
        size_t width = page_columns(r->cell[c].p, r->cell[c].len);
        if (width > r->width[c] && width <= COLUMN_MAX)
            r->width[c] = width;
    }
}

/* Sizes are aligned to the right. */
static void
print(struct page *page, const struct listing_row *r, const char *last)
{
    struct str *out = &page->text;
    for (int c = 0; c < COLUMNS; c++) {
        const struct str *cell = &r->cell[c];
        size_t width = page_columns(cell->p, cell->len);
        int pad = width < r->width[c] ? (int)(r->width[c] - width) : 0;
        out->failed |= cell->failed;
        str_format(out, "%*s", c == SIZE ? pad : 0, "");
        str_add(out, cell->p ? cell->p : "", cell->len);
        str_format(out, "%*s", c == SIZE ? 0 : pad + 2, "");
    }
    str_format(out, "%s%s\n", *last ? "  " : "", last);
    page_turn(page);
}

void
listing_add(struct page *page, const struct listing *list)
{
    struct listing_row r = { 0 };
    struct str last = { 0 };
    set_titles(&r);
    measure(&r);
    set_totals(&r, list);
    measure(&r);
    for (size_t i = 0; i < list->n; i++) {
        set_tensor(&r, list, i);
        measure(&r);
    }
    set_titles(&r);
    print(page, &r, list->title);
    for (size_t i = 0; i < list->n && page->sys == 0; i++) {
        last.len = 0;
        list->add_last(&last, list->own, i);
        page->text.failed |= last.failed;
        set_tensor(&r, list, i);
        print(page, &r, last.len ? last.p : "");
    }
    set_totals(&r, list);
    print(page, &r, list->totals);
    str_clear(&last);
    for (int c = 0; c < COLUMNS; c++)
        str_clear(&r.cell[c]);
}
