/* meta_json: a metadata value as JSON. */
#ifndef REPORT_META_JSON_H
#define REPORT_META_JSON_H

#include "catalog/metadata.h"
#include "report/ndjson.h"

/* Adds the value; null for NULL. An array of more than 16 elements becomes {"type","length","head"} unless `arrays` is set. */
void meta_json(struct page *j, const char *key, const struct meta_value *value, bool arrays);

#endif
