#include "hf/name.h"

#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "hf/member.h"

/* --- front matter of README.md: YAML between two lines "---" */

struct name_line {
    const char *p;
    size_t n;
};

static bool
next_line(struct name_line *line, const char **at, const char *end)
{
    if (*at == end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    line->p = *at;
    line->n = (size_t)((stop ? stop : end) - *at);
    if (stop)
        *at = stop + 1;
    else
        *at = end;
    if (line->n != 0 && line->p[line->n - 1] == '\r')
        line->n--;
    return true;
}

static bool
line_is(const struct name_line *line, const char *text)
{
    return line->n == strlen(text) && memcmp(line->p, text, line->n) == 0;
}

static void
trim(struct name_line *s)
{
    while (s->n != 0 && (*s->p == ' ' || *s->p == '\t')) {
        s->p++;
        s->n--;
    }
    while (s->n != 0 && (s->p[s->n - 1] == ' ' || s->p[s->n - 1] == '\t'))
        s->n--;
}

/* Returns true for a plain scalar that YAML reads as a string, not as a number, date, boolean, null, list or object. */
static bool
is_plain_string(const struct name_line *s)
{
    static const char *const words[] = { "null", "true", "false", "yes", "no", "on", "off" };
    bool number = strchr("0123456789.+-", *s->p) != NULL;
    if (strchr("[]{}&*!|>%@`,?:#~", *s->p) || (*s->p == '-' && (s->n == 1 || s->p[1] == ' ')))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (s->n == strlen(words[i]) && strncasecmp(s->p, words[i], s->n) == 0)
            return false;
    for (size_t i = 0; i < s->n; i++) {
        number = number && strchr("0123456789.+-_:abcdefABCDEFxXoOTZ ", s->p[i]);
        if (s->p[i] == ':' && (i + 1 == s->n || s->p[i + 1] == ' '))
            return false;
    }
    return !number;
}

/* Reads a scalar on a single line: plain, or quoted without escapes. Returns false for any other form. */
static bool
read_scalar(struct name_line *s)
{
    trim(s);
    if (s->n == 0)
        return false;
    if (*s->p == '"' || *s->p == '\'') {
        const char *close = memchr(s->p + 1, *s->p, s->n - 1);
        size_t n = 0;
        if (close)
            n = (size_t)(close - s->p - 1);
        struct name_line rest = { close ? close + 1 : s->p, close ? s->n - n - 2 : 0 };
        trim(&rest);
        if (!close || (rest.n != 0 && *rest.p != '#') || memchr(s->p + 1, '\\', n))
            return false;
        *s = (struct name_line){ s->p + 1, n };
        return true;
    }
    for (size_t i = 1; i < s->n; i++)
        if (s->p[i] == '#' && (s->p[i - 1] == ' ' || s->p[i - 1] == '\t'))
            s->n = i;
    trim(s);
    return is_plain_string(s);
}

/* Returns the value of a top-level key. The last one counts. */
static struct name_line
member(const struct hf_text *card, const char *key)
{
    struct name_line line, found = { NULL, 0 };
    const char *at = card->p, *end = card->p ? card->p + card->n : NULL;
    size_t n = strlen(key);
    if (!card->p || !next_line(&line, &at, end) || !line_is(&line, "---"))
        return found;
    while (next_line(&line, &at, end) && !line_is(&line, "---")) {
        bool is = line.n > n && memcmp(line.p, key, n) == 0 && line.p[n] == ':'
            && (line.n == n + 1 || line.p[n + 1] == ' ' || line.p[n + 1] == '\t');
        if (!is)
            continue;
        found = (struct name_line){ line.p + n + 1, line.n - n - 1 };
        bool goes_on = at < end && *at == ' ';      /* a multi-line scalar or an object */
        if (goes_on || !read_scalar(&found))
            found.p = NULL;
    }
    return found;
}

/* --- a title */

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* Returns true for a version such as v1.2, or a word that starts with a digit. */
static bool
is_number(const char *p, size_t n)
{
    if (is_digit(*p))
        return true;
    if (*p != 'v' || n == 1)
        return false;
    for (size_t i = 1; i < n; i++)
        if (!is_digit(p[i]) && (p[i] != '.' || i == 1 || i + 1 == n || p[i - 1] == '.'))
            return false;
    return true;
}

/* Appends a word, capitalized if it is in lower case and not a version. */
static void
add_word(struct str *s, const char *p, size_t n)
{
    bool some = false, other = false;
    for (size_t i = 0; i < n; i++) {
        some = some || is_lower(p[i]);
        other = other || (p[i] >= 'A' && p[i] <= 'Z') || (unsigned char)p[i] >= 0x80;
    }
    bool capital = some && !other && !is_number(p, n);
    if (s->len != 0)
        str_add(s, " ", 1);
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 || !is_lower(p[i - 1]);
        char c = capital && first && is_lower(p[i]) ? (char)(p[i] - 32) : p[i];
        str_add(s, &c, 1);
    }
}

