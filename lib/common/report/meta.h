/* meta: metadata values as JSON, and as text. In text a value takes one line; strings are quoted and escaped as in JSON, arrays are in
 * brackets. */
#ifndef REPORT_META_H
#define REPORT_META_H

#include "catalog/catalog.h"
#include "report/ndjson.h"

/* Adds the value; null for NULL. An array of more than 16 elements becomes {"type","length","head"} unless `arrays` is set. */
void meta_json(struct page *j, const char *key, const struct meta_value *value, bool arrays);

/* Appends a value in at most `columns` columns, at least 30. Whole elements or characters that do not fit are replaced by
 * "...". */
void meta_shown_value(struct page *page, const struct meta_value *value, size_t columns);

/* Appends a line for each key: number, type, number of values, "key = value". Lines have at most 80 columns, except for long
 * keys and, if `arrays` is set, for arrays in full. */
void meta_shown_all(struct page *page, const struct catalog *catalog, bool arrays);

#endif
