#include "container/torch/checkpoint_zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "container/torch/checkpoint_zip_priv.h"

enum { RECORD = 96 + 24 };              /* longest data/KEY to look up, in bytes: keys are decimal numbers */

static const char data_pkl[] = "data.pkl";

/* --- names ----------------------------------------------------------------------------------------------- */

/* Returns the bytes before the first slash; SIZE_MAX if there is none. */
static size_t
prefix_of(const struct zip_member *m)
{
    const char *slash = memchr(m->name, '/', m->name_len);
    if (slash)
        return (size_t)(slash - m->name);
    return SIZE_MAX;
}

/* Returns true if a path has a component "..". */
static bool
climbs(const char *p, size_t n)
{
    for (size_t i = 0, end; i < n; i = end + 1) {
        const char *slash = memchr(p + i, '/', n - i);
        if (slash)
            end = (size_t)(slash - p);
        else
            end = n;
        if (str_is(p + i, end - i, ".."))
            return true;
    }
    return false;
}

/* Checks that every member is PREFIX/record, with one prefix. */
static bool
check_names(struct archive *a, struct err *err)
{
    const struct zip *zip = a->zip;
    char shown[STR_SHOWN], prefix[STR_SHOWN];
    for (size_t i = 0; i < zip->n; i++) {
        const struct zip_member *m = &zip->member[i];
        size_t n = prefix_of(m);
        str_shown(shown, m->name, m->name_len);
        if (n == SIZE_MAX || n == 0 || n + 1 == m->name_len || climbs(m->name, m->name_len)
            || memchr(m->name, '\\', m->name_len))
            return err_at(err, ERR_MALFORMED, m->header_at, "unexpected member %s in the archive, expected FOLDER/NAME as "
                "torch.save writes it", shown);
        if (i == 0) {
            a->prefix = m->name;
            a->prefix_len = n;
        } else if (n != a->prefix_len || memcmp(m->name, a->prefix, n) != 0) {
            return err_at(err, ERR_MALFORMED, m->header_at, "unexpected member %s in the archive, expected all members under "
                "%s/", shown, str_shown(prefix, a->prefix, a->prefix_len));
        }
    }
    return true;
}

static const struct zip_member *
checkpoint_zip_find(const struct archive *a, const char *record, size_t n)
{
    char name[STR_SHOWN * 4 + RECORD];
    if (a->prefix_len + 1 + n <= sizeof name) {
        memcpy(name, a->prefix, a->prefix_len);
        name[a->prefix_len] = '/';
        memcpy(name + a->prefix_len + 1, record, n);
        return zip_find(a->zip, name, a->prefix_len + 1 + n);
    }
    for (size_t i = 0; i < a->zip->n; i++) {            /* a prefix longer than any real one */
        const struct zip_member *m = &a->zip->member[i];
        if (m->name_len == a->prefix_len + 1 + n && memcmp(m->name + a->prefix_len + 1, record, n) == 0)
            return m;
    }
    return NULL;
}

/* --- small members --------------------------------------------------------------------------------------- */

enum { SMALL = 64 };                    /* bytes to read of a one-word member */

/* Reads a one-word member, up to SMALL bytes; a longer one reads as empty. */
static bool
read_small(struct source *src, const struct zip_member *m, char text[SMALL + 1], struct err *err)
{
    size_t n = 0;
    if (!zip_head(src, m, text, SMALL, &n, err))
        return false;
    text[m->nbytes > SMALL ? 0 : n] = '\0';
    return true;
}

static bool
check_version(const struct archive *a, struct source *src, struct err *err)
{
    enum { OLDEST = 1, NEWEST = 10 };
    char text[SMALL + 1];
    uint64_t version;
    const struct zip_member *m = checkpoint_zip_find(a, "version", 7);
    if (!m)
        m = checkpoint_zip_find(a, ".data/version", 13);
    if (!m)
        return err_set(err, ERR_MALFORMED, "the archive has no version, which torch.save writes last "
            "(incomplete download or copy?)");
    if (!read_small(src, m, text, err))
        return false;
    text[strcspn(text, "\n")] = '\0';
    if (!str_to_u64(&version, text))
        return err_at(err, ERR_MALFORMED, m->at, "version is not a number on one line, expected %d to %d", OLDEST, NEWEST);
    return (version >= OLDEST && version <= NEWEST) || err_at(err, ERR_UNSUPPORTED, m->at, "version is %" PRIu64 ", expected "
        "%d to %d", version, OLDEST, NEWEST);
}

