/* An adapter: described, then merged into a base. An input is a byte that selects the base, a file of an adapter, then MODEL_CONFIG
 * and adapter_config.json; without these, a file that is accompanied by none. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "adapter/describe.h"
#include "adapter/factor.h"
#include "model_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum { BASES = 3, FILE_MAX = 64 << 10, RUN = 100, ELEMENTS = 1 << 16 };
enum place { FOLDER, ADAPTER, CONFIG, SINGLE, PLACES };

static char folder[] = "/tmp/amn-fuzz.XXXXXX";
static char place[PLACES][64], base[BASES][64], base_config[64];

/* --- the bases */

struct base_file {
    char text[FILE_MAX];
    size_t n, data, tensors;
};

/* Adds a tensor of F32 to a header of safetensors. */
static void
add_tensor(struct base_file *f, const char *name, const char *shape, size_t numel)
{
    f->n += (size_t)snprintf(f->text + f->n, FILE_MAX - f->n, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
        f->tensors++ == 0 ? "{" : ",", name, shape, f->data, f->data + 4 * numel);
    f->data += 4 * numel;
    assert(f->n < FILE_MAX);
}

static void
add_weight(struct base_file *f, const char *module, size_t rows, size_t cols)
{
    char name[128], shape[64];
    snprintf(name, sizeof name, "%s.weight", module);
    snprintf(shape, sizeof shape, "%zu,%zu", rows, cols);
    add_tensor(f, name, shape, rows * cols);
}

static void
write_file(const char *path, const void *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert(fd >= 0 && write(fd, p, n) == (ssize_t)n && close(fd) == 0);
}

/* Writes header and data: floats of small whole numbers. */
static void
write_base(const char *path, struct base_file *f)
{
    f->text[f->n++] = '}';
    size_t n = 8 + f->n + f->data;
    uint8_t *all = malloc(n);
    assert(all);
    for (int i = 0; i < 8; i++)
        all[i] = (uint8_t)(f->n >> 8 * i);
    memcpy(all + 8, f->text, f->n);
    for (size_t i = 0; i < f->data; i += 4) {
        float x = (float)(i / 4 % 7) - 3;
        memcpy(all + 8 + f->n + i, &x, sizeof x);
    }
    write_file(path, all, n);
    free(all);
}

/* A language model: a head tied to its embedding, biases, experts one by one and stacked. */
static void
make_language(const char *path)
{
    static struct base_file f;
    static const char layer[] = "model.layers.0.";
    static const struct { const char *name; size_t rows, cols; } modules[] = {
        { "self_attn.q_proj", 8, 8 }, { "self_attn.k_proj", 4, 8 }, { "self_attn.o_proj", 8, 8 }, { "mlp.gate_proj", 12, 8 },
        { "mlp.down_proj", 8, 12 }, { "mlp.experts.0.gate_proj", 6, 8 }, { "mlp.experts.1.gate_proj", 6, 8 },
    };
    char name[128];
    add_weight(&f, "model.embed_tokens", 10, 8);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        snprintf(name, sizeof name, "%s%s", layer, modules[i].name);
        add_weight(&f, name, modules[i].rows, modules[i].cols);
    }
    add_tensor(&f, "model.layers.0.self_attn.q_proj.bias", "8", 8);
    add_tensor(&f, "model.layers.0.input_layernorm.weight", "8", 8);
    add_tensor(&f, "model.layers.1.mlp.experts.gate_up_proj", "2,12,8", 192);
    add_tensor(&f, "model.layers.1.mlp.experts.down_proj", "2,8,6", 96);
    add_tensor(&f, "x.weight", "8,4,3,3", 288);
    add_tensor(&f, "x.bias", "8", 8);
    write_base(path, &f);
}

/* Image models: a UNet in the names of its authors, fused and single blocks, and a text encoder. */
static void
make_image(const char *path)
{
    static struct base_file f;
    static const char unet[] = "model.diffusion_model.";
    char name[128];
    add_weight(&f, "model.diffusion_model.double_blocks.0.img_attn.qkv", 12, 4);
    add_weight(&f, "model.diffusion_model.single_blocks.0.linear1", 20, 4);
    add_weight(&f, "model.diffusion_model.final_layer.adaLN_modulation.1", 8, 4);
    add_weight(&f, "model.diffusion_model.input_blocks.1.1.transformer_blocks.0.attn1.to_q", 4, 4);
    snprintf(name, sizeof name, "%sinput_blocks.1.0.in_layers.2.weight", unet);
    add_tensor(&f, name, "4,4,3,3", 144);
    add_weight(&f, "text_encoders.clip_l.transformer.text_model.encoder.layers.0.self_attn.q_proj", 4, 4);
    write_base(path, &f);
}

static void
put(struct base_file *f, uint64_t v, size_t size)
{
    for (size_t i = 0; i < size; i++)
        f->text[f->n++] = (char)(v >> 8 * i);
}

