/* catalog: the tensors of a model, in file order and indexed by name, with its metadata and facts about the container. Knows
 * neither file formats nor schemes, and reads no bytes: containers fill it, all other layers query it. Begin with tensor.h
 * (one tensor), shape.h and layout.h (its geometry) and metadata.h (keys and values). */
#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

#include "base/limits.h"
#include "catalog/metadata.h"
#include "catalog/tensor.h"

struct catalog;

struct catalog_facts {
    const char *format;         /* "safetensors", "GGUF"; static */
    uint32_t version;           /* version of the container format; 0 if it has none */
    bool big_endian;
    uint64_t alignment;         /* alignment of tensor data; 0 if not guaranteed */
    uint64_t header_end;        /* offset after the header of the file read last */
    uint64_t file_end;          /* required end of that file; 0 if that is the end of its last tensor */
    uint64_t split_no, split_count;     /* part number in a split GGUF model; count is 0 if not split */
    uint64_t shards;            /* number of shards if this file is only one of them; 0 if the model is complete, as far as
                                 * is known */
    const char *index;          /* name of the index that lists it, escaped, or NULL; lives as long as the catalog */
    const struct catalog_checkpoint *checkpoint;        /* NULL for any other input; lives as long as the catalog */
};

/* The tensors of a checkpoint under one of the keys that a training job saved. */
struct catalog_top {
    const char *name;           /* any bytes; name_len of them */
    size_t name_len;
    uint64_t tensors, nbytes;
    uint64_t read;              /* of these tensors */
};

/* What the directory of a training job holds. */
struct catalog_checkpoint {
    const char *kind;           /* "dcp", "deepspeed-zero3"; static */
    const char *step;           /* the tag or step, escaped, or NULL */
    uint64_t ranks;             /* 0 if unknown */
    bool master, all;           /* what --state may ask for besides the model */
    const struct catalog_top *top;      /* ntops; none if the format has no such keys */
    size_t ntops;
};

/* Makes a catalog, which copies all that is added to it: names, dimensions, keys and values. These allocations are charged
 * to its budget. Returns NULL on failure. */
struct catalog *catalog_new(const struct limits *limits, struct err *err);
void catalog_free(struct catalog *c);                   /* NULL is allowed */

/* Returns the budget that the headers of the model are charged to. Readers charge their own allocations to it. */
struct budget *catalog_budget(struct catalog *c);

/* Returns the limits given to catalog_new(). */
const struct limits *catalog_limits(const struct catalog *c);

bool catalog_add(struct catalog *c, const struct tensor *t, struct err *err);

/* Adds a metadata key. If it exists, only its file is updated, and *again is the file that had it last; otherwise *again is
 * META_NO_FILE. */
bool catalog_add_meta(struct catalog *c, const struct meta *m, uint32_t *again, struct err *err);

/* Allocates n bytes that live as long as the catalog, aligned for any number. Returns NULL on failure. */
void *catalog_alloc(struct catalog *c, size_t n, struct err *err);

/* Removes the tensors for which keep() returns false. Call it before catalog_seal(). */
void catalog_filter(struct catalog *c, bool (*keep)(void *ctx, const struct tensor *t), void *ctx);

/* Sorts the tensors by file, offset, end and order of addition, and indexes the names. Fails with ERR_MALFORMED if two have
 * the same name. Nothing can be added afterwards. */
bool catalog_seal(struct catalog *c, struct err *err);

size_t catalog_count(const struct catalog *c);
const struct tensor *catalog_at(const struct catalog *c, size_t i);
/* Returns the index of a tensor of this catalog. */
size_t catalog_index(const struct catalog *c, const struct tensor *t);
/* Returns the tensor of this name, or NULL, in constant time. The catalog must be sealed. */
const struct tensor *catalog_find(const struct catalog *c, const char *name, size_t n);

size_t catalog_meta_count(const struct catalog *c);
const struct meta *catalog_meta_at(const struct catalog *c, size_t i);
const struct meta *catalog_meta_find(const struct catalog *c, const char *key);     /* NULL if there is no such key */

struct catalog_facts *catalog_facts(struct catalog *c);
const struct catalog_facts *catalog_facts_of(const struct catalog *c);

