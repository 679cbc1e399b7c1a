/* quantizer: what the loaders of a model directory read of encoded weights, by encoder: the text of "quantization_config",
 * and the gaps that each loader is known to have. The one place for such facts; amn-forget(1) has the gaps as a table. */
#ifndef HF_QUANTIZER_H
#define HF_QUANTIZER_H

#include "hf/modules.h"

struct hf_loader {
    /* Appends one JSON object, the config of a model whose first group this loader reads. */
    void (*config)(struct str *out, const struct hf_modules *m);
    const char *too;                /* another member of config.json that says the same; or NULL */
    bool mixes;                     /* one config describes weights of all its encoders; else of those with one word */
    bool embeddings;                /* it reads embeddings that are encoded */
};

/* Which weights P.experts.N transformers does not read, as it joins all experts of a layer. */
enum hf_apart { HF_JOINED, HF_APART, HF_APART_ASYMMETRIC };

/* An encoder. */
struct hf_quantizer {
    const char *encoder;            /* its name */
    const struct hf_loader *loader; /* NULL: no loader has a config of it */
    const char *word;               /* its format, as the loader calls it; or NULL */
    uint8_t bits;                   /* of a code, where the config says so */
    bool nested;                    /* bitsandbytes: scales are encoded again */
    bool activations;               /* compressed-tensors: inputs are quantized as they come */
    const char *type, *strategy;    /* the same: of codes, and of what shares a scale */
    const char *scale;              /* the same: the type of scales; or NULL */
    enum hf_apart apart;
    bool loses_experts;             /* beside such weights transformers reads no P.experts.N that stay, either */
};

/* Returns the row of an encoder of parts, or NULL: of a block type, which no model directory has. */
const struct hf_quantizer *hf_quantizer_of(const struct encoder *encoder);

/* What a loader does not read as the scheme's own tools do. */
enum hf_gap {
    HF_GAP_DIFFERS,                 /* transformers makes something else of it */
    HF_GAP_REFUSED,                 /* vLLM refuses it */
    HF_GAPS
};

/* Returns the gap that a weight meets, as a text behind its name, or NULL. */
const char *hf_quantizer_gap(const struct hf_quantizer *quantizer, const struct encoding *e, enum hf_gap gap);

/* Checks that one config describes weights of both. */
bool hf_quantizer_mixes(const struct hf_quantizer *a, const struct hf_quantizer *b);

#endif
