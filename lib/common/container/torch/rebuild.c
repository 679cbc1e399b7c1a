/* The tensors that calls of torch's rebuild functions describe. Arguments, in order (torch, _utils.py and _tensor.py):
 *
 *      _rebuild_tensor               storage, offset, size, stride
 *      _rebuild_tensor_v2            the same, requires_grad, hooks [, metadata]
 *      _rebuild_tensor_v3            the same, requires_grad, hooks, dtype [, metadata]
 *      _rebuild_qtensor              the same, parameters, requires_grad, hooks
 *      _rebuild_parameter            tensor, requires_grad, hooks [, state]
 *      _rebuild_from_type_v2         function, class, its arguments, state
 *      _rebuild_device_tensor_from_cpu_tensor   tensor, dtype, device, requires_grad
 *      _rebuild_sparse_tensor        layout, (indices, values, size ...) or (compressed, plain, values, size)
 *      _rebuild_meta_tensor_no_storage          dtype, size, stride, requires_grad
 *      _rebuild_wrapper_subclass     class, dtype, size, stride, ...
 *      torch.FloatTensor()           and by BUILD: storage, offset, size, stride
 *
 * Offsets and strides count elements of the tensor's type, regardless of the storage's type. An element of quint4x2 is one
 * code: a byte of its storage holds two, and the codes run on across rows.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/num.h"
#include "container/torch/checkpoint_priv.h"

enum { WRAPPED_MOST = 256, METADATA_MOST = 16 };

struct rebuild_job {
    const struct checkpoint *c;
    const char *name;
    struct rebuilt *r;
    struct err *err;
};

static bool
rebuild_bad(const struct rebuild_job *j, enum err_kind kind, const char *format, ...)
{
    char text[ERR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set(j->err, kind, ERR_TENSOR "%s", j->name, text);
}

static bool
bad_value(const struct rebuild_job *j, const char *what, const struct pickle_value *found, const char *expected)
{
    char shown[PICKLE_SHOWN];
    return rebuild_bad(j, ERR_MALFORMED, "%s is %s, expected %s", what, pickle_shown(shown, found), expected);
}

bool
rebuild_is_tensor(const struct checkpoint *c, const struct pickle_value *v)
{
    struct rebuilt r;
    if (v->kind == PICKLE_PERSISTENT)
        return c->options.tensor_of && c->options.tensor_of(c->options.of, v->of.item[0], &r);
    if (v->kind != PICKLE_CALL)
        return false;
    enum pickle_role role = pickle_role(v);
    return role == GLOBAL_PARAMETER || role == GLOBAL_TENSOR_CLASS || (role >= GLOBAL_TENSOR && role <= GLOBAL_FROM_TYPE);
}

/* --- parts */

static bool
take_count(const struct rebuild_job *j, const struct pickle_value *v, const char *what, uint64_t *n)
{
    if (v->kind != PICKLE_INT || v->of.integer < 0)
        return bad_value(j, what, v, "an integer of 0 or more");
    *n = (uint64_t)v->of.integer;
    return true;
}

/* Reads a size or strides: a tuple, a list or a torch.Size of integers. */
static bool
take_counts(const struct rebuild_job *j, const struct pickle_value *v, const char *what, uint64_t n[LAYOUT_RANK],
    uint32_t *rank)
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *item;
    if (v->kind == PICKLE_CALL && pickle_role(v) == GLOBAL_SIZE && v->of.item[1]->n == 1)
        v = v->of.item[1]->of.item[0];
    if (v->kind != PICKLE_TUPLE && v->kind != PICKLE_LIST)
        return bad_value(j, what, v, "a tuple of integers");
    if (v->n > LAYOUT_RANK)
        return rebuild_bad(j, ERR_LIMIT, "%s has %u dimensions, which exceeds the limit of %" PRIu64 " (built in)", what,
            (unsigned)v->n, LAYOUT_RANK);
    for (*rank = 0; pickle_next(j->c->pickle, v, &walk, &key, &item); ++*rank)
        if (!take_count(j, item, what, &n[*rank]))
            return false;
    return true;
}

static bool
take_dtype(const struct rebuild_job *j, const struct pickle_value *v, const struct torch_type **type)
{
    if (v->kind != PICKLE_GLOBAL || v->of.name->facts.role != GLOBAL_DTYPE)
        return bad_value(j, "dtype", v, "one of torch's");
    *type = v->of.name->facts.type;
    return true;
}

