#include "model/configs.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/names.h"
#include "base/pull.h"
#include "base/str.h"
#include "model/candidates.h"
#include "base/folder.h"
#include "container/foreign.h"
#include "model/index.h"
#include "source/small_file.h"

/* Parses a '-' and exactly five digits at the end of the first *n bytes of a name, and removes them from *n. */
static bool
ends_in_number(const char *name, size_t *n, uint64_t *number)
{
    char digits[6] = "";
    if (*n < sizeof digits || name[*n - sizeof digits] != '-')
        return false;
    memcpy(digits, name + *n - 5, 5);
    *n -= sizeof digits;
    return str_to_u64(number, digits);
}

bool
configs_part(struct configs_part *part, const char *name, const char *suffix)
{
    part->suffix = suffix;
    part->stem = strlen(name) - (str_ends(name, suffix) ? strlen(suffix) : 0);
    if (!ends_in_number(name, &part->stem, &part->count) || part->stem < 3
        || memcmp(name + part->stem - 3, "-of", 3) != 0)
        return false;
    part->stem -= 3;
    return ends_in_number(name, &part->stem, &part->number);
}

bool
configs_shard(struct configs_part *part, const char *name)
{
    static const char *const suffixes[] = { ".safetensors", ".bin" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (str_ends(name, suffixes[i]))
            return configs_part(part, name, suffixes[i]);
    return false;
}

void
configs_part_name(struct str *out, const char *name, const struct configs_part *part, uint64_t i)
{
    str_add(out, name, part->stem);
    if (i == 0)
        str_format(out, "%s.index.json", part->suffix);
    else
        str_format(out, "-%05" PRIu64 "-of-%05" PRIu64 "%s", i, part->count, part->suffix);
}

/* --- configs ------------------------------------------------------------------------------------------- */

bool
configs_read_config(struct catalog *catalog, const char *path, bool pipe_ok, struct inputs *inputs, struct err *err)
{
    struct source *src = NULL;
    struct catalog_config config;
    config.name = folder_name(path);
    bool ok = small_file_open(&src, path, pipe_ok, SMALL_FILE_MAX, catalog_budget(catalog), "config.json bytes", &config.text,
            &config.n, inputs, err)
        && (foreign_check_pointer((const uint8_t *)config.text, config.n, err) || err_in_file(err, source_name(src)))
        && catalog_add_config(catalog, &config, err);
    source_close(src);
    return ok;
}

/* Adds ModelSlim's description, whose name varies. Of several, the first in the order of names. */
static bool
read_description(struct catalog *catalog, const char *dir, size_t n, struct inputs *inputs, struct err *err)
{
    struct names found = { 0 };
    char *folder;
    if (n != 0)
        folder = strndup(dir, n);
    else
        folder = strdup(".");
    DIR *d = NULL;
    if (folder)
        d = opendir(folder);
    const char *name;
    bool ok = true;
    if (!folder)
        ok = err_memory(err, n);
    while (ok && d && (name = folder_next(d, err)) != NULL)
        ok = !str_begins(name, CATALOG_DESCRIPTION) || !str_ends(name, ".json")
            || names_add(&found, name, strlen(name), err);
    names_sort(&found);
    char *path = NULL;
    if (ok && found.n != 0)
        path = folder_path(dir, n, found.name[0], err);
    ok = ok && err->kind == ERR_NONE && (!path || configs_read_config(catalog, path, false, inputs, err));
    free(path);
    names_clear(&found);
    if (d)
        closedir(d);
    free(folder);
    return ok;
}

bool
configs_read_configs(struct catalog *catalog, const char *dir, size_t n, struct inputs *inputs, struct err *err)
{
    /* In this order: transformers and most others; ModelOpt; SDNQ and exllamav2; AutoGPTQ; llm-awq. */
    static const char *const names[CATALOG_CONFIGS - 1] = { "config.json", "hf_quant_config.json",
        "quantization_config.json", "quantize_config.json", "quant_config.json" };
    for (size_t i = 0; i < CATALOG_CONFIGS - 1; i++) {
        char *path = folder_path(dir, n, names[i], err);
        bool there = false;
        bool ok = path && small_file_exists(&there, path, inputs, err) && (!there || configs_read_config(catalog, path, false, inputs, err));
        if (ok && !there && inputs->fetch)
            catalog_note(catalog, "%s cannot be fetched, so it counts as absent", names[i]);
        free(path);
        if (!ok)
            return false;
    }
    return inputs->fetch || read_description(catalog, dir, n, inputs, err);
}

/* Returns true if a config has a block about quantization. */
static bool
has_quantization(const struct catalog_config *config)
{
    struct pull json;
    pull_init(&json, config->text, config->n, 0);
    bool found = false;
    if (pull_next(&json) == PULL_OBJECT)
        while (!found && pull_next(&json) == PULL_KEY) {
            found = pull_text_is(&json.token, "quantization") || pull_text_is(&json.token, "quantization_config");
            if (!pull_skip(&json))
                break;
        }
    return found;
}

bool
configs_add_quantization(struct catalog *catalog, const struct str *members, struct err *err)
{
    const struct catalog_config *config = NULL;
    struct str text = { 0 };
    for (size_t i = 0; i < catalog_config_count(catalog); i++)
        if (strcmp(catalog_config_at(catalog, i)->name, "config.json") == 0)
            config = catalog_config_at(catalog, i);
    const char *brace = config ? memchr(config->text, '{', config->n) : NULL;
    if (config && (!brace || has_quantization(config)))
        return true;
    str_format(&text, "{\n  \"quantization\": {%s}", members->p);
    size_t used = config ? (size_t)(brace + 1 - config->text) : 0;
    while (config && used < config->n && isspace((unsigned char)config->text[used]))
        used++;
    if (config)
        str_text(&text, used < config->n && config->text[used] == '}' ? "\n" : ",\n  ");
    str_add(&text, config ? config->text + used : "\n}\n", config ? config->n - used : 3);
    const struct catalog_config made = { .name = "config.json", .text = str_or(text.p, ""), .n = text.len };
    bool ok = (!text.failed || err_memory(err, text.room)) && catalog_set_config(catalog, &made, err);
    str_clear(&text);
    return ok;
}

/* --- other files --------------------------------------------------------------------------------------- */

/* Returns why a file cannot be read, or NULL if it can or is a directory. */
static const char *
unreadable_why(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno == ENOENT ? "dangling symbolic link" : strerror(errno);
    if (S_ISDIR(st.st_mode))
        return NULL;
    if (!S_ISREG(st.st_mode))
        return "not a regular file";
    if (access(path, R_OK) != 0)
        return strerror(errno);
    return NULL;
}

bool
configs_warn(struct catalog *catalog, const char *dir, struct err *err)
{
    struct names bad = { 0 };
    const char *name;
    char shown[STR_SHOWN];
    DIR *d = opendir(dir);
    bool ok = d || errno == ENOTDIR || err_sys(err, ERR_OPEN, errno, "cannot list the directory");      /* a bundle */
    while (ok && d && (name = folder_next(d, err)) != NULL) {
        char *path = NULL;
        if (*name != '.' && !candidates_is_model(name))
            path = folder_path(dir, strlen(dir), name, err);
        ok = !path || !unreadable_why(path) || names_add(&bad, name, strlen(name), err);
        free(path);
    }
    names_sort(&bad);
    char *first = NULL;
    if (bad.n != 0)
        first = folder_path(dir, strlen(dir), bad.name[0], err);
    const char *fault = NULL;
    if (first)
        fault = unreadable_why(first);
    if (fault && bad.n > 1)
        catalog_warn(catalog, "%zu unreadable files, first %s: %s", bad.n,
            str_shown(shown, bad.name[0], strlen(bad.name[0])), fault);
    else if (fault)
        catalog_warn(catalog, "cannot read %s: %s", str_shown(shown, bad.name[0], strlen(bad.name[0])), fault);
    free(first);
    names_clear(&bad);
    if (d)
        closedir(d);
    return ok && err->kind == ERR_NONE;
}

/* --- shards -------------------------------------------------------------------------------------------- */

/* Records the name of the index that lists the shard, and its number of shards. */
static bool
note_index(struct catalog *catalog, const char *name, uint64_t shards, struct err *err)
{
    char shown[STR_SHOWN];
    size_t n = strlen(str_shown(shown, name, strlen(name)));
    char *copy = catalog_alloc(catalog, n + 1, err);
    if (!copy)
        return false;
    catalog_facts(catalog)->index = memcpy(copy, shown, n + 1);
    catalog_facts(catalog)->shards = shards;
    return true;
}

/* Returns true if the index at `path` lists the file and at least one other, and sets *shards to their number. */
static bool
index_lists(const char *path, const char *file, struct budget *budget, struct inputs *inputs, uint64_t *shards)
{
    struct source *src = NULL;
    struct index index = { 0 };
    struct err ignored;
    const char *text;
    size_t n;
    bool found = false;
    err_init(&ignored);
    if (small_file_open(&src, path, false, INDEX_FILE_MAX, budget, "index bytes", &text, &n, inputs, &ignored)
        && index_read(&index, text, n, budget, &ignored))
        for (size_t i = 0; i < index.nshards; i++)
            found = found || strcmp(index.shard[i], file) == 0;
    *shards = index.nshards;
    index_clear(&index);
    source_close(src);
    return found && *shards > 1;
}

/* Returns the name of a file without a compression suffix. The caller frees it. */
static char *
plain_name(const char *path, struct err *err)
{
    static const char *const endings[] = { ".gz", ".zst", ".xz" };
    const char *name = folder_name(path);
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_ends(name, endings[i])) {
            n -= strlen(endings[i]);
            break;
        }
    char *plain = strndup(name, n);
    if (!plain)
        err_memory(err, n);
    return plain;
}

