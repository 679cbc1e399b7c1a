#include "report/inspect.h"

#include <math.h>

#include "report/gguf_facts.h"
#include "report/meta.h"
#include "report/summary.h"

/* Adds the phrase that `add` makes of the summary; null if it is empty or nothing is quantized. */
static void
add_phrase(struct page *j, const char *key, const struct summary *s,
    void (*add)(struct str *, const struct summary *))
{
    struct str phrase = { 0 };
    if (s->nschemes != 0)
        add(&phrase, s);
    if (phrase.failed)
        j->text.failed = true;
    ndjson_text(j, key, phrase.p);
    str_clear(&phrase);
}

static void
add_counts(struct page *j, const struct summary *s)
{
    ndjson_u64(j, "tensors", s->tensors);
    ndjson_u64(j, "quantized", s->roles[ROLE_WEIGHT]);
    ndjson_u64(j, "passthrough", s->roles[ROLE_PLAIN]);
    ndjson_u64(j, "companions", summary_companions(s));
    ndjson_object(j, "roles");
    for (unsigned role = 0; role < SUMMARY_ROLES; role++)
        ndjson_u64(j, role_name((enum role)role), s->roles[role]);
    ndjson_object_end(j);
}

static void
add_remembered(struct page *j, const struct inspect_dequantized *r)
{
    ndjson_object(j, "remembered");
    ndjson_text(j, "dtype", dtype_name(r->to));
    ndjson_known(j, "bytes", r->bytes_known, r->bytes);
    ndjson_known(j, "size", r->size_known, r->size);
    ndjson_object_end(j);
}

/* Adds the difference of the two sizes: negative if quantization added bytes, null if the dequantized size is unknown. */
static void
add_saved(struct page *j, const char *name, const struct inspect *in, const struct summary *s)
{
    if (s->nschemes == 0)
        ndjson_u64(j, name, 0);
    else if (in->remembered.bytes_known)
        ndjson_i64(j, name, (int64_t)(in->remembered.bytes - s->nbytes));
    else
        ndjson_null(j, name);
}

static void
add_sizes(struct page *j, const struct inspect *in, const struct summary *s)
{
    double bits;
    ndjson_known(j, "parameters", s->uncounted == 0, s->parameters);
    ndjson_f64(j, "bits_per_weight", summary_bits(&bits, s) ? bits : NAN);
    ndjson_u64(j, "bytes", s->nbytes);
    add_remembered(j, &in->remembered);
    add_saved(j, "bytes_saved", in, s);
    add_saved(j, "lethe_took", in, s);
}

static void
add_dtypes(struct page *j, const struct tally *dtypes)
{
    ndjson_object(j, "dtypes");
    for (size_t i = 0; i < dtypes->n; i++) {
        const struct tally_row *row = &dtypes->rows[i];
        ndjson_object(j, row->label);
        ndjson_u64(j, "tensors", row->count);
        ndjson_known(j, "bytes", summary_dtype_sized(row), row->nbytes);
        ndjson_object_end(j);
    }
    ndjson_object_end(j);
}

static void
add_labels(struct page *j, const struct tally *labels)
{
    ndjson_array(j, "labels");
    for (size_t i = 0; i < labels->n; i++) {
        const struct tally_row *row = &labels->rows[i];
        ndjson_object(j, NULL);
        ndjson_text(j, "label", row->label);
        ndjson_u64(j, "quantized", row->count);
        ndjson_u64(j, "bytes", row->nbytes);
        ndjson_object_end(j);
    }
    ndjson_array_end(j);
}

static void
add_schemes(struct page *j, const struct summary *s)
{
    ndjson_object(j, "schemes");
    for (size_t i = 0; i < s->nschemes; i++) {
        const struct summary_scheme *scheme = &s->schemes[i];
        ndjson_object(j, scheme->word);
        ndjson_u64(j, "quantized", scheme->weights);
        ndjson_u64(j, "companions", scheme->companions);
        ndjson_u64(j, "bytes", scheme->nbytes);
        add_labels(j, &scheme->labels);
        ndjson_object_end(j);
    }
    ndjson_object_end(j);
}

