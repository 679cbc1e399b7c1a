#include "model/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/configs.h"

static const char several[] = "several formats";

/* --- tensors and metadata ------------------------------------------------------------------------------ */

static bool
add_tensors(struct catalog *all, const struct catalog *of, uint32_t first, struct err *err)
{
    bool ok = budget_items(catalog_budget(all), catalog_count(of) + catalog_meta_count(of), "tensors and keys", err);
    for (size_t i = 0; ok && i < catalog_count(of); i++) {
        struct tensor t = *catalog_at(of, i);
        size_t n = 0;
        if (t.type_name)
            n = strlen(t.type_name) + 1;
        char *type_name = NULL;
        if (n)
            type_name = catalog_alloc(all, n, err);
        if (n && !type_name)
            return false;
        if (n)
            t.type_name = memcpy(type_name, t.type_name, n);
        t.extent.file += first;
        ok = catalog_add(all, &t, err);
    }
    for (size_t i = 0; ok && i < catalog_check_count(of); i++) {
        struct catalog_check check = *catalog_check_at(of, i);
        check.extent.file += first;
        ok = catalog_add_check(all, &check.extent, check.crc, err);
    }
    return ok && catalog_copy_tiles(all, of, first, err);
}

/* Returns true if two values are bitwise equal. */
static bool
is_same(const struct meta_value *a, const struct meta_value *b)
{
    size_t na, nb;
    const void *pa = meta_bytes(a, &na), *pb = meta_bytes(b, &nb);
    if (a->type != b->type || na != nb)
        return false;
    if (a->type == META_ARRAY && (a->as.a.type != b->as.a.type || a->as.a.big_endian != b->as.a.big_endian))
        return false;
    if (a->type == META_STRING || a->type == META_ARRAY)
        return na == 0 || memcmp(pa, pb, na) == 0;
    return a->as.u == b->as.u;
}

static bool
add_metadata(struct catalog *all, const struct catalog *of, uint32_t first, const char *name, struct err *err)
{
    const struct meta *odd = NULL;
    size_t n = 0;
    for (size_t i = 0; i < catalog_meta_count(of); i++) {
        struct meta meta = *catalog_meta_at(of, i);
        const struct meta *there = catalog_meta_find(all, meta.key);
        uint32_t again;
        meta.file += first;
        if (there && !is_same(&there->value, &meta.value) && n++ == 0)
            odd = catalog_meta_at(of, i);
        if (!catalog_add_meta(all, &meta, &again, err))
            return false;
    }
    char shown[STR_SHOWN];
    if (n != 0)
        catalog_warn(all, "%s: metadata keys that differ from earlier operands: %zu (first: %s); the earlier values are "
            "kept", name, n, str_shown(shown, odd->key, odd->key_len));
    return true;
}

static void
add_remarks(struct catalog *all, const struct catalog *of, const char *name)
{
    for (size_t i = 0; i < catalog_remark_count(of); i++) {
        const struct catalog_remark *r = catalog_remark_at(of, i);
        (r->warning ? catalog_warn : r->told ? catalog_tell : catalog_note)(all, "%s: %s", name, r->text);
    }
}

/* --- configs ------------------------------------------------------------------------------------------- */

static const struct catalog_config *
find_config(const struct catalog *c, const char *name)
{
    for (size_t i = 0; i < catalog_config_count(c); i++)
        if (strcmp(catalog_config_at(c, i)->name, name) == 0)
            return catalog_config_at(c, i);
    return NULL;
}

/* Searches for "quant", which is part of every key that affects how weights are read. A false positive only costs the user
 * an option. */
static bool
mentions_quantization(const struct catalog_config *config)
{
    static const char word[] = "quant";
    for (size_t i = 0; i + sizeof word - 1 <= config->n; i++)
        if (memcmp(config->text + i, word, sizeof word - 1) == 0)
            return true;
    return strcmp(config->name, "config.json") != 0;
}

static bool
add_configs(struct catalog *all, const struct catalog *of, const char *name, struct err *err)
{
    for (size_t i = 0; i < catalog_config_count(of); i++) {
        const struct catalog_config *config = catalog_config_at(of, i), *there = find_config(all, config->name);
        if (!there && !catalog_add_config(all, config, err))
            return false;
        if (!there || (there->n == config->n && memcmp(there->text, config->text, config->n) == 0))
            continue;
        if (mentions_quantization(there) || mentions_quantization(config)) {
            err_set(err, ERR_UNSUPPORTED, "its %s differs from that of an earlier operand and affects how"
                " quantized weights are read: give one for all operands with --config FILE, or ignore them with --config"
                " none",
                config->name);
            return err_in_file(err, name);
        }
        catalog_note(all, "%s: its %s differs from that of an earlier operand; the earlier one is used", name, config->name);
    }
    return true;
}

/* --- facts --------------------------------------------------------------------------------------------- */