static void
put_text(struct base_file *f, const char *text)
{
    put(f, strlen(text), 8);
    memcpy(f->text + f->n, text, strlen(text));
    f->n += strlen(text);
}

/* GGUF of a small llama, with the names of another program and the rows of attn_q in another order. */
static void
make_gguf(const char *path)
{
    static struct base_file f;
    static const struct { const char *name; uint64_t cols, rows; } tensors[] = {
        { "token_embd.weight", 8, 10 }, { "output_norm.weight", 8, 0 }, { "blk.0.attn_norm.weight", 8, 0 },
        { "blk.0.attn_q.weight", 8, 8 }, { "blk.0.attn_k.weight", 8, 4 }, { "blk.0.attn_v.weight", 8, 4 },
        { "blk.0.attn_output.weight", 8, 8 }, { "blk.0.ffn_norm.weight", 8, 0 }, { "blk.0.ffn_gate.weight", 8, 12 },
        { "blk.0.ffn_up.weight", 8, 12 }, { "blk.0.ffn_down.weight", 12, 8 },
    };
    static const struct { const char *key; uint32_t value; } keys[] = {
        { "llama.block_count", 1 }, { "llama.context_length", 64 }, { "llama.embedding_length", 8 },
        { "llama.feed_forward_length", 12 }, { "llama.attention.head_count", 2 }, { "llama.attention.head_count_kv", 1 },
        { "llama.vocab_size", 10 }, { "llama.rope.dimension_count", 4 },
    };
    enum { TENSORS = sizeof tensors / sizeof *tensors, KEYS = sizeof keys / sizeof *keys };
    memcpy(f.text, "GGUF", f.n = 4);
    put(&f, 3, 4);
    put(&f, TENSORS, 8);
    put(&f, KEYS + 2, 8);
    put_text(&f, "general.architecture");
    put(&f, 8, 4);
    put_text(&f, "llama");
    put_text(&f, "llama.attention.layer_norm_rms_epsilon");
    put(&f, 6, 4);
    put(&f, 0x3727C5AC, 4);             /* 1e-5 */
    for (size_t i = 0; i < KEYS; i++) {
        put_text(&f, keys[i].key);
        put(&f, 4, 4);
        put(&f, keys[i].value, 4);
    }
    for (size_t i = 0; i < TENSORS; i++) {
        put_text(&f, tensors[i].name);
        put(&f, tensors[i].rows != 0 ? 2 : 1, 4);
        put(&f, tensors[i].cols, 8);
        if (tensors[i].rows != 0)
            put(&f, tensors[i].rows, 8);
        put(&f, 0, 4);
        put(&f, f.data, 8);
        f.data += (4 * tensors[i].cols * (tensors[i].rows != 0 ? tensors[i].rows : 1) + 31) / 32 * 32;
    }
    f.n = (f.n + 31) / 32 * 32 + f.data;
    assert(f.n < FILE_MAX);
    write_file(path, f.text, f.n);
}

/* --- the files */

static void
remove_folder(void)
{
    char path[80];
    for (int i = 0; i < BASES; i++) {
        unlink(base[i]);
        *strrchr(base[i], '/') = '\0';
        snprintf(path, sizeof path, "%s/config.json", base[i]);
        unlink(path);
        rmdir(base[i]);
    }
    for (int i = PLACES; i-- > 0;)
        i == FOLDER ? rmdir(place[i]) : unlink(place[i]);
    rmdir(folder);
}

static void
make_folder(void)
{
    static const char config[] = "{\"model_type\":\"llama\",\"tie_word_embeddings\":true,\"vocab_size\":10}";
    static const char *const names[PLACES] = { "lora", "lora/adapter_model.safetensors", "lora/adapter_config.json", "single" };
    static void (*const make[BASES])(const char *path) = { make_language, make_image, make_gguf };
    assert(mkdtemp(folder));
    for (int i = 0; i < PLACES; i++)
        snprintf(place[i], sizeof place[i], "%s/%s", folder, names[i]);
    for (int i = 0; i < BASES; i++) {
        snprintf(base[i], sizeof base[i], "%s/base-%d", folder, i);
        assert(mkdir(base[i], 0700) == 0);
        strcat(base[i], i == BASES - 1 ? "/model.gguf" : "/model.safetensors");
        make[i](base[i]);
    }
    snprintf(base_config, sizeof base_config, "%s/base-0/config.json", folder);
    write_file(base_config, config, sizeof config - 1);
    assert(mkdir(place[FOLDER], 0700) == 0);
    atexit(remove_folder);
}

/* --- one input */