static void
add_tokenizer(struct page *j, const struct gguf_facts *facts, bool arrays)
{
    ndjson_object(j, "tokenizer");
    meta_json(j, "model", facts->tokenizer, arrays);
    meta_json(j, "pre", facts->pre_tokenizer, arrays);
    ndjson_known(j, "vocabulary", facts->vocabulary_known, facts->vocabulary);
    ndjson_object_end(j);
}

static void
add_split(struct page *j, const struct catalog_facts *facts)
{
    if (facts->split_count == 0) {
        ndjson_null(j, "split");
        return;
    }
    ndjson_object(j, "split");
    ndjson_u64(j, "no", facts->split_no);
    ndjson_u64(j, "count", facts->split_count);
    ndjson_object_end(j);
}

static void
add_gguf(struct page *j, const struct inspect *in)
{
    const struct catalog_facts *container = catalog_facts_of(in->catalog);
    struct gguf_facts facts;
    if (!gguf_facts_find(&facts, in->catalog)) {
        ndjson_null(j, "gguf");
        return;
    }
    ndjson_object(j, "gguf");
    meta_json(j, "architecture", facts.architecture, in->arrays);
    meta_json(j, "name", facts.name, in->arrays);
    ndjson_text(j, "file_type", facts.file_type);
    ndjson_bool(j, "file_type_guessed", facts.file_type_guessed);
    meta_json(j, "context_length", facts.context_length, in->arrays);
    meta_json(j, "embedding_length", facts.embedding_length, in->arrays);
    meta_json(j, "block_count", facts.block_count, in->arrays);
    meta_json(j, "head_count", facts.head_count, in->arrays);
    meta_json(j, "head_count_kv", facts.head_count_kv, in->arrays);
    add_tokenizer(j, &facts, in->arrays);
    ndjson_u64(j, "alignment", container->alignment);
    ndjson_text(j, "byte_order", container->big_endian ? "big" : "little");
    add_split(j, container);
    ndjson_object_end(j);
}

static void
add_image(struct page *j, const struct inspect_image *image)
{
    if (!image) {
        ndjson_null(j, "image");
        return;
    }
    ndjson_object(j, "image");
    ndjson_text(j, "family", image->family);
    ndjson_text(j, "refusal", image->refusal);
    ndjson_array(j, "loaders");
    for (size_t i = 0; image->loaders[i]; i++)
        ndjson_text(j, NULL, image->loaders[i]);
    ndjson_array_end(j);
    ndjson_u64(j, "other_tensors", image->nleft);
    ndjson_u64(j, "other_bytes", image->nbytes_left);
    ndjson_object_end(j);
}

static void
add_towers(struct page *j, const struct inspect *in)
{
    struct tower_facts facts;
    ndjson_array(j, "towers");
    for (size_t i = 0; gguf_facts_tower(&facts, in->catalog, i); i++) {
        ndjson_object(j, NULL);
        ndjson_text(j, "kind", facts.kind);
        meta_json(j, "projector", facts.projector, in->arrays);
        meta_json(j, "layers", facts.layers, in->arrays);
        meta_json(j, "width", facts.width, in->arrays);
        meta_json(j, "heads", facts.heads, in->arrays);
        meta_json(j, "image_size", facts.picture, in->arrays);
        meta_json(j, "patch_size", facts.patch, in->arrays);
        meta_json(j, "mel_bins", facts.mels, in->arrays);
        meta_json(j, "text_width", facts.text_width, in->arrays);
        ndjson_object_end(j);
    }
    ndjson_array_end(j);
}