/* Reads the storage, and where the tensor begins in it, in bytes: a view's offset adds to the tensor's own. */
static bool
take_storage(const struct rebuild_job *j, const struct pickle_value *v, uint64_t *begin)
{
    struct storage_id id;
    if (v->kind != PICKLE_PERSISTENT || j->c->options.tensor_of)
        return bad_value(j, "storage", v, "a storage");
    if (!storage_id_read(j->c, v, &id, j->err))
        return false;
    const struct checkpoint_storage *s = checkpoint_find(j->c, id.key ? id.key : id.number, id.key_len);
    j->r->storage = s;
    j->r->type = id.type;
    if (id.view)
        j->r->room = (id.view_offset + id.view_numel) * id.type->item;
    else
        j->r->room = s->nbytes;
    *begin = id.view_offset * id.type->item;
    return true;
}

/* Reads the metadata {'conj': True, 'neg': True}: the stored value is the conjugate, or the negative. Other keys are
 * ignored. */
static bool
take_metadata(const struct rebuild_job *j, const struct pickle_value *v)
{
    static const struct { const char *key; uint8_t sign; } keys[] = {
        { "conj", TENSOR_CONJUGATED }, { "neg", TENSOR_NEGATED },
    };
    struct pickle_walk walk = { 0 };
    struct pickle_value *key, *value;
    if (v->kind == PICKLE_NONE)
        return true;
    if (v->kind != PICKLE_DICT || v->n > METADATA_MOST)
        return bad_value(j, "metadata", v, "a small dictionary");
    while (pickle_next(j->c->pickle, v, &walk, &key, &value))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            if (!pickle_is_text(key, keys[i].key))
                continue;
            if (value->kind != PICKLE_BOOL)
                return bad_value(j, keys[i].key, value, "True or False");
            if (value->of.integer)
                j->r->sign |= keys[i].sign;
        }
    if (j->r->sign & TENSOR_CONJUGATED && !strstr(j->r->type->name, "complex"))
        return rebuild_bad(j, ERR_MALFORMED, "marked as conjugate, but dtype is %s, expected a complex one", j->r->type->name);
    return true;
}

/* --- geometry */

static bool
is_empty(const struct rebuilt *r)
{
    for (uint32_t i = 0; i < r->rank; i++)
        if (r->size[i] == 0)
            return true;
    return false;
}

/* Computes the number of elements from the start of the storage to the last one used. */
static bool
find_end(const struct rebuilt *r, uint64_t *end)
{
    if (!num_add(end, r->offset, 1))
        return false;
    for (uint32_t i = 0; i < r->rank; i++) {
        uint64_t span;
        if (!num_mul(&span, r->size[i] - 1, r->stride[i]) || !num_add(end, *end, span))
            return false;
    }
    return true;
}

bool
rebuild_check(struct rebuilt *r, const char *name, struct err *err)
{
    uint64_t end;
    r->numel = !is_empty(r);
    r->nbytes = 0;
    if (r->numel == 0)
        return true;
    for (uint32_t i = 0; i < r->rank; i++)
        if (!num_mul(&r->numel, r->numel, r->size[i]))
            return err_set(err, ERR_MALFORMED, ERR_TENSOR "number of elements overflows 64 bits", name);
    if (!torch_type_bytes(&r->nbytes, r->type, r->numel) || r->nbytes > INT64_MAX)
        return err_set(err, ERR_MALFORMED, ERR_TENSOR "size of %" PRIu64 " elements overflows 63 bits", name,
            r->numel);
    if (!find_end(r, &end) || !torch_type_bytes(&end, r->type, end) || end > r->room)
        return err_set(err, ERR_MALFORMED, ERR_TENSOR "size, strides and offset %" PRIu64 " reach beyond its "
            "storage of %" PRIu64 " bytes", name, r->offset, r->room);
    return true;
}

