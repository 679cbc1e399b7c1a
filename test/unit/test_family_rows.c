/* family: rows of random verbs, forwards and back. A source whose elements are numbered goes through
 * rows_choose(), the outputs go through back_rows_choose(), and each element must be where it was. Then the order of stacks, and errors. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "family/back_rows.h"
#include "family/name_index.h"

enum { RANK = 5, MOST = 4096, OUTPUTS = 8, TEXT = 4096 };

static uint32_t
random_below(uint32_t n)
{
    static uint32_t state = 7;
    state = state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(state >> 4) * n >> 28);
}

/* --- a model in memory */

/* Tensors with 32-bit elements, each with the number of the source's element. */
struct row_store {
    struct catalog *catalog;
    const char *name[OUTPUTS];
    uint32_t *x[OUTPUTS];       /* owned */
    size_t n;
};

static void
add_tensor(struct row_store *s, const char *name, const uint64_t *dim, uint32_t rank, uint32_t *x, enum dtype dtype)
{
    uint8_t packed[RANK * SHAPE_DIM + 1];
    struct tensor t = { .name = name, .name_len = (uint32_t)strlen(name), .dtype = dtype, .shape = { rank, packed } };
    struct err err;
    bool whole;
    err_init(&err);
    shape_pack(packed, dim, rank);
    shape_nbytes(&t.shape, dtype, &t.extent.nbytes, &whole);
    t.extent.at = s->n << 32;           /* identifies the tensor */
    s->name[s->n] = name;
    s->x[s->n++] = x;
    CHECK(catalog_add(s->catalog, &t, &err));
}

static void
clear_store(struct row_store *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->x[i]);
    catalog_free(s->catalog);
}

/* Copies n elements of a tensor, in the order of its layout. */
static void
read_tensor(const struct row_store *s, const struct tensor *t, uint64_t first, uint64_t n, uint32_t *y)
{
    uint64_t base = (t->extent.at & UINT32_MAX) / dtype_facts(t->dtype)->bytes;
    for (uint64_t i = 0; i < n; i++)
        y[i] = s->x[t->extent.at >> 32][base + (t->layout ? layout_at(t->layout, first + i) : first + i)];
}

struct row_reading {
    const struct row_store *store;
    const struct composed *composed;
};

static bool
read_part(void *of, size_t part, uint64_t first, uint64_t n, uint8_t *y, struct err *err)
{
    const struct row_reading *r = of;
    uint32_t *x = malloc((size_t)n * sizeof *x);
    (void)err;
    read_tensor(r->store, r->composed->part[part].copy, first, n, x);
    memcpy(y, x, (size_t)n * sizeof *x);
    free(x);
    return true;
}

/* Returns the elements of an output; the caller frees them. */
static uint32_t *
elements_of(const struct row_store *s, const struct chosen *c)
{
    static uint8_t tile[COMPOSED_TILE];
    const struct tensor t = chosen_tensor(c);
    uint64_t n = 0;
    struct err err;
    err_init(&err);
    CHECK(shape_numel(&t.shape, &n));
    uint32_t *y = malloc((size_t)n * sizeof *y);
    struct row_reading r = { s, c->composed };
    if (c->copy)
        read_tensor(s, c->copy, 0, n, y);
    else
        CHECK(composed_run(c->composed, 0, n, sizeof *y, (uint8_t *)y, tile, read_part, &r, &err));
    return y;
}

/* A choice of all tensors, as choice_make() makes it. */
static void
choose_all(struct choice *choice, const struct row_store *s)
{
    struct err err;
    err_init(&err);
    CHECK(catalog_seal(s->catalog, &err));
    *choice = (struct choice){ .input = s->catalog, .list = calloc(s->n + 1, sizeof *choice->list), .n = s->n,
        .matrices = DTYPE_UNKNOWN };
    for (size_t i = 0; i < s->n; i++) {
        const struct tensor *t = catalog_at(s->catalog, i);
        choice->list[i] = (struct chosen){ .copy = t, .dtype = t->dtype };
    }
}

static bool
choose(struct choice *choice, struct row_store *s, const char *text, bool back, json_t *config, struct err *err)
{
    struct model model = { .catalog = s->catalog };
    struct model_family *family;
    choose_all(choice, s);
    if (!family_read(&family, "test", text, strlen(text), NULL, NULL, err))
        return false;
    struct scope scope = { .family = family, .config = config, .mtp = true };
    const struct family_tensors how = { .family = family, .scope = &scope, .model = &model, .matrices = DTYPE_F32 };
    bool ok = back ? back_rows_choose(choice, &how, err) : rows_choose(choice, &how, err);
    family_free(family);
    return ok;
}

