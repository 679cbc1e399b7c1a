#include "digest.h"

#include <stdio.h>
#include <string.h>

#include "model/manifest.h"
#include "report/parse.h"

struct digesting {
    struct cli *cli;
    const struct hash *hash;
};

/* A line like those of sha256sum --tag, with AMN-VALUES or another head as the algorithm, so that nobody takes it for the digest of
 * the file. A name with a backslash or a line feed is escaped, and the line then begins with a backslash. */
static void
digest_add_line(struct str *out, const char *head, const uint8_t digest[SHA256_BYTES], const char *name)
{
    char hex[SHA256_HEX];
    bool escape = strpbrk(name, "\\\n\r") != NULL;
    str_format(out, "%s%s", escape ? "\\" : "", head);
    for (; *name; name++)
        switch (*name) {
        case '\\':
            str_text(out, "\\\\");
            break;
        case '\n':
            str_text(out, "\\n");
            break;
        case '\r':
            str_text(out, "\\r");
            break;
        default:
            str_add(out, name, 1);
        }
    str_format(out, ") = %s\n", sha256_hex(hex, digest));
}

static bool
print_digest(void *own, const struct operand *operand, struct err *err)
{
    const struct digesting *d = own;
    struct digests digests = { 0 };
    bool stored = d->hash->stored;
    const char *name = "-";
    if (operand->name)
        name = operand->name;
    cli_remarks(d->cli, operand->model->name, operand->model->catalog, 0);
    bool ok = hash_operand(&digests, operand, stored ? DIGESTS_STORED : DIGESTS_VALUES, d->hash->to, d->hash->jobs, err);
    if (ok && d->cli->form == CLI_JSON)
        parse_add_model(operand->page, &digests, name);
    else if (ok)
        digest_add_line(&operand->page->text, manifest_model_head(stored, d->hash->to),
            stored ? digests.model.stored : digests.model.values, name);
    digests_clear(&digests);
    return ok;
}

enum cli_status
digest_operands(struct cli *cli, const struct hash *hash)
{
    struct digesting d = { cli, hash };
    return operands_weights(cli, print_digest, &d);
}
