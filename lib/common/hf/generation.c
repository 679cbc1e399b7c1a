/* Source: gguf-py's metadata.py. Null members count as missing. */
#include "hf/generation.h"

#include <math.h>
#include <string.h>

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
generation_wrong(const char *name, const char *expected, struct err *err)
{
    return err_set(err, ERR_MALFORMED, "%s: %s is not %s", file, name, expected);
}

static bool
generation_put(struct keys *keys, const struct generation_row *row, const char *name, const json_t *value, struct err *err)
{
    static const char prefix[] = "general.sampling";
    json_int_t n = json_integer_value(value);
    float x = (float)json_number_value(value);
    switch (row->kind) {
    case I32:
        if (json_is_integer(value) && n >= INT32_MIN && n <= INT32_MAX)
            return keys_put_i32(keys, prefix, row->key, (int32_t)n, err);
        return generation_wrong(name, "an integer from -2147483648 to 2147483647", err);
    case F32:
        if (json_is_number(value) && isfinite(x))
            return keys_put_f32(keys, prefix, row->key, x, err);
        return generation_wrong(name, "a number in the range of F32", err);
    case TEXT:
        break;
    }
    if (!json_is_string(value))
        return generation_wrong(name, "a string", err);
    return json_string_length(value) == 0
        || keys_put_text(keys, prefix, row->key, json_string_value(value), json_string_length(value), err);
}

bool
hf_generation_keys(struct keys *keys, const json_t *generation, struct err *err)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct generation_row *row = &rows[i];
        const char *name;
        if (row->other && !json_object_get(generation, row->name))
            name = row->other;
        else
            name = row->name;
        const json_t *value = json_object_get(generation, name);
        if (value && !json_is_null(value) && !generation_put(keys, row, name, value, err))
            return false;
    }
    return true;
}
