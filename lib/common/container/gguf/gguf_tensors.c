/* gguf_tensors: reads the tensor infos of a GGUF file, and checks the layout of the data that they declare.
 *
 *      | name: length u64, bytes | n_dims u32 | n_dims x u64 | type u32 | offset u64 |      n_tensors times
 *
 * The first dimension varies fastest; the catalog has dimensions in reverse, row-major. A row (the first dimension) is a
 * whole number of blocks. Offsets count from the first data byte and are multiples of the alignment. ggml requires the data
 * in the order of the infos, each tensor after the padding of the previous one; any other order is accepted here with a
 * warning, but not holes or overlaps. The size of a tensor of unknown type is unknown too; the space up to the next tensor
 * belongs to it.
 *
 * Files of PrismML of before July 2026 have blocks of 34 bytes for 128 elements under id 42 (Q2_0). Only the layout shows
 * which form a file has. stable-diffusion.cpp has float8 under ids 43 and 44, which other forks use for blocks: only a file whose
 * layout gives each element of all these tensors a byte has float8.
 */
#include "container/gguf/gguf_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/str.h"
#include "dtype/dtype.h"

enum {
    NAME = 8,               /* bytes of the length of a name */
    GGML_DIMS = 4,          /* GGML_MAX_DIMS */
    MAX_DIMS = 5,           /* of image models, whose loaders have readers of their own */
    MAX_NAME = 63,          /* GGML_MAX_NAME without its NUL */
    FORK_TYPE = 39,         /* from this id on, forks of ggml define block types of their own */
    FLOAT8_E4M3 = 43,       /* of stable-diffusion.cpp */
    FLOAT8_E5M2 = 44,
};

struct info {
    uint32_t name_len;
    uint32_t rank;
    uint64_t dim[MAX_DIMS]; /* row-major */
    uint32_t id;
    enum dtype dtype;
    uint64_t offset;
    uint64_t nbytes;        /* 0 if the type is unknown */
    uint64_t least;         /* nbytes, or 1 for a non-empty tensor of unknown type */
    uint64_t at;            /* file offset of the record; its name is NAME bytes further */
};

struct infos {
    struct info *info;      /* owned */
    size_t count, room;
};

static bool
read_name(struct gguf *g, struct info *t, struct err *err)
{
    uint64_t n;
    const char *name;
    g->name_at = 0;
    if (!gguf_string(g, "name", META_KEY_MAX, &name, &n, err))
        return false;
    g->name_at = t->at + NAME;
    g->name_len = n;
    if (n > UINT32_MAX - 1)
        return gguf_fail(g, err, ERR_LIMIT, t->at, "name of %" PRIu64 " bytes is too long", n);
    t->name_len = (uint32_t)n;
    if (n != 0 && memchr(name, '\0', t->name_len))
        return gguf_fail(g, err, ERR_MALFORMED, t->at, "name contains a NUL byte");
    if (n == 0)
        gguf_odd(g, GGUF_ODD_EMPTY_NAME);
    if (n > MAX_NAME)
        gguf_odd(g, GGUF_ODD_LONG_NAME);
    if (!str_is_utf8(name, t->name_len))
        gguf_odd(g, GGUF_ODD_TEXT);
    return true;
}

/* Looks up the type of an id, which is at byte `at`. */
static bool
gguf_tensors_find_type(struct gguf *g, struct info *t, uint64_t at, struct err *err)
{
    const char *removed = dtype_ggml_removed(t->id);
    if (removed)
        return gguf_fail(g, err, ERR_UNSUPPORTED, at, "type %s (id %" PRIu32 ") was removed from ggml: look for a newer GGUF "
            "file of the model", removed, t->id);
    if (!dtype_from_ggml(&t->dtype, t->id))
        t->dtype = DTYPE_UNKNOWN;
    return true;
}

/* Counts elements, in a signed 64-bit integer like ggml. The count is 0 if any dimension is. */
static bool
count_elements(const struct info *t, uint64_t *numel)
{
    bool fits = true;
    *numel = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dim[i] == 0) {
            *numel = 0;
            return true;
        }
    for (uint32_t i = 0; i < t->rank; i++)
        fits = fits && num_mul(numel, *numel, t->dim[i]) && *numel < INT64_MAX;
    return fits;
}

