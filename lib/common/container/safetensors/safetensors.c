/* safetensors: a JSON header, then the tensors back to back.
 *
 *      0        8              8 + N                          end of file
 *      | N u64  | JSON, N bytes | tensor | tensor | ... | tensor |
 *
 *      {"__metadata__":{"format":"pt"}, "name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, ...}
 *
 * Offsets count from 8 + N. In offset order, the tensors tile the rest of the file: no hole, no overlap, no trailing bytes.
 * The checks come in the order of the reference library (huggingface/safetensors, tensor.rs, read_metadata and validate),
 * and the names in parentheses are its errors. Two things are stricter: duplicate names, also in __metadata__, are
 * malformed, and there are limits.
 */
#include "container/safetensors/safetensors_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/num.h"

enum { PREFIX = SAFETENSORS_PREFIX, LEAST_FILE = PREFIX + 2 };

static int
compare_offsets(const void *pa, const void *pb)
{
    const struct safetensors_entry *a = pa, *b = pb;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);       /* header order: names point into one buffer */
}

/* Sets the error for tensor i, which does not begin where the previous one ends, or ends before it begins. */
static bool
bad_offset(struct safetensors_reader *r, size_t i, uint64_t expected)
{
    const struct safetensors_entry *e = &r->entries[i];
    char name[STR_SHOWN], before[STR_SHOWN];
    entry_shown(r, name, e);
    if (e->begin == expected)
        return err_at(r->err, ERR_MALFORMED, entry_at(r, e),
            "tensor %s: data ends at %" PRIu64 ", before its start at %" PRIu64 " (InvalidOffset)", name, e->end, e->begin);
    if (e->begin > expected)
        return err_at(r->err, ERR_MALFORMED, entry_at(r, e),
            "tensor %s: data starts at %" PRIu64 ", expected %" PRIu64 ": no tensor uses the bytes in between (InvalidOffset)",
            name, e->begin, expected);
    return err_at(r->err, ERR_MALFORMED, entry_at(r, e),
        "tensor %s: data starts at %" PRIu64 ", expected %" PRIu64 ": it overlaps the data of %s (InvalidOffset)", name,
        e->begin, expected, entry_shown(r, before, &r->entries[i - 1]));
}

/* Packs the dimensions of a shape, e->rank of them, that read_shape() has checked. */
static void
pack_shape(uint8_t *out, const struct safetensors_entry *e)
{
    const char *p = e->shape;
    for (uint32_t i = 0; i < e->rank; i++) {
        uint64_t v = 0;
        for (; *p < '0' || *p > '9'; p++)
            ;
        for (; *p >= '0' && *p <= '9'; p++)
            v = 10 * v + (uint64_t)(*p - '0');
        out += shape_pack(out, &v, 1);
    }
}

static bool
check_size(struct safetensors_reader *r, const struct safetensors_entry *e, const struct shape *shape)
{
    uint64_t need = 0;
    bool whole = false;
    const char *dtype = dtype_name((enum dtype)e->dtype);
    char name[STR_SHOWN], dims[SHAPE_TEXT];
    if (!shape_nbytes(shape, (enum dtype)e->dtype, &need, &whole))
        return err_at(r->err, ERR_MALFORMED, entry_at(r, e),
            "tensor %s: size of %s %s overflows 64 bits (ValidationOverflow)", entry_shown(r, name, e), dtype,
            shape_text(dims, shape));
    if (!whole)
        return err_at(r->err, ERR_MALFORMED, entry_at(r, e),
            "tensor %s: %s %s is not a whole number of bytes (MisalignedSlice)", entry_shown(r, name, e), dtype,
            shape_text(dims, shape));
    if (e->end - e->begin != need)
        return err_at(r->err, ERR_MALFORMED, entry_at(r, e),
            "tensor %s: %" PRIu64 " bytes of data, expected %" PRIu64 " for %s %s (TensorInvalidInfo)", entry_shown(r, name, e),
            e->end - e->begin, need, dtype, shape_text(dims, shape));
    return true;
}

