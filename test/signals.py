#!/usr/bin/env python3
"""signals.py BIN FIXTURES RUNS [SEED]: end amn-remember, amn-convert and amn-forget by a catchable signal while they replace
a file, RUNS times.

The job, the signal and its moment (from the start to a little after the end) are random. Afterwards the status must be
that of the signal, or 0; the output must be the old file or the complete new one; and nothing else may be in its folder
or in TMPDIR. By hand: test/signals.py bin obj/fixtures 1000, after `make fixtures`.
"""
import os, random, resource, signal, subprocess, sys, tempfile, time

bin_dir, fixtures, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.SystemRandom().getrandbits(32)
rnd = random.Random(seed)

NOT_ENDING = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT, signal.SIGCHLD,
              signal.SIGURG, signal.SIGWINCH,
              signal.SIGUSR1, signal.SIGXFSZ}           # the tool handles these two
SIGNALS = sorted(set(signal.valid_signals()) - NOT_ENDING)
OLD = b"old"


class Job:
    """A command line and its standard input: a file directly, or through a pipe."""
    def __init__(self, name, piped, *options, tool="amn-remember"):
        self.path, self.piped, self.options = os.path.join(fixtures, name), piped, options
        self.tool = os.path.join(bin_dir, tool)
        self.new = subprocess.run([self.tool, *options, self.path], stdout=subprocess.PIPE, check=True).stdout
        self.time = min(self.run(None, 0)[1] for _ in range(3))

    def start(self):
        def as_by_hand():       # reset what our parent blocks or ignores; no core files in the folder
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            for s in SIGNALS:
                signal.signal(s, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open(self.path, "rb") as f:
            feed = subprocess.Popen(["cat"], stdin=f, stdout=subprocess.PIPE) if self.piped else None
            p = subprocess.Popen([self.tool, *self.options, "-o", "out"], cwd="folder", stdin=feed.stdout if feed else f,
                                 preexec_fn=as_by_hand)
        if feed:
            feed.stdout.close()
        return p, feed

    def run(self, sig, delay):
        """Returns the status of one run, and how long it took."""
        began = time.perf_counter()
        p, feed = self.start()
        started = time.perf_counter()
        while sig and time.perf_counter() < started + delay:
            pass
        if sig and p.poll() is None:
            os.kill(p.pid, sig)
        status = p.wait()
        took = time.perf_counter() - started
        if feed:
            feed.wait()
        return status, took


def faults(job, sig, status):
    """Returns what is wrong after a run."""
    with open("folder/out", "rb") as f:
        got = f.read()
    left = [d + "/" + n for d in ("folder", "spool") for n in os.listdir(d) if n != "out"]
    if status not in (0, -sig):
        yield f"status {status}"
    if got not in (OLD, job.new) or (status == 0 and got != job.new):
        yield f"an output of {len(got)} bytes"
    for name in left:
        yield f"{name} is left"
        os.unlink(name)


os.environ["ASAN_OPTIONS"] = ":".join("handle_%s=0" % n for n in ("segv", "sigbus", "abort", "sigill", "sigfpe", "sigtrap"))
bin_dir, fixtures = (os.path.abspath(p) for p in (bin_dir, fixtures))
with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    os.mkdir("folder")
    os.mkdir("spool")
    os.environ["TMPDIR"] = os.path.join(work, "spool")
    jobs = [Job("good-fp8-wide.safetensors", False), Job("good-fp8-wide.safetensors", True),
            Job("good-fp8-wide-late.safetensors", True), Job("good-gguf-k.gguf", False, "--to=f32", "-j2"),
            Job("good-fp8-wide.safetensors", False, "--direct=always", "--to=f32"),
            Job("good-gguf-k.gguf", True, "--direct=always", "--sync"),
            Job("good-plain.safetensors", False, "--sync"),
            Job("good-fp8-wide.safetensors", True, "--to=npz", tool="amn-convert"),
            Job("good-gguf-k.gguf", False, "--to=gguf", "--dtype=f32", "-j2", tool="amn-convert"),
            Job("good-gguf-k.gguf", True, "-q", "--scheme=q8_0", "--pure", tool="amn-forget"),
            Job("good-fp8-wide.safetensors", False, "-q", "--scheme=fp8-per-tensor", "--pure", "--allow-nonfinite", "-j2", tool="amn-forget"),
            Job("good-fp8-wide.safetensors", True, "-q", "--scheme=nf4", "--pure", "--allow-nonfinite", tool="amn-forget")]
    ended = replaced = bad = 0
    for i in range(runs):
        job, sig = rnd.choice(jobs), rnd.choice(SIGNALS)
        with open("folder/out", "wb") as f:
            f.write(OLD)
        delay = rnd.uniform(0, 1.2 * job.time)
        status, _ = job.run(sig, delay)
        wrong = list(faults(job, sig, status))
        for text in wrong:
            print(f"run {i}, signal {sig} after {1000 * delay:.2f} ms, {os.path.basename(job.path)}: {text}")
        bad += bool(wrong)
        ended += status != 0
        with open("folder/out", "rb") as f:
            replaced += f.read() != OLD
print(f"seed {seed}: {runs} runs, {ended} ended by {len(SIGNALS)} signals, {replaced} with a new file")
print(f"{runs - bad} passed, {bad} failed")
sys.exit(bad != 0)
