/* layered: the model that Ollama stores as one blob for each tensor or group of tensors: whole safetensors files, whose own names count.
 * A quantized weight P.weight has W.scale and W.bias, in MLX's layout, under the names P.scales and P.biases here, which MLX's loaders
 * read, and W.global_scale. The metadata of a file, or NAME.quant_type and NAME.group_size in it, name the type. Scales
 * alone do not determine the bits. Source: ollama, x/create/prequant.go, x/quant/quant.go, x/mlxrunner/model/root.go. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "container/sharded/sharded_priv.h"

#define DRAFT "draft"

static const struct layered_type {
    const char *word;
    const char *mode;
    uint32_t bits, group;
} types[] = {
    { .word = "nvfp4", .mode = "nvfp4", .bits = 4, .group = 16 }, { .word = "mxfp4", .mode = "mxfp4", .bits = 4, .group = 32 },
    { .word = "mxfp8", .mode = "mxfp8", .bits = 8, .group = 32 }, { .word = "int4", .mode = "affine", .bits = 4, .group = 64 },
    { .word = "fp4", .mode = "affine", .bits = 4, .group = 64 }, { .word = "q4", .mode = "affine", .bits = 4, .group = 64 },
    { .word = "int8", .mode = "affine", .bits = 8, .group = 64 }, { .word = "fp8", .mode = "affine", .bits = 8, .group = 64 },
    { .word = "q8", .mode = "affine", .bits = 8, .group = 64 },
};

struct layered {
    struct sharded *s;
    struct err *err;
    struct catalog *blob;       /* of the file that is read */
    bool has_draft, draft;      /* the model has a draft; it is what is read */
    struct layered_type first;  /* of the first quantized weight; word NULL: none yet */
};

static bool
layered_probe(const struct sharded *s)
{
    const struct bundle *b = &s->inputs->bundle;
    bool found = false;
    for (size_t i = 0; b->path && strcmp(b->path, s->dir) == 0 && !found && i < b->n; i++)
        found = b->file[i].tensors;
    return found;
}

/* --- what --root chooses */

/* Returns the length of the component in a name, COMPONENT/REST; 0 if it has none. */
static size_t
component(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash ? (size_t)(slash - name) : 0;
}

/* Adds the components, and the draft if there is one. */
static bool
list_roots(const struct bundle *b, struct names *roots, bool *plain, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < b->n; i++) {
        size_t n = component(b->file[i].name);
        if (!b->file[i].tensors)
            ok = strcmp(b->file[i].name, DRAFT "/config.json") != 0 || names_add(roots, DRAFT, strlen(DRAFT), err);
        else if (n == 0)
            *plain = true;
        else
            ok = names_add(roots, b->file[i].name, n, err);
    }
    names_sort(roots);
    return ok;
}

/* Finds what to read: *root is NULL for tensors without a component. */
static bool
choose_root(struct layered *l, const struct names *roots, bool plain, const char **root)
{
    const char *given = l->s->how->root;
    struct str words = { 0 };
    char shown[STR_SHOWN];
    *root = plain ? NULL : given ? given : roots->name[0];
    bool found = !given && (plain || roots->n == 1);
    for (size_t i = 0; i < roots->n; i++) {
        if (given && strcmp(given, roots->name[i]) == 0) {
            *root = roots->name[i];
            found = true;
        }
        str_format(&words, "%s%s", i ? ", " : "", str_shown(shown, roots->name[i], strlen(roots->name[i])));
    }
    if (!found && given)
        err_set(l->err, ERR_USAGE, words.p ? "--root %s: expected one of %s" : "--root %s: the model has only one tree of tensors: remove the "
            "option", str_shown(shown, given, strlen(given)), words.p);
    else if (!found)
        err_set(l->err, ERR_USAGE, "the model has several components: give --root with one of %s", str_or(words.p, ""));
    str_clear(&words);
    return found;
}

/* --- one blob */

