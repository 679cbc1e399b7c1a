/* Parses an expression by precedence climbing. The height of the tree is limited, because the evaluator recurses over it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "family/expr_priv.h"

struct expr_reader {
    struct expr *e;
    const char *p, *end;
    struct err *err;
    unsigned depth;             /* parentheses, brackets, signs and branches around p */
};

static bool parse_if(struct expr_reader *r, uint32_t *out);

/* --- errors */

static bool
expected(struct expr_reader *r, const char *what)
{
    char shown[STR_SHOWN];
    size_t n = 0;
    while (r->p + n < r->end && !isspace((unsigned char)r->p[n]))
        n++;
    if (n == 0)
        return err_set(r->err, ERR_MALFORMED, "%s: found the end of expression '%s', expected %s", r->e->where,
            str_shown(shown, r->e->text, strlen(r->e->text)), what);
    return err_set(r->err, ERR_MALFORMED, "%s: found '%s', expected %s", r->e->where, str_shown(shown, r->p, n),
        what);
}

/* --- characters */

static void
skip_blanks(struct expr_reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t'))
        r->p++;
}

/* Takes a symbol if it is next. One that is the beginning of a longer symbol is not taken. */
static bool
expr_take(struct expr_reader *r, const char *symbol)
{
    size_t n = strlen(symbol);
    skip_blanks(r);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, symbol, n) != 0)
        return false;
    char next = '\0';
    if (r->p + n < r->end)
        next = r->p[n];
    if ((n == 1 && strchr("<>!", *symbol) && next == '=') || (n == 1 && (*symbol == '/' || *symbol == '?') && next == *symbol))
        return false;
    r->p += n;
    return true;
}

static bool
is_name(char c, bool first)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (!first && c >= '0' && c <= '9');
}

/* --- nodes */

static unsigned
height_of(const struct expr *e, uint32_t node)
{
    if (node == EXPR_NONE)
        return 0;
    return e->node[node].height;
}

static bool
expr_add(struct expr_reader *r, struct expr_node node, uint32_t *out)
{
    struct expr *e = r->e;
    const uint32_t below[] = { node.a, node.b, node.c };
    struct expr_node *list = array_grow(e->node, e->n, &e->room, sizeof *list, r->err);
    if (list)
        e->node = list;
    node.next = EXPR_NONE;
    for (size_t i = 0; i < 3; i++)
        if (height_of(e, below[i]) >= node.height)
            node.height = height_of(e, below[i]) + 1;
    if (list && node.height <= EXPR_HEIGHT) {
        *out = (uint32_t)e->n;
        list[e->n++] = node;
        return true;
    }
    json_decref(node.value);
    free(node.name);
    if (list)
        return expected(r, "fewer operations inside each other");
    return false;
}

static bool
add_operation(struct expr_reader *r, enum node_kind kind, uint32_t a, uint32_t b, uint32_t *out)
{
    return expr_add(r, (struct expr_node){ .kind = kind, .a = a, .b = b, .c = EXPR_NONE }, out);
}

static bool
expr_add_value(struct expr_reader *r, json_t *value, uint32_t *out)
{
    if (!value)
        return err_memory(r->err, 0);
    return expr_add(r, (struct expr_node){ .kind = NODE_VALUE, .value = value, .a = EXPR_NONE, .b = EXPR_NONE, .c = EXPR_NONE },
        out);
}

/* --- values */

static bool
parse_string(struct expr_reader *r, uint32_t *out)
{
    const char *begin = r->p++;
    while (r->p < r->end && *r->p != '"')
        r->p += *r->p == '\\' && r->p + 1 < r->end ? 2 : 1;
    if (r->p >= r->end) {
        r->p = begin;
        return expected(r, "a string that ends with a double quote");
    }
    r->p++;
    json_error_t why;
    json_t *value = json_loadb(begin, (size_t)(r->p - begin), JSON_DECODE_ANY, &why);
    if (value)
        return expr_add_value(r, value, out);
    r->p = begin;
    return expected(r, "a string with the escapes of JSON");
}

