/* A checkpoint in a ZIP archive that is not seekable. The length of a stored member comes after it, so a ZIP stream cannot
 * normally be split into members. But torch writes data.pkl first, the pickle marks its own end, and it declares the size of
 * each storage. The bytes that torch's writer puts around these are known exactly:
 *
 *      local header (30) | name | ZIP64 field beyond 4 GiB | field "FB": padding | bytes | descriptor
 *
 * The padding aligns the bytes to 64, or to .storage_alignment. Empty members have no descriptor; otherwise it has 16 bytes,
 * or 24 beyond 4 GiB. Storages are sorted by key, as texts, or as numbers if there is a .format_version. Source:
 * caffe2/serialize/inline_container.cc, third_party/miniz, and archives written by torch 1.13, 2.6 and 2.14.
 *
 * The prediction is never trusted: all bytes between storages are kept, and at the end they are read as the archive they
 * form, with its directory. Every position and CRC-32 must then match what was predicted and seen.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/num.h"
#include "base/str.h"
#include "container/torch/checkpoint_zip_priv.h"
#include "source/parts.h"
#include "source/watch.h"

enum {
    HEADER = 30,                /* bytes of a local header */
    FLAGS = 0x0808,             /* a descriptor follows; names are UTF-8 */
    FLAGS_EMPTY = 0x0800,
    FIELD = 4,                  /* id and length of an extra field */
    SMALL = 4096,               /* limit in bytes for a member that is not a storage */
    GAP = 8192,                 /* bytes kept between two storages: the rest is padding */
    TAIL = 16 << 20,            /* bytes kept after the last one, plus ENTRY for each storage: */
    ENTRY = 4096 + 256
};

static const uint8_t local_magic[4] = "PK\3\4", descriptor_magic[4] = "PK\7\10";

/* --- local headers --------------------------------------------------------------------------------------- */

struct local {
    uint16_t flags, method;
    const char *name;           /* borrowed from the head */
    size_t name_len;
    uint64_t at;                /* file offset of its data */
};

/* Reads the local header at `at` from the head. Sets *good unless torch would not write it so. */
static bool
read_local(struct local *l, struct source *src, uint64_t at, bool *good, struct err *err)
{
    const uint8_t *p;
    uint64_t have;
    *good = false;
    if (!source_head(src, at + HEADER + UINT16_MAX, &p, &have, err))
        return false;
    if (have < at + HEADER || memcmp(p + at, local_magic, 4) != 0)
        return true;
    struct cursor c = { .p = p + at + 6, .left = have - at - 6 };
    l->flags = cursor_u16(&c);
    l->method = cursor_u16(&c);
    cursor_take(&c, 16);        /* time, date, CRC-32 and sizes, which a descriptor gives later */
    l->name_len = cursor_u16(&c);
    uint64_t extra = cursor_u16(&c);
    l->name = (const char *)cursor_take(&c, l->name_len);
    l->at = at + HEADER + l->name_len + extra;
    *good = l->name && l->method == 0 && (l->flags == FLAGS || l->flags == FLAGS_EMPTY);
    return true;
}

/* Returns true if a descriptor for n bytes is at p; sets *crc to its CRC-32. */
static bool
is_descriptor(const uint8_t *p, uint64_t have, uint64_t n, uint32_t *crc)
{
    struct cursor c = { .p = p, .left = have };
    const uint8_t *magic = cursor_take(&c, 4);
    *crc = cursor_u32(&c);
    uint64_t stored = cursor_u32(&c), nbytes = cursor_u32(&c);
    return !c.bad && memcmp(magic, descriptor_magic, 4) == 0 && stored == n && nbytes == n;
}

enum { DESCRIPTOR = 16, DESCRIPTOR_LONG = 24 };

/* --- the members before the storages --------------------------------------------------------------------- */

/* Facts about an archive, from its first members. */
struct begin {
    size_t prefix_len;
    uint64_t object_at;         /* file offset of data.pkl */
    size_t object_n;            /* its bytes */
    uint32_t object_crc;        /* 0: the archive has none */
    bool big_endian, numbered;
    uint64_t align;
    uint64_t end;               /* file offset after the last member before the storages */
};

