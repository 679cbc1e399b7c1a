/* slices: safetensors files of torch's HuggingFaceStorageWriter, shard-RRRRR-model-IIIII-of-NNNNN.safetensors: file I of rank R. The
 * metadata of each has the offsets of its tensors in the whole ones, whose shapes are not stored. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/pull.h"
#include "container/sharded/gathered.h"
#include "container/sharded/json_facts.h"

static bool
read_slice_name(const char *name, unsigned *rank, unsigned *file, unsigned *files)
{
    static const char form[] = "shard-#####-model-#####-of-#####.safetensors";
    size_t i = 0;
    while (form[i] != '\0' && (form[i] == '#' ? isdigit((unsigned char)name[i]) : name[i] == form[i]))
        i++;
    return form[i] == '\0' && name[i] == '\0' && sscanf(name, "shard-%5u-model-%5u-of-%5u", rank, file, files) == 3;
}

static bool
slices_probe(const struct sharded *s)
{
    unsigned rank, file, files;
    bool found = false;
    for (size_t i = 0; i < s->names.n; i++)
        found = found || read_slice_name(s->names.name[i], &rank, &file, &files);
    return found;
}

struct slices {
    struct sharded *s;
    struct err *err;
    struct gathered g;
    unsigned ranks, files;      /* the highest numbers in names */
    bool ends;                  /* a piece is shorter than the one before it, and so is the last of its tensor */
};

static bool
slices_bad(const struct slices *x, enum err_kind kind, uint32_t file, const char *name, const char *what)
{
    char shown[STR_SHOWN];
    err_set(x->err, kind, ERR_TENSOR "%s", str_shown(shown, name, strlen(name)), what);
    return err_in_file(x->err, source_name(x->s->src[file]));
}

/* --- offsets */

/* Reads {"saved_offsets": [..]}, after the object has begun. */
static bool
read_offsets(struct pull *json, uint64_t *from, uint32_t *rank)
{
    bool found = false;
    while (pull_next(json) == PULL_KEY) {
        if (!pull_text_is(&json->token, "saved_offsets")) {
            if (!pull_skip(json))
                return false;
            continue;
        }
        enum pull_token token;
        found = pull_next(json) == PULL_ARRAY;
        *rank = 0;
        while (found && (token = pull_next(json)) != PULL_ARRAY_END) {
            if (token != PULL_NUMBER || *rank == LAYOUT_RANK || !pull_as_u64(json, &from[*rank]))
                return false;
            ++*rank;
        }
    }
    return found;
}

/* Finds the offsets of a tensor in the text of DCP_SHARDING_INFO. */
static bool
find_offsets(const char *text, size_t n, const struct tensor *t, uint64_t *from)
{
    struct pull json;
    char *name = malloc(n + 1);
    bool found = false;
    pull_init(&json, text, n, 0);
    if (!name || pull_next(&json) != PULL_OBJECT) {
        free(name);
        return false;
    }
    while (!found && pull_next(&json) == PULL_KEY) {
        uint32_t rank = 0;
        size_t len = pull_unescape(name, &json.token);
        if (len == t->name_len && memcmp(name, t->name, len) == 0)
            found = pull_next(&json) == PULL_OBJECT && read_offsets(&json, from, &rank) && rank == t->shape.rank;
        else if (!pull_skip(&json))
            break;
        if (len == t->name_len && memcmp(name, t->name, len) == 0)
            break;
    }
    free(name);
    return found;
}

/* --- files */

/* Adds one tensor of a file; widens the whole one to hold it. */
static bool
add_slice(struct slices *x, uint32_t file, const struct tensor *t, const char *text, size_t n)
{
    uint64_t from[LAYOUT_RANK], size[LAYOUT_RANK];
    const uint8_t *packed = t->shape.packed;
    bool again;
    struct gathered_tensor *whole, facts = { .name = t->name, .name_len = t->name_len, .dtype = t->dtype, .rank = t->shape.rank,
        .shape = size };
    if (t->shape.rank > LAYOUT_RANK || !find_offsets(text, n, t, from))
        return slices_bad(x, ERR_MALFORMED, file, t->name, "DCP_SHARDING_INFO has no offsets of it");
    for (uint32_t i = 0; i < t->shape.rank; i++)
        size[i] = shape_next(&packed);
    if (dtype_facts(t->dtype)->elems != 1)
        return slices_bad(x, ERR_UNSUPPORTED, file, t->name, "its type has several elements in a byte, which is not supported here");
    if (!gathered_add(&x->g, x->s, &facts, &whole, &again, x->err))
        return false;
    if (again && (whole->dtype != t->dtype || whole->rank != t->shape.rank))
        return slices_bad(x, ERR_MALFORMED, file, t->name, "its type or number of dimensions differs between files");
    for (uint32_t i = 0; i < whole->rank; i++) {
        uint64_t end;
        if (!num_add(&end, from[i], size[i]))
            return slices_bad(x, ERR_MALFORMED, file, t->name, "its offset overflows");
        x->ends = x->ends || (from[i] != 0 && size[i] != 0 && size[i] < from[i] && from[i] % size[i] != 0);
        whole->shape[i] = num_max(whole->shape[i], end);
    }
    const struct mosaic_tile tile = { .from = from, .size = size, .at = t->extent.at, .file = file };
    return t->extent.nbytes == 0 || gathered_piece(&x->g, x->s, whole, &tile, x->err);
}

