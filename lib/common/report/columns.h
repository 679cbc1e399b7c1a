/* columns: the columns of a table, each named once: with its key in JSON lines and its heading on a page. A function that adds the values
 * of a row in order makes an object of JSON or a row of a table, depending on the form. The headings come from the first row.
 *
 *     columns_begin(c);
 *     columns_name(c, "name", "tensor", t->name, t->name_len);
 *     columns_figure(c, "sqnr_db", "SQNR, dB", loss->sqnr, html_sqnr);
 *     columns_end(c);
 *
 * A column without a key is only on pages, one without a heading only in JSON. */
#ifndef REPORT_COLUMNS_H
#define REPORT_COLUMNS_H

#include "report/page.h"

/* Set page and form, and zero the rest. */
struct columns {
    struct page *page;          /* borrowed */
    enum { COLUMNS_JSON, COLUMNS_PAGE } form;
    bool unknown;               /* the numbers that follow are not known: null, or an empty cell */
    bool headed;                /* the headings are complete */
    bool total;                 /* the last row has begun */
    struct str cells;           /* of a row, which follow the headings of the first one; owned, until columns_table_end() */
};

/* Appends a number in its form for people. */
typedef void columns_show(struct str *out, double v);

/* Begin and end a table of a page: class "list", or "list sort" if a click on a heading sorts it. Nothing in JSON. */
void columns_table(struct columns *c, const char *class);
void columns_table_end(struct columns *c);

void columns_begin(struct columns *c);
void columns_end(struct columns *c);

/* Begins the last row, which sums up n others, instead of columns_begin() and the first column. */
void columns_total(struct columns *c, const char *key, const char *heading, uint64_t n);

/* Adds the name of a row: p[0..n), any bytes. */
void columns_name(struct columns *c, const char *key, const char *heading, const char *p, size_t n);

/* Adds text; NULL: null, or an empty cell. */
void columns_text(struct columns *c, const char *key, const char *heading, const char *text);

/* Add a number. `show` is for pages, where a click sorts by the value. */
void columns_count(struct columns *c, const char *key, const char *heading, uint64_t n, columns_show *show);
void columns_figure(struct columns *c, const char *key, const char *heading, double v, columns_show *show);

/* Shows a count with all digits. */
void columns_digits(struct str *out, double n);

/* Adds a heading of a page; text is aligned to the left. Returns where the caller appends the cell; NULL in JSON. */
struct str *columns_cell(struct columns *c, const char *heading, bool text);

#endif
