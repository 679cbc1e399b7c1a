#include "adapter/towers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/module_names.h"
#include "base/array.h"
#include "base/table.h"

enum { PREFIXES = 8 };

/* The towers, and the prefixes of their modules: in adapters, with underscores or dots, and in the base. In the base, the first
 * prefix that occurs is used; no prefix always matches. */
static const struct tower_row {
    const char *name;
    const char *underscored[PREFIXES], *dotted[PREFIXES], *base[PREFIXES];
} rows[TOWERS] = {
    { "image", { "lora_unet__", "lora_unet_", "lora_transformer_", "lora_prior_unet_", "lycoris_" },
        { "diffusion_model.", "transformer.", "unet." },
        { "model.diffusion_model.", "diffusion_model.", "transformer.", "unet.", "model." } },
    { "text 1", { "lora_te1_", "lora_te_" }, { "text_encoder." },
        { "cond_stage_model.transformer.", "conditioner.embedders.0.transformer.", "text_encoders.clip_l.transformer.",
            "text_encoder." } },
    { "text 2", { "lora_te2_" }, { "text_encoder_2." }, { "text_encoders.clip_g.transformer.", "text_encoder_2." } },
    { "text 3", { "lora_te3_" }, { "text_encoder_3." }, { "text_encoders.t5xxl.transformer.", "text_encoder_3." } },
};

/* A module of the base. */
struct tower_module {
    const char *p;              /* n bytes, without the prefix; borrowed */
    size_t n;
    size_t index[2];            /* of weight and bias, or WEIGHT_NONE */
    uint64_t rows, cols;        /* of the weight; without one, rows of the bias */
};

/* The modules whose names start with a prefix. */
struct tower_set {
    struct tower_set *next;
    struct tower_module *item;          /* n of them; owned */
    size_t n, room;
    struct table table;
};

/* A name of a module of the base. */
struct tower_name {
    char *p;                    /* n bytes; owned */
    size_t n;
    const struct tower_module *module;
    enum module_names_kind kind;
    unsigned part;
    bool reverse;               /* the base has the name `one` of the line */
    uint32_t next;              /* the next one with the same name, or UINT32_MAX */
};

struct tower_names {
    struct tower_name *item;            /* n of them; owned */
    size_t n, room;
    struct table table;
};

struct tower {
    bool ready;
    struct tower_set *sets;             /* the first has the tower's prefix; owned */
    struct tower_names names[2][2];     /* [of other programs][flattened] */
};

struct towers {
    const struct choice *choice;
    struct tower tower[TOWERS];
};

/* --- modules of the base */

static const char *
module_name(const void *owner, uint32_t number, size_t *n)
{
    const struct tower_set *set = owner;
    *n = set->item[number].n;
    return set->item[number].p;
}

/* Removes what follows the module in the name of a tensor. Returns true for a bias. */
static bool
strip_tail(const char *p, size_t *n)
{
    static const char weight[] = "in_proj_weight", bias[] = "in_proj_bias";
    bool is_weight = *n >= sizeof weight - 1 && str_ends(p, weight), is_bias = *n >= sizeof bias - 1 && str_ends(p, bias);
    if (is_weight || is_bias) {
        *n -= is_bias ? strlen("_bias") : strlen("_weight");
        return is_bias;
    }
    return !str_strip(p, n, ".weight") && str_strip(p, n, ".bias");
}

static bool
set_add(struct tower_set *set, const struct tensor *t, size_t prefix, size_t index, struct err *err)
{
    const char *p = t->name + prefix;
    size_t n = t->name_len - prefix;
    uint32_t number = (uint32_t)set->n;
    uint64_t numel;
    bool again = false, bias = strip_tail(p, &n);
    struct tower_module *item = array_grow(set->item, set->n, &set->room, sizeof *item, err);
    if (!item)
        return false;
    set->item = item;
    if (!table_add(&set->table, module_name, set, p, n, &number, &again, err))
        return false;
    if (!again)
        item[set->n++] = (struct tower_module){ .p = p, .n = n, .index = { WEIGHT_NONE, WEIGHT_NONE } };
    struct tower_module *m = &item[number];
    m->index[bias] = index;
    if (!shape_numel(&t->shape, &numel) || numel == 0 || t->shape.rank == 0 || (bias && m->index[0] != WEIGHT_NONE))
        return true;
    m->rows = shape_dim(&t->shape, 0);
    if (bias)
        m->cols = 0;
    else
        m->cols = numel / m->rows;
    return true;
}

