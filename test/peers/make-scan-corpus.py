#!/usr/bin/env python3
r"""make-scan-corpus.py CORPUS: write CORPUS/scan/*, pickles in every place where the scanner must look, and
CORPUS/scan/expected.ndjson. Needs nothing but Python; the same script gives the same files:

    python test/peers/make-scan-corpus.py test/corpus

The pickles call amn_canary.mark, of a module that does not exist: no loader can do anything with them but fail. The scan must
name it ("finds"). Four plain files name a function that is really dangerous, and pass it no arguments.

The expectation follows from the place: 77 where a pickle can be reached, 69 in a compression that amn does not read, and 65
where nothing is found, but the file is damaged. names.txt lists globals and their verdicts; the test makes a pickle of each.
"""
import bz2, gzip, io, json, lzma, os, random, shutil, struct, sys, zipfile, zlib

corpus = os.path.join(sys.argv[1], "scan")
entries = []
CANARY = "amn_canary.mark"
MARK = b"camn_canary\nmark\n"


def text(s):
    return b"\x8c" + bytes([len(s)]) + s.encode()


P0 = MARK + b"(tR."
P2 = b"\x80\x02" + MARK + b")R."
BARE4 = text("amn_canary") + text("mark") + b"\x93)R."
P4 = b"\x80\x04" + BARE4
GOOD = b"\x80\x02ccollections\nOrderedDict\n)R."
PLAIN = b"\x80\x02}."


def put(name, data, verdict, status, why, finds=None):
    with open(os.path.join(corpus, name), "wb") as f:
        f.write(data)
    entries.append({"file": name, "verdict": verdict, "status": status, "finds": finds, "why": why})


def found(name, data, why):
    put(name, data, "unknown", 77, why, CANARY)


