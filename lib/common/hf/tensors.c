#include "hf/tensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/str.h"
#include "hf/names.h"
#include "hf/same.h"

enum { LAYERS_MAX = 1 << 16, WORDS = 3, SHAPE_MAX = 4 };

/* A tensor of the input. */
struct tensor_row {
    struct chosen chosen;
    struct tensor t;
    uint32_t file;
    struct hf_name name;
};

/* The experts of a layer seen so far, for each projection. */
struct experts {
    struct composed_part *part[WORDS];      /* config->experts of them; allocated by the catalog. NULL: none yet */
    const struct tensor_row *first[WORDS];
    uint64_t have;
};

struct work {
    const struct hf_tensors_options *how;
    const struct hf_config *config;
    struct catalog *memory;
    struct tensor_row *list;         /* n of them; owned */
    size_t n;
    struct experts *experts;    /* config->layers of them; owned */
    struct chosen *out;         /* nout of them; owned until moved to the choice */
    size_t nout, room;
    enum dtype matrices;
    bool has_head;
};

static bool
fail(const struct tensor_row *e, enum err_kind kind, const char *what, struct err *err)
{
    char name[STR_SHOWN], shape[SHAPE_TEXT];
    return err_set(err, kind, ERR_NO_OFFSET, "tensor %s %s: %s", str_shown(name, e->t.name, e->t.name_len),
        shape_text(shape, &e->t.shape), what);
}

/* --- names, types, shapes */

static const char *
word_of(struct work *w, const struct hf_name *name, const char *word, uint32_t *len, struct err *err)
{
    struct str s = { 0 };
    char *p = NULL;
    if (name->layer >= 0)
        str_format(&s, "blk.%" PRId64 ".", name->layer);
    str_format(&s, "%s%s", word, name->suffix);
    if (s.failed)
        err_memory(err, s.len);
    else if ((p = catalog_alloc(w->memory, s.len + 1, err)) != NULL)
        memcpy(p, s.p, s.len + 1);
    *len = (uint32_t)s.len;
    str_clear(&s);
    return p;
}

/* Returns true if llama.cpp requires F32; all others have the output type. */
static bool
is_small(const char *word, const struct hf_name *name, uint32_t rank)
{
    return rank <= 1 || strcmp(name->suffix, ".weight") != 0 || str_ends(word, "_norm") || strcmp(word, "ffn_gate_inp") == 0
        || strcmp(word, "ffn_gate_inp_shexp") == 0;
}

static enum dtype
type_of(const struct work *w, const struct tensor_row *e, const char *word, uint32_t rank)
{
    if (is_small(word, &e->name, rank))
        return DTYPE_F32;
    if (w->matrices != DTYPE_UNKNOWN)
        return w->matrices;
    return e->chosen.dtype == DTYPE_BF16 || e->chosen.dtype == DTYPE_F16 ? e->chosen.dtype : DTYPE_F32;
}

static bool
put_shape(struct work *w, struct shape *shape, const uint64_t *dim, uint32_t rank, struct err *err)
{
    uint8_t *packed = catalog_alloc(w->memory, (size_t)rank * SHAPE_DIM + 1, err);
    if (!packed)
        return false;
    shape_pack(packed, dim, rank);
    *shape = (struct shape){ rank, packed };
    return true;
}

/* --- the output */

static bool
add(struct work *w, const struct chosen *chosen, struct err *err)
{
    struct chosen *out = array_grow(w->out, w->nout, &w->room, sizeof *out, err);
    if (!out)
        return false;
    w->out = out;
    out[w->nout++] = *chosen;
    return true;
}

/* Adds a tensor under its GGUF name. */
static bool
add_called(struct work *w, const struct tensor_row *e, const char *word, const struct chosen *of, struct err *err)
{
    struct chosen chosen = *of;
    const struct tensor t = chosen_source(of);
    chosen.name = word_of(w, &e->name, word, &chosen.name_len, err);
    chosen.dtype = type_of(w, e, word, t.shape.rank);
    return chosen.name && add(w, &chosen, err);
}

