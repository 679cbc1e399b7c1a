#include "hf/quantizer.h"

#include <string.h>

/* --- transformers: fp8 and bitsandbytes */

const char *
hf_quantizer_experts(const struct hf_modules *m)
{
    const char *experts = NULL;
    for (size_t i = 0; i < m->n; i++)
        experts = m->group[i].quantizer->experts ? m->group[i].quantizer->experts : experts;
    if (experts)
        return experts;
    return "fp8";
}

static void
config_fp8(struct str *out, const struct hf_modules *m)
{
    str_text(out, "{\"quant_method\": \"fp8\", \"modules_to_not_convert\": ");
    hf_modules_not_converted(out, m, true);
    str_format(out, ", \"modules_to_convert\": null, \"activation_scheme\": \"dynamic\", \"weight_block_size\": [128, 128], "
        "\"dequantize\": false, \"scale_fmt\": \"%s\", \"expert_dtype\": \"%s\"}", m->group[0].quantizer->word, hf_quantizer_experts(m));
}

/* Returns PyTorch's name for the dtype of a weight. */
static const char *
dtype_word(const struct encoding *e)
{
    if (e->weight.dtype == DTYPE_BF16)
        return "bfloat16";
    if (e->weight.dtype == DTYPE_F16)
        return "float16";
    return "float32";
}

static void
config_bnb(struct str *out, const struct hf_modules *m)
{
    const struct hf_quantizer *q = m->group[0].quantizer;
    const char *in8 = q->bits == 8 ? "true" : "false", *in4 = q->bits == 4 ? "true" : "false";
    str_format(out, "{\"quant_method\": \"bitsandbytes\", \"_load_in_8bit\": %s, \"_load_in_4bit\": %s, "
        "\"llm_int8_threshold\": 6.0, \"llm_int8_skip_modules\": ", in8, in4);
    hf_modules_not_converted(out, m, false);
    str_format(out, ", \"llm_int8_enable_fp32_cpu_offload\": false, \"llm_int8_has_fp16_weight\": false, "
        "\"bnb_4bit_quant_type\": \"%s\", \"bnb_4bit_use_double_quant\": %s, \"bnb_4bit_compute_dtype\": \"%s\", "
        "\"bnb_4bit_quant_storage\": \"uint8\", \"load_in_4bit\": %s, \"load_in_8bit\": %s}", q->word,
        q->nested ? "true" : "false", q->bits == 4 ? dtype_word(m->group[0].e) : "float32", in4, in8);
}

/* --- ModelSlim: vllm-ascend reads only the description file */

static void
config_modelslim(struct str *out, const struct hf_modules *m)
{
    (void)out, (void)m;
}

/* --- Quark */

static void
config_quark(struct str *out, const struct hf_modules *m)
{
    str_format(out, "{\"quant_method\": \"quark\", \"quant_mode\": \"eager_mode\", \"export\": {\"kv_cache_group\": [], \"min_kv_scale\": 0.0, "
        "\"pack_method\": \"reorder\", \"weight_format\": \"real_quantized\", \"weight_merge_groups\": null}, "
        "\"global_quant_config\": {\"bias\": null, \"input_tensors\": null, \"output_tensors\": null, \"target_device\": null, "
        "\"weight\": {\"ch_axis\": -1, \"dtype\": \"int4\", \"group_size\": %u, \"is_dynamic\": false, \"observer_cls\": "
        "\"PerGroupMinMaxObserver\", \"qscheme\": \"per_group\", \"round_method\": \"half_even\", \"scale_type\": \"float\", "
        "\"symmetric\": true}}, \"layer_quant_config\": {}, \"layer_type_quant_config\": {}, \"kv_cache_quant_config\": {}, "
        "\"algo_config\": null, \"exclude\": ", (unsigned)m->group[0].e->options.group_size);
    hf_modules_ignored(out, m);
    str_text(out, "}");
    if (m->n > 1)
        catalog_warn(m->catalog, "weights have several group sizes, of which the config declares only the most frequent; --group-size "
            "makes them alike");
}

/* --- Gemma */

static void
config_gemma(struct str *out, const struct hf_modules *m)
{
    str_format(out, "{\"quant_method\": \"gemma\", \"num_bits\": %u, \"quantize_embeddings\": false, \"module_quant_configs\": {}, "
        "\"modules_to_not_convert\": ", m->group[0].quantizer->bits);
    hf_modules_not_converted(out, m, false);
    str_text(out, "}");
}