/* Finds the end of data.pkl, after its STOP, and checks its descriptor. */
static bool
find_object(struct begin *b, struct source *src, bool *good, struct err *err)
{
    const uint8_t *p;
    uint64_t have, want = b->object_at + SOURCE_SETTLE;
    size_t from = 0;
    for (b->object_n = 0; b->object_n == 0; want = 2 * want) {
        if (!source_head(src, want, &p, &have, err))
            return false;
        if (have <= b->object_at)
            return true;
        b->object_n = pickle_length(p + b->object_at, (size_t)(have - b->object_at), &from);
        if (b->object_n == 0 && (have < want || have - b->object_at > PICKLE_MAX))
            return true;        /* reading it as a file will report the error */
    }
    uint64_t end = b->object_at + b->object_n;
    if (!source_head(src, end + DESCRIPTOR, &p, &have, err))
        return false;
    *good = have >= end && is_descriptor(p + end, have - end, b->object_n, &b->object_crc)
        && (b->object_crc == 0 || b->object_crc == zip_crc(0, p + b->object_at, b->object_n));
    b->end = end + DESCRIPTOR;
    return true;
}

/* Reads the bytes of a small member, up to the descriptor that matches their number. */
static bool
find_small(struct source *src, const struct local *l, char text[SMALL + 1], uint64_t *end, bool *good, struct err *err)
{
    const uint8_t *p;
    uint64_t have;
    uint32_t crc;
    *good = false;
    if (!source_head(src, l->at + SMALL + DESCRIPTOR, &p, &have, err))
        return false;
    for (uint64_t n = 0; n <= SMALL && l->at + n < have && !*good; n++) {
        if (!is_descriptor(p + l->at + n, have - l->at - n, n, &crc) || (crc != 0 && crc != zip_crc(0, p + l->at, n)))
            continue;
        memcpy(text, p + l->at, n);
        text[n] = '\0';
        *end = l->at + n + DESCRIPTOR;
        *good = strlen(text) == n;
    }
    return true;
}

static bool
name_is(const struct local *l, size_t prefix_len, const char *record)
{
    size_t n = strlen(record);
    return l->name_len == prefix_len + 1 + n && l->name[prefix_len] == '/' && memcmp(l->name + prefix_len + 1, record, n) == 0;
}

/* Interprets a small member. Clears *good if torch would not write it. */
static bool
read_fact(struct begin *b, const char *record, const char *text)
{
    if (strcmp(record, "byteorder") == 0) {
        b->big_endian = strcmp(text, "big") == 0;
        return b->big_endian || strcmp(text, "little") == 0;
    }
    if (strcmp(record, ".format_version") == 0)
        return (b->numbered = strcmp(text, "1") == 0);
    return str_to_u64(&b->align, text) && b->align != 0 && b->align <= 1 << 16;
}

/* Reads the members that torch writes between data.pkl and the storages. */
static bool
read_facts(struct begin *b, struct source *src, bool *good, struct err *err)
{
    static const char *const records[] = { "byteorder", ".format_version", ".storage_alignment" };
    struct local l;
    char text[SMALL + 1];
    for (size_t i = 0; *good && i < sizeof records / sizeof *records; i++) {
        bool there;
        if (!read_local(&l, src, b->end, &there, err))
            return false;
        for (size_t k = 0; there && k < sizeof records / sizeof *records; k++)
            if (name_is(&l, b->prefix_len, records[k])) {
                if (!find_small(src, &l, text, &b->end, good, err))
                    return false;
                *good = *good && read_fact(b, records[k], text);
                break;
            }
    }
    return true;
}

static bool
read_begin(struct begin *b, struct source *src, bool *good, struct err *err)
{
    static const char object[] = "/data.pkl";
    struct local l;
    *b = (struct begin){ .align = 64 };
    if (!read_local(&l, src, 0, good, err))
        return false;
    if (!*good)
        return true;
    size_t n = sizeof object - 1;
    *good = l.flags == FLAGS && l.name_len > n && memcmp(l.name + l.name_len - n, object, n) == 0
        && !memchr(l.name, '/', l.name_len - n);
    b->prefix_len = l.name_len - n;
    b->object_at = l.at;
    if (!*good)
        return true;
    *good = false;
    return find_object(b, src, good, err) && (!*good || read_facts(b, src, good, err));
}

/* --- predicting the storages ----------------------------------------------------------------------------- */

