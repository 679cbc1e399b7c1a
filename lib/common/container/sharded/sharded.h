/* sharded: a checkpoint that a training job left in a directory, as one file or more of each rank, read as one model. Each format is a
 * row of sharded.c and a file of its own; it yields names, types, shapes and tiles (container/mosaic.h), and nothing outside of this
 * folder knows its words. No tensor is read here. Begin with sharded.c, then dcp.c. */
#ifndef CONTAINER_SHARDED_SHARDED_H
#define CONTAINER_SHARDED_SHARDED_H

#include "base/names.h"
#include "base/table.h"
#include "container/container.h"
#include "container/mosaic.h"

struct sharded_format;

/* For the members of struct container that a caller asks about. It is never probed. */
extern const struct container container_sharded;

struct sharded {
    const struct sharded_format *format;
    char *dir;                  /* of its files, inside of the directory that was given, or that itself; owned */
    char *folder;               /* in the directory that was given, the one with config.json; NULL: that itself; owned */
    struct str quantization;    /* members of a "quantization" of config.json that the format declares elsewhere; or empty */
    struct names names;         /* in it, in byte order */
    struct str step;            /* the tag or the step, if a file beside it names it */
    struct inputs *inputs;      /* borrowed */
    /* while it is read: */
    const struct container_options *how;        /* borrowed */
    struct catalog *catalog;    /* borrowed */
    struct source **src;        /* nsrc files, in the order in which they were opened; owned */
    size_t nsrc, room_src;
    struct names opened;        /* their names in dir */
    struct table table;         /* of these */
    struct mosaic *mosaic;      /* owned until the source has it */
    uint64_t ranks;             /* that wrote it; 0 if unknown */
    const struct catalog_top *top;      /* ntops, the keys of the dictionary that was saved, if it has some; in the catalog's memory */
    size_t ntops;
    const char *kind;           /* a closer word for the format, or NULL; static */
};

/* Looks for a checkpoint in a directory: *s is NULL if it has none. Reads names, and a file that names a tag. The caller frees it. Fails with ERR_OPEN, ERR_MALFORMED,
 * ERR_UNSUPPORTED, or ERR_USAGE if there are several. */
bool sharded_find(struct sharded **s, const char *dir, struct inputs *inputs, struct err *err);

/* Opens its files and adds all tensors to the catalog, as tensors of file s->nsrc, and what it is to the catalog's facts. Then sets
 * *made to the source of that file. */
bool sharded_read(struct sharded *s, struct source **made, struct catalog *catalog, const struct container_options *how,
    struct err *err);

/* Returns the directory of the checkpoint that a file belongs to, by their names; NULL if there is none. The caller frees it. */
char *sharded_of_file(const char *path);

void sharded_free(struct sharded *s);              /* NULL is allowed */

/* Returns true if a training job wrote the directory, and not a program that hands models out. */
bool sharded_is_trained(const struct sharded *s);

/* Returns true if the tensors have the names of Hugging Face because the options ask for them. */
bool sharded_has_hf_names(const struct sharded *s);

#endif
