#include "output/in_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/folder.h"
#include "base/num.h"
#include "base/signals.h"
#include "output/outputs.h"
#include "sink/sink.h"

/* Layout of FILE.amn-undo: magic, offset of the bytes, their number, size of the file, the bytes. */
static const char magic[] = "AMN-UNDO", ending[] = ".amn-undo";
enum { MAGIC = 8, UNDO_HEAD = MAGIC + 3 * 8 };

/* Bytes of a file that were, or are to be, replaced. */
struct old_bytes {
    uint64_t at, n, size;               /* size: of the file */
    uint8_t *p;                         /* owned */
};

/* --- files */

static bool
in_place_failed(const char *path, enum err_kind kind, const char *what, struct err *err)
{
    char shown[STR_SHOWN];
    err_sys(err, kind, errno, "%s", what);
    return err_in_file(err, str_shown(shown, path, strlen(path)));
}

/* Opens a file to change it, and locks it. Sets *size. */
static bool
open_locked(int *fd, uint64_t *size, const char *path, struct err *err)
{
    struct stat st;
    *fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 && errno == ELOOP)
        return err_set(err, ERR_USAGE, "--in-place does not follow links: give the file that it refers to");
    if (*fd < 0)
        return in_place_failed(path, ERR_OPEN, "", err);
    if (fstat(*fd, &st) != 0)
        return in_place_failed(path, ERR_OPEN, "cannot examine", err);
    *size = (uint64_t)st.st_size;
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_USAGE, "--in-place requires a regular file: give the model file");
    return flock(*fd, LOCK_EX | LOCK_NB) == 0 || in_place_failed(path, ERR_CREATE, "cannot lock", err);
}

