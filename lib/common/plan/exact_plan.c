#include "plan/exact_plan.h"

#include <string.h>

#include "base/bytes.h"
#include "base/str.h"

static bool
begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Finds the scale of activations that belongs to a weight of NVFP4. */
static bool
describe_input(struct exact_source *s, const struct weight *w, const struct exact_reader *reader, struct err *err)
{
    size_t n = w->name_len;
    struct str name = { 0 };
    uint8_t bytes[4];
    bool module = str_strip(w->name, &n, ".weight"), ok = true;
    str_add(&name, w->name, n);
    str_text(&name, !module ? "_input_scale" : s->divides ? ".input_global_scale" : ".input_scale");
    const struct tensor *t = name.failed ? NULL : catalog_find(reader->catalog, name.p, name.len);
    if (name.failed)
        ok = err_memory(err, name.len);
    if (t && t->dtype == DTYPE_F32 && t->extent.nbytes == sizeof bytes) {
        ok = reader->read(reader->of, t, bytes, err);
        s->has_input = ok;
        s->input = ok ? float_of_bits(t->big_endian ? load_be32(bytes) : load_le32(bytes)) : 0;
    }
    str_clear(&name);
    return ok;
}

/* Reads the second scales of a weight. */
static bool
describe_seconds(struct exact_source *s, const struct weight *w, const struct weight_grid *g, const struct exact_reader *reader,
    struct err *err)
{
    uint64_t n = 1, numel = 0;
    shape_numel(&g->second->shape, &n);
    shape_numel(&w->shape, &numel);
    if (n == 0) {
        *s = (struct exact_source){ .codes = EXACT_OTHER };
        return true;
    }
    float *list = catalog_alloc(reader->catalog, 2 * (size_t)n * sizeof *list, err);
    uint8_t *bytes = (uint8_t *)(list + n);
    if (!list || !reader->read(reader->of, g->second, bytes, err))
        return false;
    for (uint64_t i = 0; i < n; i++)
        list[i] = float_of_bits(load_le32(bytes + 4 * i));
    s->stated = list[0];
    s->over = g->over;
    s->second = g->over != 0 ? s->stated / (float)g->over : s->stated;
    if (n != 1) {
        s->seconds = list;
        s->nseconds = n;
        s->each = numel / n;
    }
    return true;
}

/* Describes one quantized weight. */
static bool
describe(struct exact_source *s, const struct weight *w, const struct exact_reader *reader, struct err *err)
{
    static const enum exact_codes codes[] = { [GRID_OTHER] = EXACT_OTHER, [GRID_INT] = EXACT_INT, [GRID_AFFINE] = EXACT_AFFINE,
        [GRID_E2M1] = EXACT_E2M1, [GRID_FP8] = EXACT_FP8, [GRID_NF4] = EXACT_NF4 };
    struct weight_grid g;
    scheme_grid(w, &g);
    *s = (struct exact_source){ .codes = codes[g.codes], .scale = g.scale, .group = g.group, .bits = g.bits, .zeros = g.zeros,
        .plus_zero = g.plus_zero, .rounds = !g.exact, .divides = g.divides, .late = g.late, .short_name = g.short_name,
        .two = g.second != NULL };
    if (s->codes == EXACT_E2M1 && s->scale == DTYPE_F8_E4M3 && !describe_input(s, w, reader, err))
        return false;
    return !g.second || describe_seconds(s, w, &g, reader, err);
}