/* A storage and its predicted position. */
struct predicted {
    uint64_t header_at, at, nbytes;
    size_t key;                 /* offset in pass.keys */
    uint32_t key_len;
    uint32_t crc;               /* of the bytes seen so far */
};

/* State while the archive passes. */
struct pass {
    struct predicted *list;        /* n of them; owned */
    size_t n, next;             /* the current storage, or the next one */
    char *keys;                 /* owned */
    char *prefix;               /* begin.prefix_len bytes; owned */
    struct begin begin;
    struct parts kept;          /* all bytes outside storages */
    uint64_t gap_at;            /* where the gap before the next storage begins */
    bool no_verify;
    char *name;                 /* of the input, for messages; owned */
    struct limits limits;
};

static void
free_pass(void *of)
{
    struct pass *p = of;
    parts_clear(&p->kept);
    free(p->list);
    free(p->keys);
    free(p->prefix);
    free(p->name);
    free(p);
}

static int
compare_numbers(const void *pa, const void *pb)
{
    const struct checkpoint_storage *const *a = pa, *const *b = pb;
    if ((*a)->key_len != (*b)->key_len)
        return (*a)->key_len < (*b)->key_len ? -1 : 1;
    return memcmp((*a)->key, (*b)->key, (*a)->key_len);
}

static int
compare_texts(const void *pa, const void *pb)
{
    const struct checkpoint_storage *const *a = pa, *const *b = pb;
    return str_compare((*a)->key, (*a)->key_len, (*b)->key, (*b)->key_len);
}

/* Predicts the position of a storage whose local header is at *at, and advances *at past it. Fails with ERR_LIMIT beyond
 * 2^62. */
static bool
predict_offset(struct predicted *s, const struct begin *b, uint64_t *at, struct err *err)
{
    bool large = s->nbytes >= UINT32_MAX, far = *at >= UINT32_MAX;
    uint64_t begin = *at + HEADER + b->prefix_len + strlen("/data/") + s->key_len + FIELD;
    if (large || far)
        begin += FIELD + (large ? 16 : 0) + (far ? 8 : 0);
    s->header_at = *at;
    s->at = num_ceil_div(begin, b->align) * b->align;
    if (!num_add(at, s->at, s->nbytes) || *at > INT64_MAX / 2)
        return err_at(err, ERR_LIMIT, s->header_at, "total size of the storages exceeds the limit of 2^62 bytes");
    *at += s->nbytes == 0 ? 0 : large || far ? DESCRIPTOR_LONG : DESCRIPTOR;
    return true;
}

/* Sorts the storages into file order and predicts their positions, also in the checkpoint. */
static bool
predict_offsets(struct pass *p, struct checkpoint *cp, struct err *err)
{
    struct checkpoint_storage **order = calloc(cp->nstorages + 1, sizeof *order);
    size_t text = 0;
    uint64_t at = p->begin.end;
    for (size_t i = 0; order && i < cp->nstorages; i++) {
        order[i] = &cp->storage[i];
        text += order[i]->key_len;
    }
    p->list = calloc(cp->nstorages + 1, sizeof *p->list);
    p->keys = malloc(text + 1);
    bool ok = (order && p->list && p->keys) || err_memory(err, text + cp->nstorages * sizeof *p->list);
    if (ok && cp->nstorages != 0)
        qsort(order, cp->nstorages, sizeof *order, p->begin.numbered ? compare_numbers : compare_texts);
    text = 0;
    for (; ok && p->n < cp->nstorages; p->n++) {
        struct predicted *s = &p->list[p->n];
        *s = (struct predicted){ .nbytes = order[p->n]->nbytes, .key = text, .key_len = order[p->n]->key_len };
        memcpy(p->keys + text, order[p->n]->key, s->key_len);
        text += s->key_len;
        ok = predict_offset(s, &p->begin, &at, err);
        order[p->n]->at = s->at;
    }
    free(order);
    return ok;
}

/* --- watching the bytes pass ----------------------------------------------------------------------------- */

