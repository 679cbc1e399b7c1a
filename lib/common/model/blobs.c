#include "model/blobs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/folder.h"
#include "base/names.h"
#include "model/store_priv.h"
#include "source/small_file.h"

enum { FOLDERS_DEEP = 16, METADATA_MAX = 1 << 12 };

static const char local_cache[] = ".cache/huggingface/download", metadata_end[] = ".metadata";

/* Called for each file below a folder, with its path after the folder's. */
typedef bool blobs_visit(struct blobs *b, const char *dir, const char *name, struct err *err);

bool
blobs_add(struct blobs *b, const char *name, const char *path, const char *text, size_t n, struct err *err)
{
    struct blob blob = { 0 };
    if ((n != BLOB_SHA1 && n != BLOB_SHA256) || !store_hex(blob.digest, text, n)) {
        b->unnamed++;
        b->first = b->first ? b->first : strdup(name);
        return b->first || err_memory(err, strlen(name));
    }
    struct blob *list = array_grow(b->list, b->n, &b->room, sizeof *list, err);
    if (!list)
        return false;
    b->list = list;
    blob.name = strdup(name);
    blob.path = strdup(path);
    list[b->n++] = blob;
    return (blob.name && blob.path) || err_memory(err, strlen(path));
}

void
blobs_clear(struct blobs *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free(b->list[i].name);
        free(b->list[i].path);
    }
    free(b->list);
    free(b->first);
    *b = (struct blobs){ 0 };
}

/* --- folders */

static bool
is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool
list_names(struct names *names, const char *dir, struct err *err)
{
    char shown[STR_SHOWN];
    DIR *d = opendir(dir);
    if (!d)
        return err_sys(err, ERR_OPEN, errno, "%s", str_shown(shown, dir, strlen(dir)));
    const char *name;
    bool ok = true;
    while (ok && (name = folder_next(d, err)) != NULL)
        ok = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || names_add(names, name, strlen(name), err);
    closedir(d);
    names_sort(names);
    return ok && err->kind == ERR_NONE;
}

/* Visits the files below dir/below, in order. Folders that links lead to are files here. */
static bool
walk(struct blobs *b, const char *dir, const char *below, unsigned deep, blobs_visit *visit, struct err *err)
{
    struct names names = { 0 };
    struct stat st;
    char *here = *below ? folder_path(dir, strlen(dir), below, err) : strdup(dir);
    bool ok = here && list_names(&names, here, err);
    for (size_t i = 0; ok && i < names.n; i++) {
        char *name = *below ? folder_path(below, strlen(below), names.name[i], err) : strdup(names.name[i]);
        char *path = name ? folder_path(dir, strlen(dir), name, err) : NULL;
        ok = path && lstat(path, &st) == 0;
        if (ok && S_ISDIR(st.st_mode))
            ok = deep == 0 || walk(b, dir, name, deep - 1, visit, err);
        else if (ok)
            ok = visit(b, dir, name, err);
        free(name);
        free(path);
    }
    names_clear(&names);
    free(here);
    return ok || err_sys(err, ERR_OPEN, errno, "%s", "cannot list the directory");
}

/* Adds a file that a link in a snapshot names: the last part of its target is the digest. */
static bool
add_link(struct blobs *b, const char *dir, const char *name, struct err *err)
{
    char target[PATH_MAX];
    char *path = folder_path(dir, strlen(dir), name, err);
    ssize_t n = path ? readlink(path, target, sizeof target - 1) : -1;
    target[n > 0 ? n : 0] = '\0';
    const char *digest = folder_name(target);
    bool ok = path && blobs_add(b, name, path, digest, strlen(digest), err);
    free(path);
    return ok;
}

/* Adds a blob by its own name. */
static bool
add_blob(struct blobs *b, const char *dir, const char *name, struct err *err)
{
    static const char head[] = "sha256-";
    const char *digest = str_begins(name, head) ? name + sizeof head - 1 : name;
    char *path = folder_path(dir, strlen(dir), name, err);
    bool ok = path && blobs_add(b, name, path, digest, strlen(digest), err);
    free(path);
    return ok;
}

static size_t
line_length(const char *p, const char *end)
{
    const char *q = p;
    while (q < end && *q != '\n' && *q != '\r')
        q++;
    return (size_t)(q - p);
}

/* Adds the file that dir/.cache/huggingface/download/FILE.metadata is about. */
static bool
add_metadata(struct blobs *b, const char *cache, const char *name, struct err *err)
{
    struct budget budget = { .limits = limits_default };
    struct inputs inputs = { 0 };
    struct source *src = NULL;
    const char *text;
    size_t n, len = strlen(name), end = sizeof metadata_end - 1, top = strlen(cache) - strlen(local_cache);
    if (len <= end || !str_ends(name, metadata_end))
        return true;
    char *file = folder_path(cache, strlen(cache), name, err), *plain = strndup(name, len - end);
    char *path = plain ? folder_path(cache, top > 1 ? top - 1 : top, plain, err) : NULL;
    bool ok = file && path && small_file_open(&src, file, false, METADATA_MAX, &budget, "bytes of metadata", &text, &n, &inputs,
        err);
    if (ok) {
        const char *line = memchr(text, '\n', n), *stop = text + n;
        line = line ? line + 1 : stop;
        ok = blobs_add(b, plain, path, line, line_length(line, stop), err);
    }
    source_close(src);
    inputs_clear(&inputs);
    free(file);
    free(plain);
    free(path);
    return ok;
}

/* --- lists of sha256sum */

