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
WHISPER = {"num_mel_bins": 16, "encoder_layers": 4, "encoder_attention_heads": 4, "encoder_ffn_dim": 48, "d_model": 32, "output_dim": 64,
           "max_source_positions": 16}
MROPE = {"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}

THINKER = [("^", "thinker.")]


def wrapped(config, name, kind):
    """Returns the configuration of a model whose thinker this one is."""
    return {"architectures": [name], "model_type": kind, "thinker_config": config}


def affine(prefix, sizes, bias=True):
    """Returns the shapes of weights by name, and of their biases."""
    sizes = {prefix + n: s if isinstance(s, tuple) else (s,) for n, s in sizes.items()}
    return {**{n + ".weight": s for n, s in sizes.items()}, **({n + ".bias": s[:1] for n, s in sizes.items()} if bias else {})}


def shapes(prefix, layers, sizes, bias=True):
    """Returns the shapes of the weights of layers by name."""
    return {n: s for b in range(layers) for n, s in affine("%s.%d." % (prefix, b), sizes, bias).items()}


SIGLIP = {"layer_norm1": 32, "layer_norm2": 32, "self_attn.q_proj": (32, 32), "self_attn.k_proj": (32, 32), "self_attn.v_proj": (32, 32),
          "self_attn.out_proj": (32, 32), "mlp.fc1": (48, 32), "mlp.fc2": (32, 48)}
WHISPERED = {**shapes("audio_tower.layers", 4, {"self_attn_layer_norm": 32, "final_layer_norm": 32, "self_attn.q_proj": (32, 32), "self_attn.v_proj": (32, 32),
                                               "self_attn.out_proj": (32, 32), "fc1": (48, 32), "fc2": (32, 48)}),
             **shapes("audio_tower.layers", 4, {"self_attn.k_proj": (32, 32)}, bias=False), "audio_tower.embed_positions.weight": (16, 32),
             **affine("audio_tower.", {"conv1": (32, 16, 3), "conv2": (32, 32, 3), "layer_norm": 32})}
SAM = {**shapes("model.sam_model.blocks", 2, {"norm1": 32, "norm2": 32, "attn.qkv": (96, 32), "attn.proj": (32, 32), "mlp.lin1": (48, 32), "mlp.lin2": (32, 48)}),
       **{"model.sam_model.blocks.%d.attn.rel_pos_%s" % (b, a): (7, 8) for b in range(2) for a in "hw"}, "model.sam_model.pos_embed": (1, 4, 4, 32),
       **affine("model.sam_model.", {"patch_embed.proj": (32, 3, 16, 16), "neck.1": 16, "neck.3": 16}), **affine("model.sam_model.", {"neck.0": (16, 32, 1, 1),
       "neck.2": (16, 16, 3, 3), "net_2": (32, 16, 3, 3), "net_3": (48, 32, 3, 3)}, bias=False), "model.view_seperator": (64,), "model.image_newline": (64,),
       **affine("model.projector.", {"layers": (64, 80)})}

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
    "qwen2.5-omni": {"class": "Qwen2_5OmniThinkerForConditionalGeneration", "part": True, "published": THINKER, "wrapped": ("Qwen2_5OmniModel", "qwen2_5_omni"),
       
        "files": {"preprocessor_config.json": CLIP}, "config": {"text_config": {**TEXT, **MROPES}, "audio_config": WHISPER,
            "vision_config": {"depth": 4, "hidden_size": 32, "intermediate_size": 48, "num_heads": 4, "out_hidden_size": 64, "patch_size": 14,
                "fullatt_block_indexes": [1, 3], "window_size": 112}}},
    "qwen3-omni": {"class": "Qwen3OmniMoeThinkerForConditionalGeneration", "part": True, "published": [("^audio_tower", "thinker.audio_tower")],
        "wrapped": ("Qwen3OmniMoeForConditionalGeneration", "qwen3_omni_moe"),
        "files": {"preprocessor_config.json": HALF}, "config": {"text_config": {**TEXT, **MROPES, **EXPERTS, "head_dim": 16},
            "audio_config": {**WHISPER, "downsample_hidden_size": 16}, "vision_config": QWEN3}},
    "qwen3-asr": {"class": "Qwen3ASRForConditionalGeneration", "wrapped": ("Qwen3ASRForConditionalGeneration", "qwen3_asr"), "published": [
        ("^model.language_model", "model"), ("^model.multi_modal_projector.linear_", "audio_tower.proj"), ("^model.audio", "audio"), *THINKER],
        "files": {"preprocessor_config.json": {}},
        "config": {"text_config": {**TEXT, "model_type": "qwen3", "head_dim": 16}, "audio_config": {**WHISPER, "downsample_hidden_size": 16}}},
    "qwen2-audio": {"class": "Qwen2AudioForConditionalGeneration", "files": {"preprocessor_config.json": {}},
        "config": {"text_config": {**TEXT, "model_type": "qwen2"}, "audio_config": WHISPER}},
    "voxtral": {"class": "VoxtralForConditionalGeneration", "files": {"preprocessor_config.json": {}},
        "config": {"text_config": {**TEXT, "model_type": "llama"}, "audio_config": {**VIT, "max_source_positions": 16, "num_mel_bins": 16, "intermediate_size": 128}}},
    "audio-flamingo": {"class": "AudioFlamingo3ForConditionalGeneration", "files": {"preprocessor_config.json": {}},
        "config": {"text_config": {**TEXT, "model_type": "qwen2"}, "audio_config": {**VIT, "max_source_positions": 16, "num_mel_bins": 16}}},
    "janus": {"class": "JanusForConditionalGeneration", "files": {"preprocessor_config.json": HALF},
        "config": {"text_config": {**TEXT, "model_type": "llama"}, "vision_config": {**VIT, "mlp_ratio": 1.5, "projection_dim": 64}, "vq_config": {"num_embeddings": 8, "embed_dim": 8, "latent_channels": 32, "base_channels": 32, "channel_multiplier": [1, 1], "num_res_blocks": 1, "projection_dim": 64}}},
    "lighton-ocr": {"class": "LightOnOcrForConditionalGeneration", "also": {"architectures": ["LightOnOCRForConditionalGeneration"]}, "files": {"preprocessor_config.json": CLIP},
        "config": {"text_config": {**TEXT, "model_type": "qwen3", "head_dim": 16}, "vision_config": {**VIT, "model_type": "pixtral", "hidden_act": "silu", "head_dim": 8}}},
    "paddleocr-vl": {"class": "PaddleOCRVLForConditionalGeneration", "also": {"architectures": ["PaddleOCRVisionModel"]},
        "files": {"preprocessor_config.json": {**HALF, "min_pixels": 3136, "max_pixels": 12544}},
        "config": {"text_config": {**TEXT, **MROPES, "head_dim": 16}, "vision_config": VIT}},
    "minicpm-v-4.6": {"class": "MiniCPMV4_6ForConditionalGeneration", "files": {"preprocessor_config.json": {**HALF, "scale_resolution": 448}},
        "config": {"text_config": {**TEXT, **MROPES, **LINEAR, "model_type": "qwen3_5_text"}, "insert_layer_id": 1, "vision_config": {**VIT, "insert_layer_id": 1}}},
    "hunyuan-vl": {"class": "HunYuanVLForConditionalGeneration", "files": {"preprocessor_config.json": {**HALF, "min_pixels": 3136, "max_pixels": 12544}},
        "config": {"text_config": {**TEXT, "head_dim": 16}, "vision_config": {**VIT, "num_key_value_heads": 4, "out_hidden_size": 64, "text_hidden_size": 64, "max_image_size": 56}}},
    "exaone4.5": {"class": "Exaone4_5_ForConditionalGeneration", "files": {"preprocessor_config.json": {**CLIP, "min_pixels": 3136, "max_pixels": 12544}},
        "config": {"text_config": {**TEXT, "model_type": "exaone4", "head_dim": 16}, "vision_config": {"depth": 4, "hidden_size": 32, "intermediate_size": 48, "num_heads": 4, "num_key_value_heads": 2, "out_hidden_size": 64, "patch_size": 14,
                "fullatt_block_indexes": [1, 3], "window_size": 112}}},
    "kimi-vl": {"tensors": {**shapes("vision_tower.encoder.blocks", 4, {"norm0": 32, "norm1": 32, "wqkv": (96, 32), "wo": (32, 32), "mlp.fc0": (48, 32), "mlp.fc1": (32, 48)}),
        **affine("vision_tower.", {"patch_embed.proj": (32, 3, 14, 14), "encoder.final_layernorm": 32}), "vision_tower.patch_embed.pos_emb.weight": (4, 4, 32),
        **affine("multi_modal_projector.", {"pre_norm": 32, "linear_1": (128, 128), "linear_2": (64, 128)})},
        "files": {"preprocessor_config.json": HALF}, "config": {"architectures": ["KimiVLForConditionalGeneration"], "text_config": TEXT, "vision_config": VIT}},
    "kimi-k2.5": {"tensors": {**shapes("vision_tower.encoder.blocks", 4, {"norm0": 64, "norm1": 64, "wqkv": (192, 64), "wo": (64, 64), "mlp.fc0": (48, 64), "mlp.fc1": (64, 48)}),
        **affine("vision_tower.", {"patch_embed.proj": (64, 3, 14, 14), "encoder.final_layernorm": 64}), "vision_tower.patch_embed.pos_emb.weight": (4, 4, 64),
        **affine("mm_projector.", {"pre_norm": 64, "proj.0": (128, 256), "proj.2": (64, 128)})},
        "files": {"preprocessor_config.json": {"media_proc_cfg": {**HALF, "in_patch_limit": 1000}}}, "config": {"architectures": ["KimiK25ForConditionalGeneration"], "text_config": TEXT,
        "vision_config": {"vt_num_hidden_layers": 4, "vt_hidden_size": 64, "vt_intermediate_size": 48, "vt_num_attention_heads": 16, "patch_size": 14, "init_pos_emb_height": 4}}},
    "glm5v": {"tensors": {**shapes("vision_tower.encoder.blocks", 4, {"norm0": 64, "norm1": 64, "wqkv": (192, 64), "wo": (64, 64), "mlp.fc0": (48, 64), "mlp.fc1": (64, 48)}),
        **affine("vision_tower.", {"patch_embed.proj": (64, 3, 14, 14), "encoder.final_layernorm": 64}), "vision_tower.patch_embed.pos_emb.weight": (4, 4, 64),
        **affine("mm_projector.", {"pre_norm": 64, "linear_1": (128, 256), "linear_2": (64, 128)})},
        "files": {"preprocessor_config.json": HALF}, "config": {"architectures": ["Glm5vForConditionalGeneration"], "text_config": TEXT,
        "vision_config": {"vt_num_hidden_layers": 4, "vt_hidden_size": 64, "vt_intermediate_size": 48, "vt_num_attention_heads": 16, "patch_size": 14}}},
    "dots-ocr": {"tensors": {**shapes("vision_tower.blocks", 3, {"attn.qkv": (96, 32), "attn.proj": (32, 32), "mlp.fc1": (48, 32), "mlp.fc2": (32, 48), "mlp.fc3": (48, 32)}, bias=False),
        **shapes("vision_tower.blocks", 3, {"norm1": 32, "norm2": 32}, bias=False), "vision_tower.patch_embed.patchifier.proj.weight": (32, 3, 14, 14),
        "vision_tower.patch_embed.patchifier.proj.bias": 32, "vision_tower.patch_embed.patchifier.norm.weight": 32, "vision_tower.post_trunk_norm.weight": 32,
        **affine("vision_tower.merger.", {"ln_q": 32, "mlp.0": (128, 128), "mlp.2": (64, 128)})}, "files": {"preprocessor_config.json": {**CLIP, "min_pixels": 3136, "max_pixels": 12544}},
        "config": {"architectures": ["DotsOCRForCausalLM"], **TEXT, "vision_config": {**VIT, "num_hidden_layers": 3, "rms_norm_eps": 1e-5, "spatial_merge_size": 2}}},
    "cogvlm": {"tensors": {**shapes("model.vision.transformer.layers", 3, {"input_layernorm": 32, "post_attention_layernorm": 32, "attention.query_key_value": (96, 32),
        "attention.dense": (32, 32), "mlp.fc1": (48, 32), "mlp.fc2": (32, 48)}), "model.vision.patch_embedding.cls_embedding": (1, 32),
        **affine("model.vision.", {"patch_embedding.proj": (32, 3, 14, 14), "linear_proj.norm1": 64}), "model.vision.patch_embedding.position_embedding.weight": (17, 32),
        "model.vision.boi": (1, 1, 64), "model.vision.eoi": (1, 1, 64), "model.vision.linear_proj.linear_proj.weight": (64, 32), "model.vision.linear_proj.gate_proj.weight": (96, 64),
        "model.vision.linear_proj.dense_h_to_4h.weight": (96, 64), "model.vision.linear_proj.dense_4h_to_h.weight": (64, 96)},
        "files": {"preprocessor_config.json": CLIP}, "config": {"architectures": ["CogVLMForCausalLM"], **TEXT, "vision_config": {
            "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_heads": 4, "image_size": 56, "patch_size": 14}}},
    "youtu-vl": {"tensors": {**shapes("siglip2.vision_model.encoder.layers", 3, SIGLIP), **affine("siglip2.vision_model.", {"embeddings.patch_embedding": (32, 588), "post_layernorm": 32}),
        **affine("merger.", {"ln_q": 32, "mlp.0": (128, 128), "mlp.2": (64, 128)})}, "files": {"preprocessor_config.json": HALF},
        "config": {"architectures": ["YoutuVLForConditionalGeneration"], **TEXT, "vision_config": {**VIT, "num_hidden_layers": 3, "fullatt_block_indexes": [0, 2], "window_size": 112}}},
    "step3-vl": {"tensors": {**shapes("vision_model.transformer.resblocks", 47, {"ln_1": 8, "ln_2": 8, "attn.out_proj": (8, 8), "mlp.c_fc": (16, 8), "mlp.c_proj": (8, 16)}),
        **{"vision_model.transformer.resblocks.%d.%s" % (b, n): s for b in range(47) for n, s in {"ls_1.gamma": 8, "ls_2.gamma": 8, "attn.in_proj_weight": (24, 8), "attn.in_proj_bias": 24}.items()},
        "vision_model.conv1.weight": (8, 3, 14, 14), "vision_model.positional_embedding": (16, 8), **affine("vision_model.", {"ln_pre": 8, "vit_downsampler1": (16, 8, 3, 3),
        "vit_downsampler2": (32, 16, 3, 3)}), "vit_large_projector.weight": (64, 32)}, "files": {"preprocessor_config.json": {}},
        "config": {"architectures": ["StepVLForConditionalGeneration"], "text_config": TEXT, "understand_projector_stride": 2,
            "vision_config": {"width": 1536, "layers": 47, "heads": 16, "image_size": 728, "patch_size": 14}}},
    "phi4-vision": {"tensors": {**shapes("model.vision_tower.vision_tower.vision_model.encoder.layers", 4, SIGLIP),
        **affine("model.vision_tower.vision_tower.vision_model.", {"embeddings.patch_embedding": (32, 588), "post_layernorm": 32}),
        "model.vision_tower.vision_tower.vision_model.embeddings.position_embedding.weight": (16, 32), **affine("model.mm_projector.", {"0": (64, 32), "2": (64, 64)})},
        "files": {"preprocessor_config.json": {**HALF, "patch_size": 14, "min_num_patches": 4, "max_num_patches": 16}},
        "config": {"architectures": ["Phi4ForCausalLMV"], **TEXT, "vision_config": {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4}}},
    "ling3-vl": {"tensors": {**shapes("model.visual.blocks", 3, {"norm1": 32, "norm2": 32, "attn.qkv": (96, 32), "attn.proj": (32, 32), "mlp.linear_fc1": (48, 32), "mlp.linear_fc2": (32, 48)}),
        "model.visual.patch_embed.proj.weight": (32, 3, 2, 16, 16), "model.visual.pos_embed.weight": (64, 32), **affine("model.visual.merger.", {"norm": 32}),
        **affine("linear_proj.", {"0": (64, 128), "2": (64, 64)})}, "files": {"preprocessor_config.json": HALF}, "config": {"architectures": ["BailingMoeV3VLForConditionalGeneration"],
        "text_config": {**TEXT, "rms_norm_eps": 1e-5}, "vision_config": {**QWEN3, "depth": 3, "disable_merger_proj": True, "spatial_merge_size": 2, "out_hidden_size": 128}}},
    "deepseek-v4": {"tensors": {**shapes("vision.blocks", 4, {"norm1": 32, "norm2": 32, "attn.wqkv": (96, 32), "attn.wo": (32, 32), "mlp.w1": (96, 32), "mlp.w2": (32, 48)}, bias=False),
        "vision.patch_embed.proj.weight": (32, 588), "vision.norm.weight": 32, "aligner.w1.weight": (128, 128), "aligner.w2.weight": (64, 128), "image_newline": 64, "image_start": 64,
        "image_end": 64, "image_pad": 64, "layers.0.attn.wq.weight": (64, 64)}, "files": {}, "config": {"architectures": ["DeepseekV4ForCausalLM"], **TEXT, "vision_n_layers": 4, "vision_dim": 32,
        "vision_n_heads": 4, "vision_inter_dim": 48, "vision_patch_size": 14, "vision_downsample_ratio": 2, "vision_min_pixels": 3136, "vision_max_n_token": 384, "vision_max_wh_ratio": 8}},
    **{"deepseek-ocr" + c[:-1]: {"tensors": {**SAM, **shapes("model.vision_model.transformer.layers", 4, {"layer_norm1": 32, "layer_norm2": 32, "self_attn.qkv_proj": (96, 32),
        "self_attn.out_proj": (32, 32), "mlp.fc1": (48, 32), "mlp.fc2": (32, 48)}), **affine("model.vision_model.", {"pre_layrnorm": 32}),
        "model.vision_model.embeddings.class_embedding": 32, "model.vision_model.embeddings.patch_embedding.weight": (32, 3, 14, 14),
        "model.vision_model.embeddings.position_embedding.weight": (17, 32)}, "files": {"preprocessor_config.json": HALF}, "config": {"architectures": [a], **TEXT, "vision_config": {
        "image_size": 56, "width": {"clip-l-14-224": {"heads": 4, "image_size": 56, "layers": 4, "patch_size": 14, "width": 32}, "sam_vit_b": {"heads": 4, "layers": 2, "width": 32}}}}}
        for c, a in ((":", "DeepseekOCRForCausalLM"), ("-unlimited:", "UnlimitedOCRForCausalLM"))},
    "deepseek-ocr2": {"tensors": {**SAM, **shapes("model.qwen2_model.model.model.layers", 4, {"input_layernorm": 32, "post_attention_layernorm": 32, "self_attn.o_proj": (32, 32),
        "mlp.gate_proj": (48, 32), "mlp.up_proj": (48, 32), "mlp.down_proj": (32, 48)}, bias=False), **shapes("model.qwen2_model.model.model.layers", 4, {"self_attn.q_proj": (32, 32),
        "self_attn.k_proj": (16, 32), "self_attn.v_proj": (16, 32)}), "model.qwen2_model.model.model.norm.weight": 32, "model.qwen2_model.query_768.weight": (144, 32),
        "model.qwen2_model.query_1024.weight": (256, 32)}, "files": {"preprocessor_config.json": HALF}, "config": {"architectures": ["DeepseekOCR2ForCausalLM"], **TEXT,
        "vision_config": {"image_size": 1024, "layers": 4, "width": {"qwen2-0-5b": {"dim": 32}, "sam_vit_b": {"heads": 4, "layers": 2, "width": 32}}}}},
    "ultravox": {"tensors": {**WHISPERED, "multi_modal_projector.ln_pre.weight": 128, "multi_modal_projector.ln_mid.weight": 32, "multi_modal_projector.linear_1.weight": (64, 128),
        "multi_modal_projector.linear_2.weight": (64, 32)}, "files": {}, "config": {"architectures": ["UltravoxModel"], "text_config": TEXT, "audio_config": WHISPER, "stack_factor": 4}},
    "meralion2": {"tensors": {**{n.replace("audio_tower.", "speech_encoder."): s for n, s in WHISPERED.items()}, **affine("ln_speech", {"": 32}), **affine("speech_audio_adapter.", {
        "mlp_adapter.0": (64, 32), "gate_proj": (64, 64), "pool_proj": (64, 64), "out_proj": (64, 64)})}, "files": {}, "config": {
        "architectures": ["MERaLiON2ForConditionalGeneration"], "text_config": TEXT, "speech_config": WHISPER}},
    "glm-asr-nano": {"tensors": {**{n.replace("audio_tower.", "audio_encoder.whisper."): s for n, s in WHISPERED.items() if "positions" not in n and ".layer_norm" not in n},
        **affine("audio_encoder.", {"layer_norm": 32, "adapting.0": (64, 128), "adapting.2": (64, 64)}), "audio_encoder.audio_bos_eos_token.weight": (2, 64)}, "files": {}, "config": {
        "architectures": ["GlmasrModel"], "text_config": TEXT, "whisper_config": WHISPER, "merge_factor": 4}},
    "minimax-m3": {"tensors": {**shapes("vision_tower.vision_model.encoder.layers", 3, {"layer_norm1": 160, "layer_norm2": 160, "self_attn.q_proj": (160, 160),
        "self_attn.k_proj": (160, 160), "self_attn.v_proj": (160, 160), "self_attn.out_proj": (160, 160), "mlp.fc1": (64, 160), "mlp.fc2": (160, 64)}),
        "vision_tower.vision_model.embeddings.patch_embedding.weight": (160, 3, 2, 14, 14), **affine("vision_tower.vision_model.", {"pre_layrnorm": 160}),
        **affine("", {"multi_modal_projector.linear_1": (96, 160), "multi_modal_projector.linear_2": (64, 96), "patch_merge_mlp.linear_1": (96, 256),
        "patch_merge_mlp.linear_2": (64, 96)}), "language_model.model.norm.weight": 64}, "files": {"preprocessor_config.json": CLIP},
        "config": {"architectures": ["MiniMaxM3SparseForConditionalGeneration"], "text_config": TEXT, "vision_config": {**VIT, "hidden_size": 160, "num_attention_heads": 2,
            "num_hidden_layers": 3, "intermediate_size": 64, "img_token_compression_config": {"spatial_merge_size": 2}}}},
    "dots3-note": {"tensors": {**shapes("vision_encoder.blocks", 3, {"norm_1": 32, "norm_2": 32, "attn.qkv": (96, 32), "attn.proj": (32, 32), "attn.q_norm": 8, "attn.k_norm": 8}, bias=False),
        **affine("vision_encoder.blocks.0.mlp.", {"fc1": (48, 32), "fc2": (32, 48), "fc3": (48, 32)}, bias=False),
        **{n: s for b in (1, 2) for n, s in {**shapes("vision_encoder.blocks.%d.mlp.experts" % b, 4, {"fc1": (24, 32), "fc2": (32, 24), "fc3": (24, 32)}, bias=False),
        "vision_encoder.blocks.%d.mlp.gate_weight" % b: (4, 32), "vision_encoder.blocks.%d.mlp.router_bias" % b: 4}.items()},
        **affine("vision_encoder.", {"patch_embed.proj": (32, 3, 14, 14), "adapter.ln_q": 32, "adapter.mlp.0": (128, 128), "adapter.mlp.2": (64, 128)}),
        "vision_encoder.patch_embed.norm.weight": 32, "vision_encoder.post_trunk_norm.weight": 32,
        **shapes("audio_encoder.dots_encoder.speech_encoder.layers", 2, {"self_attn.q_proj": (32, 32), "self_attn.v_proj": (32, 32), "self_attn.out_proj": (32, 32), "fc1": (96, 32), "fc2": (32, 48)}),
        **shapes("audio_encoder.dots_encoder.speech_encoder.layers", 2, {"self_attn.k_proj": (32, 32), "self_attn_layer_norm": 32, "final_layer_norm": 32}, bias=False),
        **affine("audio_encoder.dots_encoder.speech_encoder.", {"conv2d1": (8, 1, 3, 3), "conv2d2": (8, 8, 3, 3), "conv2d3": (8, 8, 3, 3)}),
        **affine("audio_encoder.dots_encoder.speech_encoder.", {"conv_out": (32, 16), "layer_norm": 32}, bias=False),
        **affine("audio_encoder.audio_adapter.proj.", {"0": 32, "1": (64, 32), "3": (64, 64)}), "model.norm.weight": 64},
        "files": {"preprocessor_config.json": {"vision_config": {**CLIP, "min_pixels": 3136, "max_pixels": 12544}}}, "config": {"architectures": ["Dots3NoteForCausalLM"], **TEXT,
        "vision_config": {**VIT, "num_hidden_layers": 3, "hidden_size": 64, "embed_dim": 32, "pyramid_num_routed": [-1, 4, 4], "adapter_type": "patch_merger", "pre_pixel_shuffle": True,
            "use_qk_norm": True, "rms_norm_eps": 1e-5, "spatial_merge_size": 2, "capacity_factor": 2.0},
        "audio_config": {"use_conv2d_stem": True, "use_rope": True, "use_rms_norm": True, "chunk_seconds": 60, "rope_parameters": {"partial_rotary_factor": 0.5, "rope_theta": 10000.0},
            "whisper_config": {**WHISPER, "encoder_layers": 2, "activation_function": "swiglu"}}}},
    "gemma4": {"class": "Gemma4ForConditionalGeneration", "files": {"preprocessor_config.json": HALF},
        "config": {"text_config": {**TEXT, "head_dim": 16, "global_head_dim": 16, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 320,
            "num_kv_shared_layers": 0, "layer_types": ["full_attention"]}, "vision_config": {**VIT, "num_key_value_heads": 4, "head_dim": 8,
            "position_embedding_size": 16}, "audio_config": None}},
    "qwen3.8": {"class": "Qwen3VLForConditionalGeneration", "also": {"architectures": ["Qwen4ExpForConditionalGeneration"]},
        "files": {"preprocessor_config.json": HALF}, "config": {"text_config": {**TEXT, **MROPES, "head_dim": 16}, "vision_config": QWEN3}},
}
CASES["sarashina2.2-vision"] = {**CASES["qwen2-vl"], "also": {"architectures": ["Sarashina2VisionForCausalLM"]}}