/* --- MXFP8 with its own method, which SGLang and transformers read */

static void
config_mxfp8(struct str *out, const struct hf_modules *m)
{
    str_text(out, "{\"quant_method\": \"mxfp8\", \"activation_scheme\": \"dynamic\", \"scale_fmt\": \"ue8m0\", "
        "\"weight_block_size\": [1, 32], \"modules_to_not_convert\": ");
    hf_modules_not_converted(out, m, true);
    str_text(out, "}");
}

/* --- AutoRound. It has no backend for these weights without quantized activations. */

static void
config_auto_round(struct str *out, const struct hf_modules *m)
{
    str_format(out, "{\"quant_method\": \"auto-round\", \"packing_format\": \"%s\", \"autoround_version\": \"0.16.1\", "
        "\"data_type\": \"nvfp4_v2\", \"bits\": 4, \"group_size\": 16, \"sym\": true, \"act_data_type\": \"nvfp4_v2\", \"act_bits\": 4, "
        "\"act_group_size\": 16, \"act_sym\": true, \"act_dynamic\": true, \"modules_to_not_convert\": ", m->group[0].quantizer->word);
    hf_modules_not_converted(out, m, false);
    str_text(out, "}");
}

/* --- compressed-tensors */

static bool
is_expert(const struct encoding *e)
{
    return memmem(e->weight.name, e->weight.name_len, ".experts.", strlen(".experts.")) != NULL;
}

/* vLLM reads FP8 without quantized activations (_is_fp8_w8a16 of compressed_tensors.py), except of experts (get_moe_method() of
 * compressed_tensors_moe.py), but no INT8 in this format (_get_scheme_from_parts). The loaders of FP8 quantize activations. */
bool
hf_quantizer_activates(const struct hf_quantizer *q, const struct encoding *e)
{
    bool exact = e->exact && e->exact->source.codes != EXACT_FP8, fp8 = q->activations && strcmp(q->type, "float") == 0;
    return q->activations && !(exact && fp8 && !is_expert(e));
}

static bool
has_experts(const struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        if (strstr(names->name[i], ".experts."))
            return true;
    return false;
}

/* Puts the targets of a group: all Linear modules for the first, names for other groups and for embeddings. transformers
 * recognizes a group of experts by a regex that contains "experts". */
static void
put_targets(struct str *out, const struct hf_modules *m, size_t i)
{
    const struct names *names = &m->group[i].names;
    bool first = i != 0, experts = i != 0 && has_experts(names);
    str_text(out, i == 0 ? "\"Linear\"" : "");
    for (size_t j = 0; j < names->n; j++) {
        if (i == 0 && !hf_modules_is_embedding(names->name[j]))
            continue;
        str_text(out, first ? "" : ", ");
        first = false;
        if (experts && strstr(names->name[j], ".experts."))
            hf_modules_expression(out, "re:", names->name[j]);
        else
            hf_modules_name(out, names->name[j]);
    }
}

static void
put_weights(struct str *out, const struct hf_module_group *group)
{
    const struct hf_quantizer *q = group->quantizer;
    const struct encode_options *how = &group->e->options;
    str_format(out, "\"weights\": {\"num_bits\": %u, \"type\": \"%s\", \"symmetric\": %s, \"group_size\": ", q->bits, q->type,
        how->asymmetric ? "false" : "true");
    if (how->group_size != 0)
        str_format(out, "%u", (unsigned)how->group_size);
    else
        str_text(out, "null");
    str_format(out, ", \"strategy\": \"%s\", \"dynamic\": false%s", q->strategy, group->e->order ? ", \"actorder\": \"group\"" : "");
    if (q->scale)
        str_format(out, ", \"scale_dtype\": \"%s\"", q->scale);
    if (group->inputs)
        str_format(out, "}, \"input_activations\": {\"num_bits\": %u, \"type\": \"%s\", \"symmetric\": true, \"group_size\": %u, "
            "\"strategy\": \"%s\", \"dynamic\": \"local\", \"scale_dtype\": \"%s\"}", q->bits, q->type, (unsigned)how->group_size,
            q->strategy, q->scale);
    else if (hf_quantizer_activates(q, group->e))
        str_format(out, "}, \"input_activations\": {\"num_bits\": %u, \"type\": \"%s\", \"symmetric\": true, "
            "\"group_size\": null, \"strategy\": \"token\", \"dynamic\": true}", q->bits, q->type);
    else
        str_text(out, "}, \"input_activations\": null");
    str_text(out, ", \"output_activations\": null");
}