static bool
check_size(struct gguf *g, struct info *t, struct err *err)
{
    const struct dtype_facts *type = dtype_facts(t->dtype);
    uint8_t packed[MAX_DIMS * SHAPE_DIM];
    const struct shape shape = { .rank = t->rank, .packed = packed };
    uint64_t row = t->rank ? t->dim[t->rank - 1] : 1, numel;
    char text[SHAPE_TEXT];

    shape_pack(packed, t->dim, t->rank);
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dim[i] > INT64_MAX)
            return gguf_fail(g, err, ERR_MALFORMED, t->at, "shape %s has a negative dimension",
                shape_text(text, &shape));
    if (row % type->elems != 0)
        return gguf_fail(g, err, ERR_MALFORMED, t->at, "row length %" PRIu64 " is not a multiple of %u, the block size of %s",
            row, type->elems, type->name);
    uint64_t rows = 1;
    if (t->rank > 1)
        rows = t->dim[t->rank - 2];
    if (type->interleaved != 0 && rows % type->interleaved != 0)
        return gguf_fail(g, err, ERR_MALFORMED, t->at, "%" PRIu64 " rows are not a multiple of %u, the rows that %s "
            "interleaves", rows, type->interleaved, type->name);
    if (!count_elements(t, &numel) || !dtype_rows_bytes(&t->nbytes, t->dtype, row != 0 ? numel / row : 0, row))
        return gguf_fail(g, err, ERR_MALFORMED, t->at, "size of %s %s overflows 64 bits", type->name, shape_text(text, &shape));
    if (t->dtype == DTYPE_UNKNOWN)
        t->least = numel != 0;
    else
        t->least = t->nbytes;
    return true;
}

/* Returns the most dimensions that a tensor may have. Every writer of five dimensions declares an architecture. */
static uint32_t
most_dims(const struct gguf *g)
{
    if (catalog_meta_find(g->catalog, "general.architecture"))
        return MAX_DIMS;
    return GGML_DIMS;
}

static bool
read_info(struct gguf *g, struct info *t, struct err *err)
{
    *t = (struct info){ .at = g->c.at };
    if (!read_name(g, t, err) || !gguf_need(g, 4, err))
        return false;
    uint64_t at = g->c.at;
    t->rank = cursor_u32(&g->c);
    if (t->rank > GGML_DIMS && t->rank > most_dims(g))
        return gguf_fail(g, err, ERR_MALFORMED, at, "%" PRIu32 " dimensions, expected at most %" PRIu32, t->rank, most_dims(g));
    if (!gguf_need(g, 8 * (uint64_t)t->rank + 4 + 8, err))
        return false;
    for (uint32_t i = t->rank; i-- > 0; )
        t->dim[i] = cursor_u64(&g->c);
    at = g->c.at;
    t->id = cursor_u32(&g->c);
    t->offset = cursor_u64(&g->c);
    if (!gguf_tensors_find_type(g, t, at, err) || !check_size(g, t, err))
        return false;
    if (t->offset % g->alignment != 0)
        return gguf_fail(g, err, ERR_MALFORMED, at + 4, "offset %" PRIu64 " is not a multiple of the alignment %" PRIu64,
            t->offset, g->alignment);
    return true;
}

static struct info *
add_info(struct infos *infos, struct budget *budget, struct err *err)
{
    struct info *info = NULL;
    if (budget_bytes(budget, sizeof *info, "tensors", err))
        info = array_grow(infos->info, infos->count, &infos->room, sizeof *info, err);
    if (!info)
        return NULL;
    infos->info = info;
    return &infos->info[infos->count++];
}

/* --- the layout of the data ------------------------------------------------------------------------------ */

static int
compare_offsets(const void *pa, const void *pb)
{
    const struct info *a = pa, *b = pb;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->least != b->least)
        return a->least < b->least ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Sets an error about tensor t. Adds a hint if the type of `suspect`, t or the one before it, may mean another block format. */
static bool
fail_layout(struct gguf *g, const struct info *t, const struct info *suspect, struct err *err, const char *text)
{
    char fork[128] = "";
    g->name_at = t->at + NAME;
    g->name_len = t->name_len;
    if (suspect && suspect->id >= FORK_TYPE)
        snprintf(fork, sizeof fork, " (type id %" PRIu32 " is read as %s, but a fork may use this id for another block format)",
            suspect->id, dtype_name(suspect->dtype));
    return gguf_fail(g, err, ERR_MALFORMED, t->at, "%s%s", text, fork);
}

/* Checks that t begins at `expected`, an offset in the data: after the padding of the previous tensor. */
static bool
check_place(struct gguf *g, const struct info *t, const struct info *before, uint64_t expected, struct err *err)
{
    bool loose = before && before->dtype == DTYPE_UNKNOWN;      /* it may extend beyond `expected` */
    if (t->offset == expected || (loose && t->offset > expected))
        return true;
    char text[STR_SHOWN + 160], shown[STR_SHOWN] = "the start of the data";
    if (before)
        str_shown(shown, gguf_at(g, before->at + NAME), before->name_len);
    snprintf(text, sizeof text, "data starts at offset %" PRIu64 ", expected %" PRIu64 ": %s %s%s", t->offset,
        expected, t->offset < expected ? "it overlaps the data of" : "the bytes after", shown,
        t->offset < expected ? "" : " belong to no tensor");
    return fail_layout(g, t, before, err, text);
}