/* --- random rows */

/* A shape while verbs are appended. mixed: the dimension was merged or reordered, so that its parts cannot be put back. */
struct draft {
    uint32_t rank;
    uint64_t dim[RANK + 1];
    bool mixed[RANK + 1];
    char text[512];
};

static void
append(struct draft *d, const char *verb)
{
    size_t n = strlen(d->text);
    snprintf(d->text + n, sizeof d->text - n, "%s%s", n != 0 ? " | " : "", verb);
}

/* Returns a divisor of n, at random. */
static uint64_t
divisor(uint64_t n)
{
    uint64_t f = 1 + random_below((uint32_t)n);
    while (n % f != 0)
        f--;
    return f;
}

static void
add_view(struct draft *d, uint32_t at)
{
    char verb[64];
    uint64_t f = divisor(d->dim[at]);
    if (d->rank == RANK)
        return;
    bool first = random_below(2);
    snprintf(verb, sizeof verb, first ? "view %" PRIu32 " %" PRIu64 " *" : "view %" PRIu32 " * %" PRIu64, at, f);
    memmove(&d->dim[at + 1], &d->dim[at], (d->rank - at) * sizeof *d->dim);
    memmove(&d->mixed[at + 1], &d->mixed[at], d->rank - at);
    d->dim[at] = first ? f : d->dim[at] / f;
    d->dim[at + 1] /= d->dim[at];
    d->rank++;
    append(d, verb);
}

static void
add_merge(struct draft *d, uint32_t at)
{
    char verb[64];
    if (at + 1 >= d->rank)
        return;
    uint64_t n = d->dim[at], m = d->dim[at + 1];
    bool first = random_below(2);
    snprintf(verb, sizeof verb, first ? "merge %" PRIu32 " %" PRIu64 " *" : "merge %" PRIu32 " * %" PRIu64, at, first ? n : m);
    d->dim[at] = n * m;
    d->mixed[at] = d->mixed[at] || d->mixed[at + 1] || (first ? n : m) != 1;
    d->rank--;
    memmove(&d->dim[at + 1], &d->dim[at + 2], (d->rank - at - 1) * sizeof *d->dim);
    memmove(&d->mixed[at + 1], &d->mixed[at + 2], d->rank - at - 1);
    append(d, verb);
}

static void
add_verb(struct draft *d)
{
    char verb[64];
    uint32_t at = random_below(d->rank), to = random_below(d->rank);
    uint64_t n;
    bool was;
    switch (random_below(5)) {
    case 0:
        add_view(d, at);
        return;
    case 1:
        add_merge(d, at);
        return;
    case 2:
        snprintf(verb, sizeof verb, "order %" PRIu32 " %" PRIu64 " * : 1 0", at, divisor(d->dim[at]));
        d->mixed[at] = true;
        break;
    case 3:
        if (d->dim[0] % 2 != 0)
            return;
        snprintf(verb, sizeof verb, "pairs %" PRIu64, divisor(d->dim[0] / 2));
        d->mixed[0] = true;
        break;
    default:
        snprintf(verb, sizeof verb, "swap %" PRIu32 " %" PRIu32, at, to);
        n = d->dim[at];
        was = d->mixed[at];
        d->dim[at] = d->dim[to];
        d->mixed[at] = d->mixed[to];
        d->dim[to] = n;
        d->mixed[to] = was;
        break;
    }
    append(d, verb);
}

static void
add_verbs(struct draft *d, uint32_t n)
{
    for (uint32_t i = random_below(n); i > 0; i--)
        add_verb(d);
}