/* Returns the record that torch uses as byteorder, in any letter case, or NULL. Without one, the file is little-endian. */
static const struct zip_member *
find_byte_order(const struct archive *a)
{
    static const char name[] = "byteorder";
    for (size_t i = 0; i < a->zip->n; i++) {
        const struct zip_member *m = &a->zip->member[i];
        if (m->name_len == a->prefix_len + sizeof name && strncasecmp(m->name + a->prefix_len + 1, name, sizeof name - 1) == 0)
            return m;
    }
    return NULL;
}

/* Reads exactly "little" or "big": torch refuses any other spelling. */
static bool
read_byte_order(struct archive *a, struct source *src, struct err *err)
{
    char text[SMALL + 1];
    const struct zip_member *m = find_byte_order(a);
    a->big_endian = false;
    if (!m)
        return true;
    if (!read_small(src, m, text, err))
        return false;
    a->big_endian = str_is(text, m->nbytes, "big");
    return a->big_endian || str_is(text, m->nbytes, "little") || err_at(err, ERR_MALFORMED, m->at,
        "byteorder is neither \"little\" nor \"big\"");
}

/* Fails for the archives of torch that are not checkpoints. */
static bool
refuse_program(const struct archive *a, struct err *err)
{
    static const struct { const char *record, *what; } kinds[] = {
        { "archive_format", "a program of torch.export (.pt2) with its weights, which is not supported: load it with "
            "torch.export.load and save its state_dict" },
        { ".data/extern_modules", "an archive of torch.package, Python code with its data, which is not supported: load it with "
            "torch.package and save the state_dict() of the model" },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (checkpoint_zip_find(a, kinds[i].record, strlen(kinds[i].record)))
            return err_set(err, ERR_UNSUPPORTED, "this is %s", kinds[i].what);
    return true;
}

bool
archive_check(struct archive *a, struct source *src, const struct zip *zip, struct budget *budget, struct err *err)
{
    *a = (struct archive){ .zip = zip };
    if (!zip_cases_differ(zip, budget, err) || !check_names(a, err))
        return false;
    if (!checkpoint_zip_find(a, data_pkl, sizeof data_pkl - 1) && !refuse_program(a, err))
        return false;
    if (!checkpoint_zip_find(a, data_pkl, sizeof data_pkl - 1))
        return err_set(err, ERR_MALFORMED, "the archive has no data.pkl: the program that saved it was "
            "interrupted or failed");
    if (checkpoint_zip_find(a, "constants.pkl", 13))
        return err_set(err, ERR_UNSUPPORTED, "this is a TorchScript archive, a program with its weights, which "
            "is not supported: load it with torch.jit.load and save its state_dict()");
    return check_version(a, src, err) && read_byte_order(a, src, err);
}

/* --- the object and its storages ------------------------------------------------------------------------- */

bool
archive_object(struct pickle **pickle, struct checkpoint *checkpoint, const uint8_t *p, size_t n, uint64_t at,
    const struct container_options *options, struct budget *budget, struct err *err)
{
    const struct checkpoint_options how = { .root = options->root };
    const struct pickle_value *root;
    size_t used;
    return pickle_run(pickle, &root, p, n, &used, at, budget, err)
        && (used == n || err_at(err, ERR_MALFORMED, at + used, "%zu trailing bytes after the pickle in data.pkl", n - used))
        && checkpoint_read(checkpoint, *pickle, &how, budget, err);
}

bool
archive_storage(const struct zip_member **m, const struct archive *a, const char *key, size_t key_len, uint64_t nbytes,
    struct err *err)
{
    char record[RECORD], shown[STR_SHOWN];
    str_shown(shown, key, key_len);
    *m = NULL;
    if (key_len <= sizeof record - 5) {
        memcpy(record, "data/", 5);
        memcpy(record + 5, key, key_len);
        *m = checkpoint_zip_find(a, record, key_len + 5);
    }
    if (!*m)
        return err_set(err, ERR_MALFORMED, "the archive has no storage %s, which the tensors need (member "
            "data/%s)", shown, shown);
    return (*m)->nbytes == nbytes || err_at(err, ERR_MALFORMED, (*m)->at, "storage %s has %" PRIu64 " bytes, expected %"
        PRIu64, shown, (*m)->nbytes, nbytes);
}

void
archive_facts(struct catalog *c, bool big_endian, uint64_t header_end, uint64_t file_end)
{
    struct catalog_facts *f = catalog_facts(c);
    f->format = "PyTorch";
    f->big_endian = big_endian;
    f->header_end = header_end;
    f->file_end = file_end;
}

/* State of a search for every storage that the object names. */
struct zip_storage {
    const struct zip_member **member;   /* one per storage; owned */
    bool deflated;                      /* some are deflated */
    size_t unchecked;                   /* have no CRC-32 */
};

static bool
find_storages(struct zip_storage *f, const struct archive *a, const struct checkpoint *cp, struct err *err)
{
    f->member = calloc(cp->nstorages + 1, sizeof *f->member);
    if (!f->member)
        return err_memory(err, cp->nstorages * sizeof *f->member);
    for (size_t i = 0; i < cp->nstorages; i++) {
        const struct checkpoint_storage *s = &cp->storage[i];
        if (!archive_storage(&f->member[i], a, s->key, s->key_len, s->nbytes, err))
            return false;
        f->deflated = f->deflated || f->member[i]->deflated;
        f->unchecked += f->member[i]->crc == 0 && s->nbytes != 0;
    }
    return true;
}

/* Sets the offsets of all storages, and adds their checksums. */
static bool
place_storages(const struct zip_storage *f, struct catalog *c, struct checkpoint *cp, uint32_t file, struct err *err)
{
    for (size_t i = 0; i < cp->nstorages; i++) {
        const struct zip_member *m = f->member[i];
        const struct extent e = { .file = file, .at = m->at, .nbytes = m->nbytes };
        if (f->deflated)
            cp->storage[i].at = m->out_at;
        else
            cp->storage[i].at = m->at;
        if (!f->deflated && m->crc != 0 && m->nbytes != 0 && !catalog_add_check(c, &e, m->crc, err))
            return false;
    }
    return true;
}

static void
note_storages(struct catalog *c, const struct archive *a, const struct zip_storage *f, const struct checkpoint *cp)
{
    size_t stored = 0;
    for (size_t i = 0; i < a->zip->n; i++)
        stored += a->zip->member[i].name_len > a->prefix_len + 6
            && memcmp(a->zip->member[i].name + a->prefix_len, "/data/", 6) == 0;
    if (stored > cp->nstorages)
        catalog_note(c, "unused storages: %zu", stored - cp->nstorages);
    if (f->unchecked != 0)
        catalog_note(c, "storages without a CRC-32, where damage goes unnoticed: %zu", f->unchecked);
}

/* Reads all of data.pkl. The caller frees *p. */
static bool
read_object(uint8_t **p, struct source *src, const struct zip_member *m, struct budget *budget, struct err *err)
{
    size_t got;
    if (!limits_check(m->nbytes, PICKLE_MAX, "bytes of data.pkl", err)
        || !budget_bytes(budget, m->nbytes, "pickle bytes", err))
        return false;
    *p = malloc((size_t)m->nbytes + 1);
    if (*p)
        return zip_head(src, m, *p, (size_t)m->nbytes, &got, err);
    return err_memory(err, m->nbytes);
}

bool
checkpoint_zip_read(struct catalog *c, struct source *src, struct zip *zip, uint32_t file,
    const struct container_options *options, struct err *err)
{
    struct budget *budget = catalog_budget(c);
    struct archive a;
    struct checkpoint cp = { 0 };
    struct pickle *pickle = NULL;
    struct zip_storage found = { 0 };
    uint8_t *object = NULL;
    bool ok = archive_check(&a, src, zip, budget, err);
    const struct zip_member *m = NULL;
    if (ok)
        m = checkpoint_zip_find(&a, data_pkl, sizeof data_pkl - 1);
    ok = ok && read_object(&object, src, m, budget, err)
        && archive_object(&pickle, &cp, object, (size_t)m->nbytes, m->at, options, budget, err)
        && find_storages(&found, &a, &cp, err);
    if (ok) {
        uint64_t end = source_size(src);
        note_storages(c, &a, &found, &cp);
        archive_facts(c, a.big_endian, 0, found.deflated ? 0 : end);        /* storages may come before the object */
        ok = (!found.deflated || source_inflate(src, zip, !options->no_verify, err))
            && place_storages(&found, c, &cp, file, err) && checkpoint_add(&cp, c, file, a.big_endian, err);
    }
    free(found.member);
    checkpoint_clear(&cp);
    pickle_free(pickle);
    free(object);
    return ok;
}
