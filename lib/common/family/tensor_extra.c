/* Source: convert_hf_to_gguf.py of llama.cpp, tensors whose quant_algo is W4A16_NVFP4. */
#include "family/tensor_extra.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/tree.h"

/* The quantization that the configs of a model declare. */
struct declared_algos {
    json_t *root;               /* owned */
    const json_t *all;          /* its object about quantization, borrowed; or NULL */
};

/* Reads the first config that declares the algorithm of ModelOpt. */
static bool
read_algos(struct declared_algos *d, const struct catalog *catalog, struct err *err)
{
    static const char *const members[] = { "quantization_config", "quantization" };
    for (size_t i = 0; i < catalog_config_count(catalog) && !d->all; i++) {
        const struct catalog_config *c = catalog_config_at(catalog, i);
        json_decref(d->root);
        d->root = NULL;
        if (!memmem(c->text, c->n, "W4A16_NVFP4", 11))
            continue;
        if (!tree_read(&d->root, c->text, c->n, c->name, err))
            return false;
        for (size_t k = 0; k < 2 && !d->all; k++) {
            d->all = json_object_get(d->root, members[k]);
            if (!json_is_object(d->all))
                d->all = NULL;
        }
    }
    return true;
}

/* Returns the algorithm of a module, path[0..n): as the longest path in quantized_layers that contains it declares, else as the
 * model does; NULL if neither does. */
static const char *
algo_of(const struct declared_algos *d, const char *path, size_t n)
{
    const json_t *layers = json_object_get(d->all, "quantized_layers");
    char *copy = strndup(path, n);
    const char *algo = json_string_value(json_object_get(d->all, "quant_algo"));
    for (char *end = copy ? copy + n : NULL; end; end = strrchr(copy, '.')) {
        *end = '\0';
        const char *own = json_string_value(json_object_get(json_object_get(layers, copy), "quant_algo"));
        if (own) {
            algo = own;
            break;
        }
    }
    free(copy);
    return algo;
}

/* Returns true if a chosen tensor is kept NVFP4 blocks without quantized activations. */
static bool
is_a16(const struct declared_algos *d, const struct chosen *chosen)
{
    if (chosen->dtype != DTYPE_NVFP4 || !chosen->composed || chosen->composed->n == 0 || !chosen->composed->part[0].repack)
        return false;
    const struct tensor *codes = chosen->composed->part[0].repack->input[0];
    size_t n = codes->name_len;
    if (!str_strip(codes->name, &n, ".weight"))
        str_strip(codes->name, &n, ".weight_packed");
    const char *algo = algo_of(d, codes->name, n);
    return algo && strcmp(algo, "W4A16_NVFP4") == 0;
}

/* Appends a string as a GGUF file stores it. */
static void
add_string(struct str *s, const char *text)
{
    uint64_t n = strlen(text);
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(n >> 8 * i);
    str_add(s, (const char *)bytes, sizeof bytes);
    str_add(s, text, (size_t)n);
}

static bool
tensor_extra_put(struct keys *keys, const struct names *names, struct err *err)
{
    struct str texts = { 0 }, flags = { 0 };
    for (size_t i = 0; i < names->n; i++) {
        add_string(&texts, names->name[i]);
        str_add(&flags, "", 1);
    }
    bool ok = keys_put_array(keys, "general", "tensor_extra.name", META_STRING, names->n, &texts, err);
    ok = ok && keys_put_array(keys, "general", "tensor_extra.prec_a4", META_BOOL, names->n, &flags, err);
    str_clear(&texts);
    str_clear(&flags);
    return ok;
}

bool
tensor_extra_keys(struct keys *keys, const struct choice *choice, const struct catalog *catalog, struct err *err)
{
    struct declared_algos d = { 0 };
    struct names names = { 0 };
    bool ok = read_algos(&d, catalog, err);
    for (size_t i = 0; ok && d.all && i < choice->n; i++)
        if (is_a16(&d, &choice->list[i]))
            ok = names_add(&names, choice->list[i].name, choice->list[i].name_len, err);
    names_sort(&names);
    ok = ok && (names.n == 0 || tensor_extra_put(keys, &names, err));
    names_clear(&names);
    json_decref(d.root);
    return ok;
}