/* Collects the modules whose names have a prefix; *n tensors have it. NULL on failure. */
static struct tower_set *
towers_collect(const struct choice *choice, const char *prefix, size_t *n, struct err *err)
{
    size_t len = strlen(prefix);
    struct tower_set *set = calloc(1, sizeof *set);
    bool ok = set || err_memory(err, sizeof *set);
    *n = 0;
    for (size_t i = 0; ok && i < choice->n; i++) {
        const struct tensor t = chosen_tensor(&choice->list[i]);
        if (t.name_len > len && str_prefixed(t.name, len, prefix))
            ok = ++*n != 0 && set_add(set, &t, len, i, err);
    }
    if (ok)
        return set;
    if (set)
        table_clear(&set->table);
    free(set ? set->item : NULL);
    free(set);
    return NULL;
}

static void
free_sets(struct tower_set *set)
{
    for (struct tower_set *next; set; set = next) {
        next = set->next;
        table_clear(&set->table);
        free(set->item);
        free(set);
    }
}

/* --- names */

static const char *
towers_name_of(const void *owner, uint32_t number, size_t *n)
{
    const struct tower_names *names = owner;
    *n = names->item[number].n;
    return names->item[number].p;
}

static bool
towers_add_name(struct tower_names *names, const char *p, size_t n, bool flat, struct tower_name name, struct err *err)
{
    uint32_t number = (uint32_t)names->n, first = number;
    bool again = false;
    struct tower_name *item = array_grow(names->item, names->n, &names->room, sizeof *item, err);
    if (!item)
        return false;
    names->item = item;
    name.p = strndup(p, n);
    name.n = n;
    name.next = UINT32_MAX;
    for (size_t i = 0; flat && name.p && i < n; i++)
        name.p[i] = name.p[i] == '.' ? '_' : name.p[i];
    if (!name.p)
        return err_memory(err, n + 1);
    item[names->n++] = name;
    if (!table_add(&names->table, towers_name_of, names, name.p, n, &first, &again, err))
        return false;
    if (again) {                                /* after the first one */
        item[number].next = item[first].next;
        item[first].next = number;
    }
    return true;
}

static const struct tower_name *
find_name(const struct tower_names *names, const char *p, size_t n)
{
    uint32_t number;
    if (table_find(&names->table, towers_name_of, names, p, n, &number))
        return &names->item[number];
    return NULL;
}

static bool
add_both(struct tower *t, bool other, const char *p, size_t n, const struct tower_name *name, struct err *err)
{
    return towers_add_name(&t->names[other][0], p, n, false, *name, err)
        && towers_add_name(&t->names[other][1], p, n, true, *name, err);
}

/* Adds the names that a line gives to modules of the base. */
static bool
towers_add_line(struct tower *t, const struct tower_set *set, const struct module_names_line *line, struct err *err)
{
    struct str other = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < set->n; i++) {
        const struct tower_module *m = &set->item[i];
        struct tower_name name = { .module = m, .kind = line->kind, .part = line->part };
        other.len = 0;
        bool found = module_names_translate(&other, line->one, line->none, line->two, line->ntwo, m->p, m->n);
        if (!found && line->kind != NAMES_TRANSPOSED) {
            other.len = 0;
            found = name.reverse = module_names_translate(&other, line->two, line->ntwo, line->one, line->none, m->p, m->n);
        }
        ok = !found || (!other.failed && add_both(t, true, other.p, other.len, &name, err));
    }
    ok = ok && (!other.failed || err_memory(err, other.room));
    str_clear(&other);
    return ok;
}

/* Returns true if the base has a module that fits a line. */
static bool
has_fit(const struct tower_set *set, const struct module_names_line *line)
{
    for (size_t i = 0; i < set->n; i++)
        if (module_names_translate(NULL, NULL, 0, line->one, line->none, set->item[i].p, set->item[i].n))
            return true;
    return false;
}

