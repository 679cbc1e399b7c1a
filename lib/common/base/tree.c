#include "base/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

void (*tree_no_memory)(size_t n);

/* jansson 2.14 continues with a token that did not fit into its buffer, and copies what follows the buffer. */
static void *
tree_take(size_t n)
{
    void *p = malloc(n);
    if (!p && tree_no_memory)
        tree_no_memory(n);
    if (!p)
        abort();
    return p;
}

/* Returns an upper bound of the memory that jansson takes to parse a text: each value and member, tables while they grow,
 * and the buffers of the longest token. */
static uint64_t
most_memory(const char *text, size_t n)
{
    enum { VALUE = 56, MEMBER = 104, OBJECT = 200, ARRAY = 104, TOKEN = 4 };
    uint64_t most = n + VALUE;
    size_t longest = 0;
    for (size_t i = 0, from; i < n; i++) {
        from = i;
        switch (text[i]) {
        case '{':   most += OBJECT + VALUE;     break;
        case '[':   most += ARRAY + VALUE;      break;
        case ',':   most += VALUE;              break;
        case ':':   most += MEMBER;             break;
        case '"':
            for (i++; i < n && text[i] != '"'; i++)
                i += text[i] == '\\';
            break;
        default:
            while (i + 1 < n && !strchr("{[,:\"", text[i + 1]))
                i++;
        }
        if (i - from > longest)
            longest = i - from;
    }
    return most + TOKEN * (uint64_t)(longest + 16);
}

void
tree_guard(void)
{
    json_set_alloc_funcs(tree_take, free);
}

bool
tree_read(json_t **root, const char *text, size_t n, const char *what, struct err *err)
{
    json_error_t why;
    *root = NULL;
    const char *zero = NULL;
    if (n != 0)
        zero = memchr(text, 0, n);
    if (zero)       /* jansson ignores one that follows a number or a word */
        return err_at(err, ERR_MALFORMED, (uint64_t)(zero - text), "%s is not valid JSON: it contains a NUL byte", what);
    if (most_memory(text, n) > TREE_BUDGET)
        return err_set(err, ERR_LIMIT, "%s is too large: parsing it could take more than %d bytes of "
            "memory", what, TREE_BUDGET);
    tree_guard();
    *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    char shown[STR_SHOWN];
    if (!*root)
        return err_at(err, ERR_MALFORMED, (uint64_t)why.position, "%s is not valid JSON: line %d: %s", what, why.line,
            str_shown(shown, why.text, strlen(why.text)));
    if (json_is_object(*root))
        return true;
    json_decref(*root);
    *root = NULL;
    return err_at(err, ERR_MALFORMED, 0, "%s is not a JSON object, expected { ... }", what);
}
