/* Differences between llama.cpp and config.json: models that llama.cpp rejects, and those for which it computes something
 * else. Sources: load_arch_hparams, load_arch_tensors and the graphs in src/models/ of llama.cpp, src/llama-context.cpp for
 * yarn; the modeling files of transformers for the meaning of the members. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "hf/config_priv.h"

static const char file[] = "config.json";

/* Returns the value of a number, or `missing` if the member is missing or not a number. */
static double
number(const json_t *object, const char *name, double missing)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : missing;
}

static bool
is(const json_t *text, const char *word)
{
    return json_is_string(text) && strcmp(json_string_value(text), word) == 0;
}

/* --- errors */

/* Returns the name of the member that declares a layer without experts, or NULL. */
static const char *
dense_layers(const struct hf_config *config)
{
    const json_t *members = config->more->members, *only = json_object_get(members, "mlp_only_layers");
    for (size_t i = 0; i < json_array_size(only); i++) {
        double layer = json_number_value(json_array_get(only, i));
        if (layer >= 0 && layer < (double)config->layers)
            return "mlp_only_layers";
    }
    return number(members, "decoder_sparse_step", 1) != 1 ? "decoder_sparse_step" : NULL;
}

bool
hf_config_check(const struct hf_config *config, struct err *err)
{
    const struct hf_family *family = config->family;
    const char *dense = family->needs_experts ? dense_layers(config) : NULL;
    if (dense)
        return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "%s: %s declares layers without experts, which llama.cpp does not "
            "support for %s", file, dense, family->class);
    if (family->no_attention_bias && json_is_true(json_object_get(config->more->members, "attention_bias")))
        return err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "%s: attention_bias is true, but llama.cpp does not support an "
            "o_proj bias for %s", file, family->class);
    return true;
}

/* --- RoPE */

static bool
is_scaled(const struct hf_config *config, const char *type)
{
    static const struct {
        const char *type;
        enum hf_ropes rope;
    } types[] = { { "linear", HF_LINEAR }, { "yarn", HF_YARN }, { "llama3", HF_LLAMA3 }, { "longrope", HF_LONGROPE } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].type) == 0)
            return config->family->ropes & types[i].rope;
    return *type == '\0';
}

/* Returns the attention factor that transformers computes for yarn. */
static double
yarn_scale(double factor, double mscale)
{
    return factor > 1 ? 0.1 * mscale * (real_log2(factor) * M_LN2) + 1 : 1;
}

/* Compares attention factors. llama.cpp derives its own from `factor` for yarn; the converter computes it for longrope. */
static void
warn_of_attention(const struct hf_config *config, const json_t *rope, bool yarn, struct catalog *catalog)
{
    double factor = number(rope, "factor", 1), mscale = number(rope, "mscale", 0), all = number(rope, "mscale_all_dim", 0);
    double done = yarn ? yarn_scale(factor, 1) : (double)config->more->attn_factor;
    double both = yarn && mscale != 0 && all != 0 ? yarn_scale(factor, mscale) / yarn_scale(factor, all) : done;
    double said = number(rope, "attention_factor", both);
    if (fabs(said - done) > 1e-3 * done)
        catalog_warn(catalog, "%s: %s %.4g, but llama.cpp uses %.4g", file,
            said != both ? "attention_factor is" : "mscale gives an attention factor of", said, done);
}

static void
warn_of_rope(const struct hf_config *config, struct catalog *catalog)
{
    const json_t *rope = hf_rope_full(config);
    const char *type;
    struct err ignored;
    err_init(&ignored);
    if (!hf_rope_type(&type, config, &ignored))
        return;                 /* already reported as an error */
    bool yarn = strcmp(type, "yarn") == 0 && hf_config_get(rope, "factor");
    if (!is_scaled(config, type)) {
        catalog_warn(catalog, "%s: llama.cpp ignores rope_type %s for architecture %s", file, type, config->family->arch);
        return;
    }
    if (yarn || config->more->has_attn_factor)
        warn_of_attention(config, rope, yarn, catalog);
    if (yarn && (number(rope, "beta_fast", 32) != 32 || number(rope, "beta_slow", 1) != 1))
        catalog_warn(catalog, "%s: llama.cpp ignores beta_fast and beta_slow and uses 32 and 1", file);
    if (yarn && json_is_false(json_object_get(rope, "truncate")))
        catalog_warn(catalog, "%s: llama.cpp ignores \"truncate\": false for rope_type yarn", file);
}

/* --- layers */

