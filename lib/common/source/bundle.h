/* bundle: a folder whose files are elsewhere: ranges of other files, such as the blobs of a store or the members of an archive. Its
 * path is that of the file that lists or holds them; a file in it is opened as PATH/NAME, like any other. */
#ifndef SOURCE_BUNDLE_H
#define SOURCE_BUNDLE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct inputs;

struct bundled {
    char *name;                 /* may have slashes; owned */
    char *path;                 /* of the file that holds it; owned */
    uint64_t at, nbytes;        /* where in that file */
    bool deflated;              /* not readable as it is */
    bool tensors;               /* a part of the model itself, which is not listed as one of its files */
};

/* Empty when zero-initialized. Clear it after a failure, too. */
struct bundle {
    char *path;                 /* owned */
    struct bundled *file;       /* n of them; owned */
    size_t n, room;
};

/* Names the folder. */
bool bundle_begin(struct bundle *b, const char *path, struct err *err);
/* Adds a file. Copies both texts. */
bool bundle_add(struct bundle *b, const struct bundled *file, struct err *err);
/* Removes the folders that all files have in common from their names. */
void bundle_strip(struct bundle *b);
/* Sorts the files by name. Fails with ERR_MALFORMED if two have the same one. */
bool bundle_seal(struct bundle *b, struct err *err);
void bundle_clear(struct bundle *b);

/* Returns the file with this path, or NULL. The bundle may be NULL. */
const struct bundled *bundle_find(const struct bundle *b, const char *path);

/* Finds a file or a folder by its name. */
enum bundle_kind { BUNDLE_NONE, BUNDLE_FILE, BUNDLE_FOLDER };
enum bundle_kind bundle_kind(const struct bundle *b, const char *name);

/* The names in a directory, which may be a bundle or a folder in one. */
struct bundle_list {
    DIR *d;
    const struct bundle *bundle;
    const char *in;             /* the folder in the bundle; n bytes */
    size_t n, i;
};

/* Begins to list a directory. Returns false, with errno, if it cannot be listed. Borrows both until the end of the listing. */
bool bundle_list_open(struct bundle_list *l, const char *dir, const struct inputs *inputs);
/* Returns the next name, as folder_next() does. A bundle has files only. */
const char *bundle_list_next(struct bundle_list *l, struct err *err);
void bundle_list_close(struct bundle_list *l);

#endif
