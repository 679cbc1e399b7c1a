#include "scan/pickle_scan_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"

/* --- oddities -------------------------------------------------------------------------------------------- */

static const struct { const char *code, *phrase; } oddities[ODDITIES] = {
    [ODD_SECOND_PROTO] = { "second_proto", "declares its protocol a second time" },
    [ODD_LATE_PROTO] = { "late_proto", "does not begin with its protocol" },
    [ODD_PROTOCOL] = { "protocol", "declares an unknown protocol" },
    [ODD_UNKNOWN_OPCODE] = { "unknown_opcode", "contains an unknown opcode" },
    [ODD_TRUNCATED] = { "truncated", "ends before its STOP" },
    [ODD_TOO_LARGE] = { "too_large", "is larger than the limit of the scan" },
    [ODD_AFTER_STOP] = { "after_stop", "has trailing bytes after its STOP" },
    [ODD_LEFT_ON_STACK] = { "left_on_stack", "leaves more than one value on the stack" },
    [ODD_UNDERFLOW] = { "underflow", "takes a value from an empty stack" },
    [ODD_NO_MARK] = { "no_mark", "uses a mark that does not exist" },
    [ODD_MEMO_UNSET] = { "memo_unset", "reads a memo entry that is not set" },
    [ODD_MEMO_GAP] = { "memo_gap", "sets a memo entry far beyond the others" },
    [ODD_MANY_GETS] = { "many_gets", "reads memo entries more than 10 times as often as it sets them" },
    [ODD_EXPANSION] = { "expansion", "reads memo entries more than 50 times as often as it sets them" },
    [ODD_DUPS] = { "dups", "duplicates values more than 100 times" },
    [ODD_UNUSED_CALL] = { "unused_call", "calls a function and discards the result" },
    [ODD_EXTENSION] = { "extension", "references a global by its number in the extension registry" },
    [ODD_NESTED] = { "nested_pickle", "contains a string that is a pickle itself" },
    [ODD_BUFFER] = { "buffer", "needs out-of-band buffers" },
    [ODD_PERSISTENT] = { "persistent_id", "has a persistent id that does not name a storage" },
    [ODD_FIRST_PICKLE] = { "first_pickle", "is followed by other pickles, and is not just a number" },
    [ODD_NUMBER] = { "number", "contains a malformed number" },
    [ODD_UNLISTED] = { "unlisted", "references more globals than are listed" },
    [ODD_UNTRACKED] = { "untracked", "has more values than are tracked" },
};

const char *
pickle_oddity_code(enum pickle_oddity odd)
{
    return oddities[odd].code;
}

const char *
pickle_oddity_phrase(enum pickle_oddity odd)
{
    return oddities[odd].phrase;
}

void
pickle_scan_odd(struct pickle_scan *scan, enum pickle_oddity odd, uint64_t offset)
{
    if (scan->odd[odd].count++ == 0)
        scan->odd[odd].offset = offset;
}

/* --- globals --------------------------------------------------------------------------------------------- */

static const char *
key_of(const void *owner, uint32_t number, size_t *n)
{
    const struct scan_machine *m = owner;
    const struct pickle_finding *f = &m->scan->finding[number];
    *n = 2 + f->module_len + f->name_len;
    return m->texts.p + f->text;
}

/* Adds a finding, whose key is the last n bytes of the texts. Sets *number to its index. */
static bool
list(struct scan_machine *m, uint32_t *number, struct pickle_finding finding, size_t n)
{
    struct pickle_scan *s = m->scan;
    bool again = false;
    struct pickle_finding *all = array_grow(s->finding, s->nfindings, &s->room, sizeof *all, m->err);
    if (!all)
        return false;
    s->finding = all;
    finding.text = m->texts.len - n;
    *number = (uint32_t)s->nfindings;
    if (!table_add(&m->by_name, key_of, m, m->texts.p + finding.text, n, number, &again, m->err))
        return false;
    all[s->nfindings++] = finding;
    return true;
}

static void
count_verdict(struct pickle_scan *s, const struct pickle_finding *f)
{
    s->verdicts[f->verdict]++;
    s->unresolved += !f->module || !f->name;
}