/* Bytes of a file that have a CRC-32, such as a member of an archive. Such ranges do not overlap. */
struct catalog_check {
    struct extent extent;
    uint32_t crc;
};
/* Of equal ones, one counts. */
bool catalog_add_check(struct catalog *c, const struct extent *extent, uint32_t crc, struct err *err);
size_t catalog_check_count(const struct catalog *c);
/* In file order once the catalog is sealed. */
const struct catalog_check *catalog_check_at(const struct catalog *c, size_t i);

/* A part of a tensor whose bytes a source puts together from several files (container/mosaic.h): a box of the tensor. */
struct catalog_tile {
    uint32_t file, axes;
    uint64_t at, nbytes;        /* where it lies in the file */
    uint64_t skip, whole;       /* bytes of the tile before these; all bytes of it */
    uint32_t crc;               /* CRC-32 of all of them; 0: unknown, or catalog_check_at() has it */
    bool gaps;                  /* its elements are not contiguous: at is the offset of the first one */
    const uint64_t *from, *size;        /* the whole box: axes of each, which are the dimensions, or one that counts elements;
                                         * borrowed */
};
struct catalog_tiles {
    /* Finds the first tile from number *i on that has some of bytes [from, to) of a tensor, sets *i after it, and describes what
     * it has of them. False if there is none. */
    bool (*next)(const void *of, const struct tensor *t, uint64_t from, uint64_t to, size_t *i, struct catalog_tile *tile);
    /* Returns the offset in the tensor of a byte of tile i; sets *run to the number of bytes that follow it in both. */
    uint64_t (*place)(const void *of, const struct tensor *t, size_t i, uint64_t byte, uint64_t *run);
    const void *of;             /* borrowed */
    uint32_t file, first;       /* file: of such tensors; first: of the files with tiles, whose numbers are counted from there */
};
bool catalog_add_tiles(struct catalog *c, const struct catalog_tiles *tiles, struct err *err);
/* Adds the tiles of another catalog, whose files begin with number `first` in this one. */
bool catalog_copy_tiles(struct catalog *c, const struct catalog *of, uint32_t first, struct err *err);
/* Calls next(), from *i = 0 on. False for any tensor that lies in its file as a whole. */
bool catalog_next_tile(const struct catalog *c, const struct tensor *t, uint64_t from, uint64_t to, size_t *i,
    struct catalog_tile *tile);
/* Calls place() for a tile that catalog_next_tile() found. */
uint64_t catalog_place(const struct catalog *c, const struct tensor *t, size_t i, uint64_t byte, uint64_t *run);
/* Returns true if it has tiles. */
bool catalog_has_tiles(const struct catalog *c);
/* Returns true if a file consists of such tensors, which lie in other files. */
bool catalog_is_made(const struct catalog *c, uint32_t file);

/* A side file that describes the quantization: config.json and others, in order of precedence. */
struct catalog_config {
    const char *name;           /* "config.json", for messages */
    const char *text;           /* n bytes */
    size_t n;
};
enum { CATALOG_CONFIGS = 6 };
#define CATALOG_DESCRIPTION "quant_model_description"   /* begins the name of ModelSlim's file */

/* Adds a config; at most CATALOG_CONFIGS. Copies text and name. */
bool catalog_add_config(struct catalog *c, const struct catalog_config *config, struct err *err);
size_t catalog_config_count(const struct catalog *c);
/* Adds a config, or replaces the text of one with this name. */
bool catalog_set_config(struct catalog *c, const struct catalog_config *config, struct err *err);
/* Replaces the text of config i by a copy of this one. */
bool catalog_replace_config(struct catalog *c, size_t i, const char *text, size_t n, struct err *err);
const struct catalog_config *catalog_config_at(const struct catalog *c, size_t i);

/* Remarks that are not failures: a warning concerns the output, a note concerns only the input file, and catalog_tell() is for
 * what the user should know without anything being wrong. The text is copied, one
 * line each, with names already escaped. If memory is short a remark is lost; reports, which would differ without it, check
 * catalog_remarks_kept(). */
void catalog_warn(struct catalog *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void catalog_note(struct catalog *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void catalog_tell(struct catalog *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct catalog_remark {
    bool warning;
    bool told;                  /* a note that is always shown */
    const char *text;
};
bool catalog_remarks_kept(const struct catalog *c, struct err *err);     /* fails with ERR_MEMORY if a remark was lost */
size_t catalog_remark_count(const struct catalog *c);
const struct catalog_remark *catalog_remark_at(const struct catalog *c, size_t i);

#endif