/* Writes rows of source s: one with verbs only, or several that each take a part of one of its dimensions. */
static void
write_rows(char *text, const uint64_t *dim, uint32_t rank)
{
    struct draft all = { .rank = rank };
    size_t n = strlen(text);
    memcpy(all.dim, dim, rank * sizeof *dim);
    add_verbs(&all, 5);
    uint32_t at = random_below(all.rank), parts = 1 + random_below(3);
    bool joined = random_below(2) && at == 0;
    if (all.mixed[at] || all.dim[at] < parts || random_below(3) == 0) {
        snprintf(text + n, TEXT - n, "tensor s.weight o.0.weight %s\n", all.text);
        return;
    }
    uint64_t from = 0, left = all.dim[at];
    for (uint32_t i = 0; i < parts; i++) {
        struct draft d = all;
        char verb[64];
        uint64_t count = i + 1 == parts ? left : 1 + random_below((uint32_t)(left - (parts - 1 - i)));
        snprintf(verb, sizeof verb, "part %" PRIu32 " %" PRIu64 " %" PRIu64, at, from, count);
        append(&d, verb);
        d.dim[at] = count;
        if (!joined)
            add_verbs(&d, 5);
        n += strlen(text + n);
        if (joined && i != 0)
            snprintf(text + n - 1, TEXT - n + 1, " ; %s\n", d.text);
        else
            snprintf(text + n, TEXT - n, "tensor s.weight o.%" PRIu32 ".weight %s\n", i, d.text);
        from += count;
        left -= count;
    }
}

static int knotted;

static void
check_round(void)
{
    static const uint64_t sizes[] = { 1, 2, 3, 4, 6, 8, 12 };
    char text[TEXT] = "family test\nclass TestModel\narch test\nvocab bpe\nhf TestModel test\nlet layers = 1\n";
    struct row_store there = { 0 }, back = { 0 };
    struct choice made, source = { 0 };
    uint64_t dim[RANK], n = 1;
    uint32_t rank = 1 + random_below(3);
    struct err err;
    err_init(&err);
    for (uint32_t i = 0; i < rank; i++)
        n *= dim[i] = sizes[random_below(sizeof sizes / sizeof *sizes)];
    uint32_t *x = malloc((size_t)n * sizeof *x);
    for (uint32_t i = 0; i < n; i++)
        x[i] = i;
    there.catalog = catalog_new(&limits_default, &err);
    back.catalog = catalog_new(&limits_default, &err);
    add_tensor(&there, "s.weight", dim, rank, x, DTYPE_F32);
    write_rows(text, dim, rank);
    json_t *config = json_object();
    bool ok = choose(&made, &there, text, false, config, &err), whole = ok;
    CHECK_ROW(ok || err.kind == ERR_UNSUPPORTED, err.text);     /* elements that have to move in two steps */
    knotted += !ok;
    for (size_t i = 0; ok && i < made.n; i++) {
        const struct tensor t = chosen_tensor(&made.list[i]);
        uint64_t shape[RANK];
        for (uint32_t k = 0; k < t.shape.rank; k++)
            shape[k] = shape_dim(&t.shape, k);
        add_tensor(&back, t.name, shape, t.shape.rank, elements_of(&there, &made.list[i]), DTYPE_F32);
    }
    if (ok && !choose(&source, &back, text, true, config, &err)) {
        ok = false;
        whole = CHECK_ROW(err.kind == ERR_UNSUPPORTED, err.text) ? false : whole;
        knotted += !whole;
    }
    if (ok && CHECK(source.n == 1)) {
        const struct tensor t = chosen_tensor(&source.list[0]);
        uint32_t *y = elements_of(&back, &source.list[0]);
        CHECK(t.shape.rank == rank && shape_same(&t.shape, &catalog_at(there.catalog, 0)->shape, rank));
        ok = CHECK(memcmp(x, y, (size_t)n * sizeof *x) == 0);
        free(y);
    }
    if (whole && !ok)
        printf("%s%s\n", text, err.text);
    choice_clear(&made);
    choice_clear(&source);
    json_decref(config);
    clear_store(&there);
    clear_store(&back);
}

/* --- stacks */

/* Adds a tensor of two elements. */
static void
add_pair(struct row_store *s, const char *name)
{
    add_tensor(s, name, (const uint64_t[]){ 1, 2 }, 2, calloc(2, sizeof(uint32_t)), DTYPE_BF16);
}

#define STACKS "family test\nclass TestModel\narch test\nvocab bpe\nhf TestModel test\nlet layers = 1\n" \
    "key expert_count u32 experts\n" \
    "tensor e.{b}.up.{x}.weight blk.{b}.ffn_up_exps.weight\ntensor e.{b}.up.weight blk.{b}.ffn_up_exps.weight\n" \
    "tensor n.weight output_norm.weight add 1\nneed output_norm.weight\n"