/* Notes that a global is named. Sets *number to its finding, or to UNLISTED. A part that cannot be determined is NULL. */
static bool
name(struct scan_machine *m, uint32_t *number, uint8_t opcode, const struct str *module, const struct str *attribute)
{
    struct pickle_finding f = { .offset = m->at, .count = 1, .opcode = opcode, .verdict = VERDICT_DANGEROUS,
        .why = "name cannot be determined without running the pickle" };
    const char none = '\0';
    size_t before = m->texts.len;
    f.module = module && module->p ? module->p : module ? "" : NULL;        /* pickle_scan_settle() sets the final pointers */
    if (attribute && attribute->p)
        f.name = attribute->p;
    else if (attribute)
        f.name = "";
    else
        f.name = NULL;
    if (module)
        f.module_len = (size_t)num_min(module->len, NAME_CUT);
    else
        f.module_len = 1;
    if (attribute)
        f.name_len = (size_t)num_min(attribute->len, NAME_CUT);
    else
        f.name_len = 1;
    str_add(&m->texts, (const char *)&opcode, 1);
    str_add(&m->texts, module ? f.module : &none, f.module_len);
    str_add(&m->texts, "\n", 1);
    str_add(&m->texts, attribute ? f.name : &none, f.name_len);
    if (m->texts.failed || m->module.failed || m->name.failed)
        return err_memory(m->err, m->texts.room);
    size_t n = m->texts.len - before;
    if (table_find(&m->by_name, key_of, m, m->texts.p + before, n, number)) {
        m->texts.len = before;
        m->scan->finding[*number].count++;
        return true;
    }
    if (module && attribute)
        f.verdict = dangerous_verdict(&f.why, (const uint8_t *)f.module, f.module_len, (const uint8_t *)f.name, f.name_len);
    count_verdict(m->scan, &f);
    /* Dangerous ones have twice the room. */
    if (m->scan->nfindings < (f.verdict == VERDICT_DANGEROUS ? 2 * LISTED_MAX : LISTED_MAX) && m->texts.len < TEXTS_MAX)
        return list(m, number, f, n);
    scan_odd(m, ODD_UNLISTED);
    m->texts.len = before;
    *number = UNLISTED;
    return true;
}

/* Names the global of GLOBAL or INST, whose arguments are two lines. */
static bool
name_lines(struct scan_machine *m, uint32_t *number, const struct pickle_step *step)
{
    m->module.len = m->name.len = 0;
    str_add(&m->module, (const char *)step->text, (size_t)num_min(step->text_len, NAME_CUT));
    str_add(&m->name, (const char *)step->second, (size_t)num_min(step->second_len, NAME_CUT));
    return name(m, number, step->byte, &m->module, &m->name);
}

static bool
push_global(struct scan_machine *m, uint32_t number)
{
    return scan_push(m, (struct item){ .kind = GLOBAL, .a = number, .depth = 1 });
}

static bool
stack_global(struct scan_machine *m)
{
    struct item attribute = scan_pop(m), module = scan_pop(m);
    uint32_t number;
    const struct str *first = NULL;
    if (scan_text_of(m, &m->module, &module))
        first = &m->module;
    const struct str *second = NULL;
    if (scan_text_of(m, &m->name, &attribute))
        second = &m->name;
    return name(m, &number, OP_STACK_GLOBAL, first, second) && push_global(m, number);
}

static bool
extension(struct scan_machine *m, uint8_t opcode)
{
    uint32_t number;
    scan_odd(m, ODD_EXTENSION);
    return name(m, &number, opcode, NULL, NULL) && push_global(m, number);
}

/* --- calls ----------------------------------------------------------------------------------------------- */

static void
mark_called(struct scan_machine *m, uint32_t number, uint8_t via)
{
    if (number != UNLISTED && m->scan->finding[number].via == 0)
        m->scan->finding[number].via = via;
}

/* Returns true for a function that calls its first argument. */
static bool
calls_first(const struct scan_machine *m, uint32_t number)
{
    static const char path[] = "torch._tensor\n_rebuild_from_type_v2";
    size_t n;
    const char *key = NULL;
    if (number != UNLISTED)
        key = key_of(m, number, &n);
    return key && n == sizeof path && memcmp(key + 1, path, sizeof path - 1) == 0;
}

