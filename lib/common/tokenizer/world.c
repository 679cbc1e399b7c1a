/* "rwkv": the vocabulary of RWKV, which a trie matches greedily. A line is an id, the bytes of a token as a literal of Python, text or
 * bytes, and their number. GGUF has the bytes as repr() of Python writes them, without quotes. Source: _set_vocab_rwkv_world() of
 * convert_hf_to_gguf.py. */
#include "tokenizer/vocabulary_priv.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"

static const char ggml[] = "tokenizer.ggml";

static bool
world_bad(const struct vocab *v, uint64_t line, const char *what, struct err *err)
{
    return err_set(err, ERR_MALFORMED, "%s: line %" PRIu64 ": %s", v->folder->file[HF_WORLD].name, line, what);
}

/* Reads `digits` hexadecimal digits. */
static bool
world_hex(uint32_t *code, const char *p, const char *end, int digits)
{
    *code = 0;
    if (end - p < digits)
        return false;
    for (int i = 0; i < digits; i++) {
        static const char all[] = "0123456789abcdef";
        const char *at = memchr(all, p[i] | 32, sizeof all - 1);
        if (!at)
            return false;
        *code = *code << 4 | (uint32_t)(at - all);
    }
    return true;
}

/* Appends a character as UTF-8. */
static void
world_character(struct str *out, uint32_t code)
{
    static const uint32_t ends[] = { 0x80, 0x800, 0x10000 };
    char utf8[4];
    size_t n = 1;
    while (n < 4 && code >= ends[n - 1])
        n++;
    for (size_t i = n; i-- > 1; code >>= 6)
        utf8[i] = (char)(0x80 | (code & 63));
    static const uint8_t first[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    utf8[0] = (char)(first[n] | code);
    str_add(out, utf8, n);
}

/* Appends what an escape means; *p is after the backslash. */
static bool
world_escape(struct str *out, const char **p, const char *end, bool bytes)
{
    static const char plain[] = "\\'\"ntr", means[] = "\\'\"\n\t\r";
    const char *at = memchr(plain, **p, sizeof plain - 1);
    int digits = 0;
    uint32_t code;
    if (**p == 'x')
        digits = 2;
    else if (!bytes && **p == 'u')
        digits = 4;
    else if (!bytes && **p == 'U')
        digits = 8;
    if (at) {
        str_add(out, means + (at - plain), 1);
        ++*p;
        return true;
    }
    if (digits == 0 || !world_hex(&code, *p + 1, end, digits) || code > 0x10FFFF)
        return false;
    *p += 1 + digits;
    if (bytes)
        str_add(out, (const char[]){ (char)code }, 1);
    else
        world_character(out, code);
    return true;
}

/* Decodes a literal that fills [p, end). */
static bool
world_literal(struct str *out, const char *p, const char *end)
{
    bool bytes = p < end && *p == 'b';
    p += bytes;
    if (end - p < 2 || (*p != '\'' && *p != '"') || end[-1] != *p)
        return false;
    char quote = *p++;
    end--;
    while (p < end) {
        if (*p == quote || (*p == '\\' && p + 1 == end))
            return false;
        if (*p != '\\')
            str_add(out, p++, 1);
        else if (p++, !world_escape(out, &p, end, bytes))
            return false;
    }
    return true;
}

/* Appends bytes as repr() writes them. */
static void
world_repr(struct str *out, const char *p, size_t n)
{
    bool doubled = memchr(p, '\'', n) && !memchr(p, '"', n);
    for (size_t i = 0; i < n; i++) {
        uint8_t c = (uint8_t)p[i];
        if (c == '\\' || (c == '\'' && !doubled))
            str_format(out, "\\%c", c);
        else if (c == '\n')
            str_text(out, "\\n");
        else if (c == '\r')
            str_text(out, "\\r");
        else if (c == '\t')
            str_text(out, "\\t");
        else if (c < 0x20 || c > 0x7E)
            str_format(out, "\\x%02x", c);
        else
            str_add(out, p + i, 1);
    }
}

/* Reads one line, [p, end), as token v->n. `bytes` and `text` are scratch memory. */
static bool
world_line(struct vocab *v, const char *p, const char *end, uint64_t line, struct str *bytes, struct str *text, struct err *err)
{
    const char *first = NULL, *last = end;
    if (p < end)
        first = memchr(p, ' ', (size_t)(end - p));
    while (last > p && *last != ' ')
        last--;
    if (!first || last <= first)
        return world_bad(v, line, "expected an id, a token and its length", err);
    uint64_t length = 0;
    for (const char *digit = last + 1; digit < end; digit++)
        if (*digit < '0' || *digit > '9' || !num_mul(&length, length, 10) || !num_add(&length, length, (uint64_t)(*digit - '0')))
            return world_bad(v, line, "the length is not a number", err);
    bytes->len = text->len = 0;
    if (!world_literal(bytes, first + 1, last) || bytes->len != length || length == 0)
        return world_bad(v, line, "the token is not a literal of Python of this length", err);
    world_repr(text, bytes->p, bytes->len);
    if (bytes->failed || text->failed)
        return err_memory(err, bytes->len);
    char *copy = hf_chars_room(&v->chars, text->len, err);
    if (!copy)
        return false;
    memcpy(copy, text->p, text->len);
    v->token[v->n - 1] = (struct vocab_token){ .p = copy, .n = (uint32_t)text->len, .type = TOKEN_NORMAL };
    return true;
}

static bool
world_read(struct vocab *v, struct err *err)
{
    const struct hf_text *file = &v->folder->file[HF_WORLD];
    struct str bytes = { 0 }, text = { 0 };
    const char *p = file->p, *end = file->p + file->n;
    bool ok = tokens_resize(v, 1, err);
    if (ok)
        v->token[0] = (struct vocab_token){ .p = "<s>", .n = 3, .type = TOKEN_CONTROL };
    for (uint64_t line = 1; ok && p < end; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop)
            stop = end;
        bool returns = stop > p && stop[-1] == '\r';
        ok = tokens_resize(v, v->n + 1, err) && world_line(v, p, stop - returns, line, &bytes, &text, err);
        p = stop + 1;
    }
    str_clear(&bytes);
    str_clear(&text);
    uint64_t size = v->options->size;
    if (ok && size != 0 && v->n > size)
        return err_set(err, ERR_MALFORMED, "%s has %zu tokens, but config.json declares vocab_size %" PRIu64, file->name, v->n - 1, size);
    return ok && tokens_resize(v, num_max(v->n, size), err);
}

bool
world_put(struct keys *keys, struct vocab *v, struct err *err)
{
    enum { TURN = 261 };        /* two line feeds, which end a turn */
    static const char template[] = "rwkv-world";        /* llama.cpp knows it by name */
    return world_read(v, err)
        && tokens_put(keys, v, "rwkv", NULL, false, err)
        && special_put(keys, v, 0, err)
        && keys_put_u32(keys, ggml, "eot_token_id", TURN, err)
        && keys_put_u32(keys, ggml, "bos_token_id", 0, err)
        && keys_put_u32(keys, ggml, "eos_token_id", 0, err)
        && (keys_find(keys, "tokenizer.chat_template")
            || keys_put_text(keys, "tokenizer", "chat_template", template, sizeof template - 1, err));
}
