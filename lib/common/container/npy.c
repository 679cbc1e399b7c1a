/* The header of an array, and a file that is one array.
 *
 *      text    dict, blanks                         descr   TEXT | [field, ...] | (descr, dims)
 *      dict    {key: value, key: value, ...}        field   (name, descr) | (name, descr, dims)
 *      dims    (n, n, ...) | n within a descr       name    TEXT | (TEXT, TEXT)
 *
 * as Python writes literals: "" or '', blanks and comments between words, a comma behind the last item or none. From
 * numpy/lib/format.py; npz.md 1 to 3. What Python would compute (1+2, escapes, other bases, texts side by side) is
 * ERR_UNSUPPORTED: no writer makes it. */
#include "container/npy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/str.h"
#include "container/container.h"

static const uint8_t magic[6] = "\x93NUMPY";

/* --- words -------------------------------------------------------------------------------------------------- */

enum word { WORD_END, WORD_TEXT, WORD_NUMBER, WORD_NAME, WORD_MARK };

struct text {
    const uint8_t *p, *end;
    const struct npy_bytes *in; /* what it is of */
    bool longs;                 /* 3L is a number: versions 1 and 2 */
    struct err *err;

    enum word word;             /* the one that was read last */
    const uint8_t *from;        /* its first byte; of a text the one behind the quote */
    size_t n;                   /* its length; of a text without quotes */
    uint64_t number;
    char mark;                  /* of a WORD_MARK, else 0 */
};

