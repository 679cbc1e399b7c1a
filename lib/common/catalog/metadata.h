/* metadata: what a file declares besides its tensors: typed values with keys, in file order. The type ids are GGUF's;
 * safetensors has strings only. */
#ifndef CATALOG_METADATA_H
#define CATALOG_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Limits for readers and writers. */
enum {
    META_JSON_MAX = 100000000,  /* safetensors header, bytes */
    META_KEY_MAX = 65535,       /* bytes of a GGUF key or tensor name */
    META_ARRAY_MAX = 16000000,  /* elements of an array */
    META_DEPTH_MAX = 4,         /* nesting of arrays */
    META_ALIGNMENT_MAX = 1 << 20
};

enum meta_type {
    META_U8, META_I8, META_U16, META_I16, META_U32, META_I32, META_F32, META_BOOL, META_STRING, META_ARRAY,
    META_U64, META_I64, META_F64, META_TYPES
};

/* Contiguous elements as stored in a GGUF file. Read them with meta_first() and meta_next(). */
struct meta_array {
    enum meta_type type;        /* type of the elements */
    uint64_t count;
    const uint8_t *p;           /* borrowed; verified to have count elements */
    uint64_t nbytes;
    bool big_endian;
};

struct meta_value {
    enum meta_type type;
    union {
        uint64_t u;             /* META_U8 .. META_U64, META_BOOL */
        int64_t i;              /* META_I8 .. META_I64 */
        double f;               /* META_F32 (exact; preserves the bits of a NaN), META_F64 */
        struct { const char *p; size_t n; } s;      /* borrowed; any bytes */
        struct meta_array a;
    } as;
};

#define META_NO_FILE UINT32_MAX

struct meta {
    const char *key;            /* key_len bytes; borrowed */
    uint32_t key_len;
    uint32_t file;              /* the last file of the model that has the key */
    struct meta_value value;
};

/* Returns the size of a value in bytes, or 0 for strings and arrays. */
size_t meta_type_size(enum meta_type type);
const char *meta_type_name(enum meta_type type);        /* "u8" .. "f64", the short names of ggml */

/* Returns the type of a value, for an array including the type of its elements: "u32", "[str]", "[[i32]]". */
void meta_add_type(struct str *s, const struct meta_value *value);

/* Returns the *n bytes that a string or an array borrows; NULL and 0 for any other value. */
const void *meta_bytes(const struct meta_value *value, size_t *n);
/* Returns the value with its bytes at p instead. */
void meta_move(struct meta_value *value, const void *p);

/* Returns the bits of a META_F32, in the low half, or of a META_F64, unchanged even for a NaN. */
uint64_t meta_float_bits(const struct meta_value *value);

/* Sets *out if the value is a non-negative integer (not a bool); returns false otherwise. */
bool meta_as_u64(const struct meta_value *value, uint64_t *out);

/* Iterates over an array: struct meta_iter it = meta_first(&array); while (meta_next(&it, &value)) ... */
struct meta_iter {
    const uint8_t *p;
    uint64_t left, nbytes;
    enum meta_type type;
    bool big_endian;
};
struct meta_iter meta_first(const struct meta_array *array);
bool meta_next(struct meta_iter *it, struct meta_value *value);

/* Reads a value of `type` at p[0..n), encoded as in GGUF, and sets *used to its size. Returns false if it does not fit, an
 * element type is unknown, or arrays are nested deeper than `depth`. */
bool meta_decode(struct meta_value *value, enum meta_type type, const uint8_t *p, uint64_t n, bool big_endian,
    unsigned depth, uint64_t *used);

#endif