/* Notes that the callee is called with args, and pushes the result. */
static bool
call(struct scan_machine *m, uint8_t via, const struct item *callee, const struct item *args)
{
    if (callee->kind == GLOBAL) {
        mark_called(m, callee->a, via);
        if (args->kind == TUPLE && args->first == GLOBAL && calls_first(m, callee->a))
            mark_called(m, args->a, via);
    }
    return scan_push_kind(m, CALL, (uint64_t)args->depth + 1);
}

static bool
reduce(struct scan_machine *m, uint8_t via)
{
    if (via == OP_NEWOBJ_EX)
        scan_pop(m);
    struct item args = scan_pop(m), callee = scan_pop(m);
    return call(m, via, &callee, &args);
}

/* Runs OBJ, whose class is the first item above the mark. */
static bool
obj(struct scan_machine *m)
{
    const struct item *items;
    size_t n;
    uint32_t depth = scan_pop_mark(m, &items, &n);
    struct item callee = n != 0 ? items[0] : (struct item){ .kind = UNKNOWN }, args = { .kind = OTHER, .depth = depth };
    return call(m, OP_OBJ, &callee, &args);
}

static bool
inst(struct scan_machine *m, const struct pickle_step *step)
{
    const struct item *items;
    size_t n;
    uint32_t number, depth = scan_pop_mark(m, &items, &n);
    if (!name_lines(m, &number, step))
        return false;
    mark_called(m, number, OP_INST);
    return scan_push_kind(m, CALL, (uint64_t)depth + 1);
}

static void
build(struct scan_machine *m)
{
    struct item state = scan_pop(m);
    const struct item *object = scan_top(m);
    if (object && object->kind == GLOBAL)
        mark_called(m, object->a, OP_BUILD);
    if (object)
        scan_deepen(m, state.depth);
}

/* Runs BINPERSID. torch's ids are ('storage', class, key, ...). */
static bool
persistent(struct scan_machine *m)
{
    struct item id = scan_pop(m), word = { .kind = id.first, .a = id.a, .b = id.b };
    if (id.kind != TUPLE || !scan_text_of(m, &m->name, &word) || m->name.len != 7 || memcmp(m->name.p, "storage", 7) != 0)
        scan_odd(m, ODD_PERSISTENT);
    return scan_push_kind(m, OTHER, 1);
}

/* --- opcodes --------------------------------------------------------------------------------------------- */

static void
proto(struct scan_machine *m, uint64_t number)
{
    if (m->scan->protocol >= 0)
        scan_odd(m, ODD_SECOND_PROTO);
    else if (m->at != 0)
        scan_odd(m, ODD_LATE_PROTO);
    if (m->scan->protocol < 0)
        m->scan->protocol = (int)number;
    if (number > 5)
        scan_odd(m, ODD_PROTOCOL);
}

static bool
container(struct scan_machine *m)
{
    const struct item *items;
    size_t n;
    uint32_t depth = scan_pop_mark(m, &items, &n);
    return scan_push_kind(m, OTHER, (uint64_t)depth + 1);
}

static bool
dup(struct scan_machine *m)
{
    const struct item *item = scan_top(m);
    if (++m->dups == 101)
        scan_odd(m, ODD_DUPS);
    if (item)
        return scan_push(m, *item);
    return scan_push_kind(m, UNKNOWN, 1);
}

static bool
tuple(struct scan_machine *m)
{
    const struct item *items;
    size_t n;
    uint32_t depth = scan_pop_mark(m, &items, &n);
    struct item first = n != 0 ? items[0] : (struct item){ .kind = OTHER };
    return scan_push_tuple(m, &first, n != 0, depth);
}

/* Returns true for the magic number of torch's stacked pickles. */
static bool
is_magic(const struct pickle_step *step)
{
    static const uint8_t bytes[] = { 0x6C, 0xFC, 0x9C, 0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19 };
    static const char digits[] = "119547037146038801333356";
    const struct { const void *p; size_t n; } forms[] = { { bytes, sizeof bytes }, { digits, sizeof digits - 1 } };
    bool line = step->byte == OP_LONG || step->byte == OP_INT;
    size_t n = (size_t)step->text_len;
    if (line && n != 0 && step->text[n - 1] == 'L')
        n--;
    return (line || step->byte == OP_LONG1 || step->byte == OP_LONG4) && n == forms[line].n
        && memcmp(step->text, forms[line].p, n) == 0;
}

