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
bool catalog_add_check(struct catalog *c, const struct extent *extent, uint32_t crc, struct err *err);
size_t catalog_check_count(const struct catalog *c);
/* In file order once the catalog is sealed. */
const struct catalog_check *catalog_check_at(const struct catalog *c, size_t i);

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