/* Reads or writes all n bytes at an offset. */
static bool
move_all(int fd, bool writes, uint8_t *p, uint64_t n, uint64_t at)
{
    while (n != 0) {
        ssize_t done = writes ? pwrite(fd, p, n, (off_t)at) : pread(fd, p, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = EIO;
        if (done <= 0)
            return false;
        p += done;
        n -= (uint64_t)done;
        at += (uint64_t)done;
    }
    return true;
}

static char *
undo_path(const char *path, struct err *err)
{
    struct str s = { 0 };
    str_format(&s, "%s%s", path, ending);
    if (s.failed)
        err_memory(err, s.room);
    return s.p;
}

/* --- undo */

/* Keeps the old bytes beside the file, after removing what a killed job left of such a file. The undo file has its name only once
 * it is complete and on disk. */
static bool
keep(const char *undo, const struct old_bytes *old, const struct inputs *inputs, struct err *err)
{
    const struct sink_options options = { .path = undo, .direct = SINK_DIRECT_NEVER, .sync = true, .no_clobber = true };
    struct outputs outputs = { .inputs = inputs };
    struct sink *sink = NULL;
    uint8_t head[UNDO_HEAD];
    memcpy(head, magic, MAGIC);
    store_le64(head + MAGIC, old->at);
    store_le64(head + MAGIC + 8, old->n);
    store_le64(head + MAGIC + 16, old->size);
    bool ok = outputs_add(&outputs, undo, err);
    if (ok)
        outputs_sweep(&outputs);
    ok = ok && outputs_open(&outputs, &sink, &options, err) && sink_expect(sink, UNDO_HEAD + old->n, err)
        && sink_write(sink, head, UNDO_HEAD, err) && sink_write(sink, old->p, (size_t)old->n, err) && outputs_commit(&outputs, sink, err);
    sink_close(sink);
    outputs_clear(&outputs);
    return ok;
}

/* Reads an undo file of a file of `size` bytes. */
static bool
read_undo(struct old_bytes *old, int fd, const char *undo, uint64_t size, struct err *err)
{
    uint8_t head[UNDO_HEAD];
    struct stat st;
    char shown[STR_SHOWN];
    if (fstat(fd, &st) != 0 || !move_all(fd, false, head, UNDO_HEAD, 0))
        return in_place_failed(undo, ERR_IO, "cannot read", err);
    *old = (struct old_bytes){ load_le64(head + MAGIC), load_le64(head + MAGIC + 8), load_le64(head + MAGIC + 16), NULL };
    uint64_t end;
    if (memcmp(head, magic, MAGIC) != 0 || old->size != size || !num_add(&end, old->at, old->n) || end > size || old->n == 0
            || (uint64_t)st.st_size != UNDO_HEAD + old->n) {
        err_set(err, ERR_MALFORMED, "it does not belong to the file beside it: if that is intact, remove this one");
        return err_in_file(err, str_shown(shown, undo, strlen(undo)));
    }
    old->p = malloc((size_t)old->n);
    if (!old->p)
        return err_memory(err, old->n);
    return move_all(fd, false, old->p, old->n, UNDO_HEAD) || in_place_failed(undo, ERR_IO, "cannot read", err);
}

/* Undoes an interrupted change of an open file. */
static bool
undo(bool *undone, int fd, const char *path, uint64_t size, struct err *err)
{
    char *from = undo_path(path, err);
    struct old_bytes old = { 0 };
    if (!from)
        return false;
    int kept = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool ok = kept >= 0 || errno == ENOENT || in_place_failed(from, ERR_OPEN, "", err);
    if (kept >= 0)
        *undone = ok = read_undo(&old, kept, from, size, err)
            && ((move_all(fd, true, old.p, old.n, old.at) && fsync(fd) == 0) || in_place_failed(path, ERR_IO, "cannot undo a change", err))
            && (unlink(from) == 0 || in_place_failed(from, ERR_IO, "cannot remove", err));
    if (kept >= 0)
        close(kept);
    free(old.p);
    free(from);
    return ok;
}

bool
in_place_begin(const struct writer **writer, bool *undone, const char *path, struct err *err)
{
    int fd = -1;
    uint64_t size = 0;
    uint8_t head[4] = { 0 };
    bool ok = open_locked(&fd, &size, path, err) && undo(undone, fd, path, size, err)
        && (size < sizeof head || move_all(fd, false, head, sizeof head, 0) || in_place_failed(path, ERR_IO, "cannot read", err));
    if (fd >= 0)
        close(fd);
    *writer = memcmp(head, "GGUF", 4) == 0 ? &writer_gguf : &writer_safetensors;
    return ok;
}

/* --- the new header */

/* Returns true if a piece is a tensor as the first file of the model stores it. */
static bool
is_as_stored(const struct piece *p)
{
    const struct tensor *t = p->kind == PIECE_COPY ? p->of.tensor : NULL;
    return t && t->dtype == p->to && !t->layout && !t->big_endian && t->sign == 0 && !t->changed && t->extent.file == 0;
}

/* Sets *end to the end of the header, and *room to the bytes that it has less than the one in the file. Fails if a tensor changes,
 * or the header has more. */
static bool
find_room(uint64_t *end, uint64_t *room, const struct pieces *pieces, const struct model *model, struct err *err)
{
    static const char other[] = "write another file with -o FILE";
    bool found = false;
    size_t tensors = 0;
    for (size_t i = 0; i < pieces_count(pieces); i++) {
        const struct piece *p = pieces_at(pieces, i);
        struct tensor t;
        char shown[STR_SHOWN];
        if (p->kind == PIECE_TEXT || p->kind == PIECE_ZERO || (++tensors != 0 && p->nbytes == 0))
            continue;
        if (!piece_output(&t, p) || !is_as_stored(p))
            return err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "--in-place changes metadata and names only, but the output has it in another "
                "form: %s", str_shown(shown, t.name, t.name_len), other);
        if (!found && p->at > t.extent.at)
            return err_set(err, ERR_UNSUPPORTED, "the new header does not fit before the tensors: it has %llu bytes more than there is room "
                "for; %s", (unsigned long long)(p->at - t.extent.at), other);
        if (!found) {
            *end = p->at;
            *room = t.extent.at - p->at;
        }
        found = true;
        if (p->at + *room != t.extent.at)
            return err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "it would move within the file: %s", str_shown(shown, t.name, t.name_len), other);
    }
    if (tensors != catalog_count(model->catalog))
        return err_set(err, ERR_UNSUPPORTED, "--in-place leaves out no tensors: %s", other);
    return found || err_set(err, ERR_UNSUPPORTED, "the file has no tensor data: %s", other);
}

