#include "model/candidates.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "container/container.h"
#include "model/configs.h"
#include "base/folder.h"

/* File names of one rank; a '*' in front makes the rest a suffix. The first step that matches any
 * file decides, and must match exactly one. */
struct candidate_step {
    const char *pattern[12];
    bool rival;                 /* worth a warning if another one is read; if not set, the file is usually another copy of the
                                 * same model */
    bool shards;                /* match only the first shard of a complete set that no index lists */
    bool loose;                 /* trainers give such names to other files, too */
    bool foreign;               /* files of formats that are only named; the first shows the format */
};

/* A UQFF model: files with the quantized weights, and one with all others, which must not pass for a model. */
#define UQFF "*.uqff"
static const char uqff_rest[] = "residual.safetensors";

static const struct candidate_step steps[] = {
    { .pattern = { "model.safetensors.index.json" }, .rival = true },
    { .pattern = { "*.safetensors.index.json" }, .rival = true },
    { .pattern = { "*.safetensors" }, .rival = true, .shards = true },
    { .pattern = { "model.safetensors" }, .rival = true },
    { .pattern = { "*.safetensors" }, .rival = true },
    { .pattern = { "model.safetensors.gz", "model.safetensors.zst", "model.safetensors.xz" }, .rival = true },
    { .pattern = { "*.safetensors.gz", "*.safetensors.zst", "*.safetensors.xz" }, .rival = true },
    { .pattern = { "pytorch_model.bin.index.json" } },
    { .pattern = { "*.bin" }, .shards = true },
    { .pattern = { "pytorch_model.bin" } },
    { .pattern = { "*.gguf" }, .rival = true },
    { .pattern = { "*.gguf.gz", "*.gguf.zst", "*.gguf.xz" }, .rival = true },
    { .pattern = { "*.bin.index.json" } },
    { .pattern = { "*.npz", "*.npy", "*.pth", "*.pt", "*.bin", "*.ckpt" }, .loose = true },
    { .pattern = { UQFF, "*.onnx", "*.h5", "*.keras", "*.msgpack", "*.xml", "*.tflite", "*.pte", "*.ort", "saved_model.pb",
        "manifest.ocdbt", "Manifest.json" }, .foreign = true },
};
enum { STEPS = sizeof steps / sizeof *steps };

/* Files that trainers write next to a model. */
static const char *const not_models[] = { "training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.bin", "scheduler.pt",
    "scaler.pt", "rng_state.pth" };

/* Returns true if a step looks for files of this name. Only the first part of a split GGUF model matches. */
static bool
step_matches(const struct candidate_step *step, const char *name)
{
    struct configs_part part;
    if (configs_part(&part, name, ".gguf") && str_ends(name, ".gguf") && part.number != 1)
        return false;
    for (size_t i = 0; i < sizeof not_models / sizeof *not_models; i++)
        if (strcmp(name, not_models[i]) == 0)
            return false;
    for (size_t i = 0; i < sizeof step->pattern / sizeof *step->pattern && step->pattern[i]; i++) {
        const char *pattern = step->pattern[i];
        if (*pattern == '*' ? *name != '.' && str_ends(name, pattern + 1) : strcmp(name, pattern) == 0)
            return true;
    }
    return false;
}

/* --- shards -------------------------------------------------------------------------------------------- */

static int
compare_name(const void *key, const void *b)
{
    return strcmp(key, *(char *const *)b);
}

/* Returns true if the directory has shard i of the set that `name` belongs to, or the set's index if i is 0. */
static bool
has_shard(const struct candidates *c, const char *name, const struct configs_part *part, uint64_t i)
{
    struct str s = { 0 };
    configs_part_name(&s, name, part, i);
    bool found = !s.failed && bsearch(s.p, c->names.name, c->names.n, sizeof *c->names.name, compare_name);
    str_clear(&s);
    return found;
}

static bool
is_complete(const struct candidates *c, const char *name, const struct configs_part *part)
{
    uint64_t i = 1;
    while (i <= part->count && has_shard(c, name, part, i))
        i++;
    return i > part->count;
}

/* Returns true if the directory has an index for the set of this shard. */
static bool
is_indexed(const struct candidates *c, const char *name)
{
    struct configs_part part;
    return configs_shard(&part, name) && has_shard(c, name, &part, 0);
}

