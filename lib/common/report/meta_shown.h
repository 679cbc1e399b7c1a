/* meta_shown: metadata for people. A value stands on one line, text in quotes and escaped as in JSON, arrays in
 * brackets. */
#ifndef REPORT_META_SHOWN_H
#define REPORT_META_SHOWN_H

#include "catalog/catalog.h"
#include "report/page.h"

/* Append a value in at most `columns` of a terminal, no fewer than 30. What does not fit is left out, whole elements or
 * whole characters of it, with "..." in their place. */
void meta_shown_value(struct page *page, const struct meta_value *value, size_t columns);

/* A line for each key: its number, the type of its value, how many there are, "key = value". Lines have 80 columns,
 * more for a long key, and for arrays when they are wanted whole. */
void meta_shown_all(struct page *page, const struct catalog *catalog, bool arrays);

#endif
