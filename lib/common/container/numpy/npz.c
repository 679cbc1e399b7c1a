/* npz: NumPy arrays in a ZIP archive, one per member, named like the member without ".npy".
 *
 * If all arrays are stored, they are used in place. If one is deflated, the source is replaced by the inflated contents of
 * all members, back to back.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "container/numpy/npz.h"
#include "container/container.h"
#include "container/numpy/npy.h"

enum { USUAL = 128 };           /* enough bytes for almost every header */

static bool
is_named_npy(const struct zip_member *m)
{
    return str_ends(m->name, ".npy");
}

/* Checks whether a member is an array: it is named *.npy, and then must be one, or it begins like one. */
static bool
is_array(const struct zip_member *m, struct source *src, bool *is, struct err *err)
{
    uint8_t head[NPY_FIXED];
    size_t n = 0;
    *is = is_named_npy(m);
    if (*is)
        return true;
    if (!zip_head(src, m, head, sizeof head, &n, err))
        return false;
    *is = npy_is(head, n);
    return true;
}

bool
npz_probe(const struct zip *zip, struct source *src, bool *is, struct err *err)
{
    *is = zip->n == 0;
    for (size_t i = 0; i < zip->n && !*is; i++)
        *is = is_named_npy(&zip->member[i]);
    for (size_t i = 0; i < zip->n && !*is; i++)
        if (!is_array(&zip->member[i], src, is, err))
            return false;
    return true;
}

/* State while an archive is read. */
struct npz_reader {
    struct catalog *catalog;
    struct source *src;
    const struct container_options *options;
    uint32_t file;
    bool inflates;              /* offsets count bytes of source_inflate() */
    uint8_t *head;              /* `room` bytes, enough for any header; owned */
    size_t room;
    uint64_t others;            /* members that are not arrays */
};

/* Reads the header of a member into z->head, and parses it. */
static bool
read_header(const struct npz_reader *z, const struct zip_member *m, struct npy_bytes *in, struct npy *npy, uint64_t *length,
    struct err *err)
{
    *in = (struct npy_bytes){ .p = z->head, .at = m->deflated ? ERR_NO_OFFSET : m->at, .name = m->name,
        .name_len = m->name_len - (is_named_npy(m) ? strlen(".npy") : 0) };
    if (!zip_head(z->src, m, z->head, USUAL, &in->n, err) || !npy_length(length, in, err))
        return false;
    return (*length <= USUAL || zip_head(z->src, m, z->head, (size_t)num_min(*length, z->room), &in->n, err))
        && npy_read(npy, in, err);
}

/* Adds the checksum of a stored member, to be compared while its bytes are read. */
static bool
add_check(const struct npz_reader *z, const struct zip_member *m, struct err *err)
{
    const struct extent all = { z->file, m->at, m->nbytes };
    return z->inflates || z->options->no_verify || catalog_add_check(z->catalog, &all, m->crc, err);
}

static bool
add_array(const struct npz_reader *z, const struct zip_member *m, struct err *err)
{
    struct npy npy;
    struct npy_bytes in;
    uint64_t length = 0, need = 0;
    char shown[STR_SHOWN];
    if (!read_header(z, m, &in, &npy, &length, err))
        return false;
    if (npy.sized && (!num_add(&need, length, npy.nbytes) || need != m->nbytes))
        return err_at(err, ERR_MALFORMED, in.at, ERR_TENSOR "its member has %" PRIu64 " bytes, expected %" PRIu64 " of "
            "header plus %" PRIu64 " of data", str_shown(shown, in.name, in.name_len), m->nbytes, length, npy.nbytes);
    const struct extent data = { z->file, (z->inflates ? m->out_at : m->at) + length, m->nbytes - length };
    return npy_add(z->catalog, &npy, &in, &data, err) && add_check(z, m, err);
}

/* Sets z->inflates if any array is deflated. */
static bool
look_for_deflated(struct npz_reader *z, const struct zip *zip, struct err *err)
{
    for (size_t i = 0; i < zip->n && !z->inflates; i++)
        if (zip->member[i].deflated && !is_array(&zip->member[i], z->src, &z->inflates, err))
            return false;
    return true;
}

static bool
add_members(struct npz_reader *z, const struct zip *zip, struct err *err)
{
    if (!look_for_deflated(z, zip, err))
        return false;
    for (size_t i = 0; i < zip->n; i++) {
        bool array;
        if (!is_array(&zip->member[i], z->src, &array, err) || (array && !add_array(z, &zip->member[i], err)))
            return false;
        z->others += !array;
    }
    return true;
}

bool
npz_read(struct catalog *c, struct source *src, struct zip *zip, uint32_t file, const struct container_options *options,
    struct err *err)
{
    uint64_t room = NPY_FIXED + NPY_HEADER_MAX;
    struct npz_reader z = { .catalog = c, .src = src, .options = options, .file = file,
        .head = malloc((size_t)room), .room = room };
    bool ok = (z.head || err_memory(err, room)) && add_members(&z, zip, err)
        && (!z.inflates || source_inflate(src, zip, !options->no_verify, err));
    free(z.head);
    catalog_facts(c)->format = "NPZ";
    if (ok && z.others != 0)
        catalog_note(c, "ignored members that are not arrays: %" PRIu64, z.others);
    return ok;
}
