/* Source: generate_extra_tensors() of llama.cpp's convert_hf_to_gguf.py, with torch.float32: tensors are rounded after each
 * operation, and plain numbers before they meet a tensor. */
#include "hf/family/make.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"

/* A generated tensor; x is allocated by the catalog. */
struct made_factors {
    float *x;
    size_t n;
};

static bool
bad(const struct family_make *make, const char *what, struct err *err)
{
    return err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "config.json: %s (%s: make %s)", what, make->where, make->gguf);
}

/* Allocates the factors of a head with 2 * n dimensions. */
static bool
set_size(struct made_factors *f, const struct family_make *make, uint64_t n, struct catalog *memory, struct err *err)
{
    if (n == 0 || n > FAMILY_FACTORS)
        return bad(make, "the number of rotated pairs is 0 or too large", err);
    f->n = (size_t)n;
    f->x = catalog_alloc(memory, f->n * sizeof *f->x, err);
    return f->x != NULL;
}

/* Reads a number of the rope parameters. The default applies if it is missing; null is an error. */
static bool
read_number(double *out, const json_t *rope, const char *name, double missing, struct err *err)
{
    const json_t *value = json_object_get(rope, name);
    *out = value ? json_number_value(value) : missing;
    return !value || json_is_number(value)
        || err_set(err, ERR_MALFORMED, ERR_NO_OFFSET, "config.json: %s is not a number", name);
}

/* Sets *n to a member of the configuration or a let; 0 if it is null. */
static bool
value_of(double *n, struct scope *scope, const char *name, struct err *err)
{
    json_t *value;
    if (!scope_value(&value, name, scope, 0, err))
        return false;
    *n = json_number_value(value);
    json_decref(value);
    return true;
}

float
llama3_factor(const struct llama3_rope *r, uint64_t i, uint64_t n)
{
    float p = real_pow((float)r->theta, (float)(2 * i) / (float)n);
    float f = 1.0f / p;
    float w = (1.0f / f) * (float)(2 * M_PI);
    if (w < (float)(r->length / r->high))
        return 1;
    if (w > (float)(r->length / r->low))
        return (float)r->factor;
    float s = ((1.0f / w) * (float)r->length - (float)r->low) / (float)(r->high - r->low);
    float t = (1.0f - s) / (float)r->factor + s;
    return 1.0f / t;
}

static bool
make_llama3(struct made_factors *f, const struct family_make *make, const struct family_tensors *how, struct err *err)
{
    const json_t *rope = how->scope->rope;
    struct llama3_rope r;
    double head, hidden, heads;
    if (!value_of(&head, how->scope, "head_dim", err) || !value_of(&hidden, how->scope, "hidden_size", err)
            || !value_of(&heads, how->scope, "num_attention_heads", err)
            || !read_number(&r.theta, rope, "rope_theta", 10000, err) || !read_number(&r.factor, rope, "factor", 8, err)
            || !read_number(&r.low, rope, "low_freq_factor", 1, err)
            || !read_number(&r.high, rope, "high_freq_factor", 4, err)
            || !read_number(&r.length, rope, "original_max_position_embeddings", 8192, err))
        return false;
    if (!(r.theta > 0 && r.factor > 0 && r.low > 0 && r.high >= r.low && r.length > 0))
        return bad(make, "rope_type llama3 requires positive rope_theta, factor, low_freq_factor and "
            "original_max_position_embeddings, and high_freq_factor of at least low_freq_factor", err);
    head = head > 0 ? head : heads > 0 ? floor(hidden / heads) : 0;
    uint64_t n = head > 0 && head <= 2 * FAMILY_FACTORS ? (uint64_t)head : 0;
    if (n % 2 != 0)
        return bad(make, "the head size is odd", err);
    if (!set_size(f, make, n / 2, how->model->catalog, err))
        return false;
    for (uint64_t i = 0; i < n / 2; i++)
        f->x[i] = llama3_factor(&r, i, n);
    return true;
}

static bool
make_list(struct made_factors *f, const struct family_make *make, const char *member, const struct family_tensors *how,
    struct err *err)
{
    const json_t *list = json_object_get(how->scope->rope, member);
    if (!json_is_array(list))
        return bad(make, "long_factor and short_factor are not both lists", err);
    if (!set_size(f, make, json_array_size(list), how->model->catalog, err))
        return false;
    for (size_t i = 0; i < f->n; i++) {
        const json_t *x = json_array_get(list, i);
        if (!json_is_number(x))
            return bad(make, "long_factor or short_factor contains a value that is not a number", err);
        f->x[i] = (float)json_number_value(x);
    }
    return true;
}

/* Pairs that are rotated have the factor 1; the others one so large that they are not. */
static bool
make_proportional(struct made_factors *f, const struct family_make *make, const struct family_tensors *how, struct err *err)
{
    double head, part;
    const json_t *rope = how->scope->rope;
    if (json_is_null(json_object_get(rope, "partial_rotary_factor")))
        rope = NULL;
    if (!value_of(&head, how->scope, "hfull", err) || !read_number(&part, rope, "partial_rotary_factor", 0.25, err))
        return false;
    if (!(head >= 2 && head <= 2 * FAMILY_FACTORS) || !(part >= 0 && part <= 1))
        return bad(make, "the head size or partial_rotary_factor is out of range", err);
    if (!set_size(f, make, (uint64_t)head / 2, how->model->catalog, err))
        return false;
    for (size_t i = 0; i < f->n; i++)
        f->x[i] = i < (size_t)(head * part / 2) ? 1.0f : 1e30f;
    return true;
}

static bool
make_one(struct made_factors *f, const struct family_make *make, const struct family_tensors *how, struct err *err)
{
    switch (make->function) {
    case MAKE_LLAMA3:
        return make_llama3(f, make, how, err);
    case MAKE_LONG_FACTOR:
        return make_list(f, make, "long_factor", how, err);
    case MAKE_SHORT_FACTOR:
        return make_list(f, make, "short_factor", how, err);
    default:
        return make_proportional(f, make, how, err);
    }
}

bool
family_make(struct chosen *list, size_t *n, const struct family_tensors *how, struct err *err)
{
    for (size_t i = 0; i < how->family->makes.n; i++) {
        const struct family_make *make = &how->family->makes.at[i];
        struct made_factors f = { 0 };
        bool applies;
        if (!expr_true(&applies, make->when, how->scope, 0, err))
            return false;
        if (!applies)
            continue;
        if (!make_one(&f, make, how, err))
            return false;
        struct composed *composed = catalog_alloc(how->model->catalog, sizeof *composed, err);
        uint8_t *packed = catalog_alloc(how->model->catalog, SHAPE_DIM, err);
        char *name = catalog_alloc(how->model->catalog, strlen(make->gguf) + 1, err);   /* the family may be freed before */
        if (!composed || !packed || !name)
            return false;
        strcpy(name, make->gguf);
        shape_pack(packed, &(const uint64_t){ f.n }, 1);
        *composed = (struct composed){ .shape = { 1, packed }, .numbers = f.x, .name = name };
        list[(*n)++] = (struct chosen){ .composed = composed, .dtype = DTYPE_F32, .name = name,
            .name_len = (uint32_t)strlen(name) };
    }
    return true;
}
