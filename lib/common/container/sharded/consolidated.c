/* consolidated: consolidated.00.pth, consolidated.01.pth ... of Meta's Llama: tensor-parallel parts, joined by name. Nothing records their
 * number, but the shapes of the whole tensors have to fit params.json. Source: llama, model.py; transformers 4.44,
 * convert_llama_weights_to_hf.py. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container/sharded/composed_ranks.h"
#include "container/sharded/json_facts.h"
#include "container/torch/objects.h"

enum { PARTS_MAX = 100 };

static bool
read_number(const char *name, unsigned *number)
{
    static const char form[] = "consolidated.##.pth";
    size_t i = 0;
    while (form[i] != '\0' && (form[i] == '#' ? isdigit((unsigned char)name[i]) : name[i] == form[i]))
        i++;
    if (form[i] != '\0' || name[i] != '\0')
        return false;
    *number = (unsigned)(name[13] - '0') * 10 + (unsigned)(name[14] - '0');
    return true;
}

static bool
consolidated_probe(const struct sharded *s)
{
    unsigned number;
    size_t n = 0;
    for (size_t i = 0; i < s->names.n; i++)
        n += read_number(s->names.name[i], &number);
    return n > 1 || (n == 1 && sharded_has(s, "params.json"));
}

struct consolidated {
    struct sharded *s;
    struct err *err;
    unsigned n;                 /* files */
    bool params;                /* params.json was read */
    uint64_t dim, heads, kv_heads;
    struct torch_file f[PARTS_MAX];
    uint32_t file[PARTS_MAX];
    struct torch_tensor part[PARTS_MAX];
};

/* --- files */

static bool
open_parts(struct consolidated *c)
{
    struct names all = { 0 };
    bool ok = true;
    unsigned number;
    for (size_t i = 0; i < c->s->names.n; i++)
        if (read_number(c->s->names.name[i], &number) && number + 1 > c->n)
            c->n = number + 1;
    for (unsigned i = 0; ok && i < c->n; i++) {
        char name[32];
        int n = snprintf(name, sizeof name, "consolidated.%02u.pth", i);
        ok = names_add(&all, name, (size_t)n, c->err);
    }
    ok = ok && sharded_check_files(c->s, &all, c->err);
    for (unsigned i = 0; ok && i < c->n; i++)
        ok = sharded_torch(c->s, &c->f[i], all.name[i], &c->file[i], c->err);
    names_clear(&all);
    c->s->ranks = c->n;
    return ok;
}

/* Reads params.json, or the size of the model from its last norm. */
static bool
read_params(struct consolidated *c)
{
    uint8_t *text = NULL;
    size_t n = 0;
    struct torch_tensor t;
    if (!sharded_has(c->s, "params.json")) {
        const struct pickle_value *norm = object_item(c->f[0].pickle, c->f[0].root, "norm.weight");
        if (!norm || !torch_file_tensor(&c->f[0], norm, "norm.weight", &t, c->err) || t.rank != 1)
            return err_set(c->err, ERR_UNSUPPORTED, "the size of the model is unknown: the directory has neither params.json nor a norm.weight");
        c->dim = t.shape[0];
        return true;
    }
    bool ok = sharded_load(c->s, "params.json", 1 << 20, &text, &n, c->err);
    const char *json = (const char *)text;
    if (ok) {
        c->params = json_facts_number(&c->dim, json, n, "dim") && json_facts_number(&c->heads, json, n, "n_heads");
        if (!json_facts_number(&c->kv_heads, json, n, "n_kv_heads"))
            c->kv_heads = c->heads;
        ok = (c->params && c->dim != 0 && c->heads != 0 && c->dim % c->heads == 0 && c->kv_heads != 0 && c->kv_heads <= c->heads)
            || (err_set(c->err, ERR_MALFORMED, "it has no dim and n_heads that fit"), err_in_file(c->err, "params.json"));
    }
    free(text);
    return ok;
}

/* --- names */

/* Meta's names, the rule of each, and Hugging Face's. Names end in .weight. */
static const struct consolidated_row {
    const char *name, *hf;
    enum rank_rule rule;
    bool turned;                /* rows of a head are in pairs */
} rows[] = {
    { .name = "attention.wq", .hf = "self_attn.q_proj", .rule = RANK_ROWS, .turned = true },
    { .name = "attention.wk", .hf = "self_attn.k_proj", .rule = RANK_ROWS, .turned = true },
    { .name = "attention.wv", .hf = "self_attn.v_proj", .rule = RANK_ROWS },
    { .name = "attention.wo", .hf = "self_attn.o_proj", .rule = RANK_COLUMNS },
    { .name = "feed_forward.w1", .hf = "mlp.gate_proj", .rule = RANK_ROWS },
    { .name = "feed_forward.w2", .hf = "mlp.down_proj", .rule = RANK_COLUMNS },
    { .name = "feed_forward.w3", .hf = "mlp.up_proj", .rule = RANK_ROWS },
    { .name = "attention_norm", .hf = "input_layernorm", .rule = RANK_SAME },
    { .name = "ffn_norm", .hf = "post_attention_layernorm", .rule = RANK_SAME },
    { .name = "tok_embeddings", .hf = "model.embed_tokens", .rule = RANK_COLUMNS },
    { .name = "output", .hf = "lm_head", .rule = RANK_ROWS },
    { .name = "norm", .hf = "model.norm", .rule = RANK_SAME },
};
enum { ROW_TOK = 9 };

