#include "base/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* What jansson has of the budget, and whether it was refused something. */
static size_t used;
static bool over, refused;

/* In front of each piece, so that giving it back is counted. */
union piece {
    size_t n;
    max_align_t align;
};

static void *
take(size_t n)
{
    over = over || n > TREE_BUDGET - used;
    union piece *p = over ? NULL : malloc(sizeof *p + n);
    refused = refused || !p;
    if (!p)
        return NULL;
    p->n = n;
    used += n;
    return p + 1;
}

static void
give_back(void *of)
{
    union piece *p = of;
    if (!p)
        return;
    used -= p[-1].n;
    free(p - 1);
}

bool
tree_read(json_t **root, const char *text, size_t n, const char *what, struct err *err)
{
    json_error_t why;
    json_set_alloc_funcs(take, give_back);
    over = refused = false;
    *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
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
