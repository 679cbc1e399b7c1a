#include "family/template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/table.h"
#include "base/tree.h"
#include "family/builtin.h"
#include "family/config.h"
#include "family/pattern.h"
#include "family/sources.h"
#include "scheme/roles.h"

/* Names with a hole "{}" for each number, unique. */
struct template_names {
    struct names list;
    struct table ids;
};

/* A family compared with the tensors of a model. */
struct template_match {
    struct model_family *family;        /* owned */
    struct template_names rows;         /* HF names of its rows */
    struct template_names without;      /* tensors that no row matches */
    bool *used;                         /* for each of `rows`: it matches; owned */
    size_t matches;                     /* tensors */
    unsigned distance;                  /* of the class to the nearest one of the family */
};

static const char *
template_name_of(const void *of, uint32_t i, size_t *n)
{
    const struct template_names *names = of;
    *n = strlen(names->list.name[i]);
    return names->list.name[i];
}

/* Adds a name; sets *i to its number. */
static bool
template_add_name(struct template_names *names, const char *p, size_t n, uint32_t *i, struct err *err)
{
    bool again = false;
    *i = (uint32_t)names->list.n;
    return table_add(&names->ids, template_name_of, names, p, n, i, &again, err) && (again || names_add(&names->list, p, n, err));
}

static void
names_free(struct template_names *names)
{
    names_clear(&names->list);
    table_clear(&names->ids);
}

/* Appends a name with "{}" for {b}, {x}, and each number between dots. */
static void
add_holes(struct str *out, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t end = i;
        while (end < n && isdigit((unsigned char)p[end]))
            end++;
        bool number = end > i && (i == 0 || p[i - 1] == '.') && (end == n || p[end] == '.');
        bool hole = n - i >= 3 && p[i] == '{' && p[i + 2] == '}';
        if (number || hole) {
            str_text(out, "{}");
            if (hole)
                i = i + 2;
            else
                i = end - 1;
        } else
            str_add(out, p + i, 1);
    }
}

/* --- matches */

static bool
add_rows(struct template_match *m, struct err *err)
{
    uint32_t id;
    for (size_t i = 0; i < m->family->rows.n; i++) {
        struct str name = { 0 };
        const char *hf = m->family->rows.at[i].hf;
        add_holes(&name, hf, strlen(hf));
        bool ok;
        if (name.failed)
            ok = err_memory(err, name.room);
        else
            ok = template_add_name(&m->rows, name.p, name.len, &id, err);
        str_clear(&name);
        if (!ok)
            return false;
    }
    m->used = calloc(m->rows.list.n + 1, sizeof *m->used);
    return m->used || err_memory(err, m->rows.list.n);
}

/* Returns true if the family leaves a tensor out, in any layer. */
static bool
drops(const struct model_family *family, const char *name, size_t n)
{
    const struct family_pattern *const lists[] = { family->drop.at, family->zero.at, family->mtp.at };
    const size_t counts[] = { family->drop.n, family->zero.n, family->mtp.n };
    bool media;
    uint64_t b = 0;
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < counts[k]; i++)
            if (!lists[k][i].when && pattern_matches(lists[k][i].text, name, n, &b))
                return true;
    return family_sources_drops(name, n, &media);
}

static bool
match_tensor(struct template_match *m, const struct tensor *t, struct err *err)
{
    struct str name = { 0 };
    uint32_t id;
    add_holes(&name, t->name, t->name_len);
    bool ok = !name.failed || err_memory(err, name.room);
    if (ok && table_find(&m->rows.ids, template_name_of, &m->rows, str_or(name.p, ""), name.len, &id)) {
        m->used[id] = true;
        m->matches++;
    } else if (ok && !drops(m->family, t->name, t->name_len))
        ok = template_add_name(&m->without, str_or(name.p, ""), name.len, &id, err);
    str_clear(&name);
    return ok;
}

static void
match_clear(struct template_match *m)
{
    names_free(&m->rows);
    names_free(&m->without);
    free(m->used);
    family_free(m->family);
    *m = (struct template_match){ 0 };
}