static void
config_ct(struct str *out, const struct hf_modules *m)
{
    bool mixed = false;
    for (size_t i = 1; i < m->n; i++)
        mixed = mixed || strcmp(m->group[i].quantizer->word, m->group[0].quantizer->word) != 0;
    str_text(out, "{\"config_groups\": {");
    for (size_t i = 0; i < m->n; i++) {
        str_format(out, "%s\"group_%zu\": {\"targets\": [", i != 0 ? ", " : "", i);
        put_targets(out, m, i);
        str_text(out, "], ");
        put_weights(out, &m->group[i]);
        if (mixed)
            str_format(out, ", \"format\": \"%s\"", m->group[i].quantizer->word);
        str_text(out, "}");
    }
    str_format(out, "}, \"quant_method\": \"compressed-tensors\", \"kv_cache_scheme\": null, \"format\": \"%s\", "
        "\"quantization_status\": \"compressed\", \"global_compression_ratio\": null, \"ignore\": ",
        mixed ? "mixed-precision" : m->group[0].quantizer->word);
    hf_modules_ignored(out, m);
    str_text(out, "}");
}

/* --- ModelOpt */

/* Declares activations only if their scales are known, because all weights have them from an exact source. */
static void
config_modelopt(struct str *out, const struct hf_modules *m)
{
    const struct hf_module_group *group = &m->group[0];
    unsigned size = (unsigned)group->e->options.group_size;
    str_text(out, "{\"config_groups\": {\"group_0\": {");
    if (group->inputs)
        str_format(out, "\"input_activations\": {\"dynamic\": false, \"num_bits\": 4, \"type\": \"float\", \"group_size\": %u}, ", size);
    str_format(out, "\"weights\": {\"dynamic\": false, \"num_bits\": 4, \"type\": \"float\", \"group_size\": %u}, "
        "\"targets\": [\"Linear\"]}}, \"ignore\": ", size);
    hf_modules_ignored(out, m);
    str_format(out, ", \"quant_algo\": \"%s\", \"quant_method\": \"modelopt\"}", group->inputs ? "NVFP4" : group->quantizer->word);
}

/* --- GPTQ and AWQ */

static bool
is_head_alone(const struct names *kept)
{
    return kept->n == 0 || (kept->n == 1 && hf_modules_is_head(kept->name[0]));
}

/* Puts what a group has and the first one has not. */
static void
put_differences(struct str *out, const struct hf_module_group *group, const struct hf_module_group *first)
{
    const struct encode_options *how = &group->e->options, *usual = &first->e->options;
    str_text(out, "{");
    if (group->quantizer->bits != first->quantizer->bits)
        str_format(out, "\"bits\": %u", group->quantizer->bits);
    if (how->group_size != usual->group_size)
        str_format(out, "%s\"group_size\": %u", out->len > 1 ? ", " : "", (unsigned)how->group_size);
    if (how->asymmetric != usual->asymmetric)
        str_format(out, "%s\"sym\": %s", out->len > 1 ? ", " : "", how->asymmetric ? "false" : "true");
    str_text(out, "}");
}

/* Puts exceptions other than heads. optimum needs the quantized modules, GPTQModel those that are not quantized or have
 * other bits. */
static void
put_exceptions(struct str *out, const struct hf_modules *m)
{
    bool first = true;
    if (m->n == 1 && is_head_alone(&m->kept))
        return;
    str_text(out, ", \"modules_in_block_to_quantize\": ");
    hf_modules_ends(out, m);
    str_text(out, ", \"dynamic\": {");
    hf_modules_members(out, &first, m, &m->kept, "-:", "{}");
    for (size_t i = 1; i < m->n; i++) {
        struct str value = { 0 };
        put_differences(&value, &m->group[i], &m->group[0]);
        if (value.failed)
            out->failed = true;
        else
            hf_modules_members(out, &first, m, &m->group[i].names, "+:", value.p);
        str_clear(&value);
    }
    str_text(out, "}");
}

