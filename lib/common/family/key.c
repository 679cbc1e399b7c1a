/* The names of keys: in a family file without the architecture. */
#include <stdio.h>
#include <string.h>

#include "family/family.h"

const char *
family_key_prefix(const struct model_family *family, const char **name)
{
    bool plain = **name == '/';
    *name += plain;
    if (plain || str_begins(*name, "general.") || str_begins(*name, "tokenizer."))
        return NULL;
    return family->arch;
}

bool
family_key_name(char full[FAMILY_KEY], const struct model_family *family, const char *name)
{
    const char *prefix = family_key_prefix(family, &name);
    int n = snprintf(full, FAMILY_KEY, "%s%s%s", str_or(prefix, ""), prefix ? "." : "", name);
    return n > 0 && n < FAMILY_KEY;
}

json_t *
family_key_value(const json_t *keys, const struct model_family *family, const char *name)
{
    char full[FAMILY_KEY];
    if (keys && family_key_name(full, family, name))
        return json_object_get(keys, full);
    return NULL;
}
