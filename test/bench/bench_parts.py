"""What one model takes in other ways than as one output: its parts by several processes, its digests, and its comparison with a
copy. The line after each row has the rates, in GB/s of the values that are written, hashed or compared."""
import os

from bench_clock import Command
from bench_inputs import make_fp8, recopy

PARTS = """: >"$3"; seq "$2" | xargs -P "$2" -I {} sh -c '
{ dd bs=1 count=0 seek=$(amn-remember --size --part-size "$2" --part 1 "$1" | awk "{ print \\$1 * ({} - 1) }") 2>/dev/null </dev/null
exec amn-remember -q -j1 --part-size "$2" --part {} "$1"; } 1<>"$3"' sh "$1" "$4" "$3" """


def row(bench, label, ours, other, goal, touch, nbytes, want=None):
    a, b = bench.table.row(label, ours, other, goal, touch, want)
    bench.table.line("    GB/s", f"{nbytes / a / 1e9:.2f}", f"{nbytes / b / 1e9:.2f}")


def parts(bench, nbytes):
    whole = Command([bench.remember, "-q", "-j1", "-o", bench.new, bench.input], new=bench.new)
    path = {"PATH": os.path.dirname(bench.remember) + ":" + os.environ["PATH"]}
    for n, goal in (1, 1.1), (2, 0.7), (4, 0.8):
        size = str(-(-nbytes // n // (1 << 19)) * (1 << 19))
        ours = Command(["sh", "-c", PARTS, "sh", bench.input, str(n), bench.new, size], path, new=bench.new)
        row(bench, f"PARTS  FP8 -> file, {n} at once, and -j1", ours, whole, goal, bench.touch, nbytes, bench.out)


def digests(bench, nbytes):
    """Of BF16, as stored, against sha256sum; and of the values of FP8, against what is dequantized in a pipe."""
    amn, one = os.path.join(os.path.dirname(bench.remember), "amn"), {min(bench.pinned)}
    stored, summed = [amn, "hash", "--stored"], Command(["sha256sum", bench.out], cpus=one)
    row(bench, "HASH   stored, one CPU, and sha256sum", Command([*stored, "-j1", bench.out], cpus=one), summed, 1.25, 0, nbytes)
    row(bench, "HASH   stored, and sha256sum", Command([*stored, bench.out]), summed, 0.7, 0, nbytes)
    piped = Command(["sh", "-c", f'"{bench.remember}" -q --to f32 "{bench.input}" | sha256sum'])
    row(bench, "HASH   values of FP8, and a pipe", Command([amn, "hash", bench.input]), piped, 0.7, 0, 2 * nbytes)


def differences(bench, nbytes):
    """Of BF16 and a copy, and of FP8 and its rounded BF16, which differ; against cmp of equal files."""
    amn = os.path.join(os.path.dirname(bench.remember), "amn")
    recopy(bench.out)
    bench.run_once(["cp", bench.out, bench.new])
    same = Command(["cmp", bench.out, bench.new])
    row(bench, "DIFF   BF16 and BF16, and cmp", Command([amn, "diff", "-q", bench.out, bench.new]), same, 2, 0, nbytes)
    differ = Command(["sh", "-c", f'"{amn}" diff -q "{bench.input}" "{bench.out}" || [ $? -eq 1 ]'])
    row(bench, "DIFF   FP8 and BF16, and cmp", differ, same, 3, 0, nbytes)
    os.unlink(bench.new)


def run(bench):
    if not bench.wants("PARTS", "HASH", "DIFF"):
        return
    make_fp8(bench.input, bench.layers)
    bench.reference()
    nbytes = os.path.getsize(bench.out)
    for name, rows in ("PARTS", parts), ("HASH", digests), ("DIFF", differences):
        if bench.wants(name):
            rows(bench, nbytes)
