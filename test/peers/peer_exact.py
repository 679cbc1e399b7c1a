"""peer_exact.py BIN FOLDER: --exact of amn-forget, for each pair of a source and a target: many small weights that the source's library
packed. Each is either exact, which the target's library confirms bit by bit, or refused, and then a search over all scales
finds no encoding of the block that amn names, and one for each block before it.

AMN_EXACT_MODELS is the number of weights of a pair (1000), AMN_EXACT_SEARCHED the number of refusals of a run that are searched (40);
AMN_EXACT_ONLY=ROW/COLUMN selects pairs, AMN_EXACT_LEVELS=LEVEL,... replaces the levels that are asked of a pair."""
import json
import os
import subprocess
import time

import gguf
import numpy as np
import torch
from safetensors.torch import load_file, save_file

import exact_sources as S
from exact_search import Dense, Nvfp4Copy, Nvfp4Pairs, Nvfp4Powers, Scaled, Steps, rounded
from exact_targets import TARGETS
from tools import Tally, Tools

Q = gguf.GGMLQuantizationType
LEVELS = [level for level in os.environ.get("AMN_EXACT_LEVELS", "").split(",") if level]
MODELS, ONLY = int(os.environ.get("AMN_EXACT_MODELS", "1000")), os.environ.get("AMN_EXACT_ONLY", "/")
# refusals of a run: those that are searched, also where many patterns of F32 might round to a value; and run again as a file of their own
SEARCHED, WIDE, RERUN = int(os.environ.get("AMN_EXACT_SEARCHED", "40")), 8, 2

SOURCES = {
    "A": [S.ct_mxfp4, S.modelopt_mxfp4, S.gpt_oss, S.deepseek_fp4, S.mlx_mxfp4, S.gguf_mxfp4],
    "B": [S.ct_mxfp8, S.mlx_mxfp8, S.comfy_mxfp8, S.deepseek_fp8],
    "C": [S.float_fp8("tensor", "F32"), S.float_fp8("channel", "BF16"), S.float_fp8("channel", "F32"), S.tile_fp8],
    "D": [S.modelopt_nvfp4, S.ct_nvfp4, S.comfy_nvfp4, S.mlx_nvfp4, S.gguf_nvfp4],
    "E": [S.ct_int4("BF16", 32), S.ct_int4("F16", 64), S.ct_int4("F32", 128), S.with_factors(Q.Q4_0, [0]), S.with_factors(Q.Q5_0, [0]),
          S.with_factors(Q.Q8_0, [0]), S.gptq(32, True)],
    "F": [S.ct_int4("BF16", 32, True), S.ct_int4("F16", 32, True), S.ct_int4("F32", 128, True), S.awq, S.gptq(32, False),
          S.gptq(128, False, "gptq_v2")],
    "G": [S.with_factors(Q.Q4_1, [0, 2]), S.with_factors(Q.Q5_1, [0, 2]), S.mlx_affine(4, "BF16", 64), S.mlx_affine(4, "F16", 32),
          S.mlx_affine(3, "F32", 32), S.mlx_affine(8, "BF16", 32)],
    "H": [S.with_factors(Q.Q4_K, [0, 2], "F32", None), S.with_factors(Q.Q5_K, [0, 2], "F32", None)],
    "I": [S.int8_rows("F32"), S.int8_rows("BF16"), S.int8_rows("F32", True), S.bnb_int8],
    "J": [S.nf4(False), S.nf4(True)],
    "L": [S.copy(S.ct_mxfp4, "BF16"), S.copy(S.ct_int4("BF16", 32), "BF16"), S.copy(S.ct_int4("F16", 32, True), "F16"),
          S.copy(S.mlx_affine(4, "F32", 32), "F32"), S.copy(S.int8_rows("F32"), "BF16"), S.copy(S.tile_fp8, "BF16"),
          S.copy(S.modelopt_nvfp4, "BF16"), S.copy(S.nf4(False), "BF16"), S.copy(S.ct_int4("F32", 32), "F32")],
}


def levels(row, source, target):
    """What is asked of a pair."""
    if LEVELS:
        return LEVELS
    if row == "L":
        return [source.scale.lower()] if source.scale != "F32" else ["f32"]
    if source.maker == "bnb-int8":              # two roundings, which one scale does not give
        return ["bf16"]
    if row == "D":
        return target.levels
    return [level for level in target.levels if level != "bf16"]


