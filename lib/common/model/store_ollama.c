/* Ollama's model store.
 *
 *      ROOT/manifests/HOST/NAMESPACE/MODEL/TAG     { "layers": [ { "mediaType", "digest": "sha256:HEX", "size" } ] }
 *      ROOT/blobs/sha256-HEX                       a layer; the model layer is a GGUF file, or there is one layer for each tensor,
 *                                                  and one for each JSON file, with a "name"
 *
 * Ollama compares the parts of a name without regard to ASCII case. It verifies the hash of a blob when it pulls it, so this
 * file only lists the blobs, for command/check_blobs.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/tree.h"
#include "base/folder.h"
#include "source/small_file.h"
#include "model/store_priv.h"

enum { HOST, NAMESPACE, MODEL, TAG, PARTS };
enum { PART_MAX = 128, MANIFEST_MAX = 1 << 20, HEX = 64 };

const struct store_place store_ollama_places[STORE_PLACES] = { { "OLLAMA_MODELS", "" }, { "HOME", "/.ollama/models" } };

#define TENSOR "application/vnd.ollama.image.tensor"

static const char digest_head[] = "sha256:";

struct ollama_name {
    char part[PARTS][PART_MAX + 1];     /* HOST is empty if it was omitted */
};

/* --- the name ------------------------------------------------------------------------------------------ */

static bool
set_part(struct ollama_name *name, int i, const char *p, size_t n, struct err *err)
{
    static const char *const words[PARTS] = { "HOST", "NAMESPACE", "MODEL", "TAG" };
    char shown[STR_SHOWN];
    if (!store_is_part(p, n, PART_MAX) || (i == NAMESPACE && memchr(p, '.', n)))
        return err_set(err, ERR_USAGE, "invalid %s '%s', expected ollama:[HOST/][NAMESPACE/]MODEL[:TAG]",
            words[i], str_shown(shown, p, n));
    memcpy(name->part[i], p, n);
    name->part[i][n] = '\0';
    return true;
}

static bool
name_parse(struct ollama_name *name, const char *spec, struct err *err)
{
    *name = (struct ollama_name){ .part = { [NAMESPACE] = "library", [TAG] = "latest" } };
    const char *end = spec + strcspn(spec, ":");
    if (*end && !set_part(name, TAG, end + 1, strlen(end + 1), err))
        return false;
    for (int i = MODEL;; i--) {         /* from right to left: leading parts are optional */
        const char *p = end;
        while (p > spec && p[-1] != '/')
            p--;
        if (i < HOST)
            return err_set(err, ERR_USAGE,
                "too many parts in the name: expected ollama:[HOST/][NAMESPACE/]MODEL[:TAG]");
        if (!set_part(name, i, p, (size_t)(end - p), err))
            return false;
        if (p == spec)
            return true;
        end = p - 1;
    }
}

/* --- its manifest -------------------------------------------------------------------------------------- */

/* Opens a folder of the store. Sets *d to NULL if it does not exist or is not a folder. */
static bool
open_folder(DIR **d, const struct str *dir, struct err *err)
{
    char shown[STR_SHOWN];
    *d = opendir(dir->p);
    return *d || err_absent(errno) || err_sys(err, ERR_OPEN, errno, "%s",
        str_shown(shown, dir->p, dir->len));
}

/* Sets an omitted HOST to the only directory in dir that has a library/ folder. */
static bool
find_host(struct ollama_name *name, const struct str *dir, const char *get, struct err *err)
{
    char *host = name->part[HOST];
    DIR *d;
    const char *entry;
    char shown[STR_SHOWN];
    bool ok = open_folder(&d, dir, err);
    while (d && ok && (entry = folder_next(d, err)) != NULL) {
        struct str library = { 0 };
        struct stat st;
        str_format(&library, "%s/%s/library", dir->p, entry);
        bool exists = false;
        ok = store_check_text(&library, err) && (!store_is_part(entry, strlen(entry), PART_MAX)
            || store_exists(&exists, stat(library.p, &st), library.p, err));
        bool holds = exists && S_ISDIR(st.st_mode);
        str_clear(&library);
        if (holds && *host)
            ok = err_set(err, ERR_USAGE, "both %s and %s have a library/ folder: give the HOST, too, as "
                "in ollama:%s/%s/%s", host, entry, host, name->part[NAMESPACE], name->part[MODEL]);
        else if (holds)
            memcpy(host, entry, strlen(entry) + 1);
    }
    if (d)
        closedir(d);
    return ok && err->kind == ERR_NONE && (*host || err_set(err, ERR_OPEN,
        "%s: no host with a library/ folder; download the model with: %s", str_shown(shown, dir->p, dir->len), get));
}

