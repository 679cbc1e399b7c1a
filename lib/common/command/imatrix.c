#include "command/imatrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cursor.h"
#include "base/num.h"
#include "base/str.h"
#include "model/model.h"
#include "source/small_file.h"

enum { DAT_MAX = 1 << 30, NAME_MAX_BYTES = 4096 };

/* Copies a text up to the size of a key of llama-quantize, without half a character. */
static void
set_text(char to[IMPORTANCE_TEXT], const char *p, size_t n)
{
    size_t kept = n < IMPORTANCE_TEXT ? n : IMPORTANCE_TEXT - 1;
    while (kept < n && kept != 0 && ((uint8_t)p[kept] & 0xC0) == 0x80)
        kept--;
    if (memchr(p, '\0', kept) || !str_is_utf8(p, kept))
        kept = 0;
    memcpy(to, p, kept);
    to[kept] = '\0';
}

/* --- GGUF form: W.in_sum2 [matrices, columns] and W.counts [matrices, 1] */

/* Reads all F32 values of a tensor into `y`, in host byte order. */
static bool
read_floats(struct model *m, const struct tensor *t, float *y, uint64_t n, struct err *err)
{
    if (!model_read(m, t, y, err))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &y[i], sizeof bits);
        y[i] = float_of_bits(t->big_endian ? load_be32((const uint8_t *)&bits) : load_le32((const uint8_t *)&bits));
    }
    return true;
}

static const struct tensor *
find_counts(const struct model *m, const struct tensor *sums, size_t base)
{
    struct str name = { 0 };
    str_add(&name, sums->name, base);
    str_text(&name, ".counts");
    const struct tensor *t = NULL;
    if (!name.failed)
        t = catalog_find(m->catalog, name.p, name.len);
    str_clear(&name);
    return t;
}

static bool
add_sums(struct importance *out, struct model *m, const struct tensor *sums, size_t base, struct catalog *memory,
    struct err *err)
{
    const struct tensor *counts = find_counts(m, sums, base);
    uint64_t n = 0, ncounts = 0;
    char shown[STR_SHOWN];
    if (!counts || sums->dtype != DTYPE_F32 || counts->dtype != DTYPE_F32 || !shape_numel(&sums->shape, &n)
        || !shape_numel(&counts->shape, &ncounts) || ncounts == 0 || n == 0 || n % ncounts != 0)
        return err_set(err, ERR_MALFORMED, "tensor %s: missing or mismatched .counts tensor",
            str_shown(shown, sums->name, sums->name_len));
    float *values = catalog_alloc(memory, (size_t)n * sizeof *values, err);
    float *count = values ? catalog_alloc(memory, (size_t)ncounts * sizeof *count, err) : NULL;
    char *name = count ? catalog_alloc(memory, base + 1, err) : NULL;
    if (!name || !read_floats(m, sums, values, n, err) || !read_floats(m, counts, count, ncounts, err))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        float c = roundf(count[i / (n / ncounts)]);         /* as in llama-quantize */
        if (c > 0)
            values[i] = values[i] / c;
        else
            values[i] = 1;
    }
    memcpy(name, sums->name, base);
    name[base] = '\0';
    return importance_add(out, &(const struct importance_entry){ name, (uint32_t)base, values, n }, err);
}

/* Reads where an importance matrix is from: the first of imatrix.datasets, and imatrix.chunk_count. */
static void
read_origin(struct importance *out, const struct catalog *catalog)
{
    const struct meta *datasets = catalog_meta_find(catalog, "imatrix.datasets");
    const struct meta *chunks = catalog_meta_find(catalog, "imatrix.chunk_count");
    struct meta_value first;
    if (chunks && !meta_as_u64(&chunks->value, &out->chunks))
        out->chunks = 0;
    if (!datasets || datasets->value.type != META_ARRAY)
        return;
    struct meta_iter it = meta_first(&datasets->value.as.a);
    if (meta_next(&it, &first) && first.type == META_STRING)
        set_text(out->dataset, first.as.s.p, first.as.s.n);
}

static bool
read_gguf(struct importance *out, const char *path, const struct limits *limits, struct catalog *memory, struct err *err)
{
    struct model m = { 0 };
    const struct model_options how = { .limits = limits, .config = "none" };
    bool ok = model_open(&m, path, &how, err);
    for (size_t i = 0; ok && i < catalog_count(m.catalog); i++) {
        const struct tensor *t = catalog_at(m.catalog, i);
        size_t n = t->name_len;
        if (str_strip(t->name, &n, ".in_sum2") && n != 0)
            ok = add_sums(out, &m, t, n, memory, err);
    }
    if (ok)
        read_origin(out, m.catalog);
    model_clear(&m);
    return ok;
}

