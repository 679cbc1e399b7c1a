/* quantizer: one row per encoder about the loaders of its weights: the form of "quantization_config" and the known gaps of
 * each loader. amn-forget(1) lists the gaps in a table. */
#ifndef HF_QUANTIZER_H
#define HF_QUANTIZER_H

#include "hf/modules.h"

struct hf_loader {
    /* Appends one JSON object, the config of a model whose first group belongs to this loader. */
    void (*config)(struct str *out, const struct hf_modules *m);
    const char *file;               /* file besides config.json that has a word for each tensor (description.h), or NULL */
    const char *alias;              /* second member of config.json with the same value, or NULL */
    bool in_files;                  /* a file has the config in its metadata, too: shapes do not show the scheme */
    bool mixes;                     /* one config can describe several encoders; otherwise only encoders with equal `word` */
    bool embeddings;                /* reads quantized embeddings */
    bool groups;                    /* the config declares group sizes and zero points */
    bool orders;                    /* and the order of columns in groups */
    /* Returns the value of "expert_dtype", another member that some models have; or NULL. */
    const char *(*experts)(const struct hf_modules *m);
};

/* Quantized weights P.experts.N that transformers cannot read because it merges the experts of a layer: none, all, or only
 * weights with zero points. */
enum hf_apart { HF_JOINED, HF_APART, HF_APART_ASYMMETRIC };

/* An encoder. */
struct hf_quantizer {
    const char *encoder;            /* its name */
    const struct hf_loader *loader; /* NULL: no loader has a config for it */
    const char *word;               /* the loader's name for the format, or NULL; without a loader, a program that reads the weights */
    uint8_t bits;                   /* per code, if the config declares it */
    bool nested;                    /* bitsandbytes: scales are quantized too */
    bool activations;               /* compressed-tensors: activations are quantized dynamically, see hf_quantizer_activates() */
    const char *type, *strategy;    /* compressed-tensors: type of the codes, and what shares a scale */
    const char *scale;              /* compressed-tensors: type of the scales, or NULL */
    enum hf_apart apart;
    bool loses_experts;             /* transformers then cannot read unquantized P.experts.N either */
    const char *experts;            /* value of "expert_dtype", or NULL: "fp8" */
};

/* Returns the row of an encoder, or NULL for a GGUF block type, which no model directory contains. */
const struct hf_quantizer *hf_quantizer_of(const struct encoder *encoder);

/* Returns true if the config of a weight declares that activations are quantized dynamically. For an exact weight from a source
 * that is not FP8, this is so only if no loader accepts less. */
bool hf_quantizer_activates(const struct hf_quantizer *quantizer, const struct encoding *e);

/* Differences between a loader and the scheme's own tools. */
enum hf_gap {
    HF_GAP_DIFFERS,                 /* transformers computes other values */
    HF_GAP_REFUSED,                 /* vLLM rejects the weight */
    HF_GAP_REMOVED,                 /* newer versions of the loader reject the weight */
    HF_GAPS
};

/* Returns the gap that affects a weight as a message that follows its name, or NULL. */
const char *hf_quantizer_gap(const struct hf_quantizer *quantizer, const struct encoding *e, enum hf_gap gap);

/* Returns true if one config can describe weights of both. */
bool hf_quantizer_mixes(const struct hf_quantizer *a, const struct hf_quantizer *b);

#endif
