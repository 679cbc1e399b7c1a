#include "writer/stale.h"

#include <string.h>

static bool
is_one_of(const struct meta *m, const char *const names[])
{
    for (; *names; names++)
        if (m->key_len == strlen(*names) && memcmp(m->key, *names, m->key_len) == 0)
            return true;
    return false;
}

static bool
begins_with_one_of(const struct meta *m, const char *const names[])
{
    for (; *names; names++)
        if (m->key_len >= strlen(*names) && memcmp(m->key, *names, strlen(*names)) == 0)
            return true;
    return false;
}

bool
stale_key(const struct meta *m, const struct choice *choice)
{
    static const char *const layout[] = { "general.alignment", "split.no", "split.count", "split.tensors.count", NULL };
    static const char *const quantized[] = { "general.file_type", "general.quantization_version", "quantization_config",
        "quantization", "_quantization_metadata", "auto_gptq_version", NULL };
    static const char *const prefixes[] = { "quantize.imatrix.", "gptq_", NULL };
    return is_one_of(m, layout)
        || (choice->decodes && (is_one_of(m, quantized) || begins_with_one_of(m, prefixes)));
}