/* Searches dir for paths that match the name from part i on, ignoring ASCII case. Appends the first to *found; a second is
 * ERR_USAGE. Recurses at most PARTS levels. */
static bool
store_ollama_search(struct str *found, struct str *dir, const struct ollama_name *name, int i, struct err *err)
{
    if (i == PARTS && found->len != 0) {
        char a[STR_SHOWN], b[STR_SHOWN];
        return err_set(err, ERR_USAGE, "the name matches both %s and %s: give the exact name",
            str_shown(a, found->p, found->len), str_shown(b, dir->p, dir->len));
    }
    if (i == PARTS) {
        str_add(found, dir->p, dir->len);
        return store_check_text(found, err);
    }
    DIR *d;
    const char *entry;
    size_t len = dir->len;
    bool ok = open_folder(&d, dir, err);
    while (d && ok && (entry = folder_next(d, err)) != NULL) {
        if (strcasecmp(entry, name->part[i]) != 0)
            continue;
        str_format(dir, "/%s", entry);
        ok = store_check_text(dir, err) && store_ollama_search(found, dir, name, i + 1, err);
        dir->len = len;
        dir->p[len] = '\0';
    }
    if (d)
        closedir(d);
    return ok && err->kind == ERR_NONE;
}

/* Finds the manifest's path: with the name as given, or else in another case. */
static bool
find_manifest(struct str *path, struct ollama_name *name, const char *root, const char *get, struct err *err)
{
    struct str dir = { 0 };
    struct stat st;
    bool exists;
    str_format(&dir, "%s/manifests", root);
    bool ok = store_require(&dir, get, err) && (name->part[HOST][0] || find_host(name, &dir, get, err));
    if (ok) {
        str_format(path, "%s/%s/%s/%s/%s", dir.p, name->part[HOST], name->part[NAMESPACE], name->part[MODEL],
            name->part[TAG]);
        ok = store_check_text(path, err) && store_exists(&exists, lstat(path->p, &st), path->p, err);
    }
    if (ok && !exists) {
        struct str other = { 0 };
        ok = store_ollama_search(&other, &dir, name, HOST, err);
        if (ok && other.len != 0) {
            path->len = 0;
            str_add(path, other.p, other.len);
        }
        str_clear(&other);
    }
    str_clear(&dir);
    return ok && store_require(path, get, err);
}

/* --- its layers ---------------------------------------------------------------------------------------- */

/* Appends the blob path of a layer, ROOT/blobs/sha256-HEX. */
static bool
blob_path(struct str *path, const char *root, const json_t *layer, struct err *err)
{
    const json_t *digest = json_object_get(layer, "digest");
    const char *text = json_string_value(digest);
    size_t head = sizeof digest_head - 1;
    char hex[HEX + 1], shown[STR_SHOWN];
    if (!text)
        return err_set(err, ERR_MALFORMED, "the digest of the model layer is not a string");
    if (json_string_length(digest) != head + HEX || memcmp(text, digest_head, head) != 0
        || !store_hex(hex, text + head, HEX))
        return err_set(err, ERR_MALFORMED, "the digest of the model layer is '%s', expected %s followed "
            "by %d hexadecimal digits", str_shown(shown, text, json_string_length(digest)), digest_head, HEX);
    str_format(path, "%s/blobs/sha256-%s", root, hex);
    return store_check_text(path, err);
}

/* Notes a layer that is a separate model to be used with this one. An invalid digest is not an error here. */
static void
note_other(struct catalog *catalog, const char *what, const char *root, const json_t *layer, struct err *err)
{
    struct str path = { 0 };
    struct err why;
    char shown[STR_SHOWN];
    err_init(&why);
    if (blob_path(&path, root, layer, &why))
        catalog_note(catalog, "the model also has %s, in a separate file: %s", what,
            str_shown(shown, path.p, path.len));
    else if (why.kind == ERR_MEMORY)
        *err = why;
    str_clear(&path);
}

