/* The header of an array.
 *
 *      text    dict, blanks                         descr   TEXT | [field, ...] | (descr, dims)
 *      dict    {key: value, key: value, ...}        field   (name, descr) | (name, descr, dims)
 *      dims    (n, n, ...) | n within a descr       name    TEXT | (TEXT, TEXT)
 *
 * written as Python literals: "" or '', blanks and comments between tokens, an optional trailing comma. Source:
 * numpy/lib/format.py. Literals that Python would have to evaluate (1+2, escapes, other bases, adjacent strings) are
 * ERR_UNSUPPORTED, because no writer produces them.
 */
#include "container/numpy/npy_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"

static const uint8_t magic[6] = "\x93NUMPY";

static bool
npy_header_is(const struct npy_text *t, const char *word)
{
    return str_is(t->from, t->n, word);
}

/* --- descr -------------------------------------------------------------------------------------------------- */

/* The meaning of a type letter. */
struct npy_kind {
    char letter;
    uint8_t unit;               /* bytes per unit of its number; 0: the number must be `only` */
    uint8_t only;
};

static const struct npy_kind unsupported_kinds[] = {
    { 'V', 1, 0 }, { 'S', 1, 0 }, { 'a', 1, 0 }, { 'U', 4, 0 }, { 'M', 0, 8 }, { 'm', 0, 8 },
    { 'f', 0, 1 }, { 'f', 0, 12 }, { 'f', 0, 16 }, { 'c', 0, 16 }, { 'c', 0, 24 }, { 'c', 0, 32 },
    { 'W', 0, 4 },              /* complex32 or bcomplex32 of ml_dtypes, whose names are lost */
};

struct scalar {
    char letter;
    uint8_t size;
    enum dtype dtype;
};

static const struct scalar scalars[] = {
    { 'b', 1, DTYPE_BOOL },
    { 'i', 1, DTYPE_I8 }, { 'i', 2, DTYPE_I16 }, { 'i', 4, DTYPE_I32 }, { 'i', 8, DTYPE_I64 },
    { 'u', 1, DTYPE_U8 }, { 'u', 2, DTYPE_U16 }, { 'u', 4, DTYPE_U32 }, { 'u', 8, DTYPE_U64 },
    { 'f', 2, DTYPE_F16 }, { 'f', 4, DTYPE_F32 }, { 'f', 8, DTYPE_F64 },
    { 'c', 8, DTYPE_C64 },
    { 'f', 1, DTYPE_F8_E5M2 },  /* of ml_dtypes: '<f1', which NumPy itself cannot read */
    { 'V', 2, DTYPE_BF16 },     /* NumPy has no bfloat16; libraries that do write it so */
};

/* Returns true for a type of another library, which writes it in little-endian order only. */
static bool
is_foreign(const struct scalar *s)
{
    return s->dtype == DTYPE_BF16 || dtype_is_float8(s->dtype);
}

/* A type given as one string: byte order, letter, number, and the unit of a time. */
struct simple {
    char order, letter;
    uint64_t number;
    const uint8_t *unit;        /* "[ns]" */
    size_t unit_len;
};

static bool
split_simple(struct simple *s, const uint8_t *p, size_t n)
{
    enum { UNIT_MAX = NPY_TYPE / 2 };
    const uint8_t *end = p + n;
    bool number = false;
    *s = (struct simple){ .order = '<' };
    if (p < end && memchr("<>=|", *p, 4))
        s->order = *p++ == '>' ? '>' : '<';
    if (p < end)
        s->letter = (char)*p++;
    else
        s->letter = '\0';
    for (; p < end && *p >= '0' && *p <= '9'; p++, number = true)
        if (!num_mul(&s->number, s->number, 10) || !num_add(&s->number, s->number, *p - '0') || s->number > INT64_MAX / 4)
            return false;
    s->unit = p;
    s->unit_len = (size_t)(end - p);
    if (s->letter == '?' && !number && s->unit_len == 0) {
        s->letter = 'b';
        s->number = 1;
        return true;
    }
    if (s->letter == 'O')
        return s->unit_len == 0;
    for (size_t i = 0; i < s->unit_len; i++)
        if (p[i] < 0x20 || p[i] > 0x7E)
            return false;
    bool time = s->letter == 'M' || s->letter == 'm';
    return number && (s->unit_len == 0 || (time && s->unit_len <= UNIT_MAX && p[0] == '[' && end[-1] == ']'));
}

