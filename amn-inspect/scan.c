#include "scan.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/names.h"
#include "cli/progress.h"
#include "command/operands.h"
#include "model/checkpoint.h"
#include "model/index.h"
#include "model/store.h"
#include "report/scan_report.h"
#include "scan/pickles.h"
#include "source/fetch.h"
#include "source/small_file.h"

struct scanning {
    const struct cli *cli;
    struct fetch *fetch;        /* or NULL */
    bool begun;                 /* a file has been reported */
    bool shards;                /* files belong to the checkpoint of a training job */
    bool dangerous;             /* something dangerous was found */
    bool suspicious;            /* a suspicious global was named */
    size_t operands;            /* number of operands seen */
    size_t files;               /* number of files reported */
    size_t outcomes[SCAN_REPORT_OUTCOMES];
    enum cli_status status;     /* highest status of the failures that were printed but not returned */
};

/* Prints the failure and continues. */
static void
tell(struct scanning *scan, const struct err *fault)
{
    enum cli_status status = cli_fail(scan->cli, fault);
    if (status > scan->status)
        scan->status = status;
}

/* How the user named a file: as the only operand, as one of several, or by its directory. */
enum named_by { ALONE, ONE_OF_SEVERAL, LISTED };

/* Returns true if the name suggests a model or a pickle. */
static bool
should_be_known(const char *name)
{
    static const char *const suffixes[] = { ".bin", ".ckpt", ".dill", ".gguf", ".h5", ".joblib", ".keras", ".mar", ".nemo", ".npy",
        ".npz", ".pickle", ".pkl", ".pt", ".pth", ".safetensors", ".tar", ".z", ".zip" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (str_ends(name, suffixes[i]))
            return true;
    return false;
}

/* Scans a file. One that came with a directory is skipped silently if it is not a model. */
static bool
report(struct scanning *scan, struct source *src, const char *file, enum named_by naming, struct err *err)
{
    const struct cli *cli = scan->cli;
    struct scan_report r = { .file = file, .heading = naming == ALONE ? NULL : source_name(src), .human = cli_human(cli),
        .first = !scan->begun };
    const struct pickles_callback callback = { .pickle = scan_report_pickle, .of = &r, .shards = scan->shards };
    struct pickles pickles;
    struct err written;
    err_init(&written);
    scan_report_begin(&r, stdout);
    bool ok = pickles_scan(&pickles, src, &cli->limits, &callback, err);
    if (!ok && pickles.opened && naming == LISTED && !r.begun && (err->kind == ERR_MALFORMED || err->kind == ERR_UNSUPPORTED)
        && !should_be_known(file)) {
        err_init(err);
        return true;
    }
    scan->begun = true;
    if (!scan_report_end(&r, &pickles, err, &written)) {
        *err = written;
        return false;
    }
    scan->files++;
    scan->outcomes[r.outcome]++;
    scan->dangerous = scan->dangerous || r.outcome == SCAN_REPORT_FOUND;
    scan->suspicious = scan->suspicious || r.verdicts[VERDICT_SUSPICIOUS] != 0;
    if (ok && pickles.fault.kind != ERR_NONE)
        tell(scan, &pickles.fault);
    return ok;
}

static bool
scan_file(struct scanning *scan, const char *path, const char *file, enum named_by naming, struct err *err)
{
    /* Only ->inputs is used, so that the report does not overwrite an input. */
    struct model m = { .inputs.fetch = scan->fetch };
    struct source *src = NULL;
    bool ok = source_open(&src, path, true, &m.inputs, err) && model_check_overwrite(&m, err);
    if (ok)
        source_set_meter(src, &scan->cli->bar->meter);
    if (ok && path && scan->fetch)
        source_settle_size(src);
    ok = ok && report(scan, src, file, naming, err);
    if (!ok && src)
        err_in_file(err, source_name(src));
    source_close(src);
    model_clear(&m);
    return ok;
}

/* --- directories ----------------------------------------------------------------------------------------- */

static bool
list_folder(struct names *names, const char *dir, struct err *err)
{
    DIR *d = opendir(dir);
    if (!d)
        return err_sys(err, ERR_OPEN, errno, "%s", "");
    const char *name;
    bool ok = true;
    while (ok && (name = folder_next(d, err)))
        ok = names_add(names, name, strlen(name), err);
    closedir(d);
    names_sort(names);
    return ok && err->kind == ERR_NONE;
}

/* Returns true if standard output is this file: a shell made it in the folder that is scanned. */
static bool
is_output(const struct stat *st)
{
    struct stat out;
    return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == st->st_dev && out.st_ino == st->st_ino;
}

static bool scan_folder(struct scanning *scan, const char *dir, unsigned depth, struct err *err);

/* Scans a directory entry; skips what is not a regular file, except the directories of a checkpoint, which is at most `depth`
 * deep. */
static bool
scan_entry(struct scanning *scan, const char *path, unsigned depth, struct err *err)
{
    struct stat st;
    if (scan->shards && depth != 0 && folder_name(path)[0] != '.' && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return scan_folder(scan, path, depth - 1, err);
    if (stat(path, &st) == 0)
        return !S_ISREG(st.st_mode) || is_output(&st) || scan_file(scan, path, path, LISTED, err);
    char shown[STR_SHOWN];
    err_sys(err, ERR_OPEN, errno, "%s", "");
    return err_in_file(err, str_shown(shown, path, strlen(path)));
}

/* Says that a directory has Python code, for which there is no verdict. */
static void
tell_code(const struct scanning *scan, const char *dir, const struct names *names)
{
    const char *first = NULL;
    char folder[STR_SHOWN], shown[STR_SHOWN];
    size_t n = 0;
    for (size_t i = 0; i < names->n; i++)
        if (str_ends(names->name[i], ".py")) {
            if (!first)
                first = names->name[i];
            n++;
        }
    if (n != 0)
        cli_warn(scan->cli, str_shown(folder, dir, strlen(dir)), "Python code is not scanned: %zu file%s, such as %s, which loaders run "
            "with trust_remote_code", n, str_plural(n), str_shown(shown, first, strlen(first)));
}

/* Scans all files of a directory and reports each; skips what is neither a model nor a pickle. */
static bool
scan_folder(struct scanning *scan, const char *dir, unsigned depth, struct err *err)
{
    struct names names = { 0 };
    bool ok = list_folder(&names, dir, err);
    if (ok)
        tell_code(scan, dir, &names);
    for (size_t i = 0; ok && i < names.n && !ferror(stdout); i++) {
        char *path = folder_path(dir, strlen(dir), names.name[i], err);
        struct err fault;
        err_init(&fault);
        ok = path != NULL;
        if (ok && !scan_entry(scan, path, depth, &fault))
            tell(scan, &fault);
        free(path);
    }
    names_clear(&names);
    return ok;
}

/* Scans a directory that the user named. */
static bool
scan_directory(struct scanning *scan, const char *dir, struct err *err)
{
    enum { DEPTH = 3 };         /* DIR/global_step10/zero/NAME */
    scan->shards = checkpoint_is(dir);
    bool ok = scan_folder(scan, dir, DEPTH, err);
    scan->shards = false;
    return ok;
}

/* Scans the shards that a fetched index lists. */
static bool
scan_index(struct scanning *scan, const char *path, struct err *err)
{
    struct inputs inputs = { .fetch = scan->fetch };
    struct budget budget = { .limits = scan->cli->limits };
    struct source *src = NULL;
    struct index index = { 0 };
    const char *text;
    size_t n;
    bool ok = small_file_open(&src, path, false, INDEX_FILE_MAX, &budget, "index bytes", &text, &n, &inputs, err)
        && index_read(&index, text, n, &budget, err);
    source_close(src);
    for (size_t i = 0; ok && i < index.nshards && !ferror(stdout); i++) {
        char *shard = folder_path(path, folder_len(path), index.shard[i], err);
        struct err fault;
        err_init(&fault);
        ok = shard != NULL;
        if (ok && !scan_file(scan, shard, shard, LISTED, &fault))
            tell(scan, &fault);
        free(shard);
    }
    index_clear(&index);
    inputs_clear(&inputs);
    return ok;
}

/* Scans the files of a bundle, such as the layers of a store. */
static bool
scan_bundle(struct scanning *scan, const struct bundle *bundle, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < bundle->n && !ferror(stdout); i++)
        ok = scan_file(scan, bundle->file[i].path, bundle->file[i].name, LISTED, err);
    return ok;
}

/* --- operands -------------------------------------------------------------------------------------------- */

/* Scans a file, a directory, or the directory of a model index. */
static bool
scan_path(struct scanning *scan, const char *path, const char *operand, struct err *err)
{
    struct stat st;
    if (scan->fetch && model_is_fetched_directory(path))
        return err_set(err, ERR_USAGE, "--scan: a fetched directory cannot be listed; give its index or files");
    if (!scan->fetch && path && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return scan_directory(scan, path, err);
    if (scan->fetch && path && str_ends(path, ".index.json"))
        return scan_index(scan, path, err);
    if (!path || !str_ends(path, ".index.json"))
        return scan_file(scan, path, str_or(operand, "-"), scan->cli->noperands > 1 ? ONE_OF_SEVERAL : ALONE, err);
    size_t n = folder_len(path);
    char *dir;
    if (n)
        dir = strndup(path, n);
    else
        dir = strdup(".");
    bool ok;
    if (dir)
        ok = scan_directory(scan, dir, err);
    else
        ok = err_memory(err, n);
    free(dir);
    return ok;
}

/* Sums up the reports of several files, for people. */
static void
sum_up(const struct scanning *scan)
{
    const size_t *n = scan->outcomes;
    if (scan->files > 1 && cli_human(scan->cli))
        printf("\n%zu files: %zu dangerous, %zu unknown, %zu clean\n", scan->files, n[SCAN_REPORT_FOUND], n[SCAN_REPORT_UNKNOWN],
            n[SCAN_REPORT_CLEAN]);
}

/* Scans an operand. A failure within a file that was reported is printed at once and kept in ->status. */
static bool
scan_operand(void *own, const char *operand, struct err *err)
{
    struct scanning *scan = own;
    const char *path = operand;
    if (operand && strcmp(operand, "-") == 0)
        path = NULL;
    struct str found = { 0 };
    struct inputs inputs = { 0 };
    struct catalog *catalog = NULL;
    bool ok = true;
    meter_phase(&scan->cli->bar->meter, "looking for pickles", METER_UNKNOWN);
    if (path && !scan->fetch && store_named(path)) {
        catalog = catalog_new(&scan->cli->limits, err);
        ok = catalog && store_resolve(&found, path, &inputs, catalog, err);
        path = found.p;
    }
    ok = ok && (inputs.bundle.path ? scan_bundle(scan, &inputs.bundle, err) : scan_path(scan, path, operand, err));
    if (!ok && operand) {
        char shown[STR_SHOWN];
        err_in_file(err, str_shown(shown, operand, strlen(operand)));
    }
    str_clear(&found);
    inputs_clear(&inputs);
    catalog_free(catalog);
    if (++scan->operands >= scan->cli->noperands)
        sum_up(scan);
    return ok;
}

enum cli_status
scan_operands(struct cli *cli)
{
    struct err err;
    err_init(&err);
    struct scanning scan = { .cli = cli, .fetch = cli->fetch ? fetch_new(cli->fetch, cli->fetch_window, &err) : NULL };
    enum cli_status status;
    if (err.kind == ERR_NONE)
        status = operands_each(cli, scan_operand, &scan);
    else
        status = cli_fail(cli, &err);
    fetch_free(scan.fetch);
    if (scan.dangerous && status != CLI_IO)
        return CLI_FOUND;
    status = status > scan.status ? status : scan.status;
    bool broke = status == CLI_IO || status == CLI_LIMIT;       /* a failure of the machine, not of the file */
    if (scan.suspicious && !broke)
        return CLI_UNSAFE;
    return status;
}
