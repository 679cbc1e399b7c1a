/* The cache of the Hugging Face Hub.
 *
 *      ROOT/models--ORG--NAME/refs/REV                 the commit, 40 hexadecimal digits
 *      ROOT/models--ORG--NAME/snapshots/COMMIT/FILE    a symbolic link to ../../blobs/...
 *
 * REV may be a commit itself. What .no_exist/ lists is not there.
 */
#include <string.h>
#include <sys/stat.h>

#include "container/side_file.h"
#include "container/store_priv.h"

enum { PART_MAX = 96, REF_MAX = 1 << 10, COMMIT = 40 };

/* ORG/NAME/FILE@REV in its parts, borrowed from the spec; ORG and FILE are empty when they were left out. */
struct name {
    const char *org, *repo, *file, *rev;
    size_t org_len, repo_len, file_len;
    bool has_file;
};

/* --- the name -------------------------------------------------------------------------------------------- */

static bool
unfit(const char *p, size_t n, const char *what, struct err *err)
{
    char shown[STR_SHOWN];
    return err_set(err, ERR_USAGE, ERR_NO_OFFSET, "'%s' cannot be the %s of hf:ORG/NAME[/FILE][@REV]",
        str_shown(shown, p, n), what);
}

/* ORG or NAME. */
static bool
check_part(const char *p, size_t n, const char *what, struct err *err)
{
    bool fits = store_is_part(p, n, PART_MAX) && !strchr("-.", p[0]) && !strchr("-.", p[n - 1]);
    for (size_t i = 1; fits && i < n; i++)
        fits = p[i] != '-' || p[i - 1] != '-';
    return fits || unfit(p, n, what, err);
}

/* FILE or REV, which may have folders: no component is empty, `.` or `..`. */
static bool
check_path(const char *p, size_t n, const char *what, struct err *err)
{
    for (size_t i = 0, begin = 0; i <= n; i++) {
        if (i < n && p[i] != '/') {
            if ((unsigned char)p[i] < 0x20 || p[i] == 0x7F || p[i] == '\\' || p[i] == ':')
                return unfit(p, n, what, err);
            continue;
        }
        size_t len = i - begin;
        if (len == 0 || (len <= 2 && memcmp(p + begin, "..", len) == 0))
            return unfit(p, n, what, err);
        begin = i + 1;
    }
    return true;
}

/* A name has no @, a revision hardly ever: the last @ begins it. */
static bool
name_parse(struct name *name, const char *spec, struct err *err)
{
    const char *at = strrchr(spec, '@'), *end = at ? at : spec + strlen(spec);
    const char *slash = memchr(spec, '/', (size_t)(end - spec));
    *name = (struct name){ .org = spec, .repo = slash ? slash + 1 : spec, .file = end, .rev = at ? at + 1 : "main" };
    name->org_len = slash ? (size_t)(slash - spec) : 0;
    const char *second = memchr(name->repo, '/', (size_t)(end - name->repo));
    name->repo_len = (size_t)((slash && second ? second : end) - name->repo);
    if (slash && second) {
        name->file = second + 1;
        name->file_len = (size_t)(end - name->file);
        name->has_file = true;
    }
    return (!slash || check_part(name->org, name->org_len, "ORG", err))
        && check_part(name->repo, name->repo_len, "NAME", err)
        && (!name->has_file || check_path(name->file, name->file_len, "FILE", err))
        && check_path(name->rev, strlen(name->rev), "REV", err);
}

/* How to get it. */
static bool
name_command(struct str *get, const struct name *name, struct err *err)
{
    str_format(get, "hf download %.*s%s%.*s", (int)name->org_len, name->org, name->org_len ? "/" : "",
        (int)name->repo_len, name->repo);
    if (name->has_file)
        str_format(get, " %.*s", (int)name->file_len, name->file);
    if (strcmp(name->rev, "main") != 0)
        str_format(get, " --revision %s", name->rev);
    return store_built(get, err);
}

/* --- its files ------------------------------------------------------------------------------------------- */

/* The commit that a file of refs/ holds, white space around it aside. */
static bool
read_ref(char commit[COMMIT + 1], const char *path, struct inputs *inputs, struct budget *budget, struct err *err)
{
    static const char space[] = " \t\n\v\f\r";
    struct source *src = NULL;
    const char *text;
    size_t n;
    bool ok = side_file_open(&src, path, REF_MAX, budget, "bytes of the ref", &text, &n, inputs, err);
    if (ok) {
        for (; n != 0 && memchr(space, text[n - 1], sizeof space - 1); n--)
            ;
        for (; n != 0 && memchr(space, *text, sizeof space - 1); n--)
            text++;
        if (n != COMMIT || !store_hex(commit, text, COMMIT)) {
            err_set(err, ERR_MALFORMED, 0, "the ref is not a commit of %d hexadecimal digits", COMMIT);
            ok = err_in_file(err, source_name(src));
        }
    }
    source_close(src);
    return ok;
}

/* The commit of REV in a repository: what its ref says, else REV itself. */
static bool
find_commit(char commit[COMMIT + 1], const char *repo, const char *rev, const char *get, struct inputs *inputs,
    struct budget *budget, struct err *err)
{
    struct str path = { 0 };
    struct stat st;
    char shown[STR_SHOWN];
    str_format(&path, "%s/refs/%s", repo, rev);
    bool ok = store_built(&path, err);
    bool is_ref = ok && stat(path.p, &st) == 0 && S_ISREG(st.st_mode);
    if (is_ref && st.st_size > REF_MAX) {
        err_set(err, ERR_MALFORMED, REF_MAX, "the ref is longer than %d bytes", REF_MAX);
        ok = err_in_file(err, str_shown(shown, path.p, path.len));
    } else if (is_ref) {
        ok = read_ref(commit, path.p, inputs, budget, err);
    } else if (ok && (strlen(rev) != COMMIT || !store_hex(commit, rev, COMMIT))) {
        ok = store_has(&path, get, err) || err_set(err, ERR_OPEN, ERR_NO_OFFSET, "%s: it is not a regular file",
            str_shown(shown, path.p, path.len));
    }
    str_clear(&path);
    return ok;
}

bool
store_hf(struct str *path, const char *spec, struct inputs *inputs, struct catalog *catalog,
    const struct limits *limits, struct err *err)
{
    static const struct store_place places[] = {
        { "HF_HUB_CACHE", "" }, { "HUGGINGFACE_HUB_CACHE", "" }, { "HF_HOME", "/hub" },
        { "XDG_CACHE_HOME", "/huggingface/hub" }, { "HOME", "/.cache/huggingface/hub" },
    };
    struct name name;
    struct str get = { 0 };
    char commit[COMMIT + 1];
    (void)limits;               /* those of the catalog's budget */
    bool ok = name_parse(&name, spec, err) && name_command(&get, &name, err)
        && store_root(path, places, sizeof places / sizeof *places, err);
    if (ok) {
        str_format(path, "/models--%.*s%s%.*s", (int)name.org_len, name.org, name.org_len ? "--" : "",
            (int)name.repo_len, name.repo);
        ok = store_has(path, get.p, err) && find_commit(commit, path->p, name.rev, get.p, inputs,
            catalog_budget(catalog), err);
    }
    if (ok) {
        str_format(path, "/snapshots/%s%s%.*s", commit, name.has_file ? "/" : "", (int)name.file_len, name.file);
        ok = store_has(path, get.p, err);
    }
    str_clear(&get);
    return ok;
}