/* Notes the layers that are neither models nor read, in one line: "template, params, license". */
static void
note_texts(struct catalog *catalog, const json_t *layers)
{
    static const char head[] = "application/vnd.ollama.image.";
    static const char *const opened[] = { "model", "projector", "adapter" };
    struct str list = { 0 };
    for (size_t i = 0; i < json_array_size(layers) && list.len < 1024; i++) {
        const char *type = json_string_value(json_object_get(json_array_get(layers, i), "mediaType"));
        const char *word = type;
        if (type && str_begins(type, head))
            word = type + sizeof head - 1;
        bool known = !word;
        for (size_t k = 0; k < sizeof opened / sizeof *opened && !known; k++)
            known = strcmp(word, opened[k]) == 0;
        if (known)
            continue;
        char shown[STR_SHOWN];
        str_format(&list, "%s%s", list.len != 0 ? ", " : "", str_shown(shown, word, strlen(word)));
    }
    if (list.len != 0 && !list.failed)
        catalog_note(catalog, "the manifest has other layers that are not part of the output: %s", list.p);
    str_clear(&list);
}

/* Returns the one layer that holds the model, borrowed from the manifest, or NULL on failure. */
static const json_t *
model_layer(const json_t *manifest, struct catalog *catalog, const char *root, struct err *err)
{
    const json_t *layers = json_object_get(manifest, "layers"), *model = NULL;
    if (!json_is_array(layers)) {
        err_set(err, ERR_MALFORMED, "the manifest has no array of layers");
        return NULL;
    }
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const json_t *layer = json_array_get(layers, i);
        const char *type = json_string_value(json_object_get(layer, "mediaType"));
        bool is_model = type && strcmp(type, "application/vnd.ollama.image.model") == 0;
        if (!type)
            err_set(err, ERR_MALFORMED, "layer %zu of the manifest has no mediaType", i);
        else if (is_model && model)
            err_set(err, ERR_UNSUPPORTED, "the manifest has more than one model layer");
        else if (strcmp(type, "application/vnd.ollama.image.projector") == 0)
            note_other(catalog, "a projector", root, layer, err);
        else if (strcmp(type, "application/vnd.ollama.image.adapter") == 0)
            note_other(catalog, "an adapter", root, layer, err);
        if (err->kind != ERR_NONE)
            return NULL;
        if (is_model)
            model = layer;
    }
    if (!model)
        err_set(err, ERR_MALFORMED, "the manifest has no model layer");
    note_texts(catalog, layers);
    return model;
}

/* Checks that the blob is a GGUF file of the size that the manifest declares. */
static bool
check_blob(const char *path, const json_t *layer, struct inputs *inputs, struct err *err)
{
    struct source *src = NULL;
    const json_t *size = json_object_get(layer, "size");
    const uint8_t *head;
    uint64_t have;
    bool ok = source_open(&src, path, false, inputs, err);
    if (ok && !json_is_integer(size))
        ok = err_set(err, ERR_MALFORMED, "the model layer of the manifest has no size");
    if (ok && (json_integer_value(size) < 0 || (uint64_t)json_integer_value(size) != source_size(src)))
        ok = err_set(err, ERR_MALFORMED, "size is %" PRIu64 " bytes, but the manifest declares %"
            JSON_INTEGER_FORMAT, source_size(src), json_integer_value(size));
    ok = ok && source_head(src, 4, &head, &have, err)
        && (str_prefixed(head, have, "GGUF")
            || err_at(err, ERR_MALFORMED, 0, "the model layer is not a GGUF file: it does not begin with 'GGUF'"));
    if (!ok && src)
        err_in_file(err, source_name(src));
    source_close(src);
    return ok;
}

/* Returns true if the manifest has layers of tensors. */
static bool
has_tensors(const json_t *layers)
{
    bool found = false;
    for (size_t i = 0; i < json_array_size(layers) && !found; i++)
        found = strcmp(str_or(json_string_value(json_object_get(json_array_get(layers, i), "mediaType")), ""), TENSOR) == 0;
    return found;
}

