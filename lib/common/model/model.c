#include "model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/num.h"
#include "base/str.h"
#include "container/foreign.h"
#include "container/gather.h"
#include "model/archived.h"
#include "model/candidates.h"
#include "model/checkpoint.h"
#include "model/configs.h"
#include "model/index.h"
#include "model/store.h"
#include "source/small_file.h"

/* Fails unless file i can be read at any offset, which models of several files require. A deflated member inside a file is
 * handled by model_spool() instead. */
static bool
check_plain(const struct model *m, uint32_t i, struct err *err)
{
    if (m->nfiles < 2 || source_seekable(m->src[i]))
        return true;
    err_set(err, ERR_UNSUPPORTED, source_is_file(m->src[i])
        ? "compressed shards are not supported: decompress the file first"
        : "shards must be regular files: copy this one to a file first");
    return err_in_file(err, source_name(m->src[i]));
}

/* Fails if --root is given for a format other than PyTorch. */
static bool
check_root(const struct model *m, struct err *err)
{
    if (m->how.state)
        return err_set(err, ERR_USAGE, "--state applies to the checkpoint directory of a training job only");
    if (m->how.nallowed != 0)
        return err_set(err, ERR_USAGE, "--allow-global applies to the checkpoint directory of a training job only");
    const char *format = catalog_facts_of(m->catalog)->format;
    return !m->how.root || strcmp(format, "PyTorch") == 0
        || err_set(err, ERR_USAGE, "--root applies to PyTorch checkpoints only, but the input is %s", format);
}

/* Fails if the file just read differs in format from the files before it. `first` is their format, or NULL for the first
 * file. */
static bool
check_format(const struct model *m, const char *first, struct err *err)
{
    const char *format = catalog_facts_of(m->catalog)->format;
    return !first || strcmp(first, format) == 0 || err_at(err, ERR_MALFORMED, 0, "mixed formats: this file is %s, the "
        "first file of the model is %s", format, first);
}

/* Formats whose index is at the end need the size of the file. A fetched file has a known size only if it is small: a larger
 * one is read in order, like a pipe. */
static bool
settle_size(const struct model *m, struct source *src, const struct container *container, struct err *err)
{
    bool at_end = container != &container_safetensors && container != &container_gguf;
    if (!m->inputs.fetch || !at_end || !source_is_file(src) || !source_seekable(src))
        return true;
    source_settle_size(src);
    return check_plain(m, m->nsrc - 1, err);
}

/* Tells a fetched file where its data end, so that an answer that is short of it is a failure. */
static void
promise_data(const struct model *m, uint32_t file)
{
    uint64_t from, to;
    model_data(m, file, &from, &to);
    source_promise(m->src[file], num_max(to, catalog_facts_of(m->catalog)->header_end));
}

/* Opens one more file of the model and reads its header. */
static bool
add_file(struct model *m, const char *path, bool pipe_ok, struct err *err)
{
    const struct container_options *how = &m->how;
    struct source **src = realloc(m->src, (m->nsrc + 1) * sizeof *src);
    if (!src)
        return err_memory(err, (m->nsrc + 1) * sizeof *src);
    m->src = src;
    src[m->nsrc] = NULL;
    const struct container *container = NULL;
    const char *format = catalog_facts_of(m->catalog)->format;
    bool ok = source_open(&src[m->nsrc], path, pipe_ok, &m->inputs, err);
    struct source *this = src[m->nsrc];
    if (this) {
        source_set_meter(this, m->meter);
        if (m->no_spool)
            source_forbid_spool(this, m->twice);
    }
    m->nsrc += this != NULL;
    ok = ok && source_unpack(this, how->limits, err) && check_plain(m, m->nsrc - 1, err)
        && container_detect(&container, this, err) && settle_size(m, this, container, err)
        && container->read(m->catalog, this, m->nsrc - 1, how, err)
        && check_format(m, format, err) && check_root(m, err);
    m->container = container;
    if (ok)
        source_head_done(this, catalog_facts_of(m->catalog)->header_end);
    if (ok && m->inputs.fetch)
        promise_data(m, m->nsrc - 1);
    else if (!ok && this)
        err_in_file(err, source_name(this));
    return ok;
}

