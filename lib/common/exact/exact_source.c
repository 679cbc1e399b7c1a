#include "exact/exact_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/str.h"

/* Reads the n numbers of an F32 tensor. They live as long as the catalog; NULL on failure. */
static const float *
read_list(const struct tensor *t, uint64_t n, const struct exact_reader *reader, struct err *err)
{
    float *list = catalog_alloc(reader->catalog, 2 * (size_t)n * sizeof *list, err);
    uint8_t *bytes = (uint8_t *)(list + n);
    if (!list || !reader->read(reader->of, t, bytes, err))
        return NULL;
    for (uint64_t i = 0; i < n; i++)
        list[i] = float_of_bits(t->big_endian ? load_be32(bytes + 4 * i) : load_le32(bytes + 4 * i));
    return list;
}

/* Finds the scale of activations that belongs to a weight of NVFP4. *t is NULL without one. */
static bool
find_input(const struct tensor **t, const struct exact_source *s, const struct weight *w, const struct catalog *catalog, struct err *err)
{
    size_t n = w->name_len;
    struct str name = { 0 };
    bool module = str_strip(w->name, &n, ".weight");
    str_add(&name, w->name, n);
    str_text(&name, !module ? "_input_scale" : s->divides ? ".input_global_scale" : ".input_scale");
    if (name.failed)
        *t = NULL;
    else
        *t = catalog_find(catalog, name.p, name.len);
    bool ok = !name.failed || err_memory(err, name.len);
    str_clear(&name);
    return ok;
}

/* Reads the scales of activations of a weight: one, or one for each of stacked matrices. */
static bool
describe_input(struct exact_source *s, const struct weight *w, const struct exact_reader *reader, struct err *err)
{
    const struct tensor *t;
    const float *list = NULL;
    uint64_t n = 0, numel = 0, matrices = w->shape.rank == 3 ? shape_dim(&w->shape, 0) : 1;
    if (!find_input(&t, s, w, reader->catalog, err))
        return false;
    if (!t)
        return true;
    shape_numel(&w->shape, &numel);
    s->has_input = true;
    if (t->dtype != DTYPE_F32 || !shape_numel(&t->shape, &n) || n == 0 || (n != 1 && n != matrices)) {
        s->input_why = "its scale of activations is not F32, or neither one number nor one for each matrix";
        return true;
    }
    list = read_list(t, n, reader, err);
    if (list)
        s->input = list[0];
    else
        s->input = 0;
    if (list && n != 1) {
        s->inputs = list;
        s->nseconds = n;
        s->each = numel / n;
    }
    return list != NULL;
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
    const float *list = read_list(g->second, n, reader, err);
    if (!list)
        return false;
    s->stated = list[0];
    s->over = g->over;
    if (g->over != 0)
        s->second = s->stated / (float)g->over;
    else
        s->second = s->stated;
    if (n != 1) {
        s->seconds = list;
        s->nseconds = n;
        s->each = numel / n;
    }
    return true;
}

/* Lists the columns by group. Leaves s->order NULL if the groups differ in size, which readers take differently. */
static bool
describe_order(struct exact_source *s, const struct weight_grid *g, const struct exact_reader *reader, struct err *err)
{
    uint64_t n = shape_dim(&g->g_idx->shape, 0), each = g->groups != 0 ? n / g->groups : 0;
    if (each == 0 || n % g->groups != 0)
        return true;
    uint32_t *order = catalog_alloc(reader->catalog, (size_t)n * sizeof *order, err);
    uint32_t *have = order ? calloc((size_t)(g->groups + n), sizeof *have) : NULL;      /* columns of each group; then g_idx */
    const uint32_t *g_idx = NULL;
    if (have)
        g_idx = have + g->groups;
    bool ok = have ? reader->read(reader->of, g->g_idx, have + g->groups, err) : order && err_memory(err, n * sizeof *have), even = ok;
    for (uint64_t i = 0; even && i < n; i++) {
        int64_t k = (int32_t)load_le32((const uint8_t *)&g_idx[i]);
        if (k < 0)
            k += (int64_t)g->groups;
        even = k >= 0 && k < (int64_t)g->groups && have[k] < each;
        if (even)
            order[(uint64_t)k * each + have[k]++] = (uint32_t)i;
    }
    free(have);
    if (even)
        s->order = order;
    else
        s->order = NULL;
    s->norder = n;
    s->order_group = each;
    return ok;
}

/* Describes one quantized weight. */
static bool
exact_source_describe(struct exact_source *s, const struct weight *w, const struct exact_reader *reader, struct err *err)
{
    static const enum exact_codes codes[] = { [GRID_OTHER] = EXACT_OTHER, [GRID_INT] = EXACT_INT, [GRID_AFFINE] = EXACT_AFFINE,
        [GRID_E2M1] = EXACT_E2M1, [GRID_FP8] = EXACT_FP8, [GRID_NF4] = EXACT_NF4 };
    struct weight_grid g;
    scheme_grid(w, &g);
    *s = (struct exact_source){ .codes = codes[g.codes], .scale = g.scale, .group = g.group, .bits = g.bits, .zeros = g.zeros,
        .plus_zero = g.plus_zero, .rounds = !g.exact, .divides = g.divides, .late = g.late, .short_name = g.short_name,
        .two = g.second != NULL };
    if ((g.second && !describe_seconds(s, w, &g, reader, err)) || (g.g_idx && !describe_order(s, &g, reader, err)))
        return false;
    return !((s->codes == EXACT_E2M1 && s->scale == DTYPE_F8_E4M3) || s->codes == EXACT_OTHER) || describe_input(s, w, reader, err);
}

/* Makes a source of values alone. */
static void
make_other(struct exact_source *s)
{
    *s = (struct exact_source){ .codes = EXACT_OTHER, .has_input = s->has_input };
}