def zipped(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in members:
            z.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def pth(pickle, *more, method=zipfile.ZIP_STORED):
    return zipped([("a/data.pkl", pickle), ("a/version", b"3\n"), ("a/byteorder", b"little"), *more], method)


def header(name, n, kind=b"0", magic=b"ustar\x0000", link=b""):
    h = bytearray(512)
    h[:len(name)] = name
    h[100:108], h[108:116], h[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
    h[124:136], h[136:148], h[156:157] = b"%011o\0" % n, b"%011o\0" % 0, kind
    h[157:157 + len(link)] = link
    h[257:257 + len(magic)] = magic
    h[148:156] = b" " * 8
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)


def member(name, data, **how):
    return header(name, len(data), **how) + data + bytes(-len(data) % 512)


END = bytes(1024)


def pickles():
    found("global.pkl", P2, "GLOBAL, called by REDUCE")
    found("global-p0.pkl", P0, "the same by protocol 0")
    found("stack-global.pkl", P4, "STACK_GLOBAL")
    found("frame.pkl", b"\x80\x04\x95" + struct.pack("<Q", len(BARE4)) + BARE4, "STACK_GLOBAL in a frame")
    found("inst.pkl", b"(iamn_canary\nmark\n.", "INST")
    found("obj.pkl", b"(" + MARK + b"o.", "OBJ")
    found("newobj.pkl", b"\x80\x02" + MARK + b")\x81.", "NEWOBJ")
    found("newobj-ex.pkl", b"\x80\x04" + MARK + b")}\x92.", "NEWOBJ_EX")
    found("build.pkl", b"\x80\x02" + MARK + b")\x81}b.", "BUILD")
    found("uncalled.pkl", b"\x80\x02" + MARK + b".", "named, not called")
    found("memo.pkl", b"\x80\x04" + text("mark") + b"\x940" + text("amn_canary") + b"\x940h\1h\0\x93)R.", "names from the memo")
    found("dup.pkl", b"\x80\x04" + text("amn_canary") + b"20" + text("mark") + b"\x93)R.", "DUP")
    found("persid.pkl", b"Pkey\n0" + P0, "after PERSID")
    found("buffer.pkl", b"\x80\x05\x970" + P2[2:], "after NEXT_BUFFER")
    found("second.pkl", GOOD + P2, "a second pickle")
    found("second-p0.pkl", GOOD + P0, "a second pickle by protocol 0")
    found("second-bare4.pkl", GOOD + BARE4, "a second pickle without a PROTO")
    found("argument.pkl", b"\x80\x02ccollections\nOrderedDict\n]" + MARK + b")Ra\x85R.", "the argument of an allowed call")
    found("state.pkl", b"\x80\x02ccollections\nOrderedDict\n)R}X\1\0\0\0a" + MARK + b")Rsb.", "in the state of an object")
    found("key.pkl", b"\x80\x02}" + MARK + b")RNs.", "the key of a dictionary")
    put("unknown-name.pkl", b"\x80\x02cmy.model\nNet\n)R.", "unknown", 77, "a global that nobody knows", "my.model.Net")


def dangerous():
    for module, name in ("os", "system"), ("builtins", "eval"), ("subprocess", "Popen"), ("torch.hub", "load"):
        data = b"\x80\x02c%s\n%s\n)R." % (module.encode(), name.encode())
        put("dangerous-%s.pkl" % module, data, "found", 1, "a dangerous function, without arguments", module + "." + name)
    put("dangerous.pt", pth(b"\x80\x02cos\nsystem\n)R."), "found", 1, "the same in a checkpoint", "os.system")


def torch_files():
    magic = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." + b"\x80\x02M\xe9\x03." + b"\x80\x02}."
    found("zip.pt", pth(P2), "a checkpoint")
    found("zip-deflated.pt", pth(P2, method=zipfile.ZIP_DEFLATED), "the same, deflated")
    found("zip-other.pt", pth(GOOD, ("a/extra/data.pkl", P2)), "another pickle in a checkpoint")
    found("zip-member.pt", pth(GOOD, ("a/extra", P2)), "a member without an extension")
    found("stacked.pt", magic + P2 + b"\x80\x02].", "stacked pickles")
    others = member(b"tensors", b"K\0.") + member(b"pickle", PLAIN) + END
    for label, payload in (("p0", P0), ("bare4", BARE4), ("p2", P2)):
        found("tar-torch-%s.pt" % label, member(b"storages", payload) + others, "torch's tar form, a pickle of %s" % label)
        found("tar-%s.tar" % label, member(b"x", payload) + END, "a member of a tar archive, a pickle of %s" % label)
    found("tar-tensors.pt", member(b"storages", b"K\0.].") + member(b"tensors", P0) + END, "torch's tar form, in tensors")
    found("tar-object.pt", member(b"storages", b"K\0.].") + member(b"tensors", b"K\0.") + member(b"pickle", P0) + END,
          "torch's tar form, as the object")
    gap = (b"\x80\x02K\x01." + b"\x80\x02K\0X\3\0\0\0cpuctorch\nFloatStorage\n\x87." + struct.pack("<q", 3) + bytes(range(1, 13)) + P2)
    found("tar-gap.pt", member(b"storages", gap) + others, "torch's tar form, after the elements of a storage")
    put("tar-clean.tar", member(b"readme", b"a model\n") + member(b"weights.ckpt", pth(GOOD)) + END, "clean", 0,
        "a tar archive of a text and a clean checkpoint")
    debug = b"\x80\x02(ctorch.jit._pickle\nbuild_intlist\n](K\0K\7e\x85Rt."
    put("code.pt", pth(GOOD, ("a/code/__torch__.py", b"op_version_set = 1\n"), ("a/code/__torch__.py.debug_pkl", debug)), "unknown", 69,
        "TorchScript's code, and the lists of integers beside it")
    tagged = b"\x80\x02ctorch.jit._pickle\nrestore_type_tag\n}X\4\0\0\0Dict\x86R."
    put("cpp.pt", pth(tagged), "clean", 0, "a dictionary of torch's C++ library")
    put("nested-tensor.pt", pth(b"\x80\x02ctorch._utils\n_rebuild_nested_tensor\n."), "unknown", 77, "a nested tensor",
        "torch._utils._rebuild_nested_tensor")
    put("package.zip", zipped([("p/.data/version", b"1"), ("p/m/model.py", b"pass\n")]), "unknown", 69, "Python code in an archive")


def npy(descr, payload, shape="(1,)"):
    head = ("{'descr': %s, 'fortran_order': False, 'shape': %s, }" % (descr, shape)).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + payload


def arrays():
    for label, descr in (("object", "'|O'"), ("fields", "[('a', '<f4'), ('b', '|O')]"), ("subarray", "('|O', (1,))"),
                         ("titles", "[(('t', 'b'), '|O')]")):
        found("npy-%s.npy" % label, npy(descr, P2), "descr: %s" % descr)
        found("npz-%s.npz" % label, zipped([("a.npy", npy(descr, P2))]), "descr: %s" % descr)
    found("npy-p0.npy", npy("'|O'", P0), "an object array by protocol 0")
    found("npz-pickle.npz", zipped([("a", P0), ("b.npy", npy("'<f4'", bytes(4)))]), "a member that is a pickle")
    put("npz-clean.npz", zipped([("a.npy", npy("'<f4'", bytes(4))), ("b.npy", npy("[('a', '<f4')]", bytes(4)))]), "clean", 0,
        "arrays without objects")
    put("npy-clean.npy", npy("'|O'", b"\x80\x03cnumpy\nndarray\n0cnumpy\ndtype\n0N."), "clean", 0, "what an array of objects names")