/* --- several files ------------------------------------------------------------------------------------- */

/* Reports the tensor name that catalog_seal() found twice, with both files. */
static bool
report_duplicate(const struct model *m, const char *advice, struct err *err)
{
    char shown[STR_SHOWN];
    for (size_t i = 0; i < catalog_count(m->catalog); i++) {
        const struct tensor *t = catalog_at(m->catalog, i), *twin = catalog_find(m->catalog, t->name, t->name_len);
        if (twin != t) {
            err_set(err, ERR_MALFORMED, ERR_TENSOR "duplicate name, also in %s: %s",
                str_shown(shown, t->name, t->name_len), source_name(m->src[twin->extent.file]), advice);
            return err_in_file(err, source_name(m->src[t->extent.file]));
        }
    }
    return false;
}

bool
model_seal(const struct model *m, const char *advice, struct err *err)
{
    struct err why;
    err_init(&why);
    if (catalog_seal(m->catalog, &why))
        return true;
    if (why.kind == ERR_MALFORMED)
        return report_duplicate(m, advice, err);
    *err = why;
    return false;
}

/* Opens one of several files of the model. */
static bool
add_one_of(struct model *m, const char *path, struct err *err)
{
    if (add_file(m, path, false, err))
        return true;
    size_t n = strlen(err->text);
    if (err->kind == ERR_OPEN && err->sys == ENOENT)
        snprintf(err->text + n, sizeof err->text - n, "; the model has %" PRIu32 " files, and this one is missing: download it again",
            m->nfiles);
    return false;
}

static bool
open_index(struct model *m, const char *path, struct err *err)
{
    size_t dir_len = folder_len(path), n;
    struct source *src = NULL;
    struct index index = { 0 };
    struct budget *budget = catalog_budget(m->catalog);
    const char *text;
    bool ok = small_file_open(&src, path, false, INDEX_FILE_MAX, budget, "index bytes", &text, &n, &m->inputs, err)
        && ((foreign_check_pointer((const uint8_t *)text, n, err) && index_read(&index, text, n, budget, err))
            || err_in_file(err, source_name(src)));
    if (ok) {
        source_head_done(src, n);       /* the text, which is as large as the index */
        m->nfiles = (uint32_t)index.nshards;
    }
    for (size_t i = 0; ok && i < index.nshards; i++) {
        char *shard = folder_path(path, dir_len, index.shard[i], err);
        ok = shard && add_one_of(m, shard, err);
        free(shard);
    }
    ok = ok && (index_apply(&index, m->catalog, m->strict, err) || err_in_file(err, source_name(src)));
    index_clear(&index);
    source_close(src);
    return ok && model_seal(m, "add the one that counts to the index", err);
}

/* Opens part i of the same model as `path`. */
static bool
add_part(struct model *m, const char *path, const struct configs_part *part, uint64_t i, struct err *err)
{
    struct str name = { 0 };
    configs_part_name(&name, path, part, i);
    bool ok = (!name.failed || err_memory(err, name.room)) && add_one_of(m, name.p, err);
    str_clear(&name);
    return ok;
}

/* Opens all shards of a model without an index. `path` is the first shard. */
static bool
open_shards(struct model *m, const char *path, struct err *err)
{
    struct configs_part part;
    if (!configs_shard(&part, path) || !limits_check(part.count, INDEX_SHARDS_MAX, "files of the model", err))
        return false;
    m->nfiles = (uint32_t)part.count;
    bool ok = true;
    for (uint64_t i = 1; ok && i <= part.count; i++)
        ok = add_part(m, path, &part, i, err);
    return ok && model_seal(m, "they may be of different models; an index would say which one counts", err);
}

/* Checks that the split keys of a GGUF part agree with its position `no` and with the first part. */
static bool
check_part(const struct model *m, const struct catalog_facts *first, uint32_t no, struct err *err)
{
    const struct catalog_facts *f = catalog_facts_of(m->catalog);
    if (f->split_no == no && f->split_count == first->split_count)
        return true;
    err_set(err, ERR_MALFORMED, "the file declares part %" PRIu64 " of %" PRIu64 ", expected part %"
        PRIu32 " of %" PRIu64, f->split_no + 1, f->split_count, no + 1, first->split_count);
    return err_in_file(err, source_name(m->src[no]));
}