/* Appends a title: "Some Model v2" for "org/some-model-v2". Appends nothing for a path. */
static void
add_title(struct str *s, const struct hf_string *id)
{
    const char *slash = memchr(id->p, '/', id->n), *end = id->p + id->n;
    if (slash && memchr(slash + 1, '/', (size_t)(end - slash - 1)))
        return;
    const char *p = slash && !memchr(id->p, ' ', id->n) ? slash + 1 : id->p;
    while (p < end) {
        size_t n = 0;
        while (p + n < end && !strchr("- \t\n\r\v\f", p[n]))
            n++;
        if (n != 0)
            add_word(s, p, n);
        p += n + (p + n < end);
    }
}

/* --- names that llama.cpp treats specially */

static bool
has_token(const struct meta_value *tokens, const char *text)
{
    size_t n, size = strlen(text);
    const uint8_t *p = meta_bytes(tokens, &n);
    for (size_t at = 0; p && at + 8 <= n;) {
        uint64_t len = load_le64(p + at);
        if (len == size && memcmp(p + at + 8, text, size) == 0)
            return true;
        at += 8 + len;
    }
    return false;
}

/* Returns true if the vocabulary has the tokens that llama.cpp requires if the name contains phi-3. */
static bool
has_phi3_tokens(const struct keys *keys)
{
    static const char *const texts[] = { "</s>", "<unk>", "<s>", "<|endoftext|>" };
    const struct meta_value *tokens = keys_find(keys, "tokenizer.ggml.tokens");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!tokens || !has_token(tokens, texts[i]))
            return false;
    return true;
}

static bool
is_spm(const struct keys *keys)
{
    size_t n;
    const struct meta_value *model = keys_find(keys, "tokenizer.ggml.model");
    const char *p = NULL;
    if (model)
        p = meta_bytes(model, &n);
    return p && n == 5 && memcmp(p, "llama", 5) == 0;
}

/* Replaces "phi3", "phi-3" and "phi 3" by "phi", `mark` and "3". Returns false if the name contains none of them. */
static bool
mark_phi3(struct str *name, char mark)
{
    struct str out = { 0 };
    bool any = false;
    for (size_t i = 0; i < name->len;) {
        const char *p = name->p + i;
        size_t left = name->len - i;
        size_t gap = left > 3 && (p[3] == '-' || p[3] == ' ');
        bool is = left > 3 + gap && strncasecmp(p, "phi", 3) == 0 && p[3 + gap] == '3';
        str_add(&out, p, is ? 3 : 1);
        if (is)
            str_add(&out, &mark, 1);
        i += is ? 3 + gap : 1;
        any = any || is;
    }
    str_clear(name);
    *name = out;
    return any;
}

static bool
adapt_to_llama(struct str *name, const struct keys *keys, bool phi3)
{
    if (!has_phi3_tokens(keys))
        mark_phi3(name, ' ');
    else if (phi3 && is_spm(keys) && !mark_phi3(name, '-')) {
        bool none = name->len == 0;
        str_text(name, none ? "Phi-3" : " (Phi-3)");
    }
    return !name->failed;
}

bool
hf_name_put(struct keys *keys, const struct hf_folder *folder, bool phi3, struct err *err)
{
    static const char *const member_of[] = { "_name_or_path" };
    const struct hf_text *card = &folder->file[HF_README];
    struct hf_chars chars = { 0 };
    struct hf_value config, value;
    struct hf_string id = { 0 };
    struct str name = { 0 };
    struct name_line line = member(card, "name");
    if (!line.p)
        line = member(card, "model_name");
    bool ok = hf_value_file(&config, &folder->file[HF_CONFIG], err) && hf_value_members(&value, member_of, 1, &config, err)
        && (hf_value_kind(&value) != PULL_STRING || hf_value_string(&id, &chars, &value, err));
    if (ok && line.p && str_is_utf8(line.p, line.n))
        str_add(&name, line.p, line.n);
    else if (ok && id.p)
        add_title(&name, &id);
    ok = ok && (adapt_to_llama(&name, keys, phi3) || err_memory(err, name.len));
    ok = ok && (name.len == 0 || keys_put_text(keys, NULL, "general.name", name.p, name.len, err));
    str_clear(&name);
    hf_chars_clear(&chars);
    return ok;
}