/* Checks that the bytes kept before a storage end with its predicted local header, apart from padding. */
static bool
check_header(const struct pass *p, const struct predicted *s, struct source *kept, struct err *err)
{
    uint8_t h[HEADER];
    char name[SMALL], shown[STR_SHOWN];
    size_t n = p->begin.prefix_len + strlen("/data/") + s->key_len;
    bool same = n <= sizeof name;
    if (!source_read(kept, s->header_at, h, HEADER, err) || (same && !source_read(kept, s->header_at + HEADER, name, n, err)))
        return false;
    same = same && memcmp(h, local_magic, 4) == 0 && load_le16(h + 26) == n
        && s->header_at + HEADER + n + load_le16(h + 28) == s->at && memcmp(name, p->prefix, p->begin.prefix_len) == 0
        && memcmp(name + p->begin.prefix_len, "/data/", 6) == 0
        && memcmp(name + n - s->key_len, p->keys + s->key, s->key_len) == 0;
    return same || err_at(err, ERR_UNSUPPORTED, s->header_at, "storage %s is not where torch.save writes it, so the archive "
        "cannot be read from a pipe: give a file name instead", str_shown(shown, p->keys + s->key, s->key_len));
}

/* Checks the header of the next storage as its bytes begin. */
static bool
begin_storage(struct pass *p, struct err *err)
{
    const struct predicted *s = &p->list[p->next];
    struct source *kept = NULL;
    bool ok = source_of_parts(&kept, &p->kept, s->at, p->name, err) && check_header(p, s, kept, err);
    source_close(kept);
    return ok;
}

/* Keeps the bytes of a gap; of a long one, only the part before the padding. */
static bool
keep_gap(struct pass *p, uint64_t at, const uint8_t *bytes, size_t n, struct err *err)
{
    bool last = p->next == p->n;
    uint64_t most = last ? num_min(TAIL + p->n * ENTRY, TAIL + ZIP_DIRECTORY_MAX) : GAP, done = at - p->gap_at;
    if (done + n > most && last)
        return err_at(err, ERR_UNSUPPORTED, at, "more than %" PRIu64 " bytes follow the last storage that the tensors need, "
            "so it cannot be read from a pipe: give a file name instead", most);
    return done >= most || parts_keep(&p->kept, at, bytes, (size_t)num_min(n, most - done), err);
}

static bool
checkpoint_forward_see(void *of, uint64_t at, const uint8_t *bytes, size_t n, struct err *err)
{
    struct pass *p = of;
    for (size_t some; n != 0 || (p->next < p->n && at >= p->list[p->next].at && p->list[p->next].nbytes == 0);
            at += some, bytes += some, n -= some) {
        struct predicted *s = NULL;
        if (p->next < p->n)
            s = &p->list[p->next];
        if (s && at >= s->at) {
            some = (size_t)num_min(n, s->at + s->nbytes - at);
            if (p->no_verify)
                s->crc = 0;
            else
                s->crc = zip_crc(s->crc, bytes, some);
            if (at + some == s->at + s->nbytes) {
                p->next++;
                p->gap_at = at + some;
            }
            continue;
        }
        some = (size_t)num_min(n, s ? s->at - at : n);
        if (!keep_gap(p, at, bytes, some, err) || (s && at + some == s->at && !begin_storage(p, err)))
            return false;
    }
    return true;
}

static bool
check_storage(const struct pass *p, const struct archive *a, const struct predicted *s, struct err *err)
{
    const struct zip_member *m;
    char shown[STR_SHOWN];
    if (!archive_storage(&m, a, p->keys + s->key, s->key_len, s->nbytes, err))
        return false;
    str_shown(shown, p->keys + s->key, s->key_len);
    if (m->deflated || m->at != s->at)
        return err_at(err, ERR_MALFORMED, m->header_at, "the ZIP directory has storage %s at byte %" PRIu64 ", but it was "
            "found at byte %" PRIu64, shown, m->at, s->at);
    return p->no_verify || m->crc == 0 || m->crc == s->crc || err_at(err, ERR_MALFORMED, s->at, "CRC-32 of storage %s is %08"
        PRIx32 ", expected %08" PRIx32 ": the data is damaged (--no-verify skips this check)", shown, s->crc, m->crc);
}

/* Checks that the archive that has passed matches the prediction. */
static bool
check_all(struct pass *p, struct source *kept, struct zip *zip, struct err *err)
{
    struct budget budget = { .limits = p->limits };
    struct archive a;
    if (!zip_read(zip, kept, &budget, err) || !archive_check(&a, kept, zip, &budget, err))
        return false;
    const struct zip_member *object = &zip->member[0];
    if (object->deflated || object->at != p->begin.object_at || object->nbytes != p->begin.object_n
        || object->crc != p->begin.object_crc || a.big_endian != p->begin.big_endian)
        return err_at(err, ERR_MALFORMED, object->header_at, "the ZIP directory contradicts the headers of the first members");
    for (size_t i = 0; i < p->n; i++)
        if (!check_storage(p, &a, &p->list[i], err))
            return false;
    return true;
}

