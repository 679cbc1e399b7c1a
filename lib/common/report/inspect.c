#include "report/inspect.h"

#include "base/version.h"
#include "report/gguf_facts.h"
#include "report/meta_json.h"
#include "report/summary.h"

/* A member whose value comes from the metadata; null when the file does not have it. */
static void
add_value(struct ndjson *j, const char *key, const struct meta_value *value, bool arrays)
{
    ndjson_key(j, key);
    if (value)
        meta_json(j, value, arrays);
    else
        ndjson_null(j);
}

/* The phrase that `add` makes of the summary; null when it makes none, or nothing is quantized. */
static void
add_phrase(struct ndjson *j, const char *key, const struct summary *s,
    void (*add)(struct str *, const struct summary *))
{
    struct str phrase = { 0 };
    if (s->nschemes != 0)
        add(&phrase, s);
    if (phrase.failed)
        j->page->text.failed = true;
    ndjson_set_text(j, key, phrase.p);
    str_clear(&phrase);
}

static void
add_counts(struct ndjson *j, const struct summary *s)
{
    ndjson_set_u64(j, "tensors", s->tensors);
    ndjson_set_u64(j, "quantized", s->roles[ROLE_WEIGHT]);
    ndjson_set_u64(j, "passthrough", s->roles[ROLE_PLAIN]);
    ndjson_set_u64(j, "companions", summary_companions(s));
    ndjson_key(j, "roles");
    ndjson_object(j);
    for (unsigned role = 0; role < SUMMARY_ROLES; role++)
        ndjson_set_u64(j, role_name((enum role)role), s->roles[role]);
    ndjson_object_end(j);
}

static void
add_remembered(struct ndjson *j, const struct remembered *r)
{
    ndjson_key(j, "remembered");
    ndjson_object(j);
    ndjson_set_text(j, "dtype", dtype_name(r->to));
    ndjson_set_known(j, "bytes", r->bytes_known, r->bytes);
    ndjson_set_known(j, "size", r->size_known, r->size);
    ndjson_object_end(j);
}

static void
add_sizes(struct ndjson *j, const struct inspect *in, const struct summary *s)
{
    double bits;
    ndjson_set_known(j, "parameters", s->uncounted == 0, s->parameters);
    ndjson_key(j, "bits_per_weight");
    if (summary_bits(&bits, s))
        ndjson_f64(j, bits);
    else
        ndjson_null(j);
    ndjson_set_u64(j, "bytes", s->nbytes);
    add_remembered(j, &in->remembered);
    ndjson_key(j, "lethe_took");
    if (s->nschemes == 0)
        ndjson_u64(j, 0);
    else if (in->remembered.bytes_known)
        ndjson_i64(j, (int64_t)(in->remembered.bytes - s->nbytes));
    else
        ndjson_null(j);
}

static void
add_dtypes(struct ndjson *j, const struct tally *dtypes)
{
    ndjson_key(j, "dtypes");
    ndjson_object(j);
    for (size_t i = 0; i < dtypes->n; i++) {
        const struct tally_row *row = &dtypes->rows[i];
        ndjson_key(j, row->label);
        ndjson_object(j);
        ndjson_set_u64(j, "tensors", row->count);
        ndjson_set_known(j, "bytes", summary_dtype_sized(row), row->nbytes);
        ndjson_object_end(j);
    }
    ndjson_object_end(j);
}

static void
add_labels(struct ndjson *j, const struct tally *labels)
{
    ndjson_key(j, "labels");
    ndjson_array(j);
    for (size_t i = 0; i < labels->n; i++) {
        const struct tally_row *row = &labels->rows[i];
        ndjson_object(j);
        ndjson_set_text(j, "label", row->label);
        ndjson_set_u64(j, "quantized", row->count);
        ndjson_set_u64(j, "bytes", row->nbytes);
        ndjson_object_end(j);
    }
    ndjson_array_end(j);
}

static void
add_schemes(struct ndjson *j, const struct summary *s)
{
    ndjson_key(j, "schemes");
    ndjson_object(j);
    for (size_t i = 0; i < s->nschemes; i++) {
        const struct summary_scheme *scheme = &s->schemes[i];
        ndjson_key(j, scheme->code);
        ndjson_object(j);
        ndjson_set_u64(j, "quantized", scheme->weights);
        ndjson_set_u64(j, "companions", scheme->companions);
        ndjson_set_u64(j, "bytes", scheme->nbytes);
        add_labels(j, &scheme->labels);
        ndjson_object_end(j);
    }
    ndjson_object_end(j);
}

static void
add_tokenizer(struct ndjson *j, const struct gguf_facts *facts, bool arrays)
{
    ndjson_key(j, "tokenizer");
    ndjson_object(j);
    add_value(j, "model", facts->tokenizer, arrays);
    add_value(j, "pre", facts->pre_tokenizer, arrays);
    ndjson_set_known(j, "vocabulary", facts->vocabulary_known, facts->vocabulary);
    ndjson_object_end(j);
}