/* A failure about the array, `i` bytes behind its beginning. */
static bool
bad(const struct npy_bytes *in, size_t i, struct err *err, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static bool
bad(const struct npy_bytes *in, size_t i, struct err *err, enum err_kind kind, const char *format, ...)
{
    char text[ERR_TEXT], shown[STR_SHOWN];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set(err, kind, in->at == ERR_NO_OFFSET ? ERR_NO_OFFSET : in->at + i, ERR_TENSOR "%s",
        str_shown(shown, in->name, in->name_len), text);
}

static bool
fail(const struct text *t, enum err_kind kind, const char *what)
{
    return bad(t->in, (size_t)(t->p - t->in->p), t->err, kind, "in its header: %s", what);
}

static bool
is_digit(const struct text *t, size_t i)
{
    return (size_t)(t->end - t->p) > i && t->p[i] >= '0' && t->p[i] <= '9';
}

static bool
is_letter(const struct text *t)
{
    return t->p < t->end && ((*t->p >= 'a' && *t->p <= 'z') || (*t->p >= 'A' && *t->p <= 'Z') || *t->p == '_');
}

static void
skip_blanks(struct text *t)
{
    for (bool comment = false; t->p < t->end; t->p++) {
        if (*t->p == '#')
            comment = true;
        else if (*t->p == '\n')
            comment = false;
        else if (*t->p == '\0' || (!comment && !memchr(" \t\f\r", *t->p, 4)))
            return;
    }
}

static bool
read_text(struct text *t)
{
    uint8_t quote = *t->p++;
    t->word = WORD_TEXT;
    t->from = t->p;
    while (t->p < t->end && *t->p != quote) {
        if (*t->p == '\\')
            return fail(t, ERR_UNSUPPORTED, "a text with an escape in it, which NumPy never writes");
        if (*t->p < 0x20)
            return fail(t, ERR_MALFORMED, "a text that is not closed, or holds control characters");
        t->p++;
    }
    t->n = (size_t)(t->p - t->from);
    if (t->p == t->end)
        return fail(t, ERR_MALFORMED, "a text that is not closed");
    t->p++;
    return true;
}

static bool
read_number(struct text *t)
{
    t->word = WORD_NUMBER;
    t->number = 0;
    if (*t->p == '0' && is_digit(t, 1))
        return fail(t, ERR_MALFORMED, "a number that begins with 0");
    for (; is_digit(t, 0); t->p++)
        if (!num_mul(&t->number, t->number, 10) || !num_add(&t->number, t->number, *t->p - '0') || t->number > INT64_MAX)
            return fail(t, ERR_MALFORMED, "a number of more than 63 bits");
    if (t->longs && t->p < t->end && (*t->p == 'L' || *t->p == 'l'))
        t->p++;
    if (t->p < t->end && (*t->p == '.' || *t->p == 'e' || *t->p == 'E'))
        return fail(t, ERR_MALFORMED, "a number with a fraction, expected an integer");
    if (t->p < t->end && (*t->p == '_' || (t->number == 0 && memchr("xXoObB", *t->p, 6))))
        return fail(t, ERR_UNSUPPORTED, "a number in another form than decimal digits, which NumPy never writes");
    return !is_letter(t) || fail(t, ERR_MALFORMED, "letters behind a number");
}

/* The next word. */
static bool
next(struct text *t)
{
    skip_blanks(t);
    t->from = t->p;
    t->mark = '\0';
    if (t->p == t->end) {
        t->word = WORD_END;
        return true;
    }
    if ((*t->p == 'u' || *t->p == 'U') && t->end - t->p > 1 && (t->p[1] == '\'' || t->p[1] == '"'))
        t->p++;                 /* Python 2 */
    if (*t->p == '\'' || *t->p == '"')
        return read_text(t);
    if (is_digit(t, 0))
        return read_number(t);
    if (is_letter(t)) {
        t->word = WORD_NAME;
        while (is_letter(t) || is_digit(t, 0))
            t->p++;
        t->n = (size_t)(t->p - t->from);
        return (t->p < t->end && (*t->p == '\'' || *t->p == '"'))
            ? fail(t, ERR_UNSUPPORTED, "a text with a prefix, which NumPy never writes") : true;
    }
    if (*t->p == '+')
        return fail(t, ERR_UNSUPPORTED, "a sign or a sum, which NumPy never writes");
    if (*t->p == '-')
        return fail(t, ERR_MALFORMED, "a negative number, expected a size");
    if (!memchr("{}[](),:", *t->p, 8))
        return fail(t, ERR_MALFORMED, "a character that has no place in a literal of Python");
    t->word = WORD_MARK;
    t->mark = (char)*t->p++;
    return true;
}

static bool
is(const struct text *t, const char *word)
{
    return t->n == strlen(word) && memcmp(t->from, word, t->n) == 0;
}

/* --- descr -------------------------------------------------------------------------------------------------- */

/* What a type's letter stands for. */
struct kind {
    char letter;
    uint8_t unit;               /* bytes of an element for each 1 of its number; 0: it has one number, `only` */
    uint8_t only;
};

static const struct kind unsupported_kinds[] = {
    { 'V', 1, 0 }, { 'S', 1, 0 }, { 'a', 1, 0 }, { 'U', 4, 0 }, { 'M', 0, 8 }, { 'm', 0, 8 },
    { 'f', 0, 1 }, { 'f', 0, 12 }, { 'f', 0, 16 }, { 'c', 0, 16 }, { 'c', 0, 24 }, { 'c', 0, 32 },
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
    { 'V', 2, DTYPE_BF16 },     /* NumPy has no bfloat16: what has one writes it so */
};

/* A type that is told by one text: an order of bytes, a letter, a number, and of a time the unit. */
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
    s->letter = p < end ? (char)*p++ : '\0';
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

/* The array's type, when it is one text. */
static bool
read_simple(struct npy *npy, const struct text *t, const struct simple *s)
{
    char shown[STR_SHOWN];
    npy->sized = true;
    npy->item = s->number;
    npy->big_endian = s->order == '>';
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (scalars[i].letter == s->letter && scalars[i].size == s->number && !(s->letter == 'V' && npy->big_endian)) {
            npy->dtype = scalars[i].dtype;
            npy->big_endian = npy->big_endian && dtype_facts(npy->dtype)->word > 1;
            return true;
        }
    for (size_t i = 0; i < sizeof unsupported_kinds / sizeof *unsupported_kinds; i++) {
        const struct kind *k = &unsupported_kinds[i];
        if (k->letter != s->letter || (k->unit == 0 && k->only != s->number))
            continue;
        bool bytes = k->unit == 1 || s->number == 1;
        npy->dtype = DTYPE_UNKNOWN;
        npy->item = k->unit != 0 ? k->unit * s->number : s->number;
        snprintf(npy->type_name, sizeof npy->type_name, "%c%c%" PRIu64 "%.*s", bytes && s->letter != 'U' ? '|' : s->order,
            s->letter == 'a' ? 'S' : s->letter, s->number, (int)s->unit_len, (const char *)s->unit);
        return true;
    }
    return bad(t->in, (size_t)(t->from - t->in->p), t->err, ERR_UNSUPPORTED, "its type is %s, which is none that NumPy "
        "writes", str_shown(shown, (const char *)t->from, t->n));
}

static bool
refuse_objects(const struct text *t)
{
    return fail(t, ERR_UNSAFE, "its elements are Python objects (|O), which only a pickle holds: save it as an array of "
        "numbers");
}

/* What a place in a descr takes. */
enum place { DESCR, FIELDS, FIELD, NAME, DIMS, SIZE };

enum { DEPTH = 8 };

/* A bracket that is open: of a FIELD or a NAME or a DESCR that is (descr, dims), or a list of FIELDS, or of DIMS. */
struct open {
    enum place of;
    uint32_t items;             /* that were begun */
    bool comma;                 /* one can come, or the end: an item was read */
};

/* What item number i of an open bracket is; how many there are at least and at most. */
static enum place
place_in(const struct open *o, uint32_t *least, uint32_t *most)
{
    static const enum place field[] = { NAME, DESCR, DIMS };
    *least = o->of == FIELD || o->of == NAME || o->of == DESCR ? 2 : 0;
    *most = o->of == FIELD ? 3 : *least != 0 ? 2 : UINT32_MAX;
    switch (o->of) {
    case FIELDS: return FIELD;
    case FIELD:  return field[o->items < 3 ? o->items : 2];
    case DESCR:  return o->items == 0 ? DESCR : DIMS;
    case DIMS:   return SIZE;
    default:     return NAME;
    }
}

/* A word that stands alone at a place, or opens a bracket there: *opens. */
static bool
read_item(struct text *t, enum place place, bool *opens, enum place *of)
{
    struct simple s;
    *opens = t->mark == '(' || t->mark == '[';
    *of = place == DESCR && t->mark == '[' ? FIELDS : place;
    if (t->mark == '(' && place != SIZE)
        return true;
    if (t->mark == '[' && place == DESCR)
        return true;
    *opens = false;
    if (t->word == WORD_TEXT && place == DESCR)
        return split_simple(&s, t->from, t->n) && s.letter == 'O' ? refuse_objects(t) : true;
    return (t->word == WORD_TEXT && place == NAME) || (t->word == WORD_NUMBER && (place == DIMS || place == SIZE))
        || fail(t, ERR_MALFORMED, "its descr is no type: expected a text, or a list of fields");
}

/* A descr of several types; its first word, a bracket, has been read. Python objects anywhere in it are refused. */
static bool
read_structured(struct text *t)
{
    struct open open[DEPTH];
    enum place of;
    bool opens;
    unsigned n = 0;
    if (!read_item(t, DESCR, &opens, &of))
        return false;
    open[n++] = (struct open){ .of = of };
    while (n != 0) {
        struct open *o = &open[n - 1];
        uint32_t least, most;
        enum place place = place_in(o, &least, &most);
        char close = o->of == FIELDS ? ']' : ')';
        if (!next(t))
            return false;
        if (o->comma && t->mark == ',') {
            o->comma = false;
        } else if (t->mark == close) {
            /* (3) is 3 in brackets */
            if (o->items < least || (o->of == DIMS && o->items == 1 && o->comma))
                return fail(t, ERR_MALFORMED, "its descr has a tuple of too few items");
            n--;
        } else if (o->comma || o->items == most) {
            return fail(t, ERR_MALFORMED, "its descr has a list or a tuple of another form");
        } else {
            if (!read_item(t, place, &opens, &of))
                return false;
            o->items++;
            o->comma = true;
            if (opens && n == DEPTH)
                return fail(t, ERR_MALFORMED, "brackets deeper than 8");
            if (opens)
                open[n++] = (struct open){ .of = of };
        }
    }
    return true;
}

static bool
read_descr(struct npy *npy, struct text *t)
{
    struct simple s;
    char shown[STR_SHOWN];
    if (!next(t))
        return false;
    if (t->word != WORD_TEXT) {
        npy->dtype = DTYPE_UNKNOWN;
        snprintf(npy->type_name, sizeof npy->type_name, "structured");
        return read_structured(t);
    }
    if (!split_simple(&s, t->from, t->n))
        return bad(t->in, (size_t)(t->from - t->in->p), t->err, ERR_UNSUPPORTED, "its type is %s, expected one such as <f4",
            str_shown(shown, (const char *)t->from, t->n));
    return s.letter == 'O' ? refuse_objects(t) : read_simple(npy, t, &s);
}

/* --- the other keys ----------------------------------------------------------------------------------------- */

static bool
read_fortran(struct npy *npy, struct text *t)
{
    if (!next(t))
        return false;
    npy->fortran = t->word == WORD_NAME && is(t, "True");
    return npy->fortran || (t->word == WORD_NAME && is(t, "False"))
        || fail(t, ERR_MALFORMED, "its fortran_order is neither True nor False");
}

static bool
read_shape(struct npy *npy, struct text *t, uint64_t rank_max)
{
    bool comma = true;          /* an item can come */
    uint64_t rank = 0;
    if (!next(t))
        return false;
    if (t->mark != '(')
        return fail(t, ERR_MALFORMED, "its shape is no tuple");
    for (;; rank++, comma = false) {
        if (!next(t))
            return false;
        if (rank != 0 && t->mark == ',' && !comma) {
            comma = true;
            if (!next(t))
                return false;
        }
        if (t->mark == ')')
            break;
        if (t->word != WORD_NUMBER || !comma)
            return fail(t, ERR_MALFORMED, "its shape has something else than sizes with commas between them");
        if (rank < NPY_RANK)
            npy->dim[rank] = t->number;
    }
    if (rank == 1 && !comma)
        return fail(t, ERR_MALFORMED, "its shape is a number in brackets, expected a tuple");
    npy->rank = (uint32_t)num_min(rank, NPY_RANK);
    return limits_check(rank, num_min(rank_max, NPY_RANK), "dimensions", t->err);
}

/* The whole text: a dictionary of exactly these keys. */
static bool
read_dict(struct npy *npy, struct text *t, uint64_t rank_max)
{
    static const char *const keys[] = { "descr", "fortran_order", "shape" };
    enum { NKEYS = sizeof keys / sizeof *keys };
    bool have[NKEYS] = { false };
    bool comma = true, descr = false;       /* another key can come; the value before was a descr */
    if (!next(t))
        return false;
    if (t->mark != '{')
        return fail(t, ERR_MALFORMED, "it is no dictionary of Python");
    for (unsigned n = 0;; n++) {
        unsigned key = 0;
        if (!next(t))
            return false;
        if (n != 0 && t->mark == ',' && !comma) {
            comma = true;
            if (!next(t))
                return false;
        }
        if (t->mark == '}')
            break;
        if (t->word == WORD_TEXT && !comma && descr)
            return fail(t, ERR_UNSUPPORTED, "two texts side by side, which NumPy never writes");
        while (key < NKEYS && !(t->word == WORD_TEXT && is(t, keys[key])))
            key++;
        if (key == NKEYS || have[key] || !comma)
            return fail(t, ERR_MALFORMED, "its keys are others than descr, fortran_order and shape, each once");
        have[key] = true;
        if (!next(t))
            return false;
        if (t->mark != ':')
            return t->word == WORD_TEXT ? fail(t, ERR_UNSUPPORTED, "two texts side by side, which NumPy never writes")
                : fail(t, ERR_MALFORMED, "no value for a key");
        if (!(key == 0 ? read_descr(npy, t) : key == 1 ? read_fortran(npy, t) : read_shape(npy, t, rank_max)))
            return false;
        comma = false;
        descr = key == 0;
    }
    for (unsigned i = 0; i < NKEYS; i++)
        if (!have[i])
            return fail(t, ERR_MALFORMED, "one of its keys descr, fortran_order and shape is not there");
    if (!next(t))
        return false;
    return t->word == WORD_END || fail(t, ERR_MALFORMED, "something follows its dictionary");
}

/* --- */

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
        return bad(in, 0, err, ERR_MALFORMED, "it does not begin as an array of NumPy, with 93 'NUMPY'");
    if (in->n < NPY_FIXED)
        return bad(in, 0, err, ERR_MALFORMED, "it has %zu bytes, too few for an array of NumPy (the download or copy is "
            "incomplete)", in->n);
    if (p[VERSION_AT] < 1 || p[VERSION_AT] > 3 || p[VERSION_AT + 1] != 0)
        return bad(in, VERSION_AT, err, ERR_UNSUPPORTED, "version %u.%u of the array format, expected 1.0, 2.0 or 3.0",
            p[VERSION_AT], p[VERSION_AT + 1]);
    bool narrow = p[VERSION_AT] == 1;
    uint32_t text = narrow ? load_le16(p + LENGTH_AT) : load_le32(p + LENGTH_AT);
    *length = LENGTH_AT + (narrow ? 2 : 4) + (uint64_t)text;
    return true;
}