static void
check_stack(const char *const *names, size_t n, const char *config, const char *wrong)
{
    struct row_store s = { 0 };
    struct choice choice;
    struct err err;
    err_init(&err);
    s.catalog = catalog_new(&limits_default, &err);
    for (size_t i = 0; i < n; i++)
        add_pair(&s, names[i]);
    json_t *members = json_loads(config, 0, NULL);
    bool ok = choose(&choice, &s, STACKS, false, members, &err);
    CHECK_ROW(ok == !wrong, wrong ? wrong : err.text);
    CHECK_ROW(ok || strstr(err.text, wrong), err.text);
    if (ok) {
        const struct tensor last = chosen_tensor(&choice.list[choice.n - 1]);
        CHECK(choice.n == 2 && choice.model.experts == 3 && strcmp(last.name, "output_norm.weight") == 0);
        const struct tensor t = chosen_tensor(&choice.list[0]);
        CHECK(t.shape.rank == 3 && shape_dim(&t.shape, 0) == 3 && t.dtype == DTYPE_F32);
        CHECK(choice.list[1].composed && choice.list[1].composed->part[0].nops == 1);
    }
    json_decref(members);
    choice_clear(&choice);
    clear_store(&s);
}

static void
check_stacks(void)
{
    static const char *const good[] = { "e.0.up.2.weight", "e.0.up.0.weight", "e.0.up.1.weight", "n.weight" };
    static const char *const both[] = { "e.0.up.2.weight", "e.0.up.0.weight", "e.0.up.1.weight", "e.0.up.weight", "n.weight" };
    static const char *const gap[] = { "e.0.up.2.weight", "e.0.up.0.weight", "n.weight" };
    static const char *const other[] = { "e.0.up.0.weight", "e.0.up.1.weight", "x.weight", "n.weight" };
    static const char *const beyond[] = { "e.1.up.0.weight", "n.weight" };
    check_stack(good, 4, "{\"experts\": 3}", NULL);
    check_stack(good, 4, "{\"experts\": 4}", "blk.0.ffn_up_exps.weight");
    check_stack(good, 4, "{\"experts\": 2}", "tensor e.0.up.2.weight");
    check_stack(both, 5, "{\"experts\": 3}", "tensors e.0.up.0.weight and e.0.up.weight");
    check_stack(gap, 3, "{}", "2 of 3 experts");
    check_stack(other, 4, "{\"experts\": 2}", "tensor x.weight");
    check_stack(beyond, 2, "{}", "fewer layers");
    check_stack(good, 3, "{\"experts\": 3}", "tensor output_norm.weight");
}

/* --- multi-token prediction */

/* Returns the number of outputs, and checks that one has the name `has`. */
static void
check_mtp(bool mtp, bool only, size_t want, const char *has)
{
    static const char text[] = "family test\nclass TestModel\narch test\nvocab bpe\nhf TestModel test\n"
        "let layers = mtp ? 2 : 1\nmtp l.{b}.* when b >= 1\ndrop l.{b}.* when b >= 2\n"
        "tensor n.weight output_norm.weight\ntensor l.{b}.a.weight blk.{b}.a.weight\n"
        "tensor m.{b}.weight blk.{b+layers}.m.weight\nneed blk.{b}.a.weight\n";
    static const char *const names[] = { "n.weight", "l.0.a.weight", "l.1.a.weight", "l.2.a.weight", "m.3.weight" };
    struct row_store s = { 0 };
    struct err err;
    struct choice choice;
    struct model_family *family;
    bool found = false;
    err_init(&err);
    s.catalog = catalog_new(&limits_default, &err);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_pair(&s, names[i]);
    choose_all(&choice, &s);
    CHECK(family_read(&family, "test", text, strlen(text), NULL, NULL, &err));
    json_t *config = json_object();
    struct model model = { .catalog = s.catalog };
    struct scope scope = { .family = family, .config = config, .mtp = mtp };
    const struct family_tensors how = { .family = family, .scope = &scope, .model = &model, .mtp_only = only };
    CHECK_ROW(rows_choose(&choice, &how, &err), err.text);
    CHECK(choice.n == want && catalog_remark_count(s.catalog) == 1);        /* of the third layer at least */
    for (size_t i = 0; i < choice.n; i++)
        found = found || strcmp(chosen_tensor(&choice.list[i]).name, has) == 0;
    CHECK_ROW(found, has);
    choice_clear(&choice);
    family_free(family);
    json_decref(config);
    clear_store(&s);
}

/* --- values */

