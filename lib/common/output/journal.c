#include "output/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/folder.h"

enum { LINE = 160 };

static bool
journal_failed(const struct journal *j, const char *what, int sys, struct err *err)
{
    char shown[STR_SHOWN];
    err_sys(err, ERR_IO, sys, "%s", what);
    return err_in_file(err, str_shown(shown, j->path, strlen(j->path)));
}

/* Rejects a journal that is not ours. */
static bool
refused(const struct journal *j, const char *why, struct err *err)
{
    char shown[STR_SHOWN];
    err_set(err, ERR_CREATE, "%s", why);
    return err_in_file(err, str_shown(shown, j->path, strlen(j->path)));
}

/* --- reading */

static bool
journal_keep(struct journal *j, const struct journal_entry *entry, struct err *err)
{
    struct journal_entry *list = array_grow(j->entry, j->n, &j->room, sizeof *list, err);
    if (!list)
        return false;
    j->entry = list;
    list[j->n++] = *entry;
    return true;
}

/* Reads the entries. Sets *ours if the first line names this job and is complete. */
static bool
read_lines(struct journal *j, FILE *file, uint64_t job, size_t files, bool *ours, struct err *err)
{
    char line[LINE], first[LINE];
    snprintf(first, sizeof first, "amn 2 %016" PRIx64 " %zu\n", job, files);
    *ours = fgets(line, sizeof line, file) && strcmp(line, first) == 0;
    while (*ours && fgets(line, sizeof line, file) && strchr(line, '\n')) {
        struct journal_entry e;
        if (sscanf(line, "%63s %" SCNu64 " %" SCNx32, e.name, &e.nbytes, &e.crc) == 3 && !journal_keep(j, &e, err))
            return false;
    }
    return true;
}

static bool
read_journal(struct journal *j, uint64_t job, size_t files, struct err *err)
{
    bool ours = false;
    int fd = dup(j->fd - 1);
    FILE *file = NULL;
    if (fd >= 0)
        file = fdopen(fd, "r");
    if (!file) {
        journal_failed(j, "read failed", errno, err);
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool ok = read_lines(j, file, job, files, &ours, err);
    fclose(file);
    return ok && (ours || refused(j, "cannot resume: the directory was started with a different input, options or "
        "amn version", err));
}

/* --- writing */

/* Appends a line and flushes it to disk. After a power failure the journal must not list a file that is not complete. */
static bool
put_line(struct journal *j, const char *line, struct err *err)
{
    for (size_t n = strlen(line); n != 0;) {
        ssize_t put = write(j->fd - 1, line, n);
        if (put < 0 && errno != EINTR)
            return journal_failed(j, "write failed", errno, err);
        if (put > 0) {
            line += put;
            n -= (size_t)put;
        }
    }
    return fsync(j->fd - 1) == 0 || journal_failed(j, "fsync failed", errno, err);
}

/* Opens the journal with an exclusive lock, if the file system supports locks. */
static bool
open_locked(struct journal *j, int flags, struct stat *st, struct err *err)
{
    int fd = open(j->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | flags, 0666);
    j->fd = fd + 1;
    if (fd < 0 && errno == EEXIST)
        return refused(j, "another job has just started to write this directory", err);
    if (fd < 0)
        return journal_failed(j, "open failed", errno, err);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return refused(j, "another job is writing this directory; wait for it or stop it", err);
    if (fstat(fd, st) != 0)
        return journal_failed(j, "stat failed", errno, err);
    if (!S_ISREG(st->st_mode))
        return refused(j, "not a regular file; choose an empty directory", err);
    return st->st_nlink != 0 || refused(j, "another job has just finished this directory", err);
}

bool
journal_open(struct journal *j, const char *dir, uint64_t job, size_t files, enum journal_start start, struct err *err)
{
    struct stat st;
    char first[LINE];
    *j = (struct journal){ .path = folder_path(dir, strlen(dir), JOURNAL_NAME, err) };
    if (!j->path || !open_locked(j, start == JOURNAL_NEW ? O_EXCL : 0, &st, err))
        return false;
    if (start == JOURNAL_AGAIN && st.st_size != 0) {
        if (ftruncate(j->fd - 1, 0) != 0)
            return journal_failed(j, "cannot be emptied", errno, err);
        st.st_size = 0;
    }
    if (st.st_size != 0)        /* ends a truncated last line, which is then ignored */
        return read_journal(j, job, files, err) && put_line(j, "\n", err);
    snprintf(first, sizeof first, "amn 2 %016" PRIx64 " %zu\n", job, files);
    if (put_line(j, first, err))
        return true;
    journal_drop(j);
    return false;
}

const struct journal_entry *
journal_find(const struct journal *j, const char *name)
{
    for (size_t i = j->n; i-- > 0;)
        if (strcmp(j->entry[i].name, name) == 0)
            return &j->entry[i];
    return NULL;
}

bool
journal_add(struct journal *j, const struct journal_entry *e, struct err *err)
{
    char line[LINE];
    snprintf(line, sizeof line, "%s %" PRIu64 " %08" PRIx32 "\n", e->name, e->nbytes, e->crc);
    return put_line(j, line, err);
}

bool
journal_remove(struct journal *j, struct err *err)
{
    return unlink(j->path) == 0 || journal_failed(j, "cannot remove the journal", errno, err);
}

void
journal_drop(const struct journal *j)
{
    unlink(j->path);
}

void
journal_close(struct journal *j)
{
    if (j->fd > 0)
        close(j->fd - 1);
    free(j->path);
    free(j->entry);
    *j = (struct journal){ 0 };
}
