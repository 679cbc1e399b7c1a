/* ndjson: JSON text written as it comes, one value a line; no tree, so a long array costs nothing.
 *
 * Commas are put where they belong. Strings may be any bytes: what must not reach a terminal comes as
 * \uXXXX, an invalid byte as the text \xHH. Integers beyond 2^53 are strings; NaN and infinity are null.
 */
#ifndef REPORT_NDJSON_H
#define REPORT_NDJSON_H

#include "report/page.h"

struct ndjson {
    struct page *page;          /* borrowed */
    bool comma;                 /* one is due before the next value */
};

void ndjson_init(struct ndjson *j, struct page *page);

void ndjson_object(struct ndjson *j);
void ndjson_object_end(struct ndjson *j);
void ndjson_array(struct ndjson *j);
void ndjson_array_end(struct ndjson *j);
/* End of the line: what comes next is a value of its own. */
void ndjson_line(struct ndjson *j);

/* The name of the next value in an object. */
void ndjson_key(struct ndjson *j, const char *key);
void ndjson_key_bytes(struct ndjson *j, const char *key, size_t n);

void ndjson_null(struct ndjson *j);
void ndjson_bool(struct ndjson *j, bool v);
void ndjson_u64(struct ndjson *j, uint64_t v);
void ndjson_i64(struct ndjson *j, int64_t v);
void ndjson_f64(struct ndjson *j, double v);                /* the fewest digits that give v back */
void ndjson_text(struct ndjson *j, const char *text);       /* NULL: null */
void ndjson_bytes(struct ndjson *j, const char *p, size_t n);

/* A name and its value at once. */
void ndjson_set_text(struct ndjson *j, const char *key, const char *text);
void ndjson_set_u64(struct ndjson *j, const char *key, uint64_t v);
void ndjson_set_known(struct ndjson *j, const char *key, bool known, uint64_t v);      /* else null */

#endif
