#include "scan.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/names.h"
#include "container/folder.h"
#include "container/model.h"
#include "container/pickles.h"
#include "container/store.h"
#include "report/scan.h"

/* Tell what is wrong, and go on. */
static void
tell(struct scan *scan, const struct err *fault)
{
    int status = cli_fail(&scan->opt->cli, fault);
    if (status > scan->status)
        scan->status = status;
}

static bool
report(struct scan *scan, struct source *src, const char *file, bool several, struct err *err)
{
    const struct cli *cli = &scan->opt->cli;
    struct scan_report r = { .file = file, .heading = several ? source_name(src) : NULL, .human = cli_human(cli),
        .first = !scan->begun };
    const struct pickles_heard heard = { scan_report_pickle, &r };
    struct pickles pickles;
    struct err written;
    err_init(&written);
    scan_report_begin(&r, stdout);
    bool ok = pickles_scan(&pickles, src, &cli->limits, &heard, err);
    scan->begun = scan->begun || ok || r.begun;
    scan->dangerous = scan->dangerous || r.verdicts[VERDICT_DANGEROUS] != 0;
    if (!scan_report_end(&r, &pickles, err, &written)) {
        *err = written;
        return false;
    }
    if (ok && pickles.fault.kind != ERR_NONE)
        tell(scan, &pickles.fault);
    return ok;
}

static bool
scan_file(struct scan *scan, const char *path, const char *file, bool several, struct err *err)
{
    struct model m = { 0 };             /* of it only the inputs, which the report must not go into */
    struct source *src = NULL;
    bool ok = source_open(&src, path, true, &m.inputs, err) && model_spares_stdout(&m, err);
    if (ok)
        source_tell(src, scan->meter);
    ok = ok && source_unpack(src, &scan->opt->cli.limits, err) && report(scan, src, file, several, err);
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

/* Whether a file that is nothing known says so: one that by its name should be something. */
static bool
should_be_known(const char *name)
{
    static const char *const suffixes[] = { ".bin", ".ckpt", ".gguf", ".npy", ".npz", ".pickle", ".pkl", ".pt", ".pth",
        ".safetensors", ".tar", ".zip" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (str_ends(name, suffixes[i]))
            return true;
    return false;
}

/* A file of a directory; what is none is passed over. */
static bool
scan_entry(struct scan *scan, const char *path, struct err *err)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return !S_ISREG(st.st_mode) || scan_file(scan, path, path, true, err);
    char shown[STR_SHOWN];
    err_sys(err, ERR_OPEN, errno, "%s", "");
    return err_in_file(err, str_shown(shown, path, strlen(path)));
}

/* All files of a directory, each reported alone; what is neither a model nor a pickle is passed over. */
static bool
scan_folder(struct scan *scan, const char *dir, struct err *err)
{
    struct names names = { 0 };
    bool ok = list_folder(&names, dir, err);
    for (size_t i = 0; ok && i < names.n && !ferror(stdout); i++) {
        char *path = folder_path(dir, strlen(dir), names.name[i], err);
        struct err fault;
        err_init(&fault);
        ok = path != NULL;
        if (ok && !scan_entry(scan, path, &fault)
            && ((fault.kind != ERR_MALFORMED && fault.kind != ERR_UNSUPPORTED) || should_be_known(path)))
            tell(scan, &fault);
        free(path);
    }
    names_clear(&names);
    return ok;
}

/* --- */

/* A directory, or the index of a model in one. */
static bool
scan_path(struct scan *scan, const char *path, const char *operand, struct err *err)
{
    struct stat st;
    if (path && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return scan_folder(scan, path, err);
    if (!path || !str_ends(path, ".index.json"))
        return scan_file(scan, path, operand ? operand : "-", scan->opt->cli.noperands > 1, err);
    size_t n = folder_len(path);
    char *dir = n ? strndup(path, n) : strdup(".");
    bool ok = dir ? scan_folder(scan, dir, err) : err_memory(err, n);
    free(dir);
    return ok;
}

bool
scan_operand(void *own, const char *operand, struct err *err)
{
    struct scan *scan = own;
    const char *path = operand && strcmp(operand, "-") == 0 ? NULL : operand;
    struct str found = { 0 };
    struct inputs inputs = { 0 };
    struct catalog *catalog = NULL;
    bool ok = true;
    meter_phase(scan->meter, "looking for pickles", METER_UNKNOWN);
    if (path && store_named(path)) {
        catalog = catalog_new(&scan->opt->cli.limits, err);
        ok = catalog && store_resolve(&found, path, &inputs, catalog, &scan->opt->cli.limits, err);
        path = found.p;
    }
    ok = ok && scan_path(scan, path, operand, err);
    if (!ok && operand) {
        char shown[STR_SHOWN];
        err_in_file(err, str_shown(shown, operand, strlen(operand)));
    }
    str_clear(&found);
    inputs_clear(&inputs);
    catalog_free(catalog);
    return ok;
}

int
scan_status(const struct scan *scan, int status)
{
    enum { FOUND = 1 };
    if (scan->dangerous && status != cli_status(ERR_IO))
        return FOUND;
    return status > scan->status ? status : scan->status;
}
