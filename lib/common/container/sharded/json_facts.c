#include "container/sharded/json_facts.h"

#include "base/pull.h"

/* Moves to the value of a key. */
static bool
find_value(struct pull *json, const char *text, size_t n, const char *key)
{
    pull_init(json, text, n, 0);
    if (pull_next(json) != PULL_OBJECT)
        return false;
    while (pull_next(json) == PULL_KEY) {
        if (pull_text_is(&json->token, key))
            return true;
        if (!pull_skip(json))
            return false;
    }
    return false;
}

bool
json_facts_number(uint64_t *value, const char *text, size_t n, const char *key)
{
    struct pull json;
    return find_value(&json, text, n, key) && pull_next(&json) == PULL_NUMBER && pull_as_u64(&json, value);
}

bool
json_facts_is(const char *text, size_t n, const char *key, const char *value)
{
    struct pull json;
    return find_value(&json, text, n, key) && pull_next(&json) == PULL_STRING && pull_text_is(&json.token, value);
}
