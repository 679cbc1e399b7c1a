/* meta_json: a metadata value as JSON. */
#ifndef REPORT_META_JSON_H
#define REPORT_META_JSON_H

#include "catalog/metadata.h"
#include "report/ndjson.h"

/* The value, null for NULL; an array of more than 16 elements as {"type","length","head"} unless `arrays`. */
void meta_json(struct ndjson *j, const char *key, const struct meta_value *value, bool arrays);

#endif