/* Returns true if both are shards of one model. */
static bool
is_same_model(const char *a, const char *b)
{
    struct configs_part p, q;
    return configs_shard(&p, a) && configs_shard(&q, b) && p.number >= 1 && p.number <= p.count && q.number >= 1
        && q.number <= q.count && p.count == q.count && strcmp(p.suffix, q.suffix) == 0 && p.stem == q.stem
        && memcmp(a, b, p.stem) == 0;
}

/* --- steps --------------------------------------------------------------------------------------------- */

/* Returns true if the directory has a file of this name with another ending. */
static bool
has_beside(const struct candidates *c, const char *name, const char *ending, const char *other)
{
    struct str s = { 0 };
    size_t n = strlen(name);
    if (!str_strip(name, &n, ending))
        return false;
    str_add(&s, name, n);
    str_text(&s, other);
    bool found = !s.failed && bsearch(s.p, c->names.name, c->names.n, sizeof *c->names.name, compare_name);
    str_clear(&s);
    return found;
}

/* Returns true if the file belongs to a model of OpenVINO, X.xml and X.bin, as its weights; or is XML of something else. */
static bool
is_openvino_part(const struct candidates *c, const char *name)
{
    return has_beside(c, name, ".bin", ".xml") || (str_ends(name, ".xml") && !has_beside(c, name, ".xml", ".bin"));
}

/* Returns true if the file has what a UQFF model in the directory does not quantize. */
static bool
is_uqff_rest(const struct candidates *c, const char *name)
{
    bool found = false;
    for (size_t i = 0; strcmp(name, uqff_rest) == 0 && !found && i < c->names.n; i++)
        found = str_ends(c->names.name[i], &UQFF[1]);
    return found;
}

/* Returns the first step that looks for this file, or NULL. c may be NULL for a name outside of any listing. */
static const struct candidate_step *
step_of(const struct candidates *c, const char *name)
{
    struct configs_part part;
    if (c && (is_uqff_rest(c, name) || is_openvino_part(c, name)))
        return NULL;
    for (size_t i = 0; i < STEPS; i++)
        if (step_matches(&steps[i], name) && (!steps[i].shards || (c && configs_shard(&part, name) && part.number == 1
                && !is_indexed(c, name) && is_complete(c, name, &part))))
            return &steps[i];
    return NULL;
}

bool
candidates_is_model(const char *name)
{
    const struct candidate_step *step = step_of(NULL, name);
    return step && !step->foreign;
}

static bool
is_coreml(const char *name)
{
    return str_ends(name, ".mlpackage") || str_ends(name, ".mlpackage/") || str_ends(name, ".mlmodelc") || str_ends(name, ".mlmodelc/");
}

/* Recognizes shard-00001-model-00001-of-00002.safetensors, of torch's HuggingFaceStorageWriter: rank, then file of the rank. */
static bool
is_slice(const char *name)
{
    static const char form[] = "shard-#####-model-#####-of-#####.safetensors";
    size_t i = 0;
    while (form[i] != '\0' && (form[i] == '#' ? name[i] >= '0' && name[i] <= '9' : name[i] == form[i]))
        i++;
    return form[i] == '\0' && name[i] == '\0';
}

bool
candidates_has_whole(const struct candidates *c)
{
    bool whole = false;
    for (size_t i = 0; i < c->names.n; i++) {
        const struct candidate_step *step = step_of(c, c->names.name[i]);
        whole = whole || (step && !step->loose && !step->foreign && !is_slice(c->names.name[i]));
    }
    return whole;
}

bool
candidates_list(struct candidates *c, const char *dir, const struct inputs *inputs, struct err *err)
{
    char shown[STR_SHOWN];
    struct bundle_list l;
    if (!bundle_list_open(&l, dir, inputs)) {
        err_sys(err, ERR_OPEN, errno, "cannot list the directory");
        return err_in_file(err, str_shown(shown, dir, strlen(dir)));
    }
    const char *name;
    bool ok = true;
    c->bundled = l.bundle != NULL;
    while (ok && (name = bundle_list_next(&l, err)) != NULL) {
        c->deepspeed = c->deepspeed || strcmp(name, "zero_to_fp32.py") == 0 || str_ends(name, "_model_states.pt");
        c->coreml = c->coreml || is_coreml(name);
        c->tensorflow = c->tensorflow || str_ends(name, ".data-00000-of-00001");
        ok = !step_of(NULL, name) || names_add(&c->names, name, strlen(name), err);
    }
    bundle_list_close(&l);
    names_sort(&c->names);
    return (ok && err->kind == ERR_NONE) || err_in_file(err, str_shown(shown, dir, strlen(dir)));
}

