#include "container/torch/pickle_globals.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define LENGTH(a) (sizeof (a) / sizeof *(a))

enum torch_id {
    T_F64, T_F32, T_F16, T_BF16, T_I64, T_I32, T_I16, T_I8, T_U8, T_BOOL, T_C128, T_C64, T_QI8, T_QI32, T_QU8, T_QU4X2,
    T_QU2X4, T_OTHERS
};

/* The first ones have one storage class each, in the order of `classes`. */
static const struct torch_type types[] = {
    [T_F64] = { "float64", DTYPE_F64, 8, 8, 1 },
    [T_F32] = { "float32", DTYPE_F32, 4, 4, 1 },
    [T_F16] = { "float16", DTYPE_F16, 2, 2, 1 },
    [T_BF16] = { "bfloat16", DTYPE_BF16, 2, 2, 1 },
    [T_I64] = { "int64", DTYPE_I64, 8, 8, 1 },
    [T_I32] = { "int32", DTYPE_I32, 4, 4, 1 },
    [T_I16] = { "int16", DTYPE_I16, 2, 2, 1 },
    [T_I8] = { "int8", DTYPE_I8, 1, 1, 1 },
    [T_U8] = { "uint8", DTYPE_U8, 1, 1, 1 },
    [T_BOOL] = { "bool", DTYPE_BOOL, 1, 1, 1 },
    [T_C128] = { "complex128", DTYPE_UNKNOWN, 16, 8, 1 },
    [T_C64] = { "complex64", DTYPE_C64, 8, 4, 1 },
    [T_QI8] = { "qint8", DTYPE_UNKNOWN, 1, 1, 1 },
    [T_QI32] = { "qint32", DTYPE_UNKNOWN, 4, 4, 1 },
    [T_QU8] = { "quint8", DTYPE_UNKNOWN, 1, 1, 1 },
    [T_QU4X2] = { "quint4x2", DTYPE_UNKNOWN, 1, 1, 2 },
    [T_QU2X4] = { "quint2x4", DTYPE_UNKNOWN, 1, 1, 4 },
    { "float8_e4m3fn", DTYPE_F8_E4M3, 1, 1, 1 },
    { "float8_e4m3fnuz", DTYPE_F8_E4M3FNUZ, 1, 1, 1 },
    { "float8_e5m2", DTYPE_F8_E5M2, 1, 1, 1 },
    { "float8_e5m2fnuz", DTYPE_F8_E5M2FNUZ, 1, 1, 1 },
    { "float8_e8m0fnu", DTYPE_F8_E8M0, 1, 1, 1 },
    { "float4_e2m1fn_x2", DTYPE_F4, 1, 1, 1 },             /* an element is a pair */
    { "uint16", DTYPE_U16, 2, 2, 1 },
    { "uint32", DTYPE_U32, 4, 4, 1 },
    { "uint64", DTYPE_U64, 8, 8, 1 },
    { "complex32", DTYPE_UNKNOWN, 4, 2, 1 },
    { "bcomplex32", DTYPE_UNKNOWN, 4, 2, 1 },
    { "bits8", DTYPE_UNKNOWN, 1, 1, 1 },
    { "bits16", DTYPE_UNKNOWN, 2, 2, 1 },
    { "bits1x8", DTYPE_UNKNOWN, 1, 1, 1 },
    { "bits2x4", DTYPE_UNKNOWN, 1, 1, 1 },
    { "bits4x2", DTYPE_UNKNOWN, 1, 1, 1 },
    { "int1", DTYPE_UNKNOWN, 0, 1, 1 }, { "int2", DTYPE_UNKNOWN, 0, 1, 1 }, { "int3", DTYPE_UNKNOWN, 0, 1, 1 },
    { "int4", DTYPE_UNKNOWN, 0, 1, 1 }, { "int5", DTYPE_UNKNOWN, 0, 1, 1 }, { "int6", DTYPE_UNKNOWN, 0, 1, 1 },
    { "int7", DTYPE_UNKNOWN, 0, 1, 1 },
    { "uint1", DTYPE_UNKNOWN, 0, 1, 1 }, { "uint2", DTYPE_UNKNOWN, 0, 1, 1 }, { "uint3", DTYPE_UNKNOWN, 0, 1, 1 },
    { "uint4", DTYPE_UNKNOWN, 0, 1, 1 }, { "uint5", DTYPE_UNKNOWN, 0, 1, 1 }, { "uint6", DTYPE_UNKNOWN, 0, 1, 1 },
    { "uint7", DTYPE_UNKNOWN, 0, 1, 1 },
};