/* Elements and bytes: all sizes but those of 0 multiply within 63 bits, as NumPy has it. */
static bool
measure(struct npy *npy, const struct text *t)
{
    uint64_t numel = 1;
    bool empty = false;
    for (uint32_t i = 0; i < npy->rank; i++) {
        empty = empty || npy->dim[i] == 0;
        if (npy->dim[i] != 0 && (!num_mul(&numel, numel, npy->dim[i]) || numel > INT64_MAX))
            return fail(t, ERR_MALFORMED, "its sizes multiply to more than 63 bits can count");
    }
    return num_mul(&npy->nbytes, empty ? 0 : numel, npy->item)
        || fail(t, ERR_MALFORMED, "its bytes are more than 64 bits can count");
}

bool
npy_read(struct npy *npy, const struct npy_bytes *in, const struct limits *limits, struct err *err)
{
    uint64_t length;
    *npy = (struct npy){ 0 };
    if (!npy_length(&length, in, err))
        return false;
    npy->version = in->p[6];
    size_t fixed = npy->version == 1 ? NPY_FIXED - 2 : NPY_FIXED;
    uint64_t most = fixed + limits->npy_header;
    if (length > most && in->n >= most)
        return bad(in, 0, err, ERR_LIMIT, "header bytes: %" PRIu64 " are over the limit of %" PRIu64 " (built in)",
            length - fixed, limits->npy_header);
    if (in->n < length)
        return bad(in, in->n, err, ERR_MALFORMED, "it ends after %zu bytes, within its header of %" PRIu64 " (the download or "
            "copy is incomplete)", in->n, length);
    struct text t = { .p = in->p + fixed, .end = in->p + length, .in = in, .longs = npy->version < 3, .err = err };
    if (npy->version == 3 && !str_is_utf8((const char *)t.p, (size_t)(t.end - t.p)))
        return fail(&t, ERR_MALFORMED, "it is not UTF-8, as version 3.0 has to be");
    return read_dict(npy, &t, limits->rank) && measure(npy, &t);
}

