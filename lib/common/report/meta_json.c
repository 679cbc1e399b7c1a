#include "report/meta.h"

enum { SHORT_ARRAY = 16, HEAD = 8 };

static void
add_elements(struct page *j, const char *key, const struct meta_array *array, uint64_t max, bool arrays)
{
    struct meta_iter it = meta_first(array);
    struct meta_value element;
    ndjson_array(j, key);
    for (uint64_t i = 0; i < max && meta_next(&it, &element); i++)
        meta_json(j, NULL, &element, arrays);
    ndjson_array_end(j);
}

static void
add_array(struct page *j, const char *key, const struct meta_array *array, bool arrays)
{
    if (arrays || array->count <= SHORT_ARRAY) {
        add_elements(j, key, array, array->count, arrays);
        return;
    }
    ndjson_object(j, key);
    ndjson_text(j, "type", meta_type_name(array->type));
    ndjson_u64(j, "length", array->count);
    add_elements(j, "head", array, HEAD, arrays);
    ndjson_object_end(j);
}

/* Recursion is at most META_DEPTH_MAX deep, which the container has checked. */
void
meta_json(struct page *j, const char *key, const struct meta_value *value, bool arrays)
{
    if (!value) {
        ndjson_null(j, key);
        return;
    }
    switch (value->type) {
    case META_U8: case META_U16: case META_U32: case META_U64:
        ndjson_u64(j, key, value->as.u);
        break;
    case META_I8: case META_I16: case META_I32: case META_I64:
        ndjson_i64(j, key, value->as.i);
        break;
    case META_F32: case META_F64:
        ndjson_f64(j, key, value->as.f);
        break;
    case META_BOOL:
        ndjson_bool(j, key, value->as.u != 0);
        break;
    case META_STRING:
        ndjson_bytes(j, key, value->as.s.n ? value->as.s.p : "", value->as.s.n);
        break;
    case META_ARRAY:
        add_array(j, key, &value->as.a, arrays);
        break;
    case META_TYPES:
        ndjson_null(j, key);
        break;
    }
}