/* Returns true if two sources differ in the values of their second scales at most. */
static bool
is_alike(struct exact_source a, struct exact_source b)
{
    struct exact_source *both[] = { &a, &b };
    for (int i = 0; i < 2; i++) {
        both[i]->second = both[i]->stated = both[i]->input = 0;
        both[i]->seconds = NULL;
        both[i]->nseconds = both[i]->each = 0;
    }
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Adds the second scales of a part, the elements [begin, end) of stacked matrices. Returns false if it does not have whole ones. */
static bool
add_seconds(float *seconds, float *inputs, const struct exact_source *part, uint64_t each, uint64_t begin, uint64_t end)
{
    if (begin % each != 0 || end % each != 0 || (part->seconds && part->each != each))
        return false;
    for (uint64_t k = begin / each; k < end / each; k++) {
        seconds[k] = part->seconds ? part->seconds[k - begin / each] : part->second;
        inputs[k] = part->input;
    }
    return true;
}

/* Describes stacked matrices that have second scales of their own. */
static bool
describe_stack(struct exact_source *s, const struct composed *c, const struct exact_reader *reader, struct err *err)
{
    uint64_t each = 0, n = 0, last = c->part[c->n - 1].end;
    bool whole = c->shape.rank == 3 && c->period == 0 && s->over == 0, same = true;
    if (whole) {
        each = shape_dim(&c->shape, 1) * shape_dim(&c->shape, 2);
        n = last / each;
    }
    float *seconds = catalog_alloc(reader->catalog, 2 * (size_t)(n + 1) * sizeof *seconds, err), *inputs = seconds + n;
    if (!seconds)
        return false;
    for (size_t i = 0; whole && i < c->n; i++) {
        struct exact_source one;
        if (!describe(&one, c->part[i].decode, reader, err))
            return false;
        whole = add_seconds(seconds, inputs, &one, each, composed_begin(c, i), c->part[i].end);
    }
    for (uint64_t k = 1; whole && k < n; k++)
        same = same && inputs[k] == inputs[0];
    if (!whole) {
        *s = (struct exact_source){ .codes = EXACT_OTHER };
        return true;
    }
    s->seconds = seconds;
    s->inputs = same ? NULL : inputs;
    s->nseconds = n;
    s->each = each;
    return true;
}

bool
exact_source_find(struct exact_source *s, const struct chosen *c, const struct exact_reader *reader, struct err *err)
{
    bool differ = false;
    *s = (struct exact_source){ .codes = EXACT_DENSE };
    if (c->decode)
        return describe(s, c->decode, reader, err);
    for (size_t i = 0; c->composed && i < c->composed->n; i++) {
        const struct weight *w = c->composed->part[i].decode;
        struct exact_source one = { .codes = EXACT_OTHER };
        if (w && c->composed->part[i].nops == 0 && !describe(&one, w, reader, err))
            return false;
        if (i == 0 && !w)
            return true;
        if (i != 0 && !is_alike(one, *s))
            one = (struct exact_source){ .codes = EXACT_OTHER };
        differ = differ || (one.two && (one.seconds || (i != 0 && (one.second != s->second || one.input != s->input))));
        if (i == 0 || one.codes == EXACT_OTHER)
            *s = one;
        if (s->codes == EXACT_OTHER)
            return true;
    }
    return !differ || describe_stack(s, c->composed, reader, err);
}

bool
exact_make_upright(struct chosen *c, struct catalog *memory, struct err *err)
{
    if (!c->decode || !c->decode->scheme->upright || c->decode->vague)
        return true;
    const struct weight *w = c->decode->scheme->upright(c->decode, memory, err);
    c->decode = w ? w : c->decode;
    return w != NULL;
}

static bool
is_float(enum dtype type)
{
    return type == DTYPE_F32 || type == DTYPE_F16 || type == DTYPE_BF16;
}

/* Returns the group size for an encoder in groups; 0: its own. */
static uint64_t
group_of(const struct encoder *encoder, const struct exact_source *s)
{
    bool mlx = begins(encoder->name, "mlx-");
    uint64_t g = s->group;
    if (mlx)
        return g == 0 ? 0 : g % 128 == 0 ? 128 : g % 64 == 0 ? 64 : g % 32 == 0 ? 32 : 0;
    if (strcmp(encoder->name, "nf4") == 0 || strcmp(encoder->name, "bnb-nf4") == 0)
        return s->codes == EXACT_NF4 ? g : 0;
    for (uint64_t size = 32; size <= 1024; size *= 2)
        if (g == size)
            return g;
    return g > 1024 ? 128 : 0;
}

bool
exact_has_groups(const struct encoder *e)
{
    return strcmp(e->name, "int4-group") == 0 || begins(e->name, "gptq") || strcmp(e->name, "awq") == 0
        || (begins(e->name, "mlx-") && str_ends(e->name, "bit")) || str_ends(e->name, "nf4");
}

/* Returns true if the scales of an encoder can have the type of the weight. */
static bool
has_types(const struct encoder *e)
{
    return strcmp(e->name, "int4-group") == 0 || strcmp(e->name, "int8-channel") == 0 || begins(e->name, "fp8-per-")
        || (begins(e->name, "mlx-") && str_ends(e->name, "bit"));
}

bool
exact_options_find(struct encode_options *how, const struct encode_options *given, const struct encoder *encoder,
    const struct exact_source *s, unsigned variant)
{
    bool zeros = strcmp(encoder->name, "int4-group") == 0 || strcmp(encoder->name, "int8-channel") == 0 || begins(encoder->name, "gptq");
    bool dense = s->codes == EXACT_DENSE, both = zeros && (s->zeros || dense) && !given->asymmetric && !given->symmetric;
    unsigned types = dense && has_types(encoder) && given->scale_type == 0 ? 2 : 1;     /* of the scales: the weight's, then F32 */
    *how = *given;
    if (variant >= types * (both ? 2 : 1))
        return false;
    how->asymmetric = given->asymmetric || variant >= types;
    if (variant % types == 1)
        how->scale_type = 1 + (uint64_t)DTYPE_F32;
    if (!exact_has_groups(encoder))
        how->group_size = 0;            /* for other names of the list */
    else if (how->group_size == 0)
        how->group_size = group_of(encoder, s);
    if (is_float(s->scale) && (s->codes == EXACT_INT || s->codes == EXACT_AFFINE || s->codes == EXACT_FP8))
        how->scale_type = 1 + (uint64_t)s->scale;
    else if (s->codes == EXACT_E2M1 || s->codes == EXACT_FP8)
        how->scale_type = 1 + (uint64_t)DTYPE_BF16;
    else if (s->codes == EXACT_OTHER || s->codes == EXACT_NF4)         /* values that were rounded fit scales of F32 more often */
        how->scale_type = 1 + (uint64_t)DTYPE_F32;
    how->short_name = s->short_name;
    return true;
}

enum dtype
exact_type_of(const struct chosen *c)
{
    bool quantized = c->decode || (c->composed && c->composed->n != 0 && c->composed->part[0].decode);
    return quantized ? DTYPE_BF16 : chosen_source(c).dtype;
}