/* --- errors -------------------------------------------------------------------------------------------- */

/* Names listed in a message, as in "a, b, c, d and 5 more". */
enum { NAMES_MAX = 4 };

static void
candidates_add_name(struct str *words, size_t i, const char *name)
{
    char shown[STR_SHOWN];
    if (i < NAMES_MAX)
        str_format(words, "%s%s", i ? ", " : "", str_shown(shown, name, strlen(name)));
}

static void
add_count(struct str *words, size_t n)
{
    if (n > NAMES_MAX)
        str_format(words, " and %zu more", n - NAMES_MAX);
}

/* Fails because shards of a model without an index are missing, and lists them. `name` is one of the shards present. */
static bool
refuse_missing(const struct candidates *c, const char *name, struct err *err)
{
    struct str words = { 0 }, file = { 0 };
    struct configs_part part;
    size_t n = 0;
    configs_shard(&part, name);
    for (uint64_t i = 1; i <= part.count; i++) {
        if (has_shard(c, name, &part, i))
            continue;
        file.len = 0;
        configs_part_name(&file, name, &part, i);
        if (!file.failed)
            candidates_add_name(&words, n++, file.p);
    }
    add_count(&words, n);
    if (words.failed || file.failed)
        err_memory(err, words.room);
    else
        err_set(err, ERR_OPEN, "the directory has only %" PRIu64 " of the %" PRIu64 " shards of a model, "
            "missing: %s", part.count - n, part.count, words.p);
    str_clear(&file);
    str_clear(&words);
    return false;
}

/* Returns true if all files of a step are shards of one model. Sets *first to the first file. */
static bool
is_one_model(const struct candidates *c, const struct candidate_step *step, const char **first)
{
    *first = NULL;
    for (size_t i = 0; i < c->names.n; i++) {
        if (step_of(c, c->names.name[i]) != step)
            continue;
        *first = *first ? *first : c->names.name[i];
        if (!is_same_model(*first, c->names.name[i]))
            return false;
    }
    return true;
}

/* Returns the two digits in consolidated.00.pth, or NULL for other names. */
static const char *
parallel_number(const char *name)
{
    static const char head[] = "consolidated.";
    const char *p = name + sizeof head - 1;
    bool is = str_begins(name, head) && isdigit((unsigned char)p[0]) && isdigit((unsigned char)p[1]);
    if (is && strcmp(p + 2, ".pth") == 0)
        return p;
    return NULL;
}

bool
candidates_check_parallel(const char *path, struct err *err)
{
    const char *digits = parallel_number(folder_name(path));
    char *other = NULL;
    if (digits)
        other = strdup(path);
    struct stat st;
    if (digits && !other)
        return err_memory(err, strlen(path) + 1);
    if (other)
        memcpy(other + (digits - path), str_begins(digits, "00") ? "01" : "00", 2);
    bool several = other && stat(other, &st) == 0;
    free(other);
    return !several || err_set(err, ERR_UNSUPPORTED, "this is one of several model-parallel parts, each with a slice of every matrix: "
        "give its directory");
}

static bool
refuse_several(const struct candidates *c, const struct candidate_step *step, const char *dir, struct err *err)
{
    struct str words = { 0 };
    struct configs_part part;
    char folder[STR_SHOWN], file[STR_SHOWN];
    const char *first = NULL;
    bool projector = false;
    size_t n = 0;
    for (size_t i = 0; i < c->names.n; i++)
        if (step_of(c, c->names.name[i]) == step) {
            first = first && !projector ? first : c->names.name[i];
            projector = str_begins(first, "mmproj");
            candidates_add_name(&words, n++, c->names.name[i]);
        }
    add_count(&words, n);
    if (words.failed)
        err_memory(err, words.room);
    else if (c->bundled)
        err_set(err, ERR_USAGE, "the archive has several models (%s): give --root with one of them", words.p);
    else if (configs_shard(&part, first))
        err_set(err, ERR_USAGE, "the directory has several model files (%s) and no index of shards: add "
            "the model's .index.json, or give one file", words.p);
    else
        err_set(err, ERR_USAGE, "the directory has several models (%s): give one of them, such as %s%s%s",
            words.p, str_shown(folder, dir, strlen(dir)), str_ends(dir, "/") ? "" : "/",
            str_shown(file, first, strlen(first)));
    str_clear(&words);
    return false;
}