/* Adds a tensor composed of parts with their `end` set, and applies `op` to each element unless it is NULL. */
static bool
add_composed(struct work *w, const struct tensor_row *e, const char *word, struct composed_part *part, size_t n,
    const struct operation *op, const uint64_t *dim, uint32_t rank, struct err *err)
{
    struct composed *composed = catalog_alloc(w->memory, sizeof *composed, err);
    if (!composed)
        return false;
    for (size_t i = 0; i < n; i++) {
        part[i].op = op;
        part[i].nops = op != NULL;
    }
    *composed = (struct composed){ .part = part, .n = n };
    const struct chosen chosen = { .composed = composed };
    return put_shape(w, &composed->shape, dim, rank, err) && add_called(w, e, word, &chosen, err);
}

static struct composed_part *
parts_new(struct work *w, uint64_t n, struct err *err)
{
    uint64_t size;
    if (!num_mul(&size, n, sizeof(struct composed_part))) {
        err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "config.json: too many experts: %" PRIu64, n);
        return NULL;
    }
    struct composed_part *part = catalog_alloc(w->memory, size, err);
    if (part)
        memset(part, 0, size);
    return part;
}

/* Describes all elements of a tensor. */
static bool
strided_of(struct strided *s, const struct tensor_row *e, struct err *err)
{
    uint64_t dim[SHAPE_MAX], numel;
    uint32_t rank = e->t.shape.rank;
    if (rank == 0 || rank > SHAPE_MAX)
        return fail(e, ERR_MALFORMED, "expected 1 to 4 dimensions", err);
    if (!shape_numel(&e->t.shape, &numel) || numel == 0)
        return fail(e, ERR_MALFORMED, "no elements", err);
    for (uint32_t i = 0; i < rank; i++)
        dim[i] = shape_dim(&e->t.shape, i);
    strided_init(s, dim, rank);
    return true;
}

/* Adds a tensor of a single part, with the shape of the input except for the first dimension. */
static bool
add_part(struct work *w, const struct tensor_row *e, const struct strided *s, const struct operation *op, uint64_t rows,
    struct err *err)
{
    uint64_t dim[SHAPE_MAX];
    struct composed_part *part = parts_new(w, 1, err);
    for (uint32_t i = 0; i < e->t.shape.rank; i++)
        dim[i] = i == 0 ? rows : shape_dim(&e->t.shape, i);
    return part && composed_part_make(part, e->chosen.copy, e->chosen.decode, s, w->memory, err)
        && add_composed(w, e, e->name.word, part, 1, op, dim, e->t.shape.rank, err);
}

/* --- special cases */

static uint64_t
head_size(const struct hf_config *c)
{
    return c->head_dim != 0 ? c->head_dim : c->heads != 0 ? c->hidden_size / c->heads : 0;
}

/* Adds queries or keys, whose rows must match the heads. */
static bool
add_heads(struct work *w, const struct tensor_row *e, struct err *err)
{
    const struct hf_config *c = w->config;
    uint64_t heads = e->name.change == HF_QUERY ? c->heads : c->kv_heads, size = head_size(c), rows;
    if (e->t.shape.rank == 0 || e->t.shape.rank > 2 || !num_mul(&rows, heads, size)
        || rows != shape_dim(&e->t.shape, 0) || rows == 0)
        return fail(e, ERR_MALFORMED, "the number of rows does not match the heads in config.json", err);
    if (!c->family->permutes)
        return add_called(w, e, e->name.word, &e->chosen, err);
    if (size % 2 != 0)
        return fail(e, ERR_MALFORMED, "the head size is odd, but rows are rotated in pairs", err);
    /* Interleaves the two halves of each head, so that the two rows of a rotated pair are adjacent. */
    const uint64_t halves[] = { heads, 2, size / 2 };
    struct strided s;
    if (!strided_of(&s, e, err))
        return false;
    strided_split(&s, 0, halves, 3);
    strided_permute(&s, 1, (const uint32_t[]){ 1, 0 }, 2);
    return add_part(w, e, &s, NULL, rows, err);
}

