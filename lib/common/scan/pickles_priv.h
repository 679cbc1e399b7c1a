/* pickles_priv: the scan of one file, or of a file in an archive. pickles.c decides how loaders could interpret a file,
 * pickles_zip.c and pickles_tar.c walk archives, pickles_npy.c reads the header of an array, pickles_run.c scans bytes.
 *
 * Every loader begins at the first byte of a file or member, or at an archive's directory. So bytes are accounted for when
 *
 * - read as a pickle from where a loader begins, they name nothing that Python would look up, - they belong to a pickle that
 * was scanned to its STOP, or - an index that was read without a fault assigns them to a tensor, a header or a member.
 *
 * Anything else is a fault, and the verdict is then unknown, unless something dangerous was found.
 */
#ifndef SCAN_PICKLES_PRIV_H
#define SCAN_PICKLES_PRIV_H

#include "container/container.h"
#include "container/torch/pickle.h"
#include "scan/pickles.h"
#include "source/zip_loose.h"

enum { PICKLES_PROBE = 512, PICKLES_DEPTH = 4, PICKLES_TAIL = 64 << 10 };

struct scanner {
    struct pickles *p;          /* of the whole file; borrowed, like everything below */
    struct source *src;         /* what is scanned */
    const struct limits *limits;
    const struct pickles_callback *callback;
    struct err *err;
    const char *member;         /* member_len bytes: the path of src through all enclosing archives; NULL: src is the file */
    size_t member_len;
    unsigned depth;             /* of archives in archives */
    bool shards;                /* see struct pickles_callback */
    uint64_t *read, read_max;   /* bytes read from members and files so far, and their limit */
};

/* How to scan bytes that may begin with a pickle. */
struct pickles_run {
    const char *member;
    size_t member_len;
    bool sure;                  /* they are a pickle, whatever they contain */
    bool whole;                 /* they are a whole file, so a stacked checkpoint is possible */
    bool open;                  /* their end is unknown: after a STOP, only a PROTO begins another pickle */
    bool aside;                 /* they have another format: a pickle only if it would look up something not allowed */
    bool gaps;                  /* other bytes are between the pickles, and a reader has accounted for them */
    bool peek;                  /* no loader unpickles them: scan the first 64 KiB only */
};

/* Scans the pickles at the start of the window, and the bytes after them. */
bool pickles_run(struct scanner *s, const struct pickles_run *run, struct window *w);

/* Scans bytes [at, at + n) of the file with pickles_run(). */
bool pickles_run_at(struct scanner *s, const struct pickles_run *run, uint64_t at, uint64_t n);

/* Scans the array at the start of the window, and sets *npy. If there is none, reads nothing beyond the first bytes. */
bool pickles_npy(struct scanner *s, struct pickles_run *run, struct window *w, bool *npy);

/* Scans everything that a reader could take for a member of a ZIP archive. `strict`: an error in its directory is a fault,
 * because nothing else accounts for the bytes of the file. */
bool pickles_zip(struct scanner *s, bool strict);

bool pickles_tar(struct scanner *s);

/* Scans archives that follow each other; anything else is a fault. */
bool pickles_row(struct scanner *s);

/* Allows all names of the pickle at p if the reader of such a checkpoint accepts it. Fails without memory. */
bool pickles_allow_shards(const struct scanner *s, struct pickle_scan *scan, const uint8_t *p);

/* Scans a file in an archive, with the path p[0..n). Closes `inner`. */
bool pickles_inner(struct scanner *s, struct source *inner, const char *path, size_t n, bool sure);

/* Appends to `path` the path of a member through all enclosing archives; false without memory. */
bool pickles_path(const struct scanner *s, struct str *path, const char *member, size_t n, struct err *err);

/* Returns true, and sets the fault, for names whose bytes no loader unpickles but other programs may run: scripts,
 * libraries, HDF5. */
bool pickles_is_program(struct scanner *s, const char *name, size_t n);

/* Notes that bytes were not read, or not understood; only the first such fault is kept. The message begins with the member. */
void pickles_fault(struct scanner *s, const char *member, size_t n, enum err_kind kind, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Reads the file with one of the project's own readers, which accounts for all of it. If that refuses the file, sets a fault
 * and clears *ok. Fails if reading fails, or without memory. */
bool pickles_account(struct scanner *s, const struct container *container, bool *ok);

#endif
