#include "cli/remarks.h"

void
cli_remarks(const struct cli *cli, const char *file, const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog_remark_count(catalog); i++) {
        const struct catalog_remark *r = catalog_remark_at(catalog, i);
        (r->warning ? cli_warn : cli_note)(cli, file, "%s", r->text);
    }
}