/* Reads storage, offset, size and stride, the first four arguments. */
static bool
take_geometry(const struct rebuild_job *j, const struct pickle_value *args, const struct torch_type *type)
{
    struct rebuilt *r = j->r;
    uint32_t strides = 0;
    uint64_t begin = 0;
    if (!take_storage(j, args->of.item[0], &begin) || !take_count(j, args->of.item[1], "offset", &r->offset)
        || !take_counts(j, args->of.item[2], "size", r->size, &r->rank)
        || !take_counts(j, args->of.item[3], "stride", r->stride, &strides))
        return false;
    if (strides != r->rank)
        return rebuild_bad(j, ERR_MALFORMED, "%u dimensions and %u strides, expected the same number of each", (unsigned)r->rank,
            (unsigned)strides);
    if (type)
        r->type = type;
    if (r->type->item == 0)             /* torch never writes it, so its format is unknown */
        return rebuild_bad(j, ERR_UNSUPPORTED, "dtype is %s, which torch cannot save", r->type->name);
    if (begin % r->type->item != 0 || !num_add(&r->offset, r->offset, begin / r->type->item * r->type->codes))
        return rebuild_bad(j, ERR_MALFORMED, "offset is not a multiple of the element size, or overflows");
    return rebuild_check(r, j->name, j->err);
}

/* --- the functions */

static bool
check_args(const struct rebuild_job *j, const struct pickle_value *args, uint32_t least, uint32_t most)
{
    if (args->kind == PICKLE_TUPLE && args->n >= least && args->n <= most)
        return true;
    return rebuild_bad(j, ERR_MALFORMED, "rebuilt from %u arguments, expected %u to %u", args->kind == PICKLE_TUPLE
        ? (unsigned)args->n : 0, (unsigned)least, (unsigned)most);
}

static bool
take_v2(const struct rebuild_job *j, const struct pickle_value *args)
{
    enum { METADATA = 6 };
    return check_args(j, args, METADATA, METADATA + 1) && take_geometry(j, args, NULL)
        && (args->n == METADATA || take_metadata(j, args->of.item[METADATA]));
}

static bool
take_v3(const struct rebuild_job *j, const struct pickle_value *args)
{
    enum { DTYPE = 6, METADATA };
    const struct torch_type *type = NULL;
    return check_args(j, args, METADATA, METADATA + 1) && take_dtype(j, args->of.item[DTYPE], &type)
        && take_geometry(j, args, type)
        && (args->n == METADATA || take_metadata(j, args->of.item[METADATA]));
}

/* Describes a tensor without data: its size, as far as it is known. */
static bool
take_form(const struct rebuild_job *j, const char *form, const struct pickle_value *size)
{
    j->r->form = form;
    j->r->storage = NULL;
    return take_counts(j, size, "size", j->r->size, &j->r->rank);
}

static bool
take_sparse(const struct rebuild_job *j, const struct pickle_value *args)
{
    static const char *const layouts[] = { "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc", "torch.sparse_bsr",
        "torch.sparse_bsc" };
    if (!check_args(j, args, 2, 2))
        return false;
    const struct pickle_value *layout = args->of.item[0], *data = args->of.item[1];
    if (layout->kind == PICKLE_CALL && pickle_role(layout) == GLOBAL_LAYOUT && layout->of.item[1]->n == 1)
        layout = layout->of.item[1]->of.item[0];
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        uint32_t size_at = 3;
        if (i == 0)
            size_at = 2;
        if (!pickle_is_text(layout, layouts[i]))
            continue;
        return check_args(j, data, size_at + 1, 4)
            && take_form(j, layouts[i] + strlen("torch."), data->of.item[size_at]);
    }
    return bad_value(j, "layout", layout, "the layout of a sparse tensor");
}

struct call {
    enum pickle_role role;
    const struct torch_type *type;      /* of torch.FloatTensor */
    const struct pickle_value *args, *state;
};

static bool
open_call(const struct rebuild_job *j, const struct pickle_value *v, struct call *call)
{
    if (v->kind != PICKLE_CALL || !rebuild_is_tensor(j->c, v))
        return bad_value(j, "value", v, "a tensor");
    *call = (struct call){ pickle_role(v), v->of.item[0]->of.name->facts.type, v->of.item[1], v->of.item[2] };
    return true;
}

/* Reads the forms of files older than 0.4: a tensor by BUILD, or a parameter around one. */
static bool
take_old(const struct rebuild_job *j, const struct call *call, const struct pickle_value **inner)
{
    enum { FLAGS = 3, GEOMETRY, VARIABLE };
    const struct pickle_value *state = call->state;
    if (state && state->n != GEOMETRY && (call->role != GLOBAL_PARAMETER || state->n < FLAGS || state->n > VARIABLE))
        return bad_value(j, "state", state, "a storage, an offset, a size and strides");
    if (state && state->n == GEOMETRY)
        return take_geometry(j, state, NULL) && (!call->type || call->type == j->r->type
            || rebuild_bad(j, ERR_MALFORMED, "its class is for %s, but its storage has %s", call->type->name, j->r->type->name));
    if (call->role == GLOBAL_PARAMETER && state && state->n == VARIABLE)
        *inner = state->of.item[0];
    else if (call->role == GLOBAL_PARAMETER && call->args->n != 0)
        *inner = call->args->of.item[0];
    else
        return rebuild_bad(j, ERR_UNSUPPORTED, "created by a call of its class, without any data");
    return true;
}