static bool
parse_number(struct expr_reader *r, uint32_t *out)
{
    const char *begin = r->p, *p = r->p;
    char text[64];
    bool whole = true;
    while (p < r->end && isdigit((unsigned char)*p))
        p++;
    if (p + 1 < r->end && *p == '.' && isdigit((unsigned char)p[1]))
        for (whole = false, p++; p < r->end && isdigit((unsigned char)*p);)
            p++;
    const char *e;
    if (p < r->end && (*p == 'e' || *p == 'E'))
        e = p + 1;
    else
        e = r->end;
    e += e < r->end && (*e == '+' || *e == '-');
    if (e < r->end && isdigit((unsigned char)*e))
        for (whole = false, p = e; p < r->end && isdigit((unsigned char)*p);)
            p++;
    if ((size_t)(p - begin) >= sizeof text || (p < r->end && (is_name(*p, true) || *p == '.')))
        return expected(r, "a number");
    memcpy(text, begin, (size_t)(p - begin));
    text[p - begin] = '\0';
    double x = strtod(text, NULL);
    if (x > 1e300 || (whole && x > 9007199254740992.0))
        return expected(r, whole ? "an integer up to 2^53" : "a number up to 1e300");
    r->p = p;
    return expr_add_value(r, whole ? json_integer((json_int_t)x) : json_real(x), out);
}

static bool
parse_arguments(struct expr_reader *r, uint32_t function, uint32_t *out)
{
    unsigned n = 0, fewest, most;
    uint32_t first = EXPR_NONE, last = EXPR_NONE;
    const char *name = expr_function_arguments(function, &fewest, &most);
    unsigned height = 0;
    while (!expr_take(r, ")")) {
        uint32_t arg;
        if (n != 0 && !expr_take(r, ","))
            return expected(r, "',' or ')'");
        if (!parse_if(r, &arg))
            return false;
        if (height_of(r->e, arg) > height)
            height = height_of(r->e, arg);
        if (n++ == 0)
            first = arg;
        else
            r->e->node[last].next = arg;
        last = arg;
    }
    if (n < fewest || n > most)
        return err_set(r->err, ERR_MALFORMED, "%s: found %u arguments of %s(), expected %u to %u", r->e->where,
            n, name, fewest, most);
    return expr_add(r, (struct expr_node){ .kind = NODE_CALL, .height = height + 1, .function = function, .a = first, .b = EXPR_NONE,
        .c = EXPR_NONE }, out);
}

static bool
parse_name(struct expr_reader *r, uint32_t *out)
{
    const char *begin = r->p;
    while (r->p < r->end && is_name(*r->p, false)) {
        r->p++;
        if (r->p + 1 < r->end && *r->p == '.' && is_name(r->p[1], true))
            r->p++;
    }
    size_t n = (size_t)(r->p - begin);
    if (str_is(begin, n, "true"))
        return expr_add_value(r, json_true(), out);
    if (str_is(begin, n, "false"))
        return expr_add_value(r, json_false(), out);
    if (str_is(begin, n, "null"))
        return expr_add_value(r, json_null(), out);
    if (r->p < r->end && *r->p == '(') {
        uint32_t function = expr_function(begin, n);
        if (function == EXPR_NONE) {
            r->p = begin;
            return expected(r, "the name of a function");
        }
        r->p++;
        return parse_arguments(r, function, out);
    }
    char *name = malloc(n + 1);
    if (!name)
        return err_memory(r->err, n + 1);
    memcpy(name, begin, n);
    name[n] = '\0';
    return expr_add(r, (struct expr_node){ .kind = NODE_NAME, .name = name, .a = EXPR_NONE, .b = EXPR_NONE, .c = EXPR_NONE }, out);
}

static bool
parse_value(struct expr_reader *r, uint32_t *out)
{
    skip_blanks(r);
    char c = '\0';
    if (r->p < r->end)
        c = *r->p;
    if (c == '"')
        return parse_string(r, out);
    if (isdigit((unsigned char)c))
        return parse_number(r, out);
    if (is_name(c, true))
        return parse_name(r, out);
    if (!expr_take(r, "("))
        return expected(r, "a value");
    return parse_if(r, out) && (expr_take(r, ")") || expected(r, "')'"));
}

/* --- operations */

static bool
parse_unary(struct expr_reader *r, uint32_t *out)
{
    if (++r->depth > EXPR_HEIGHT)
        return expected(r, "fewer operations inside each other");
    bool ok, minus = expr_take(r, "-"), not = !minus && expr_take(r, "!");
    if (minus || not)
        ok = parse_unary(r, out) && add_operation(r, minus ? NODE_MINUS : NODE_NOT, *out, EXPR_NONE, out);
    else
        ok = parse_value(r, out);
    while (ok && !minus && !not && expr_take(r, "[")) {
        uint32_t index;
        ok = parse_if(r, &index) && (expr_take(r, "]") || expected(r, "']'")) && add_operation(r, NODE_INDEX, *out, index, out);
    }
    r->depth--;
    return ok;
}