/* Checks that all parts together have as many tensors as the first part declares. */
static bool
check_total(const struct model *m, struct err *err)
{
    const struct meta *total = catalog_meta_find(m->catalog, "split.tensors.count");
    uint64_t n;
    if (!total || !meta_as_u64(&total->value, &n) || n == catalog_count(m->catalog))
        return true;
    return err_set(err, ERR_MALFORMED, "the parts have %zu tensors, but split.tensors.count is %" PRIu64 ":"
        " are they parts of the same model?", catalog_count(m->catalog), n);
}

/* Opens the remaining parts, PREFIX-0000i-of-0000N.gguf, of a model whose first part has been read. */
static bool
open_parts(struct model *m, const char *path, struct err *err)
{
    const struct catalog_facts first = *catalog_facts_of(m->catalog);
    struct configs_part part;
    if (!configs_part(&part, path, ".gguf") || part.number != 1)
        return true;            /* a lone part: amn-inspect shows it, model_complete() refuses it */
    m->nfiles = (uint32_t)part.count;
    if (!check_plain(m, 0, err) || !check_part(m, &first, 0, err)
        || !limits_check(part.count, INDEX_SHARDS_MAX, "files of the model", err))
        return false;
    if (part.count != first.split_count)
        return err_set(err, ERR_MALFORMED, "the file name indicates %" PRIu64 " parts, but split.count is"
            " %" PRIu64, part.count, first.split_count);
    bool ok = true;
    for (uint32_t i = 1; ok && i < part.count; i++)
        ok = add_part(m, path, &part, i + 1, err) && check_part(m, &first, i, err);
    *catalog_facts(m->catalog) = first;
    catalog_facts(m->catalog)->split_count = 0;         /* all parts are open */
    return ok;
}

/* --- the operand --------------------------------------------------------------------------------------- */

void
model_data(const struct model *m, uint32_t file, uint64_t *from, uint64_t *to)
{
    *from = UINT64_MAX;
    *to = 0;
    for (size_t i = 0; i < catalog_count(m->catalog); i++) {
        const struct tensor *t = catalog_at(m->catalog, i);
        uint64_t n = t->extent.nbytes;
        if (t->extent.file != file)
            continue;
        if (t->layout && layout_extent(t->layout, &n))
            dtype_row_bytes(&n, t->dtype, n);
        *from = num_min(*from, t->extent.at);
        *to = num_max(*to, t->extent.at + n);
    }
    *from = num_min(*from, *to);
}

/* Returns the offset where header and data of the first file end. Meant for models of one file, such as a pipe. */
static uint64_t
model_end(const struct model *m)
{
    uint64_t from, end;
    model_data(m, 0, &from, &end);
    return num_max(end, num_max(catalog_facts_of(m->catalog)->header_end, catalog_facts_of(m->catalog)->file_end));
}

/* Opens a file that the user named. If it is one of the files of a checkpoint, says how the whole model is read. */
static bool
add_named(struct model *m, const char *path, bool pipe_ok, struct err *err)
{
    char shown[STR_SHOWN], *dir = NULL;
    bool ok = add_file(m, path, pipe_ok, err);
    if (path && !m->inputs.fetch)
        dir = sharded_of_file(path);
    if (dir)
        str_shown(shown, dir, strlen(dir));
    if (dir && ok)
        catalog_tell(m->catalog, "one file of a checkpoint, whose directory is read as the whole model: %s", shown);
    else if (dir && err->kind == ERR_UNSAFE && strstr(err->text, "references torch.distributed.")) {
        err->kind = ERR_UNSUPPORTED;
        snprintf(err->text, sizeof err->text, "shard of a checkpoint, which holds a part of each tensor: give the directory: %s", shown);
        err->at = ERR_NO_OFFSET;
    }
    free(dir);
    return ok;
}