static const char *const classes[T_OTHERS] = {
    [T_F64] = "Double", [T_F32] = "Float", [T_F16] = "Half", [T_BF16] = "BFloat16", [T_I64] = "Long", [T_I32] = "Int",
    [T_I16] = "Short", [T_I8] = "Char", [T_U8] = "Byte", [T_BOOL] = "Bool", [T_C128] = "ComplexDouble",
    [T_C64] = "ComplexFloat", [T_QI8] = "QInt8", [T_QI32] = "QInt32", [T_QU8] = "QUInt8", [T_QU4X2] = "QUInt4x2",
    [T_QU2X4] = "QUInt2x4",
};

/* The first n of `classes`, followed by this suffix. */
static const struct family {
    const char *module, *suffix;
    size_t n;
    enum pickle_role role;
} families[] = {
    { "torch", "Storage", T_OTHERS, GLOBAL_STORAGE },
    { "torch.cuda", "Storage", T_QI8, GLOBAL_STORAGE },
    { "torch", "Tensor", T_C128, GLOBAL_TENSOR_CLASS },
    { "torch.cuda", "Tensor", T_C128, GLOBAL_TENSOR_CLASS },
    { "torch.sparse", "Tensor", T_BOOL, GLOBAL_VALUE },
    { "torch.cuda.sparse", "Tensor", T_BOOL, GLOBAL_VALUE },
};

static const struct single {
    const char *module, *name;
    enum pickle_role role;
} singles[] = {
    { "collections", "OrderedDict", GLOBAL_ORDERED_DICT },
    { "collections", "Counter", GLOBAL_COUNTER },
    { "_codecs", "encode", GLOBAL_ENCODE },
    { "builtins", "bytearray", GLOBAL_VALUE },
    { "builtins", "set", GLOBAL_SET },
    { "builtins", "complex", GLOBAL_VALUE },
    { "torch._utils", "_rebuild_tensor", GLOBAL_TENSOR },
    { "torch._utils", "_rebuild_tensor_v2", GLOBAL_TENSOR_V2 },
    { "torch._utils", "_rebuild_tensor_v3", GLOBAL_TENSOR_V3 },
    { "torch._utils", "_rebuild_parameter", GLOBAL_REBUILD_PARAMETER },
    { "torch._utils", "_rebuild_parameter_with_state", GLOBAL_REBUILD_PARAMETER },
    { "torch._utils", "_rebuild_qtensor", GLOBAL_QTENSOR },
    { "torch._utils", "_rebuild_sparse_tensor", GLOBAL_SPARSE },
    { "torch._utils", "_rebuild_meta_tensor_no_storage", GLOBAL_META },
    { "torch._utils", "_rebuild_wrapper_subclass", GLOBAL_WRAPPER },
    { "torch._utils", "_rebuild_device_tensor_from_numpy", GLOBAL_FROM_NUMPY },
    { "torch._utils", "_rebuild_device_tensor_from_cpu_tensor", GLOBAL_FROM_CPU },
    { "torch._tensor", "_rebuild_from_type_v2", GLOBAL_FROM_TYPE },
    { "torch.nn.parameter", "Parameter", GLOBAL_PARAMETER },
    { "torch", "Size", GLOBAL_SIZE },
    { "torch", "Tensor", GLOBAL_TENSOR_CLASS },
    { "torch", "device", GLOBAL_VALUE },
    { "torch.serialization", "_get_layout", GLOBAL_LAYOUT },
    { "torch.storage", "TypedStorage", GLOBAL_VALUE },
    { "torch.storage", "UntypedStorage", GLOBAL_STORAGE },
    { "torch", "per_tensor_affine", GLOBAL_QSCHEME },
    { "torch", "per_tensor_symmetric", GLOBAL_QSCHEME },
    { "torch", "per_channel_affine", GLOBAL_QSCHEME },
    { "torch", "per_channel_symmetric", GLOBAL_QSCHEME },
    { "torch", "per_channel_affine_float_qparams", GLOBAL_QSCHEME },
};

