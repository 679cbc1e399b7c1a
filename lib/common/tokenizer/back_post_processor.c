/* The member "post_processor" of a tokenizer.json: special tokens at the start and end of a text. */
#include "tokenizer/back_priv.h"

void
back_put_type(struct push *json, const char *type)
{
    push_object(json);
    push_key(json, "type");
    push_text(json, type);
}

/* An element of a template: a special token, or one of the two texts. */
static void
put_element(struct push *json, const char *kind, const char *id, size_t n, unsigned text)
{
    push_object(json);
    push_key(json, kind);
    push_object(json);
    push_key(json, "id");
    push_string(json, id, n);
    push_key(json, "type_id");
    push_u64(json, text);
    push_end(json);
    push_end(json);
}

static void
put_special(struct push *json, const struct hf_string *token, unsigned text)
{
    if (token && token->n != 0)
        put_element(json, "SpecialToken", token->p, token->n, text);
}

/* Writes the entry of a token in the list of those that a template uses. */
static void
put_entry(struct push *json, const struct hf_string *token, uint64_t id)
{
    if (!token)
        return;
    push_name(json, token->p, token->n);
    push_object(json);
    push_key(json, "id");
    push_string(json, token->p, token->n);
    push_key(json, "ids");
    push_array(json);
    push_u64(json, id);
    push_end(json);
    push_key(json, "tokens");
    push_array(json);
    push_string(json, token->p, token->n);
    push_end(json);
    push_end(json);
}

/* Tokens around one text, and the token before the second; NULL: none. */
struct text_frame {
    const struct hf_string *bos, *eos, *second;
    uint64_t bos_id, eos_id;
};

static void
put_template(struct push *json, const struct text_frame *f)
{
    back_put_type(json, "TemplateProcessing");
    push_key(json, "single");
    push_array(json);
    put_special(json, f->bos, 0);
    put_element(json, "Sequence", "A", 1, 0);
    put_special(json, f->eos, 0);
    push_end(json);
    push_key(json, "pair");
    push_array(json);
    put_special(json, f->bos, 0);
    put_element(json, "Sequence", "A", 1, 0);
    put_special(json, f->eos, 0);
    put_special(json, f->second, 1);
    put_element(json, "Sequence", "B", 1, 1);
    put_special(json, f->eos, 1);
    push_end(json);
    push_key(json, "special_tokens");
    push_object(json);
    put_entry(json, f->bos, f->bos_id);
    if (!f->bos || !f->eos || !hf_strings_equal(f->bos, f->eos))
        put_entry(json, f->eos, f->eos_id);
    push_end(json);
    push_end(json);
}

/* Decides which special tokens frame a text. Models that compare two texts separate them by one token. */
static struct text_frame
frame_of(const struct back_tokens *t, enum back_kind kind, const struct back_split *split)
{
    bool separated = back_tokens_are_bert(t);
    bool bos = separated || (t->has_add[0] ? t->add[0] : kind == BACK_BPE && split->adds_bos);
    bool eos = separated || (t->has_add[1] ? t->add[1] : kind == BACK_UNIGRAM);
    struct text_frame f = { .bos_id = t->id[BACK_BOS], .eos_id = t->id[BACK_EOS] };
    if (bos && t->role[BACK_BOS].n != 0)
        f.bos = &t->role[BACK_BOS];
    else
        f.bos = NULL;
    if (eos && t->role[BACK_EOS].n != 0)
        f.eos = &t->role[BACK_EOS];
    else
        f.eos = NULL;
    if (kind == BACK_UNIGRAM)
        f.second = t->add[2] ? f.eos : NULL;        /* the separator is the end token */
    else if (separated)
        f.second = NULL;
    else
        f.second = f.bos;
    return f;
}

static void
put_byte_level(struct push *json)
{
    back_put_type(json, "ByteLevel");
    push_key(json, "add_prefix_space");
    push_bool(json, true);
    push_key(json, "trim_offsets");
    push_bool(json, false);
    push_key(json, "use_regex");
    push_bool(json, true);
    push_end(json);
}

void
back_post_processor(struct push *json, const struct back_tokens *tokens, enum back_kind kind, const struct back_split *split)
{
    const struct text_frame f = frame_of(tokens, kind, split);
    bool framed = f.bos || f.eos;
    push_key(json, "post_processor");
    if (kind != BACK_BPE && framed) {
        put_template(json, &f);
    } else if (kind != BACK_BPE) {
        push_null(json);
    } else if (!framed) {
        put_byte_level(json);
    } else {
        back_put_type(json, "Sequence");
        push_key(json, "processors");
        push_array(json);
        put_byte_level(json);
        put_template(json, &f);
        push_end(json);
        push_end(json);
    }
}
