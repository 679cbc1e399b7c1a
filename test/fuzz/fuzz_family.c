/* A family file: the reader, its expressions, and their values for a model without members. */
#include <assert.h>
#include <string.h>

#include "family/builtin.h"
#include "family/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool
include(void *of, const char *name, const char **text, size_t *n, struct err *err)
{
    const struct family_text_file *found = family_builtin_text(name);
    (void)of;
    (void)err;
    *text = found ? found->text : NULL;
    *n = found ? found->n : 0;
    return true;
}

static bool
see(void *of, const struct expr *e, struct err *err)
{
    json_t *value;
    struct scope *scope = of;
    scope->steps = 0;
    if (expr_value(&value, e, scope, 1, err))
        json_decref(value);
    else
        err_init(err);
    return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct model_family *family;
    struct err err;
    err_init(&err);
    bool ok = family_read(&family, "fuzz", (const char *)p, n, include, NULL, &err);
    assert(ok == (err.kind == ERR_NONE) && ok == (family != NULL) && err.kind != ERR_BUG);
    if (ok) {
        struct scope scope = { .family = family, .class = "X" };
        family_each_expr(family, see, &scope, &err);
    }
    family_free(family);
    return 0;
}