/* Keys of one number become tensors again. */
static void
check_values(void)
{
    static const char text[] = "family test\nclass TestModel\narch test\nvocab bpe\nhf TestModel test\nlet layers = 2\n"
        "key a f32 value(\"x.a\")\nkey /x.b [f32] each value(\"x.{b}.b\", 0)\nkey c f32 value(\"x.c\", 2)\n"
        "tensor n.weight output_norm.weight\n";
    struct row_store s = { 0 };
    struct err err;
    struct choice choice;
    struct model_family *family;
    err_init(&err);
    s.catalog = catalog_new(&limits_default, &err);
    add_pair(&s, "output_norm.weight");
    choose_all(&choice, &s);
    CHECK(family_read(&family, "test", text, strlen(text), NULL, NULL, &err));
    json_t *keys = json_loads("{\"test.a\": 1.5, \"x.b\": [2, 0.10000000149011612]}", 0, NULL), *config = json_object();
    struct model model = { .catalog = s.catalog };
    struct scope scope = { .family = family, .config = config, .keys = keys, .mtp = true };
    const struct family_tensors how = { .family = family, .scope = &scope, .model = &model, .matrices = DTYPE_BF16 };
    CHECK(back_rows_choose(&choice, &how, &err) && scope.keys == keys);
    static const char *const names[] = { "n.weight", "x.0.b", "x.1.b", "x.a" };
    static const enum dtype types[] = { DTYPE_BF16, DTYPE_BF16, DTYPE_F32, DTYPE_BF16 };
    static const float numbers[] = { 0, 2, 0.1f, 1.5f };
    if (CHECK(choice.n == 4))
        for (size_t i = 0; i < 4; i++) {
            const struct tensor t = chosen_tensor(&choice.list[i]);
            CHECK(strcmp(t.name, names[i]) == 0 && t.dtype == types[i]);
            CHECK(i == 0 || (*(const float *)choice.list[i].composed->numbers == numbers[i] && t.shape.rank == (i == 3)));
        }
    choice_clear(&choice);
    family_free(family);
    json_decref(keys);
    json_decref(config);
    clear_store(&s);
}

/* --- names */

static void
check_found(struct name_index *index, const char *name, const char *want)
{
    struct name_walk walk;
    char found[256] = "";
    uint32_t pattern;
    uint64_t b, x;
    struct err err;
    err_init(&err);
    CHECK(name_walk_begin(&walk, index, name, strlen(name), NULL, &err));
    while (name_walk_next(&walk, &pattern, &b, &x)) {
        size_t n = strlen(found);
        snprintf(found + n, sizeof found - n, "%" PRIu32 ":%" PRIu64 ":%" PRIu64 " ", pattern, b, x);
    }
    CHECK_ROW(strcmp(found, want) == 0, found);
}

static void
check_names(void)
{
    static const char *const patterns[] = { "l.{b}.w1", "l.{b}.w2", "l.0.w1", "l.{b}.{x}", "l.{x}.{b}", "l.{b}.{b}", "plain",
        "l.{b}.w1" };
    struct err err;
    err_init(&err);
    struct name_index *index = name_index_new(&err);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        CHECK(name_index_add(index, patterns[i], NULL, "test:1", &err));
    CHECK(name_index_add(index, "l.{b}.w1", "mxfp4", "test:1", &err));
    check_found(index, "l.7.w1", "0:7:0 7:7:0 ");
    check_found(index, "l.0.w1", "0:0:0 2:0:0 7:0:0 ");
    check_found(index, "l.12.w2", "1:12:0 ");
    check_found(index, "l.3.4", "3:3:4 4:4:3 ");
    check_found(index, "l.3.3", "3:3:3 4:3:3 5:3:0 ");
    check_found(index, "l.03.w1", "");
    check_found(index, "l.99999999999999999999.w1", "");
    check_found(index, "plain", "6:0:0 ");
    check_found(index, "plain2", "");
    check_found(index, "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20", "");
    CHECK(!name_index_add(index, "l.{b}1", NULL, "test:1", &err) && err.kind == ERR_MALFORMED);
    name_index_free(index);
}

int
main(void)
{
    int rounds = check_rounds(3000, 100000);
    for (int i = 0; i < rounds; i++)
        check_round();
    CHECK(knotted < rounds / 10);
    check_stacks();
    check_mtp(true, false, 4, "blk.5.m.weight");
    check_mtp(false, false, 3, "blk.4.m.weight");
    check_mtp(true, true, 2, "blk.1.a.weight");
    check_values();
    check_names();
    return check_done("family rows");
}
