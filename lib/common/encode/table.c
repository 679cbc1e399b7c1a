/* table: the list of all encoders. */
#include "encode/table.h"

#include "base/str.h"

static const struct encoder *const lists[] = { encode_fp8, encode_bnb4, encode_bnb8, encode_ct, encode_columns, encode_mx,
    encode_by_rows, encode_mlx, encode_comfy, encode_ggml };

const struct encoder *
encode_at(size_t i)
{
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const struct encoder *e = lists[l]; e->name; e++)
            if (i-- == 0)
                return e;
    return NULL;
}

/* Names that other tools have for these schemes: llm-compressor, transformers, vLLM. */
static const struct alias {
    const char *alias, *name;
} aliases[] = {
    { "int4", "int4-group" }, { "w4a16", "int4-group" }, { "w8a8", "int8-channel" }, { "fp8-dynamic", "fp8-per-channel" },
    { "fp8-e4m3", "fp8" }, { "bnb-4bit", "nf4" }, { "bnb-8bit", "int8" }, { "llm-int8", "int8" }, { "nvfp4a16", "nvfp4" },
    { "mxfp4a16", "mxfp4" }, { "nf4-dq", "nf4-double-quant" },
};

const char *
encode_alias(size_t i)
{
    if (i < sizeof aliases / sizeof *aliases)
        return aliases[i].alias;
    return NULL;
}

const struct encoder *
encode_find(const char *name, enum keeps held)
{
    const struct encoder *e, *found = NULL;
    for (size_t i = 0; encode_alias(i); i++)
        if (str_same_word(aliases[i].alias, name))
            name = aliases[i].name;
    for (size_t i = 0; (e = encode_at(i)) != NULL; i++)
        if (str_same_word(e->name, name) && (!found || e->held == held))
            found = e;
    return found;
}

const struct encoder *
encode_exact_at(size_t i)
{
    static const struct encoder *const exact[] = { encode_mx_exact, encode_plain_exact };
    for (size_t l = 0; l < sizeof exact / sizeof *exact; l++)
        for (const struct encoder *e = exact[l]; e->name; e++)
            if (i-- == 0)
                return e;
    return NULL;
}

const struct encoder *
encode_exact_find(const char *name, enum keeps held)
{
    const struct encoder *e;
    for (size_t i = 0; (e = encode_exact_at(i)) != NULL; i++)
        if (str_same_word(e->name, name))
            return e;
    e = encode_find(name, held);
    if (e && e->exact.solve)
        return e;
    return NULL;
}

/* Returns the better of an encoder and of the best so far. */
static const struct encoder *
lower(const struct encoder *e, const struct encoder *best, enum keeps held, unsigned after)
{
    bool fits = e->exact.offer > after && (e->held == held || e->held == KEEPS_NONE);
    if (fits && (!best || e->exact.offer < best->exact.offer))
        return e;
    return best;
}

const struct encoder *
encode_offered(enum keeps held, unsigned after)
{
    const struct encoder *e, *best = NULL;
    for (size_t i = 0; (e = encode_at(i)) != NULL; i++)
        best = lower(e, best, held, after);
    for (size_t i = 0; (e = encode_exact_at(i)) != NULL; i++)
        best = lower(e, best, held, after);
    return best;
}