/* Adds a layer with a name to the bundle. Its blob must have the size that the manifest declares. */
static bool
bundle_layer(struct bundle *b, const char *root, const json_t *layer, const char *get, struct err *err)
{
    const json_t *size = json_object_get(layer, "size"), *name = json_object_get(layer, "name");
    struct bundled file = { .name = (char *)json_string_value(name), .nbytes = (uint64_t)json_integer_value(size) };
    struct str path = { 0 };
    struct stat st;
    file.tensors = strcmp(json_string_value(json_object_get(layer, "mediaType")), TENSOR) == 0;
    if (!file.name || !*file.name || strlen(file.name) != json_string_length(name))
        return err_set(err, ERR_MALFORMED, "a layer of the manifest has no name");
    if (!json_is_integer(size) || json_integer_value(size) < 0)
        return err_set(err, ERR_MALFORMED, "a layer of the manifest has no size");
    bool ok = blob_path(&path, root, layer, err) && store_require(&path, get, err);
    if (ok && stat(path.p, &st) == 0 && (uint64_t)st.st_size != file.nbytes) {
        ok = err_set(err, ERR_MALFORMED, "size is %" PRIu64 " bytes, but the manifest declares %" PRIu64, (uint64_t)st.st_size, file.nbytes);
        err_in_file(err, path.p);
    }
    file.path = path.p;
    ok = ok && bundle_add(b, &file, err);
    str_clear(&path);
    return ok;
}

/* Makes a bundle of the layers of tensors and of JSON files. */
static bool
bundle_layers(struct bundle *b, const char *path, const char *root, const json_t *layers, const char *get, struct err *err)
{
    bool ok = bundle_begin(b, path, err);
    for (size_t i = 0; ok && i < json_array_size(layers); i++) {
        const json_t *layer = json_array_get(layers, i);
        const char *type = json_string_value(json_object_get(layer, "mediaType"));
        if (type && (strcmp(type, TENSOR) == 0 || strcmp(type, "application/vnd.ollama.image.json") == 0))
            ok = bundle_layer(b, root, layer, get, err);
    }
    return ok && bundle_seal(b, err);
}

static bool
read_manifest(struct str *blob, const char *path, const char *root, const char *get, struct inputs *inputs,
    struct catalog *catalog, struct err *err)
{
    struct source *src = NULL;
    json_t *manifest = NULL;
    const json_t *layer = NULL;
    const char *text;
    size_t n;
    bool ok = small_file_open(&src, path, false, MANIFEST_MAX, catalog_budget(catalog),
        "bytes of the manifest", &text, &n, inputs, err);
    ok = ok && (tree_read(&manifest, text, n, "the manifest", err) || err_in_file(err, source_name(src)));
    bool tensors = ok && has_tensors(json_object_get(manifest, "layers"));
    if (tensors) {
        str_text(blob, path);
        ok = store_check_text(blob, err)
            && (bundle_layers(&inputs->bundle, path, root, json_object_get(manifest, "layers"), get, err) || err_in_file(err, source_name(src)));
    } else if (ok) {
        layer = model_layer(manifest, catalog, root, err);
        ok = (layer && blob_path(blob, root, layer, err)) || err_in_file(err, source_name(src));
        ok = ok && store_require(blob, get, err) && check_blob(blob->p, layer, inputs, err);
    }
    json_decref(manifest);
    source_close(src);
    return ok;
}

bool
store_ollama(struct str *path, const char *spec, struct inputs *inputs, struct catalog *catalog, struct err *err)
{
    struct ollama_name name;
    struct str root = { 0 }, manifest = { 0 }, get = { 0 };
    str_format(&get, "ollama pull %s", spec);
    bool ok = name_parse(&name, spec, err) && store_check_text(&get, err)
        && store_root(&root, store_ollama_places, err)
        && find_manifest(&manifest, &name, root.p, get.p, err)
        && read_manifest(path, manifest.p, root.p, get.p, inputs, catalog, err);
    str_clear(&root);
    str_clear(&manifest);
    str_clear(&get);
    return ok;
}

/* --- all files ----------------------------------------------------------------------------------------- */

/* Adds a layer, called by the last word of its type and the first digits of its digest. */
static bool
add_layer(struct blobs *b, const char *root, const json_t *layer, struct err *err)
{
    enum { DIGITS = 12 };
    const char *type = json_string_value(json_object_get(layer, "mediaType"));
    const char *digest = json_string_value(json_object_get(layer, "digest"));
    const char *word = type && strrchr(type, '.') ? strrchr(type, '.') + 1 : "layer";
    size_t head = sizeof digest_head - 1;
    struct str name = { 0 }, path = { 0 };
    digest = digest && strncmp(digest, digest_head, head) == 0 ? digest + head : "";
    str_format(&name, "%.*s %.*s", (int)strcspn(word, "+"), word, DIGITS, digest);
    str_format(&path, "%s/blobs/sha256-%s", root, digest);
    bool ok = store_check_text(&name, err) && store_check_text(&path, err)
        && blobs_add(b, name.p, path.p, digest, strlen(digest), err);
    str_clear(&name);
    str_clear(&path);
    return ok;
}

