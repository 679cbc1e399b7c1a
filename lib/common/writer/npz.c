/* An archive of arrays (writer/npy.c), as Python's zipfile writes it to a stream that cannot seek, since 3.11.4: sizes and
 * checksum come in a descriptor after each member, and readers take them from the directory at the end.
 *
 *     local header    "PK\3\4" 45 flags 0 1980-01-01, checksum 0, sizes ff.., name, and the sizes of ZIP64: 0 0
 *     array           not compressed
 *     descriptor      "PK\7\8" CRC-32 of the array, its size twice (u64)
 *     ... all members
 *     directory       of each "PK\1\2", checksum, sizes, where its local header begins
 *     end             of ZIP64, where the old fields are too small, and "PK\5\6"
 *
 * Descriptors and directory are LATE pieces. The directory is kept in memory; its checksums are filled in when they are
 * known. Form: Lib/zipfile, ZipInfo.FileHeader(), ZipFile._write_end_record(); numpy/lib, _savez().
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/search.h"
#include "kernel/crc.h"
#include "writer/npy_priv.h"
#include "writer/put.h"
#include "writer/writer.h"

enum {
    VERSION = 45, MADE_BY_UNIX = 3 << 8,
    HAS_DESCRIPTOR = 1 << 3, NAME_IS_UTF8 = 1 << 11,
    DATE = 1 << 5 | 1,                  /* 1980-01-01 */
    ZIP64 = 1,                          /* the extra field */
    DESCRIPTOR = 24, CRC_IN_ENTRY = 16,
    NAME_MAX_BYTES = 4096
};

#define MODE ((uint64_t)0600 << 16)     /* zipfile's mode for a member that was not a file */
#define SMALL_MAX INT32_MAX             /* beyond this, zipfile uses ZIP64 */
#define MEMBERS_MAX UINT16_MAX

struct npz_member {
    struct late descriptor;             /* of this member */
    struct npz_writer *npz;
    uint64_t from, to;                  /* range of the array in the output */
    size_t entry;                       /* offset of its entry in the directory */
    uint32_t crc;                       /* of the bytes seen so far */
};

/* Owned by the pieces. */
struct npz_writer {
    const struct kernels *kernels;
    struct str directory;
    struct late directory_late;
    struct npz_member *member;              /* n of them */
    size_t n;
};

static void
npz_free(void *of)
{
    struct npz_writer *z = of;
    str_clear(&z->directory);
    free(z->member);
    free(z);
}

/* --- checksums */

static uint64_t
npz_end_of(const void *members, size_t i)
{
    return ((const struct npz_member *)members)[i].to;
}

/* Finds the member whose array has bytes of [at, at + n), a range without LATE pieces; *skip: bytes of the range before it.
 * NULL if no array does. */
static struct npz_member *
find_member(const struct npz_writer *z, uint64_t at, size_t n, size_t *skip)
{
    size_t i = search_end_after(z->member, z->n, npz_end_of, at);
    if (i == z->n || z->member[i].from >= at + n)
        return NULL;
    if (z->member[i].from > at)
        *skip = (size_t)(z->member[i].from - at);
    else
        *skip = 0;
    return &z->member[i];
}

static uint64_t
digest(void *of, uint64_t at, const uint8_t *p, size_t n)
{
    const struct npz_writer *z = of;
    size_t skip;
    if (find_member(z, at, n, &skip))
        return z->kernels->crc(0, p + skip, n - skip);
    return 0;
}

static void
npz_see(void *of, uint64_t at, const uint8_t *p, size_t n, uint64_t digest)
{
    size_t skip;
    struct npz_member *m = find_member(of, at, n, &skip);
    (void)p;
    if (m)
        m->crc = crc_joined(at + skip == m->from ? 0 : m->crc, (uint32_t)digest, n - skip);
}

/* Implements struct late for the descriptor; also stores the checksum in the directory. */
static void
make_descriptor(void *of, uint64_t from, uint8_t *y, size_t n)
{
    const struct npz_member *m = of;
    uint8_t bytes[DESCRIPTOR] = { 'P', 'K', 7, 8 }, *entry = (uint8_t *)m->npz->directory.p + m->entry;
    for (int i = 0; i < 4; i++)
        bytes[4 + i] = entry[CRC_IN_ENTRY + i] = (uint8_t)(m->crc >> 8 * i);
    store_le64(bytes + 8, m->to - m->from);
    store_le64(bytes + 16, m->to - m->from);
    memcpy(y, bytes + from, n);
}

static void
make_directory(void *of, uint64_t from, uint8_t *y, size_t n)
{
    const struct npz_writer *z = of;
    memcpy(y, z->directory.p + from, n);
}

/* --- headers */

/* Appends the fields shared by local header and directory entry, from the version to the date. */
static void
put_common(struct str *out, const struct tensor *t)
{
    bool ascii = true;
    for (uint32_t i = 0; i < t->name_len; i++)
        ascii = ascii && (uint8_t)t->name[i] < 0x80;
    put(out, VERSION, 2);
    put(out, HAS_DESCRIPTOR | (ascii ? 0 : NAME_IS_UTF8), 2);
    put(out, 0, 2);                     /* not compressed */
    put(out, 0, 2);                     /* midnight */
    put(out, DATE, 2);
}

static void
put_name(struct str *out, const struct tensor *t)
{
    str_add(out, t->name, t->name_len);
    str_text(out, ".npy");
}

static void
put_local(struct str *out, const struct tensor *t)
{
    str_add(out, "PK\3\4", 4);
    put_common(out, t);
    put(out, 0, 4);
    put(out, UINT64_MAX, 8);
    put(out, t->name_len + 4, 2);
    put(out, 4 + 16, 2);
    put_name(out, t);
    put(out, ZIP64, 2);
    put(out, 16, 2);
    put(out, 0, 8);
    put(out, 0, 8);
}

