#include "hf/description.h"

#include "hf/quantizer.h"

/* Returns the word of an output tensor. */
static const char *
word_of(const struct chosen *chosen)
{
    const struct encoding *e = chosen->encoding ? chosen->encoding : chosen->stored;
    const struct hf_quantizer *q = e ? hf_quantizer_of(e->encoder) : NULL;
    return q && q->loader && q->loader->file ? q->word : "FLOAT";
}

void
hf_description(struct str *out, const struct choice *choice, const struct hf_modules *m)
{
    str_format(out, "{\n    \"version\": \"1.0.0\",\n    \"model_quant_type\": \"%s\",\n    \"group_size\": 0,\n    \"metadata\": {},\n"
        "    \"optional\": {}", m->group[0].quantizer->word);
    for (size_t i = 0; i < choice->n; i++) {
        struct tensor t = chosen_tensor(&choice->list[i]);
        struct str name = { 0 };
        str_add(&name, t.name, t.name_len);
        str_text(out, ",\n    ");
        if (name.failed)
            out->failed = true;
        else
            hf_modules_name(out, name.p);
        str_format(out, ": \"%s\"", word_of(&choice->list[i]));
        str_clear(&name);
    }
    str_text(out, "\n}\n");
}
