#include "pipeline/output_digests.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"

enum { WIDE = 1024 };           /* values that are converted at a time */

static const char *
output_digests_name_of(const void *of, uint32_t number, size_t *n)
{
    const struct output_digests *d = of;
    *n = d->list[number].t.name_len;
    return d->list[number].name;
}

const struct output_digest *
output_digests_find(const struct output_digests *d, const char *name, size_t n)
{
    uint32_t number;
    if (table_find(&d->names, output_digests_name_of, d, name, n, &number))
        return &d->list[number];
    return NULL;
}

void
output_digests_clear(struct output_digests *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->list[i].name);
    free(d->list);
    table_clear(&d->names);
    d->list = NULL;
    d->n = 0;
}

/* Adds the tensor of a piece to the list. */
static bool
output_digests_begin(struct output_digests *d, const struct tensor *t, const struct piece *piece, struct err *err)
{
    bool again = false;
    uint32_t number = (uint32_t)d->n;
    struct output_digest *list = array_grow(d->list, d->n, &d->room, sizeof *list, err);
    if (!list)
        return false;
    d->list = list;
    list[d->n] = (struct output_digest){ .t = *t, .name = malloc(t->name_len + 1) };
    if (!list[d->n].name)
        return err_memory(err, t->name_len + 1);
    memcpy(list[d->n].name, t->name, t->name_len);
    list[d->n].name[t->name_len] = '\0';
    list[d->n].t.name = list[d->n].name;
    list[d->n].t.extent = (struct extent){ .at = piece->at, .nbytes = piece->nbytes };
    d->wide = t->dtype == DTYPE_F16 || t->dtype == DTYPE_BF16;
    d->ntail = 0;
    sha256_begin(&d->stored, d->library);
    sha256_begin(&d->values, d->library);
    return table_add(&d->names, output_digests_name_of, d, t->name, t->name_len, &number, &again, err);
}

/* Adds n values of two bytes. */
static void
add_values(struct output_digests *d, enum dtype dtype, const uint8_t *p, size_t n)
{
    uint8_t wide[WIDE * sizeof(float)];
    for (size_t now; n != 0; n -= now, p += 2 * now) {
        now = (size_t)num_min(n, WIDE);
        kernels_cast(d->p->kernels, dtype, DTYPE_F32, wide, p, now);
        sha256_add(&d->values, wide, now * sizeof(float));
    }
}

static void
output_digests_add(struct output_digests *d, const uint8_t *p, size_t n)
{
    enum dtype dtype = d->list[d->n].t.dtype;
    sha256_add(&d->stored, p, n);
    if (!d->wide)
        return;
    if (d->ntail != 0) {
        d->tail[1] = *p++;
        n--;
        add_values(d, dtype, d->tail, 1);
    }
    add_values(d, dtype, p, n / 2);
    d->ntail = n % 2;
    if (d->ntail != 0)
        d->tail[0] = p[n - 1];
}

static void
end(struct output_digests *d)
{
    struct digest_pair *pair = &d->list[d->n].digest;
    sha256_end(&d->stored, pair->stored);
    memcpy(pair->values, pair->stored, sizeof pair->values);
    if (d->wide)
        sha256_end(&d->values, pair->values);
    pair->have = DIGESTS_STORED | DIGESTS_VALUES;
    d->n++;
}

/* In turn. The last bytes of a file also complete the empty tensors at its end. */
static void
output_digests_see(void *of, uint64_t at, const uint8_t *p, size_t n, uint64_t digest)
{
    struct output_digests *d = of;
    const struct pieces *pieces = d->p->pieces;
    uint64_t to = at + n;
    (void)digest;
    if (at == 0) {
        d->piece = 0;
        d->files++;
    }
    for (; d->err.kind == ERR_NONE && d->piece < pieces_count(pieces); d->piece++) {
        const struct piece *piece = pieces_at(pieces, d->piece);
        uint64_t piece_end = piece->at + piece->nbytes;
        struct tensor t;
        if (piece->at >= to && to != pieces_nbytes(pieces))
            break;
        bool is_tensor = piece_output(&t, piece);
        if (is_tensor && !d->begun && !output_digests_begin(d, &t, piece, &d->err))
            break;
        d->begun = is_tensor;
        uint64_t from = num_max(at, piece->at), until = num_min(to, piece_end);
        if (is_tensor && from < until)
            output_digests_add(d, p + (from - at), (size_t)(until - from));
        if (piece_end > to)
            break;
        if (is_tensor)
            end(d);
        d->begun = false;
    }
}

struct hook
output_digests_hook(struct output_digests *d, const struct pipeline *p, const struct sha256_library *library)
{
    d->p = p;
    d->library = library;
    return (struct hook){ .see = output_digests_see, .of = d };
}
