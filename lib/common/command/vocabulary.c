#include "command/vocabulary.h"

#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "catalog/catalog.h"
#include "cli/tools.h"
#include "encode/encode.h"
#include "family/family.h"

/* Prints one name. bits: of an element, or 0 if that does not apply. exact: only --exact takes the name. */
static void
vocabulary_put(FILE *out, bool json, const char *name, double bits, bool more, bool exact, const char *like, const char *readers)
{
    char text[24] = "";
    if (bits != 0)
        snprintf(text, sizeof text, json ? "%.4f" : "%.2f%s", bits, more ? "+" : "");
    if (json)
        fprintf(out, "{\"report\":1,\"name\":\"%s\",\"bits\":%s,\"exact\":%s,\"like\":\"%s\",\"readers\":\"%s\"}\n", name,
            bits != 0 ? text : "null", exact ? "true" : "false", like, readers);
    else
        fprintf(out, "%-24s %-6s %-18s %s%s\n", name, text, like, readers, exact ? " (--exact)" : "");
}

/* --- schemes */

/* The tool whose output a scheme equals, and what reads it, by the beginning of its label. */
static const struct origin {
    const char *label, *like, *readers;
} origins[] = {
    { "FP8 E4M3 by blocks, divided", "DeepSeek", "vLLM, transformers" },
    { "FP8 E4M3 by blocks", "transformers", "vLLM, transformers" },
    { "FP8 E4M3", "llm-compressor", "vLLM, transformers" },
    { "FP8 E5M2", "-", "amn" },
    { "bitsandbytes", "bitsandbytes", "transformers" },
    { "compressed-tensors", "llm-compressor", "vLLM, transformers" },
    { "GPTQ", "GPTQModel", "vLLM, transformers" },
    { "AWQ", "AutoAWQ", "vLLM, transformers" },
    { "ModelOpt", "ModelOpt", "vLLM, TensorRT-LLM" },
    { "MLX", "mlx-lm", "mlx-lm" },
    { "DeepSeek FP4", "DeepSeek", "DeepSeek V4" },
    { "gpt-oss", "gpt-oss", "vLLM, transformers" },
    { "bf16", "-", "all" },
    { "f16", "-", "all" },
    { "f32", "-", "all" },
    { "ComfyUI", "comfy-kitchen", "ComfyUI" },
    { "", "llama-quantize", "llama.cpp, Ollama" },
};

/* Sets *bits to the size of an element of a square matrix that is encoded, or of a stack of one; 0 if neither can be. */
static bool
find_bits(double *bits, const struct encoder *e, uint32_t rank, struct catalog *memory, struct err *err)
{
    enum { SIDE = 4096 };
    static const char name[] = "model.layers.0.mlp.up_proj.weight";
    static const uint64_t dim[3] = { 1, SIDE, SIDE };
    uint8_t packed[3 * SHAPE_DIM];
    struct encode_part parts[ENCODE_PARTS];
    shape_pack(packed, dim + 3 - rank, rank);
    struct encoding encoding = { .encoder = e, .memory = memory, .rows = SIDE, .cols = SIDE, .part = parts,
        .weight = { .name = name, .name_len = sizeof name - 1, .dtype = DTYPE_BF16, .shape = { rank, packed } } };
    enum encode_fit fit = e->fit(&encoding, &encoding.options, err);
    if (fit == ENCODE_NO && rank == 2)
        return find_bits(bits, e, 3, memory, err);
    *bits = 0;
    if (fit == ENCODE_YES)
        *bits = (double)encode_nbytes(&encoding) * 8 / ((double)SIDE * SIDE);
    return fit != ENCODE_FAIL;
}

static bool
put_scheme(FILE *out, bool json, const struct encoder *e, bool exact, struct catalog *memory, struct err *err)
{
    const struct origin *o = origins;
    bool blocks = e->held == KEEPS_BLOCKS;
    double bits;
    if (!find_bits(&bits, e, 2, memory, err))
        return false;
    while (*o->label && (blocks || !str_begins(e->label, o->label)))
        o++;
    vocabulary_put(out, json, e->name, bits, blocks && strcasecmp(e->name, e->label) != 0, exact, o->like, o->readers);
    return true;
}