/* Returns the row of a name, or NULL; *layer: the bytes of "layers.N." before it. */
static const struct consolidated_row *
find_row(const char *name, size_t *layer)
{
    *layer = 0;
    if (strncmp(name, "layers.", 7) == 0 && isdigit((unsigned char)name[7])) {
        size_t n = 7 + strspn(name + 7, "0123456789");
        if (name[n] == '.')
            *layer = n + 1;
    }
    size_t len = strlen(name + *layer);
    if (!str_strip(name + *layer, &len, ".weight"))
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name + *layer, len) == 0 && (i < ROW_TOK) == (*layer != 0))
            return &rows[i];
    return NULL;
}

/* --- tensors */

static bool
refuse_size(const struct consolidated *c, const char *shown, uint64_t found, uint64_t expected)
{
    if (found < expected && expected % c->n != 1)
        return err_set(c->err, ERR_OPEN, ERR_TENSOR "%" PRIu64 " of %" PRIu64 " rows or columns are here: a file is missing, "
            "consolidated.%02u.pth", shown, found, expected, c->n);
    return err_set(c->err, ERR_MALFORMED, ERR_TENSOR "its parts have %" PRIu64 " rows or columns together, expected %" PRIu64, shown, found,
        expected);
}

/* Checks the size of a whole tensor against that of the model. */
static bool
check_size(const struct consolidated *c, const struct consolidated_row *row, const char *shown, uint64_t height, uint64_t width)
{
    uint64_t found = c->dim, expected = c->dim;
    if (strcmp(row->name, "tok_embeddings") == 0 || strcmp(row->name, "attention.wo") == 0)
        found = width;
    else if (strcmp(row->name, "attention.wq") == 0)
        found = height;
    else if (c->params && (strcmp(row->name, "attention.wk") == 0 || strcmp(row->name, "attention.wv") == 0)) {
        found = height;
        expected = c->kv_heads * (c->dim / c->heads);
    }
    return found == expected || refuse_size(c, shown, found, expected);
}

static bool
add_parts(struct consolidated *c, const char *name, const struct consolidated_row *row, size_t layer, const char *shown)
{
    struct str out = { 0 };
    uint64_t height, width;
    bool hf = c->s->how->hf;
    struct rank_parts p = { .shown = shown, .rule = row ? row->rule : RANK_SAME, .part = c->part, .file = c->file, .n = c->n };
    if (row == &rows[ROW_TOK] && c->part[0].rank == 2 && c->part[0].shape[1] == c->dim)
        p.rule = RANK_ROWS;             /* Llama 3 */
    if (hf && row && layer != 0)
        str_format(&out, "model.%.*s%s.weight", (int)layer, name, row->hf);
    else if (hf && row)
        str_format(&out, "%s.weight", row->hf);
    else
        sharded_add_name(&out, name, strlen(name));
    if (hf && row && row->turned)
        p.head = c->dim / c->heads;
    p.name = str_or(out.p, "");
    p.name_len = out.len;
    bool ok = (!out.failed || err_memory(c->err, out.room)) && rank_parts_add(c->s, &p, &height, &width, c->err)
        && (!row || check_size(c, row, shown, height, width));
    str_clear(&out);
    return ok;
}

static bool
add_tensor(struct consolidated *c, const char *name)
{
    char shown[STR_SHOWN];
    size_t layer;
    const struct consolidated_row *row = find_row(name, &layer);
    str_shown(shown, name, strlen(name));
    if (strcmp(name, "rope.freqs") == 0)
        return true;
    if (!row && (c->n > 1 || c->s->how->hf))
        return err_set(c->err, ERR_UNSUPPORTED, ERR_TENSOR "%s", shown, c->s->how->hf ? "it has no name in Hugging Face's Llama"
            : "nothing says how it is split over the files");
    for (unsigned i = 0; i < c->n; i++) {
        const struct pickle_value *v = object_item(c->f[i].pickle, c->f[i].root, name);
        if (!v)
            err_set(c->err, ERR_MALFORMED, ERR_TENSOR "not all files have it", shown);
        if (!v || !torch_file_tensor(&c->f[i], v, shown, &c->part[i], c->err))
            return err_in_file(c->err, source_name(c->s->src[c->file[i]]));
    }
    return add_parts(c, name, row, layer, shown);
}

static bool
add_tensors(struct consolidated *c)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *v;
    bool ok = c->f[0].root->kind == PICKLE_DICT || err_set(c->err, ERR_MALFORMED, "consolidated.00.pth does not hold a dictionary");
    while (ok && pickle_next(c->f[0].pickle, c->f[0].root, &walk, &key, &v)) {
        if (key->kind != PICKLE_TEXT || key->odd || !torch_file_is_tensor(&c->f[0], v))
            continue;
        char *name = strndup((const char *)key->of.text, key->n);
        ok = name ? add_tensor(c, name) : err_memory(c->err, key->n);
        free(name);
    }
    return ok;
}

static bool
consolidated_read(struct sharded *s, struct err *err)
{
    struct consolidated *c = calloc(1, sizeof *c);
    if (!c)
        return err_memory(err, sizeof *c);
    c->s = s;
    c->err = err;
    bool ok = open_parts(c) && read_params(c);
    if (ok && s->how->hf && !c->params)
        ok = err_set(err, ERR_UNSUPPORTED, "--to hf needs the number of heads in params.json, which is not here");
    ok = ok && add_tensors(c);
    for (unsigned i = 0; i < c->n && i < PARTS_MAX; i++)
        torch_file_clear(&c->f[i]);
    free(c);
    return ok;
}

const struct sharded_format sharded_consolidated = { .kind = "meta-consolidated", .hf = true, .probe = consolidated_probe,
    .read = consolidated_read };