/* Compares a built-in family. */
static bool
match(struct template_match *m, const char *name, struct model *model, const struct choice *choice, const char *class,
    struct err *err)
{
    struct family_sources *sources = NULL;
    *m = (struct template_match){ .distance = UINT32_MAX };
    bool ok = family_builtin(&m->family, name, err) && add_rows(m, err)
        && family_sources_of_choice(&sources, m->family, choice, model, err);
    for (size_t i = 0; ok && i < family_sources_count(sources); i++)
        ok = match_tensor(m, &family_sources_at(sources, i)->t, err);
    for (size_t i = 0; ok && i < m->family->classes.n; i++) {
        unsigned d = nearest_distance(class, m->family->classes.at[i]);
        if (d < m->distance)
            m->distance = d;
    }
    family_sources_free(sources);
    return ok;
}

static bool
find_best(struct template_match *best, struct model *model, const struct choice *choice, const char *class, struct err *err)
{
    const char *name;
    *best = (struct template_match){ 0 };
    for (size_t i = 0; (name = family_name_at(i)) != NULL; i++) {
        struct template_match m;
        if (family_builtin_kind(name) == FAMILY_TOWER)
            continue;
        if (!match(&m, name, model, choice, class, err)) {
            match_clear(&m);
            return false;
        }
        if ((m.matches == 0 || m.without.list.n == 0) && strcmp(name, "llama") == 0)
            m.distance = 0;             /* unknown names, or all of its own: begin with the simplest family */
        bool better = !best->family || m.matches > best->matches || (m.matches == best->matches && m.distance < best->distance);
        match_clear(better ? best : &m);
        if (better)
            *best = m;
    }
    return true;
}

/* --- the text */

/* Appends a name with {b} and {x} in its holes. */
static void
add_pattern(struct str *out, const char *name)
{
    const char *hole = "{b}";
    for (const char *p = name; *p != '\0'; p++) {
        if (!str_begins(p, "{}")) {
            str_add_escaped(out, p, 1);
            continue;
        }
        str_text(out, hole);
        hole = "{x}";
        p++;
    }
}

static bool
template_begins(const char *line, const char *word)
{
    size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\t');
}

/* Appends the family's file with the names of the model. */
static void
add_file(struct str *out, const char *text, const char *class, const char *type)
{
    str_text(out, "# unverified\n");
    bool classed = false;
    for (const char *p = text, *end; *p != '\0'; p = *end == '\n' ? end + 1 : end) {
        const char *when = strstr(p, " when ");
        end = p + strcspn(p, "\n");
        bool has_class = template_begins(p, "class") || template_begins(p, "outer");
        if (str_begins(p, "# verified") || str_begins(p, "# unverified") || (has_class && classed)
                || (template_begins(p, "arch") && when && when < end))
            continue;
        classed = classed || has_class;
        if (template_begins(p, "family") || template_begins(p, "arch"))
            str_format(out, "%-7s %s\n", template_begins(p, "arch") ? "arch" : "family", type);
        else if (has_class)
            str_format(out, "class   %s\nhf      %s %s\n", class, class, type);
        else if (!template_begins(p, "hf")) {
            str_add(out, p, (size_t)(end - p));
            str_text(out, "\n");
        }
    }
}

static bool
see_member(void *of, const struct expr *e, struct err *err)
{
    json_t *members = of;
    const char *name;
    (void)err;
    for (size_t i = 0; (name = expr_name_at(e, i)) != NULL; i++)
        json_object_del(members, name);
    return true;
}