/* Returns true if two sources differ at most in the values of their second scales and scales of activations. */
static bool
is_alike(const struct exact_source *a, const struct exact_source *b)
{
    return a->codes == b->codes && a->scale == b->scale && a->group == b->group && a->bits == b->bits && a->order == b->order
        && a->norder == b->norder && a->order_group == b->order_group && a->zeros == b->zeros && a->plus_zero == b->plus_zero
        && a->rounds == b->rounds && a->two == b->two && a->divides == b->divides && a->late == b->late && a->over == b->over
        && a->short_name == b->short_name && a->has_input == b->has_input && a->input_why == b->input_why;
}

/* Adds the second scales and the scales of activations of a part: elements [begin, end) of stacked matrices. Returns false if the part
 * does not have whole matrices. */
static bool
add_seconds(float *seconds, float *inputs, const struct exact_source *part, uint64_t each, uint64_t begin, uint64_t end)
{
    if (begin % each != 0 || end % each != 0 || ((part->seconds || part->inputs) && part->each != each))
        return false;
    for (uint64_t k = begin / each; k < end / each; k++) {
        if (part->seconds)
            seconds[k] = part->seconds[k - begin / each];
        else
            seconds[k] = part->second;
        if (part->inputs)
            inputs[k] = part->inputs[k - begin / each];
        else
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
        if (!exact_source_describe(&one, c->part[i].decode, reader, err))
            return false;
        whole = add_seconds(seconds, inputs, &one, each, composed_begin(c, i), c->part[i].end);
    }
    for (uint64_t k = 1; whole && k < n; k++)
        same = same && inputs[k] == inputs[0];
    if (!whole) {
        make_other(s);
        return true;
    }
    s->seconds = seconds;
    if (same)
        s->inputs = NULL;
    else
        s->inputs = inputs;
    s->nseconds = n;
    s->each = each;
    return true;
}

/* Describes a composed weight by its first part, if the others are like it. */
static bool
describe_composed(struct exact_source *s, const struct composed *c, const struct exact_reader *reader, struct err *err)
{
    bool differ = false, alike = true, has_input = false;
    for (size_t i = 0; i < c->n; i++) {
        const struct weight *w = c->part[i].decode;
        struct exact_source one = { .codes = EXACT_OTHER };
        if (i == 0 && !w)
            return true;
        if (w && !exact_source_describe(&one, w, reader, err))
            return false;
        if (i == 0)
            *s = one;
        alike = alike && c->part[i].nops == 0 && (i == 0 || s->codes == EXACT_OTHER || is_alike(&one, s));
        differ = differ || one.seconds || one.inputs || (i != 0 && (one.second != s->second || one.input != s->input));
        has_input = has_input || one.has_input;
    }
    s->has_input = has_input;
    if (!alike)
        make_other(s);
    return s->codes == EXACT_OTHER || !differ || describe_stack(s, c, reader, err);
}

bool
exact_source_find(struct exact_source *s, const struct chosen *c, const struct exact_reader *reader, struct err *err)
{
    *s = (struct exact_source){ .codes = EXACT_DENSE };
    if (c->decode ? !exact_source_describe(s, c->decode, reader, err) : c->composed && !describe_composed(s, c->composed, reader,
        err))
        return false;
    if (s->codes == EXACT_OTHER && s->has_input)
        s->input_why = "its scale of activations does not fit: parts of the weight have none, or other blocks";
    return true;
}

bool
exact_source_upright(struct chosen *c, struct catalog *memory, struct err *err)
{
    if (!c->decode || !c->decode->scheme->upright || c->decode->vague)
        return true;
    const struct weight *w = c->decode->scheme->upright(c->decode, memory, err);
    if (w)
        c->decode = w;
    return w != NULL;
}

static bool
is_float(enum dtype type)
{
    return type == DTYPE_F32 || type == DTYPE_F16 || type == DTYPE_BF16;
}

/* Returns the group size for an encoder; 0: its own. Takes the size of the source if the encoder has it, else the largest of 32, 64
 * and 128 that divides it. The result divides the rows. */
static uint64_t
group_of(const struct encoder *encoder, const struct exact_source *s, uint64_t cols)
{
    uint64_t g = s->order ? s->order_group : s->group, size = encoder->grid.most_group;
    if (encoder->grid.groups == GROUPS_ALIKE)
        return s->codes == EXACT_NF4 ? g : 0;
    while (size >= 32 && (g % size != 0 || cols % size != 0 || (size > 128 && g != size)))
        size /= 2;
    if (g != 0 && size >= 32)
        return size;
    return 0;
}

bool
exact_source_options(struct encode_options *how, const struct encode_options *given, const struct encoder *encoder,
    const struct exact_source *s, uint64_t cols, unsigned variant)
{
    bool dense = s->codes == EXACT_DENSE, both = encoder->grid.zeros && (s->zeros || dense) && !given->asymmetric && !given->symmetric;
    unsigned types = dense && encoder->grid.types && given->scale_type == 0 ? 2 : 1;     /* of the scales: the weight's, then F32 */
    *how = *given;
    if (variant >= types * (both ? 2 : 1))
        return false;
    how->asymmetric = given->asymmetric || variant >= types;
    if (variant % types == 1)
        how->scale_type = 1 + (uint64_t)DTYPE_F32;
    if (encoder->grid.groups == GROUPS_OWN)
        how->group_size = 0;            /* for other names of the list */
    else if (how->group_size == 0)
        how->group_size = group_of(encoder, s, cols);
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
exact_source_type(const struct chosen *c)
{
    if (chosen_is_quantized(c))
        return DTYPE_BF16;
    return chosen_source(c).dtype;
}