/* Operators, those that bind least first. A longer symbol comes before its own beginning. */
static const struct expr_operator {
    const char *symbol;
    unsigned level;
    enum node_kind kind;
} operators[] = {
    { "||", 0, NODE_OR }, { "&&", 1, NODE_AND }, { "==", 2, NODE_EQ }, { "!=", 2, NODE_NE }, { "<=", 2, NODE_LE },
    { ">=", 2, NODE_GE }, { "<", 2, NODE_LT }, { ">", 2, NODE_GT }, { "??", 3, NODE_ELSE }, { "+", 4, NODE_ADD },
    { "-", 4, NODE_SUB }, { "//", 5, NODE_FLOOR }, { "*", 5, NODE_MUL }, { "/", 5, NODE_DIV }, { "%", 5, NODE_MOD },
};

enum { COMPARE = 2 };

static const struct expr_operator *
take_operator(struct expr_reader *r, unsigned least)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].level >= least && expr_take(r, operators[i].symbol))
            return &operators[i];
    return NULL;
}

/* Parses operations of at least this level. Comparisons do not chain. */
static bool
parse_operations(struct expr_reader *r, unsigned least, uint32_t *out)
{
    const struct expr_operator *operator;
    bool compared = false;
    if (!parse_unary(r, out))
        return false;
    while ((operator = take_operator(r, least)) != NULL) {
        uint32_t right;
        if (compared && operator->level == COMPARE)
            return expected(r, "parentheses around a comparison");
        if (!parse_operations(r, operator->level + 1, &right) || !add_operation(r, operator->kind, *out, right, out))
            return false;
        compared = operator->level == COMPARE;
    }
    return true;
}

static bool
parse_if(struct expr_reader *r, uint32_t *out)
{
    struct expr_node node = { .kind = NODE_IF };
    if (++r->depth > EXPR_HEIGHT)
        return expected(r, "fewer operations inside each other");
    bool ok = parse_operations(r, 0, out);
    if (ok && expr_take(r, "?")) {
        node.a = *out;
        ok = parse_if(r, &node.b) && (expr_take(r, ":") || expected(r, "':'")) && parse_if(r, &node.c) && expr_add(r, node, out);
    }
    r->depth--;
    return ok;
}

/* --- the interface */

bool
expr_parse(struct expr **out, const char *text, size_t n, const char *where, struct err *err)
{
    struct expr *e = calloc(1, sizeof *e);
    *out = NULL;
    if (!e || (e->text = malloc(n + 1)) == NULL) {
        free(e);
        return err_memory(err, sizeof *e + n + 1);
    }
    memcpy(e->text, text, n);
    e->text[n] = '\0';
    e->where = where;
    struct expr_reader r = { .e = e, .p = e->text, .end = e->text + n, .err = err };
    bool ok = parse_if(&r, &e->root);
    skip_blanks(&r);
    if (!ok || (r.p < r.end && !expected(&r, "an operator or the end of the expression"))) {
        expr_free(e);
        return false;
    }
    *out = e;
    return true;
}

void
expr_free(struct expr *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++) {
        json_decref(e->node[i].value);
        free(e->node[i].name);
    }
    free(e->node);
    free(e->text);
    free(e);
}

const char *
expr_text(const struct expr *e)
{
    return e->text;
}

const char *
expr_where(const struct expr *e)
{
    return e->where;
}

const char *
expr_member(const struct expr *e)
{
    const struct expr_node *node = &e->node[e->root];
    while (node->kind == NODE_ELSE)
        node = &e->node[node->a];
    if (node->kind == NODE_NAME)
        return node->name;
    return NULL;
}

bool
expr_is_literal(const struct expr *e)
{
    const struct expr_node *node = &e->node[e->root];
    while (node->kind == NODE_MINUS)
        node = &e->node[node->a];
    return node->kind == NODE_VALUE;
}

const char *
expr_name_at(const struct expr *e, size_t i)
{
    for (size_t k = 0; k < e->n; k++)
        if (e->node[k].kind == NODE_NAME && i-- == 0)
            return e->node[k].name;
    return NULL;
}

bool
expr_calls(const struct expr *e, const char *function)
{
    uint32_t row = expr_function(function, strlen(function));
    for (size_t i = 0; i < e->n; i++)
        if (e->node[i].kind == NODE_CALL && e->node[i].function == row)
            return true;
    return false;
}
