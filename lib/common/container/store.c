#include "container/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "container/store_priv.h"

struct store {
    const char *prefix;
    store_find *find;
};

static const struct store stores[] = {
    { "ollama:", store_ollama },
    { "hf:", store_hf },
};

/* The store that the operand begins with, or NULL. */
static const struct store *
store_of(const char *operand)
{
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
        if (strncmp(operand, stores[i].prefix, strlen(stores[i].prefix)) == 0)
            return &stores[i];
    return NULL;
}

bool
store_named(const char *operand)
{
    return store_of(operand) != NULL;
}

bool
store_resolve(struct str *path, const char *operand, struct inputs *inputs, struct catalog *catalog,
    const struct limits *limits, struct err *err)
{
    const struct store *store = store_of(operand);
    if (!store)
        return err_set(err, ERR_BUG, ERR_NO_OFFSET, "the operand names no store");
    return store->find(path, operand + strlen(store->prefix), inputs, catalog, limits, err);
}

/* --- what the stores share ------------------------------------------------------------------------------- */

bool
store_root(struct str *root, const struct store_place *places, size_t nplaces, struct err *err)
{
    for (size_t i = 0; i < nplaces; i++) {
        const char *value = getenv(places[i].variable);
        if (value && *value) {
            str_format(root, "%s%s", value, places[i].below);
            return store_built(root, err);
        }
    }
    return err_set(err, ERR_OPEN, ERR_NO_OFFSET, "the store cannot be found: neither %s nor %s is set",
        places[0].variable, places[nplaces - 1].variable);
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
        hex[i] = (char)(upper ? p[i] - 'A' + 'a' : p[i]);
    }
    hex[n] = '\0';
    return true;
}

bool
store_has(const struct str *path, const char *get, struct err *err)
{
    struct stat st;
    char shown[STR_SHOWN], how[STR_SHOWN];
    if (!store_built(path, err))
        return false;
    if (stat(path->p, &st) == 0)
        return true;
    return err_set(err, ERR_OPEN, ERR_NO_OFFSET, "%s: %s; the model comes with: %s",
        str_shown(shown, path->p, path->len), strerror(errno), str_shown(how, get, strlen(get)));
}

bool
store_built(const struct str *text, struct err *err)
{
    return !text->failed || err_memory(err, text->room);
}
