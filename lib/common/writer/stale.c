#include "writer/stale.h"

#include <string.h>

static bool
stale_is_one_of(const struct meta *m, const char *const names[])
{
    for (; *names; names++)
        if (str_is(m->key, m->key_len, *names))
            return true;
    return false;
}

static bool
begins_with_one_of(const struct meta *m, const char *const names[])
{
    for (; *names; names++)
        if (str_prefixed(m->key, m->key_len, *names))
            return true;
    return false;
}

/* Recognizes torchao's description of a tensor, under its name: {"_type": "Int8Tensor", ...}. */
static bool
is_of_torchao(const struct meta *m)
{
    static const char begin[] = "{\"_type\":";
    size_t n;
    const char *p = NULL;
    if (m->value.type == META_STRING)
        p = meta_bytes(&m->value, &n);
    return p && str_prefixed(p, n, begin);
}

bool
stale_key(const struct meta *m, const struct choice *choice)
{
    static const char *const layout[] = { "general.alignment", "split.no", "split.count", "split.tensors.count", NULL };
    static const char *const quantized[] = { "general.file_type", "general.quantization_version", "quantization_config",
        "quantization", "quantization_level", "_quantization_metadata", "auto_gptq_version", "tensor_names", NULL };
    static const char *const prefixes[] = { "quantize.imatrix.", "gptq_", NULL };
    static const char *const shapes[] = { "comfy.gguf.orig_shape.", NULL };
    return stale_is_one_of(m, layout) || (choice->restored && begins_with_one_of(m, shapes))
        || (choice->decodes && (stale_is_one_of(m, quantized) || begins_with_one_of(m, prefixes) || is_of_torchao(m)));
}