/* Keeps the facts that all operands share. *shards counts the operands that are single shards. */
static bool
add_facts(struct catalog *all, const struct catalog *of, uint64_t *shards, struct err *err)
{
    const struct catalog_facts *f = catalog_facts_of(of);
    struct catalog_facts *to = catalog_facts(all);
    size_t n = 0;
    if (f->index)
        n = strlen(f->index) + 1;
    bool begins = !to->format;
    if (begins || strcmp(to->format, f->format) == 0)
        to->format = f->format;
    else
        to->format = several;
    if (begins || to->version == f->version)
        to->version = f->version;
    else
        to->version = 0;
    if (begins || to->alignment == f->alignment)
        to->alignment = f->alignment;
    else
        to->alignment = 0;
    to->big_endian = to->big_endian || f->big_endian;
    *shards += f->shards != 0;
    if (f->shards > to->shards)
        to->shards = f->shards;
    if (n == 0 || to->index)
        return true;
    char *index = catalog_alloc(all, n, err);
    if (index)
        to->index = memcpy(index, f->index, n);
    return index != NULL;
}

/* --- files --------------------------------------------------------------------------------------------- */

static bool
take_sources(struct model *m, struct model *of, struct err *err)
{
    struct source **src = realloc(m->src, (m->nsrc + of->nsrc) * sizeof *src);
    if (!src)
        return err_memory(err, (m->nsrc + of->nsrc) * sizeof *src);
    m->src = src;
    memcpy(src + m->nsrc, of->src, of->nsrc * sizeof *src);
    m->nsrc += of->nsrc;
    m->nfiles = m->nsrc;
    of->nsrc = 0;
    return true;
}

/* Returns true if this part of a split model was already opened with an earlier operand. */
static bool
is_open(const struct model *m, const struct model *of)
{
    const struct input *file = of->inputs.item;
    return catalog_facts_of(of->catalog)->split_count != 0 && of->inputs.n == 1
        && inputs_find(&m->inputs, file->dev, file->ino);
}

/* Moves the contents of an opened operand into the model. */
static bool
take_operand(struct model *m, struct model *of, uint64_t *shards, struct err *err)
{
    uint32_t first = m->nsrc;
    for (size_t i = 0; i < of->inputs.n; i++)
        if (!inputs_add(&m->inputs, of->inputs.item[i].dev, of->inputs.item[i].ino, of->inputs.item[i].name, err))
            return false;
    if (!m->folder) {
        m->folder = of->folder;
        of->folder = NULL;
    }
    m->container = of->container;
    add_remarks(m->catalog, of->catalog, of->name);
    return add_tensors(m->catalog, of->catalog, first, err)
        && add_metadata(m->catalog, of->catalog, first, of->name, err)
        && add_configs(m->catalog, of->catalog, of->name, err)
        && add_facts(m->catalog, of->catalog, shards, err)
        && take_sources(m, of, err);
}

static bool
add_operand(struct model *m, const char *operand, const struct model_options *options, uint64_t *shards, struct err *err)
{
    struct model of;
    bool ok = model_open(&of, operand, options, err);
    if (!ok || !is_open(m, &of))
        ok = ok && (((model_complete(&of, err) && model_spool(&of, err)) || err_in_file(err, of.name))
            && take_operand(m, &of, shards, err));
    model_clear(&of);
    return ok;
}

bool
merge_open(struct model *m, char *const *operands, size_t n, const struct model_options *options, struct err *err)
{
    if (n < 2)
        return model_open(m, n ? operands[0] : NULL, options, err);
    struct str name = { 0 };
    struct model_options each = *options;
    bool named = options->config && strcmp(options->config, "none") != 0;
    uint64_t shards = 0;
    const char *first = "(standard input)";
    if (strcmp(operands[0], "-") != 0)
        first = operands[0];
    str_add_escaped(&name, first, strlen(first));
    str_format(&name, " and %zu more", n - 1);
    *m = (struct model){ .catalog = catalog_new(options->limits, err), .name = name.p, .no_spool = options->no_spool,
        .how = { .limits = options->limits, .root = options->root, .no_verify = options->no_verify },
        .meter = options->meter, .inputs.fetch = options->fetch };
    if (named)
        each.config = "none";
    else
        each.config = options->config;
    bool ok = m->catalog && (!name.failed || err_memory(err, name.room));
    for (size_t i = 0; ok && i < n; i++)
        ok = add_operand(m, operands[i], &each, &shards, err);
    ok = ok && (!named || configs_read_config(m->catalog, options->config, true, &m->inputs, err))
        && model_seal(m, "rename it first with --add-prefix, or leave it out with --drop", err);
    if (ok && shards >= catalog_facts_of(m->catalog)->shards)
        catalog_facts(m->catalog)->shards = 0;          /* every shard is open */
    return ok || err_in_file(err, str_or(m->name, ""));
}
