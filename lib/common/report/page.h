/* page: buffered text output that remembers the first failed write. Append to `text` with base/str.h, call page_turn() from
 * time to time, and page_finish() once. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdio.h>

#include "base/err.h"
#include "base/screen.h"

struct page {
    FILE *file;             /* borrowed; NULL: all text stays in memory */
    struct screen screen;   /* the terminal that the file is, if it is one */
    struct str text;        /* not yet written */
    bool comma;             /* of ndjson.h: one precedes the next value */
    int sys;                /* errno of the first failed write, or 0 */
};

/* Begins a line of text with a label: str_format(out, PAGE_LABEL "%zu\n", "Tensors", n). */
#define PAGE_LABEL "%-14s"
enum { PAGE_LABEL_WIDTH = 14 };

/* With NULL as file, the caller takes page->text and clears it, instead of page_finish(). */
void page_init(struct page *page, FILE *file);

/* Writes the text if there is enough of it. After a failure the text is dropped. */
void page_turn(struct page *page);

/* Adds a heading "NAME:" above one of several reports, after an empty line unless it is the first. `name` is escaped
 * already. */
void page_heading(struct page *page, const char *name, bool first);

/* Adds text in a style. */
void page_styled(struct page *page, enum screen_style style, const char *text);

/* Writes the rest, flushes the file and frees the memory. Returns false if anything failed, with ERR_IO or ERR_MEMORY unless `err` has a
 * failure already. */
bool page_finish(struct page *page, struct err *err);

#endif
