/* gguf: the format of llama.cpp.
 *
 *      | "GGUF" | version u32 | n_tensors u64 | n_kv u64 |     24 bytes
 *      | n_kv keys with values |                               gguf_kv.c
 *      | n_tensors tensor infos |                              gguf_tensors.c
 *      | zeros up to a multiple of A |                         A: general.alignment, else 32
 *      | tensor data, each padded to a multiple of A |
 *
 * Versions 2 and 3 are the same, except that version 3 may be big-endian, including the data: such a file has the magic
 * "FUGG", or a version whose low 16 bits are zero when read as little-endian. Source: docs/gguf.md and src/gguf.cpp of ggml.
 * Where they disagree, or trust the file too much, the checks here are stricter (doc/untrusted-input.md).
 */
#include "container/gguf/gguf_priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

enum {
    PREFIX = 4 + 4, HEADER = 24,                            /* magic and version; the same plus both counts */
    LEAST_KEY = 8 + 4 + 1, LEAST_TENSOR = 8 + 4 + 4 + 8,    /* bytes of the shortest records */
    DEFAULT_ALIGNMENT = 32, LEAST_ALIGNMENT = 8,
    STEP = 256 << 10,                                       /* bytes by which the head grows */
};

/* --- shared by all three files --------------------------------------------------------------------------- */

bool
gguf_fail(const struct gguf *g, struct err *err, enum err_kind kind, uint64_t at, const char *format, ...)
{
    char text[ERR_TEXT], shown[STR_SHOWN];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!g->item)
        return err_at(err, kind, at, "%s", text);
    if (g->name_at == 0)
        return err_at(err, kind, at, "%s number %" PRIu64 ": %s", g->item, g->index + 1, text);
    str_shown(shown, gguf_at(g, g->name_at), g->name_len);
    if (strcmp(g->item, "tensor") == 0)
        return err_at(err, kind, at, ERR_TENSOR "%s", shown, text);
    return err_at(err, kind, at, "%s %s: %s", g->item, shown, text);
}

const char *
gguf_at(const struct gguf *g, uint64_t at)
{
    return (const char *)g->c.p - (g->c.at - at);
}

/* Charges the budget for the head up to byte `end`. */
static bool
charge(struct gguf *g, uint64_t end, struct err *err)
{
    if (end <= g->charged)
        return true;
    struct budget *budget = catalog_budget(g->catalog);
    if (!budget_allows(budget, end, "header bytes", err)
        || !budget_bytes(budget, end - g->charged, "header bytes", err))
        return false;
    g->charged = end;
    return true;
}

bool
gguf_need(struct gguf *g, uint64_t n, struct err *err)
{
    const uint8_t *p;
    uint64_t have, want;
    if (n <= g->c.left)
        return true;
    bool fits = num_add(&want, g->c.at, n) && want <= g->size;
    if (fits) {
        if (!charge(g, want, err))
            return false;
        want = num_max(want, num_min(g->c.at + STEP, SOURCE_HEAD_MAX));
        if (!source_head(g->src, want, &p, &have, err))
            return false;
        if (have < want)
            g->size = have;     /* the pipe has ended */
        g->c.p = p + g->c.at;
        g->c.left = have - g->c.at;
        if (n <= g->c.left)
            return true;
    }
    return gguf_fail(g, err, ERR_MALFORMED, g->c.at, "truncated: the header continues for at least %" PRIu64 " bytes from "
        "here, but the file ends after %" PRIu64 " (incomplete download or copy?)", n, g->size);
}

bool
gguf_string(struct gguf *g, const char *what, uint64_t max, const char **p, uint64_t *n, struct err *err)
{
    uint64_t at = g->c.at;
    if (!gguf_need(g, 8, err))
        return false;
    *n = cursor_u64(&g->c);
    bool there = g->size == SOURCE_SIZE_UNKNOWN || *n <= g->size - g->c.at;
    max = num_min(max, g->limits->alloc);
    if (there && *n > max)
        return gguf_fail(g, err, ERR_LIMIT, at, "%s: length %" PRIu64 " exceeds the limit of %" PRIu64 " bytes", what, *n, max);
    if (!gguf_need(g, *n, err))
        return false;
    *p = (const char *)cursor_take(&g->c, *n);
    return true;
}

void
gguf_odd(struct gguf *g, enum gguf_odd which)
{
    if (g->odd[which].count++ == 0) {
        g->odd[which].name_at = g->name_at;
        g->odd[which].name_len = g->name_len;
    }
}

/* --- the container --------------------------------------------------------------------------------------- */

static bool
gguf_probe(const uint8_t *head, size_t n, uint64_t size)
{
    (void)size;
    return n >= 4 && (memcmp(head, "GGUF", 4) == 0 || memcmp(head, "FUGG", 4) == 0);
}