def archives():
    found("zip-in-zip.zip", zipped([("m.pt", pth(P2))]), "an archive in an archive")
    found("zip-in-zip-deflated.zip", zipped([("m.pt", pth(P2))], zipfile.ZIP_DEFLATED), "the same, deflated")
    found("zip-in-storage.zip", zipped([("a/data/m", pth(P2))]), "an archive under the name of a storage")
    put("zip-in-zip-clean.zip", zipped([("a/weights/w0", bytes(64)), ("a/data/sample/model.pt", pth(GOOD))]), "clean", 0,
        "a clean checkpoint at the end of an archive: its offsets count from its own start")
    found("tar-in-zip.zip", zipped([("m.tar", member(b"storages", P0) + member(b"tensors", b"K\0.") + END)]), "a tar archive in an archive")
    found("zip-in-tar.tar", member(b"weights.ckpt", pth(P2)) + END, "a checkpoint in a tar archive")
    found("gzip-in-zip.zip", zipped([("m.gz", gzip.compress(P2, mtime=0))]), "a gzip stream in an archive")
    deep = P2
    for i in range(8):
        deep = zipped([("m", deep)])
        if i == 3:
            found("zip-deep.zip", deep, "an archive in an archive, four times")
    put("zip-deepest.zip", deep, "unknown", 75, "an archive in an archive, eight times")
    for label, data in (("bz2", bz2.compress(P2)), ("z", zlib.compress(P2)), ("lzma", lzma.compress(P2, lzma.FORMAT_ALONE))):
        put("stream.%s" % label, data, "unknown", 69, "a compression that amn does not read")
        put("%s-in-zip.zip" % label, zipped([("m.%s" % label, data)]), "unknown", 69, "the same in an archive")
    found("stream.gz", gzip.compress(P2, mtime=0), "a gzip stream")
    found("stream.xz", lzma.compress(P2), "an xz stream")
    put("twice.gz", gzip.compress(gzip.compress(P2, mtime=0), mtime=0), "unknown", 69, "gzip in gzip")
    put("method-bzip2.zip", zipped([("x.pkl", P2)], zipfile.ZIP_BZIP2), "unknown", 69, "a member by bzip2")
    put("method-lzma.zip", zipped([("x.pkl", P2)], zipfile.ZIP_LZMA), "unknown", 69, "a member by LZMA")
    put("cut.gz", gzip.compress(GOOD, mtime=0)[:-6], "unknown", 65, "a gzip stream that is cut")
    put("padding.pkl", GOOD + bytes(1000), "unknown", 65, "padding after a pickle")
    put("clean-cut.pt", pth(GOOD)[:-9], "unknown", 65, "a clean checkpoint that is cut")
    found("cut.pt", pth(P2)[:-9], "a checkpoint that is cut")
    put("text", b"import os\nimport sys\nconfig\nthe end.\n", "unknown", 65, "a text")


def clean():
    rng = random.Random(22)
    head = b'{"t":{"dtype":"U8","shape":[4096],"data_offsets":[0,4096]}}'
    for first in (b"c", b"V", b"\x80", b"X", b"\x8d", b"p", b"i", b"("):
        n = first[0] + (256 if first[0] < len(head) else 0)
        put("clean-%02x.safetensors" % first[0], struct.pack("<Q", n) + head.ljust(n) + rng.randbytes(4096), "clean", 0,
            "a header whose length begins with this opcode")
    put("clean.pkl", GOOD, "clean", 0, "a pickle of what tensors need")
    put("clean-two.pkl", PLAIN + PLAIN, "clean", 0, "two pickles")
    put("clean.pt", pth(GOOD, ("a/data/0", b"c" + rng.randbytes(4000)), ("a/data/1", b"\x80\x02" + rng.randbytes(4000)),
                        ("a/data/2", b"P" + rng.randbytes(4000))), "clean", 0, "storages of random bytes")


