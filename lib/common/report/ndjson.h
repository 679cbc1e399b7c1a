/* ndjson: writes JSON on a page, one value per line. It builds no tree, so a long array needs no memory.
 *
 * Commas are inserted automatically. Strings may contain any bytes: characters that must not reach a terminal become \uXXXX,
 * an invalid byte becomes the text \xHH. Integers beyond 2^53 become strings; NaN and infinity become null.
 */
#ifndef REPORT_NDJSON_H
#define REPORT_NDJSON_H

#include "catalog/shape.h"
#include "report/page.h"

/* Begins a line: an object whose first member is the version of the report. */
void ndjson_begin(struct page *j);
void ndjson_end(struct page *j);

/* Writes the name of the next value in an object; it may contain any bytes. A name that is text can be passed as `key`
 * instead. Pass NULL as `key` for an array element and after ndjson_key(). */
void ndjson_key(struct page *j, const char *key, size_t n);

void ndjson_object(struct page *j, const char *key);
void ndjson_object_end(struct page *j);
void ndjson_array(struct page *j, const char *key);
void ndjson_array_end(struct page *j);
void ndjson_null(struct page *j, const char *key);
void ndjson_bool(struct page *j, const char *key, bool v);
void ndjson_u64(struct page *j, const char *key, uint64_t v);
void ndjson_i64(struct page *j, const char *key, int64_t v);
void ndjson_f64(struct page *j, const char *key, double v);               /* shortest digits that convert back to v */
void ndjson_text(struct page *j, const char *key, const char *text);      /* NULL becomes null */
void ndjson_bytes(struct page *j, const char *key, const char *p, size_t n);          /* NULL becomes null */
void ndjson_known(struct page *j, const char *key, bool known, uint64_t v);           /* null unless `known` */
void ndjson_dims(struct page *j, const char *key, const struct shape *shape);         /* an array of numbers */

#endif
