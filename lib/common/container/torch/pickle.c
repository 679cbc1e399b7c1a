/* The pickle machine: the opcodes that torch reads with weights_only, their protocol 4 equivalents, and the few more that
 * Python itself writes; each is a row of `run`. No opcode costs more than what it takes from the stack and the buffer. */
#include "container/torch/pickle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/num.h"
#include "container/torch/pickle_machine_priv.h"

enum { LINE_MAX_BYTES = 64 << 10, LATEST_PROTOCOL = 5 };

bool
pickle_fail(struct pickle_machine *m, enum err_kind kind, const char *format, ...)
{
    char text[ERR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_at(m->err, kind, m->k->at, "pickle: %s %s", pickle_op(m->step.byte)->name, text);
}

/* --- the stack */

bool
pickle_push(struct pickle_machine *m, struct pickle_value *v)
{
    struct pickle_value **stack = NULL;
    if (v)
        stack = heap_grow(m->k, m->stack, m->nstack, &m->room_stack, sizeof *stack);
    if (!stack)
        return false;
    m->stack = stack;
    stack[m->nstack++] = v;
    return true;
}

/* Returns the number of values above the last mark. */
static size_t
height(const struct pickle_machine *m)
{
    return m->nstack - (m->nmarks != 0 ? m->mark[m->nmarks - 1] : 0);
}

bool
pickle_has(struct pickle_machine *m, size_t n)
{
    return height(m) >= n || pickle_fail(m, ERR_MALFORMED, "finds %zu values on the stack, expected %zu", height(m), n);
}

struct pickle_value *
pickle_top(const struct pickle_machine *m, size_t below)
{
    return m->stack[m->nstack - 1 - below];
}

struct pickle_value **
pickle_take_mark(struct pickle_machine *m, size_t *n)
{
    if (m->nmarks == 0) {
        pickle_fail(m, ERR_MALFORMED, "finds no MARK on the stack");
        return NULL;
    }
    *n = height(m);
    m->nstack = m->mark[--m->nmarks];
    return m->stack + m->nstack;
}

bool
pickle_replace(struct pickle_machine *m, size_t n, struct pickle_value *v)
{
    m->nstack -= n;
    return pickle_push(m, v);
}

static bool
op_mark(struct pickle_machine *m)
{
    if (m->nmarks >= PICKLE_MARKS_MAX)
        return pickle_fail(m, ERR_LIMIT, "exceeds the limit of %d open marks (built in)", PICKLE_MARKS_MAX);
    size_t *mark = heap_grow(m->k, m->mark, m->nmarks, &m->room_marks, sizeof *mark);
    if (!mark)
        return false;
    m->mark = mark;
    mark[m->nmarks++] = m->nstack;
    return true;
}

static bool
op_pop(struct pickle_machine *m)
{
    if (height(m) == 0 && m->nmarks != 0) {
        m->nmarks--;
        return true;
    }
    if (!pickle_has(m, 1))
        return false;
    m->nstack--;
    return true;
}

static bool
op_pop_mark(struct pickle_machine *m)
{
    size_t n;
    return pickle_take_mark(m, &n) != NULL;
}

/* --- the format */

static bool
op_proto(struct pickle_machine *m)
{
    return m->step.number <= LATEST_PROTOCOL
        || pickle_fail(m, ERR_MALFORMED, "declares protocol %" PRIu64 ", expected at most %d", m->step.number, LATEST_PROTOCOL);
}

static bool
op_frame(struct pickle_machine *m)             /* a hint about buffering, with no effect here */
{
    (void)m;
    return true;
}

/* --- names, calls, storages */

static bool
push_global(struct pickle_machine *m, const uint8_t *module, uint64_t module_len, const uint8_t *name, uint64_t name_len)
{
    struct pickle_global facts;
    bool odd;
    if (module_len > LINE_MAX_BYTES || name_len > LINE_MAX_BYTES)
        return pickle_fail(m, ERR_LIMIT, "name of %" PRIu64 " bytes exceeds the limit of %d (built in)", num_max(module_len,
            name_len), LINE_MAX_BYTES);
    if (!pickle_values_is_text(module, module_len, &odd) || !pickle_values_is_text(name, name_len, &odd))
        return pickle_fail(m, ERR_MALFORMED, "has a name that is not UTF-8");
    if (!pickle_name_find(&facts, m->k, module, (size_t)module_len, name, (size_t)name_len, m->err))
        return false;
    struct pickle_value *v = heap_value(m->k, PICKLE_GLOBAL);
    struct pickle_name *own = NULL;
    if (v)
        own = heap_take(m->k, sizeof *own);
    if (!own)
        return false;
    size_t n = (size_t)module_len;
    module = pickle_module_today(module, &n);
    own->facts = facts;
    snprintf(own->text, sizeof own->text, "%.*s.%.*s", (int)n, (const char *)module, (int)name_len, (const char *)name);
    v->of.name = own;
    if (pickle_role_is_opaque(facts.role) && !m->k->opaque) {
        m->k->opaque = own;
        m->k->opaque_at = m->k->at;
        m->k->pins++;
    }
    return pickle_push(m, v);
}

static bool
op_global(struct pickle_machine *m)
{
    return push_global(m, m->step.text, m->step.text_len, m->step.second, m->step.second_len);
}

static bool
op_stack_global(struct pickle_machine *m)
{
    char shown[PICKLE_SHOWN];
    if (!pickle_has(m, 2))
        return false;
    const struct pickle_value *module = pickle_top(m, 1), *name = pickle_top(m, 0);
    if (module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT)
        return pickle_fail(m, ERR_UNSAFE, "references a name that is %s, expected a text",
            pickle_shown(shown, module->kind != PICKLE_TEXT ? module : name));
    m->nstack -= 2;
    return push_global(m, module->of.text, module->n, name->of.text, name->n);
}

/* Splits an item of the list given to OrderedDict() into key and value. */
static bool
split_pair(struct pickle_machine *m, const struct pickle_value *pair, struct pickle_value *part[2])
{
    struct pickle_walk walk = { 0 };
    struct pickle_value *key;
    char shown[PICKLE_SHOWN];
    if ((pair->kind != PICKLE_TUPLE && pair->kind != PICKLE_LIST) || pair->n != 2)
        return pickle_fail(m, ERR_MALFORMED, "makes a dictionary of %s, expected pairs", pickle_shown(shown, pair));
    return pickle_next(m->k, pair, &walk, &key, &part[0]) && pickle_next(m->k, pair, &walk, &key, &part[1]);
}

/* Calls OrderedDict(), OrderedDict(dict), OrderedDict(list of pairs), Counter() or Counter(dict). */
static struct pickle_value *
call_dict(struct pickle_machine *m, const struct pickle_value *args, bool pairs)
{
    struct pickle_value *dict = heap_container(m->k, PICKLE_DICT);
    const struct pickle_value *from = NULL;
    if (args->n == 1)
        from = args->of.item[0];
    struct pickle_walk walk = { 0 };
    struct pickle_value *part[2];
    char shown[PICKLE_SHOWN];
    if (!dict)
        return NULL;
    dict->odd = true;
    if (args->n > 1 || (from && from->kind != PICKLE_DICT
        && !(pairs && (from->kind == PICKLE_LIST || from->kind == PICKLE_TUPLE)))) {
        pickle_fail(m, ERR_MALFORMED, "makes a dictionary of %s, expected %s", pickle_shown(shown, from ? from : args),
            pairs ? "nothing, a dictionary or a list of pairs" : "nothing or a dictionary");
        return NULL;
    }
    while (from && pickle_next(m->k, from, &walk, &part[0], &part[1]))
        if ((from->kind != PICKLE_DICT && !split_pair(m, part[1], part)) || !heap_set(m->k, dict, part[0], part[1]))
            return NULL;
    return dict;
}

static struct pickle_value *
call_set(struct pickle_machine *m, const struct pickle_value *args)
{
    struct pickle_value *set = heap_container(m->k, PICKLE_SET), *key, *item;
    const struct pickle_value *from = NULL;
    if (args->n == 1)
        from = args->of.item[0];
    struct pickle_walk walk = { 0 };
    char shown[PICKLE_SHOWN];
    if (set && (args->n > 1 || (from && from->kind != PICKLE_LIST && from->kind != PICKLE_TUPLE))) {
        pickle_fail(m, ERR_MALFORMED, "makes a set of %s, expected a list", pickle_shown(shown, from ? from : args));
        return NULL;
    }
    while (set && from && pickle_next(m->k, from, &walk, &key, &item))
        if (!heap_hashable(m->k, item) || !heap_append(m->k, set, item))
            return NULL;
    return set;
}

/* Calls _codecs.encode(text, 'latin1'), which is how protocol 2 writes bytes. Any other arguments fail. */
static struct pickle_value *
call_encode(struct pickle_machine *m, const struct pickle_value *args)
{
    const struct pickle_value *text = NULL;
    if (args->n == 2)
        text = args->of.item[0];
    uint32_t code;
    if (!text || text->kind != PICKLE_TEXT || text->odd || !pickle_is_text(args->of.item[1], "latin1")) {
        pickle_fail(m, ERR_UNSUPPORTED, "calls encode with unexpected arguments: expected a text and 'latin1', as Python writes "
            "bytes");
        return NULL;
    }
    struct pickle_value *v = heap_value(m->k, PICKLE_BYTES);
    uint8_t *p = NULL;
    if (v)
        p = heap_take(m->k, text->n);
    if (!p)
        return NULL;
    v->of.text = p;
    for (uint32_t i = 0; i < text->n; p[v->n++] = (uint8_t)code) {
        i += (uint32_t)str_utf8_char((const char *)text->of.text + i, text->n - i, &code);
        if (code > 0xFF) {
            pickle_fail(m, ERR_MALFORMED, "encodes a text as Latin-1 that has other characters");
            return NULL;
        }
    }
    return v;
}

/* Calls getattr(ShardedTensor, 'ProcessGroupState'), which names a class. Any other arguments fail. */
static struct pickle_value *
call_getattr(struct pickle_machine *m, const struct pickle_value *args)
{
    static const char owner[] = "torch.distributed._shard.sharded_tensor.api.ShardedTensor";
    const struct pickle_value *of = NULL;
    if (args->n == 2)
        of = args->of.item[0];
    if (!of || of->kind != PICKLE_GLOBAL || strcmp(of->of.name->text, owner) != 0
        || !pickle_is_text(args->of.item[1], "ProcessGroupState")) {
        pickle_refuse(m->err, m->k->at, (const uint8_t *)"builtins", strlen("builtins"), (const uint8_t *)"getattr", strlen("getattr"));
        return NULL;
    }
    struct pickle_value *v = heap_value(m->k, PICKLE_GLOBAL);
    struct pickle_name *own = NULL;
    if (v)
        own = heap_take(m->k, sizeof *own);
    if (!own)
        return NULL;
    *own = (struct pickle_name){ .facts.role = GLOBAL_DATA, .text = "ProcessGroupState" };
    v->of.name = own;
    return v;
}

/* --- objects that a taker takes */

/* Remembers the heap before an object. */
static void
mark_object(struct pickle_machine *m, const struct pickle_value *v, const struct heap_mark *before)
{
    enum { MOST = sizeof m->object / sizeof *m->object };
    if (!pickle_is_opaque(v))
        return;
    if (m->nobjects == MOST)
        memmove(m->object, m->object + 1, --m->nobjects * sizeof *m->object);
    m->object[m->nobjects] = *before;
    m->object[m->nobjects++].value = v;
    m->k->recent = before->recent;
}

/* Asks the taker about the object on top of the stack, which has got its state. */
static bool
take_object(struct pickle_machine *m, struct pickle_value *of)
{
    const struct pickle_taker *taker = m->k->limits->taker;
    const struct heap_mark *mark = NULL;
    int64_t number = 0;
    bool taken = false;
    size_t n = m->nobjects;
    while (n != 0 && m->object[n - 1].value != of)
        n--;
    if (n != 0) {
        mark = &m->object[n - 1];
        m->nobjects = n - 1;
    } else {
        m->k->pins++;           /* an older object has a new state */
    }
    m->k->recent = m->nobjects != 0 ? m->object[m->nobjects - 1].recent : 0;
    if (!taker->object(taker->of, m->k, of, &number, &taken, m->err))
        return false;
    if (!taken)
        return true;
    if (mark && heap_back(m->k, mark))
        return pickle_replace(m, 1, heap_loose(m->k, number));
    *of = (struct pickle_value){ .kind = PICKLE_INT, .odd = true, .of.integer = number };
    return true;
}

/* REDUCE and NEWOBJ: replaces a global and its arguments by the result of the call. */
static bool
op_call(struct pickle_machine *m)
{
    char shown[PICKLE_SHOWN];
    struct pickle_value *v;
    struct heap_mark before;
    if (!pickle_has(m, 2))
        return false;
    struct pickle_value *callee = pickle_top(m, 1), *args = pickle_top(m, 0), *const parts[] = { callee, args, NULL };
    if (callee->kind != PICKLE_GLOBAL || callee->of.name->facts.role >= GLOBAL_DTYPE)
        return (callee->kind != PICKLE_PERSISTENT || pickle_is_plain(m->k, m->err)) && pickle_fail(m, ERR_MALFORMED,
            "calls %s, expected a function or a class", pickle_shown(shown, callee));
    enum pickle_role role = callee->of.name->facts.role;
    if (m->step.byte == OP_NEWOBJ && !pickle_role_is_class(role))
        return pickle_fail(m, ERR_MALFORMED, "instantiates %s, expected a class", pickle_shown(shown, callee));
    if (args->kind != PICKLE_TUPLE)
        return pickle_fail(m, ERR_MALFORMED, "calls %s with %s, expected a tuple", callee->of.name->text,
            pickle_shown(shown, args));
    if (role == GLOBAL_UNKNOWN && m->step.byte == OP_REDUCE)
        return pickle_refuse(m->err, m->k->at, (const uint8_t *)callee->of.name->text, strlen(callee->of.name->text), NULL, 0);
    switch (role) {
    case GLOBAL_FIRST_ARGUMENT:
        if (args->n == 0)
            return pickle_fail(m, ERR_MALFORMED, "calls %s without arguments", callee->of.name->text);
        v = args->of.item[0];
        if (pickle_is_taken(v))
            v->n = 0;
        break;
    case GLOBAL_GETATTR:
        v = call_getattr(m, args);
        break;
    case GLOBAL_ORDERED_DICT:
    case GLOBAL_COUNTER:
        v = call_dict(m, args, role == GLOBAL_ORDERED_DICT);
        break;
    case GLOBAL_SET:
        v = call_set(m, args);
        break;
    case GLOBAL_ENCODE:
        v = call_encode(m, args);
        break;
    default:
        before = heap_here(m->k);
        v = heap_tuple(m->k, PICKLE_CALL, parts, sizeof parts / sizeof *parts);
        if (v && m->k->limits->taker)
            mark_object(m, v, &before);
    }
    return v && pickle_replace(m, 2, v);
}

/* BUILD: drops the state of an OrderedDict, whose attributes are not items, and keeps the state of the objects that old files
 * turn into tensors. */
static bool
op_build(struct pickle_machine *m)
{
    char shown[PICKLE_SHOWN];
    if (!pickle_has(m, 2))
        return false;
    struct pickle_value *of = pickle_top(m, 1), *state = pickle_top(m, 0);
    enum pickle_role role = GLOBAL_VALUE;
    if (of->kind == PICKLE_CALL)
        role = pickle_role(of);
    bool made = role == GLOBAL_TENSOR_CLASS || role == GLOBAL_PARAMETER;
    if (pickle_is_opaque(of)) {
        m->nstack--;
        return pickle_keep(m, of, state) && (!m->k->limits->taker || take_object(m, of));
    }
    if (of->kind == PICKLE_DICT && of->odd && state->kind == PICKLE_DICT) {
        m->nstack--;
        return true;
    }
    if (made && state->kind == PICKLE_TUPLE && !of->of.item[2]) {
        of->of.item[2] = state;
        m->nstack--;
        return true;
    }
    const char *what = "neither";
    if (state->kind == PICKLE_TUPLE)
        what = "a tuple";
    else if (state->kind == PICKLE_DICT)
        what = "a dictionary";
    return pickle_fail(m, ERR_MALFORMED, "gives %s the state %s, expected a tensor or an OrderedDict, and a tuple or a dictionary",
        of->kind == PICKLE_CALL ? of->of.item[0]->of.name->text : pickle_shown(shown, of), what);
}

static bool
op_persistent(struct pickle_machine *m)
{
    struct pickle_value **list = NULL;
    if (pickle_has(m, 1))
        list = heap_grow(m->k, m->k->persistent, m->k->npersistent, &m->k->room_persistent, sizeof *list);
    struct pickle_value *v = list ? heap_tuple(m->k, PICKLE_PERSISTENT, &(struct pickle_value *){ pickle_top(m, 0) }, 1) : NULL;
    m->k->pins++;
    if (list)
        m->k->persistent = list;
    if (v)
        list[m->k->npersistent++] = v;
    return v && pickle_replace(m, 1, v);
}

/* --- the run */

static bool (*const run[256])(struct pickle_machine *) = {
    [OP_MARK] = op_mark, [OP_POP] = op_pop, [OP_POP_MARK] = op_pop_mark,
    [OP_BINPUT] = pickle_memo_put, [OP_LONG_BINPUT] = pickle_memo_put, [OP_MEMOIZE] = pickle_memo_next, [OP_BINGET] = pickle_memo_get,
    [OP_LONG_BINGET] = pickle_memo_get,
    [OP_PROTO] = op_proto, [OP_FRAME] = op_frame,
    [OP_NONE] = pickle_values_none, [OP_NEWTRUE] = pickle_values_bool, [OP_NEWFALSE] = pickle_values_bool, [OP_BININT] = pickle_values_int, [OP_BININT1] = pickle_values_int,
    [OP_BININT2] = pickle_values_int, [OP_LONG1] = pickle_values_long, [OP_BINFLOAT] = pickle_values_float,
    [OP_BINBYTES] = pickle_values_bytes, [OP_SHORT_BINBYTES] = pickle_values_bytes,
    [OP_BINUNICODE] = pickle_values_text, [OP_SHORT_BINUNICODE] = pickle_values_text, [OP_BINSTRING] = pickle_values_text, [OP_SHORT_BINSTRING] = pickle_values_text,
    [OP_EMPTY_TUPLE] = pickle_values_tuple_n, [OP_TUPLE1] = pickle_values_tuple_n, [OP_TUPLE2] = pickle_values_tuple_n, [OP_TUPLE3] = pickle_values_tuple_n,
    [OP_TUPLE] = pickle_values_tuple, [OP_EMPTY_LIST] = pickle_values_container, [OP_EMPTY_DICT] = pickle_values_container, [OP_EMPTY_SET] = pickle_values_container,
    [OP_APPEND] = pickle_values_append, [OP_APPENDS] = pickle_values_appends, [OP_ADDITEMS] = pickle_values_appends, [OP_SETITEM] = pickle_values_setitem,
    [OP_SETITEMS] = pickle_values_setitems,
    [OP_GLOBAL] = op_global, [OP_STACK_GLOBAL] = op_stack_global, [OP_REDUCE] = op_call, [OP_NEWOBJ] = op_call,
    [OP_BUILD] = op_build, [OP_BINPERSID] = op_persistent,
};

/* Sets the error that explains why there is no supported, complete opcode here. */
static bool
refuse(struct pickle_machine *m, enum pickle_step_end end, uint64_t left)
{
    if (left == 0)
        return err_at(m->err, ERR_MALFORMED, m->k->at, "pickle ends without STOP: the file is truncated or damaged");
    if (end == STEP_UNKNOWN)
        return err_at(m->err, ERR_MALFORMED, m->k->at, "pickle has byte 0x%02x where an opcode is expected", m->step.byte);
    if (!run[m->step.byte])
        return pickle_fail(m, ERR_UNSUPPORTED, "is an opcode that checkpoints do not need and torch.load(weights_only=True) does not "
            "read: load the file with torch and save it again");
    if (end == STEP_NEGATIVE)
        return pickle_fail(m, ERR_MALFORMED, "declares %" PRId64 " bytes", (int64_t)m->step.number);
    if (m->step.text_len != 0)
        return pickle_fail(m, ERR_MALFORMED, "declares %" PRIu64 " bytes, but only %" PRIu64 " are left in the pickle, opcode "
            "included", m->step.text_len, left);
    return pickle_fail(m, ERR_MALFORMED, "is truncated: only %" PRIu64 " bytes are left in the pickle, opcode included", left);
}

/* Runs opcodes up to STOP; *used: bytes consumed. */
static bool
run_all(struct pickle_machine *m, uint64_t *used)
{
    uint64_t begin = m->k->at;
    struct pickle_feed *f = m->feed;
    pickle_feed_start(f);
    for (*used = 0;;) {
        enum pickle_step_end end;
        m->k->at = begin + *used;
        if (!pickle_feed_next(f, &m->step, &end, m->k->budget, m->err))
            return false;
        bool stop = m->step.byte == OP_STOP;
        if (end != STEP_WHOLE || (!run[m->step.byte] && !stop))
            return refuse(m, end, f->n + f->left);
        if (++m->nops > m->k->limits->ops)
            return err_at(m->err, ERR_LIMIT, m->k->at, "number of opcodes in the pickle exceeds the limit of %" PRIu64 " "
                "(built in)", m->k->limits->ops);
        *used += m->step.size;
        pickle_feed_skip(f, m->step.size);
        if (stop)
            return pickle_has(m, 1);
        if (!run[m->step.byte](m))
            return false;
    }
}

static bool
run_feed(struct pickle **pickle, const struct pickle_value **root, struct pickle_feed *f, uint64_t *used, uint64_t at,
    struct budget *budget, const struct pickle_limits *limits, struct err *err)
{
    struct pickle *k = *pickle = calloc(1, sizeof *k);
    if (!k)
        return err_memory(err, sizeof *k);
    k->budget = budget;
    k->limits = limits;
    k->err = err;
    k->at = at;
    struct pickle_machine m = { .k = k, .err = err, .feed = f };
    m.stack = heap_grow(k, NULL, 0, &m.room_stack, sizeof *m.stack);    /* empty, but there */
    bool ok = m.stack && (!limits->taker || pickle_memo_survey(&m.few, f, budget, err)) && run_all(&m, used);
    if (ok) {
        *root = k->root = pickle_top(&m, 0);
        k->size = *used;
        k->at = at;
    }
    pickle_feed_clear(f);
    free(m.stack);
    free(m.mark);
    free(m.memo);
    free(m.few.read);
    free(m.few.set);
    return ok;
}

bool
pickle_run_source(struct pickle **pickle, const struct pickle_value **root, struct source *src, struct budget *budget,
    const struct pickle_limits *limits, struct err *err)
{
    struct pickle_feed f = { .src = src, .size = source_size(src) };
    uint64_t used;
    return run_feed(pickle, root, &f, &used, 0, budget, limits, err)
        && (used == f.size || err_at(err, ERR_MALFORMED, used, "%" PRIu64 " trailing bytes after the pickle", f.size - used));
}

bool
pickle_run_within(struct pickle **pickle, const struct pickle_value **root, const uint8_t *p, size_t n, size_t *used,
    uint64_t at, struct budget *budget, const struct pickle_limits *limits, struct err *err)
{
    struct pickle_feed f = { .memory = p, .size = n };
    uint64_t consumed = 0;
    bool ok = run_feed(pickle, root, &f, &consumed, at, budget, limits, err);
    *used = (size_t)consumed;
    return ok;
}

bool
pickle_run(struct pickle **pickle, const struct pickle_value **root, const uint8_t *p, size_t n, size_t *used,
    uint64_t at, struct budget *budget, struct err *err)
{
    static const struct pickle_limits limits = { .heap = UINT64_C(512) << 20, .ops = 50000000 };
    return pickle_run_within(pickle, root, p, n, used, at, budget, &limits, err);
}
