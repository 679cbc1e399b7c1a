/* catalog: the tensors of a model, ordered as their data lie and found by name, with the metadata and the
 * facts of the container. An output has one too; there, offsets count from the first data byte. */
#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

#include "base/err.h"
#include "catalog/metadata.h"
#include "catalog/tensor.h"

struct catalog;

struct catalog_facts {
    const char *format;         /* "safetensors", "GGUF"; static */
    uint32_t version;           /* of the container; 0: it has none */
    bool big_endian;
    uint64_t alignment;         /* of tensor data; 0: none promised */
    uint64_t header_end;        /* offset just behind the header of the file that was read last */
    uint64_t split_no, split_count;     /* GGUF part of a split model; count 0: not split */
    uint64_t shards;            /* this is one of so many safetensors files, alone; 0: it is all there is, or may be */
    const char *index;          /* the index that lists it, escaped, or NULL; lives as long as the catalog */
};

struct catalog *catalog_new(struct err *err);           /* NULL on failure */
void catalog_free(struct catalog *c);                   /* takes NULL */

/* Add a tensor; its name and dimensions are copied. */
bool catalog_add(struct catalog *c, const struct tensor *t, struct err *err);

/* Add a key. Key and value are borrowed: they must outlive the catalog (the head of a source does). */
bool catalog_add_meta(struct catalog *c, const struct meta *m, struct err *err);

/* n bytes that live as long as the catalog, for names and values that lie nowhere else. NULL on failure. */
void *catalog_alloc(struct catalog *c, size_t n, struct err *err);

/* Order the tensors by (file, offset, end, as added) and index the names. Two of one name: ERR_MALFORMED.
 * After this nothing is added. */
bool catalog_seal(struct catalog *c, struct err *err);
/* The same, but the order is the one of catalog_add (an output's). */
bool catalog_seal_as_added(struct catalog *c, struct err *err);

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
 * alone. Text is kept, one line each, names already escaped. */
void catalog_warn(struct catalog *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void catalog_note(struct catalog *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct catalog_remark {
    bool warning;
    const char *text;
};
size_t catalog_remark_count(const struct catalog *c);
const struct catalog_remark *catalog_remark_at(const struct catalog *c, size_t i);

#endif