static bool
add_file(struct slices *x, const char *name)
{
    uint32_t file = 0;
    struct catalog *catalog = NULL;
    if (!sharded_open(x->s, name, &file, x->err))
        return false;
    struct source *src = x->s->src[file];
    catalog = catalog_new(catalog_limits(x->s->catalog), x->err);
    struct container_options how = *x->s->how;
    how.slices = true;
    bool ok = catalog && container_safetensors.read(catalog, src, 0, &how, x->err) && catalog_seal(catalog, x->err);
    const struct meta *info = NULL;
    if (ok) {
        source_head_done(src, catalog_facts_of(catalog)->header_end);
        info = catalog_meta_find(catalog, "DCP_SHARDING_INFO");
    }
    if (ok && (!info || info->value.type != META_STRING))
        ok = err_set(x->err, ERR_MALFORMED, "it has no DCP_SHARDING_INFO, which tells where its tensors belong");
    for (size_t i = 0; ok && i < catalog_count(catalog); i++)
        ok = add_slice(x, file, catalog_at(catalog, i), info->value.as.s.p, info->value.as.s.n);
    catalog_free(catalog);
    return ok || err_in_file(x->err, source_name(src));
}

/* --- what is missing */

/* Names the first absent file of the ranks and files that the names show, if there is one; `why` is the failure otherwise. */
static bool
refuse_hole(struct slices *x, const struct err *why)
{
    for (unsigned r = 1; r <= x->ranks; r++)
        for (unsigned i = 1; i <= x->files; i++) {
            char name[64];
            snprintf(name, sizeof name, "shard-%05u-model-%05u-of-%05u.safetensors", r, i, x->files);
            if (why->kind == ERR_MALFORMED && strstr(why->text, "hole") && !sharded_has(x->s, name))
                return err_set(x->err, ERR_OPEN, "a file of the checkpoint is missing: %s (%s)", name, why->text);
        }
    *x->err = *why;
    return false;
}

/* A dimension that config.json declares, of tensors whose names end so. */
static const struct {
    const char *ending, *key;
    uint32_t axis;
} declared[] = {
    { "embed_tokens.weight", "vocab_size", 0 }, { "embed_tokens.weight", "hidden_size", 1 }, { "lm_head.weight", "vocab_size", 0 },
    { "lm_head.weight", "hidden_size", 1 }, { "norm.weight", "hidden_size", 0 },
};

/* Fails if a tensor is smaller than config.json declares: the files of the last rank are gone. */
static bool
check_config(const struct slices *x)
{
    struct str text = { 0 };
    struct err ignored;
    char shown[STR_SHOWN];
    err_init(&ignored);
    bool ok = true, there = sharded_peek(&text, x->s->dir, "config.json", &ignored);
    err_init(&ignored);
    there = there || sharded_peek(&text, x->s->dir, "../config.json", &ignored);
    for (size_t i = 0; there && ok && i < x->g.n; i++)
        for (size_t k = 0; ok && k < sizeof declared / sizeof *declared; k++) {
            const struct gathered_tensor *t = &x->g.tensor[i];
            uint64_t want;
            size_t n = t->name_len;
            if (!str_strip(t->name, &n, declared[k].ending) || declared[k].axis >= t->rank
                || !json_facts_number(&want, str_or(text.p, ""), text.len, declared[k].key) || t->shape[declared[k].axis] >= want)
                continue;
            ok = err_set(x->err, ERR_OPEN, ERR_TENSOR "%" PRIu64 " of the %" PRIu64 " that config.json declares (%s) are here: a shard is missing",
                str_shown(shown, t->name, t->name_len), t->shape[declared[k].axis], want, declared[k].key);
        }
    str_clear(&text);
    return ok;
}

/* Warns if nothing shows that the last rank is here. */
static void
warn_last(const struct slices *x)
{
    char shape[SHAPE_TEXT], shown[STR_SHOWN];
    uint8_t packed[LAYOUT_RANK * SHAPE_DIM];
    if (x->ends || x->g.n == 0)
        return;
    const struct gathered_tensor *t = &x->g.tensor[0];
    shape_pack(packed, t->shape, t->rank);
    const struct shape is = { .rank = t->rank, .packed = packed };
    catalog_warn(x->s->catalog, "the files do not tell how many shards there are: %u are here, which makes tensor %s %s; if the last one is "
        "missing, tensors are too small", x->ranks, str_shown(shown, t->name, t->name_len), shape_text(shape, &is));
}

static bool
slices_read(struct sharded *s, struct err *err)
{
    struct err why;
    struct slices x = { .s = s, .err = err };
    bool ok = true;
    err_init(&why);
    for (size_t i = 0; ok && i < s->names.n; i++) {
        unsigned rank, file, files;
        if (!read_slice_name(s->names.name[i], &rank, &file, &files))
            continue;
        x.ranks = rank > x.ranks ? rank : x.ranks;
        x.files = files > x.files ? files : x.files;
        ok = add_file(&x, s->names.name[i]);
    }
    s->ranks = x.ranks;
    ok = ok && (gathered_finish(&x.g, s, &why) || refuse_hole(&x, &why)) && check_config(&x);
    if (ok)
        warn_last(&x);
    gathered_clear(&x.g);
    return ok;
}

const struct sharded_format sharded_slices = { .kind = "dcp-safetensors", .probe = slices_probe, .read = slices_read };