static bool
open_file(struct model *m, const char *path, bool pipe_ok, struct err *err)
{
    if (path && str_ends(path, ".index.json"))
        return open_index(m, path, err);
    if ((path && !m->inputs.fetch && !candidates_check_parallel(path, err)) || !add_named(m, path, pipe_ok, err))
        return false;
    source_promise(m->src[0], model_end(m));
    return (!path || catalog_facts_of(m->catalog)->split_count == 0 || open_parts(m, path, err))
        && catalog_seal(m->catalog, err) && (m->nsrc == 1 || check_total(m, err));
}

/* Reads the configs next to the opened file `path`, or the config that the user named, if any. */
static bool
add_configs(struct model *m, const char *path, const struct model_options *options, struct err *err)
{
    bool named = options->config && strcmp(options->config, "none") != 0;
    if (named)
        return configs_read_config(m->catalog, options->config, true, &m->inputs, err);
    if (!path || !m->container->has_configs || !source_is_file(m->src[0]))
        return true;
    return (options->config || configs_read_configs(m->catalog, path, folder_len(path), &m->inputs, err))
        && (options->fetch || m->nsrc > 1 || str_ends(path, ".index.json") || configs_note_shard(m->catalog, path, &m->inputs, err));
}

/* Remembers the model's directory; "" for the current one of a fetch command. Not called for an operand that names a single
 * file. */
static bool
keep_folder(struct model *m, const char *path, size_t n, struct err *err)
{
    if (n || m->inputs.fetch)
        m->folder = strndup(path, n);
    else
        m->folder = strdup(".");
    return m->folder || err_memory(err, n);
}

/* Opens the model of a directory that is fetched, and so has no listing: the first of the usual names that exists. */
static bool
open_fetched_directory(struct model *m, const char *dir, const struct model_options *options, struct err *err)
{
    size_t n;
    if (strcmp(dir, ".") == 0 || strcmp(dir, "./") == 0)
        n = 0;
    else
        n = strlen(dir);
    const char *name;
    char *path = NULL;
    bool there = false, ok = true;
    for (size_t i = 0; ok && !there && (name = candidates_usual(i)) != NULL; i++) {
        free(path);
        path = folder_path(dir, n, name, err);
        ok = path && small_file_exists(&there, path, &m->inputs, err);
    }
    if (there)
        ok = keep_folder(m, dir, n, err) && open_file(m, path, false, err) && add_configs(m, path, options, err);
    else if (ok)
        ok = err_set(err, ERR_OPEN, "the fetch command found no model in the directory "
            "under a usual name, such as model.safetensors.index.json: give the file");
    free(path);
    return ok;
}

/* --- the checkpoint of a training job ------------------------------------------------------------------ */

/* Looks for such a checkpoint, unless the directory has a complete model, which then counts. */
static bool
find_sharded(struct model *m, const struct candidates *in, const char *dir, struct err *err)
{
    char shown[STR_SHOWN];
    bool master = m->how.state && strcmp(m->how.state, "master") == 0;
    return (candidates_has_whole(in) && !master) || sharded_find(&m->sharded, dir, &m->inputs, err)
        || err_in_file(err, str_shown(shown, dir, strlen(dir)));
}

static bool
open_checkpoint(struct model *m, const char *dir, const struct model_options *options, struct err *err)
{
    struct sharded *s = m->sharded;
    struct source *made = NULL;
    bool ok = sharded_read(s, &made, m->catalog, &m->how, err);
    struct source **src = NULL;
    if (ok)
        src = realloc(s->src, (s->nsrc + 1) * sizeof *src);
    if (!src) {
        source_close(made);
        return ok ? err_memory(err, s->nsrc * sizeof *src) : false;
    }
    src[s->nsrc] = made;
    m->src = src;
    m->nsrc = m->nfiles = (uint32_t)s->nsrc + 1;
    s->src = NULL;
    s->nsrc = 0;
    m->container = &container_sharded;
    char *folder = s->folder ? folder_path(dir, strlen(dir), s->folder, err) : checkpoint_folder(&m->inputs, dir, err), *path = NULL;
    if (folder)
        path = folder_path(folder, strlen(folder), "config.json", err);
    m->trained = folder && strcmp(folder, dir) == 0 && sharded_is_trained(s);
    ok = path && catalog_seal(m->catalog, err) && keep_folder(m, folder, strlen(folder), err) && add_configs(m, path, options, err);
    if (ok && s->quantization.len != 0 && (!options->config || strcmp(options->config, "none") != 0))
        ok = configs_add_quantization(m->catalog, &s->quantization, err);
    free(folder);
    free(path);
    return ok;
}