/* Returns true if a subdirectory has a model file. One that cannot be listed has none. */
static bool
holds_model(const char *dir, const char *name)
{
    struct err ignored;
    err_init(&ignored);
    char *path = folder_path(dir, strlen(dir), name, &ignored);
    DIR *d = NULL;
    if (path)
        d = opendir(path);
    const char *file;
    bool found = false;
    while (d && !found && (file = folder_next(d, &ignored)) != NULL)
        found = step_of(NULL, file) != NULL;
    if (d)
        closedir(d);
    free(path);
    return found;
}

/* Adds the folders of a bundle that have a model file. */
static void
bundle_folders(struct names *folders, const struct bundle *b, struct err *err)
{
    for (size_t i = 0; i < b->n; i++) {
        const char *name = b->file[i].name, *slash = strrchr(name, '/');
        if (slash && step_of(NULL, slash + 1))
            names_add(folders, name, (size_t)(slash - name), err);
    }
}

/* Returns the folder that is proposed: the model that makes the pictures of a pipeline, else the first. */
static const char *
main_folder(const struct names *folders)
{
    static const char *const words[] = { "transformer", "unet" };
    for (size_t i = 0; i < folders->n; i++)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (strcmp(folders->name[i], words[k]) == 0)
                return folders->name[i];
    return folders->name[0];
}

/* Fails for a directory without a model, and names its subdirectories that have one: parts of a pipeline, which model_index.json
 * lists, or several adapters. */
static bool
refuse_none(const struct candidates *c, const char *dir, const struct inputs *inputs, struct err *err)
{
    struct names folders = { 0 };
    struct str words = { 0 };
    char folder[STR_SHOWN], shown[STR_SHOWN];
    size_t n = strlen(dir);
    DIR *d = opendir(dir);
    const char *name;
    bool pipeline = false;
    while (d && (name = folder_next(d, err)) != NULL) {
        pipeline = pipeline || strcmp(name, "model_index.json") == 0;
        if (name[0] != '.' && holds_model(dir, name))
            names_add(&folders, name, strlen(name), err);
    }
    if (d)
        closedir(d);
    if (c->bundled)
        bundle_folders(&folders, &inputs->bundle, err);
    names_sort(&folders);
    for (size_t i = 0; i < folders.n; i++)
        candidates_add_name(&words, i, folders.name[i]);
    add_count(&words, folders.n);
    if (folders.n == 0 || words.failed)
        err_set(err, ERR_OPEN, "the directory has no model file: expected model.safetensors, "
            "model.safetensors.index.json, or a .safetensors, .gguf, .pth, .bin or .npz file");
    else if (c->bundled)
        err_set(err, ERR_USAGE, "the archive has several models (%s): give --root with one of them", words.p);
    else {
        const char *first = main_folder(&folders);
        enum err_kind kind = ERR_OPEN;
        if (pipeline)
            kind = ERR_UNSUPPORTED;
        err_set(err, kind, "%s, but its subdirectories have (%s): give one of them, such as %s/%s",
            pipeline ? "a pipeline has no model file of its own" : "the directory has no model file", words.p,
            str_shown(folder, dir, n > 1 && dir[n - 1] == '/' ? n - 1 : n), str_shown(shown, first, strlen(first)));
    }
    names_clear(&folders);
    str_clear(&words);
    return false;
}

/* Returns true if the files of a step are safetensors, which trainers write beside a checkpoint of their own. */
static bool
is_safe(const struct candidate_step *step)
{
    return step && strstr(step->pattern[0], ".safetensors") != NULL;
}

