/* hf/names: llama.cpp's names of the tensors of each class. The expected names are the table of gguf-py's tensor_mapping,
 * written out. */
#include <string.h>

#include "hf/names.h"
#include "check.h"

static struct hf_name
read(const char *class, const char *name)
{
    return hf_name_read(hf_family_find(class, strlen(class)), name, strlen(name));
}

static bool
is(const char *class, const char *name, const char *word, const char *suffix, int64_t layer, enum hf_change change)
{
    const struct hf_name n = read(class, name);
    return !n.drops && n.word && strcmp(n.word, word) == 0 && strcmp(n.suffix, suffix) == 0 && n.layer == layer
        && n.change == change;
}

static const char llama[] = "LlamaForCausalLM", mixtral[] = "MixtralForCausalLM", qwen3[] = "Qwen3ForCausalLM",
    moe[] = "Qwen3MoeForCausalLM", moe2[] = "Qwen2MoeForCausalLM", gemma[] = "Gemma3ForCausalLM",
    pictures[] = "Gemma3ForConditionalGeneration", phi[] = "Phi3ForCausalLM";

static void
words(void)
{
    CHECK(is(llama, "model.embed_tokens.weight", "token_embd", ".weight", -1, HF_EMBEDDING));
    CHECK(is(llama, "model.norm.weight", "output_norm", ".weight", -1, HF_AS_IS));
    CHECK(is(llama, "lm_head.weight", "output", ".weight", -1, HF_HEAD));
    CHECK(is(gemma, "lm_head.weight", "output", ".weight", -1, HF_HEAD));
    CHECK(is(pictures, "language_model.lm_head.weight", "output", ".weight", -1, HF_HEAD));
    CHECK(is(llama, "layers.0.mlp.up_proj.weight", "ffn_up", ".weight", 0, HF_AS_IS));
    CHECK(is(llama, "model.layers.0.self_attn.q_proj.weight", "attn_q", ".weight", 0, HF_QUERY));
    CHECK(is(llama, "model.layers.12.self_attn.k_proj.bias", "attn_k", ".bias", 12, HF_KEY));
    CHECK(is(llama, "model.layers.3.post_attention_layernorm.weight", "ffn_norm", ".weight", 3, HF_AS_IS));
    CHECK(is(gemma, "model.layers.3.post_attention_layernorm.weight", "post_attention_norm", ".weight", 3, HF_AS_IS));
    CHECK(is(gemma, "model.layers.3.pre_feedforward_layernorm.weight", "ffn_norm", ".weight", 3, HF_AS_IS));
    CHECK(is(gemma, "model.layers.3.self_attn.q_norm.weight", "attn_q_norm", ".weight", 3, HF_AS_IS));
    CHECK(is(qwen3, "model.layers.3.self_attn.q_norm.weight", "attn_q_norm", ".weight", 3, HF_AS_IS));
    CHECK(is(phi, "model.layers.1.self_attn.qkv_proj.weight", "attn_qkv", ".weight", 1, HF_AS_IS));
    CHECK(is(phi, "model.layers.1.mlp.gate_up_proj.weight", "ffn_up", ".weight", 1, HF_AS_IS));
    CHECK(is(mixtral, "model.layers.1.block_sparse_moe.gate.weight", "ffn_gate_inp", ".weight", 1, HF_AS_IS));
    CHECK(is(mixtral, "model.layers.1.block_sparse_moe.experts.7.w2.weight", "ffn_down_exps", ".weight", 1, HF_EXPERT));
    CHECK(is(moe, "model.layers.47.mlp.experts.127.up_proj.weight", "ffn_up_exps", ".weight", 47, HF_EXPERT));
    CHECK(read(moe, "model.layers.47.mlp.experts.127.up_proj.weight").expert == 127);
    CHECK(is(moe, "model.layers.0.mlp.experts.down_proj", "ffn_down_exps", ".weight", 0, HF_EXPERTS));
    CHECK(is(moe, "model.layers.0.mlp.experts.gate_up_proj", "ffn_gate_exps", ".weight", 0, HF_EXPERTS_GATE_UP));
    CHECK(is(moe2, "model.layers.0.mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp", ".weight", 0, HF_AS_IS));
    CHECK(is(pictures, "model.language_model.layers.2.mlp.up_proj.weight", "ffn_up", ".weight", 2, HF_AS_IS));
    CHECK(is(pictures, "language_model.model.layers.2.mlp.up_proj.weight", "ffn_up", ".weight", 2, HF_AS_IS));
}

static void
drops(void)
{
    CHECK(read(llama, "model.layers.0.self_attn.rotary_emb.inv_freq").drops);
    CHECK(read(pictures, "model.vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight").drops);
    CHECK(!read(gemma, "model.vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight").drops);
    CHECK(!read(llama, "lm_head.weight").drops);
}

static void
none(void)
{
    static const char *const names[] = {
        "", "model", "model.layers.", "model.layers.0", "model.layers.0.", "model.layers..mlp.up_proj.weight",
        "model.layers.01.mlp.up_proj.weight", "model.layers.-1.mlp.up_proj.weight", "model.layers.99999999.mlp.up_proj.weight",
        "model.layers.0.mlp.up_proj", "model.layers.0.mlp.up_proj.scale", "model.layers.0.mlp.up_projx.weight",
        "model.layers.0.mlp.up_pro.weight", "model.layers.0.self_attn.q_norm.weight",
        "model.layers.0.mlp.experts.0.up_proj.weight", "model.layers.0.self_attn.qkv_proj.weight", "lm_head",
        "lm_head.weight.weight", "model.embed_tokens", "xmodel.norm.weight",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct hf_name n = read(llama, names[i]);
        CHECK(!n.word && !n.drops);
    }
    CHECK(!read(moe, "model.layers.0.mlp.experts..up_proj.weight").word);
    CHECK(!read(moe, "model.layers.0.mlp.experts.1x.up_proj.weight").word);
    CHECK(!hf_family_find("BertModel", 9) && !hf_family_find("Llama", 5));
}

static void
order(void)
{
    const struct hf_family *x = hf_family_find(mixtral, strlen(mixtral)), *q = hf_family_find(moe, strlen(moe));
    CHECK(hf_expert_order(x, "ffn_gate_exps") == 0 && hf_expert_order(x, "ffn_down_exps") == 1
        && hf_expert_order(x, "ffn_up_exps") == 2);
    CHECK(hf_expert_order(q, "ffn_down_exps") == 0 && hf_expert_order(q, "ffn_gate_exps") == 1
        && hf_expert_order(q, "ffn_up_exps") == 2);
}

int
main(void)
{
    words();
    drops();
    none();
    order();
    return check_done("hf_names");
}