/* Checks the data, which begins at byte `start` of the file: no overlap, no hole, nothing beyond the end of the file. The
 * infos must be sorted by data offset. */
static bool
check_layout(struct gguf *g, const struct infos *infos, uint64_t start, struct err *err)
{
    const struct info *before = NULL, *cut = NULL;
    uint64_t expected = 0, end = 0;
    for (size_t i = 0; i < infos->count; i++) {
        const struct info *t = &infos->info[i];
        uint64_t past;
        if (!check_place(g, t, before, expected, err))
            return false;
        if (!num_add(&end, t->offset, t->least) || !num_align(&expected, end, g->alignment)
            || !num_add(&past, start, expected))
            return fail_layout(g, t, NULL, err, "end of the data overflows 64 bits: the file is damaged");
        if (!cut && start + end > g->file_size)
            cut = t;
        before = t;
    }
    if (cut) {
        char text[128];
        snprintf(text, sizeof text, SOURCE_TRUNCATED, g->file_size, start + end);
        return fail_layout(g, cut, cut, err, text);
    }
    if (g->file_size == SOURCE_SIZE_UNKNOWN || (before && before->dtype == DTYPE_UNKNOWN))
        return true;
    if (before && start + expected > g->file_size)
        catalog_note(g->catalog, "the last tensor is not padded to the alignment (%" PRIu64 " bytes)", g->alignment);
    if (start + expected < g->file_size)
        catalog_note(g->catalog, "ignored %" PRIu64 " trailing bytes after the tensors", g->file_size - start - expected);
    return true;
}

/* Gives all tensors of id 42 this type, Q2_0 or PQ2_0. Returns false if the file has none, or if a row does not fill its
 * blocks. */
static bool
set_q2_0(struct infos *infos, enum dtype dtype)
{
    bool any = false;
    for (size_t i = 0; i < infos->count; i++) {
        struct info *t = &infos->info[i];
        uint64_t row = t->rank ? t->dim[t->rank - 1] : 1, numel;
        if (t->id != (uint32_t)dtype_facts(DTYPE_Q2_0)->ggml)
            continue;
        if (row % dtype_facts(dtype)->elems != 0 || !count_elements(t, &numel)
            || !dtype_rows_bytes(&t->nbytes, dtype, row != 0 ? numel / row : 0, row))
            return false;
        t->dtype = dtype;
        t->least = t->nbytes;
        any = true;
    }
    return any;
}

/* Checks the layout, sorting the infos by offset, and finds the form of id 42: the older one if the layout fails with the
 * newer one and holds with the older one. */
static bool
check_forms(struct gguf *g, struct infos *infos, uint64_t start, struct err *err)
{
    struct err try;
    err_init(&try);
    array_sort(infos->info, infos->count, sizeof *infos->info, compare_offsets);
    if (!set_q2_0(infos, DTYPE_Q2_0))
        return check_layout(g, infos, start, err);
    if (check_layout(g, infos, start, &try))
        return true;
    err_init(&try);
    if (set_q2_0(infos, DTYPE_PQ2_0)) {
        array_sort(infos->info, infos->count, sizeof *infos->info, compare_offsets);
        if (check_layout(g, infos, start, &try))
            return true;
    }
    set_q2_0(infos, DTYPE_Q2_0);
    array_sort(infos->info, infos->count, sizeof *infos->info, compare_offsets);
    return check_layout(g, infos, start, err);
}

/* Returns true if the space of a tensor, up to the next one or the end of the file, is a byte for each element. */
static bool
has_bytes(const struct gguf *g, const struct infos *infos, size_t i, uint64_t start, uint64_t *numel)
{
    const struct info *t = &infos->info[i];
    bool last = i + 1 == infos->count;
    uint64_t padded, end = last ? g->file_size - start : t[1].offset;
    if ((last && g->file_size < start) || !count_elements(t, numel) || !num_align(&padded, *numel, g->alignment) || end < t->offset)
        return false;
    return end - t->offset == padded || (last && end - t->offset == *numel);
}

/* Gives all tensors of an id this float8 type, if the layout shows it for each. The end of a stream shows nothing. The infos must be
 * sorted by data offset. */