/* --- older form: number of entries; for each entry the length of the name, the name, the number of calls, the number of
 * values, and the values. All are 4 bytes, little-endian. After them, all or nothing: the number of chunks, the length of the name
 * of the calibration data, and that name. */

static bool
add_entry(struct importance *out, struct cursor *c, struct catalog *memory, struct err *err)
{
    uint64_t at = c->at;
    uint32_t len = cursor_u32(c);
    const uint8_t *name = NULL;
    if (len <= NAME_MAX_BYTES)
        name = cursor_take(c, len);
    uint32_t calls = cursor_u32(c), n = cursor_u32(c);
    const uint8_t *p = NULL;
    if (name && !c->bad && calls <= INT32_MAX && n <= INT32_MAX)
        p = cursor_take(c, (uint64_t)n * 4);
    if (!p || len == 0 || n == 0)
        return err_at(err, ERR_MALFORMED, at, "an entry of the importance matrix is truncated, or has no name or values");
    float *values = catalog_alloc(memory, (size_t)n * sizeof *values, err);
    char *copy = NULL;
    if (values)
        copy = catalog_alloc(memory, len + 1, err);
    if (!copy)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        values[i] = float_of_bits(load_le32(p + 4 * (uint64_t)i));
        if (calls > 0)
            values[i] /= (float)calls;
    }
    memcpy(copy, name, len);
    copy[len] = '\0';
    return importance_add(out, &(const struct importance_entry){ copy, len, values, n }, err);
}

static bool
read_dat(struct importance *out, const char *text, size_t n, struct catalog *memory, struct err *err)
{
    struct cursor c = { .p = (const uint8_t *)text, .left = n };
    uint32_t entries = cursor_u32(&c);
    if (c.bad || entries == 0 || entries > n / 16)
        return err_at(err, ERR_MALFORMED, 0, "not an importance matrix: neither GGUF nor the older .dat format");
    for (uint32_t i = 0; i < entries; i++)
        if (!add_entry(out, &c, memory, err))
            return false;
    if (c.left == 0)
        return true;
    uint32_t chunks = cursor_u32(&c), len = cursor_u32(&c);
    const uint8_t *name = cursor_take(&c, len);
    if (!name || c.bad)
        return err_at(err, ERR_MALFORMED, c.at, "the end of the importance matrix, which names its calibration data, is truncated");
    if (chunks <= INT32_MAX)
        out->chunks = chunks;
    if (len <= NAME_MAX_BYTES)
        set_text(out->dataset, (const char *)name, strnlen((const char *)name, len));
    return true;
}

bool
imatrix_keys(struct keys *keys, const struct importance *from, struct err *err)
{
    *keys = (struct keys){ .max = IMPORTANCE_TEXT };
    return (from->file[0] == '\0' || keys_put_text(keys, NULL, "quantize.imatrix.file", from->file, strlen(from->file), err))
        && (from->dataset[0] == '\0'
            || keys_put_text(keys, NULL, "quantize.imatrix.dataset", from->dataset, strlen(from->dataset), err))
        && keys_put_u32(keys, NULL, "quantize.imatrix.entries_count", (uint32_t)from->n, err)
        && (from->chunks == 0 || keys_put_u32(keys, NULL, "quantize.imatrix.chunks_count", (uint32_t)from->chunks, err));
}

bool
imatrix_read(struct importance *out, const char *path, const struct limits *limits, struct catalog *memory,
    struct inputs *inputs, struct err *err)
{
    struct source *src = NULL;
    const char *text;
    size_t n;
    bool ok = small_file_open(&src, path, true, DAT_MAX, catalog_budget(memory), "bytes of the importance matrix", &text, &n, inputs,
        err);
    if (ok)
        ok = str_prefixed(text, n, "GGUF") ? read_gguf(out, path, limits, memory, err)
            : read_dat(out, text, n, memory, err);
    if (ok && out->n == 0)
        ok = err_set(err, ERR_MALFORMED, "the importance matrix has no entries");
    set_text(out->file, path, strlen(path));
    source_close(src);
    char shown[STR_SHOWN];
    return ok || err_in_file(err, str_shown(shown, path, strlen(path)));
}