static void
config_gptq(struct str *out, const struct hf_modules *m)
{
    const struct encode_options *how = &m->group[0].e->options;
    unsigned bits = m->group[0].quantizer->bits;
    str_format(out, "{\"quant_method\": \"gptq\", \"bits\": %u, \"group_size\": %u, \"desc_act\": %s, \"sym\": %s, ", bits,
        (unsigned)how->group_size, m->ordered ? "true" : "false", how->asymmetric ? "false" : "true");
    if (m->head_encoded)
        str_text(out, "\"lm_head\": true, ");
    str_text(out, "\"checkpoint_format\": \"gptq\"");
    put_exceptions(out, m);
    str_text(out, "}");
    bool widths = false;
    for (size_t i = 1; i < m->n; i++)
        widths = widths || m->group[i].quantizer->bits != bits;
    if (widths)
        catalog_warn(m->catalog, "weights have 4 and 8 bits: GPTQModel and vLLM support that, transformers reads all of them "
            "as %u bits", bits);
    else if (m->n > 1)
        catalog_warn(m->catalog, "weights have several group sizes, or only some have zero points: GPTQModel supports that, transformers "
            "reads all of them like most; --group-size or --asymmetric makes them alike");
    if (m->head_encoded)
        catalog_warn(m->catalog, "the output head is quantized: GPTQModel and vLLM support that, transformers does not");
}

static void
config_awq(struct str *out, const struct hf_modules *m)
{
    str_format(out, "{\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": %u, \"zero_point\": true, "
        "\"version\": \"gemm\", \"modules_to_not_convert\": ", (unsigned)m->group[0].e->options.group_size);
    hf_modules_not_converted(out, m, false);
    str_text(out, "}");
    if (m->head_encoded)
        catalog_warn(m->catalog, "the output head is quantized, which no AWQ loader supports");
    if (m->n > 1)
        catalog_warn(m->catalog, "weights have several group sizes, which no AWQ loader supports; --group-size makes them alike");
}

/* --- MLX */

static void
put_affine(struct str *out, const struct hf_module_group *group)
{
    str_format(out, "{\"group_size\": %u, \"bits\": %u, \"mode\": \"%s\"", (unsigned)group->e->options.group_size,
        group->quantizer->bits, str_or(group->quantizer->word, "affine"));
}

/* mlx-lm treats every module that has scales as quantized, whatever the config declares; modules with other bits are named. */
static void
config_mlx(struct str *out, const struct hf_modules *m)
{
    put_affine(out, &m->group[0]);
    for (size_t i = 1; i < m->n; i++)
        for (size_t j = 0; j < m->group[i].names.n; j++) {
            str_text(out, ", ");
            hf_modules_name(out, m->group[i].names.name[j]);
            str_text(out, ": ");
            put_affine(out, &m->group[i]);
            str_text(out, "}");
        }
    str_text(out, "}");
}

/* --- gpt-oss */

static void
config_gptoss(struct str *out, const struct hf_modules *m)
{
    str_text(out, "{\"quant_method\": \"mxfp4\", \"modules_to_not_convert\": ");
    hf_modules_not_converted(out, m, false);
    str_text(out, "}");
}

/* --- the rows */

/* The scales of FP8 have one type. bitsandbytes and MLX weights describe themselves. */
static const struct hf_loader fp8 = { .config = config_fp8, .experts = hf_quantizer_experts },
    bnb4 = { config_bnb, .mixes = true }, bnb8 = { config_bnb, .mixes = true },
    ct = { config_ct, .mixes = true, .embeddings = true, .groups = true, .orders = true },
    auto_round = { .config = config_auto_round, .in_files = true }, modelopt = { .config = config_modelopt },
    gptq = { config_gptq, .mixes = true, .groups = true }, awq = { config_awq, .mixes = true, .groups = true },
    mlx = { config_mlx, .alias = "quantization", .in_files = true, .mixes = true, .embeddings = true, .groups = true },
    gptoss = { .config = config_gptoss }, mxfp8 = { .config = config_mxfp8 },
    modelslim = { .config = config_modelslim, .file = "quant_model_description.json", .mixes = true }, gemma = { .config = config_gemma, .in_files = true },
    quark = { .config = config_quark, .in_files = true, .groups = true };

#define NONE(name, reader) { name, .loader = NULL, .word = reader }
#define BNB4(name, word_, nested_) { name, &bnb4, word_, 4, .nested = nested_, .apart = HF_APART }
#define FLOAT8(name, strategy_) { name, &ct, "float-quantized", 8, .activations = true, .type = "float", .strategy = strategy_ }
#define MX(name, format, n, strategy_, scale_) name, &ct, format, .bits = n, .type = "float", .strategy = strategy_, \
    .scale = scale_