/* Appends the members of config.json that no expression uses, except those that no family needs. */
static bool
add_members(struct str *out, const struct model_family *family, json_t *members, struct err *err)
{
    static const char *const others[] = { "architectures", "model_type", "torch_dtype", "dtype", "transformers_version",
        "use_cache", "initializer_range", "auto_map", "text_config", "vision_config", "quantization_config", "rope_scaling",
        "rope_parameters", "rope_theta", "bos_token_id", "eos_token_id", "pad_token_id", "attention_dropout", "_name_or_path" };
    json_t *value;
    const char *name;
    if (!family_each_expr(family, see_member, members, err))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        json_object_del(members, others[i]);
    str_text(out, json_object_size(members) != 0 ? "# members of config.json that no expression uses:\n" : "");
    json_object_foreach (members, name, value) {
        str_text(out, "#   ");
        str_add_escaped(out, name, strlen(name));
        str_text(out, "\n");
    }
    return true;
}

static void
add_matches(struct str *out, const struct template_match *m)
{
    str_format(out, "# drafted from %s.family, whose rows match %zu tensors\n", m->family->name, m->matches);
    str_text(out, m->without.list.n != 0 ? "# tensors without a row:\n" : "");
    for (size_t i = 0; i < m->without.list.n; i++) {
        str_text(out, "#   ");
        add_pattern(out, m->without.list.name[i]);
        str_text(out, "\n");
    }
    bool all = true;
    for (size_t i = 0; i < m->rows.list.n; i++) {
        if (m->used[i])
            continue;
        str_text(out, all ? "# rows without a tensor:\n#   " : "#   ");
        add_pattern(out, m->rows.list.name[i]);
        str_text(out, "\n");
        all = false;
    }
}

/* Copies the letters, digits and '_' of a model_type, or of a class, in lower case. */
static void
copy_word(char *out, size_t room, const char *from)
{
    size_t n = 0;
    for (; *from != '\0' && n + 1 < room; from++)
        if (isalnum((unsigned char)*from) || *from == '_')
            out[n++] = (char)tolower((unsigned char)*from);
    out[n] = '\0';
}

/* Compares all families with the tensors after dequantization, without the companions of weights. */
static bool
template_find(struct template_match *best, struct model *model, const char *class, struct err *err)
{
    struct roles *roles = NULL;
    struct choice choice = { 0 };
    bool ok = roles_assign(&roles, model->catalog, NULL, NULL, err)
        && choice_make(&choice, model->catalog, roles, KEEPS_NONE, DTYPE_BF16, false, err)
        && find_best(best, model, &choice, class, err);
    choice_clear(&choice);
    roles_free(roles);
    return ok;
}

bool
family_template(struct str *out, struct model *model, struct err *err)
{
    const struct catalog_config *config = hf_folder_config(model->catalog);
    struct template_match best;
    json_t *members = NULL;
    char class[64], type[64];
    if (!config)
        return err_set(err, ERR_MALFORMED, "found no config.json, which declares the class of a model; for an image model, "
            "amn help family shows a complete file of kind image");
    if (!tree_read(&members, config->text, config->n, config->name, err))
        return false;
    const json_t *text = json_object_get(members, "text_config");
    const char *said = json_string_value(json_array_get(json_object_get(members, "architectures"), 0));
    const char *model_type = json_string_value(json_object_get(json_is_object(text) ? text : members, "model_type"));
    bool ok = said || err_set(err, ERR_MALFORMED, "config.json: architectures, the model class, is missing");
    if (ok) {
        snprintf(class, sizeof class, "%.*s", (int)strcspn(said, " \t\r\n"), said);
        copy_word(type, sizeof type, str_or(model_type, said));
    }
    ok = ok && template_find(&best, model, class, err);
    if (ok) {
        add_file(out, family_builtin_text(best.family->name)->text, class, type);
        add_matches(out, &best);
        if (json_is_object(text))
            json_object_update(members, (json_t *)text);
        ok = add_members(out, best.family, members, err) && (!out->failed || err_memory(err, out->room));
        match_clear(&best);
    }
    json_decref(members);
    return ok;
}

bool
family_template_alike(const char **name, struct model *model, const char *class, struct err *err)
{
    struct template_match best = { 0 };
    bool ok = template_find(&best, model, class, err);
    *name = NULL;
    if (ok && best.matches != 0 && best.without.list.n == 0)
        *name = family_builtin_text(best.family->name)->name;
    match_clear(&best);
    return ok;
}
