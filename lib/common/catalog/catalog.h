/* catalog: the tensors of a model, ordered as their data lie and found by name, with the metadata and the facts of the
 * container. It knows neither file formats nor schemes, and reads no byte: containers fill it, all others ask it.
 * Begin with tensor.h (one row), shape.h and layout.h (its geometry) and metadata.h (keys and values). */
#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

#include "base/limits.h"
#include "catalog/metadata.h"
#include "catalog/tensor.h"

struct catalog;

struct catalog_facts {
    const char *format;         /* "safetensors", "GGUF"; static */
    uint32_t version;           /* of the container; 0: it has none */
    bool big_endian;
    uint64_t alignment;         /* of tensor data; 0: none promised */
    uint64_t header_end;        /* offset just behind the header of the file that was read last */
    uint64_t file_end;          /* where that file has to end; 0: behind its last tensor */
    uint64_t split_no, split_count;     /* GGUF part of a split model; count 0: not split */
    uint64_t shards;            /* this is one of so many safetensors files, alone; 0: it is all there is, or may be */
    const char *index;          /* the index that lists it, escaped, or NULL; lives as long as the catalog */
};

/* A catalog that copies what is added to it: names, dimensions, keys and values. All of that is asked of its budget
 * before it is allocated. NULL on failure. */
struct catalog *catalog_new(const struct limits *limits, struct err *err);
void catalog_free(struct catalog *c);                   /* takes NULL */

/* What the headers of the model have asked for; readers ask it for what they allocate themselves. */
struct budget *catalog_budget(struct catalog *c);

/* The limits that the catalog was made with: the user's. */
const struct limits *catalog_limits(const struct catalog *c);

bool catalog_add(struct catalog *c, const struct tensor *t, struct err *err);

/* Add a key of a file. When it is there already nothing changes but its file, and *again says which file had it last;
 * otherwise that is META_NO_FILE. */
bool catalog_add_meta(struct catalog *c, const struct meta *m, uint32_t *again, struct err *err);

/* n bytes that live as long as the catalog, aligned for any number. NULL on failure. */
void *catalog_alloc(struct catalog *c, size_t n, struct err *err);

/* Order the tensors by (file, offset, end, as added) and index the names. Two of one name: ERR_MALFORMED.
 * After this nothing is added. */
bool catalog_seal(struct catalog *c, struct err *err);

size_t catalog_count(const struct catalog *c);
const struct tensor *catalog_at(const struct catalog *c, size_t i);
/* Index of a tensor of this catalog. */
size_t catalog_index(const struct catalog *c, const struct tensor *t);
/* The tensor of a name, or NULL. One hash; the catalog is sealed. */
const struct tensor *catalog_find(const struct catalog *c, const char *name, size_t n);

size_t catalog_meta_count(const struct catalog *c);
const struct meta *catalog_meta_at(const struct catalog *c, size_t i);
const struct meta *catalog_meta_find(const struct catalog *c, const char *key);     /* or NULL */

struct catalog_facts *catalog_facts(struct catalog *c);
const struct catalog_facts *catalog_facts_of(const struct catalog *c);

/* Bytes of a file that bear a CRC-32: a member of an archive. They do not overlap. */
struct catalog_check {
    struct extent extent;
    uint32_t crc;
};
bool catalog_add_check(struct catalog *c, const struct extent *extent, uint32_t crc, struct err *err);
size_t catalog_check_count(const struct catalog *c);
/* In the order of the files, when the catalog is sealed. */
const struct catalog_check *catalog_check_at(const struct catalog *c, size_t i);

/* A side file that says how the model is quantized: config.json and its like, the most telling first. */
struct catalog_config {
    const char *name;           /* "config.json", for messages */
    const char *text;           /* n bytes */
    size_t n;
};
enum { CATALOG_CONFIGS = 5 };

/* Add one, at most CATALOG_CONFIGS; text and name are copied. */
bool catalog_add_config(struct catalog *c, const struct catalog_config *config, struct err *err);
size_t catalog_config_count(const struct catalog *c);
const struct catalog_config *catalog_config_at(const struct catalog *c, size_t i);

/* Things worth telling that are no failure: a warning is about what the output will be, a note about the file
 * alone. Text is kept, one line each, names already escaped. One that finds no memory is lost; a report, whose bytes
 * it would change, asks catalog_remarks_kept. */
void catalog_warn(struct catalog *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void catalog_note(struct catalog *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct catalog_remark {
    bool warning;
    const char *text;
};
bool catalog_remarks_kept(const struct catalog *c, struct err *err);     /* else ERR_MEMORY */
size_t catalog_remark_count(const struct catalog *c);
const struct catalog_remark *catalog_remark_at(const struct catalog *c, size_t i);

#endif