/* Finds metadata of a weight, under NAME.KEY or KEY: text of at most `room` bytes with a NUL. */
static bool
find_word(const struct layered *l, const struct tensor *w, const char *key, char *word, size_t room)
{
    struct str own = { 0 };
    size_t n = 0;
    str_add(&own, w->name, w->name_len);
    str_format(&own, ".%s", key);
    const struct meta *m = own.failed ? NULL : catalog_meta_find(l->blob, own.p);
    str_clear(&own);
    if (!m)
        m = catalog_meta_find(l->blob, key);
    const char *p = m ? meta_bytes(&m->value, &n) : NULL;
    if (!p || n == 0 || n >= room || memchr(p, '\0', n))
        return false;
    memcpy(word, p, n);
    word[n] = '\0';
    return true;
}

/* Returns words * 32 / groups, of the last dimensions; 0 if that is not a whole number. */
static uint64_t
bits_of_group(const struct tensor *codes, const struct tensor *scales)
{
    uint64_t words, groups;
    if (codes->shape.rank == 0 || scales->shape.rank != codes->shape.rank)
        return 0;
    words = shape_dim(&codes->shape, codes->shape.rank - 1);
    groups = shape_dim(&scales->shape, codes->shape.rank - 1);
    return groups == 0 || words > UINT64_MAX / 32 || words * 32 % groups != 0 ? 0 : words * 32 / groups;
}

static void
put_type(struct str *out, const struct layered_type *t)
{
    str_format(out, "\"group_size\": %" PRIu32 ", \"bits\": %" PRIu32 ", \"mode\": \"%s\"", t->group, t->bits, t->mode);
}

/* Declares the type of a weight, as config.json of MLX does: the first one for all, others by their modules. */
static bool
declare(struct layered *l, const struct tensor *w, const struct layered_type *t)
{
    struct str *out = &l->s->quantization;
    size_t n = w->name_len;
    if (!l->first.mode) {
        l->first = *t;
        put_type(out, t);
    } else if (t->bits != l->first.bits || t->group != l->first.group || strcmp(t->mode, l->first.mode) != 0) {
        str_strip(w->name, &n, ".weight");
        str_text(out, ", \"");
        str_add_json(out, w->name, n, false);
        str_text(out, "\": {");
        put_type(out, t);
        str_text(out, "}");
    }
    return !out->failed || err_memory(l->err, out->room);
}

/* Reads the type of a weight and compares it with the shapes. A weight without one is left to the decoder. */
static bool
check_type(struct layered *l, const struct tensor *w, const struct tensor *scales)
{
    char word[16], shown[STR_SHOWN];
    struct layered_type t = { 0 };
    uint64_t group;
    str_shown(shown, w->name, w->name_len);
    if (!find_word(l, w, "quant_type", word, sizeof word))
        return true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(word, types[i].word) == 0)
            t = types[i];
    if (!t.word)
        return err_set(l->err, ERR_UNSUPPORTED, ERR_TENSOR "its quant_type %s is not known", shown, str_shown((char[STR_SHOWN]){ 0 }, word,
            strlen(word)));
    if (find_word(l, w, "group_size", word, sizeof word) && str_to_u64(&group, word) && group <= 1024 && group != 0)
        t.group = (uint32_t)group;
    if (bits_of_group(w, scales) != (uint64_t)t.bits * t.group)
        return err_set(l->err, ERR_MALFORMED, ERR_TENSOR "its shape and that of its scales do not fit %s in groups of %" PRIu32, shown,
            t.word, t.group);
    return declare(l, w, &t);
}

/* Appends the name of a tensor for people and loaders: P.scales for P.weight.scale. */
static void
add_mlx_name(const struct layered *l, const struct tensor *t, struct str *out)
{
    static const struct {
        const char *stored, *mlx;
    } rows[] = { { ".weight.scale", ".scales" }, { ".weight.bias", ".biases" } };
    size_t skip = 0, n;
    if (l->draft)
        skip = strlen(DRAFT ".");
    const char *p = t->name + skip;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        n = t->name_len - skip;
        if (!str_strip(p, &n, rows[i].stored))
            continue;
        str_add(out, p, n);
        str_text(out, rows[i].mlx);
        return;
    }
    str_add(out, p, t->name_len - skip);
}