bool
store_ollama_blobs(struct blobs *b, const char *spec, const struct limits *limits, struct err *err)
{
    struct ollama_name name;
    struct str root = { 0 }, path = { 0 }, get = { 0 };
    struct inputs inputs = { 0 };
    struct budget budget = { .limits = *limits };
    struct source *src = NULL;
    json_t *manifest = NULL;
    const char *text;
    size_t n;
    str_format(&get, "ollama pull %s", spec);
    bool ok = name_parse(&name, spec, err) && store_check_text(&get, err) && store_root(&root, store_ollama_places, err)
        && find_manifest(&path, &name, root.p, get.p, err)
        && small_file_open(&src, path.p, false, MANIFEST_MAX, &budget, "bytes of the manifest", &text, &n, &inputs, err)
        && (tree_read(&manifest, text, n, "the manifest", err) || err_in_file(err, source_name(src)));
    const json_t *layers = json_object_get(manifest, "layers"), *config = json_object_get(manifest, "config");
    ok = ok && (!config || add_layer(b, root.p, config, err));
    for (size_t i = 0; ok && i < json_array_size(layers); i++)
        ok = add_layer(b, root.p, json_array_get(layers, i), err);
    json_decref(manifest);
    source_close(src);
    inputs_clear(&inputs);
    str_clear(&root);
    str_clear(&path);
    str_clear(&get);
    return ok;
}

/* --- listing ------------------------------------------------------------------------------------------- */

/* Adds the operand of a name, without the parts that are optional. `host` is the HOST that may be omitted. */
static bool
add_operand(struct names *list, const struct ollama_name *name, const char *host, struct err *err)
{
    struct str operand = { 0 };
    bool other = strcmp(name->part[HOST], host) != 0;
    bool space = other || strcmp(name->part[NAMESPACE], "library") != 0;
    str_text(&operand, "ollama:");
    if (other)
        str_format(&operand, "%s/", name->part[HOST]);
    if (space)
        str_format(&operand, "%s/", name->part[NAMESPACE]);
    str_format(&operand, "%s:%s", name->part[MODEL], name->part[TAG]);
    bool ok = store_check_text(&operand, err) && names_add(list, operand.p, operand.len, err);
    str_clear(&operand);
    return ok;
}

/* Lists every manifest below dir, whose entries are part i of the names. Continues after an unreadable folder, and fails at
 * the end. */
static bool
list_part(struct names *list, struct str *dir, struct ollama_name *name, int i, const char *host, struct err *err)
{
    DIR *d;
    struct stat st;
    struct err unfit;
    const char *entry;
    size_t len = dir->len;
    bool ok = open_folder(&d, dir, err);
    while (d && (entry = folder_next(d, err)) != NULL) {
        err_init(&unfit);
        if (*entry == '.' || !set_part(name, i, entry, strlen(entry), &unfit))
            continue;
        str_format(dir, "/%s", entry);
        if (!store_check_text(dir, err))
            ok = false;
        else if (i != TAG)
            ok = list_part(list, dir, name, i + 1, host, err) && ok;
        else {
            bool exists, known = store_exists(&exists, stat(dir->p, &st), dir->p, err);
            if (!exists || !S_ISDIR(st.st_mode))
                ok = add_operand(list, name, host, err) && known && ok;
        }
        dir->len = len;
        dir->p[len] = '\0';
    }
    if (d)
        closedir(d);
    return ok && err->kind == ERR_NONE;
}

bool
store_ollama_list(struct names *list, const char *root, const struct limits *limits, struct err *err)
{
    struct ollama_name name = { 0 }, any = { 0 };
    struct str dir = { 0 };
    struct err none;
    char shown[STR_SHOWN];
    (void)limits;               /* no manifest is read */
    err_init(&none);
    str_format(&dir, "%s/manifests", root);
    bool ok = store_check_text(&dir, err);
    bool host = ok && find_host(&any, &dir, "", &none);
    ok = ok && list_part(list, &dir, &name, HOST, host ? any.part[HOST] : "", err);
    if (ok && (none.kind == ERR_MEMORY || none.sys != 0)) {
        *err = none;
        ok = false;
    }
    str_clear(&dir);
    return ok || err_in_file(err, str_shown(shown, root, strlen(root)));
}