static bool
pickle_scan_number(struct scan_machine *m, const struct pickle_step *step)
{
    if (m->ops_but_proto == 1) {
        m->scan->plain_int = true;
        m->scan->magic = is_magic(step);
    }
    return scan_push_kind(m, OTHER, 1);
}

/* Runs opcodes that only take values, or that name and call globals. False without memory. */
static bool
run_other(struct scan_machine *m, const struct pickle_step *step)
{
    switch (step->byte) {
    case OP_APPEND:
        return scan_deepen(m, scan_pop(m).depth), true;
    case OP_SETITEM: {
        struct item value = scan_pop(m), key = scan_pop(m);
        return scan_deepen(m, value.depth > key.depth ? value.depth : key.depth), true;
    }
    case OP_APPENDS:
    case OP_SETITEMS:
    case OP_ADDITEMS:
        return scan_deepen_from_mark(m), true;
    case OP_BUILD:
        return build(m), true;
    case OP_POP:
        return scan_drop_top(m), true;
    case OP_POP_MARK:
        return scan_drop_to_mark(m), true;
    case OP_DUP:
        return dup(m);
    case OP_REDUCE:
    case OP_NEWOBJ:
    case OP_NEWOBJ_EX:
        return reduce(m, step->byte);
    case OP_OBJ:
        return obj(m);
    case OP_INST:
        return inst(m, step);
    case OP_GLOBAL: {
        uint32_t number;
        return name_lines(m, &number, step) && push_global(m, number);
    }
    case OP_STACK_GLOBAL:
        return stack_global(m);
    case OP_EXT1:
    case OP_EXT2:
    case OP_EXT4:
        return extension(m, step->byte);
    case OP_PERSID:
        return scan_odd(m, ODD_PERSISTENT), scan_push_kind(m, OTHER, 1);
    case OP_BINPERSID:
        return persistent(m);
    case OP_NEXT_BUFFER:
        return scan_odd(m, ODD_BUFFER), scan_push_kind(m, OTHER, 1);
    default:                    /* FRAME, READONLY_BUFFER, STOP */
        return true;
    }
}

/* Runs opcodes that make a value. False without memory. */
static bool
pickle_scan_run(struct scan_machine *m, const struct pickle_step *step)
{
    switch (step->byte) {
    case OP_PROTO:
        return proto(m, step->number), true;
    case OP_MARK:
        return scan_push_kind(m, MARK, 0);
    case OP_NONE: case OP_NEWTRUE: case OP_NEWFALSE: case OP_FLOAT: case OP_BINFLOAT:
    case OP_EMPTY_LIST: case OP_EMPTY_DICT: case OP_EMPTY_SET:
        return scan_push_kind(m, OTHER, 1);
    case OP_INT: case OP_BININT: case OP_BININT1: case OP_BININT2: case OP_LONG: case OP_LONG1: case OP_LONG4:
        return pickle_scan_number(m, step);
    case OP_BINBYTES: case OP_SHORT_BINBYTES: case OP_BINBYTES8: case OP_BYTEARRAY8:
        return scan_look_inside(m, step), scan_push_kind(m, OTHER, 1);
    case OP_BINSTRING: case OP_SHORT_BINSTRING:
        scan_look_inside(m, step);
        return scan_push_text(m, TEXT, step);
    case OP_BINUNICODE: case OP_SHORT_BINUNICODE: case OP_BINUNICODE8:
        return scan_push_text(m, TEXT, step);
    case OP_UNICODE:
        return scan_push_text(m, TEXT_RAW, step);
    case OP_STRING:
        return scan_push_text(m, TEXT_QUOTED, step);
    case OP_EMPTY_TUPLE:
        return scan_push_tuple(m, NULL, 0, 0);
    case OP_TUPLE1: case OP_TUPLE2: case OP_TUPLE3:
        return scan_make_tuple(m, (size_t)(step->byte - OP_TUPLE1) + 1);
    case OP_TUPLE:
        return tuple(m);
    case OP_LIST: case OP_DICT: case OP_FROZENSET:
        return container(m);
    case OP_PUT: case OP_GET:
        return scan_put_or_get_text(m, step);
    case OP_BINPUT: case OP_LONG_BINPUT:
        return scan_put(m, step->number);
    case OP_MEMOIZE:
        return scan_put(m, m->nmemo);
    case OP_BINGET: case OP_LONG_BINGET:
        return scan_get(m, step->number);
    default:
        return run_other(m, step);
    }
}