static bool
add_tensor(struct layered *l, uint32_t file, const struct tensor *t)
{
    static const uint64_t origin[LAYOUT_RANK];
    uint64_t size[LAYOUT_RANK];
    const uint8_t *packed = t->shape.packed;
    char shown[STR_SHOWN];
    struct str name = { 0 };
    str_shown(shown, t->name, t->name_len);
    if (t->shape.rank > LAYOUT_RANK || dtype_facts(t->dtype)->elems != 1)
        return err_set(l->err, ERR_UNSUPPORTED, ERR_TENSOR "its type or rank is not supported in such a model", shown);
    for (uint32_t i = 0; i < t->shape.rank; i++)
        size[i] = shape_next(&packed);
    add_mlx_name(l, t, &name);
    const struct mosaic_tensor whole = { .name = str_or(name.p, ""), .name_len = (uint32_t)name.len, .dtype = t->dtype, .grid = size,
        .axes = t->shape.rank };
    const struct mosaic_tile tile = { .from = origin, .size = size, .at = t->extent.at, .file = file };
    bool ok = (!name.failed || err_memory(l->err, name.room)) && mosaic_begin(l->s->mosaic, &whole, l->err)
        && mosaic_add(l->s->mosaic, &tile, l->err) && mosaic_end(l->s->mosaic, l->err);
    str_clear(&name);
    return ok;
}

/* Returns the scales of a weight in the same file, or NULL. */
static const struct tensor *
scales_of(const struct layered *l, const struct tensor *w)
{
    struct str name = { 0 };
    str_add(&name, w->name, w->name_len);
    str_text(&name, ".scale");
    const struct tensor *scales = name.failed ? NULL : catalog_find(l->blob, name.p, name.len);
    str_clear(&name);
    return scales;
}

static bool
read_blob(struct layered *l, const char *name)
{
    uint32_t file;
    if (!sharded_open(l->s, name, &file, l->err))
        return false;
    struct source *src = l->s->src[file];
    l->blob = catalog_new(catalog_limits(l->s->catalog), l->err);
    bool ok = l->blob && container_safetensors.read(l->blob, src, 0, l->s->how, l->err) && catalog_seal(l->blob, l->err);
    if (ok)
        source_head_done(src, catalog_facts_of(l->blob)->header_end);
    for (size_t i = 0; ok && i < catalog_count(l->blob); i++) {
        const struct tensor *t = catalog_at(l->blob, i), *scales = scales_of(l, t);
        if (l->draft == (l->has_draft && str_prefixed(t->name, t->name_len, DRAFT ".")))
            ok = (!scales || check_type(l, t, scales)) && add_tensor(l, file, t);
    }
    catalog_free(l->blob);
    return ok || err_in_file(l->err, source_name(src));
}

static bool
layered_read(struct sharded *s, struct err *err)
{
    const struct bundle *b = &s->inputs->bundle;
    struct layered l = { .s = s, .err = err };
    struct names roots = { 0 };
    const char *root = NULL;
    bool plain = false;
    bool ok = list_roots(b, &roots, &plain, err) && choose_root(&l, &roots, plain, &root);
    for (size_t i = 0; i < roots.n; i++)
        l.has_draft = l.has_draft || strcmp(roots.name[i], DRAFT) == 0;
    if (ok && root && !(s->folder = strdup(root)))
        ok = err_memory(err, strlen(root));
    l.draft = ok && root && l.has_draft && strcmp(root, DRAFT) == 0;
    for (size_t i = 0; ok && i < b->n; i++) {
        size_t n = component(b->file[i].name);
        bool chosen = root && !l.draft ? str_is(b->file[i].name, n, root) : n == 0;
        if (b->file[i].tensors && chosen)
            ok = read_blob(&l, b->file[i].name);
    }
    catalog_facts(s->catalog)->format = container_safetensors.name;
    names_clear(&roots);
    return ok;
}

const struct sharded_format sharded_layered = { .kind = "ollama-layers", .root = true, .probe = layered_probe, .read = layered_read };