/* Opens the model file of a directory. Warns of other models in it and of missing shards. */
static bool
open_directory(struct model *m, const char *dir, const struct model_options *options, struct err *err)
{
    struct candidates in = { 0 };
    char *path = NULL;
    bool listed = candidates_list(&in, dir, &m->inputs, err);
    if (listed && !find_sharded(m, &in, dir, err)) {
        candidates_clear(&in);
        return false;
    }
    if (m->sharded) {
        candidates_clear(&in);
        return open_checkpoint(m, dir, options, err);
    }
    if (listed && candidates_choose(&in, dir, &m->inputs, err))
        path = folder_path(dir, strlen(dir), in.chosen, err);
    bool ok = path && keep_folder(m, dir, strlen(dir), err)
        && (in.shards > 1 ? open_shards(m, path, err) : open_file(m, path, false, err)) && add_configs(m, path, options, err)
        && candidates_warn(&in, dir, &m->inputs, m->catalog, err);
    if (ok && catalog_facts_of(m->catalog)->shards != 0)
        catalog_warn(m->catalog, "the file is one of %" PRIu64 " shards of a model, and the directory has no index: only"
            " this shard is read", catalog_facts_of(m->catalog)->shards);
    free(path);
    candidates_clear(&in);
    return ok && checkpoint_check_empty(m->catalog, dir, &m->inputs, err);
}

/* After a failure to read a file: if the file is an archive with a model, lists its files, clears the failure and returns true. */
static bool
find_archive(struct model *m, const char *path, struct err *err)
{
    struct err why;
    bool found = false, tried = m->nsrc == 1 && source_seekable(m->src[0]) && catalog_count(m->catalog) == 0
        && (err->kind == ERR_UNSUPPORTED || err->kind == ERR_MALFORMED);
    err_init(&why);
    if (tried && !archived_find(&found, &m->inputs.bundle, m->src[0], path, catalog_budget(m->catalog), &why))
        *err = why;
    if (!found)
        return false;
    source_close(m->src[0]);
    m->nsrc = 0;
    *catalog_facts(m->catalog) = (struct catalog_facts){ 0 };
    err_init(err);
    return true;
}

/* Opens the model in an archive, or the one that --root names. */
static bool
open_archive(struct model *m, const char *path, const struct model_options *options, struct err *err)
{
    const struct bundle *b = &m->inputs.bundle;
    enum bundle_kind kind = m->how.root ? bundle_kind(b, m->how.root) : BUNDLE_NONE;
    if (kind == BUNDLE_NONE)
        return open_directory(m, path, options, err);
    if (!archived_check_folder(b, m->how.root, err))
        return false;
    char *inner = folder_path(path, strlen(path), m->how.root, err);
    m->how.root = NULL;
    bool ok = inner != NULL;
    if (ok && kind == BUNDLE_FOLDER)
        ok = open_directory(m, inner, options, err);
    else if (ok)
        ok = keep_folder(m, inner, folder_len(inner), err) && open_file(m, inner, false, err) && add_configs(m, inner, options, err);
    free(inner);
    return ok;
}

bool
model_is_fetched_directory(const char *path)
{
    return path && (strcmp(path, ".") == 0 || str_ends(path, "/"));
}

/* Says how a fetched directory is written, where the name of a file that could not be read may be one. */
static void
tell_slash(const struct model *m, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    size_t n = strlen(err->text);
    if ((err->kind == ERR_IO || err->kind == ERR_MALFORMED) && !strchr(str_or(slash, path), '.'))
        snprintf(err->text + n, sizeof err->text - n, "; the name of a directory ends with a slash: %s/", m->name);
}

