/* ndjson: JSON text written as it comes, one value a line; no tree, so a long array costs nothing.
 *
 * Commas are put where they belong. Strings may be any bytes: what must not reach a terminal comes as
 * \uXXXX, an invalid byte as the text \xHH. Integers beyond 2^53 are strings; NaN and infinity are null.
 */
#ifndef REPORT_NDJSON_H
#define REPORT_NDJSON_H

#include "catalog/shape.h"
#include "report/page.h"

struct ndjson {
    struct page *page;          /* borrowed */
    bool comma;                 /* one is due before the next value */
};

void ndjson_init(struct ndjson *j, struct page *page);

/* A line: an object that begins with the version of the report. */
void ndjson_begin(struct ndjson *j);
void ndjson_end(struct ndjson *j);

/* The name, of any bytes, of the next value in an object; for a name that is text each value takes it as `key`. An element
 * of an array, and a value whose name is written, has no key: NULL. */
void ndjson_key(struct ndjson *j, const char *key, size_t n);

void ndjson_object(struct ndjson *j, const char *key);
void ndjson_object_end(struct ndjson *j);
void ndjson_array(struct ndjson *j, const char *key);
void ndjson_array_end(struct ndjson *j);
void ndjson_null(struct ndjson *j, const char *key);
void ndjson_bool(struct ndjson *j, const char *key, bool v);
void ndjson_u64(struct ndjson *j, const char *key, uint64_t v);
void ndjson_i64(struct ndjson *j, const char *key, int64_t v);
void ndjson_f64(struct ndjson *j, const char *key, double v);               /* the fewest digits that give v back */
void ndjson_text(struct ndjson *j, const char *key, const char *text);      /* NULL: null */
void ndjson_bytes(struct ndjson *j, const char *key, const char *p, size_t n);          /* the same */
void ndjson_known(struct ndjson *j, const char *key, bool known, uint64_t v);           /* else null */
void ndjson_dims(struct ndjson *j, const char *key, const struct shape *shape);         /* an array of numbers */

#endif
