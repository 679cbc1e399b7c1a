/* The members of adapter_config.json: each is known, and so is what it does to a merged weight, or the adapter is refused. */
#include <string.h>
#include <strings.h>

#include "adapter/adapter_priv.h"

const json_t *
adapter_member(const struct adapter *a, const char *name)
{
    const json_t *value = json_object_get(a->config, name);
    if (json_is_null(value))
        return NULL;
    return value;
}

bool
adapter_flag(const struct adapter *a, const char *name)
{
    return json_is_true(adapter_member(a, name));
}

/* Returns true for a member that says nothing: missing, null, false, 0 or empty. */
static bool
is_empty(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value) || (json_is_number(value) && json_number_value(value) == 0)
        || (json_is_string(value) && json_string_length(value) == 0) || (json_is_array(value) && json_array_size(value) == 0)
        || (json_is_object(value) && json_object_size(value) == 0);
}

/* --- the table */

enum { IS_FLAG = 1, IS_TEXT = 2, IS_LIST = 4, IS_OBJECT = 8 };

/* What the value of a member has to be. Any value is accepted where none changes a merged weight: it concerns training or loading, or
 * the tensors of the file show it, too. None but an empty one is accepted where the result is not the base and a change that the file
 * determines. */
enum { ANY = 0, EMPTY = 16 };

static const struct config_member {
    const char *name;
    unsigned types;             /* of the values that are applied; or ANY or EMPTY */
} known[] = {
    { "peft_type", IS_TEXT }, { "peft_version", IS_TEXT }, { "rank_pattern", IS_OBJECT }, { "alpha_pattern", IS_OBJECT }, { "use_rslora", IS_FLAG }, { "use_dora", IS_FLAG },
    { "fan_in_fan_out", IS_FLAG }, { "init_lora_weights", IS_FLAG | IS_TEXT }, { "target_parameters", IS_LIST },
    { "lora_B_layout", IS_TEXT }, { "target_modules", IS_LIST | IS_TEXT }, { "trainable_token_indices", IS_LIST | IS_OBJECT },
    { "token_indices", IS_LIST }, { "feedforward_modules", IS_LIST | IS_TEXT }, { "ensure_weight_tying", IS_FLAG },

    { "alora_invocation_tokens", EMPTY }, { "use_qalora", EMPTY }, { "arrow_config", EMPTY }, { "use_bdlora", EMPTY },
    { "layer_replication", EMPTY }, { "monteclora_config", EMPTY }, { "kasa_config", EMPTY }, { "nvfp4_merge_aware", EMPTY },

    { "r", ANY }, { "lora_alpha", ANY }, { "alpha", ANY },      /* checked where they are applied */
    /* which modules have factors */
    { "exclude_modules", ANY }, { "layers_to_transform", ANY }, { "layers_pattern", ANY }, { "modules_to_save", ANY }, { "bias", ANY },
    { "lora_bias", ANY },
    /* the first values of factors, and the shapes that follow from them */
    { "init_weights", ANY }, { "init_ia3_weights", ANY }, { "loftq_config", ANY }, { "eva_config", ANY }, { "corda_config", ANY },
    { "lora_ga_config", ANY }, { "use_effective_conv2d", ANY }, { "decompose_both", ANY }, { "decompose_factor", ANY },
    { "qalora_group_size", ANY },               /* of use_qalora */
    /* training */
    { "lora_dropout", ANY }, { "rank_dropout", ANY }, { "module_dropout", ANY }, { "rank_dropout_scale", ANY }, { "velora_config", ANY },
    { "inference_mode", ANY }, { "merge_weights", ANY }, { "lora_dtype", ANY }, { "lorap_lr_ratio", ANY }, { "lorap_emb_lr", ANY },
    /* loading */
    { "base_model_name_or_path", ANY }, { "revision", ANY }, { "task_type", ANY }, { "auto_mapping", ANY }, { "runtime_config", ANY },
    { "megatron_config", ANY }, { "megatron_core", ANY },
};

/* Returns the type of a value as a bit, or 0. */
static unsigned
members_type_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_TRUE:
    case JSON_FALSE:
        return IS_FLAG;
    case JSON_STRING:
        return IS_TEXT;
    case JSON_ARRAY:
        return IS_LIST;
    case JSON_OBJECT:
        return IS_OBJECT;
    default:
        return 0;
    }
}

/* Names the first of the types that a member may have. */
static const char *
type_word(unsigned types)
{
    static const char *const words[] = { "true or false", "a text", "a list", "an object" };
    size_t i = 0;
    while (i + 1 < sizeof words / sizeof *words && !(types >> i & 1))
        i++;
    return words[i];
}

/* Checks a member of a config; `where` is where that stands. */
static bool
check_member(const char *name, const json_t *value, const char *where, struct err *err)
{
    char shown[STR_SHOWN];
    const struct config_member *row = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known && !row; i++)
        row = strcmp(known[i].name, name) == 0 ? &known[i] : NULL;
    if (is_empty(value) || (row && row->types == ANY))
        return true;
    if (!row)
        return err_set(err, ERR_UNSUPPORTED, "%s: member %s is unknown and could change the weights: remove it if it does not",
            where, str_shown(shown, name, strlen(name)));
    if (row->types == EMPTY)
        return err_set(err, ERR_UNSUPPORTED, "%s: adapters with %s are not merged", where, name);
    return (row->types & members_type_of(value)) != 0 || err_set(err, ERR_MALFORMED, "%s: the value of %s is not %s", where, name,
        type_word(row->types));
}