/* Appends the directory entry of a member whose local header is at `at`. */
static void
put_entry(struct str *out, const struct tensor *t, uint64_t nbytes, uint64_t at)
{
    bool large = nbytes > SMALL_MAX, far = at > SMALL_MAX;
    unsigned extra = 8 * (2 * large + far);
    str_add(out, "PK\1\2", 4);
    put(out, MADE_BY_UNIX | VERSION, 2);
    put_common(out, t);
    put(out, 0, 4);                     /* the checksum, filled in later */
    put(out, large ? UINT32_MAX : nbytes, 4);
    put(out, large ? UINT32_MAX : nbytes, 4);
    put(out, t->name_len + 4, 2);
    put(out, extra ? 4 + extra : 0, 2);
    put(out, 0, 6);                     /* no comment, disk 0, not text */
    put(out, MODE, 4);
    put(out, far ? UINT32_MAX : at, 4);
    put_name(out, t);
    if (extra) {
        put(out, ZIP64, 2);
        put(out, extra, 2);
    }
    if (large) {
        put(out, nbytes, 8);
        put(out, nbytes, 8);
    }
    if (far)
        put(out, at, 8);
}

/* Appends the end records of the directory, which begins at `at`. */
static void
put_end(struct str *out, size_t n, uint64_t at)
{
    uint64_t nbytes = out->len, end = at + nbytes;
    if (n > MEMBERS_MAX || at > SMALL_MAX || nbytes > SMALL_MAX) {
        str_add(out, "PK\6\6", 4);
        put(out, 44, 8);                /* size of the rest of this record */
        put(out, VERSION, 2);
        put(out, VERSION, 2);
        put(out, 0, 8);                 /* disks */
        put(out, n, 8);
        put(out, n, 8);
        put(out, nbytes, 8);
        put(out, at, 8);
        str_add(out, "PK\6\7", 4);
        put(out, 0, 4);
        put(out, end, 8);
        put(out, 1, 4);
    }
    str_add(out, "PK\5\6", 4);
    put(out, 0, 4);
    put(out, num_min(n, UINT16_MAX), 2);
    put(out, num_min(n, UINT16_MAX), 2);
    put(out, num_min(nbytes, UINT32_MAX), 4);
    put(out, num_min(at, UINT32_MAX), 4);
    put(out, 0, 2);
}

/* --- pieces */

static bool
check_name(const struct tensor *t, struct err *err)
{
    char name[STR_SHOWN];
    str_shown(name, t->name, t->name_len);
    if (t->name_len > NAME_MAX_BYTES)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: name exceeds the limit of %d bytes in an NPZ file",
            name, NAME_MAX_BYTES);
    return (str_is_utf8(t->name, t->name_len) && !memchr(t->name, '\0', t->name_len))
        || err_set(err, ERR_UNSUPPORTED, "tensor %s: names in an NPZ file must be valid UTF-8 without NUL",
            name);
}

static bool
npz_add_member(struct pieces *pieces, struct npz_writer *z, const struct chosen *chosen, struct err *err)
{
    const struct tensor t = chosen_tensor(chosen);
    struct npz_member *m = &z->member[z->n++];
    struct str header = { 0 };
    uint64_t at = pieces_nbytes(pieces), nbytes;
    *m = (struct npz_member){ .descriptor = { make_descriptor, m }, .npz = z, .entry = z->directory.len };
    put_local(&header, &t);
    m->from = at + header.len;
    bool ok = check_name(&t, err) && npy_header(&header, &t, &nbytes, err)
        && (!header.failed || err_memory(err, header.len))
        && pieces_text(pieces, &header, err) && pieces_chosen(pieces, chosen, err);
    m->to = pieces_nbytes(pieces);
    str_clear(&header);
    if (ok)
        put_entry(&z->directory, &t, m->to - m->from, at);
    return ok && pieces_late(pieces, &m->descriptor, DESCRIPTOR, err);
}

static bool
add_directory(struct pieces *pieces, struct npz_writer *z, struct err *err)
{
    put_end(&z->directory, z->n, pieces_nbytes(pieces));
    if (z->directory.full)
        return err_set(err, ERR_LIMIT, "ZIP directory of the output exceeds the limit of %zu bytes (%s)",
            z->directory.max, limits_origin(z->directory.max, limits_default.alloc, "--max-alloc"));
    if (z->directory.failed)
        return err_memory(err, z->directory.len);
    z->directory_late = (struct late){ make_directory, z };
    return pieces_late(pieces, &z->directory_late, z->directory.len, err);
}

static bool
npz_lay_out(struct pieces *pieces, struct choice *choice, const struct writer_options *options, struct err *err)
{
    struct npz_writer *z = calloc(1, sizeof *z);
    if (!z)
        return err_memory(err, sizeof *z);
    pieces_own(pieces, z, npz_free);
    z->kernels = options->kernels;
    z->directory.max = catalog_limits(choice->input)->alloc;
    z->member = calloc(choice->n + 1, sizeof *z->member);
    if (!z->member)
        return err_memory(err, (choice->n + 1) * sizeof *z->member);
    for (size_t i = 0; i < choice->n; i++)
        if (!npz_add_member(pieces, z, &choice->list[i], err))
            return false;
    pieces_hook(pieces, &(const struct hook){ .digest = digest, .see = npz_see, .of = z });
    return add_directory(pieces, z, err);
}

const struct writer writer_npz = { .name = "NPZ", .align = 1, .lay_out = npz_lay_out };