/* Reads the next opcode, holding more bytes if it is cut off, unless it declares more than remain. False at the end of what
 * can be read. */
static bool
next(struct scan_machine *m, struct window *w, struct pickle_step *step)
{
    enum pickle_step_end end;
    /* An empty window may have no pointer to add to. */
    while ((end = pickle_op_next(step, w->n != 0 ? w->p + m->at : w->p, w->n - m->at)) == STEP_CUT && !w->ended && w->n < w->max
        && step->text_len <= window_left(w, m->at))
        if (!window_hold(w, w->n + 1, m->err))
            return false;
    if (end == STEP_UNKNOWN)
        scan_odd(m, ODD_UNKNOWN_OPCODE);
    else if (end == STEP_CUT)
        scan_odd(m, w->ended || step->text_len > window_left(w, m->at) ? ODD_TRUNCATED : ODD_TOO_LARGE);
    else if (end == STEP_NEGATIVE)
        scan_odd(m, ODD_NUMBER);
    return end == STEP_WHOLE || end == STEP_NEGATIVE;
}

/* Notes oddities of the whole pickle. */
static void
look_back(struct scan_machine *m)
{
    struct pickle_scan *s = m->scan;
    if (m->gets > 100 && m->gets > 10 * m->puts)
        scan_odd(m, ODD_MANY_GETS);
    if (m->gets > 100 && m->gets > 50 * m->puts)
        scan_odd(m, ODD_EXPANSION);
    if (s->stopped && m->n > 1)
        scan_odd(m, ODD_LEFT_ON_STACK);
    if (s->stopped && m->n == 0 && !m->lost)
        scan_odd(m, ODD_UNDERFLOW);
    s->plain_int = s->plain_int && s->stopped && m->ops_but_proto == 2;
    s->magic = s->magic && s->plain_int;
}

/* Sets the pointers of the findings, now that the texts no longer move. */
static void
pickle_scan_settle(struct pickle_scan *s, struct str *texts)
{
    for (size_t i = 0; i < s->nfindings; i++) {
        struct pickle_finding *f = &s->finding[i];
        if (f->module)
            f->module = texts->p + f->text + 1;
        else
            f->module = NULL;
        if (f->name)
            f->name = texts->p + f->text + 2 + f->module_len;
        else
            f->name = NULL;
        if (!f->module)
            f->module_len = 0;
        if (!f->name)
            f->name_len = 0;
    }
    s->texts = texts->p;
    *texts = (struct str){ 0 };
}

bool
pickle_scan(struct pickle_scan *scan, struct window *window, struct err *err)
{
    struct scan_machine m = { .scan = scan, .window = window, .err = err };
    struct pickle_step step;
    bool ok = true;
    *scan = (struct pickle_scan){ .protocol = -1, .fatal = UINT64_MAX };
    while (ok && !scan->stopped && next(&m, window, &step)) {
        scan->opcodes++;
        m.ops_but_proto += step.byte != OP_PROTO && step.byte != OP_FRAME;
        ok = pickle_scan_run(&m, &step);
        scan->stopped = step.byte == OP_STOP;
        m.at += scan->stopped ? 0 : step.size;
    }
    ok = ok && err->kind == ERR_NONE;
    if (ok)
        look_back(&m);
    scan->length = m.at + scan->stopped;
    pickle_scan_settle(scan, &m.texts);
    free(m.stack);
    free(m.memo);
    table_clear(&m.by_index);
    table_clear(&m.by_name);
    str_clear(&m.texts);
    str_clear(&m.module);
    str_clear(&m.name);
    return ok;
}

void
pickle_scan_clear(struct pickle_scan *scan)
{
    free(scan->finding);
    free(scan->texts);
    *scan = (struct pickle_scan){ 0 };
}