/* Sets the array's type from such a string. */
static bool
read_simple(struct npy *npy, const struct npy_text *t, const struct simple *s)
{
    char shown[STR_SHOWN];
    npy->sized = true;
    npy->item = s->number;
    npy->big_endian = s->order == '>';
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (scalars[i].letter == s->letter && scalars[i].size == s->number && !(npy->big_endian && is_foreign(&scalars[i]))) {
            npy->dtype = scalars[i].dtype;
            npy->big_endian = npy->big_endian && dtype_facts(npy->dtype)->word > 1;
            return true;
        }
    for (size_t i = 0; i < sizeof unsupported_kinds / sizeof *unsupported_kinds; i++) {
        const struct npy_kind *k = &unsupported_kinds[i];
        if (k->letter != s->letter || (k->unit == 0 && k->only != s->number))
            continue;
        bool bytes = k->unit == 1 || s->number == 1;
        npy->dtype = DTYPE_UNKNOWN;
        if (k->unit != 0)
            npy->item = k->unit * s->number;
        else
            npy->item = s->number;
        snprintf(npy->type_name, sizeof npy->type_name, "%c%c%" PRIu64 "%.*s", bytes && s->letter != 'U' ? '|' : s->order,
            s->letter == 'a' ? 'S' : s->letter, s->number, (int)s->unit_len, (const char *)s->unit);
        return true;
    }
    return npy_bad(t->in, (size_t)(t->from - t->in->p), t->err, ERR_UNSUPPORTED, "type %s is not one that NumPy writes",
        str_shown(shown, (const char *)t->from, t->n));
}

static bool
refuse_objects(const struct npy_text *t)
{
    return npy_fail(t, ERR_UNSAFE, "elements are Python objects (|O), stored as a pickle: save it as an array of numbers");
}

/* What may stand at a position in a descr. */
enum npy_place { DESCR, FIELDS, FIELD, NAME, DIMS, SIZE };

enum { DEPTH = 8 };

/* An open bracket: of a FIELD, a NAME, a DESCR that is (descr, dims), a list of FIELDS, or DIMS. */
struct open {
    enum npy_place of;
    uint32_t items;             /* items begun so far */
    bool comma;                 /* an item was read: a comma may follow, or the end */
};

/* Returns the kind of the next item of an open bracket, and the smallest and largest number of items in it. */
static enum npy_place
place_in(const struct open *o, uint32_t *least, uint32_t *most)
{
    static const enum npy_place field[] = { NAME, DESCR, DIMS };
    if (o->of == FIELD || o->of == NAME || o->of == DESCR)
        *least = 2;
    else
        *least = 0;
    if (o->of == FIELD)
        *most = 3;
    else if (*least != 0)
        *most = 2;
    else
        *most = UINT32_MAX;
    switch (o->of) {
    case FIELDS: return FIELD;
    case FIELD:  return field[o->items < 3 ? o->items : 2];
    case DESCR:  return o->items == 0 ? DESCR : DIMS;
    case DIMS:   return SIZE;
    default:     return NAME;
    }
}

/* Checks a token at a position: a value, or an opening bracket, which sets *opens. */
static bool
read_item(struct npy_text *t, enum npy_place place, bool *opens, enum npy_place *of)
{
    struct simple s;
    *opens = t->mark == '(' || t->mark == '[';
    if (place == DESCR && t->mark == '[')
        *of = FIELDS;
    else
        *of = place;
    if (t->mark == '(' && place != SIZE)
        return true;
    if (t->mark == '[' && place == DESCR)
        return true;
    *opens = false;
    if (t->word == NPY_TEXT && place == DESCR)
        return split_simple(&s, t->from, t->n) && s.letter == 'O' ? refuse_objects(t) : true;
    return (t->word == NPY_TEXT && place == NAME) || (t->word == NPY_NUMBER && (place == DIMS || place == SIZE))
        || npy_fail(t, ERR_MALFORMED, "descr is not a type: expected a string or a list of fields");
}