/* Checks that a count in the header, at byte `at`, is possible: not negative, and not more than the file can hold. */
static bool
check_count(struct gguf *g, const char *what, uint64_t n, uint64_t least, uint64_t at, struct err *err)
{
    if (n > INT64_MAX)
        return err_at(err, ERR_MALFORMED, at, "negative count of %s: %" PRId64, what, (int64_t)n);
    if (g->size != SOURCE_SIZE_UNKNOWN && n > (g->size - HEADER) / least)
        return err_at(err, ERR_MALFORMED, at, "header declares %" PRIu64 " %s of at least %" PRIu64 " bytes each, but only %"
            PRIu64 " bytes follow: the file is truncated or damaged", n, what, least, g->size - HEADER);
    return budget_items(catalog_budget(g->catalog), n, "tensors and keys", err);
}

static bool
read_header(struct gguf *g, uint32_t *version, uint64_t *ntensors, uint64_t *nkeys, struct err *err)
{
    if (!gguf_need(g, PREFIX, err))
        return false;
    const uint8_t *magic = cursor_take(&g->c, 4);
    if (!gguf_probe(magic, 4, g->size))
        return err_at(err, ERR_MALFORMED, 0, "not a GGUF file: the magic GGUF is missing");
    g->c.big = magic[0] == 'F' || (load_le32(g->c.p) & 0xffff) == 0;
    *version = cursor_u32(&g->c);
    if (*version != 2 && *version != 3)
        return err_at(err, ERR_UNSUPPORTED, 4, "GGUF version %" PRIu32 "%s, expected 2 or 3", *version,
            g->c.big ? " (big-endian)" : "");
    if (!gguf_need(g, HEADER - PREFIX, err))
        return false;
    *ntensors = cursor_u64(&g->c);
    *nkeys = cursor_u64(&g->c);
    return check_count(g, "tensors", *ntensors, LEAST_TENSOR, 8, err)
        && check_count(g, "keys", *nkeys, LEAST_KEY, 16, err);
}

/* Checks that the split keys of this part agree with each other. */
static bool
check_split(const struct gguf *g, struct err *err)
{
    if (g->split_count <= 1)
        return true;
    if (!g->split_no_given)
        return err_set(err, ERR_MALFORMED, "split.count is %" PRIu64 ", but split.no is missing",
            g->split_count);
    if (g->split_no >= g->split_count)
        return err_set(err, ERR_MALFORMED, "split.no is %" PRIu64 ", expected less than split.count (%" PRIu64
            ")", g->split_no, g->split_count);
    return true;
}

static void
warn_odd(const struct gguf *g)
{
    static const char *const text[GGUF_ODDITIES] = {
        [GGUF_ODD_KEY] = "keys that are not lower_snake_case words with dots",
        [GGUF_ODD_TEXT] = "names and strings that are not UTF-8",
        [GGUF_ODD_BOOL] = "booleans other than 0 and 1, read as true",
        [GGUF_ODD_NESTED] = "arrays of arrays (llama.cpp cannot load this file)",
        [GGUF_ODD_LONG_NAME] = "tensor names longer than 63 bytes (llama.cpp cannot load this file)",
        [GGUF_ODD_EMPTY_NAME] = "tensors without a name",
        [GGUF_ODD_TYPE] = "tensors of an unknown ggml type",
    };
    for (int i = 0; i < GGUF_ODDITIES; i++) {
        char shown[STR_SHOWN];
        if (g->odd[i].count == 0)
            continue;
        str_shown(shown, gguf_at(g, g->odd[i].name_at), g->odd[i].name_at != 0 ? g->odd[i].name_len : 0);
        catalog_note(g->catalog, "%s: %" PRIu64 "%s%s", text[i], g->odd[i].count, *shown ? ", first at " : "", shown);
    }
    if (g->alignment < LEAST_ALIGNMENT)
        catalog_note(g->catalog, "general.alignment is %" PRIu64 ", expected a multiple of 8", g->alignment);
}

static bool
gguf_read(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options, struct err *err)
{
    struct gguf g = {
        .catalog = c,
        .src = src,
        .limits = options->limits,
        .file = file,
        .size = source_size(src),
        .file_size = source_size(src),
        .alignment = DEFAULT_ALIGNMENT,
    };
    uint32_t version = 0;
    uint64_t ntensors = 0, nkeys = 0;

    if (!read_header(&g, &version, &ntensors, &nkeys, err)
        || !gguf_read_keys(&g, nkeys, err)
        || !check_split(&g, err))
        return false;

    bool split = g.split_count > 1;
    *catalog_facts(c) = (struct catalog_facts){
        .format = container_gguf.name,
        .version = version,
        .big_endian = g.c.big,
        .alignment = g.alignment,
        .split_no = split ? g.split_no : 0,
        .split_count = split ? g.split_count : 0,
    };
    if (!gguf_read_tensors(&g, ntensors, err) || !charge(&g, g.c.at, err))
        return false;
    catalog_facts(c)->header_end = g.c.at;
    warn_odd(&g);
    return true;
}

const struct container container_gguf = {
    .name = "GGUF",
    .probe = gguf_probe,
    .read = gguf_read,
    .tail_ok = true,
};
