#include "output/outputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/str.h"
#include "base/folder.h"

struct output {
    char *shown;                /* for messages; owned */
    char *folder;               /* its directory, links resolved; owned. NULL: a pipe or device, or not found */
    struct str place;           /* device and inode of that directory, and the file name: the key in outputs->places */
    size_t name;                /* offset of the file name in it */
    bool known;                 /* the file exists: */
    uint64_t id[2];             /* its device and inode */
};

static void
clear(struct output *o)
{
    free(o->shown);
    free(o->folder);
    str_clear(&o->place);
}

/* --- one of them */

/* Rejects a path whose identity cannot be determined. */
static bool
fail_unidentified(const struct output *o, int sys, struct err *err)
{
    err_sys(err, ERR_CREATE, sys, "%s", "");
    return err_in_file(err, o->shown);
}

/* Determines the directory and file name of a path without links. A missing directory cannot contain another output. */
static bool
find_place(struct output *o, const char *path, struct err *err)
{
    struct stat st;
    size_t n = folder_len(path);
    if (n)
        o->folder = strndup(path, n);
    else
        o->folder = strdup(".");
    if (!o->folder)
        return err_memory(err, n);
    if (stat(o->folder, &st) != 0) {
        int sys = errno;
        free(o->folder);
        o->folder = NULL;
        return err_absent(sys) || fail_unidentified(o, sys, err);
    }
    str_format(&o->place, "%" PRIx64 ":%" PRIx64 "/", (uint64_t)st.st_dev, (uint64_t)st.st_ino);
    o->name = o->place.len;
    str_text(&o->place, folder_name(path));
    return !o->place.failed || err_memory(err, o->place.room);
}

/* Looks up the file that a path names now. A pipe or device is not replaced, so it has no place. A device can have two
 * writers, a pipe cannot. */
static bool
identify(struct output *o, const char *path, struct err *err)
{
    struct stat st;
    char shown[STR_SHOWN];
    const char *name = "(standard output)";
    if (path)
        name = str_shown(shown, path, strlen(path));
    *o = (struct output){ .shown = strdup(name) };
    if (!o->shown)
        return err_memory(err, strlen(name));
    bool there = (path ? stat(path, &st) : fstat(STDOUT_FILENO, &st)) == 0;
    if (there && !S_ISDIR(st.st_mode) && !S_ISCHR(st.st_mode)) {
        o->known = true;
        o->id[0] = st.st_dev;
        o->id[1] = st.st_ino;
    }
    if (!path || (there && !S_ISREG(st.st_mode)))
        return true;
    if (!there && !err_absent(errno))
        return fail_unidentified(o, errno, err);
    char *real;
    if (there)
        real = realpath(path, NULL);
    else
        real = strdup(path);
    bool ok;
    if (real)
        ok = find_place(o, real, err);
    else
        ok = err_absent(errno) || fail_unidentified(o, errno, err);
    free(real);
    return ok;
}

static bool
is_same(const struct output *a, const struct output *b)
{
    return a->known && b->known && a->id[0] == b->id[0] && a->id[1] == b->id[1];
}

/* --- all of them */

static const char *
outputs_place_of(const void *outputs, uint32_t number, size_t *n)
{
    const struct output *o = &((const struct outputs *)outputs)->list[number];
    *n = o->place.len;
    return o->place.p;
}

/* Returns the output with a place, or NULL. */
static struct output *
outputs_find(const struct outputs *outputs, const struct str *place)
{
    uint32_t number;
    if (place->len != 0 && table_find(&outputs->places, outputs_place_of, outputs, place->p, place->len, &number))
        return &outputs->list[number];
    return NULL;
}

static bool
check_inputs(const struct outputs *outputs, const struct output *o, struct err *err)
{
    return !o->known || inputs_check(outputs->inputs, o->id[0], o->id[1], err);
}

/* Checks one output against the others. `own` is its entry in the list, or NULL. */
static bool
check_others(const struct outputs *outputs, const struct output *o, const struct output *own, struct err *err)
{
    const struct output *other = NULL;
    if (!own)
        other = outputs_find(outputs, &o->place);
    for (size_t i = 0; !other && o->known && i < outputs->n; i++)
        if (&outputs->list[i] != own && is_same(&outputs->list[i], o))
            other = &outputs->list[i];
    if (!other)
        return true;
    err_set(err, ERR_CREATE, "two outputs are the same file; use different names");
    return err_in_file(err, o->shown);
}