/* Not on torch's list. */
static const struct single others[] = {
    { "torch._utils", "_rebuild_nested_tensor", GLOBAL_NESTED },        /* until 2.14 */
    { "numpy._core.multiarray", "_reconstruct", GLOBAL_ARRAY },
    { "numpy.core.multiarray", "_reconstruct", GLOBAL_ARRAY },
    { "numpy._core.numeric", "_frombuffer", GLOBAL_ARRAY },
    { "numpy.core.numeric", "_frombuffer", GLOBAL_ARRAY },
    { "numpy._core.multiarray", "scalar", GLOBAL_DATA },
    { "numpy.core.multiarray", "scalar", GLOBAL_DATA },
    { "numpy", "dtype", GLOBAL_DATA },
    { "numpy", "ndarray", GLOBAL_DATA },
    { "numpy", "dtypes.UInt32DType", GLOBAL_DATA },
    { "numpy.dtypes", "UInt32DType", GLOBAL_DATA },
    { "argparse", "Namespace", GLOBAL_DATA },
    { "torch.jit._pickle", "restore_type_tag", GLOBAL_FIRST_ARGUMENT },
    { "torch.jit._pickle", "build_tensorlist", GLOBAL_FIRST_ARGUMENT },
    { "torch.jit._pickle", "build_intlist", GLOBAL_FIRST_ARGUMENT },
    { "torch.jit._pickle", "build_doublelist", GLOBAL_FIRST_ARGUMENT },
    { "torch.jit._pickle", "build_boollist", GLOBAL_FIRST_ARGUMENT },
};

/* Modules of torch.distributed, DeepSpeed, Megatron and Python, whose classes describe a checkpoint of several files, or the training
 * job beside it, and the names in each. */
static const struct { const char *module, *names; } described[] = {
    { "torch.distributed.checkpoint.metadata", "Metadata TensorStorageMetadata BytesStorageMetadata ChunkStorageMetadata "
        "TensorProperties _MEM_FORMAT_ENCODING MetadataIndex StorageMeta" },
    { "torch.distributed.checkpoint.filesystem", "_StorageInfo" },
    { "torch.distributed.checkpoint.planner", "SavePlan WriteItem TensorWriteData WriteItemType" },
    { "torch.distributed._shard.sharded_tensor.metadata", "TensorProperties MEM_FORMAT_ENCODING ShardedTensorMetadata" },
    { "torch.distributed._shard.metadata", "ShardMetadata" },
    { "torch.distributed._shard.sharded_tensor.shard", "Shard" },
    { "torch.distributed._shard.sharded_tensor.api", "ShardedTensor" },
    { "torch.distributed._shard.sharding_spec.chunk_sharding_spec", "ChunkShardingSpec" },
    { "torch.distributed._shard.sharding_spec.api", "EnumerableShardingSpec" },
    { "torch.distributed.remote_device", "_remote_device" },
    { "torch.distributed.tensor", "DTensor" },
    { "torch.distributed._tensor.api", "DTensor" },
    { "torch.distributed.tensor._dtensor_spec", "DTensorSpec TensorMeta ShardOrderEntry" },
    { "torch.distributed._tensor.placement_types", "DTensorSpec TensorMeta Shard Replicate Partial _Partial _StridedShard" },
    { "torch.distributed.tensor.placement_types", "Shard Replicate Partial _Partial _StridedShard" },
    { "torch.distributed.device_mesh", "DeviceMesh" },
    { "torch.distributed._tensor.device_mesh", "DeviceMesh" },
    { "torch.distributed._mesh_layout", "_MeshLayout _FlatLayout" },
    { "deepspeed.runtime.zero.config", "ZeroStageEnum" },
    { "deepspeed.runtime.fp16.loss_scaler", "LossScaler DynamicLossScaler" },
    { "deepspeed.utils.tensor_fragment", "fragment_address" },
    { "types", "SimpleNamespace" },
    { "pathlib", "PosixPath WindowsPath" },
    { "pathlib._local", "PosixPath" },
    { "signal", "Signals" },
    { "datetime", "datetime timedelta" },
    { "collections", "defaultdict deque" },
    { "megatron.core.enums", "ModelType" },
    { "megatron.core.transformer.enums", "AttnBackend AttnMaskType CudaGraphScope" },
    { "megatron.core.rerun_state_machine", "RerunDiagnostic RerunMode RerunState" },
    { "megatron.core.optimizer.optimizer_config", "OptimizerConfig" },
    { "megatron.core.optimizer", "OptimizerConfig" },
};

