/* A pickle, the checkpoint that it describes, and the whole as stacked pickles or a tar archive. Nothing after the pickle is
 * read: its storages are declared contiguous. */
#include "container/torch/checkpoint_priv.h"
#include "model_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool
add_all(struct checkpoint *c, const struct limits *limits, bool big_endian, struct err *err)
{
    struct catalog *catalog = catalog_new(limits, err);
    for (size_t i = 0; i < c->nstorages; i++)
        c->storage[i].at = i == 0 ? 0 : c->storage[i - 1].at + c->storage[i - 1].nbytes;
    bool ok = catalog && checkpoint_add(c, catalog, 0, big_endian, err) && catalog_seal(catalog, err);
    for (size_t i = 0; ok && i < catalog_count(catalog); i++) {
        const struct tensor *t = catalog_at(catalog, i);
        uint64_t reach = 1;
        assert(t->dtype != DTYPE_UNKNOWN || t->type_name);
        assert(!t->layout || layout_extent(t->layout, &reach));
    }
    catalog_free(catalog);
    return ok;
}

static void
fuzz_object(const uint8_t *p, size_t n, bool stacked, const char *root_path)
{
    const struct checkpoint_options options = { .stacked = stacked, .root = root_path };
    struct budget budget = { .limits = limits_default };
    struct checkpoint c = { 0 };
    struct pickle *pickle = NULL;
    const struct pickle_value *root;
    size_t used, from = 0;
    struct err err;
    err_init(&err);
    bool ok = pickle_run(&pickle, &root, p, n, &used, 0, &budget, &err);
    assert(!ok || used == pickle_length(p, n, &from));
    ok = ok && checkpoint_read(&c, pickle, &options, &budget, &err) && add_all(&c, &budget.limits, !stacked, &err);
    assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG && (root_path || err.kind != ERR_USAGE));
    checkpoint_clear(&c);
    pickle_free(pickle);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    fuzz_object(p, n, false, NULL);
    fuzz_object(p, n, false, "auto");
    fuzz_object(p, n, true, NULL);
    if (container_stacked.probe(p, n, n)) {
        model_fuzz(&container_stacked, p, n, true);
        model_fuzz(&container_stacked, p, n, false);
    }
    if (container_tar_form.probe(p, n, n))
        model_fuzz(&container_tar_form, p, n, true);
    return 0;
}