/* Fails for a directory of another program's checkpoint, and says how that program converts it. Its files do not count as models. */
static bool
refuse_checkpoint(const struct candidates *c, struct err *err)
{
    if (c->coreml)
        return err_set(err, ERR_UNSUPPORTED, "this is a model of Core ML, which is not supported: look for the same model in safetensors "
            "or GGUF format");
    if (c->deepspeed)
        return err_set(err, ERR_UNSUPPORTED, "this is the directory of checkpoints of DeepSpeed, without the file 'latest' that names "
            "one: give the directory of a tag in it, such as global_step100");
    return err_set(err, ERR_UNSUPPORTED, "this is a checkpoint of TensorFlow, which is not supported: look for the same model in "
        "safetensors or GGUF format");
}

bool
candidates_choose(struct candidates *c, const char *dir, const struct inputs *inputs, struct err *err)
{
    char shown[STR_SHOWN];
    struct configs_part part;
    const struct candidate_step *best = NULL;
    const char *shard = NULL;
    bool ok = true;
    c->coreml = c->coreml || is_coreml(dir);
    for (size_t i = 0; ok && i < c->names.n; i++) {
        const struct candidate_step *step = step_of(c, c->names.name[i]);
        if (!step || (best && (step > best || (step == best && step->foreign))))
            continue;
        if (step == best)
            c->chosen = NULL;
        else
            c->chosen = c->names.name[i];
        best = step;
    }
    if (ok && ((!best && c->tensorflow) || (c->coreml && (!best || best->foreign)) || (c->deepspeed && !is_safe(best)))) {
        c->chosen = NULL;
        refuse_checkpoint(c, err);
    } else if (ok && !best)
        refuse_none(c, dir, inputs, err);
    else if (ok && best->shards && c->chosen && configs_shard(&part, c->chosen))
        c->shards = part.count;
    else if (ok && !best->shards && is_one_model(c, best, &shard) && !is_indexed(c, shard)) {
        c->chosen = NULL;
        refuse_missing(c, shard, err);
    } else if (ok && !c->chosen)
        refuse_several(c, best, dir, err);
    return c->chosen || err_in_file(err, str_shown(shown, dir, strlen(dir)));
}

void
candidates_clear(struct candidates *c)
{
    names_clear(&c->names);
    *c = (struct candidates){ 0 };
}

/* --- a directory without a listing ------------------------------------------------------------------------ */

const char *
candidates_usual(size_t i)
{
    enum { PATTERNS = sizeof steps->pattern / sizeof *steps->pattern };
    for (size_t k = 0; k < STEPS * PATTERNS; k++) {
        const char *pattern = steps[k / PATTERNS].pattern[k % PATTERNS];
        if (pattern && *pattern != '*' && !steps[k / PATTERNS].foreign && i-- == 0)
            return pattern;
    }
    return NULL;
}

/* --- other models -------------------------------------------------------------------------------------- */

bool
candidates_other(const struct candidates *c, size_t i)
{
    const char *name = c->names.name[i];
    const struct candidate_step *step = step_of(c, name);
    return name != c->chosen && step && step->rival && !is_indexed(c, name)
        && (c->shards == 0 || !is_same_model(name, c->chosen));
}

/* Sets *other if the file exists and is not one of those that were opened, under any name. */
static bool
check_other(bool *other, const char *dir, const char *name, const struct inputs *inputs, struct err *err)
{
    struct stat st;
    char *path = folder_path(dir, strlen(dir), name, err), shown[STR_SHOWN];
    bool there = path && stat(path, &st) == 0;
    bool ok = path && (there || err_absent(errno)
        || err_sys(err, ERR_OPEN, errno, "%s", str_shown(shown, name, strlen(name))));
    *other = there && !inputs_find(inputs, st.st_dev, st.st_ino);
    free(path);
    return ok;
}

bool
candidates_warn(const struct candidates *c, const char *dir, const struct inputs *inputs, struct catalog *catalog,
    struct err *err)
{
    struct str words = { 0 };
    char shown[STR_SHOWN];
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < c->names.n; i++) {
        bool other = candidates_other(c, i);
        ok = !other || check_other(&other, dir, c->names.name[i], inputs, err);
        if (other)
            candidates_add_name(&words, n++, c->names.name[i]);
    }
    add_count(&words, n);
    ok = ok && (!words.failed || err_memory(err, words.room));
    if (ok && n != 0)
        catalog_warn(catalog, "the directory has several models: reading %s, not %s; give a file name to choose another",
            str_shown(shown, c->chosen, strlen(c->chosen)), words.p);
    str_clear(&words);
    return ok;
}
