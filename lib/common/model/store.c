#include "model/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/store_priv.h"

static const struct store {
    const char *word;
    const struct store_place *places;
    store_find *find;
    store_enumerate *list;
} stores[] = {
    { "hf", store_hf_places, store_hf, store_hf_list },
    { "ollama", store_ollama_places, store_ollama, store_ollama_list },
};
enum { STORES = sizeof stores / sizeof *stores };

/* Returns the store whose prefix the operand has, or NULL. */
static const struct store *
store_of(const char *operand)
{
    size_t n = strcspn(operand, ":");
    for (size_t i = 0; operand[n] && i < STORES; i++)
        if (strncmp(operand, stores[i].word, n) == 0 && stores[i].word[n] == '\0')
            return &stores[i];
    return NULL;
}

bool
store_named(const char *operand)
{
    return store_of(operand) != NULL;
}

bool
store_is_like(const char *path)
{
    static const char *const endings[] = { ".safetensors", ".gguf", ".npz", ".npy", ".pt", ".pth", ".bin", ".ckpt", ".json" };
    const char *slash = strchr(path, '/');
    if (!slash || slash == path || slash[1] == '\0' || strchr(slash + 1, '/') || strchr(path, ':') || *path == '.' || *path == '~')
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (str_ends(path, endings[i]))
            return false;
    return true;
}

bool
store_resolve(struct str *path, const char *operand, struct inputs *inputs, struct catalog *catalog, struct err *err)
{
    const struct store *store = store_of(operand);
    if (!store)
        return err_set(err, ERR_BUG, "not a store operand");
    return store->find(path, operand + strlen(store->word) + 1, inputs, catalog, err);
}

const char *
store_word(size_t i)
{
    if (i < STORES)
        return stores[i].word;
    return NULL;
}

bool
store_list(struct names *list, struct str *root, size_t i, const struct limits *limits, struct err *err)
{
    struct stat st;
    struct err nowhere;
    err_init(&nowhere);
    if (!store_root(root, stores[i].places, &nowhere)) {
        if (nowhere.kind == ERR_MEMORY)
            *err = nowhere;
        return nowhere.kind != ERR_MEMORY;
    }
    if (stat(root->p, &st) != 0 && errno == ENOENT)
        return true;
    bool ok = stores[i].list(list, root->p, limits, err);
    names_sort(list);
    return ok;
}

/* --- shared helpers ------------------------------------------------------------------------------------ */

bool
store_root(struct str *root, const struct store_place places[STORE_PLACES], struct err *err)
{
    size_t last = 0;
    for (size_t i = 0; i < STORE_PLACES && places[i].variable; i++) {
        const char *value = getenv(places[i].variable);
        last = i;
        if (value && *value) {
            str_format(root, "%s%s", value, places[i].below);
            return store_check_text(root, err);
        }
    }
    return err_set(err, ERR_OPEN, "no location for the store: neither %s nor %s is set",
        places[0].variable, places[last].variable);
}

bool
store_is_part(const char *p, size_t n, size_t max)
{
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    if (n == 0 || n > max || (n == 1 && *p == '.'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!memchr(set, p[i], sizeof set - 1) || (i != 0 && p[i] == '.' && p[i - 1] == '.'))
            return false;
    return true;
}

bool
store_hex(char *hex, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool upper = p[i] >= 'A' && p[i] <= 'F';
        if (!upper && !(p[i] >= 'a' && p[i] <= 'f') && !(p[i] >= '0' && p[i] <= '9'))
            return false;
        if (upper)
            hex[i] = (char)(p[i] - 'A' + 'a');
        else
            hex[i] = (char)p[i];
    }
    hex[n] = '\0';
    return true;
}

bool
store_exists(bool *exists, int failed, const char *path, struct err *err)
{
    char shown[STR_SHOWN];
    *exists = failed == 0;
    return *exists || err_absent(errno) || err_sys(err, ERR_OPEN, errno, "%s", str_shown(shown, path, strlen(path)));
}

bool
store_require(const struct str *path, const char *get, struct err *err)
{
    struct stat st;
    char shown[STR_SHOWN], how[STR_SHOWN];
    bool exists;
    if (!store_check_text(path, err) || !store_exists(&exists, stat(path->p, &st), path->p, err))
        return false;
    return exists || err_set(err, ERR_OPEN, "%s: %s; download the model with: %s",
        str_shown(shown, path->p, path->len), strerror(errno), str_shown(how, get, strlen(get)));
}

bool
store_check_text(const struct str *text, struct err *err)
{
    return !text->failed || err_memory(err, text->room);
}
