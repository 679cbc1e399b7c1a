/* blobs: the files of a model in a local store, with the digests that the store knows them by.
 *
 *      hub cache       snapshots/COMMIT/FILE is a link to blobs/DIGEST: SHA-256, or for a small file the SHA-1 of git
 *      local folder    DIR/.cache/huggingface/download/FILE.metadata of `hf download --local-dir`; its second line is the digest
 *      Ollama          the layers of a manifest, blobs/sha256-DIGEST
 *
 * Nothing is downloaded. */
#ifndef MODEL_BLOBS_H
#define MODEL_BLOBS_H

#include "base/limits.h"
#include "base/str.h"

enum { BLOB_SHA1 = 40, BLOB_SHA256 = 64 };      /* hexadecimal digits */

struct blob {
    char *name;                 /* in the model, for people; owned */
    char *path;                 /* of the file, which may be missing; owned */
    char digest[BLOB_SHA256 + 1];       /* lower case; BLOB_SHA1 digits: git's, of "blob SIZE", NUL and the content */
};

/* Zeroed: empty. */
struct blobs {
    struct blob *list;          /* n of them, in order of their names; owned */
    size_t n, room;
    size_t unnamed;             /* files whose digest the store does not know */
    char *first;                /* the name of one of these; owned, or NULL */
};

/* Finds the files of hf:NAME, ollama:NAME or a directory of one of these stores: a snapshot, a repository of the hub cache, a
 * folder of hf download --local-dir, or the store of Ollama. Fails with ERR_USAGE for another directory or a file. Clear it also
 * after a failure. */
bool blobs_find(struct blobs *b, const char *operand, const struct limits *limits, struct err *err);

/* Adds the files of a list of sha256sum, which are looked for in the folder `operand`, then at their own paths; of these only the
 * one called `operand` if it is not a directory. NULL: all at their own paths. Fails with ERR_MALFORMED for another line, with
 * ERR_USAGE if no line is about the file. */
bool blobs_read(struct blobs *b, const char *text, size_t n, const char *operand, struct err *err);

/* Returns true if the operand is looked for in a store: it has the prefix of a store, or is a directory. */
bool blobs_possible(const char *operand);

void blobs_clear(struct blobs *b);

/* Adds a file, whose digest is `text` of one of the two lengths; for other text, counts it as unnamed. */
bool blobs_add(struct blobs *b, const char *name, const char *path, const char *text, size_t n, struct err *err);

#endif