/* Column-major order, when the array has another one than row-major by it. */
static const struct layout *
fortran_layout(struct layout *layout, const struct npy *npy)
{
    uint64_t stride[NPY_RANK], step = 1;
    for (uint32_t i = 0; i < npy->rank; i++) {
        stride[i] = step;
        step *= npy->dim[i] != 0 ? npy->dim[i] : 1;     /* measure() has multiplied them */
    }
    layout_make(layout, npy->dim, stride, npy->rank);
    return layout_is_plain(layout) ? NULL : layout;
}

bool
npy_add(struct catalog *c, const struct npy *npy, const struct npy_bytes *in, const struct extent *extent, struct err *err)
{
    uint8_t packed[NPY_RANK * SHAPE_DIM];
    struct layout layout;
    char *type = NULL;
    shape_pack(packed, npy->dim, npy->rank);
    if (npy->dtype == DTYPE_UNKNOWN) {
        size_t n = strlen(npy->type_name) + 1;
        if (!(type = catalog_alloc(c, n, err)))
            return false;
        memcpy(type, npy->type_name, n);
    }
    const struct tensor t = {
        .name = in->name,
        .name_len = (uint32_t)in->name_len,
        .dtype = npy->dtype,
        .type_name = type,
        .big_endian = npy->big_endian,
        .layout = npy->fortran && !type ? fortran_layout(&layout, npy) : NULL,
        .shape = { .rank = npy->rank, .packed = packed },
        .extent = *extent,
    };
    return budget_items(catalog_budget(c), 1, "arrays", err) && catalog_add(c, &t, err);
}

