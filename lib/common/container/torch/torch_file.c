#include "container/torch/torch_file.h"

#include <inttypes.h>
#include <stdlib.h>

#include "container/torch/checkpoint_zip_priv.h"
#include "container/torch/objects.h"

static struct pickle_limits
torch_file_limits(const struct container_options *how, const struct pickle_taker *taker)
{
    return (struct pickle_limits){ .heap = UINT64_C(2) << 30, .ops = 200000000, .shards = true, .taker = taker, .allowed = how->allowed,
        .nallowed = how->nallowed };
}

static bool
torch_file_run(struct torch_file *f, const uint8_t *p, size_t n, uint64_t at, const struct container_options *how,
    struct budget *budget, struct err *err)
{
    const struct pickle_limits limits = torch_file_limits(how, NULL);
    size_t used;
    return pickle_run_within(&f->pickle, &f->root, p, n, &used, at, budget, &limits, err)
        && (used == n || err_at(err, ERR_MALFORMED, at + used, "%zu trailing bytes after the pickle", n - used));
}

bool
torch_file_bare(struct torch_file *f, const uint8_t *p, size_t n, const struct container_options *how, struct budget *budget,
    struct err *err)
{
    return torch_file_run(f, p, n, 0, how, budget, err);
}

bool
torch_file_taken(struct torch_file *f, struct source *src, const struct container_options *how, const struct pickle_taker *taker,
    struct budget *budget, struct err *err)
{
    const struct pickle_limits limits = torch_file_limits(how, taker);
    return pickle_run_source(&f->pickle, &f->root, src, budget, &limits, err);
}

/* --- an archive */

/* Finds the places of all storages that the object names. */
static bool
place_storages(struct torch_file *f, const struct archive *a, struct err *err)
{
    for (size_t i = 0; i < f->storages.nstorages; i++) {
        struct checkpoint_storage *s = &f->storages.storage[i];
        const struct zip_member *m;
        if (!archive_storage(&m, a, s->key, s->key_len, s->nbytes, err))
            return false;
        if (m->deflated)
            return err_at(err, ERR_UNSUPPORTED, m->at, "storages that are deflated are not supported in a checkpoint of several files");
        s->at = m->at;
        s->crc = m->crc;
    }
    return true;
}

static bool
read_archive(struct torch_file *f, const struct zip *zip, const struct container_options *how, struct budget *budget, struct err *err)
{
    static const char data_pkl[] = "/data.pkl";
    struct archive a;
    if (!archive_check(&a, f->src, zip, budget, err))
        return false;
    struct str name = { 0 };
    str_add(&name, a.prefix, a.prefix_len);
    str_text(&name, data_pkl);
    const struct zip_member *m = NULL;
    if (!name.failed)
        m = zip_find(zip, name.p, name.len);
    size_t got = 0;
    bool ok = (m || err_memory(err, name.room)) && limits_check(m->nbytes, PICKLE_MAX, "bytes of data.pkl", err)
        && budget_bytes(budget, m->nbytes, "pickle bytes", err);
    str_clear(&name);
    if (ok)
        f->bytes = malloc((size_t)m->nbytes + 1);
    if (ok && !f->bytes)
        ok = err_memory(err, m->nbytes);
    f->big_endian = a.big_endian;
    return ok && zip_head(f->src, m, f->bytes, (size_t)m->nbytes, &got, err)
        && torch_file_run(f, f->bytes, (size_t)m->nbytes, m->at, how, budget, err)
        && checkpoint_storages(&f->storages, f->pickle, budget, err) && place_storages(f, &a, err);
}

bool
torch_file_open(struct torch_file *f, struct source *src, const struct container_options *how, struct budget *budget,
    struct err *err)
{
    struct zip zip = { 0 };
    uint8_t head[4] = { 0 };
    f->src = src;
    if (source_size(src) >= sizeof head && !source_read(src, 0, head, sizeof head, err))
        return false;
    if (head[0] == 0x80 && head[1] == 2)
        return err_set(err, ERR_UNSUPPORTED, "this is a file of torch.save() before 1.6, not an archive: load it with torch and save it "
            "again");
    if (memcmp(head, "PK\3\4", sizeof head) != 0)
        return err_set(err, ERR_MALFORMED, "not an archive of torch.save(): expected a ZIP file");
    bool ok = zip_read(&zip, src, budget, err) && read_archive(f, &zip, how, budget, err);
    zip_clear(&zip);
    return ok;
}

void
torch_file_clear(struct torch_file *f)
{
    checkpoint_clear(&f->storages);
    pickle_free(f->pickle);
    free(f->bytes);
    *f = (struct torch_file){ 0 };
}

bool
torch_file_checks(const struct torch_file *f, struct catalog *catalog, uint32_t file, uint64_t base, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < f->storages.nstorages; i++) {
        const struct checkpoint_storage *s = &f->storages.storage[i];
        const struct extent e = { .file = file, .at = base + s->at, .nbytes = s->nbytes };
        if (s->crc != 0 && s->nbytes != 0)
            ok = catalog_add_check(catalog, &e, s->crc, err);
    }
    return ok;
}

/* --- tensors */

bool
torch_file_is_tensor(const struct torch_file *f, const struct pickle_value *v)
{
    return rebuild_is_tensor(&f->storages, v);
}

bool
torch_file_tensor(const struct torch_file *f, const struct pickle_value *v, const char *name, struct torch_tensor *t,
    struct err *err)
{
    struct rebuilt r;
    if (!torch_file_is_tensor(f, v))
        return err_set(err, ERR_MALFORMED, ERR_TENSOR "its value is not a tensor", name);
    if (!rebuild(&f->storages, v, name, &r, err))
        return false;
    if (r.form || r.type->dtype == DTYPE_UNKNOWN)
        return err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "type %s is not supported", name, r.form ? r.form : r.type->name);
    if (r.sign != 0 || (f->big_endian && r.type->word > 1))
        return err_set(err, ERR_UNSUPPORTED, ERR_TENSOR "%s are not supported in a checkpoint of several files", name,
            r.sign != 0 ? "negated or conjugated views" : "big-endian data");
    *t = (struct torch_tensor){ .dtype = r.type->dtype, .rank = r.rank, .nbytes = r.nbytes };
    memcpy(t->shape, r.size, r.rank * sizeof *r.size);
    layout_make(&t->layout, r.size, r.stride, r.rank);
    if (r.numel != 0)
        t->at = r.storage->at + r.offset / r.type->codes * r.type->item;
    return true;
}
