/* The vocabularies that are files of lines: of RWKV ("rwkv") and of PLaMo ("plamo2"). */
#include "tokenizer/back_priv.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/sentencepiece.h"

/* Returns the number of tokens up to the last that is in use. */
static size_t
back_lines_used(const struct back_tokens *tokens)
{
    size_t n = tokens->n;
    while (n != 0 && tokens->list[n - 1].type == TOKEN_UNUSED)
        n--;
    return n;
}

/* Returns the number of bytes that a text with escapes means; sets *single if it contains a plain single quote. */
static size_t
unescaped_length(const struct back_token *t, bool *single)
{
    size_t length = 0;
    *single = false;
    for (size_t i = 0; i < t->n; i++, length++) {
        *single = *single || t->p[i] == '\'';
        if (t->p[i] == '\\')
            i += i + 1 < t->n && t->p[i + 1] == 'x' ? 3 : 1;
    }
    return length;
}

bool
back_world(struct str *out, const struct back_tokens *tokens, struct err *err)
{
    size_t n = back_lines_used(tokens);
    for (size_t i = 1; i < n; i++) {
        const struct back_token *t = &tokens->list[i];
        bool single;
        size_t length = unescaped_length(t, &single);
        char quote = '\'';
        if (memchr(t->p, '\n', t->n) || t->n == 0)
            return err_set(err, ERR_MALFORMED, "token %zu is not the text of a token of RWKV", i);
        if (single && !memchr(t->p, '"', t->n))
            quote = '"';
        str_format(out, "%zu b%c", i, quote);
        str_add(out, t->p, t->n);
        str_format(out, "%c %zu\n", quote, length);
    }
    return true;
}

bool
back_plamo(struct str *out, const struct back_tokens *tokens, struct err *err)
{
    size_t n = back_lines_used(tokens);
    if (!tokens->has_scores)
        return err_set(err, ERR_UNSUPPORTED, "key tokenizer.ggml.scores is missing, which the tokenizer plamo2 requires; "
            "--no-tokenizer writes the model without it");
    for (size_t i = 0; i < n; i++) {
        const struct back_token *t = &tokens->list[i];
        static const char *const words[] = { [TOKEN_UNKNOWN] = "UNKNOWN", [TOKEN_CONTROL] = "CONTROL", [TOKEN_BYTE] = "BYTE" };
        const char *word = NULL;
        if (t->type < sizeof words / sizeof *words)
            word = words[t->type];
        json_t *line = json_pack("[s%, f, s]", t->p, (size_t)t->n, (double)t->score, word ? word : "NORMAL");
        char *text = line ? json_dumps(line, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        json_decref(line);
        if (!text)
            return err_memory(err, t->n);
        str_text(out, text);
        str_add(out, "\n", 1);
        free(text);
    }
    return true;
}