static void
set_float8(const struct gguf *g, struct infos *infos, uint64_t start, uint32_t id, enum dtype dtype)
{
    size_t seen;
    if (g->file_size == SOURCE_SIZE_UNKNOWN && infos->count != 0)
        seen = infos->count - 1;
    else
        seen = infos->count;
    bool all = true, any = false;
    uint64_t numel;
    for (size_t i = 0; i < seen; i++) {
        bool is = infos->info[i].id == id;
        all = all && (!is || has_bytes(g, infos, i, start, &numel));
        any = any || is;
    }
    for (size_t i = 0; all && any && i < infos->count; i++) {
        struct info *t = &infos->info[i];
        if (t->id != id || !count_elements(t, &numel))
            continue;
        t->dtype = dtype;
        t->nbytes = t->least = numel;
    }
}

static int
compare_records(const void *pa, const void *pb)
{
    const struct info *a = pa, *b = pb;
    return (a->at > b->at) - (a->at < b->at);
}

/* Checks the layout, and restores the order in which the tensors are listed. */
static bool
check_data(struct gguf *g, struct infos *infos, uint64_t start, struct err *err)
{
    bool moved = array_sort(infos->info, infos->count, sizeof *infos->info, compare_offsets);
    if (moved)
        catalog_note(g->catalog, "tensors are not stored in the order listed: llama.cpp cannot load this file");
    set_float8(g, infos, start, FLOAT8_E4M3, DTYPE_F8_E4M3);
    set_float8(g, infos, start, FLOAT8_E5M2, DTYPE_F8_E5M2);
    if (!check_forms(g, infos, start, err))
        return false;
    if (moved)
        qsort(infos->info, infos->count, sizeof *infos->info, compare_records);
    return true;
}

static bool
add_tensors(struct gguf *g, const struct infos *infos, uint64_t start, struct err *err)
{
    for (size_t i = 0; i < infos->count; i++) {
        const struct info *info = &infos->info[i];
        uint8_t packed[MAX_DIMS * SHAPE_DIM];
        shape_pack(packed, info->dim, info->rank);
        const struct tensor t = {
            .name = gguf_at(g, info->at + NAME),
            .name_len = info->name_len,
            .dtype = info->dtype,
            .ggml_id = info->id,
            .big_endian = g->c.big,
            .shape = { .rank = info->rank, .packed = packed },
            .extent = { .file = g->file, .at = start + info->offset, .nbytes = info->nbytes },
        };
        g->name_at = info->at + NAME;
        g->name_len = info->name_len;
        if (info->dtype == DTYPE_UNKNOWN)
            gguf_odd(g, GGUF_ODD_TYPE);
        if (!catalog_add(g->catalog, &t, err))
            return false;
    }
    return true;
}

/* Fails if another GGUF file begins at byte `at`. */
static bool
check_end(const struct gguf *g, uint64_t at, struct err *err)
{
    uint8_t magic[4];
    if (g->size == SOURCE_SIZE_UNKNOWN || at >= g->size || g->size - at < sizeof magic)
        return true;
    if (!source_read(g->src, at, magic, sizeof magic, err))
        return false;
    return !container_gguf.probe(magic, sizeof magic, g->size) || err_at(err, ERR_MALFORMED, at, "another GGUF file begins after the data: "
        "files were joined, as by cat; 'head -c %" PRIu64 "' takes the first, 'tail -c +%" PRIu64 "' the others", at, at + 1);
}

/* Fails if another GGUF file follows the data, with its padding or without. The end of a pipe is not known. */
static bool
check_alone(const struct gguf *g, const struct infos *infos, uint64_t start, struct err *err)
{
    uint64_t end = start, padded;
    for (size_t i = 0; i < infos->count; i++)
        end = num_max(end, start + infos->info[i].offset + infos->info[i].nbytes);
    return !source_seekable(g->src) || (check_end(g, end, err) && (!num_align(&padded, end, g->alignment) || check_end(g, padded, err)));
}

bool
gguf_read_tensors(struct gguf *g, uint64_t count, struct err *err)
{
    struct infos infos = { .count = 0 };
    uint64_t start = 0;
    bool ok = true;

    g->item = "tensor";
    for (g->index = 0; ok && g->index < count; g->index++) {
        struct info *t = add_info(&infos, catalog_budget(g->catalog), err);
        ok = t && read_info(g, t, err);
    }
    g->name_at = 0;
    num_align(&start, g->c.at, g->alignment);       /* cannot fail: the header is at most SOURCE_HEAD_MAX */

    ok = ok && check_data(g, &infos, start, err) && check_alone(g, &infos, start, err) && add_tensors(g, &infos, start, err);
    free(infos.info);
    g->item = NULL;
    return ok;
}