/* Sets digest and name of a line, "DIGEST  NAME", "DIGEST *NAME" or "SHA256 (NAME) = DIGEST". */
static bool
cut_line(const char **digest, const char **name, size_t *name_len, const char *p, size_t n)
{
    static const char head[] = "SHA256 (", tail[] = ") = ";
    size_t end = sizeof tail - 1 + BLOB_SHA256;
    if (n > BLOB_SHA256 + 2 && p[BLOB_SHA256] == ' ' && (p[BLOB_SHA256 + 1] == ' ' || p[BLOB_SHA256 + 1] == '*')) {
        *digest = p;
        *name = p + BLOB_SHA256 + 2;
        *name_len = n - BLOB_SHA256 - 2;
        return true;
    }
    *digest = p + n - BLOB_SHA256;
    *name = p + sizeof head - 1;
    *name_len = n - end - (sizeof head - 1);
    return n > end + sizeof head && memcmp(p, head, sizeof head - 1) == 0 && memcmp(p + n - end, tail, sizeof tail - 1) == 0;
}

/* Adds a file of a list: its path in the directory if it exists there, otherwise its own. */
static bool
add_listed(struct blobs *b, const char *name, const char *digest, const char *operand, struct err *err)
{
    const bool in_folder = operand && is_directory(operand);
    if (operand && !in_folder && strcmp(folder_name(operand), folder_name(name)) != 0)
        return true;
    char *path = in_folder ? folder_path(operand, strlen(operand), name, err) : strdup(operand ? operand : name);
    const bool beside = path && in_folder && access(path, F_OK) != 0 && access(name, F_OK) == 0;
    bool ok = (path || err_memory(err, strlen(name))) && blobs_add(b, name, beside ? name : path, digest, BLOB_SHA256, err);
    free(path);
    return ok;
}

bool
blobs_read(struct blobs *b, const char *text, size_t n, const char *operand, struct err *err)
{
    const char *digest, *name, *stop = text + n;
    char shown[STR_SHOWN], lower[BLOB_SHA256 + 1];
    size_t len, name_len;
    for (unsigned long number = 1; text < stop; number++, text += len + 1) {
        const char *end = memchr(text, '\n', (size_t)(stop - text));
        len = (size_t)((end ? end : stop) - text);
        const bool escaped = *text == '\\';
        size_t bytes = len - (len != 0 && text[len - 1] == '\r') - escaped;
        if (len == 0)
            continue;
        if (!cut_line(&digest, &name, &name_len, text + escaped, bytes) || !store_hex(lower, digest, BLOB_SHA256))
            return err_set(err, ERR_MALFORMED, "line %lu is not a line of sha256sum", number);
        char *plain = str_unescaped(name, name_len, escaped);
        bool ok = plain ? add_listed(b, plain, lower, operand, err) : err_memory(err, name_len);
        free(plain);
        if (!ok)
            return false;
    }
    return b->n != 0 || !operand || err_set(err, ERR_USAGE, "the list has no line about %s: give a file or directory that it "
        "names", str_shown(shown, operand, strlen(operand)));
}

/* --- operands */

static bool
has_folder(const char *dir, const char *name)
{
    struct err ignored;
    err_init(&ignored);
    char *path = folder_path(dir, strlen(dir), name, &ignored);
    bool has = path && is_directory(path);
    free(path);
    return has;
}

/* Walks a folder of a directory. */
static bool
walk_in(struct blobs *b, const char *dir, const char *folder, blobs_visit *visit, struct err *err)
{
    char *path = folder_path(dir, strlen(dir), folder, err);
    bool ok = path && walk(b, path, "", FOLDERS_DEEP, visit, err);
    free(path);
    return ok;
}

static bool
find_in_folder(struct blobs *b, const char *dir, struct err *err)
{
    if (has_folder(dir, local_cache))
        return walk_in(b, dir, local_cache, add_metadata, err);
    if (has_folder(dir, "blobs") && (has_folder(dir, "snapshots") || has_folder(dir, "manifests")))
        return walk_in(b, dir, "blobs", add_blob, err);
    return walk(b, dir, "", FOLDERS_DEEP, add_link, err);
}

/* Finds the file or the snapshot of hf:NAME. */
static bool
find_in_hub(struct blobs *b, const char *operand, const struct limits *limits, struct err *err)
{
    struct str path = { 0 };
    struct inputs inputs = { 0 };
    struct catalog *catalog = catalog_new(limits, err);
    bool ok = catalog && store_resolve(&path, operand, &inputs, catalog, err);
    if (ok && is_directory(path.p)) {
        ok = find_in_folder(b, path.p, err);
    } else if (ok) {
        size_t n = folder_len(path.p);
        char *dir = strndup(path.p, n);
        ok = (dir || err_memory(err, n)) && add_link(b, dir, folder_name(path.p), err);
        free(dir);
    }
    inputs_clear(&inputs);
    catalog_free(catalog);
    str_clear(&path);
    return ok;
}

bool
blobs_possible(const char *operand)
{
    return store_named(operand) || is_directory(operand);
}

bool
blobs_find(struct blobs *b, const char *operand, const struct limits *limits, struct err *err)
{
    static const char ollama[] = "ollama:";
    char shown[STR_SHOWN];
    bool ok = true;
    if (str_begins(operand, ollama))
        ok = store_ollama_blobs(b, operand + sizeof ollama - 1, limits, err);
    else if (store_named(operand))
        ok = find_in_hub(b, operand, limits, err);
    else if (is_directory(operand))
        ok = find_in_folder(b, operand, err);
    str_shown(shown, operand, strlen(operand));
    if (ok && b->n == 0)
        ok = err_set(err, ERR_USAGE, "%s is not of a store that names its files by digests, so a manifest comes first: "
            "amn check MANIFEST %s", shown, shown);
    return ok;
}