static void
describe(const char *file, const struct kernels *k)
{
    const struct model_options how = { .limits = &limits_default, .config = "none" };
    struct model model = { 0 };
    struct err err;
    bool is = false;
    err_init(&err);
    struct adapter_facts *facts = NULL;
    bool ok = model_open(&model, file, &how, &err) && adapter_recognize(&is, model.catalog, file, &err)
        && (!is || (facts = adapter_describe(file, &model, k, &limits_default, &err)) != NULL);
    assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG && err.kind != ERR_USAGE);
    adapter_facts_free(facts);
    model_clear(&model);
}

static bool
contents_read(void *of, const struct tensor *t, void *buf, struct err *err)
{
    return model_read(of, t, buf, err);
}

/* Reads elements of a source; values of the bases do not matter. */
static bool
source_values(void *of, uint64_t first, size_t n, double *v, struct err *err)
{
    (void)of;
    (void)err;
    for (size_t i = 0; i < n; i++)
        v[i] = (double)((first + i) % 7) - 3;
    return true;
}

/* Makes the elements of a delta in runs, the last one first, and twice: they depend on nothing but their positions. Everything about an
 * adapter was decided when it was opened: memory alone can be short now. */
static void
run_delta(const struct delta *delta, const struct kernels *k)
{
    double v[RUN], again[RUN];
    struct err err;
    err_init(&err);
    assert(delta->numel <= ELEMENTS);
    for (uint64_t left = delta->numel; left != 0;) {
        size_t n = left < RUN ? (size_t)left : RUN, half = n / 2;
        left -= n;
        const struct delta_run whole = { .k = k, .first = left, .n = n, .v = v, .read = source_values };
        const struct delta_run second = { .k = k, .first = left + half, .n = n - half, .v = again, .read = source_values };
        source_values(NULL, left, n, v, &err);
        source_values(NULL, left + half, n - half, again, &err);
        if (!delta->apply(delta, &whole, &err) || !delta->apply(delta, &second, &err)) {
            assert(err.kind == ERR_MEMORY || err.kind == ERR_LIMIT);
            return;
        }
        assert(memcmp(v + half, again, (n - half) * sizeof *v) == 0);
    }
    for (size_t i = 0; delta->input(delta, i); i++)
        assert(delta->input(delta, i)->name_len != 0);
}

/* Checks the names and sizes of the tensors of the merged model, and that the tensors of the adapter, whose file comes after
 * the base's, can be read: unreadable tensors are refused before there is output. */
static void
check_choice(const struct choice *choice, const struct kernels *k)
{
    for (size_t i = 0; i < choice->n; i++) {
        const struct tensor *copy = choice->list[i].copy;
        assert(!copy || copy->extent.file == 0 || factor_decodes(k, copy));
    }
    struct err err;
    uint64_t n;
    err_init(&err);
    assert(choice_nbytes(choice, &n, &err) && choice_distinct(choice, &err));
}

static void
merge(const char *file, const char *to, const struct kernels *k)
{
    const struct model_options how = { .limits = &limits_default };
    const struct adapter_arguments args = { &(struct adapter_argument){ (char *)file, 0.5 }, 1, 1 };
    struct model model = { 0 };
    struct contents contents = { contents_read, &model };
    struct adapter_job job = { &model, k, &limits_default, DTYPE_F32, true, false, NULL };
    struct roles *roles = NULL;
    struct choice choice = { 0 };
    struct adapters *adapters = NULL;
    struct err err;
    err_init(&err);
    assert(model_open(&model, to, &how, &err) && roles_assign(&roles, model.catalog, NULL, &contents, &err)
        && choice_make(&choice, model.catalog, roles, KEEPS_NONE, DTYPE_F32, false, &err));
    bool ok = adapters_apply(&adapters, &args, &job, &choice, &err);
    assert(ok == (err.kind == ERR_NONE) && err.kind != ERR_BUG && err.kind != ERR_USAGE);
    if (ok) {
        size_t n;
        const struct delta *const *deltas = adapters_deltas(adapters, &n);
        for (size_t i = 0; i < n; i++)
            run_delta(deltas[i], k);
        check_choice(&choice, k);
    }
    choice_clear(&choice);
    roles_free(roles);
    adapters_free(adapters);
    model_clear(&model);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct kernels *k;
    if (n == 0)
        return 0;
    const char *to = base[*p++ % BASES];
    const uint8_t *config = memmem(p, --n, MODEL_CONFIG, sizeof MODEL_CONFIG - 1);
    const char *file = place[config ? ADAPTER : SINGLE];
    if (!k) {
        struct err err;
        err_init(&err);
        assert((k = kernels_pick(NULL, &err)) != NULL);
        make_folder();
    }
    write_file(file, p, config ? (size_t)(config - p) : n);
    if (config) {
        config += sizeof MODEL_CONFIG - 1;
        write_file(place[CONFIG], config, n - (size_t)(config - p));
    }
    describe(file, k);
    merge(file, to, k);
    return 0;
}