/* Reads a structured descr, whose first token, a bracket, was just read. Refuses Python objects anywhere in it. */
static bool
read_structured(struct npy_text *t)
{
    struct open open[DEPTH];
    enum npy_place of;
    bool opens;
    unsigned n = 0;
    if (!read_item(t, DESCR, &opens, &of))
        return false;
    open[n++] = (struct open){ .of = of };
    while (n != 0) {
        struct open *o = &open[n - 1];
        uint32_t least, most;
        enum npy_place place = place_in(o, &least, &most);
        char close = ')';
        if (o->of == FIELDS)
            close = ']';
        if (!npy_next(t))
            return false;
        if (o->comma && t->mark == ',') {
            o->comma = false;
        } else if (t->mark == close) {
            /* (3) is just 3 in parentheses */
            if (o->items < least || (o->of == DIMS && o->items == 1 && o->comma))
                return npy_fail(t, ERR_MALFORMED, "a tuple in descr has too few items");
            n--;
        } else if (o->comma || o->items == most) {
            return npy_fail(t, ERR_MALFORMED, "a list or tuple in descr has the wrong form");
        } else {
            if (!read_item(t, place, &opens, &of))
                return false;
            o->items++;
            o->comma = true;
            if (opens && n == DEPTH)
                return npy_fail(t, ERR_MALFORMED, "nesting of brackets exceeds the limit of 8");
            if (opens)
                open[n++] = (struct open){ .of = of };
        }
    }
    return true;
}

static bool
read_descr(struct npy *npy, struct npy_text *t)
{
    struct simple s;
    char shown[STR_SHOWN];
    if (!npy_next(t))
        return false;
    if (t->word != NPY_TEXT) {
        npy->dtype = DTYPE_UNKNOWN;
        snprintf(npy->type_name, sizeof npy->type_name, "structured");
        return read_structured(t);
    }
    if (!split_simple(&s, t->from, t->n))
        return npy_bad(t->in, (size_t)(t->from - t->in->p), t->err, ERR_UNSUPPORTED, "type is %s, expected one such as <f4",
            str_shown(shown, (const char *)t->from, t->n));
    if (s.letter == 'O')
        return refuse_objects(t);
    return read_simple(npy, t, &s);
}

/* --- the other keys ----------------------------------------------------------------------------------------- */

static bool
read_fortran(struct npy *npy, struct npy_text *t)
{
    if (!npy_next(t))
        return false;
    npy->fortran = t->word == NPY_NAME && npy_header_is(t, "True");
    return npy->fortran || (t->word == NPY_NAME && npy_header_is(t, "False"))
        || npy_fail(t, ERR_MALFORMED, "fortran_order is neither True nor False");
}

static bool
npy_header_read_shape(struct npy *npy, struct npy_text *t)
{
    bool comma = true;          /* an item may follow */
    uint64_t rank = 0;
    if (!npy_next(t))
        return false;
    if (t->mark != '(')
        return npy_fail(t, ERR_MALFORMED, "shape is not a tuple");
    for (;; rank++, comma = false) {
        if (!npy_next(t))
            return false;
        if (rank != 0 && t->mark == ',' && !comma) {
            comma = true;
            if (!npy_next(t))
                return false;
        }
        if (t->mark == ')')
            break;
        if (t->word != NPY_NUMBER || !comma)
            return npy_fail(t, ERR_MALFORMED, "shape contains something other than sizes separated by commas");
        if (rank < NPY_RANK)
            npy->dim[rank] = t->number;
    }
    if (rank == 1 && !comma)
        return npy_fail(t, ERR_MALFORMED, "shape is a number in parentheses, expected a tuple");
    npy->rank = (uint32_t)num_min(rank, NPY_RANK);
    return limits_check(rank, NPY_RANK, "dimensions", t->err);
}

/* Reads the whole text: a dictionary of exactly these keys. */
static bool
read_dict(struct npy *npy, struct npy_text *t)
{
    static const char *const keys[] = { "descr", "fortran_order", "shape" };
    enum { NKEYS = sizeof keys / sizeof *keys };
    bool have[NKEYS] = { false };
    bool comma = true, descr = false;       /* another key may follow; the last value was a descr */
    if (!npy_next(t))
        return false;
    if (t->mark != '{')
        return npy_fail(t, ERR_MALFORMED, "not a Python dictionary");
    for (unsigned n = 0;; n++) {
        unsigned key = 0;
        if (!npy_next(t))
            return false;
        if (n != 0 && t->mark == ',' && !comma) {
            comma = true;
            if (!npy_next(t))
                return false;
        }
        if (t->mark == '}')
            break;
        if (t->word == NPY_TEXT && !comma && descr)
            return npy_fail(t, ERR_UNSUPPORTED, "adjacent strings, which NumPy never writes");
        while (key < NKEYS && !(t->word == NPY_TEXT && npy_header_is(t, keys[key])))
            key++;
        if (key == NKEYS || have[key] || !comma)
            return npy_fail(t, ERR_MALFORMED, "unexpected or duplicate key; expected descr, fortran_order and shape, each "
                "once");
        have[key] = true;
        if (!npy_next(t))
            return false;
        if (t->mark != ':')
            return t->word == NPY_TEXT ? npy_fail(t, ERR_UNSUPPORTED, "adjacent strings, which NumPy never writes")
                : npy_fail(t, ERR_MALFORMED, "a key has no value");
        if (!(key == 0 ? read_descr(npy, t) : key == 1 ? read_fortran(npy, t) : npy_header_read_shape(npy, t)))
            return false;
        comma = false;
        descr = key == 0;
    }
    for (unsigned i = 0; i < NKEYS; i++)
        if (!have[i])
            return npy_fail(t, ERR_MALFORMED, "key descr, fortran_order or shape is missing");
    if (!npy_next(t))
        return false;
    return t->word == NPY_END || npy_fail(t, ERR_MALFORMED, "trailing data after the dictionary");
}