static bool
safetensors_add_tensor(struct safetensors_reader *r, const struct safetensors_entry *e, const struct shape *shape)
{
    size_t name_len;
    const char *name = entry_decoded(r, e, &name_len);
    const struct tensor t = {
        .name = name,
        .name_len = (uint32_t)name_len,
        .dtype = (enum dtype)e->dtype,
        .shape = *shape,
        .extent = { .file = r->file, .at = r->data_at + e->begin, .nbytes = e->end - e->begin },
    };
    return name && catalog_add(r->catalog, &t, r->err);
}

/* Checks that the tensors tile the data, and adds them to the catalog in offset order. Sets *data_end to the file offset
 * where the last one ends. */
static bool
safetensors_lay_out(struct safetensors_reader *r, uint64_t *data_end)
{
    uint64_t expected = 0;
    size_t room = ((size_t)r->rank_max + 1) * SHAPE_DIM;
    uint8_t *packed = malloc(room);
    bool ok = packed || err_memory(r->err, room);

    array_sort(r->entries, r->count, sizeof *r->entries, compare_offsets);
    *data_end = r->data_at;
    for (size_t i = 0; ok && i < r->count; i++) {
        const struct safetensors_entry *e = &r->entries[i];
        const struct shape shape = { .rank = e->rank, .packed = packed };
        if (e->begin != expected || e->end < e->begin) {
            ok = bad_offset(r, i, expected);
            break;
        }
        expected = e->end;
        pack_shape(packed, e);
        ok = check_size(r, e, &shape)
            && (num_add(data_end, r->data_at, expected)
                || err_at(r->err, ERR_MALFORMED, entry_at(r, e), "data would end at %" PRIu64 " + %" PRIu64 ", which "
                    "overflows 64 bits: the file is damaged (MetadataIncompleteBuffer)", r->data_at, expected))
            && safetensors_add_tensor(r, e, &shape);
    }
    free(packed);
    return ok;
}

/* Finds the JSON header, *n bytes at *p, and checks its length. */
static bool
take_header(struct source *src, const struct limits *limits, struct budget *budget, const uint8_t **p, uint64_t *n,
    struct err *err)
{
    uint64_t have, size = source_size(src);
    if (!source_head(src, PREFIX, p, &have, err))
        return false;
    if (have < PREFIX)
        return err_at(err, ERR_MALFORMED, 0,
            "file has only %" PRIu64 " bytes, too few for any model (incomplete download or copy?) (HeaderTooSmall)", have);
    *n = load_le64(*p);
    uint64_t most = num_min(META_JSON_MAX, limits->alloc);
    if (*n > most)
        return err_at(err, ERR_LIMIT, 0,
            "header length %" PRIu64 " exceeds the limit of %" PRIu64 " (%s) (HeaderTooLarge)", *n, most,
            limits_origin(most, META_JSON_MAX, "--max-alloc"));
    if (size != SOURCE_SIZE_UNKNOWN && size < PREFIX + *n)
        have = size;
    else if (!budget_bytes(budget, PREFIX + *n, "header bytes", err)
        || !source_head(src, PREFIX + *n, p, &have, err))
        return false;
    if (have < PREFIX + *n)
        return err_at(err, ERR_MALFORMED, have, SOURCE_TRUNCATED " (InvalidHeaderLength)", have, PREFIX + *n);
    return true;
}

static bool
check_end(struct source *src, uint64_t data_end, struct err *err)
{
    uint64_t size = source_size(src);
    if (size == SOURCE_SIZE_UNKNOWN || size == data_end)
        return true;
    if (size < data_end)
        return err_at(err, ERR_MALFORMED, size, SOURCE_TRUNCATED " (MetadataIncompleteBuffer)", size, data_end);
    return err_at(err, ERR_MALFORMED, data_end, "file has %" PRIu64 " bytes, expected %" PRIu64 ": %" PRIu64 " trailing "
        "bytes after the last tensor (MetadataIncompleteBuffer)", size, data_end, size - data_end);
}

