/* Adapters of image models in one file: the factors under the names of kohya or diffusers. Sources: convert_state_dict_to_kohya() and
 * save_lora_weights() of diffusers. */
#include <stdlib.h>
#include <string.h>

#include "adapter/recast.h"
#include "base/names.h"

/* What is in front of the module's name, by tower. */
static const char *const kohya[TOWERS] = { "lora_unet_", "lora_te1_", "lora_te2_", "lora_te3_" };
static const char *const diffusers[TOWERS] = { "transformer", "text_encoder", "text_encoder_2", "text_encoder_3" };

/* Returns true if the name of a pair begins with one of these. */
static bool
single_begins(const struct recast_pair *p, const char *const starts[])
{
    for (; *starts; starts++)
        if (str_prefixed(p->name, p->n, *starts))
            return true;
    return false;
}

/* Returns the part of the model that a name of diffusers begins with. The files of the authors have "diffusion_model". */
static const char *
part_of(const struct recast_pair *p)
{
    static const char *const unet[] = { "down_blocks.", "mid_block.", "up_blocks.", "conv_in", "conv_out", "time_embedding.",
        "add_embedding.", NULL };
    static const char *const authors[] = { "double_blocks.", "single_blocks.", "input_blocks.", "middle_block.", "output_blocks.",
        "joint_blocks.", "img_in", "txt_in", "final_layer.", NULL };
    if (p->tower != 0)
        return diffusers[p->tower];
    return single_begins(p, unet) ? "unet" : single_begins(p, authors) ? "diffusion_model" : diffusers[0];
}

/* Appends a tensor of a pair; the text of the name is finished. */
static bool
append(struct choice *choice, const struct recast *r, const struct chosen *c, struct str *name, struct err *err)
{
    struct chosen out = *c;
    return recast_name(&out, r, name, err) && choice_append(choice, &out, err);
}

/* --- kohya */

/* Appends the name of a module: underscores in place of dots. */
static void
add_flat(struct str *name, const struct recast_pair *p, const char *end)
{
    str_text(name, kohya[p->tower]);
    for (uint32_t i = 0; i < p->n; i++)
        str_add(name, p->name[i] == '.' ? "_" : p->name + i, 1);
    str_text(name, end);
}

/* Appends alpha, a number of F32. */
static bool
append_alpha(struct choice *choice, const struct recast *r, const struct recast_pair *p, struct err *err)
{
    static const char what[] = "alpha";
    struct catalog *memory = r->job->model->catalog;
    struct composed *composed = catalog_alloc(memory, sizeof *composed, err);
    float *number = catalog_alloc(memory, sizeof *number, err);
    uint8_t *packed = catalog_alloc(memory, SHAPE_DIM + 1, err);
    struct str name = { 0 };
    if (!composed || !number || !packed)
        return false;
    *number = (float)p->alpha;
    shape_pack(packed, NULL, 0);
    *composed = (struct composed){ .shape = { 0, packed }, .numbers = number, .name = what };
    const struct chosen c = { .composed = composed, .dtype = DTYPE_F32 };
    add_flat(&name, p, ".alpha");
    return append(choice, r, &c, &name, err);
}

static bool
to_kohya(struct recast *r, struct choice *choice, const struct recast_pair *p, struct err *err)
{
    struct str down = { 0 }, up = { 0 };
    add_flat(&down, p, ".lora_down.weight");
    add_flat(&up, p, ".lora_up.weight");
    bool ok = append_alpha(choice, r, p, err) && append(choice, r, &p->a, &down, err) && append(choice, r, &p->b, &up, err);
    str_clear(&down);
    str_clear(&up);
    return ok;
}

/* --- diffusers */

static bool
to_diffusers(struct recast *r, struct choice *choice, const struct recast_pair *p, struct err *err)
{
    static const char *const ends[] = { ".lora_A.weight", ".lora_B.weight" };
    bool ok = true;
    for (size_t i = 0; ok && i < 2; i++) {
        struct str name = { 0 };
        str_format(&name, "%s.", part_of(p));
        str_add(&name, p->name, p->n);
        str_text(&name, ends[i]);
        ok = append(choice, r, i == 0 ? &p->a : &p->b, &name, err);
    }
    return ok;
}

static void
push_member(struct push *json, const char *part, const char *member)
{
    struct str key = { 0 };
    str_format(&key, "%s.%s", part, member);
    push_key(json, str_or(key.p, ""));
    json->out->failed = json->out->failed || key.failed;
    str_clear(&key);
}

/* Writes the config of the modules of a tower, if there are any. */
static bool
push_tower(struct push *json, const struct recast *r, int tower, struct err *err)
{
    const struct recast_pair *first = NULL;
    for (size_t i = r->npairs; i-- != 0;)
        first = r->pair[i].tower == tower ? &r->pair[i] : first;
    if (!first)
        return true;
    const char *part = part_of(first);
    struct str key = { 0 };
    push_member(json, part, "r");
    push_u64(json, first->rank);
    push_member(json, part, "lora_alpha");
    recast_push_number(json, first->alpha);
    str_format(&key, "%s.rank_pattern", part);
    recast_push_pattern(json, str_or(key.p, ""), r, tower, false);
    key.len = 0;
    str_format(&key, "%s.alpha_pattern", part);
    recast_push_pattern(json, str_or(key.p, ""), r, tower, true);
    key.len = 0;
    str_format(&key, "%s.target_modules", part);
    bool ok = (!key.failed || err_memory(err, key.room)) && recast_push_targets(json, str_or(key.p, ""), r, tower, false, err);
    str_clear(&key);
    return ok;
}

/* Puts the config of all towers into the header, where diffusers reads ranks and alphas. */
static bool
put_metadata(struct recast *r, struct err *err)
{
    struct str text = { 0 };
    struct push json = { .out = &text };
    bool ok = true;
    push_object(&json);
    for (int i = 0; ok && i < TOWERS; i++)
        ok = push_tower(&json, r, i, err);
    push_end(&json);
    ok = ok && (!text.failed || err_memory(err, text.room))
        && keys_put_text(&r->keys, NULL, "lora_adapter_metadata", text.p, text.len, err);
    str_clear(&text);
    return ok;
}

bool
recast_to_single(struct recast *r, struct choice *choice, struct err *err)
{
    bool flat = r->job->to == RECAST_KOHYA, scaled = false, ok = true;
    char shown[STR_SHOWN];
    choice->n = 0;
    choice->matrices = DTYPE_UNKNOWN;
    if (r->plain.n != 0)
        return err_set(err, ERR_UNSUPPORTED, "tensor %s: a file of kohya or diffusers does not replace tensors",
            str_shown(shown, r->plain.list->name, r->plain.list->name_len));
    for (size_t i = 0; ok && i < r->npairs; i++) {
        const struct recast_pair *p = &r->pair[i];
        ok = (flat ? to_kohya : to_diffusers)(r, choice, p, err);
        scaled = scaled || p->alpha != (double)p->rank;
    }
    if (ok && !flat && scaled)
        catalog_tell(r->job->model->catalog, "alpha differs from the rank, and is in lora_adapter_metadata: diffusers reads it from version "
            "0.34 on");
    return ok && (flat || put_metadata(r, err));
}
