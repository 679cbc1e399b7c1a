/* store_priv: helpers that the stores share, and the functions of each store. */
#ifndef MODEL_STORE_PRIV_H
#define MODEL_STORE_PRIV_H

#include "model/blobs.h"
#include "model/store.h"

/* store_resolve() for a spec, which is an operand without its prefix. */
typedef bool store_find(struct str *path, const char *spec, struct inputs *inputs, struct catalog *catalog, struct err *err);
store_find store_ollama, store_hf;

/* store_list() for a root that exists. */
typedef bool store_enumerate(struct names *list, const char *root, const struct limits *limits, struct err *err);
store_enumerate store_ollama_list, store_hf_list;

/* blobs_find() for a spec. */
bool store_ollama_blobs(struct blobs *b, const char *spec, const struct limits *limits, struct err *err);

/* A candidate location of a store: the value of a variable, if it is set and not empty, followed by `below`. */
struct store_place {
    const char *variable, *below;
};
enum { STORE_PLACES = 5 };
extern const struct store_place store_ollama_places[STORE_PLACES], store_hf_places[STORE_PLACES];   /* ends with a NULL
                                                                                                     * variable */
bool store_root(struct str *root, const struct store_place places[STORE_PLACES], struct err *err);

/* Returns true if p[0..n) is a valid path component: 1 to max of A-Z a-z 0-9 _ - . without two dots in a row, and not ".". */
bool store_is_part(const char *p, size_t n, size_t max);

/* Copies exactly n hexadecimal digits to hex[n + 1] in lower case, with a NUL. Returns false if there is any other
 * character. */
bool store_hex(char *hex, const char *p, size_t n);

/* Sets *exists from the result `failed` of stat() or lstat() on a path. Fails with ERR_OPEN if errno does not settle that. */
bool store_exists(bool *exists, int failed, const char *path, struct err *err);

/* Returns true if the path exists; else fails with ERR_OPEN, whose text includes the command `get` that downloads the model. */
bool store_require(const struct str *path, const char *get, struct err *err);

/* Fails with ERR_MEMORY if an append to the text has failed. */
bool store_check_text(const struct str *text, struct err *err);

#endif
