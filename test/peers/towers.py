"""towers: tiny models with towers, by name: the class of transformers and its configuration, or the shapes of the tensors by name; and the
files that say how pictures and sound are prepared."""

CLIP = {"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}
HALF = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
TEXT = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 320,
        "max_position_embeddings": 256}
MROPE = {"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}

CASES = {
    "qwen2-vl": {"class": "Qwen2VLForConditionalGeneration", "files": {"preprocessor_config.json": CLIP}, "config": {
        "text_config": {**TEXT, **MROPE}, "vision_config": {
            "depth": 3, "embed_dim": 32, "hidden_size": 64, "num_heads": 4, "mlp_ratio": 2, "patch_size": 14, "in_channels": 3}}},
    "qwen2.5-vl": {"text": True, "class": "Qwen2_5_VLForConditionalGeneration", "files": {"preprocessor_config.json": CLIP}, "config": {
        "text_config": {**TEXT, **MROPE}, "vision_config": {
            "depth": 4, "hidden_size": 32, "intermediate_size": 48, "num_heads": 4, "out_hidden_size": 64, "patch_size": 14,
            "fullatt_block_indexes": [1, 3], "window_size": 112}}},
}