class Peer:
    def __init__(self):
        self.tally, self.tools = Tally(), Tools()
        self.counts = {}

    def forget(self, source, target, level, names, out, log=None):
        path, config = source.write(self.tools.folder)
        command = [os.path.join(self.tools.bin, "amn-forget"), "-q", "--json-errors", f"--exact={level}", "--scheme", ",".join(names), "--to",
                   "gguf" if target.blocks else "safetensors", *target.options, *config, "-o", out]
        if target.name.startswith(("int4", "mlx-")) and target.name.endswith(("group", "bit")) and source.group not in (32, 64, 128):
            command += ["--group-size", "32"]
        if log:
            command += ["--report", log]
        if os.path.exists(out):
            os.remove(out)
        return subprocess.run([*command, path], stderr=subprocess.PIPE, text=True, check=False)

    def is_target(self, target):
        """amn names a scheme that is no target yet."""
        command = [os.path.join(self.tools.bin, "amn-forget"), "--exact", "--scheme", target.name, "--to", "gguf" if target.blocks else
                   "safetensors", "/dev/null"]
        return "is not a target" not in subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False).stderr

    # --- one file of many weights

    def run(self, row, column, source, target, level):
        what = f"{row} {source.maker} -> {target.name}{' (GGUF)' * target.blocks} at {level}"
        # what the name does not hold becomes F32, which holds every value; dense weights stay
        names = [target.name] if row == "L" or target.name == "f32" else [target.name, "f32"]
        entries = self.survey(what, source, target, level, names)
        if entries is None:
            return
        held = [i for i, e in entries.items() if e["to"] == target.name and e["exact"] == level]
        refused = {i: e["tried"][0] for i, e in entries.items() if i not in set(held)}
        if held:
            self.compare(what, source, target, level, self.tools.path("exact.out"), held)
        searched = self.confirm(what, source, target, level, refused)
        count = self.counts.setdefault((row, column), [0, 0, 0])
        count[:] = count[0] + len(held), count[1] + len(refused), count[2] + searched

    def survey(self, what, source, target, level, names):
        """Returns the line of the report for each weight. A weight that even F32 does not hold, which real numbers can be, is refused: its
        witness is what is said about it alone."""
        out, log = self.tools.path("exact.out"), self.tools.path("exact.ndjson")
        places, alone = {name.removesuffix(".weight"): i for i, name in enumerate(source.names)}, {}
        done = self.forget(source, target, level, names, out, log)
        if done.returncode == 69:
            for i in places.values():
                one = source.only([i])
                if self.forget(one, target, level, names, out).returncode == 69:
                    done = self.forget(one, target, level, [target.name], out)
                    if not self.tally.check(done.returncode == 69, f"{what}: {source.names[i]} is refused with F32, and not without"):
                        return None
                    alone[i] = {"to": None, "exact": None, "tried": [json.loads(done.stderr.splitlines()[-1])["witness"]]}
            if len(alone) == len(places):
                return alone
            done = self.forget(source.only([i for i in places.values() if i not in alone]), target, level, names, out, log)
        if not self.tally.check(done.returncode == 0, f"{what}: exit {done.returncode} {done.stderr.strip()[-300:]}"):
            return None
        rows = [json.loads(line) for line in open(log, encoding="utf-8")]
        entries = {places[r["name"].removesuffix(".weight")]: r for r in rows if "tried" in r} | alone
        return entries if self.tally.check(len(entries) == len(places), f"{what}: not all weights are in the report") else None

    def load(self, target, path):
        if not target.blocks:
            return load_file(path)
        return {t.name: (np.array(t.data), t.tensor_type) for t in gguf.GGUFReader(path).tensors}

    def compare(self, what, source, target, level, path, held):
        out = self.load(target, path)
        names = [source.names[i] for i in held]
        shape = (len(held), *source.values.shape[1:])
        try:
            got = target.decode(out, names, shape)
        except (KeyError, AssertionError, RuntimeError, ValueError) as error:
            self.tally.check(False, f"{what}: the library does not read it: {error!r}"[:300])
            return
        got, real, divisor = got if isinstance(got, tuple) else (got, None, None)
        if level == "real":
            want, by = source.real[held].astype(np.longdouble), self.divisors(source, held)
            mine = real.astype(np.longdouble)
            same = mine * by == want * (1 if divisor is None else divisor.astype(np.longdouble).reshape(-1, 1, 1))
        else:
            same = rounded(got.reshape(shape).astype(np.float64), level) == rounded(source.values[held].astype(np.float64), level)
        wrong = np.flatnonzero(~same.reshape(len(held), -1).all(axis=1))
        self.tally.check(len(wrong) == 0, f"{what}: {len(wrong)} of {len(held)} weights have other values, first "
                         f"{names[wrong[0]] if len(wrong) else None}")

    @staticmethod
    def divisors(source, held):
        by = source.parts.divisors() if source.parts else None
        return np.longdouble(1) if by is None else by[held].astype(np.longdouble).reshape(-1, 1, 1)

    # --- refusals

    def confirm(self, what, source, target, level, refused):
        some = list(refused)[:: max(1, len(refused) // SEARCHED)][:SEARCHED]
        search = target.search(source) if target.search else None
        if level == "real" and source.parts and source.parts.divisors() is not None and not isinstance(search, Nvfp4Pairs):
            search = None                       # quotients, which F64 rounds
        height, width = target.block_of(source)
        wide = isinstance(search, Nvfp4Copy) or isinstance(search, Scaled) and search.kind == "F32" and level in ("bf16", "f16")
        searched = some[:WIDE if wide else None] if search else []
        for i in searched:
            name = f"{what}: {source.names[i]}"
            if isinstance(search, (Nvfp4Copy, Nvfp4Pairs, Nvfp4Powers)):
                self.search_all(name, source, level, i, refused[i], search)
            else:
                self.search(name, source, level, i, refused[i], search, height, width)
        if getattr(search, "lucky", 0) != 0:
            print(f"{what}: a neighbour of the scale would hold {search.lucky} of {len(searched)} weights that are refused")
        for i in some[:RERUN]:
            self.alone(f"{what}: {source.names[i]} alone", source, target, level, i, refused[i])
        return len(searched)

    def search_all(self, what, source, level, i, tried, search):
        """Searches the scale of a whole weight."""
        found = search.witness(source, i, level)
        if self.tally.check(found is not None, f"{what}: has an encoding, {tried}"):
            blocks, cause = found
            self.tally.check(tried["block"] in blocks and tried["cause"] == cause, f"{what}: {cause} at {blocks[:3]}, not {tried}")

    def search(self, what, source, level, i, tried, search, height, width):
        # layout: a block does not divide the row
        if tried["cause"] == "layout":
            self.tally.check(source.values.shape[-1] % width != 0 or source.values.ndim != 3, f"{what}: layout")
            return
        values = source.real[i] if level == "real" else source.values[i].astype(np.float64)
        values = values if isinstance(search, Dense) else rounded(values, level)
        rows, cols = values.shape
        for r in range(0, rows, height):
            for c in range(0, cols, width):
                block = values[r:r + height, c:c + width].reshape(-1)
                holds = search.holds(block, level)
                if [r, c] == tried["block"]:
                    if self.tally.check(not holds, f"{what}: block {[r, c]} has an encoding, {tried['cause']}") and (
                            level != "real" or source.parts is None):
                        cause = search.cause(block, level)
                        self.tally.check(cause == tried["cause"], f"{what}: block {[r, c]}: {cause}, not {tried['cause']}")
                    return
                luck = isinstance(search, Steps) and (level != "real" or len(np.unique(block)) == 1)
                if not self.tally.check(holds or luck, f"{what}: block {[r, c]} has no encoding, but {tried['block']} is the witness"):
                    return
        self.tally.check(False, f"{what}: {tried['block']} is no block")

    def alone(self, what, source, target, level, i, tried):
        """A file with one weight is refused, with this witness and without an output."""
        one, out = source.only([i]), self.tools.path("alone.out")
        done = self.forget(one, target, level, [target.name], out)
        if source.maker.split()[0] in S.TORCH:
            self.tally.check(done.returncode == 0 and (load_file(out)[source.names[i]].dtype if not target.blocks else True),
                             f"{what}: a dense weight does not stay: exit {done.returncode}")
            return
        if not self.tally.check(done.returncode == 69 and not os.path.exists(out), f"{what}: exit {done.returncode} {done.stderr.strip()[-300:]}"):
            return
        witness = json.loads(done.stderr.splitlines()[-1])["witness"]
        self.tally.check(witness["tensor"] == source.names[i] and witness["block"] == tried["block"] and witness["cause"] == tried["cause"]
                         and witness["scheme"] == target.name, f"{what}: {witness}, reported {tried}")
        if witness["cause"] not in ("layout", "nonfinite") and level != "real":
            r, c = witness["index"]
            self.tally.check(float.fromhex(witness["value"]) == float(source.values[i][r, c]), f"{what}: value of {witness}")


def main():
    peer = Peer()
    torch.set_num_threads(1)
    only_row, _, only_column = ONLY.partition("/")
    started = time.monotonic()
    for row, makes in SOURCES.items():
        if only_row and row != only_row:
            continue
        rng = np.random.default_rng(28)
        each = -(-MODELS // (len(makes) - (S.gpt_oss in makes)))        # most targets are not those of gpt-oss
        sources = [make(rng, each) for make in makes]
        for column, targets in TARGETS.items():
            if only_column and column != only_column:
                continue
            for target in targets:
                if not peer.is_target(target):
                    print(f"{target.name} is no target")
                    continue
                for source in sources:
                    if source.maker == "gpt-oss" and not target.blocks and not target.name.startswith(("gptoss-", "mlx-")):
                        continue
                    if source.maker != "gpt-oss" and target.name.startswith("gptoss-"):
                        continue
                    for level in levels(row, source, target):
                        peer.run(row, column, source, target, level)
            exact, refused, searched = peer.counts.get((row, column), (0, 0, 0))
            print(f"{row} -> {column}: {exact} exact, {refused} refused, {searched} of them searched, {time.monotonic() - started:.0f} s",
                  flush=True)
    peer.tally.finish()


main()