/* Returns true if the metadata of this file has a key of UQFF. */
static bool
declares_uqff(const struct safetensors_reader *r)
{
    for (size_t i = 0; i < catalog_meta_count(r->catalog); i++) {
        const struct meta *m = catalog_meta_at(r->catalog, i);
        if (m->file == r->file && str_begins(m->key, "uqff."))
            return true;
    }
    return false;
}

/* Returns true if all tensors are lists of bytes with numbers for names, as in UQFF files without metadata. */
static bool
has_numbered_blobs(const struct safetensors_reader *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct safetensors_entry *e = &r->entries[i];
        if (e->dtype != DTYPE_U8 || e->rank != 1 || e->name_len == 0)
            return false;
        for (size_t j = 0; j < e->name_len; j++)
            if (e->name[j] < '0' || e->name[j] > '9')
                return false;
    }
    return r->count != 0;
}

/* Fails if the file is UQFF of mistral.rs: safetensors whose tensors are blobs, which begin with the version 0.1.x or 0.2.x as a
 * u32 and the kind of quantization as a byte. */
static bool
refuse_uqff(const struct safetensors_reader *r, struct source *src, struct err *err)
{
    enum { START = 17, KINDS = 16, PATCHES = 16 };      /* version, kind, and three numbers at least */
    const uint8_t *p;
    uint64_t have;
    bool is = declares_uqff(r);
    if (!is && has_numbered_blobs(r)) {
        if (!source_head(src, r->data_at + START, &p, &have, err))
            return false;
        p += r->data_at;
        is = r->entries[0].end >= START && have >= r->data_at + START && p[0] < PATCHES && p[1] >= 1 && p[1] <= 2 && p[2] == 0
            && p[3] == 0 && p[4] < KINDS;
    }
    return !is || err_set(err, ERR_UNSUPPORTED, "this is a UQFF file of mistral.rs, whose tensors are blobs of its "
        "own, which is not supported: look for the same model in safetensors or GGUF format");
}

static bool
safetensors_read(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options,
    struct err *err)
{
    const struct limits *limits = options->limits;
    struct safetensors_reader r = { .catalog = c, .limits = limits, .err = err, .file = file, .slices = options->slices };
    const uint8_t *p;
    uint64_t n = 0, data_end = 0;

    if (!take_header(src, limits, catalog_budget(c), &p, &n, err))
        return false;
    r.data_at = PREFIX + n;
    pull_init(&r.json, (const char *)p + PREFIX, (size_t)n, PREFIX);
    catalog_facts(c)->format = container_safetensors.name;
    catalog_facts(c)->header_end = r.data_at;

    bool ok = safetensors_read_header(&r) && safetensors_lay_out(&r, &data_end) && check_end(src, data_end, err)
        && refuse_uqff(&r, src, err);
    free(r.text.p);
    free(r.key.p);
    free(r.entries);
    return ok;
}

/* Recognizes a plausible header length followed by an object. In a truncated file, where the length exceeds the size,
 * requires {" as well: only safetensors begins so, but the length bytes alone may be another container's magic. */
static bool
safetensors_probe(const uint8_t *head, size_t n, uint64_t size)
{
    if (n < LEAST_FILE)
        return false;
    uint64_t header = load_le64(head);
    if (header > META_JSON_MAX)
        return false;
    if (size < PREFIX + header)
        return memcmp(head + PREFIX, "{\"", 2) == 0;
    for (size_t i = PREFIX; i < n && i < PREFIX + header; i++)
        if (head[i] != ' ' && head[i] != '\t' && head[i] != '\n' && head[i] != '\r')
            return head[i] == '{';
    return n < PREFIX + header;     /* only white space so far; no other container begins so */
}

const struct container container_safetensors = {
    .name = "safetensors",
    .probe = safetensors_probe,
    .read = safetensors_read,
    .has_configs = true,
};