/* --- values */

/* Checks how the factors were initialized: some ways derive them from the base. */
static bool
check_initial(const json_t *config, const char *where, struct err *err)
{
    static const char *const own[] = { "gaussian", "eva", "orthogonal", "mica", NULL };
    static const char *const residual[] = { "pissa", "olora", "corda", "loftq", "lora_ga", NULL };
    const json_t *kasa = json_object_get(config, "kasa_config");
    const char *initial = json_string_value(json_object_get(config, "init_lora_weights"));
    bool from_base = !is_empty(kasa);
    char shown[STR_SHOWN];
    for (size_t i = 0; initial && residual[i]; i++)
        from_base = from_base || str_begins(initial, residual[i]);
    if (from_base)
        return err_set(err, ERR_UNSUPPORTED, "init_lora_weights %s: the factors belong to a base from which "
            "their initial values were taken; convert the adapter with peft's save_pretrained(path_initial_model_for_weight_conversion"
            "=...), or merge it into the saved residual base with init_lora_weights true",
            is_empty(kasa) ? str_shown(shown, initial, strlen(initial)) : "kasa");
    for (size_t i = 0; initial && own[i]; i++)
        if (strcasecmp(initial, own[i]) == 0)
            initial = NULL;
    return !initial || !*initial || err_set(err, ERR_UNSUPPORTED, "%s: init_lora_weights %s is unknown: its factors could "
        "belong to another base", where, str_shown(shown, initial, strlen(initial)));
}

/* Checks how the columns of lora_B of experts are ordered. */
static bool
check_layout(const json_t *config, const char *where, struct err *err)
{
    const char *word = json_string_value(json_object_get(config, ADAPTER_B_LAYOUT));
    char shown[STR_SHOWN];
    return !word || !*word || strcmp(word, "rank_major") == 0 || strcmp(word, ADAPTER_B_GROUPED) == 0 || err_set(err, ERR_UNSUPPORTED, "%s: " ADAPTER_B_LAYOUT " %s is unknown: expected rank_major or " ADAPTER_B_GROUPED, where,
        str_shown(shown, word, strlen(word)));
}

bool
adapter_check_members(const json_t *config, const char *where, struct err *err)
{
    const char *name;
    json_t *value;
    if (!check_initial(config, where, err) || !check_layout(config, where, err))
        return false;
    json_object_foreach((json_t *)config, name, value)
        if (!check_member(name, value, where, err))
            return false;
    return true;
}

/* --- the whole */

/* Checks the config of an adapter of MLX, whose members are the arguments of a training run; its loader reads the way of training and
 * lora_parameters. */
static bool
check_mlx(const struct adapter *a, struct err *err)
{
    static const char *const idle[] = { "rank", "scale", "dropout", "keys", NULL };
    const json_t *type = adapter_member(a, "fine_tune_type"), *parameters = adapter_member(a, "lora_parameters");
    const char *word = json_string_value(type), *name;
    const json_t *alpha = json_object_get(parameters, "alpha"), *rank = json_object_get(parameters, "rank");
    char shown[STR_SHOWN];
    json_t *value;
    if (type && !(word && (strcmp(word, "lora") == 0 || strcmp(word, "dora") == 0 || strcmp(word, "full") == 0)))
        return err_set(err, ERR_UNSUPPORTED, "adapter_config.json: fine_tune_type %s is unknown: expected lora, dora or full",
            word ? str_shown(shown, word, strlen(word)) : "of another type than text");
    if (!is_empty(alpha) && !json_equal(alpha, rank) && json_number_value(alpha) != json_number_value(rank))
        return err_set(err, ERR_UNSUPPORTED, "adapter_config.json: lora_parameters has alpha, which early versions of mlx-lm "
            "divided by the rank and multiplied by scale, and later ones ignore: set scale to the product, and remove alpha");
    json_object_foreach((json_t *)parameters, name, value) {
        size_t i = 0;
        while (idle[i] && strcmp(idle[i], name) != 0)
            i++;
        if (!idle[i] && !is_empty(value) && value != alpha)
            return err_set(err, ERR_UNSUPPORTED, "adapter_config.json: member %s of lora_parameters is unknown and could "
                "change the weights: remove it if it does not", str_shown(shown, name, strlen(name)));
    }
    return true;
}

bool
adapter_check_config(const struct adapter *a, struct err *err)
{
    static const char *const types[] = { "LORA", "LOHA", "LOKR", "IA3", "TRAINABLE_TOKENS", "LN_TUNING", NULL };
    const char *type = json_string_value(adapter_member(a, "peft_type"));
    char shown[STR_SHOWN];
    size_t i = 0;
    if (a->family == ADAPTER_MLX)
        return check_mlx(a, err);
    if (a->family != ADAPTER_PEFT)
        return true;
    while (type && types[i] && strcmp(types[i], type) != 0)
        i++;
    if (!type || !types[i])
        return err_set(err, type ? ERR_UNSUPPORTED : ERR_MALFORMED, "peft_type %s is not merged: supported are LORA, "
            "LOHA, LOKR, IA3, TRAINABLE_TOKENS and LN_TUNING", type ? str_shown(shown, type, strlen(type)) : "without a name");
    return adapter_check_members(a->config, "adapter_config.json", err);
}