static bool
ended(void *of, uint64_t at, struct err *err)
{
    struct pass *p = of;
    struct source *kept = NULL;
    struct zip zip = { 0 };
    if (p->next < p->n)
        return err_at(err, ERR_MALFORMED, at, SOURCE_TRUNCATED, at, p->list[p->n - 1].at + p->list[p->n - 1].nbytes);
    bool ok = source_of_parts(&kept, &p->kept, at, p->name, err) && check_all(p, kept, &zip, err);
    zip_clear(&zip);
    source_close(kept);
    return ok;
}


/* Keeps the bytes before the storages, except the pickle, and starts watching. */
static bool
watch(struct pass *p, struct source *src, struct err *err)
{
    const struct watcher watcher = { checkpoint_forward_see, ended, free_pass, p };
    const uint8_t *head;
    uint64_t have, object_end = p->begin.object_at + p->begin.object_n;
    p->gap_at = p->begin.end;
    if (!source_head(src, p->begin.end, &head, &have, err)
        || !parts_keep(&p->kept, 0, head, (size_t)p->begin.object_at, err)
        || !parts_keep(&p->kept, object_end, head + object_end, (size_t)(p->begin.end - object_end), err)) {
        free_pass(p);
        return false;
    }
    return source_watch(src, p->begin.end, &watcher, err);
}

static struct pass *
new_pass(const struct begin *begin, const struct source *src, const uint8_t *head, const struct container_options *options,
    struct err *err)
{
    struct pass *p = calloc(1, sizeof *p);
    if (!p) {
        err_memory(err, sizeof *p);
        return NULL;
    }
    *p = (struct pass){ .begin = *begin, .limits = *options->limits, .no_verify = options->no_verify,
        .prefix = malloc(begin->prefix_len + 1), .name = strdup(source_name(src)) };
    if (p->prefix && p->name) {
        memcpy(p->prefix, head + HEADER, begin->prefix_len);
        return p;
    }
    free_pass(p);
    err_memory(err, begin->prefix_len);
    return NULL;
}

/* Checks that the first storage is the predicted one. */
static bool
starts_as_predicted(const struct pass *p, struct source *src, bool *good, struct err *err)
{
    const struct predicted *s = &p->list[0];
    struct local l;
    if (p->n == 0)
        return true;
    if (!read_local(&l, src, s->header_at, good, err))
        return false;
    *good = *good && l.at == s->at && l.name_len == p->begin.prefix_len + 6 + s->key_len
        && memcmp(l.name + p->begin.prefix_len, "/data/", 6) == 0
        && memcmp(l.name + l.name_len - s->key_len, p->keys + s->key, s->key_len) == 0;
    return true;
}

bool
checkpoint_zip_forward(struct catalog *c, struct source *src, uint32_t file, const struct container_options *options,
    bool *done, struct err *err)
{
    struct begin begin;
    const uint8_t *head;
    uint64_t have;
    bool good = false;
    *done = false;
    if (!read_begin(&begin, src, &good, err))
        return false;
    if (!good)
        return true;
    if (!source_head(src, begin.end + HEADER + UINT16_MAX, &head, &have, err))
        return false;
    struct pass *pass = new_pass(&begin, src, head, options, err);
    struct checkpoint cp = { 0 };
    struct pickle *pickle = NULL;
    bool ok = pass && archive_object(&pickle, &cp, head + begin.object_at, begin.object_n, begin.object_at, options,
            catalog_budget(c), err)
        && predict_offsets(pass, &cp, err) && starts_as_predicted(pass, src, &good, err);
    if (ok && good) {
        archive_facts(c, begin.big_endian, begin.end, 0);
        ok = watch(pass, src, err) && checkpoint_add(&cp, c, file, begin.big_endian, err);
        pass = NULL;
        *done = ok;
    }
    if (pass)
        free_pass(pass);
    checkpoint_clear(&cp);
    pickle_free(pickle);
    return ok;
}