bool
model_open(struct model *m, const char *operand, const struct model_options *options, struct err *err)
{
    const char *path = operand && strcmp(operand, "-") == 0 ? NULL : operand;
    bool stored = path && !options->fetch && store_named(path);
    struct str found = { 0 }, name = { 0 };
    struct stat st;
    str_add_escaped(&name, path ? operand : "(standard input)", strlen(path ? operand : "(standard input)"));
    *m = (struct model){ .catalog = catalog_new(options->limits, err), .name = name.p, .nfiles = 1,
        .how = { .limits = options->limits, .root = options->root,
            .no_verify = options->no_verify, .state = options->state, .hf = options->hf, .allowed = options->allowed,
            .nallowed = options->nallowed },
        .strict = options->strict, .no_spool = options->no_spool, .twice = options->twice, .meter = options->meter,
        .inputs.fetch = options->fetch };
    meter_phase(m->meter, "reading the header", METER_UNKNOWN);
    bool ok = m->catalog && (!name.failed || err_memory(err, name.room))
        && (!stored || store_resolve(&found, path, &m->inputs, m->catalog, err));
    if (stored)
        path = m->stored = found.p;
    if (ok && options->fetch && !path)
        ok = err_set(err, ERR_USAGE, "--fetch requires a FILE argument, which the command reads as $AMN_FILE");
    bool there = ok && path && !options->fetch && stat(path, &st) == 0, absent = ok && path && !options->fetch && !there;
    if (absent && !err_absent(errno))
        ok = err_sys(err, ERR_OPEN, errno, "%s", "");
    else if (absent && !stored && store_is_like(path))
        ok = err_set(err, ERR_OPEN, "no such file or directory; a model in a local store is hf:%s or ollama:%s", m->name, m->name);
    else if (there && (S_ISDIR(st.st_mode) || m->inputs.bundle.path))
        ok = open_directory(m, path, options, err);
    else if (ok && options->fetch && model_is_fetched_directory(path))
        ok = open_fetched_directory(m, path, options, err);
    else if (ok && !open_file(m, path, !stored, err))
        ok = path && !options->fetch && find_archive(m, path, err) && open_archive(m, path, options, err);
    else
        ok = ok && add_configs(m, path, options, err)
            && (!path || !str_ends(path, ".index.json") || keep_folder(m, path, folder_len(path), err));
    ok = ok && (!options->warns || options->fetch || !m->folder || configs_warn(m->catalog, m->folder, err));
    if (!ok && options->fetch && path && !model_is_fetched_directory(path))
        tell_slash(m, path, err);
    return ok || err_in_file(err, str_or(m->name, ""));
}

void
model_clear(struct model *m)
{
    for (uint32_t i = 0; i < m->nsrc + m->nmore; i++)
        source_close(m->src[i]);
    free(m->src);
    sharded_free(m->sharded);
    inputs_clear(&m->inputs);
    catalog_free(m->catalog);
    free(m->name);
    free(m->folder);
    free(m->stored);
    *m = (struct model){ 0 };
}

bool
model_join(struct model *m, struct model *other, uint32_t *first, struct err *err)
{
    size_t size = ((size_t)m->nsrc + m->nmore + other->nsrc) * sizeof *m->src;
    struct source **src = realloc(m->src, size);
    if (!src)
        return err_memory(err, size);
    m->src = src;
    *first = m->nsrc + m->nmore;
    memcpy(src + *first, other->src, other->nsrc * sizeof *src);
    m->nmore += other->nsrc;
    other->nsrc = 0;
    for (size_t i = 0; i < other->inputs.n; i++)
        if (!inputs_add(&m->inputs, other->inputs.item[i].dev, other->inputs.item[i].ino, other->inputs.item[i].name, err))
            return false;
    return true;
}

bool
model_has_hf_names(const struct model *m)
{
    return m->sharded && sharded_has_hf_names(m->sharded);
}

bool
model_finish(const struct model *m, struct err *err)
{
    return m->nsrc != 1 || source_finish(m->src[0], model_end(m), m->container->tail_ok, err);
}

