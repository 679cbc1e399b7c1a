/* The cache of the Hugging Face Hub.
 *
 *      ROOT/models--ORG--NAME/refs/REV                 the commit, 40 hexadecimal digits
 *      ROOT/models--ORG--NAME/snapshots/COMMIT/FILE    a symbolic link to ../../blobs/...
 *
 * REV may be a commit itself. .no_exist/ lists files that the repository does not have. An unfinished download is
 * blobs/...incomplete.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "model/configs.h"
#include "model/candidates.h"
#include "base/folder.h"
#include "source/small_file.h"
#include "model/store_priv.h"

enum { PART_MAX = 96, REF_MAX = 1 << 10, COMMIT = 40 };

const struct store_place store_hf_places[STORE_PLACES] = {
    { "HF_HUB_CACHE", "" }, { "HUGGINGFACE_HUB_CACHE", "" }, { "HF_HOME", "/hub" }, { "XDG_CACHE_HOME", "/huggingface/hub" },
    { "HOME", "/.cache/huggingface/hub" },
};

/* ORG/NAME/FILE@REV split into parts, borrowed from the spec. ORG and FILE are empty if omitted. */
struct hub_name {
    const char *org, *repo, *file, *rev;
    size_t org_len, repo_len, file_len;
    bool has_file;
};

/* --- the name ------------------------------------------------------------------------------------------ */

static bool
unfit(const char *p, size_t n, const char *what, struct err *err)
{
    char shown[STR_SHOWN];
    return err_set(err, ERR_USAGE, "invalid %s '%s', expected hf:ORG/NAME[/FILE][@REV]",
        what, str_shown(shown, p, n));
}

/* Checks ORG or NAME. */
static bool
check_part(const char *p, size_t n, const char *what, struct err *err)
{
    bool fits = store_is_part(p, n, PART_MAX) && !strchr("-.", p[0]) && !strchr("-.", p[n - 1]);
    for (size_t i = 1; fits && i < n; i++)
        fits = p[i] != '-' || p[i - 1] != '-';
    return fits || unfit(p, n, what, err);
}

/* Checks FILE or REV, which may contain folders: no component is empty, "." or "..". */
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