bool
npy_is(const uint8_t *p, size_t n)
{
    return n >= sizeof magic && memcmp(p, magic, sizeof magic) == 0;
}

bool
npy_length(uint64_t *length, const struct npy_bytes *in, struct err *err)
{
    enum { VERSION_AT = 6, LENGTH_AT = 8 };
    const uint8_t *p = in->p;
    if (!npy_is(p, in->n))
        return npy_bad(in, 0, err, ERR_MALFORMED, "not a NumPy array: the magic 93 'NUMPY' is missing");
    if (in->n < NPY_FIXED)
        return npy_bad(in, 0, err, ERR_MALFORMED, "%zu bytes are too few for a NumPy array (incomplete download or copy?)",
            in->n);
    if (p[VERSION_AT] < 1 || p[VERSION_AT] > 3 || p[VERSION_AT + 1] != 0)
        return npy_bad(in, VERSION_AT, err, ERR_UNSUPPORTED, "array format version %u.%u, expected 1.0, 2.0 or 3.0",
            p[VERSION_AT], p[VERSION_AT + 1]);
    bool narrow = p[VERSION_AT] == 1;
    uint32_t text;
    if (narrow)
        text = load_le16(p + LENGTH_AT);
    else
        text = load_le32(p + LENGTH_AT);
    *length = LENGTH_AT + (narrow ? 2 : 4) + (uint64_t)text;
    return true;
}

/* Computes the numbers of elements and bytes. The product of all nonzero sizes must fit in 63 bits, as in NumPy. */
static bool
npy_header_measure(struct npy *npy, const struct npy_text *t)
{
    uint64_t numel = 1;
    bool empty = false;
    for (uint32_t i = 0; i < npy->rank; i++) {
        empty = empty || npy->dim[i] == 0;
        if (npy->dim[i] != 0 && (!num_mul(&numel, numel, npy->dim[i]) || numel > INT64_MAX))
            return npy_fail(t, ERR_MALFORMED, "number of elements overflows 63 bits");
    }
    return num_mul(&npy->nbytes, empty ? 0 : numel, npy->item)
        || npy_fail(t, ERR_MALFORMED, "size overflows 64 bits");
}

bool
npy_read(struct npy *npy, const struct npy_bytes *in, struct err *err)
{
    uint64_t length;
    *npy = (struct npy){ 0 };
    if (!npy_length(&length, in, err))
        return false;
    npy->version = in->p[6];
    size_t fixed = NPY_FIXED;
    if (npy->version == 1)
        fixed = NPY_FIXED - 2;
    uint64_t most = fixed + NPY_HEADER_MAX;
    if (length > most && in->n >= most)
        return npy_bad(in, 0, err, ERR_LIMIT, "header length %" PRIu64 " exceeds the limit of %d bytes (built in)",
            length - fixed, NPY_HEADER_MAX);
    if (in->n < length)
        return npy_bad(in, in->n, err, ERR_MALFORMED, "truncated: %zu of the %" PRIu64 " bytes of its header (incomplete "
            "download or copy?)", in->n, length);
    struct npy_text t = { .p = in->p + fixed, .end = in->p + length, .in = in, .longs = npy->version < 3, .err = err };
    if (npy->version == 3 && !str_is_utf8((const char *)t.p, (size_t)(t.end - t.p)))
        return npy_fail(&t, ERR_MALFORMED, "not UTF-8, which version 3.0 requires");
    return read_dict(npy, &t) && npy_header_measure(npy, &t);
}