/* Adds a tensor with one row per token. Drops the rows of a Gemma 3 after its last token. */
static bool
add_tokens(struct work *w, const struct tensor_row *e, struct err *err)
{
    uint64_t tokens = w->how->tokens;
    if (w->config->family->kind != HF_GEMMA3 || e->t.shape.rank != 2 || tokens == 0 || tokens >= shape_dim(&e->t.shape, 0))
        return add_called(w, e, e->name.word, &e->chosen, err);
    struct strided s;
    return strided_of(&s, e, err) && strided_slice(&s, 0, 0, tokens) && add_part(w, e, &s, NULL, tokens, err);
}

static bool
add_embedding(struct work *w, const struct tensor_row *e, struct err *err)
{
    const struct hf_config *c = w->config;
    uint64_t rows = e->t.shape.rank == 2 ? shape_dim(&e->t.shape, 0) : 0;
    if (rows == 0 || rows != c->vocab_size || shape_dim(&e->t.shape, 1) != c->hidden_size)
        return fail(e, ERR_MALFORMED, "expected shape [vocab_size, hidden_size] of config.json", err);
    return add_tokens(w, e, err);
}

/* Fails unless a head that is not used equals the embeddings. A head that is quantized is not compared and fails too. */
static bool
check_tied(struct work *w, const struct tensor_row *e, struct err *err)
{
    const struct tensor_row *embedding = NULL;
    bool same = false;
    for (size_t i = 0; i < w->n; i++)
        if (w->list[i].name.change == HF_EMBEDDING)
            embedding = &w->list[i];
    if (!embedding)
        return fail(e, ERR_MALFORMED, "the model has no embed_tokens.weight", err);
    if (e->chosen.copy && embedding->chosen.copy
            && !hf_same_bytes(&same, w->how->model, e->chosen.copy, embedding->chosen.copy, err))
        return false;
    return same || fail(e, ERR_UNSUPPORTED, "differs from embed_tokens.weight, which llama.cpp uses for the logits of this "
        "class", err);
}

static bool
add_head(struct work *w, const struct tensor_row *e, struct err *err)
{
    w->has_head = true;
    return w->config->family->tied ? check_tied(w, e, err) : add_tokens(w, e, err);
}

static bool
check_head(const struct work *w, struct err *err)
{
    const struct hf_family *family = w->config->family;
    return !family->needs_head || w->has_head || err_set(err, ERR_UNSUPPORTED, ERR_NO_OFFSET, "the model has no "
        "lm_head.weight, which llama.cpp requires for %s", family->class);
}

/* --- experts */

static bool
add_stack(struct work *w, const struct experts *x, unsigned i, struct err *err)
{
    const struct tensor_row *e = x->first[i];
    uint64_t dim[] = { w->config->experts, shape_dim(&e->t.shape, 0), shape_dim(&e->t.shape, 1) };
    for (uint64_t k = 1; k < dim[0]; k++)
        x->part[i][k].end += x->part[i][k - 1].end;
    return add_composed(w, e, e->name.word, x->part[i], (size_t)dim[0], NULL, dim, 3, err);
}

/* Stores one expert. Adds the stacks after the last expert of a layer. */
static bool
take_expert(struct work *w, const struct tensor_row *e, struct err *err)
{
    const struct hf_config *c = w->config;
    struct experts *x = &w->experts[e->name.layer];
    unsigned i = hf_expert_order(c->family, e->name.word);
    if (e->name.expert >= c->experts)
        return fail(e, ERR_MALFORMED, "config.json declares fewer experts", err);
    if (e->t.shape.rank != 2 || (x->first[i] && (!shape_same(&e->t.shape, &x->first[i]->t.shape, 2))))
        return fail(e, ERR_MALFORMED, "expected a matrix of the same shape as the other experts of the layer", err);
    if (!x->part[i] && (x->part[i] = parts_new(w, c->experts, err)) == NULL)
        return false;
    struct composed_part *part = &x->part[i][e->name.expert];
    struct strided s;
    if (part->copy || part->decode)
        return fail(e, ERR_MALFORMED, "duplicate expert", err);
    if (!strided_of(&s, e, err) || !composed_part_make(part, e->chosen.copy, e->chosen.decode, &s, w->memory, err))
        return false;
    x->first[i] = x->first[i] ? x->first[i] : e;
    if (++x->have != WORDS * c->experts)
        return true;
    for (i = 0; i < WORDS; i++)
        if (!add_stack(w, x, i, err))
            return false;
    return true;
}