/* Adds the names of a file, if it is for this tower and for a model such as the base. */
static bool
add_file(struct tower *t, const struct tower_row *row, const struct choice *choice, const struct module_names_file *file,
    struct err *err)
{
    struct module_names_line line;
    struct tower_set *set = t->sets, *own;
    const char *tower = rows[0].name, *at = file->text, *names = NULL;
    size_t ntower = strlen(tower), n;
    bool detected = false, excluded = false, ok;
    for (const char *before = at; module_names_next(&line, &at, &ok); before = at)
        if (line.statement == LINE_TOWER) {
            tower = line.one;
            ntower = line.none;
        } else if (line.statement == LINE_PREFIX) {
            char prefix[128];
            snprintf(prefix, sizeof prefix, "%.*s", (int)line.none, line.one);
            if (!(own = towers_collect(choice, prefix, &n, err)))
                return false;
            own->next = t->sets->next;
            set = t->sets->next = own;
        } else if (line.statement == LINE_DETECT) {
            detected = detected || has_fit(set, &line);
        } else if (line.statement == LINE_UNLESS) {
            excluded = excluded || has_fit(set, &line);
        } else if (!names) {
            names = before;
        }
    if (!ok || !names)
        return err_set(err, ERR_BUG, "families/names/%s.names is wrong at byte %zu", file->name,
            (size_t)(at - file->text));
    if (strlen(row->name) != ntower || memcmp(row->name, tower, ntower) != 0 || !detected || excluded)
        return true;
    while (module_names_next(&line, &names, &ok))
        if (line.statement == LINE_NAME && !towers_add_line(t, set, &line, err))
            return false;
    return true;
}

/* Collects the names of a tower. */
static bool
prepare(struct towers *all, int number, struct err *err)
{
    struct tower *t = &all->tower[number];
    const struct tower_row *row = &rows[number];
    size_t n = 0;
    if (t->ready)
        return true;
    for (size_t i = 0; n == 0; i++) {
        free_sets(t->sets);
        if (!(t->sets = towers_collect(all->choice, str_or(row->base[i], ""), &n, err)))
            return false;
        if (!row->base[i])
            break;
    }
    for (size_t i = 0; i < t->sets->n; i++) {
        const struct tower_module *m = &t->sets->item[i];
        if (!add_both(t, false, m->p, m->n, &(struct tower_name){ .module = m }, err))
            return false;
    }
    for (size_t i = 0; i < module_names_files_n; i++)
        if (!add_file(t, row, all->choice, &module_names_files[i], err))
            return false;
    return t->ready = true;
}

struct towers *
towers_new(const struct choice *choice)
{
    struct towers *t = calloc(1, sizeof *t);
    if (t)
        t->choice = choice;
    return t;
}

void
towers_free(struct towers *t)
{
    for (size_t i = 0; t && i < TOWERS; i++) {
        free_sets(t->tower[i].sets);
        for (size_t k = 0; k < 4; k++) {
            struct tower_names *names = &t->tower[i].names[k / 2][k % 2];
            for (size_t j = 0; j < names->n; j++)
                free(names->item[j].p);
            free(names->item);
            table_clear(&names->table);
        }
    }
    free(t);
}

/* --- look-up */

/* Returns the longest of the prefixes that a name has and that is shorter than `below`, or 0. */
static size_t
longest(const char *const prefix[PREFIXES], const char *p, size_t n, size_t below)
{
    size_t most = 0;
    for (size_t i = 0; prefix[i]; i++) {
        size_t len = strlen(prefix[i]);
        if (most < len && len < below && len < n && memcmp(prefix[i], p, len) == 0)
            most = len;
    }
    return most;
}

int
towers_of(const char *name, size_t n)
{
    for (int i = 0; i < TOWERS; i++)
        if (longest(rows[i].underscored, name, n, SIZE_MAX) != 0 || longest(rows[i].dotted, name, n, SIZE_MAX) != 0)
            return i;
    return TOWER_NONE;
}

int
towers_split(size_t *prefix, bool *flat, const char *name, size_t n)
{
    for (int i = 0; i < TOWERS; i++) {
        size_t under = longest(rows[i].underscored, name, n, SIZE_MAX), dots = longest(rows[i].dotted, name, n, SIZE_MAX);
        *flat = under != 0;
        *prefix = *flat ? under : dots;
        if (*prefix != 0)
            return i;
    }
    return TOWER_NONE;
}

size_t
towers_base_prefix(int tower, const char *name, size_t n)
{
    return longest(rows[tower].base, name, n, SIZE_MAX);
}

const char *
towers_name(int tower)
{
    if (tower == TOWER_NONE)
        return "image";
    return rows[tower].name;
}