/* Makes the header. The caller clears it. */
static bool
make_header(struct str *head, const struct pieces *pieces, const struct model *model, const struct writer *writer, struct err *err)
{
    uint64_t end = 0, room = 0;
    if (!find_room(&end, &room, pieces, model, err))
        return false;
    for (size_t i = 0; head->len < end && !head->failed; i++) {
        const struct piece *p = pieces_at(pieces, i);
        if (p->kind == PIECE_TEXT)
            str_add(head, p->of.text, (size_t)p->nbytes);
        for (uint64_t k = 0; p->kind == PIECE_ZERO && k < p->nbytes; k++)
            str_add(head, "", 1);
    }
    if (room != 0 && !writer->lengthen)
        return err_set(err, ERR_UNSUPPORTED, "the new header is shorter, and the tensors of %s follow it directly: write another file with "
            "-o FILE", writer->name);
    if (room != 0)
        writer->lengthen(head, (size_t)room);
    return !head->failed || err_memory(err, head->room);
}

/* Sets *at and *n to the bytes that differ between two headers. */
static void
find_change(struct old_bytes *old, const struct str *head)
{
    size_t from = 0, to = head->len;
    while (from < to && old->p[from] == (uint8_t)head->p[from])
        from++;
    while (from < to && old->p[to - 1] == (uint8_t)head->p[to - 1])
        to--;
    memmove(old->p, old->p + from, to - from);
    old->at = from;
    old->n = to - from;
}

/* Replaces the bytes, with the old ones beside the file meanwhile. A signal waits. */
static bool
replace(int fd, const char *path, struct old_bytes *old, const struct str *head, const struct inputs *inputs, struct err *err)
{
    char *kept = undo_path(path, err);
    sigset_t signals;
    if (!kept || !keep(kept, old, inputs, err)) {
        free(kept);
        return false;
    }
    signals_hold(&signals);
    bool ok = move_all(fd, true, (uint8_t *)head->p + old->at, old->n, old->at) && fsync(fd) == 0;
    if (!ok) {
        in_place_failed(path, ERR_IO, "cannot write", err);
        if (move_all(fd, true, old->p, old->n, old->at) && fsync(fd) == 0)
            unlink(kept);
    } else {
        ok = unlink(kept) == 0 || in_place_failed(kept, ERR_IO, "cannot remove", err);
    }
    signals_release(&signals);
    free(kept);
    return ok;
}

bool
in_place_write(uint64_t *changed, const char *path, const struct model *model, const struct writer *writer,
    const struct pieces *pieces, struct err *err)
{
    struct str head = { 0 };
    struct old_bytes old = { 0 };
    const struct source *src = model->src[0];
    int fd = -1;
    *changed = 0;
    bool ok = (model->nsrc == 1 && !model->folder && source_is_file(src) && source_seekable(src)
            && source_size(src) == source_file_size(src)) || err_set(err, ERR_USAGE, "--in-place requires one uncompressed model file: "
            "give its path");
    ok = ok && make_header(&head, pieces, model, writer, err) && open_locked(&fd, &old.size, path, err) && model_unchanged(model, err);
    if (ok && !(old.p = malloc(head.len)))
        ok = err_memory(err, head.len);
    ok = ok && source_read(model->src[0], 0, old.p, head.len, err);
    if (ok)
        find_change(&old, &head);
    ok = ok && (old.n == 0 || replace(fd, path, &old, &head, &model->inputs, err));
    if (ok)
        *changed = old.n;
    if (fd >= 0)
        close(fd);
    free(old.p);
    str_clear(&head);
    return ok;
}