static void
warn_of_activation(const struct hf_config *config, struct catalog *catalog)
{
    /* All names of the same function in ACT2FN of transformers. */
    static const struct {
        const char *member, *name[6];
    } known[] = {
        [HF_SILU] = { "hidden_act", { "silu", "swish" } },
        [HF_GELU_TANH] = { "hidden_activation", { "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_new", "gelu_fast",
            "gelu_accurate" } },
    };
    enum hf_activation activation = config->family->activation;
    const char *member = known[activation].member;
    const json_t *said = json_object_get(config->more->members, member);
    char shown[STR_SHOWN];
    bool same = !json_is_string(said);
    for (size_t i = 0; !same && known[activation].name[i]; i++)
        same = is(said, known[activation].name[i]);
    if (!same)
        catalog_warn(catalog, "%s: %s is %s, but llama.cpp uses %s for architecture %s", file, member,
            str_shown(shown, json_string_value(said), json_string_length(said)), known[activation].name[0],
            config->family->arch);
}

static void
warn_of_experts(const struct hf_config *config, struct catalog *catalog)
{
    bool sums = json_is_true(json_object_get(config->more->members, "norm_topk_prob"));
    if (config->family->topk == HF_TOPK_SUM && !sums)
        catalog_warn(catalog, "%s: norm_topk_prob is not true, but llama.cpp always normalizes expert weights for this "
            "class", file);
    if (config->family->topk == HF_TOPK_RAW && sums)
        catalog_warn(catalog, "%s: norm_topk_prob is true, but llama.cpp never normalizes expert weights for this "
            "class", file);
}

/* Returns true if some layer attends to a window that llama.cpp ignores. */
static bool
has_window(const struct hf_config *config)
{
    const json_t *members = config->more->members, *types = hf_config_get(members, "layer_types");
    enum hf_window window = config->family->window;
    double max = number(members, "max_window_layers", 28);
    if (window == HF_WINDOW_NONE || window == HF_WINDOW_ALL)
        return window == HF_WINDOW_ALL;
    if (!json_is_true(json_object_get(members, "use_sliding_window")))
        return false;
    if (window == HF_WINDOW_USED || !types)
        return window == HF_WINDOW_USED || (window == HF_WINDOW_FROM ? max < (double)config->layers : max > 0);
    for (size_t i = 0; i < json_array_size(types); i++)
        if (is(json_array_get(types, i), "sliding_attention"))
            return true;
    return false;
}

/* Warns unless the window is as long as the context, which has no effect. */
static void
warn_of_window(const struct hf_config *config, struct catalog *catalog)
{
    const char *name;
    const json_t *context = hf_config_member(config->more->members, hf_names_context, &name);
    double window = number(config->more->members, "sliding_window", 0);
    if (window > 0 && (!context || window < json_number_value(context)) && has_window(config))
        catalog_warn(catalog, "%s: llama.cpp ignores sliding_window %.0f for architecture %s and attends to the whole context",
            file, window, config->family->arch);
}

/* Returns true if the layers with a window are not those of the architecture. */
static bool
has_other_windows(const struct hf_config *config)
{
    const json_t *members = config->more->members, *types = hf_config_get(members, "layer_types");
    unsigned n = config->family->full_every;
    double pattern = number(members, "sliding_window_pattern", n);
    if (n == 0)
        return false;
    for (size_t i = 0; i < json_array_size(types); i++)
        if (is(json_array_get(types, i), "sliding_attention") != ((i + 1) % n != 0))
            return true;
    return !types && config->family->kind == HF_GEMMA3 && pattern != n && pattern != 1;     /* 1: no key is written for the
                                                                                             * window */
}

static void
warn_of_gemma(const struct hf_config *config, struct catalog *catalog)
{
    const struct hf_family *family = config->family;
    double head_dim = config->head_dim != 0 ? (double)config->head_dim : 256;
    double done = config->layers == family->wide_layers ? (double)(config->hidden_size / config->heads) : head_dim;
    double said = number(config->more->members, "query_pre_attn_scalar", 256);
    if (family->wide_layers != 0 && said != done)
        catalog_warn(catalog, "%s: query_pre_attn_scalar is %.17g, but llama.cpp uses %.0f", file, said, done);
    if (has_other_windows(config))
        catalog_warn(catalog, "%s: layer_types or sliding_window_pattern differ from llama.cpp, where all layers except every "
            "%u%s attend to a window", file, family->full_every, family->full_every == 2 ? "nd" : "th");
}

void
hf_config_warn(const struct hf_config *config, struct catalog *catalog)
{
    warn_of_rope(config, catalog);
    warn_of_activation(config, catalog);
    warn_of_experts(config, catalog);
    warn_of_window(config, catalog);
    warn_of_gemma(config, catalog);
}