/* --- a file of its own -------------------------------------------------------------------------------------- */

static bool
npy_probe(const uint8_t *head, size_t n, uint64_t size)
{
    (void)size;
    return npy_is(head, n);
}

/* What follows the array is left alone, as by NumPy. */
static bool
check_end(struct catalog *c, const struct npy *npy, uint64_t from, uint64_t size, struct err *err)
{
    uint64_t end = 0;
    bool fits = num_add(&end, from, npy->nbytes);
    if (size == SOURCE_SIZE_UNKNOWN)
        return fits || err_set(err, ERR_MALFORMED, 0, "its array would end beyond any file");
    if (!fits || size < end)
        return err_set(err, ERR_MALFORMED, size, "it " SOURCE_CUT, size, fits ? end : UINT64_MAX);
    if (size > end && npy->sized)
        catalog_warn(c, "%" PRIu64 " bytes follow the array: they are left out", size - end);
    return true;
}

static bool
npy_read_file(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options,
    struct err *err)
{
    static const char name[] = "arr_0";         /* as NumPy calls what has none */
    struct npy_bytes in = { .name = name, .name_len = sizeof name - 1 };
    uint64_t have = 0, length = 0;
    struct npy npy;
    bool ok = source_head(src, NPY_FIXED, &in.p, &have, err);
    in.n = (size_t)num_min(have, NPY_FIXED);
    ok = ok && npy_length(&length, &in, err);
    uint64_t want = num_min(length, NPY_FIXED + options->limits->npy_header);
    ok = ok && budget_bytes(catalog_budget(c), want, "header bytes", err) && source_head(src, want, &in.p, &have, err);
    in.n = (size_t)num_min(have, want);
    if (!ok || !npy_read(&npy, &in, options->limits, err) || !check_end(c, &npy, length, source_size(src), err))
        return false;
    catalog_facts(c)->format = container_npy.name;
    catalog_facts(c)->version = npy.version;
    catalog_facts(c)->big_endian = npy.big_endian;
    catalog_facts(c)->header_end = length;
    return npy_add(c, &npy, &in, &(struct extent){ file, length, npy.nbytes }, err);
}

const struct container container_npy = {
    .name = "NPY",
    .probe = npy_probe,
    .read = npy_read_file,
    .tail_ok = true,
};