/* Interprets a call of a class or function: describes its tensor, or sets *inner to the tensor that it wraps. */
static bool
take_call(const struct rebuild_job *j, struct call *call, const struct pickle_value **inner)
{
    const struct pickle_value *args = call->args;
    switch (call->role) {
    case GLOBAL_TENSOR:
        return check_args(j, args, 4, 4) && take_geometry(j, args, NULL);
    case GLOBAL_TENSOR_V2:
        return take_v2(j, args);
    case GLOBAL_TENSOR_V3:
        return take_v3(j, args);
    case GLOBAL_QTENSOR:
        return check_args(j, args, 7, 7) && take_geometry(j, args, NULL);
    case GLOBAL_SPARSE:
        return take_sparse(j, args);
    case GLOBAL_META:
        return check_args(j, args, 4, 4) && take_dtype(j, args->of.item[0], &j->r->type)
            && take_form(j, "meta", args->of.item[1]);
    case GLOBAL_WRAPPER:
        return check_args(j, args, 8, 8) && take_dtype(j, args->of.item[1], &j->r->type)
            && take_form(j, "wrapper_subclass", args->of.item[2]);
    case GLOBAL_REBUILD_PARAMETER:
        if (!check_args(j, args, 3, 4))
            return false;
        *inner = args->of.item[0];
        return true;
    case GLOBAL_FROM_CPU:
        if (!check_args(j, args, 4, 4))
            return false;
        *inner = args->of.item[0];
        return true;
    case GLOBAL_PARAMETER:
    case GLOBAL_TENSOR_CLASS:
        return take_old(j, call, inner);
    case GLOBAL_NESTED:
        return rebuild_bad(j, ERR_UNSUPPORTED, "nested tensors (rows of different lengths) are not supported");
    default:
        return rebuild_bad(j, ERR_UNSUPPORTED, "tensors made from a NumPy array are not supported");
    }
}

/* _rebuild_from_type_v2: replaced by the function it names. */
static bool
open_function(const struct rebuild_job *j, struct call *call)
{
    if (!check_args(j, call->args, 4, 4))
        return false;
    const struct pickle_value *function = call->args->of.item[0], *args = call->args->of.item[2];
    enum pickle_role role = GLOBAL_VALUE;
    if (function->kind == PICKLE_GLOBAL)
        role = function->of.name->facts.role;
    if (role < GLOBAL_TENSOR || role > GLOBAL_FROM_TYPE)
        return bad_value(j, "function", function, "a function that makes a tensor");
    if (args->kind != PICKLE_TUPLE)
        return bad_value(j, "arguments", args, "a tuple");
    *call = (struct call){ .role = role, .args = args };
    return true;
}

bool
rebuild(const struct checkpoint *c, const struct pickle_value *v, const char *name, struct rebuilt *r, struct err *err)
{
    const struct rebuild_job j = { c, name, r, err };
    const struct torch_type *expected = NULL;
    struct call call = { 0 };
    *r = (struct rebuilt){ 0 };
    for (unsigned depth = 0; depth < WRAPPED_MOST; depth++) {
        const struct pickle_value *inner = NULL;
        if (v->kind == PICKLE_PERSISTENT && rebuild_is_tensor(c, v))
            return c->options.tensor_of(c->options.of, v->of.item[0], r);
        if (!open_call(&j, v, &call))
            return false;
        while (call.role == GLOBAL_FROM_TYPE)           /* each is in the previous one's arguments, so this ends */
            if (!open_function(&j, &call))
                return false;
        if (call.role == GLOBAL_FROM_CPU && call.args->n == 4 && !take_dtype(&j, call.args->of.item[1], &expected))
            return false;
        if (!take_call(&j, &call, &inner))
            return false;
        if (!inner)
            return !expected || expected == r->type || rebuild_bad(&j, ERR_MALFORMED, "dtype is %s, but it is copied from %s",
                expected->name, r->type ? r->type->name : "none");
        v = inner;
    }
    return rebuild_bad(&j, ERR_LIMIT, "nesting of wrappers exceeds the limit of %d levels", WRAPPED_MOST);
}
