/* What the stores share, and their rows. */
#ifndef MODEL_STORE_PRIV_H
#define MODEL_STORE_PRIV_H

#include "model/store.h"

/* store_resolve for a spec behind its prefix. */
typedef bool store_find(struct str *path, const char *spec, struct inputs *inputs, struct catalog *catalog, struct err *err);
store_find store_ollama, store_hf;

/* store_list() below a root that is there. */
typedef bool store_enumerate(struct names *list, const char *root, const struct limits *limits, struct err *err);
store_enumerate store_ollama_list, store_hf_list;

/* Where a store may be: `below` the value of a variable, if that is set and not empty. */
struct store_place {
    const char *variable, *below;
};
enum { STORE_PLACES = 5 };
extern const struct store_place store_ollama_places[STORE_PLACES], store_hf_places[STORE_PLACES];   /* up to a NULL */
bool store_root(struct str *root, const struct store_place places[STORE_PLACES], struct err *err);

/* Whether p[0..n) is 1..max of A-Z a-z 0-9 _ - . without two dots in a row: a part of a path, and not `..`. */
bool store_is_part(const char *p, size_t n, size_t max);

/* Exactly n hexadecimal digits, copied to hex[n + 1] in lower case; false for anything else. */
bool store_hex(char *hex, const char *p, size_t n);

/* stat() or lstat() of the path returned `failed`: whether something is there. ERR_OPEN when that cannot be told. */
bool store_there(int failed, const char *path, struct err *err);

/* True when something can be found at the path; else ERR_OPEN that says so, and how to `get` the model. */
bool store_has(const struct str *path, const char *get, struct err *err);

/* True unless an append to the text failed. */
bool store_built(const struct str *text, struct err *err);

#endif
