"""clip_load.py LIBMTMD FILE: loads the towers of a GGUF file as llama.cpp does, and makes the graph of a picture or sound. A process of its
own, because llama.cpp ends it if a tensor has another shape. clip_init is a function of libmtmd, without a declaration in C."""
import ctypes
import sys


class Params(ctypes.Structure):
    _fields_ = [("use_gpu", ctypes.c_bool), ("device", ctypes.c_void_p), ("flash_attn_type", ctypes.c_int), ("image_min_tokens", ctypes.c_int),
                ("image_max_tokens", ctypes.c_int), ("warmup", ctypes.c_bool), ("cb_eval", ctypes.c_void_p), ("cb_eval_user_data", ctypes.c_void_p),
                ("no_alloc", ctypes.c_bool), ("progress_callback", ctypes.c_void_p), ("progress_callback_user_data", ctypes.c_void_p)]


class Result(ctypes.Structure):
    _fields_ = [("ctx_v", ctypes.c_void_p), ("ctx_a", ctypes.c_void_p), ("ctx_gen_a", ctypes.c_void_p)]


clip_init = ctypes.CDLL(sys.argv[1])._Z9clip_initPKc19clip_context_params
clip_init.argtypes, clip_init.restype = [ctypes.c_char_p, Params], Result
loaded = clip_init(sys.argv[2].encode(), Params(image_min_tokens=-1, image_max_tokens=-1, warmup=True))
sys.exit(0 if loaded.ctx_v or loaded.ctx_a else 1)
