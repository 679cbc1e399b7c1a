/* The names in a pickle: what each one makes, and which are refused. */
#include "base/str.h"
#include "container/torch/dangerous.h"
#include "container/torch/pickle_priv.h"

bool
pickle_refuse(struct err *err, uint64_t at, const uint8_t *module, size_t module_len, const uint8_t *name, size_t name_len)
{
    char shown_module[PICKLE_SHOWN], shown_name[PICKLE_SHOWN];
    const char dot[2] = { name_len != 0 ? '.' : '\0' };
    return err_at(err, ERR_UNSAFE, at, "references %.*s%s%.*s, which torch.load(weights_only=True) would reject; run "
        "'amn-inspect --scan FILE' to list all references", STR_SHOWN, pickle_quoted(shown_module, module, module_len),
        dot, STR_SHOWN, pickle_quoted(shown_name, name, name_len));
}

bool
pickle_is_plain(const struct pickle *k, struct err *err)
{
    return !k->opaque || pickle_refuse(err, k->opaque_at, (const uint8_t *)k->opaque->text, strlen(k->opaque->text), NULL, 0);
}

/* Returns true for a name that the user allows. */
static bool
is_allowed(const struct pickle_limits *limits, const uint8_t *module, size_t module_len, const uint8_t *name, size_t name_len)
{
    for (size_t i = 0; i < limits->nallowed; i++) {
        const char *text = limits->allowed[i];
        if (strlen(text) == module_len + 1 + name_len && memcmp(text, module, module_len) == 0 && text[module_len] == '.'
            && memcmp(text + module_len + 1, name, name_len) == 0)
            return true;
    }
    return false;
}

bool
pickle_name_find(struct pickle_global *facts, const struct pickle *k, const uint8_t *module, size_t module_len,
    const uint8_t *name, size_t name_len, struct err *err)
{
    const char *why;
    if (pickle_global_find(facts, module, module_len, name, name_len))
        return true;
    if (k->limits->shards && pickle_global_find_shards(facts, module, module_len, name, name_len))
        return true;
    *facts = (struct pickle_global){ .role = k->limits->shards ? GLOBAL_DATA : GLOBAL_UNKNOWN };
    if (k->limits->shards && !is_allowed(k->limits, module, module_len, name, name_len))
        return pickle_refuse(err, k->at, module, module_len, name, name_len);
    return dangerous_verdict(&why, module, module_len, name, name_len) != VERDICT_DANGEROUS
        || pickle_refuse(err, k->at, module, module_len, name, name_len);
}