const uint8_t *
pickle_module_today(const uint8_t *module, size_t *n)
{
    static const char *const names[][2] = { { "__builtin__", "builtins" }, { "copy_reg", "copyreg" } };
    for (size_t i = 0; i < LENGTH(names); i++)
        if (str_is(module, *n, names[i][0])) {
            *n = strlen(names[i][1]);
            return (const uint8_t *)names[i][1];
        }
    return module;
}

/* Finds the class of a family by its name. */
static bool
find_class(struct pickle_global *global, const struct family *f, const uint8_t *name, size_t n)
{
    if (!str_strip((const char *)name, &n, f->suffix))
        return false;
    for (size_t i = 0; i < f->n; i++)
        if (str_is(name, n, classes[i])) {
            *global = (struct pickle_global){ .role = f->role, .type = &types[i] };
            return true;
        }
    return false;
}

bool
pickle_global_find(struct pickle_global *global, const uint8_t *module, size_t module_len, const uint8_t *name,
    size_t name_len)
{
    module = pickle_module_today(module, &module_len);
    for (size_t i = 0; i < LENGTH(singles); i++)
        if (str_is(module, module_len, singles[i].module) && str_is(name, name_len, singles[i].name)) {
            bool untyped = singles[i].role == GLOBAL_STORAGE;
            *global = (struct pickle_global){ .role = singles[i].role, .type = untyped ? &types[T_U8] : NULL,
                .untyped = untyped };
            return true;
        }
    for (size_t i = 0; i < LENGTH(others); i++)
        if (str_is(module, module_len, others[i].module) && str_is(name, name_len, others[i].name)) {
            *global = (struct pickle_global){ .role = others[i].role };
            return true;
        }
    for (size_t i = 0; i < LENGTH(families); i++)
        if (str_is(module, module_len, families[i].module) && find_class(global, &families[i], name, name_len))
            return true;
    for (size_t i = 0; i < LENGTH(types) && str_is(module, module_len, "torch"); i++)
        if (str_is(name, name_len, types[i].name)) {
            *global = (struct pickle_global){ .role = GLOBAL_DTYPE, .type = &types[i] };
            return true;
        }
    return false;
}

/* Returns true if a list of words that are separated by spaces has this one. */
static bool
has_word(const char *list, const uint8_t *word, size_t n)
{
    while (*list != '\0') {
        size_t len = strcspn(list, " ");
        if (len == n && memcmp(list, word, n) == 0)
            return true;
        list += len + (list[len] == ' ');
    }
    return false;
}

bool
pickle_global_find_shards(struct pickle_global *global, const uint8_t *module, size_t module_len, const uint8_t *name,
    size_t name_len)
{
    module = pickle_module_today(module, &module_len);
    for (size_t i = 0; i < LENGTH(described); i++)
        if (str_is(module, module_len, described[i].module) && has_word(described[i].names, name, name_len)) {
            *global = (struct pickle_global){ .role = GLOBAL_DATA };
            return true;
        }
    *global = (struct pickle_global){ .role = GLOBAL_GETATTR };
    return str_is(module, module_len, "builtins") && str_is(name, name_len, "getattr");
}

const char *
pickle_global_name(char buf[PICKLE_GLOBAL_NAME], size_t i)
{
    static_assert(LENGTH(singles) + 2 * T_BOOL + 2 * T_C128 + T_QI8 + T_OTHERS + LENGTH(types) == PICKLE_GLOBALS,
        "the list of torch 2.15");
    if (i < LENGTH(singles)) {
        snprintf(buf, PICKLE_GLOBAL_NAME, "%s.%s", singles[i].module, singles[i].name);
        return buf;
    }
    i -= LENGTH(singles);
    for (size_t f = 0; f < LENGTH(families); i -= families[f++].n)
        if (i < families[f].n) {
            snprintf(buf, PICKLE_GLOBAL_NAME, "%s.%s%s", families[f].module, classes[i], families[f].suffix);
            return buf;
        }
    snprintf(buf, PICKLE_GLOBAL_NAME, "torch.%s", types[i].name);
    return buf;
}
