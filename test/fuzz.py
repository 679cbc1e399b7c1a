#!/usr/bin/env python3
"""fuzz.py BIN [SECONDS [SEED]]: run the tools on broken copies of the corpus until the time is over.

amn-convert and amn-forget get a random target and scheme; their output is the same for a pipe. Best with a sanitized
build. A run fails if it ends by a signal, by a sanitizer, as a bug (70), with an undocumented status, or not within 20 s;
if an error wrote to stdout before the header was validated; or if file and pipe disagree on what is valid. The input is
kept as fuzz-N.bin in the current folder. Standard library only."""
import concurrent.futures as cf, glob, gzip, lzma, os, random, struct, subprocess, sys, tempfile, time

KNOWN = {0, 65, 69, 75, 77}         # for an existing file, so not 66 or 74
FOUND = 1                           # --scan has findings
TOOLS = ("amn-remember", "amn-inspect", "amn-parse", "amn-inspect --scan")
TARGETS = ("--to safetensors", "--to gguf", "--to npz", "--to gguf --dtype f32", "--to safetensors --keep-quantized",
           "--to gguf --keep-quantized", "--scheme q8_0")
SCHEMES = ("q4_0", "q4_k", "q6_k", "iq4_xs", "tq2_0", "mxfp4 --to gguf", "fp8", "fp8-per-tensor", "fp8-per-channel", "nf4",
           "nf4-double-quant", "int8", "int8-channel", "int4-group --group-size 32", "gptq --group-size 32",
           "awq --group-size 32", "nvfp4", "mxfp8", "modelopt-nvfp4", "mlx-4bit --group-size 32", "comfy-fp8", "comfy-nvfp4")
USAGE = 2                           # nothing to encode; a format that conflicts with an option
WRITES = ("amn-remember", "amn-convert", "amn-forget")

def drawn(rng):
    """Returns the options of the writers for one input."""
    more = rng.choice(("", "", " --pure", " --pure --allow-nonfinite"))
    return ("amn-convert " + rng.choice(TARGETS), "amn-forget -q --scheme " + rng.choice(SCHEMES) + more)
SEEDS = ("gguf-*/*.gguf", "safetensors-*/*.safetensors", "pth-*/*", "npz-*/*", "npy-*/*", "zip-*/*")

def seeds():
    here = os.path.dirname(os.path.abspath(__file__))
    files = [f for names in SEEDS for f in glob.glob(os.path.join(here, "corpus", names)) if os.path.isfile(f)]
    return [open(f, "rb").read() for f in sorted(files) if os.path.getsize(f) < 20000]

def number(rng):
    return rng.choice([0, 1, 2, 127, 255, 256, 65535, 1 << 31, (1 << 32) - 1, 1 << 60, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
                       rng.getrandbits(rng.randrange(1, 64))])

def broken(data, rng, all_seeds):
    b = bytearray(data)
    head = min(len(b), 1500)        # most decisions depend on the header
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(head) if head else 0
        how = rng.randrange(8)
        if how == 0 and b: b[at % len(b)] ^= 1 << rng.randrange(8)
        elif how == 1: b[at:at + 8] = number(rng).to_bytes(8, "little")
        elif how == 2: b[at:at + 4] = (number(rng) & 0xFFFFFFFF).to_bytes(4, rng.choice(("little", "big")))
        elif how == 3: del b[at:at + rng.randrange(1, 40)]
        elif how == 4: b[at:at] = b[at:at + rng.randrange(1, 200)]
        elif how == 5: del b[rng.randrange(len(b) + 1):]
        elif how == 6: b[at:at] = str(number(rng)).encode()
        elif how == 7:
            other = rng.choice(all_seeds)
            cut = rng.randrange(len(other) + 1)
            b[at:at + 60] = other[cut:cut + 60]
    return bytes(b)

def zstd(data):                     # one raw block; a window of 128 KiB
    size = struct.pack("<I", len(data) << 3 | 1)[:3]
    return b"\x28\xB5\x2F\xFD\0\x38" + size + data

def packed(data, rng, all_seeds):
    """Compresses some of the inputs, and damages some of these again."""
    pack = rng.choice((gzip.compress, lzma.compress, zstd, None, None, None))
    if not pack: return data
    data = pack(data)
    return broken(data, rng, all_seeds) if rng.randrange(2) else data

def run(cmd, **more):
    try:
        return subprocess.run(cmd, capture_output=True, timeout=20, **more)
    except subprocess.TimeoutExpired:
        return None

def judge(bindir, path, data, drawn):
    for tool in TOOLS + drawn:
        outs = []
        for via in ("file", "pipe"):
            p = run([os.path.join(bindir, tool.split()[0])] + tool.split()[1:] + ([path] if via == "file" else []),
                    **({"input": data} if via == "pipe" else {"stdin": subprocess.DEVNULL}))
            if p is None: return "%s (%s): no end within 20 s" % (tool, via)
            allowed = {FOUND} if "--scan" in tool else {USAGE} if tool in drawn else set()
            if p.returncode not in KNOWN | allowed:
                return "%s (%s): status %d: %s" % (tool, via, p.returncode, p.stderr[-300:])
            if p.returncode and p.stdout and tool == "amn-remember":
                return "%s (%s): status %d after %d bytes" % (tool, via, p.returncode, len(p.stdout))
            outs.append((p.returncode == 0, p.stdout if p.returncode == 0 else None))
        if tool.split()[0] in WRITES and outs[0] != outs[1]: return "%s: file and pipe disagree" % tool
    return None

def main(argv):
    bindir, seconds = argv[0], float(argv[1]) if len(argv) > 1 else 60
    seed = int(argv[2]) if len(argv) > 2 else random.randrange(1 << 30)
    rng, all_seeds, passed, failed, end = random.Random(seed), seeds(), 0, 0, time.time() + seconds
    print("seed %d, %d files" % (seed, len(all_seeds)))
    with tempfile.TemporaryDirectory() as folder, cf.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        while time.time() < end:
            batch = []
            for i in range(64):
                data = packed(broken(rng.choice(all_seeds), rng, all_seeds), rng, all_seeds)
                path = os.path.join(folder, "%d.bin" % i)
                with open(path, "wb") as f: f.write(data)
                batch.append((data, pool.submit(judge, bindir, path, data, drawn(rng))))
            for data, job in batch:
                why = job.result()
                if why is None: passed += 1; continue
                failed += 1
                name = "fuzz-%d.bin" % failed
                with open(name, "wb") as f: f.write(data)
                print("FAIL %s: %s" % (name, why))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0

sys.exit(main(sys.argv[1:]))
