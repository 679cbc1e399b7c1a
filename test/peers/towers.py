"""towers: tiny models with towers, by name: the class of transformers and its configuration, or the shapes of the tensors by name; and the
files that say how pictures and sound are prepared."""

CLIP = {"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}
HALF = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
BREAK = {"added_tokens_decoder": {"7": {"content": "[IMG_BREAK]", "special": True}}}
TEXT = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 320,
        "max_position_embeddings": 256}
MROPES = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3], "mrope_interleaved": True}}
LINEAR = {"linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
          "layer_types": ["full_attention"], "head_dim": 16}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32}
VIT = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4, "image_size": 56, "patch_size": 14}
QWEN3 = {"depth": 4, "hidden_size": 32, "intermediate_size": 48, "num_heads": 4, "out_hidden_size": 64, "patch_size": 16,
         "num_position_embeddings": 64, "deepstack_visual_indexes": [1, 2]}
MROPE = {"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}

CASES = {
    "qwen2-vl": {"class": "Qwen2VLForConditionalGeneration", "files": {"preprocessor_config.json": CLIP}, "config": {
        "text_config": {**TEXT, **MROPE}, "vision_config": {
            "depth": 3, "embed_dim": 32, "hidden_size": 64, "num_heads": 4, "mlp_ratio": 2, "patch_size": 14, "in_channels": 3}}},
    "qwen2.5-vl": {"text": True, "class": "Qwen2_5_VLForConditionalGeneration", "files": {"preprocessor_config.json": CLIP}, "config": {
        "text_config": {**TEXT, **MROPE}, "vision_config": {
            "depth": 4, "hidden_size": 32, "intermediate_size": 48, "num_heads": 4, "out_hidden_size": 64, "patch_size": 14,
            "fullatt_block_indexes": [1, 3], "window_size": 112}}},
    "qwen3-vl": {"class": "Qwen3VLForConditionalGeneration", "files": {"preprocessor_config.json": HALF}, "config": {
        "text_config": {**TEXT, **MROPES, "head_dim": 16}, "vision_config": QWEN3}},
    "qwen3-vl-moe": {"class": "Qwen3VLMoeForConditionalGeneration", "files": {"preprocessor_config.json": HALF}, "config": {
        "text_config": {**TEXT, **MROPES, **EXPERTS, "head_dim": 16}, "vision_config": QWEN3}},
    "qwen3.5": {"class": "Qwen3_5ForConditionalGeneration", "files": {"preprocessor_config.json": HALF}, "config": {
        "text_config": {**TEXT, **MROPES, **LINEAR}, "vision_config": {**QWEN3, "deepstack_visual_indexes": []}}},
    "qwen3.5-moe": {"class": "Qwen3_5MoeForConditionalGeneration", "files": {"preprocessor_config.json": HALF}, "config": {
        "text_config": {**TEXT, **MROPES, **LINEAR, **EXPERTS}, "vision_config": {**QWEN3, "deepstack_visual_indexes": []}}},
    "gemma3": {"class": "Gemma3ForConditionalGeneration", "published": [("^vision_tower.", "vision_tower.vision_model.")],
        "files": {"preprocessor_config.json": {**HALF, "image_seq_length": 4}}, "config": {
        "text_config": {**TEXT, "head_dim": 16}, "vision_config": VIT, "mm_tokens_per_image": 4}},
    "mistral3": {"class": "Mistral3ForConditionalGeneration", "more": {"v.token_embd.img_break": ("language_model.model.embed_tokens.weight", 7)},
        "files": {"preprocessor_config.json": CLIP, "tokenizer_config.json": BREAK},
        "config": {"text_config": {**TEXT, "model_type": "mistral"}, "vision_config": {**VIT, "model_type": "pixtral", "hidden_act": "silu", "head_dim": 8}}},
    "pixtral": {"class": "LlavaForConditionalGeneration", "more": {"v.token_embd.img_break": ("language_model.model.embed_tokens.weight", 7)},
        "files": {"preprocessor_config.json": CLIP, "tokenizer_config.json": BREAK},
        "config": {"text_config": {**TEXT, "model_type": "mistral"}, "vision_config": {**VIT, "model_type": "pixtral", "hidden_act": "gelu", "head_dim": 8}}},
    "internvl": {"class": "InternVLForConditionalGeneration", "published": [("^(vision_tower|multi)", "model.\\1")],
        "files": {"preprocessor_config.json": CLIP},
        "config": {"text_config": {**TEXT, "model_type": "qwen2"}, "vision_config": {**VIT, "image_size": [56, 56], "patch_size": [14, 14],
            "use_qk_norm": True, "attention_bias": True, "architectures": ["InternVisionModel"]}}},
    "llama4": {"class": "Llama4ForConditionalGeneration", "loader": [(".attn_post_norm.", ".ln2.")],
        "files": {"preprocessor_config.json": HALF}, "config": {
        "text_config": {**TEXT, "intermediate_size_mlp": 96, "head_dim": 16, "num_local_experts": 2},
        "vision_config": {**VIT, "vision_output_dim": 64, "projector_input_dim": 64, "projector_output_dim": 64, "intermediate_size": 128}}},
    "idefics3": {"class": "Idefics3ForConditionalGeneration", "files": {"preprocessor_config.json": {**HALF, "size": {"longest_edge": 112}}},
        "config": {"text_config": {**TEXT, "model_type": "llama"}, "vision_config": VIT}},
    "smolvlm": {"class": "SmolVLMForConditionalGeneration", "files": {"preprocessor_config.json": HALF},
        "config": {"text_config": {**TEXT, "model_type": "llama"}, "vision_config": VIT, "scale_factor": 4}},
    "lfm2-vl": {"class": "Lfm2VlForConditionalGeneration", "published": [("^model.vision_tower.", "vision_tower.vision_model.")],
        "files": {"preprocessor_config.json": HALF}, "config": {
        "text_config": {**TEXT, "model_type": "lfm2", "full_attn_idxs": [0]}, "vision_config": {
            **VIT, "model_type": "siglip2_vision_model", "patch_size": 16, "num_patches": 16, "vision_use_head": False}}},
    "glm4v": {"class": "Glm4vForConditionalGeneration", "files": {"preprocessor_config.json": CLIP}, "config": {
        "text_config": {**TEXT, **MROPES}, "vision_config": {**QWEN3, "patch_size": 14, "image_size": 56}}},
    "glm4v-moe": {"class": "Glm4vMoeForConditionalGeneration", "files": {"preprocessor_config.json": CLIP}, "config": {
        "text_config": {**TEXT, **MROPES, "n_routed_experts": 4, "moe_intermediate_size": 32}, "vision_config": {**QWEN3, "patch_size": 14, "image_size": 56}}},
    "glm-ocr": {"class": "GlmOcrForConditionalGeneration", "files": {"preprocessor_config.json": CLIP}, "config": {
        "text_config": {**TEXT, **MROPES, "head_dim": 16}, "vision_config": {**QWEN3, "patch_size": 14, "image_size": 56}}},
}
