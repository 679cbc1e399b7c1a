/* generation_config.json as general.sampling.*. Source: gguf-py's metadata.py. Null members count as missing. */
#include <inttypes.h>
#include <string.h>

#include "hf/generation.h"
#include "hf/config_priv.h"

static const char file[] = "generation_config.json";

enum generation_kind { TEXT, I32, F32 };

static const struct generation_row {
    const char *key, *name;
    enum generation_kind kind;
    const char *other;          /* alternative name */
} rows[] = {
    { "sequence", "sequence", TEXT, NULL },
    { "top_k", "top_k", I32, NULL },
    { "top_p", "top_p", F32, NULL },
    { "min_p", "min_p", F32, NULL },
    { "xtc_probability", "xtc_probability", F32, NULL },
    { "xtc_threshold", "xtc_threshold", F32, NULL },
    { "temp", "temperature", F32, NULL },
    { "penalty_last_n", "penalty_last_n", I32, NULL },
    { "penalty_repeat", "penalty_repeat", F32, "repetition_penalty" },
    { "mirostat", "mirostat", I32, NULL },
    { "mirostat_tau", "mirostat_tau", F32, NULL },
    { "mirostat_eta", "mirostat_eta", F32, NULL },
};

static bool
put(struct keys *keys, const struct generation_row *row, const char *name, const json_t *value, struct err *err)
{
    static const char prefix[] = "general.sampling";
    int32_t i;
    float x;
    switch (row->kind) {
    case I32:
        return hf_config_i32(&i, value, file, name, err) && keys_put_i32(keys, prefix, row->key, i, err);
    case F32:
        return hf_config_f32(&x, value, file, name, err) && keys_put_f32(keys, prefix, row->key, x, err);
    case TEXT:
        break;
    }
    if (!json_is_string(value))
        return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "%s: %s is not a string", file, name);
    return json_string_length(value) == 0
        || keys_put_text(keys, prefix, row->key, json_string_value(value), json_string_length(value), err);
}

bool
hf_generation_keys(struct keys *keys, const json_t *generation, struct err *err)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct generation_row *row = &rows[i];
        const char *name = row->other && !json_object_get(generation, row->name) ? row->other : row->name;
        const json_t *value = hf_config_get(generation, name);
        if (value && !put(keys, row, name, value, err))
            return false;
    }
    return true;
}