/* Splits a spec. The last @ begins the revision, because names cannot contain one and revisions hardly ever do. */
static bool
name_parse(struct hub_name *name, const char *spec, struct err *err)
{
    const char *at = strrchr(spec, '@'), *end = at ? at : spec + strlen(spec);
    const char *slash = memchr(spec, '/', (size_t)(end - spec));
    *name = (struct hub_name){ .org = spec, .repo = slash ? slash + 1 : spec, .file = end, .rev = at ? at + 1 : "main" };
    if (slash)
        name->org_len = (size_t)(slash - spec);
    else
        name->org_len = 0;
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

/* Appends the command that downloads the model. */
static bool
name_command(struct str *get, const struct hub_name *name, struct err *err)
{
    str_format(get, "hf download %.*s%s%.*s", (int)name->org_len, name->org, name->org_len ? "/" : "",
        (int)name->repo_len, name->repo);
    if (name->has_file)
        str_format(get, " %.*s", (int)name->file_len, name->file);
    if (strcmp(name->rev, "main") != 0)
        str_format(get, " --revision %s", name->rev);
    return store_check_text(get, err);
}

/* --- its files ----------------------------------------------------------------------------------------- */

/* Reads the commit in a file of refs/, ignoring white space around it. */
static bool
read_ref(char commit[COMMIT + 1], const char *path, struct inputs *inputs, struct budget *budget, struct err *err)
{
    static const char space[] = " \t\n\v\f\r";
    struct source *src = NULL;
    const char *text;
    size_t n;
    bool ok = small_file_open(&src, path, false, REF_MAX, budget, "bytes of the ref", &text, &n, inputs, err);
    if (ok) {
        for (; n != 0 && memchr(space, text[n - 1], sizeof space - 1); n--)
            ;
        for (; n != 0 && memchr(space, *text, sizeof space - 1); n--)
            text++;
        if (n != COMMIT || !store_hex(commit, text, COMMIT)) {
            err_at(err, ERR_MALFORMED, 0, "invalid ref: expected a commit of %d hexadecimal digits", COMMIT);
            ok = err_in_file(err, source_name(src));
        }
    }
    source_close(src);
    return ok;
}

/* Finds the commit of REV in a repository: the content of its ref, or else REV itself. */
static bool
find_commit(char commit[COMMIT + 1], const char *repo, const char *rev, const char *get, struct inputs *inputs,
    struct budget *budget, struct err *err)
{
    struct str path = { 0 };
    struct stat st;
    char shown[STR_SHOWN];
    str_format(&path, "%s/refs/%s", repo, rev);
    bool exists, ok = store_check_text(&path, err) && store_exists(&exists, stat(path.p, &st), path.p, err);
    bool is_ref = ok && exists && S_ISREG(st.st_mode);
    if (is_ref && st.st_size > REF_MAX) {
        err_at(err, ERR_MALFORMED, REF_MAX, "invalid ref: longer than %d bytes", REF_MAX);
        ok = err_in_file(err, str_shown(shown, path.p, path.len));
    } else if (is_ref) {
        ok = read_ref(commit, path.p, inputs, budget, err);
    } else if (ok && (strlen(rev) != COMMIT || !store_hex(commit, rev, COMMIT))) {
        ok = store_require(&path, get, err) && err_set(err, ERR_OPEN, "%s: not a regular file",
            str_shown(shown, path.p, path.len));
    }
    str_clear(&path);
    return ok;
}

bool
store_hf(struct str *path, const char *spec, struct inputs *inputs, struct catalog *catalog, struct err *err)
{
    struct hub_name name;
    struct str get = { 0 };
    char commit[COMMIT + 1];
    bool ok = name_parse(&name, spec, err) && name_command(&get, &name, err)
        && store_root(path, store_hf_places, err);
    if (ok) {
        str_format(path, "/models--%.*s%s%.*s", (int)name.org_len, name.org, name.org_len ? "--" : "",
            (int)name.repo_len, name.repo);
        ok = store_require(path, get.p, err) && find_commit(commit, path->p, name.rev, get.p, inputs,
            catalog_budget(catalog), err);
    }
    if (ok) {
        str_format(path, "/snapshots/%s%s%.*s", commit, name.has_file ? "/" : "", (int)name.file_len, name.file);
        ok = store_require(path, get.p, err);
    }
    str_clear(&get);
    return ok;
}

/* --- listing ------------------------------------------------------------------------------------------- */

enum { FOLDERS_DEEP = 8 };      /* levels of folders below a snapshot that are searched */

/* A revision of a repository, and a folder in its snapshot. */
struct snapshot {
    const char *repo;           /* "ORG/NAME" */
    const char *rev;
    struct str path;            /* of the folder */
    size_t top;                 /* length of the path of the snapshot itself */
    bool found;                 /* a model was found */
};

/* Adds the operand of a file in the folder, or of the folder itself if name is "". If the path contains an @, a revision is
 * appended so that the last @ begins it. */
static bool
add_operand(struct names *list, struct snapshot *s, const char *name, struct err *err)
{
    struct str operand = { 0 };
    struct err unfit;
    bool main = strcmp(s->rev, "main") == 0;
    str_format(&operand, "hf:%s%s%s%s", s->repo, s->path.p + s->top, *name ? "/" : "", name);
    if (!operand.failed && (!main || strchr(operand.p, '@')))
        str_format(&operand, "@%s", s->rev);
    err_init(&unfit);
    bool ok = store_check_text(&operand, err)
        && (!check_path(operand.p + 3, operand.len - 3, "", &unfit) || names_add(list, operand.p, operand.len, err));
    s->found = true;
    str_clear(&operand);
    return ok;
}

/* Records a failure during a listing, which then continues: keeps the first failure, and returns false only if out of
 * memory. */
static bool
store_hf_keep(struct err *err, const struct err *why)
{
    if (why->kind == ERR_MEMORY || err->kind == ERR_NONE)
        *err = *why;
    return why->kind != ERR_MEMORY;
}

/* Lists the models in the folder: the one that the directory as a whole names, and all others that can be read separately.
 * Shards without an index cannot. */
static bool
list_models(struct names *list, struct snapshot *s, struct err *err)
{
    struct candidates in = { 0 };
    struct configs_part part;
    struct err why;
    err_init(&why);
    bool whole = (candidates_list(&in, s->path.p, &(struct inputs){ 0 }, &why) && candidates_choose(&in, s->path.p, &(struct inputs){ 0 }, &why)) || why.sys != 0, ok = true;
    for (size_t i = 0; ok && i < in.names.n; i++) {
        if (!candidates_other(&in, i))
            continue;
        if (configs_part(&part, in.names.name[i], ".safetensors"))
            whole = true;
        else
            ok = add_operand(list, s, in.names.name[i], err);
    }
    ok = ok && ((why.kind != ERR_MEMORY && why.sys == 0) || store_hf_keep(err, &why)) && (!whole || add_operand(list, s, "", err));
    candidates_clear(&in);
    return ok;
}

/* Truncates the path to `top` bytes and appends `below`. */
static bool
set_path(struct str *path, size_t top, const char *below, struct err *err)
{
    path->len = top;
    str_text(path, below);
    return store_check_text(path, err);
}

/* Collects the entries of a folder that fit, each as its path after the first `top` bytes. Finds none if there is no folder. */
static bool
list_folder(struct names *names, struct str *path, size_t top, bool (*fits)(const char *path, struct err *why),
    struct err *err)
{
    size_t len = path->len;
    struct err why;
    const char *name;
    char shown[STR_SHOWN];
    bool ok = store_check_text(path, err);
    DIR *d = NULL;
    if (ok)
        d = opendir(path->p);
    err_init(&why);
    if (ok && !d && !err_absent(errno))
        err_sys(&why, ERR_OPEN, errno, "%s", str_shown(shown, path->p, len));
    while (ok && d && (name = folder_next(d, &why)) != NULL) {
        str_format(path, "/%s", name);
        ok = store_check_text(path, err)
            && (*name == '.' || !fits(path->p, &why) || names_add(names, path->p + top, path->len - top, err))
            && set_path(path, len, "", err);
    }
    if (d)
        closedir(d);
    names_sort(names);
    return ok && (why.kind == ERR_NONE || store_hf_keep(err, &why));
}

/* Returns true for a directory that is not a symbolic link, so that no folder is visited twice. */
static bool
is_folder(const char *path, struct err *why)
{
    struct stat st;
    bool exists;
    return store_exists(&exists, lstat(path, &st), path, why) && exists && S_ISDIR(st.st_mode);
}

static bool
is_file(const char *path, struct err *why)
{
    struct stat st;
    bool exists;
    return store_exists(&exists, stat(path, &st), path, why) && exists && S_ISREG(st.st_mode);
}

static bool
is_incomplete(const char *path, struct err *why)
{
    (void)why;
    return str_ends(path, ".incomplete");
}

/* Collects a folder and those below it, each as its path after the first `top` bytes: "", "/a", "/a/b". */
static bool
list_folders(struct names *all, struct str *path, size_t top, unsigned deep, struct err *err)
{
    struct names names = { 0 };
    size_t len = path->len;
    bool ok = names_add(all, path->p + top, len - top, err) && (deep == 0 || list_folder(&names, path, len, is_folder, err));
    for (size_t i = 0; ok && i < names.n; i++)
        ok = set_path(path, len, names.name[i], err) && list_folders(all, path, top, deep - 1, err);
    names_clear(&names);
    return ok && set_path(path, len, "", err);
}

/* Lists every model of a snapshot, or the snapshot itself if it has none and a download is incomplete. */
static bool
list_snapshot(struct names *list, struct snapshot *s, bool incomplete, struct err *err)
{
    struct names folders = { 0 };
    s->top = s->path.len;
    s->found = false;
    bool ok = list_folders(&folders, &s->path, s->top, FOLDERS_DEEP, err);
    for (size_t i = 0; ok && i < folders.n; i++)
        ok = set_path(&s->path, s->top, folders.name[i], err) && list_models(list, s, err);
    names_clear(&folders);
    return ok && set_path(&s->path, s->top, "", err) && (s->found || !incomplete || add_operand(list, s, "", err));
}

/* Collects the possible values of REV, as "/REV": main, the other refs, the commits. */
static bool
list_revisions(struct names *revs, struct str *path, struct err *err)
{
    struct names folders = { 0 }, refs = { 0 }, commits = { 0 };
    size_t repo = path->len, top = repo + strlen("/refs");
    bool ok = set_path(path, repo, "/refs", err) && list_folders(&folders, path, top, FOLDERS_DEEP, err);
    for (size_t i = 0; ok && i < folders.n; i++)
        ok = set_path(path, top, folders.name[i], err) && list_folder(&refs, path, top, is_file, err);
    ok = ok && set_path(path, repo, "/snapshots", err) && list_folder(&commits, path, path->len, is_folder, err)
        && names_add(revs, "/main", strlen("/main"), err);
    for (size_t i = 0; ok && i < refs.n; i++)
        ok = strchr(refs.name[i], '@') || names_add(revs, refs.name[i], strlen(refs.name[i]), err);
    for (size_t i = 0; ok && i < commits.n; i++)
        ok = names_add(revs, commits.name[i], strlen(commits.name[i]), err);
    names_clear(&folders);
    names_clear(&refs);
    names_clear(&commits);
    return ok && set_path(path, repo, "", err);
}

/* Appends the snapshot folder of a revision to the path. Sets *found if the folder exists and its commit is not in `done`
 * yet, and then adds it to `done`. A revision without a known commit has no snapshot. */
static bool
find_snapshot(bool *found, struct str *path, const char *rev, struct names *done, struct budget *budget, struct err *err)
{
    char commit[COMMIT + 1];
    struct inputs inputs = { 0 };
    struct err why;
    err_init(&why);
    *found = check_path(rev, strlen(rev), "", &why) && find_commit(commit, path->p, rev, "", &inputs, budget, &why);
    inputs_clear(&inputs);
    if (!*found)
        return (why.kind != ERR_MEMORY && why.sys == 0) || store_hf_keep(err, &why);
    for (size_t i = 0; *found && i < done->n; i++)
        *found = strcmp(done->name[i], commit) != 0;
    if (!*found)
        return true;
    str_format(path, "/snapshots/%s", commit);
    if (!store_check_text(path, err))
        return false;
    *found = is_folder(path->p, &why);
    return (why.kind == ERR_NONE || store_hf_keep(err, &why)) && (!*found || names_add(done, commit, COMMIT, err));
}

/* Lists all models of the repository whose folder is `path`. */
static bool
list_repository(struct names *list, const char *repo, struct str *path, const struct limits *limits, struct err *err)
{
    struct snapshot s = { .repo = repo, .path = *path };
    struct names revs = { 0 }, done = { 0 }, incomplete = { 0 };
    struct budget budget = { .limits = *limits };
    size_t len = path->len;
    bool ok = set_path(&s.path, len, "/blobs", err) && list_folder(&incomplete, &s.path, len, is_incomplete, err)
        && set_path(&s.path, len, "", err) && list_revisions(&revs, &s.path, err);
    for (size_t i = 0; ok && i < revs.n; i++) {
        bool found;
        s.rev = revs.name[i] + 1;
        budget.bytes = 0;
        ok = find_snapshot(&found, &s.path, s.rev, &done, &budget, err)
            && (!found || list_snapshot(list, &s, incomplete.n != 0, err)) && set_path(&s.path, len, "", err);
    }
    *path = s.path;
    names_clear(&revs);
    names_clear(&done);
    names_clear(&incomplete);
    return ok;
}

/* Sets *repo to ORG/NAME for a folder called models--ORG--NAME, or to "" for any other folder. */
static bool
repository_of(struct str *repo, const char *folder, struct err *err)
{
    static const char head[] = "models--";
    struct hub_name name;
    struct err unfit;
    err_init(&unfit);
    repo->len = 0;
    if (!str_begins(folder, head))
        return true;
    folder += sizeof head - 1;
    const char *gap = strstr(folder, "--");
    if (gap)
        str_format(repo, "%.*s/%s", (int)(gap - folder), folder, gap + 2);
    else
        str_text(repo, folder);
    if (!store_check_text(repo, err))
        return false;
    if (strchr(folder, '@') || !name_parse(&name, repo->p, &unfit))
        repo->len = 0;
    return true;
}

bool
store_hf_list(struct names *list, const char *root, const struct limits *limits, struct err *err)
{
    struct str path = { 0 }, repo = { 0 };
    struct err why;
    const char *folder;
    char shown[STR_SHOWN];
    err_init(&why);
    str_text(&path, root);
    DIR *d = opendir(root);
    bool ok = d || err_sys(err, ERR_OPEN, errno, "cannot list the directory");
    while (ok && (folder = folder_next(d, &why)) != NULL) {
        ok = repository_of(&repo, folder, err);
        if (!ok || repo.len == 0)
            continue;
        str_format(&path, "/%s", folder);
        ok = store_check_text(&path, err) && list_repository(list, repo.p, &path, limits, err)
            && set_path(&path, strlen(root), "", err);
    }
    if (why.kind != ERR_NONE)
        store_hf_keep(err, &why);
    if (d)
        closedir(d);
    str_clear(&path);
    str_clear(&repo);
    return err->kind == ERR_NONE || err_in_file(err, str_shown(shown, root, strlen(root)));
}
