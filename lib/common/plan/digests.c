#include "plan/digests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

/* A line of the text whose digest is the digest of the model. */
struct digest_line {
    struct tensor t;
    const uint8_t *digest;
};

bool
digests_init(struct digests *d, const struct catalog *catalog, const struct roles *roles, unsigned which, struct err *err)
{
    size_t n = catalog_count(catalog);
    *d = (struct digests){ .catalog = catalog, .roles = roles, .which = which, .list = calloc(n + 1, sizeof *d->list) };
    return d->list || err_memory(err, (n + 1) * sizeof *d->list);
}

void
digests_clear(struct digests *d)
{
    free(d->list);
    *d = (struct digests){ 0 };
}

bool
digests_values(struct tensor *t, const struct digests *d, size_t i)
{
    const struct weight *w = roles_weight_of(d->roles, i);
    *t = *catalog_at(d->catalog, i);
    if (w) {
        t->name = w->name;
        t->name_len = w->name_len;
        t->shape = w->shape;
    }
    return w || !roles_owner(d->roles, i);
}

static int
compare_lines(const void *pa, const void *pb)
{
    const struct digest_line *a = pa, *b = pb;
    return str_compare(a->t.name, a->t.name_len, b->t.name, b->t.name_len);
}

static void
digests_add_line(struct sha256 *s, const struct digest_line *line)
{
    char hex[SHA256_HEX], dim[24];
    sha256_add(s, line->t.name, line->t.name_len);
    sha256_add(s, "", 1);
    for (uint32_t i = 0; i < line->t.shape.rank; i++)
        sha256_add(s, dim, (size_t)snprintf(dim, sizeof dim, "%s%" PRIu64, i == 0 ? "" : ",", shape_dim(&line->t.shape, i)));
    sha256_add(s, "", 1);
    sha256_add(s, sha256_hex(hex, line->digest), SHA256_HEX - 1);
    sha256_add(s, "\n", 1);
}

bool
digests_total(struct digests *d, const struct sha256_library *library, struct err *err)
{
    size_t n = catalog_count(d->catalog);
    struct digest_line *lines = calloc(n + 1, sizeof *lines);
    if (!lines)
        return err_memory(err, (n + 1) * sizeof *lines);
    for (unsigned which = DIGESTS_STORED; which <= DIGESTS_VALUES; which++) {
        struct sha256 s;
        size_t used = 0;
        if (!(d->which & which))
            continue;
        for (size_t i = 0; i < n; i++) {
            struct digest_line line = { *catalog_at(d->catalog, i), d->list[i].stored };
            if (which == DIGESTS_VALUES && !digests_values(&line.t, d, i))
                continue;
            if (which == DIGESTS_VALUES)
                line.digest = d->list[i].values;
            lines[used++] = line;
        }
        qsort(lines, used, sizeof *lines, compare_lines);
        sha256_begin(&s, library);
        for (size_t i = 0; i < used; i++)
            digests_add_line(&s, &lines[i]);
        sha256_end(&s, which == DIGESTS_STORED ? d->model.stored : d->model.values);
    }
    free(lines);
    return true;
}