#define MLX(n) { "mlx-" #n "bit", &mlx, .bits = n }

/* transformers 5 multiplies MXFP8 experts by the raw bytes of their scales, and ignores the per-tensor scale of NVFP4. It
 * replaces Linear modules, so with most other schemes it reads experts only as separate modules. */
static const struct hf_quantizer rows[] = {
    { "fp8", &fp8, .word = "float" }, { "fp8-fine-grained", &fp8, .word = "float" }, { "fp8-division", &fp8, .word = "float" },
    { "fp8-ue8m0", &fp8, .word = "ue8m0" }, FLOAT8("fp8-per-channel", "channel"), FLOAT8("fp8-per-tensor", "tensor"),
    NONE("fp8-e5m2", NULL), NONE("fp8-fine-grained-e5m2", NULL), NONE("fp8-per-channel-e5m2", NULL),
    NONE("fp8-per-tensor-e5m2", NULL),
    BNB4("nf4", "nf4", false), BNB4("bnb-nf4", "nf4", false), BNB4("fp4", "fp4", false), BNB4("bnb-fp4", "fp4", false),
    BNB4("fp4-cpu", "fp4", false), BNB4("nf4-double-quant", "nf4", true), BNB4("bnb-nf4-double-quant", "nf4", true),
    BNB4("fp4-double-quant", "fp4", true), BNB4("bnb-fp4-double-quant", "fp4", true),
    BNB4("fp4-cpu-double-quant", "fp4", true),
    { "int8", &bnb8, "fp4", 8, .apart = HF_APART }, { "bnb-int8", &bnb8, "fp4", 8, .apart = HF_APART },
    { "int8-channel", &ct, "int-quantized", 8, .activations = true, .type = "int", .strategy = "channel", .apart = HF_APART,
        .loses_experts = true },
    { "int4-group", &ct, "pack-quantized", 4, .type = "int", .strategy = "group", .apart = HF_APART_ASYMMETRIC,
        .loses_experts = true },
    { "gptq", &gptq, .bits = 4, .apart = HF_APART }, { "gptq-8bit", &gptq, .bits = 8, .apart = HF_APART },
    { "awq", &awq, .bits = 4, .apart = HF_APART },
    { MX("mxfp4", "mxfp4-pack-quantized", 4, "group", "torch.uint8"), .loses_experts = true },
    { MX("mxfp8", "mxfp8-quantized", 8, "group", "torch.uint8"), .apart = HF_APART },
    { MX("nvfp4", "nvfp4-pack-quantized", 4, "tensor_group", "torch.float8_e4m3fn"), .apart = HF_APART, .loses_experts = true },
    { "minimax-mxfp8", &mxfp8, .word = "mxfp8" },
    { "nvfp4-e5m3", &auto_round, "auto_round:llm_compressor_nvfp4_e5m3", .bits = 4, .apart = HF_APART },
    { "modelslim-w8a8", &modelslim, .word = "W8A8_DYNAMIC", .bits = 8, .apart = HF_APART },
    { "modelslim-w4a8", &modelslim, .word = "W4A8_DYNAMIC", .bits = 4, .apart = HF_APART },
    { "quark-int4", &quark, .word = "int4", .bits = 4, .apart = HF_APART },
    { "gemma-8bit", &gemma, .word = "8", .bits = 8, .apart = HF_APART },
    { "gemma-4bit", &gemma, .word = "4", .bits = 4, .apart = HF_APART },
    { "modelopt-mxfp4", &modelopt, .word = "MXFP4" }, { "modelopt-nvfp4", &modelopt, .word = "W4A16_NVFP4" },
    { "mlx-mxfp4", &mlx, .word = "mxfp4", .bits = 4 }, { "mlx-mxfp8", &mlx, .word = "mxfp8", .bits = 8 },
    { "mlx-nvfp4", &mlx, .word = "nvfp4", .bits = 4 }, { "gptoss-mxfp4", &gptoss, .word = NULL }, 
    { "deepseek-fp4", &fp8, .word = "ue8m0", .experts = "fp4" },
    MLX(2), MLX(3), MLX(4), MLX(5), MLX(6), MLX(8),
    NONE("comfy-fp8", "ComfyUI"), NONE("comfy-int8", "ComfyUI"), NONE("comfy-mxfp8", "ComfyUI"),
    NONE("comfy-nvfp4", "ComfyUI"),
};