NAMES = """
asyncio.unix_events._UnixSubprocessTransport._start _aix_support._read_cmd_output _osx_support._read_output _io.FileIO
_operator.attrgetter _operator.methodcaller _pyrepl.pager.pipe_pager aiohttp.ClientSession bdb.Bdb.run builtins.__import__
builtins.breakpoint builtins.compile builtins.delattr builtins.eval builtins.exec builtins.getattr builtins.open builtins.setattr
cProfile.run cProfile.runctx cloudpickle.loads code.InteractiveInterpreter.runcode codeop.compile_command commands.getoutput
ctypes.CDLL dill.loads distutils.file_util.write_file doctest.debug_script ensurepip._run_pip ensurepip.bootstrap
fickling.fickle.Pickled filecmp.cmp fileinput.input functools.partial functools.reduce gc.get_objects glob.glob
http.client.HTTPSConnection idlelib.autocomplete.AutoComplete.fetch_completions idlelib.autocomplete.AutoComplete.get_entity
idlelib.calltip.Calltip.fetch_tip idlelib.calltip.get_entity idlelib.debugobj.ObjectTreeItem.SetText
idlelib.pyshell.ModifiedInterpreter.runcode idlelib.pyshell.ModifiedInterpreter.runcommand idlelib.run.Executive.runcode
imaplib.IMAP4_stream importlib.import_module importlib.machinery.SourceFileLoader inspect.getsource io.FileIO io.open joblib.load
lib2to3.pgen2.grammar.Grammar.loads lib2to3.pgen2.pgen.ParserGenerator.make_label linecache.getlines logging.FileHandler
logging.config._resolve marshal.loads multiprocessing.util.spawnv_passfds nt.system numpy.distutils.exec_command.exec_command
numpy.f2py.crackfortran._eval_length numpy.f2py.crackfortran.getlincoef numpy.f2py.crackfortran.myeval
numpy.testing._private.utils.runstring operator.attrgetter operator.itemgetter operator.methodcaller os.execv os.popen os.system
pdb.run pickle.load pickle.loads picklescan.scanner.scan_file_path pip._internal.cli.main.main pip.main pkgutil.resolve_name
platform.popen platform.subprocess posix.system profile.Profile.run profile.Profile.runctx profile.run pty.spawn pydoc.locate
pydoc.pipepager requests.api.get requests.get runpy._run_code runpy.run_path shelve.open shutil.move shutil.rmtree
smtplib.SMTP socket.create_connection sqlite3.connect ssl.get_server_certificate subprocess.Popen subprocess.check_output sys.exit
tarfile.open tempfile.mkstemp test.support.script_helper.assert_python_ok threading.Timer timeit.main timeit.timeit torch._dynamo.guards.GuardBuilder.get
torch._inductor.codecache.compile_file torch.compile torch.fx.experimental.symbolic_shapes.ShapeEnv.evaluate_guards_expression
torch.hub.load torch.jit.unsupported_tensor_ops.execWrapper torch.load torch.serialization.load torch.storage._load_from_bytes
torch.utils._config_module.ConfigModule.load_config torch.utils.bottleneck.__main__.run_autograd_prof
torch.utils.bottleneck.__main__.run_cprofile torch.utils.collect_env.run torch.utils.data.datapipes.utils.decoder.basichandlers
torch.distributed.elastic.rendezvous.api.basichandlers trace.Trace.run trace.Trace.runctx types.CodeType types.FunctionType
unittest.mock._importer urllib.request.urlopen urllib.request.urlretrieve uuid._get_command_stdout venv.create webbrowser.open xmlrpc.client.ServerProxy
zipfile.ZipFile zipimport.zipimporter
"""
# No list is complete: an unknown name makes the verdict unknown.
UNKNOWN = """
mlflow.projects.backend.local._run_entry_point numpy.load numpy.prod numpy.size numpy.testing.rundocs nltk.data.load
pandas.eval pandas.io.parsers.readers.read_csv pandas.read_pickle sklearn.utils._joblib.load tensorflow.io.gfile.copy
torch.nn.modules.container.Sequential torch.utils.cpp_extension.load_inline transformers.dynamic_module_utils.get_class_in_module
"""


def names():
    with open(os.path.join(corpus, "names.txt"), "w") as f:
        for verdict, names in (("found", NAMES), ("unknown", UNKNOWN)):
            for name in sorted(names.split()):
                f.write("%s %s\n" % (verdict, name))


shutil.rmtree(corpus, ignore_errors=True)
os.makedirs(corpus)
for make in (pickles, dangerous, torch_files, arrays, archives, clean, names):
    make()
with open(os.path.join(corpus, "expected.ndjson"), "w") as f:
    for entry in sorted(entries, key=lambda e: e["file"]):
        f.write(json.dumps(entry) + "\n")