/* Records that `file` is a single shard, if so. path[0..folder) is its directory. */
static bool
note_shard(struct catalog *catalog, const char *file, const char *path, size_t folder, struct inputs *inputs,
    struct err *err)
{
    const char *name;
    struct configs_part part;
    uint64_t shards;
    if (configs_shard(&part, file) && part.count > 1)
        catalog_facts(catalog)->shards = part.count;
    char *dir;
    if (folder)
        dir = strndup(path, folder);
    else
        dir = strdup(".");
    if (!dir)
        return err_memory(err, folder);
    struct bundle_list l;
    bool listed = bundle_list_open(&l, dir, inputs);
    bool ok = listed || errno == EACCES || err_sys(err, ERR_OPEN, errno, "cannot list its directory");
    while (ok && listed && (name = bundle_list_next(&l, err)) != NULL) {
        if (!(str_ends(name, ".safetensors.index.json") || str_ends(name, ".bin.index.json")) || catalog_facts(catalog)->index)
            continue;
        char *index = folder_path(dir, strlen(dir), name, err);
        ok = index && (!index_lists(index, file, catalog_budget(catalog), inputs, &shards)
            || note_index(catalog, name, shards, err));
        free(index);
    }
    bundle_list_close(&l);
    free(dir);
    return ok && err->kind == ERR_NONE;
}

bool
configs_note_shard(struct catalog *catalog, const char *path, struct inputs *inputs, struct err *err)
{
    char *file = plain_name(path, err);
    bool ok = file && note_shard(catalog, file, path, folder_len(path), inputs, err);
    free(file);
    return ok;
}