/* Appends what a name says about the rows that change. */
static void
add_hits(struct tower_hit hit[TOWER_HITS], size_t *n, const struct tower_name *name)
{
    const struct tower_module *m = name->module;
    uint64_t at = name->part * m->cols, half = m->rows / 2;
    struct tower_hit h = { .index = { m->index[0], m->index[1] }, .rows = m->rows, .part = name->kind != NAMES_SAME,
        .transposed = name->kind == NAMES_TRANSPOSED };
    bool cut = name->kind == NAMES_PART || name->kind == NAMES_REST;
    if (cut && name->reverse) {
        h.from = at;
    } else if (cut) {
        h.row = at;
        if (m->rows <= at)
            h.rows = 0;
        else if (name->kind == NAMES_PART && m->cols < m->rows - at)
            h.rows = m->cols;
        else
            h.rows = m->rows - at;
    } else if (name->kind == NAMES_SWAPPED) {
        h.rows = half;
        h.from = m->rows - half;
        hit[(*n)++] = h;
        h.row = half;
        h.rows = m->rows - half;
        h.from = 0;
    }
    hit[(*n)++] = h;
}

/* Turns all that have a name into hits. */
static bool
towers_resolve(struct tower_hit hit[TOWER_HITS], size_t *n, const struct tower_names *names, const struct tower_name *name,
    const char *shown, size_t nshown, struct err *err)
{
    char buf[STR_SHOWN], one[STR_SHOWN], two[STR_SHOWN];
    const struct tower_name *first = name;
    for (;;) {
        bool parts = first->reverse && (first->kind == NAMES_PART || first->kind == NAMES_REST);
        if (name != first && (!parts || *n + 2 > TOWER_HITS))
            return err_set(err, ERR_MALFORMED, "%s could be %s or %s", str_shown(buf, shown, nshown),
                str_shown(one, first->module->p, first->module->n), str_shown(two, name->module->p, name->module->n));
        add_hits(hit, n, name);
        if (name->next == UINT32_MAX)
            return true;
        name = &names->item[name->next];
    }
}

/* Looks a name up in a tower. Returns NULL for an unknown one. Older files of diffusers name the attention processor, too. */
static const struct tower_name *
look_up(const struct tower *t, const char *p, size_t n, bool flat, const struct tower_names **in)
{
    for (int other = 0; other < 2; other++) {
        const struct tower_name *found = find_name(*in = &t->names[other][flat], p, n);
        if (found)
            return found;
    }
    return NULL;
}

/* Sets *found to the name of a module in an attention processor, or to NULL. */
static bool
look_up_processor(const struct tower_name **found, const struct tower *t, const char *p, size_t n, const struct tower_names **in,
    struct err *err)
{
    static const char processor[] = ".processor.to_", out[] = ".to_out";
    const char *at = memmem(p, n, processor, sizeof processor - 1);
    struct str name = { 0 };
    *found = NULL;
    if (!at)
        return true;
    str_add(&name, p, (size_t)(at - p));
    at += strlen(".processor");
    str_add(&name, at, (size_t)(p + n - at));
    if (!name.failed && str_ends(name.p, out))
        str_text(&name, ".0");
    bool ok = !name.failed || err_memory(err, name.room);
    if (ok)
        *found = look_up(t, name.p, name.len, false, in);
    str_clear(&name);
    return ok;
}

bool
towers_find(struct tower_hit hit[TOWER_HITS], size_t *n, struct towers *all, const char *name, size_t len, struct err *err)
{
    int number = towers_of(name, len);
    const struct tower *t = &all->tower[number == TOWER_NONE ? 0 : number];
    const struct tower_names *in = NULL;
    const struct tower_name *found = NULL;
    *n = 0;
    if (!prepare(all, number == TOWER_NONE ? 0 : number, err))
        return false;
    if (number == TOWER_NONE) {
        in = &t->names[true][false];
        found = find_name(in, name, len);
        if (!found && !look_up_processor(&found, t, name, len, &in, err))
            return false;
    }
    for (size_t prefix = SIZE_MAX; !found && number != TOWER_NONE
            && (prefix = longest(rows[number].underscored, name, len, prefix)) != 0;)
        found = look_up(t, name + prefix, len - prefix, true, &in);
    for (size_t prefix = SIZE_MAX; !found && number != TOWER_NONE && (prefix = longest(rows[number].dotted, name, len, prefix)) != 0;) {
        found = look_up(t, name + prefix, len - prefix, false, &in);
        if (!found && !look_up_processor(&found, t, name + prefix, len - prefix, &in, err))
            return false;
    }
    return !found || towers_resolve(hit, n, in, found, name, len, err);
}