static void
add_split(struct ndjson *j, const struct catalog_facts *facts)
{
    ndjson_key(j, "split");
    if (facts->split_count == 0) {
        ndjson_null(j);
        return;
    }
    ndjson_object(j);
    ndjson_set_u64(j, "no", facts->split_no);
    ndjson_set_u64(j, "count", facts->split_count);
    ndjson_object_end(j);
}

static void
add_gguf(struct ndjson *j, const struct inspect *in)
{
    const struct catalog_facts *container = catalog_facts_of(in->catalog);
    struct gguf_facts facts;
    ndjson_key(j, "gguf");
    if (!gguf_facts_find(&facts, in->catalog)) {
        ndjson_null(j);
        return;
    }
    ndjson_object(j);
    add_value(j, "architecture", facts.architecture, in->arrays);
    add_value(j, "name", facts.name, in->arrays);
    ndjson_set_text(j, "file_type", facts.file_type);
    ndjson_key(j, "file_type_guessed");
    ndjson_bool(j, facts.file_type_guessed);
    add_value(j, "context_length", facts.context_length, in->arrays);
    add_value(j, "embedding_length", facts.embedding_length, in->arrays);
    add_value(j, "block_count", facts.block_count, in->arrays);
    add_value(j, "head_count", facts.head_count, in->arrays);
    add_value(j, "head_count_kv", facts.head_count_kv, in->arrays);
    add_tokenizer(j, &facts, in->arrays);
    ndjson_set_u64(j, "alignment", container->alignment);
    ndjson_set_text(j, "byte_order", container->big_endian ? "big" : "little");
    add_split(j, container);
    ndjson_object_end(j);
}

static void
add_metadata(struct ndjson *j, const struct inspect *in)
{
    ndjson_key(j, "metadata");
    ndjson_object(j);
    for (size_t i = 0; i < catalog_meta_count(in->catalog); i++) {
        const struct meta *meta = catalog_meta_at(in->catalog, i);
        ndjson_key_bytes(j, meta->key, meta->key_len);
        meta_json(j, &meta->value, in->arrays);
    }
    ndjson_object_end(j);
}

static void
add_warnings(struct ndjson *j, const struct catalog *catalog)
{
    ndjson_key(j, "warnings");
    ndjson_array(j);
    for (size_t i = 0; i < catalog_remark_count(catalog); i++)
        ndjson_text(j, catalog_remark_at(catalog, i)->text);
    ndjson_array_end(j);
}

/* "str", "[u32]": the type of each value of the metadata. */
static void
add_metadata_types(struct ndjson *j, const struct catalog *catalog)
{
    struct str type = { 0 };
    ndjson_key(j, "metadata_types");
    ndjson_object(j);
    for (size_t i = 0; i < catalog_meta_count(catalog); i++) {
        const struct meta *meta = catalog_meta_at(catalog, i);
        type.len = 0;
        meta_add_type(&type, &meta->value);
        if (type.failed)
            j->page->text.failed = true;
        ndjson_key_bytes(j, meta->key, meta->key_len);
        ndjson_text(j, type.p);
    }
    ndjson_object_end(j);
    str_clear(&type);
}

static void
add_scheme(struct ndjson *j, const struct summary *s)
{
    ndjson_set_text(j, "scheme", summary_codes(s));
    add_phrase(j, "scheme_label", s, summary_add_label);
    add_phrase(j, "detail", s, summary_add_detail);
}

static void
add_object(struct ndjson *j, const struct inspect *in, const struct summary *s)
{
    const struct catalog_facts *container = catalog_facts_of(in->catalog);
    ndjson_object(j);
    ndjson_set_u64(j, "report", VERSION_REPORT);
    ndjson_set_text(j, "file", in->file);
    ndjson_set_u64(j, "files", in->nfiles);
    ndjson_set_text(j, "format", container->format);
    ndjson_set_known(j, "version", container->version != 0, container->version);
    add_scheme(j, s);
    add_counts(j, s);
    add_sizes(j, in, s);
    add_dtypes(j, &s->dtypes);
    add_schemes(j, s);
    add_gguf(j, in);
    add_metadata(j, in);
    add_metadata_types(j, in->catalog);
    add_warnings(j, in->catalog);
    ndjson_object_end(j);
    ndjson_line(j);
}

bool
inspect_json(FILE *out, const struct inspect *in, struct err *err)
{
    struct page page;
    struct ndjson j;
    struct summary s;
    page_init(&page, out);
    ndjson_init(&j, &page);
    bool ok = summary_make(&s, in->catalog, in->roles, err) && catalog_remarks_kept(in->catalog, err);
    if (ok)
        add_object(&j, in, &s);
    summary_clear(&s);
    return page_finish(&page, err) && ok;
}