const struct hf_quantizer *
hf_quantizer_of(const struct encoder *encoder)
{
    for (size_t i = 0; encoder->held != KEEPS_BLOCKS && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].encoder, encoder->name) == 0)
            return &rows[i];
    return NULL;
}

bool
hf_quantizer_mixes(const struct hf_quantizer *a, const struct hf_quantizer *b)
{
    return a->loader == b->loader && (a->loader->mixes || strcmp(a->word, b->word) == 0);
}

/* --- gaps */

/* A known gap of a loader, and the weights it affects: those that meet any of the conditions. */
static const struct gap_rule {
    const struct hf_loader *loader;
    const char *encoder;                /* NULL: all encoders of the loader */
    enum hf_gap gap;
    bool always, asymmetric, ragged;    /* all weights; with zero points; with partial blocks of 128 */
    bool others;                        /* those that are not experts */
    bool ordered;                       /* with groups of columns that are not neighbours */
    uint32_t group;                     /* with more elements per group than this; 0: any */
    const char *why;
} gaps[] = {
    /* Fp8Dequantize divides the weight's rows by the scale's rows to find the block size. */
    { &fp8, "deepseek-fp4", HF_GAP_REFUSED, .others = true, .why = "loaders of DeepSeek's FP4 read only experts in it" },
    { &fp8, NULL, HF_GAP_DIFFERS, .ragged = true, .why = "dimensions are not multiples of 128; transformers 5 dequantizes such "
        "weights incorrectly, as it does without a GPU" },
    /* compressed-tensors creates a model without packed zero points, and transformers loads into that. */
    { &ct, "int4-group", HF_GAP_DIFFERS, .asymmetric = true, .why = "transformers 5 reads zero points of groups only "
        "with \"dequantize\": true in quantization_config" },
    /* Sources in vLLM 0.32: QUANT_ALGOS of quantization/modelopt.py, _is_dynamic_token_w8a8 of compressed_tensors.py, the
     * types of auto_gptq.py, and MARLIN_SUPPORTED_GROUP_SIZES of utils/marlin_utils.py. */
    { &modelopt, "modelopt-mxfp4", HF_GAP_REFUSED, .always = true, .why = "vLLM 0.32 does not support ModelOpt's MXFP4; "
        "use --scheme mxfp4" },
    { &ct, "int8-channel", HF_GAP_REFUSED, .asymmetric = true, .why = "vLLM 0.32 does not support INT8 with zero points; "
        "use --symmetric" },
    { &gptq, NULL, HF_GAP_REFUSED, .asymmetric = true, .why = "vLLM 0.32 does not support GPTQ with zero points; use "
        "--symmetric" },
    { &gptq, NULL, HF_GAP_REFUSED, .group = 128, .why = "vLLM 0.32 does not support groups of more than 128" },
    { &awq, NULL, HF_GAP_REFUSED, .group = 128, .why = "vLLM 0.32 does not support groups of more than 128" },
    /* validate_actorder of compressed-tensors' quantization/quant_args.py. */
    { &ct, "int4-group", HF_GAP_REMOVED, .ordered = true, .why = "groups consist of columns in another order (weight_g_idx), which "
        "compressed-tensors reads up to version 0.18 only; --scheme gptq has that order, too" },
    { &ct, "int4-group", HF_GAP_REFUSED, .group = 128, .why = "vLLM 0.32 does not support groups of more than 128" },
};

static bool
is_ragged(const struct encoding *e)
{
    uint64_t rows = e->weight.shape.rank < 2 ? 1 : shape_dim(&e->weight.shape, e->weight.shape.rank - 2);
    return (rows > 128 && rows % 128 != 0) || (e->cols > 128 && e->cols % 128 != 0);
}

const char *
hf_quantizer_gap(const struct hf_quantizer *q, const struct encoding *e, enum hf_gap gap)
{
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        const struct gap_rule *r = &gaps[i];
        if (r->gap == gap && r->loader == q->loader && (!r->encoder || strcmp(r->encoder, q->encoder) == 0)
                && (r->always || (r->others && !is_expert(e)) || (r->asymmetric && e->options.asymmetric) || (r->ragged && is_ragged(e))
                    || (r->ordered && e->order)
                    || (r->group != 0 && e->options.group_size > r->group)))
            return r->why;
    }
    return NULL;
}
