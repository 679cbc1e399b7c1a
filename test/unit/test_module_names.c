/* module_names: the lines of families/names, and names in both directions. */
#include <string.h>

#include "adapter/module_names.h"
#include "check.h"

/* Checks every line of a file. Returns the number of `name` lines. */
static size_t
count_lines(const struct module_names_file *file)
{
    struct module_names_line line;
    const char *at = file->text;
    size_t n = 0;
    bool ok;
    while (module_names_next(&line, &at, &ok))
        n += line.statement == LINE_NAME;
    CHECK_ROW(ok && *at == '\0', file->name);
    return n;
}

static bool
becomes(const char *to, const char *from, const char *name, const char *wanted)
{
    struct str other = { 0 };
    bool found = module_names_translate(&other, to, strlen(to), from, strlen(from), name, strlen(name));
    bool ok = wanted ? found && strcmp(other.p, wanted) == 0 : !found;
    str_clear(&other);
    return ok;
}

int
main(void)
{
    static const char down[] = "down.{b}.resnets.{j}.conv", input[] = "input.{1+3b+j}.0", op[] = "input.{3+3b}.op", any[] = "x.{n}.*";
    for (size_t i = 0; i < module_names_files_n; i++)
        CHECK_ROW(count_lines(&module_names_files[i]) > 5, module_names_files[i].name);
    CHECK(module_names_files_n >= 3);
    CHECK(becomes(input, down, "down.2.resnets.1.conv", "input.8.0"));
    CHECK(becomes(down, input, "input.8.0", "down.2.resnets.1.conv"));
    CHECK(becomes(down, input, "input.1.0", "down.0.resnets.0.conv"));
    CHECK(becomes(down, input, "input.0.0", NULL));
    CHECK(becomes(down, input, "input.08.0", NULL));
    CHECK(becomes(down, input, "input..0", NULL));
    CHECK(becomes(down, input, "input.99999999999999999999.0", NULL));
    CHECK(becomes(input, down, "down.2.resnets.3.conv", NULL));
    CHECK(becomes("b.{b}", op, "input.6.op", "b.1"));
    CHECK(becomes("b.{b}", op, "input.5.op", NULL));
    CHECK(becomes("y.*", any, "x.12.a.b", "y.a.b"));
    CHECK(becomes("y.*", any, "x.12.", NULL));
    CHECK(becomes("y.*", any, "x.12", NULL));
    CHECK(becomes("y", "x", "xx", NULL));
    for (const char *const *wrong = (const char *const[]){ "nmae a b\n", "name a\n", "name a b part\n", "name a b part 12\n", "name a b c\n",
            "name a b swapped 1\n", "detect\n", "detect a b\n", NULL }; *wrong; wrong++) {
        struct module_names_line line;
        const char *at = *wrong;
        bool ok;
        CHECK_ROW(!module_names_next(&line, &at, &ok) && !ok, *wrong);
    }
    return check_done("module_names");
}
