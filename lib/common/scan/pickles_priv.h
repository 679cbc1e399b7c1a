/* pickles_priv: a scan of one file, or of a file in an archive. pickles.c decides what loaders could take a file for,
 * pickles_zip.c and pickles_tar.c go through archives, pickles_npy.c reads the header of an array, pickles_run.c scans
 * bytes.
 *
 * Every loader begins at the first byte of a file or of a member, or at an archive's directory. So bytes are accounted for
 * when
 *
 *   - read as a pickle from where a loader begins, they name nothing that Python would look up,
 *   - they belong to a pickle that was scanned to its STOP, or
 *   - an index that was read without a fault assigns them to a tensor, a header or a member.
 *
 * Anything else is a fault, and the verdict is unknown unless something dangerous was found. */
#ifndef SCAN_PICKLES_PRIV_H
#define SCAN_PICKLES_PRIV_H

#include "container/container.h"
#include "container/torch/pickle.h"
#include "scan/pickles.h"
#include "source/zip_loose.h"

enum { PICKLES_PROBE = 512, PICKLES_DEPTH = 4, PICKLES_TAIL = 64 << 10 };

struct scanner {
    struct pickles *p;          /* of the whole file; borrowed, as all that follows */
    struct source *src;         /* what is scanned */
    const struct limits *limits;
    const struct pickles_heard *heard;
    struct err *err;
    const char *member;         /* member_len bytes: the path of src in all archives around it; NULL: it is the file */
    size_t member_len;
    unsigned depth;             /* of archives in archives */
    uint64_t *read, read_max;   /* bytes that came out of members and files so far, and when that is enough */
};

/* How bytes are scanned that may begin with a pickle. */
struct pickles_run {
    const char *member;
    size_t member_len;
    bool sure;                  /* they are a pickle, whatever they hold */
    bool whole;                 /* they are a file, so that a stacked checkpoint is possible */
    bool open;                  /* their end is not known: what follows a STOP is a pickle only with a PROTO */
    bool aside;                 /* they have another format: they are a pickle only if that would look up what is not allowed */
    bool gaps;                  /* other bytes are between pickles, and a reader has accounted for them */
    bool peek;                  /* no loader unpickles them, so that only the first 64 KiB are looked at */
};

/* Scans the pickles that the window begins with, and what follows them. */
bool pickles_run(struct scanner *s, const struct pickles_run *run, struct window *w);

/* Scans bytes [at, at + n) of the file by pickles_run(). */
bool pickles_run_at(struct scanner *s, const struct pickles_run *run, uint64_t at, uint64_t n);

/* Scans the array that the window begins with, and sets *npy; of anything else nothing is read beyond its first bytes. */
bool pickles_npy(struct scanner *s, struct pickles_run *run, struct window *w, bool *npy);

/* Scans all that a reader could take for members of a ZIP archive. `strict`: what is wrong with its directory is a fault,
 * since nothing else accounts for the bytes of the file. */
bool pickles_zip(struct scanner *s, bool strict);

bool pickles_tar(struct scanner *s);

/* Scans a file in an archive, which has `shown` as its name in messages and p[0..n) as its path. Closes `inner`. */
bool pickles_inner(struct scanner *s, struct source *inner, const char *path, size_t n, bool sure);

/* Returns the path of a member in all archives it is in, in `path`; false without memory. */
bool pickles_path(const struct scanner *s, struct str *path, const char *member, size_t n, struct err *err);

/* Checks names for which no loader unpickles the bytes, but something else may run them: programs, HDF5. Sets the fault. */
bool pickles_is_program(struct scanner *s, const char *name, size_t n);

/* Notes that bytes were not read, or not understood; the first such fault is kept. The text begins with the member. */
void pickles_fault(struct scanner *s, const char *member, size_t n, enum err_kind kind, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Reads the file by one of the project's own readers, which accounts for all of it. A refusal is a fault, and then
 * *ok is false. Fails when reading fails, or without memory. */
bool pickles_account(struct scanner *s, const struct container *container, bool *ok);

#endif