static bool
put_schemes(FILE *out, bool json, struct err *err)
{
    struct limits limits = limits_default;
    struct catalog *memory = catalog_new(&limits, err);
    const struct encoder *e;
    bool ok = memory != NULL;
    if (!json)
        fprintf(out, "%-24s %-6s %-18s %s\n", "NAME", "BITS", "AS WRITTEN BY", "READ BY");
    for (size_t i = 0; ok && (e = encode_at(i)) != NULL; i++)
        ok = put_scheme(out, json, e, false, memory, err);
    for (size_t i = 0; ok && (e = encode_exact_at(i)) != NULL; i++)
        ok = put_scheme(out, json, e, true, memory, err);
    catalog_free(memory);
    return ok;
}

/* --- types, formats and the rest */

static bool
put_dtypes(FILE *out, bool json, struct err *err)
{
    (void)err;
    for (unsigned i = 0; dtype_targets[i]; i++)
        vocabulary_put(out, json, dtype_targets[i], dtype_facts(dtype_target(i))->bytes * 8.0, false, false,
            dtype_name(dtype_target(i)), "");
    return true;
}

static bool
put_formats(FILE *out, bool json, struct err *err)
{
    static const char *const readers[] = { "transformers, vLLM, MLX, ComfyUI", "llama.cpp, Ollama", "NumPy",
        "NumPy, one tensor",
        "any program, no header", "transformers, from GGUF", "PEFT, from an adapter", "mlx-lm, from an adapter" };
    (void)err;
    for (unsigned i = 0; cli_format_words[i]; i++)
        vocabulary_put(out, json, cli_format_words[i], 0, false, false, "", readers[i]);
    return true;
}

static void
put_class(FILE *out, bool json, const char *class, const char *arch, const char *readers)
{
    if (json)
        vocabulary_put(out, json, class, 0, false, false, arch, readers);
    else
        fprintf(out, "%-39s %s\n", class, arch);
}

static const char class_readers[] = "llama.cpp, Ollama", image_readers[] = "ComfyUI-GGUF, stable-diffusion.cpp, diffusers",
    tower_readers[] = "llama.cpp, beside a model: amn convert --mmproj";

static bool
put_classes(FILE *out, bool json, struct err *err)
{
    const char *name;
    for (size_t i = 0; (name = family_name_at(i)) != NULL; i++) {
        struct model_family *family;
        if (!family_builtin(&family, name, err))
            return false;
        for (size_t k = 0; k < family->classes.n && !family->tower; k++)
            put_class(out, json, family->classes.at[k], family->arch, class_readers);
        if (family->image)
            put_class(out, json, name, family->arch, image_readers);
        family_free(family);
    }
    return true;
}

/* As JSON these are the classes: a family has no line of its own there. */
static bool
put_families(FILE *out, bool json, struct err *err)
{
    const char *name;
    if (json)
        return put_classes(out, json, err);
    for (size_t i = 0; (name = family_name_at(i)) != NULL; i++) {
        struct model_family *family;
        if (!family_builtin(&family, name, err))
            return false;
        if (family->image)
            fprintf(out, "%-22s %10s  %s\n", name, "", image_readers);
        else
            fprintf(out, "%-22s %2zu %-7s  %s\n", name, family->classes.n, family->classes.n == 1 ? "class" : "classes",
                family->tower ? tower_readers : class_readers);
        family_free(family);
    }
    return true;
}

bool
vocabulary_print_class(FILE *out, const char *class, bool json, struct err *err)
{
    char shown[STR_SHOWN];
    struct model_family *family;
    struct str hint = { 0 };
    if (!family_of_class(&family, FAMILY_LANGUAGE, class, strlen(class), err))
        return false;
    if (family) {
        put_class(out, json, class, family->arch, class_readers);
        family_free(family);
        return true;
    }
    if (family_nearest_classes(&hint, class, err))
        err_set(err, ERR_UNSUPPORTED, "no built-in family has the class '%s'%s", str_shown(shown, class, strlen(class)),
            str_or(hint.p, ""));
    str_clear(&hint);
    return false;
}

static const struct vocabulary {
    const char *word;
    bool (*put)(FILE *out, bool json, struct err *err);
} vocabularies[] = {
    { "schemes", put_schemes }, { "dtypes", put_dtypes }, { "formats", put_formats }, { "families", put_families },
    { "classes", put_classes },
};

static const struct vocabulary *
vocabulary_find(const char *word)
{
    for (size_t i = 0; i < sizeof vocabularies / sizeof *vocabularies; i++)
        if (strcasecmp(vocabularies[i].word, word) == 0)
            return &vocabularies[i];
    return NULL;
}

bool
vocabulary_has(const char *word)
{
    return vocabulary_find(word) != NULL;
}

bool
vocabulary_print(FILE *out, const char *word, bool json, struct err *err)
{
    return vocabulary_find(word)->put(out, json, err);
}