/* Adds experts that are already stacked: [experts, rows, columns], or [experts, 2 * rows, columns] for gate and up. */
static bool
add_experts(struct work *w, const struct tensor_row *e, struct err *err)
{
    bool both = e->name.change == HF_EXPERTS_GATE_UP;
    const char *const words[] = { e->name.word, hf_up_experts };
    if (e->t.shape.rank != 3 || shape_dim(&e->t.shape, 0) != w->config->experts)
        return fail(e, ERR_MALFORMED, "the first dimension is not the number of experts in config.json", err);
    uint64_t dim[] = { w->config->experts, shape_dim(&e->t.shape, 1), shape_dim(&e->t.shape, 2) }, numel = 0;
    if ((both && dim[1] % 2 != 0) || !shape_numel(&e->t.shape, &numel) || numel == 0)
        return fail(e, ERR_MALFORMED, "expected equal numbers of gate and up rows, and at least one", err);
    if (!both)
        return add_called(w, e, words[0], &e->chosen, err);
    dim[1] /= 2;
    for (unsigned k = 0; k < 2; k++) {
        struct composed_part *part = parts_new(w, 1, err);
        struct strided s;
        if (!part || !strided_of(&s, e, err) || !strided_slice(&s, 1, k * dim[1], dim[1])
            || !composed_part_make(part, e->chosen.copy, e->chosen.decode, &s, w->memory, err)
            || !add_composed(w, e, words[k], part, 1, NULL, dim, 3, err))
            return false;
    }
    return true;
}

static bool
check_experts(const struct work *w, struct err *err)
{
    for (uint64_t i = 0; i < w->config->layers; i++)
        if (w->experts[i].have != 0 && w->experts[i].have != WORDS * w->config->experts)
            return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "layer %" PRIu64 ": expected %" PRIu64 " matrices of %"
                PRIu64 " experts, found %" PRIu64, i, WORDS * w->config->experts, w->config->experts, w->experts[i].have);
    return true;
}

/* --- all tensors */

static bool
add_entry(struct work *w, const struct tensor_row *e, struct err *err)
{
    const struct hf_family *family = w->config->family;
    char what[128];
    if (e->name.drops)
        return true;
    snprintf(what, sizeof what, "llama.cpp has no such tensor for %s", family->class);
    if (!e->name.word)
        return fail(e, ERR_UNSUPPORTED, what, err);
    if (!dtype_is_float(e->chosen.dtype))
        return fail(e, ERR_UNSUPPORTED, "expected a floating-point dtype", err);
    if (e->name.layer >= 0 && (uint64_t)e->name.layer >= w->config->layers)
        return fail(e, ERR_MALFORMED, "config.json declares fewer layers", err);
    switch (e->name.change) {
    case HF_QUERY: case HF_KEY:
        return add_heads(w, e, err);
    case HF_EMBEDDING:
        return add_embedding(w, e, err);
    case HF_HEAD:
        return add_head(w, e, err);
    case HF_EXPERT:
        return take_expert(w, e, err);
    case HF_EXPERTS: case HF_EXPERTS_GATE_UP:
        return add_experts(w, e, err);
    default:
        break;
    }
    if (!family->adds_one || !str_ends(e->name.word, "norm"))
        return add_called(w, e, e->name.word, &e->chosen, err);
    static const struct operation add_one = { OPERATION_ADD, 1 };
    struct strided s;
    return strided_of(&s, e, err) && add_part(w, e, &s, &add_one, shape_dim(&e->t.shape, 0), err);
}

