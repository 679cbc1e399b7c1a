/* Names of unquantized modules for loaders: which are written literally, and which as expressions. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hf/quantizer.h"

static void
fill(struct names *list, const char *const *from, struct err *err)
{
    for (; *from; from++)
        CHECK(names_add(list, *from, strlen(*from), err));
    names_sort(list);
}

/* Modules of one group. */
static struct hf_modules
made(const char *const *encoded, const char *const *kept, bool head, struct err *err)
{
    struct hf_modules r = { .group = calloc(1, sizeof *r.group), .n = 1, .head = head };
    fill(&r.group->names, encoded, err);
    fill(&r.kept, kept, err);
    return r;
}

static void
check_text(struct str *got, const char *want)
{
    if (!CHECK_ROW(!got->failed && got->p && strcmp(got->p, want) == 0, want))
        printf("    %s\n", got->p ? got->p : "nothing");
    str_clear(got);
}

/* A name that transformers would also match to other modules, by suffix or as a parent, is written as an expression. */
static void
test_not_converted(struct err *err)
{
    static const char *const encoded[] = { "l.0.q_proj", "l.0.gate.up", "x.lm_head", NULL },
        *const kept[] = { "l.0.gate", "l.1.router", "proj", "a+b", "lm_head", NULL }, *const none[] = { NULL };
    struct str text = { 0 };
    struct hf_modules r = made(encoded, kept, true, err);
    hf_modules_not_converted(&text, &r, false);
    check_text(&text, "[\"a\\\\+b$\", \"l\\\\.0\\\\.gate$\", \"l.1.router\", \"lm_head$\", \"proj$\"]");
    hf_modules_ignored(&text, &r);
    check_text(&text, "[\"a+b\", \"l.0.gate\", \"l.1.router\", \"lm_head\", \"proj\"]");
    hf_modules_clear(&r);
    r = made(encoded, none, false, err);
    hf_modules_not_converted(&text, &r, true);
    check_text(&text, "null");
    fill(&r.experts, (const char *const[]){ "l.0.experts", NULL }, err);
    hf_modules_not_converted(&text, &r, false);
    check_text(&text, "null");
    hf_modules_not_converted(&text, &r, true);
    check_text(&text, "[\"l.0.experts\", \"lm_head$\", \"embed_out\", \"proj_out\", \"cls.predictions.decoder\"]");
    hf_modules_clear(&r);
}

/* Modules that differ only in numbers share an expression, unless it would match other modules too. */
static void
test_members(struct err *err)
{
    static const char *const encoded[] = { "l.0.up", "l.1.up", "l.1.q", NULL },
        *const kept[] = { "l.0.gate", "l.1.gate", "l.0.q", "a#.1", "7", NULL };
    struct str text = { 0 };
    struct hf_modules r = made(encoded, kept, true, err);
    bool first = true;
    hf_modules_members(&text, &first, &r, &r.kept, "-:", "{}");
    check_text(&text, "\"-:a\\\\#\\\\.1$\": {}, \"-:l\\\\.0\\\\.q$\": {}, \"-:\\\\d+$\": {}, \"-:l\\\\.\\\\d+\\\\.gate$\": {}");
    hf_modules_ends(&text, &r);
    check_text(&text, "[[\"l.0.up\", \"l.1.q\", \"l.1.up\"]]");
    hf_modules_clear(&r);
    r = made(encoded, (const char *const[]){ "l.0.gate", "head", NULL }, true, err);
    hf_modules_ends(&text, &r);
    check_text(&text, "[[\"q\", \"up\"]]");
    hf_modules_clear(&r);
}

/* Every encoder of parts has a row, even if no loader has a config for it; no block type has one. */
static void
test_quantizers(void)
{
    unsigned rows = 0;
    for (size_t i = 0; encode_at(i); i++) {
        const struct hf_quantizer *q = hf_quantizer_of(encode_at(i));
        CHECK_ROW((q != NULL) == (encode_at(i)->type == DTYPE_UNKNOWN), encode_at(i)->name);
        CHECK_ROW(!q || !q->loader || q->loader->config, encode_at(i)->name);
        rows += q != NULL;
    }
    CHECK(rows >= 40);
}

int
main(void)
{
    struct err err;
    err_init(&err);
    test_not_converted(&err);
    test_members(&err);
    test_quantizers();
    return check_done("test_hf_modules");
}
