/* ggml: the models of whisper.cpp (Whisper, Parakeet and Silero VAD), all little-endian:
 *
 *      | "lmgg" | header |                                                       ggml_header.c
 *      | n_dims i32 | length of the name i32 | type i32 | n_dims x i32 | name | data |      until the end of the file
 *
 * Types are ids of ggml. The first dimension varies fastest; the catalog has dimensions in reverse, row-major. Data is not aligned,
 * and there is no index: a file is read record by record, without the data, and a pipe goes to a temporary file first. Source:
 * whisper.cpp, src/whisper.cpp and the scripts of models/. */
#include "container/ggml/ggml.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "dtype/dtype.h"

enum { DIMS = 4, NAME_MOST = 255, RECORD_HEAD = 12 };

/* A tensor before its data. */
struct ggml_record {
    uint64_t at;                /* offset of the record */
    uint32_t rank, name_len, id;
    uint64_t dim[DIMS];         /* row-major */
    char name[NAME_MOST + 1];
    enum dtype dtype;
    uint64_t nbytes;
};

const uint8_t *
ggml_take(struct ggml *g, size_t n, const char *what, struct err *err)
{
    if (n > g->size - g->at) {
        err_at(err, ERR_MALFORMED, g->at, "truncated: %s of %zu bytes, but the file ends after %" PRIu64 " (incomplete download or copy?)",
            what, n, g->size);
        return NULL;
    }
    if (g->at < g->from || g->at + n > g->from + g->have) {
        g->from = g->at;
        g->have = (size_t)num_min(num_max(n, g->ahead), g->size - g->at);
        if (!source_read(g->src, g->from, g->window, g->have, err))
            return NULL;
    }
    const uint8_t *p = g->window + (g->at - g->from);
    g->at += n;
    return p;
}

bool
ggml_count(struct ggml *g, uint32_t *n, const char *what, struct err *err)
{
    const uint8_t *p = ggml_take(g, 4, what, err);
    if (!p)
        return false;
    *n = load_le32(p);
    return *n <= INT32_MAX || err_at(err, ERR_MALFORMED, g->at - 4, "%s: %" PRId32 " is negative", what, (int32_t)*n);
}

static bool
read_dims(struct ggml *g, struct ggml_record *r, struct err *err)
{
    for (uint32_t i = r->rank; i-- > 0; ) {
        uint32_t n;
        if (!ggml_count(g, &n, "a dimension", err))
            return false;
        r->dim[i] = n;
    }
    return true;
}

static bool
read_name(struct ggml *g, struct ggml_record *r, struct err *err)
{
    const uint8_t *p = ggml_take(g, r->name_len, "a name", err);
    if (!p)
        return false;
    memcpy(r->name, p, r->name_len);
    r->name[r->name_len] = '\0';
    return true;
}

/* Finds the type and the size of the data. */
static bool
measure_data(const struct ggml *g, struct ggml_record *r, struct err *err)
{
    char shown[STR_SHOWN];
    uint64_t row = 1, rows = 1;
    bool fits = true;
    str_shown(shown, r->name, r->name_len);
    if (!dtype_from_ggml(&r->dtype, r->id))
        return err_at(err, ERR_UNSUPPORTED, r->at + 8, ERR_TENSOR "unknown ggml type %" PRIu32, shown, r->id);
    if (r->rank != 0)
        row = r->dim[r->rank - 1];
    for (uint32_t i = 0; i + 1 < r->rank; i++)
        fits = fits && num_mul(&rows, rows, r->dim[i]);
    const struct dtype_facts *type = dtype_facts(r->dtype);
    if (row % type->elems != 0)
        return err_at(err, ERR_MALFORMED, r->at, ERR_TENSOR "row length %" PRIu64 " is not a multiple of %u, the block size of %s", shown,
            row, type->elems, type->name);
    if (!fits || !dtype_rows_bytes(&r->nbytes, r->dtype, rows, row))
        return err_at(err, ERR_MALFORMED, r->at, ERR_TENSOR "size overflows 64 bits", shown);
    return r->nbytes <= g->size - g->at || err_at(err, ERR_MALFORMED, g->at, ERR_TENSOR "truncated: its data has %" PRIu64
        " bytes, and %" PRIu64 " are left (incomplete download or copy?)", shown, r->nbytes, g->size - g->at);
}

static bool
read_record(struct ggml *g, struct ggml_record *r, struct err *err)
{
    r->at = g->at;
    const uint8_t *p = ggml_take(g, RECORD_HEAD, "a record", err);
    if (!p)
        return false;
    r->rank = load_le32(p);
    r->name_len = load_le32(p + 4);
    r->id = load_le32(p + 8);
    if (r->rank > DIMS)
        return err_at(err, ERR_MALFORMED, r->at, "%" PRId32 " dimensions, expected 0 to %d", (int32_t)r->rank, DIMS);
    if (r->name_len == 0 || r->name_len > NAME_MOST)
        return err_at(err, ERR_MALFORMED, r->at + 4, "name of %" PRId32 " bytes, expected 1 to %d", (int32_t)r->name_len, NAME_MOST);
    return read_dims(g, r, err) && read_name(g, r, err) && measure_data(g, r, err);
}

static bool
add_record(struct ggml *g, const struct ggml_record *r, struct err *err)
{
    uint8_t packed[DIMS * SHAPE_DIM];
    shape_pack(packed, r->dim, r->rank);
    const struct tensor t = {
        .name = r->name,
        .name_len = r->name_len,
        .dtype = r->dtype,
        .ggml_id = r->id,
        .shape = { .rank = r->rank, .packed = packed },
        .extent = { .file = g->file, .at = g->at, .nbytes = r->nbytes },
    };
    g->at += r->nbytes;
    return budget_items(catalog_budget(g->catalog), 1, "tensors", err) && catalog_add(g->catalog, &t, err);
}

static bool
read_records(struct ggml *g, struct err *err)
{
    bool ok = true;
    g->ahead = GGML_RECORD;
    while (ok && g->at != g->size) {
        struct ggml_record r;
        ok = read_record(g, &r, err) && add_record(g, &r, err);
    }
    return ok;
}

static bool
ggml_read(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options, struct err *err)
{
    struct ggml g = { .catalog = c, .src = src, .file = file, .ahead = GGML_WINDOW };
    const uint8_t *head;
    uint64_t have;
    bool ended;
    (void)options;              /* none of them applies */
    if (!source_head(src, GGML_HEAD, &head, &have, err))
        return false;
    uint8_t first[GGML_HEAD];
    size_t n = (size_t)num_min(have, sizeof first);
    memcpy(first, head, n);
    if (!source_ended_by(src, SOURCE_SETTLE, &ended, err) || !source_spool(src, SOURCE_SIZE_UNKNOWN, true, err))
        return false;
    g.size = source_size(src);
    if (!ggml_read_header(&g, first, n, err))
        return false;
    catalog_facts(c)->format = container_ggml.name;
    catalog_facts(c)->header_end = 0;
    return read_records(&g, err);
}

const struct container container_ggml = {
    .name = "ggml",
    .probe = ggml_probe,
    .read = ggml_read,
};