static void
add_metadata(struct page *j, const struct inspect *in)
{
    ndjson_object(j, "metadata");
    for (size_t i = 0; i < catalog_meta_count(in->catalog); i++) {
        const struct meta *meta = catalog_meta_at(in->catalog, i);
        ndjson_key(j, meta->key, meta->key_len);
        meta_json(j, NULL, &meta->value, in->arrays);
    }
    ndjson_object_end(j);
}

static void
add_warnings(struct page *j, const struct catalog *catalog)
{
    ndjson_array(j, "warnings");
    for (size_t i = 0; i < catalog_remark_count(catalog); i++)
        ndjson_text(j, NULL, catalog_remark_at(catalog, i)->text);
    ndjson_array_end(j);
}

/* Adds the type of each metadata value, such as "str" or "[u32]". */
static void
add_metadata_types(struct page *j, const struct catalog *catalog)
{
    struct str type = { 0 };
    ndjson_object(j, "metadata_types");
    for (size_t i = 0; i < catalog_meta_count(catalog); i++) {
        const struct meta *meta = catalog_meta_at(catalog, i);
        type.len = 0;
        meta_add_type(&type, &meta->value);
        if (type.failed)
            j->text.failed = true;
        ndjson_key(j, meta->key, meta->key_len);
        ndjson_text(j, NULL, type.p);
    }
    ndjson_object_end(j);
    str_clear(&type);
}

static void
add_scheme(struct page *j, const struct summary *s)
{
    ndjson_text(j, "scheme", summary_word(s));
    add_phrase(j, "scheme_label", s, summary_add_label);
    add_phrase(j, "detail", s, summary_add_detail);
}

/* Adds what the directory of a training job holds; nothing for other models. */
static void
add_checkpoint(struct page *j, const struct catalog_checkpoint *c)
{
    if (!c)
        return;
    ndjson_object(j, "checkpoint");
    ndjson_text(j, "kind", c->kind);
    ndjson_text(j, "step", c->step);
    ndjson_known(j, "ranks", c->ranks != 0, c->ranks);
    ndjson_array(j, "states");
    ndjson_text(j, NULL, "model");
    if (c->master)
        ndjson_text(j, NULL, "master");
    if (c->all)
        ndjson_text(j, NULL, "all");
    ndjson_array_end(j);
    ndjson_array(j, "tops");
    for (size_t i = 0; i < c->ntops; i++) {
        ndjson_object(j, NULL);
        ndjson_bytes(j, "name", c->top[i].name, c->top[i].name_len);
        ndjson_u64(j, "tensors", c->top[i].tensors);
        ndjson_u64(j, "read", c->top[i].read);
        ndjson_u64(j, "bytes", c->top[i].nbytes);
        ndjson_object_end(j);
    }
    ndjson_array_end(j);
    ndjson_object_end(j);
}

static void
add_object(struct page *j, const struct inspect *in, const struct summary *s)
{
    const struct catalog_facts *container = catalog_facts_of(in->catalog);
    ndjson_begin(j);
    ndjson_text(j, "file", in->file);
    ndjson_u64(j, "files", in->nfiles);
    ndjson_text(j, "format", container->format);
    ndjson_known(j, "version", container->version != 0, container->version);
    add_checkpoint(j, container->checkpoint);
    add_scheme(j, s);
    add_counts(j, s);
    add_sizes(j, in, s);
    add_dtypes(j, &s->dtypes);
    add_schemes(j, s);
    add_gguf(j, in);
    add_image(j, in->image);
    add_towers(j, in);
    add_metadata(j, in);
    add_metadata_types(j, in->catalog);
    add_warnings(j, in->catalog);
    ndjson_end(j);
}

bool
inspect_json(struct page *page, const struct inspect *in, struct err *err)
{
    struct summary s;
    bool ok = summary_make(&s, in->catalog, in->roles, err) && catalog_remarks_kept(in->catalog, err);
    if (ok)
        add_object(page, in, &s);
    summary_clear(&s);
    return ok;
}