static bool
add_factors(struct work *w, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < w->config->nfactors; i++) {
        const struct hf_factors *f = &w->config->factors[i];
        struct composed *composed = catalog_alloc(w->memory, sizeof *composed, err);
        float *numbers = catalog_alloc(w->memory, f->n * sizeof *numbers + 1, err);
        uint64_t dim = f->n;
        if (!composed || !numbers)
            return false;
        memcpy(numbers, f->x, f->n * sizeof *numbers);
        *composed = (struct composed){ .numbers = numbers, .name = f->name };
        const struct chosen chosen = { .composed = composed, .dtype = DTYPE_F32 };
        ok = put_shape(w, &composed->shape, &dim, 1, err) && add(w, &chosen, err);
    }
    return ok;
}

static int
compare(const void *pa, const void *pb)
{
    const struct tensor_row *a = pa, *b = pb;
    return a->file != b->file ? (a->file > b->file) - (a->file < b->file)
        : str_compare(a->t.name, a->t.name_len, b->t.name, b->t.name_len);
}

/* Lists the tensors, sorted by name within each file. */
static bool
read_entries(struct work *w, const struct choice *choice, struct err *err)
{
    w->list = calloc(choice->n + 1, sizeof *w->list);
    w->experts = calloc((size_t)w->config->layers + 1, sizeof *w->experts);
    if (!w->list || !w->experts)
        return err_memory(err, (choice->n + 1) * sizeof *w->list);
    for (; w->n < choice->n; w->n++) {
        struct tensor_row *e = &w->list[w->n];
        e->chosen = choice->list[w->n];
        e->t = chosen_source(&e->chosen);
        e->file = e->t.extent.file;
        e->name = hf_name_read(w->config->family, e->t.name, e->t.name_len);
    }
    qsort(w->list, w->n, sizeof *w->list, compare);
    return true;
}

/* Returns the type of all matrices: the type requested, or that of the first half-precision matrix. */
static enum dtype
find_type(const struct work *w)
{
    if (w->how->matrices != DTYPE_UNKNOWN || w->how->exact)
        return w->how->matrices;
    for (size_t i = 0; i < w->n; i++) {
        const struct tensor_row *e = &w->list[i];
        if (e->t.shape.rank >= 2 && (e->chosen.dtype == DTYPE_BF16 || e->chosen.dtype == DTYPE_F16))
            return e->chosen.dtype;
    }
    return DTYPE_F16;
}

bool
hf_tensors(struct choice *choice, const struct hf_tensors_options *options, struct err *err)
{
    const struct hf_config *c = options->config;
    struct work w = { .how = options, .config = c, .memory = options->model->catalog };
    bool ok = c->layers <= LAYERS_MAX || err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "config.json: %" PRIu64 " layers exceed the "
        "limit of %d", c->layers, LAYERS_MAX);
    ok = ok && read_entries(&w, choice, err);
    w.matrices = ok ? find_type(&w) : DTYPE_UNKNOWN;
    ok = ok && add_factors(&w, err);
    for (size_t i = 0; ok && i < w.n; i++)
        ok = add_entry(&w, &w.list[i], err);
    ok = ok && check_experts(&w, err) && check_head(&w, err);
    free(w.list);
    free(w.experts);
    if (!ok) {
        free(w.out);
        return false;
    }
    free(choice->list);
    choice->list = w.out;
    choice->n = w.nout;
    choice->matrices = w.matrices;
    choice->model = (struct mix_model){ .arch = c->family->arch, .n = strlen(c->family->arch), .layers = c->layers,
        .experts = c->experts, .heads = c->heads, .kv_heads = c->kv_heads };
    return choice_distinct_or(choice, ERR_MALFORMED, "the model contains it under two names", err);
}
