#include "report/listing.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "report/summary.h"

enum { COLUMN_MAX = 56, NAME_MIN = 12, LAST_MIN = 8, GAP = 2 };
enum { NAME, TYPE, SHAPE, SIZE, LAST, COLUMNS };

/* Column widths depend on all rows, so each row is made twice: once to measure it, once to print it. */
struct listing_row {
    struct str cell[COLUMNS];
    size_t width[COLUMNS];      /* of the column; LAST is not padded */
    bool long_name;             /* a name is wider than COLUMN_MAX */
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
    snprintf(name, sizeof name, "%zu tensor%s", list->n, str_plural(list->n));
    snprintf(size, sizeof size, "%s%s", str_size(all, list->nbytes), list->more ? " + ?" : "");
    set_cells(r, name, strlen(name), "", "", size);
}

static size_t
columns_of(const struct str *cell)
{
    if (cell->len != 0)
        return screen_columns(cell->p, cell->len);
    return 0;
}

/* A name wider than COLUMN_MAX shifts only its own row. */
static void
listing_measure(struct listing_row *r)
{
    for (int c = 0; c < COLUMNS; c++) {
        size_t width = columns_of(&r->cell[c]);
        if (width > r->width[c] && (width <= COLUMN_MAX || c == LAST))
            r->width[c] = width;
        r->long_name = r->long_name || (c == NAME && width > COLUMN_MAX);
    }
}

/* Divides the columns that the other cells leave between names and the last column. */
static void
listing_fit(struct listing_row *r, const struct screen *screen)
{
    size_t others = r->width[TYPE] + r->width[SHAPE] + r->width[SIZE] + (COLUMNS - 1) * GAP, room, last = r->width[LAST];
    if (screen->columns == SIZE_MAX)
        return;
    if (r->long_name)
        r->width[NAME] = COLUMN_MAX;
    if (screen->columns > others + NAME_MIN + LAST_MIN)
        room = screen->columns - others;
    else
        room = NAME_MIN + LAST_MIN;
    if (r->width[NAME] > room / 2)
        r->width[NAME] = num_max(room / 2, room - num_min(last, room));
    r->width[LAST] = room - num_min(r->width[NAME], room);
}

/* Sizes are aligned to the right. */
static void
print(struct page *page, struct listing_row *r, enum screen_style style)
{
    struct str *out = &page->text, *last = &r->cell[LAST];
    bool limited = page->screen.columns != SIZE_MAX;
    for (int c = 0; c < LAST; c++) {
        const struct str *cell = &r->cell[c];
        size_t width = columns_of(cell);
        int pad = 0;
        if (width < r->width[c])
            pad = (int)(r->width[c] - width);
        out->failed |= cell->failed;
        str_format(out, "%*s", c == SIZE ? pad : 0, "");
        screen_shorten(out, str_or(cell->p, ""), cell->len, limited && c == NAME ? r->width[c] : SIZE_MAX, false);
        str_format(out, "%*s", c == SIZE ? 0 : pad + GAP, "");
    }
    out->failed |= last->failed;
    if (last->len != 0) {
        str_format(out, "%*s", GAP, "");
        screen_begin(out, &page->screen, style);
        screen_shorten(out, last->p, last->len, limited ? r->width[LAST] : SIZE_MAX, true);
        screen_end(out, &page->screen, style);
    }
    str_text(out, "\n");
    page_turn(page);
}

/* Prints a line that is not a tensor. */
static void
print_text(struct page *page, struct listing_row *r, const char *last, enum screen_style style)
{
    str_text(&r->cell[LAST], last);
    screen_begin(&page->text, &page->screen, style);
    print(page, r, SCREEN_PLAIN);
    screen_end(&page->text, &page->screen, style);
}

void
listing_add(struct page *page, const struct listing *list)
{
    struct listing_row r = { 0 };
    set_titles(&r);
    str_text(&r.cell[LAST], list->title);
    listing_measure(&r);
    set_totals(&r, list);
    listing_measure(&r);
    for (size_t i = 0; i < list->n; i++) {
        set_tensor(&r, list, i);
        list->add_last(&r.cell[LAST], list->own, i);
        listing_measure(&r);
    }
    listing_fit(&r, &page->screen);
    set_titles(&r);
    print_text(page, &r, list->title, SCREEN_HEADING);
    for (size_t i = 0; i < list->n && page->sys == 0; i++) {
        set_tensor(&r, list, i);
        print(page, &r, list->add_last(&r.cell[LAST], list->own, i));
    }
    set_totals(&r, list);
    if (page->screen.columns != SIZE_MAX && strlen(list->totals) > r.width[LAST]) {     /* on a line of its own */
        print_text(page, &r, "", SCREEN_PLAIN);
        str_format(&page->text, "%s\n", list->totals);
    } else {
        print_text(page, &r, list->totals, SCREEN_PLAIN);
    }
    for (int c = 0; c < COLUMNS; c++)
        str_clear(&r.cell[c]);
}
