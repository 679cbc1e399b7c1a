#include "base/tree.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* What jansson has of the budget, and whether it was refused something. */
static size_t used;
static bool over, refused;

/* All pieces that it has, the newest first. While a text is read, a refusal does not return to jansson, which would go on with
 * a token that its buffer had no room for and copy what lies behind it (2.14): the reading ends, and its pieces are taken
 * back. */
static union tree_chunk *newest;
static jmp_buf refusal;
static bool reading;

/* In front of each piece, so that giving it back is counted. */
union tree_chunk {
    struct {
        size_t n;
        union tree_chunk *older, *newer;
    };
    max_align_t align;
};

static void *
take(size_t n)
{
    over = over || n > TREE_BUDGET - used;
    union tree_chunk *p = over ? NULL : malloc(sizeof *p + n);
    refused = refused || !p;
    if (!p && reading)
        longjmp(refusal, 1);
    if (!p)
        return NULL;
    p->n = n;
    p->older = newest;
    p->newer = NULL;
    if (newest)
        newest->newer = p;
    newest = p;
    used += n;
    return p + 1;
}

static void
give_back(void *of)
{
    union tree_chunk *p = of ? (union tree_chunk *)of - 1 : NULL;
    if (!p)
        return;
    *(p->newer ? &p->newer->older : &newest) = p->older;
    if (p->older)
        p->older->newer = p->newer;
    used -= p->n;
    free(p);
}

/* NULL also when memory was refused. */
static json_t *
read_text(const char *text, size_t n, json_error_t *why)
{
    const union tree_chunk *before = newest;
    json_t *root = NULL;
    reading = true;
    if (setjmp(refusal) == 0)
        root = json_loadb(text, n, JSON_REJECT_DUPLICATES, why);
    else
        while (newest != before)
            give_back(newest + 1);
    reading = false;
    return root;
}

bool
tree_read(json_t **root, const char *text, size_t n, const char *what, struct err *err)
{
    json_error_t why;
    *root = NULL;
    const char *zero = n != 0 ? memchr(text, 0, n) : NULL;
    if (zero)       /* jansson passes over one that follows a number or a word */
        return err_set(err, ERR_MALFORMED, (uint64_t)(zero - text), "%s is not valid JSON: it holds a zero byte", what);
    json_set_alloc_funcs(take, give_back);
    over = refused = false;
    *root = read_text(text, n, &why);
    if (over)
        return err_set(err, ERR_LIMIT, ERR_NO_OFFSET, "%s is too large: reading it would take more than %d bytes of "
            "memory", what, TREE_BUDGET);
    if (refused)
        return err_memory(err, n);
    char shown[STR_SHOWN];
    if (!*root)
        return err_set(err, ERR_MALFORMED, (uint64_t)why.position, "%s is not valid JSON: line %d: %s", what, why.line,
            str_shown(shown, why.text, strlen(why.text)));
    if (json_is_object(*root))
        return true;
    json_decref(*root);
    *root = NULL;
    return err_set(err, ERR_MALFORMED, 0, "%s is not a JSON object, expected { ... }", what);
}