static bool
outputs_keep(struct outputs *outputs, const struct output *o, struct err *err)
{
    uint32_t number = (uint32_t)outputs->n;
    bool again;
    struct output *list = array_grow(outputs->list, outputs->n, &outputs->room, sizeof *list, err);
    if (!list)
        return false;
    outputs->list = list;
    if (o->place.len != 0
        && !table_add(&outputs->places, outputs_place_of, outputs, o->place.p, o->place.len, &number, &again, err))
        return false;
    list[outputs->n++] = *o;
    return true;
}

bool
outputs_add(struct outputs *outputs, const char *path, struct err *err)
{
    struct output o;
    bool ok = identify(&o, path, err) && check_inputs(outputs, &o, err) && check_others(outputs, &o, NULL, err)
        && outputs_keep(outputs, &o, err);
    if (!ok)
        clear(&o);
    return ok;
}

bool
outputs_check(const struct outputs *outputs, struct err *err)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (!check_inputs(outputs, &outputs->list[i], err))
            return false;
    return true;
}

/* --- leftovers of killed jobs */

/* Returns true if a temporary file in the directory of an output belongs to one of the outputs: named `name`, or truncated
 * to it. */
static bool
is_ours(const struct outputs *outputs, const struct output *o, const char *name)
{
    struct str place = { 0 };
    str_add(&place, o->place.p, o->name);
    str_text(&place, name);
    bool ours = !place.failed && outputs_find(outputs, &place);
    for (size_t i = 0; !ours && place.len == o->name + SINK_TEMP_NAME - 1 && i < outputs->n; i++)
        ours = outputs->list[i].place.len > place.len && memcmp(outputs->list[i].place.p, place.p, place.len) == 0;
    str_clear(&place);
    return ours;
}

static void
sweep_folder(const struct outputs *outputs, const struct output *o)
{
    struct err ignored;
    const char *entry;
    char name[SINK_TEMP_NAME];
    DIR *d = opendir(o->folder);
    err_init(&ignored);
    while (d && (entry = folder_next(d, &ignored)) != NULL)
        if (sink_temp_name(name, entry) && is_ours(outputs, o, name))
            sink_remove_stale(dirfd(d), entry);
    if (d)
        closedir(d);
}

/* Reads each directory once, because files of a directory are adjacent in the list. */
void
outputs_sweep(const struct outputs *outputs)
{
    const struct output *before = NULL;
    for (size_t i = 0; i < outputs->n; i++) {
        const struct output *o = &outputs->list[i];
        if (!o->folder)
            continue;
        if (!before || before->name != o->name || memcmp(before->place.p, o->place.p, o->name) != 0)
            sweep_folder(outputs, o);
        before = o;
    }
}

/* --- writing */

bool
outputs_open(struct outputs *outputs, struct sink **sink, const struct sink_options *options, struct err *err)
{
    if (outputs->compares)
        return sink_compare(sink, options->path, err);
    return sink_open(sink, options, err);
}

void
outputs_made(const struct outputs *outputs)
{
    if (outputs->made)
        outputs->made(outputs->of);
}

bool
outputs_commit(struct outputs *outputs, struct sink *sink, struct err *err)
{
    const char *path = sink_path(sink);
    struct output now;
    uint64_t id[2];
    if (!path)
        return sink_commit(sink, err);
    bool ok = identify(&now, path, err);
    struct output *own = NULL;
    if (ok)
        own = outputs_find(outputs, &now.place);
    ok = ok && check_inputs(outputs, &now, err) && check_others(outputs, &now, own, err);
    bool known = ok && own && sink_identity(sink, id);
    ok = ok && sink_commit(sink, err);
    if (ok && known) {
        own->known = true;
        memcpy(own->id, id, sizeof id);
    }
    clear(&now);
    return ok;
}

void
outputs_clear(struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        clear(&outputs->list[i]);
    free(outputs->list);
    table_clear(&outputs->places);
    *outputs = (struct outputs){ .inputs = outputs->inputs };
}