const char **
model_files(const struct model *m, struct err *err)
{
    size_t n = (size_t)m->nsrc + m->nmore;
    const char **files = calloc(n, sizeof *files);
    if (!files) {
        err_memory(err, n * sizeof *files);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        files[i] = source_name(m->src[i]);
    return files;
}

bool
model_unchanged(const struct model *m, struct err *err)
{
    for (uint32_t i = 0; i < m->nsrc + m->nmore; i++)
        if (!source_unchanged(m->src[i], err))
            return false;
    return true;
}

bool
model_check_overwrite(const struct model *m, struct err *err)
{
    struct stat st;
    return fstat(STDOUT_FILENO, &st) != 0 || inputs_check(&m->inputs, st.st_dev, st.st_ino, err);
}

/* An empty output file cannot lose anything, so the usual case, output into a new file, opens no operand twice. */
bool
model_list_check_overwrite(char *const *operands, size_t n, const struct model_options *options, struct err *err)
{
    struct stat out, st;
    bool ok = true;
    if (n < 2 || fstat(STDOUT_FILENO, &out) != 0 || !S_ISREG(out.st_mode) || out.st_size == 0)
        return true;
    for (size_t i = 0; ok && i < n; i++) {
        struct model m = { 0 };
        struct err ignored;
        err_init(&ignored);
        if (strcmp(operands[i], "-") == 0)
            ok = fstat(STDIN_FILENO, &st) != 0 || inputs_add(&m.inputs, st.st_dev, st.st_ino, "(standard input)", err);
        else if (stat(operands[i], &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
            model_open(&m, operands[i], options, &ignored);
        ok = ok && model_check_overwrite(&m, err);
        model_clear(&m);
    }
    return ok;
}

bool
model_spool(struct model *m, struct err *err)
{
    bool ok = true;
    if (m->nsrc == 1)
        return source_spool(m->src[0], model_end(m), m->container->tail_ok, err);
    for (uint32_t i = 0; ok && i < m->nsrc; i++)        /* spools deflated members */
        ok = source_spool(m->src[i], SOURCE_SIZE_UNKNOWN, true, err) || err_in_file(err, source_name(m->src[i]));
    return ok;
}

/* Reads a source that is not seekable up to SOURCE_SETTLE bytes after its header, into memory. Sets *ended if it ended
 * there. */
static bool
read_past_header(struct model *m, bool *ended, struct err *err)
{
    return source_ended_by(m->src[0], catalog_facts_of(m->catalog)->header_end + SOURCE_SETTLE, ended, err);
}

bool
model_bytes(const struct model *m, const struct tensor *t, uint64_t from, void *buf, size_t n, struct err *err)
{
    return gather(m->src[t->extent.file], t, from, buf, n, err);
}

bool
model_read(struct model *m, const struct tensor *t, void *buf, struct err *err)
{
    uint64_t end = t->extent.at + t->extent.nbytes;
    bool near = m->nsrc == 1 && !t->layout && end <= catalog_facts_of(m->catalog)->header_end + SOURCE_SETTLE, ended;
    return (near ? read_past_header(m, &ended, err) : model_spool(m, err))
        && model_bytes(m, t, 0, buf, (size_t)t->extent.nbytes, err);
}

bool
model_same(bool *same, const struct model *m, const struct tensor *a, const struct tensor *b, struct err *err)
{
    enum { STEP = 1 << 20 };
    uint64_t size = a->extent.nbytes, n;
    *same = a->dtype == b->dtype && a->shape.rank == b->shape.rank && shape_same(&a->shape, &b->shape, a->shape.rank);
    if (!*same)
        return true;
    uint8_t *buf = malloc(2 * STEP);
    bool ok = buf || err_memory(err, 2 * STEP);
    for (uint64_t at = 0; ok && *same && at < size; at += n) {
        n = num_min(STEP, size - at);
        ok = model_bytes(m, a, at, buf, (size_t)n, err) && model_bytes(m, b, at, buf + STEP, (size_t)n, err);
        *same = ok && memcmp(buf, buf + STEP, (size_t)n) == 0;
    }
    free(buf);
    return ok;
}

bool
model_complete(struct model *m, struct err *err)
{
    const struct catalog_facts *f = catalog_facts_of(m->catalog);
    bool ended;
    if (f->split_count != 0)
        return err_set(err, ERR_UNSUPPORTED, "this is part %" PRIu64 " of %" PRIu64 " of a split model: "
            "give the first part (-00001-of-%05" PRIu64 ".gguf) or the directory", f->split_no + 1,
            f->split_count, f->split_count);
    if (source_seekable(m->src[0]))
        return true;
    return read_past_header(m, &ended, err) && (!ended || model_finish(m, err));
}
