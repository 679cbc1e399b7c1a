"""Runs the commands of bench.py, reads the clock, and prints the table of results."""
import ctypes
import filecmp
import mmap
import os
import signal
import statistics
import time


class Failed(Exception):
    pass


# ---- how the clock is read ----
#
# Memory that a hypervisor has taken back is ten times slower to touch, so a helper touches as much as the run
# needs, and exits. Hypervisors take it 2 MiB at a time: with huge pages the helper gets just those, in a tenth of
# the time. Runs go A B B A, so that a drift affects both. The files of a run are removed off the clock.

def prime(nbytes):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)   # the parent removes the folder
        memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except (AttributeError, OSError):
            pass                                        # a kernel without them
        memory[::mmap.PAGESIZE] = b"\1" * len(range(0, nbytes, mmap.PAGESIZE))
        os._exit(0)
    os.waitpid(pid, 0)


class Command:
    """A program, additions to our environment, and the destination of its standard output."""

    def __init__(self, argv, env=None, stdout=os.devnull, new=None, pipe=False, cpus=None):
        self.argv, self.env, self.stdout = argv, {**os.environ, **(env or {})}, stdout
        self.new = new                                  # the file that it writes
        self.pipe = pipe                                # into `cat`, not into stdout
        self.cpus = cpus                                # CPUs for it and its reader

    def spawn(self, argv, actions):
        return os.posix_spawnp(argv[0], argv, self.env, file_actions=actions)

    def start(self, argv):
        """Returns the pids; the last one is a pipe's reader."""
        if not self.pipe:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            return [self.spawn(argv, [(os.POSIX_SPAWN_OPEN, 1, self.stdout, flags, 0o644)])]
        r, w = os.pipe()
        null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
        pids = [self.spawn(argv, [(os.POSIX_SPAWN_DUP2, w, 1)]),
                self.spawn(["cat"], [(os.POSIX_SPAWN_DUP2, r, 0), null])]
        os.close(r)
        os.close(w)
        return pids

    def pinned(self):
        before = os.sched_getaffinity(0)
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)
        return before

    def clean(self):
        if self.new and os.path.exists(self.new):
            os.unlink(self.new)

    def check(self, status):
        if os.waitstatus_to_exitcode(status) != 0:
            raise Failed(f"{' '.join(self.argv)}: status {os.waitstatus_to_exitcode(status)}")

    def seconds(self, touch):
        if touch:
            prime(touch)
        before = self.pinned()
        start = time.perf_counter()
        pids = self.start(self.argv)
        statuses = [os.waitpid(pid, 0)[1] for pid in pids]
        taken = time.perf_counter() - start
        os.sched_setaffinity(0, before)
        self.clean()
        self.check(statuses[0])
        return taken

    def peak(self):
        """Runs once off the clock and returns the peak resident memory in MiB. Its output is kept."""
        return self.once()[1].ru_maxrss / 1024

    def once(self):
        """Runs once and returns its seconds and its usage. Its output is kept.

        A process starts with the peak of the process that forked it, here Python's. So it is started by a shell, which is
        small and exits; as its subreaper we get its usage.        """
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)         # PR_SET_CHILD_SUBREAPER
        before = self.pinned()
        start = time.perf_counter()
        pids = self.start(["sh", "-c", '"$@" &', "sh", *self.argv])
        for pid in pids:
            os.waitpid(pid, 0)
        _, status, usage = os.wait4(-1, 0)
        taken = time.perf_counter() - start
        os.sched_setaffinity(0, before)
        self.check(status)
        return taken, usage


class Table:
    """The figure of a row is the ratio of the fastest runs, since noise only adds. The ratio of the medians stands beside it."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.highest = 0.0
        print(f"{'':42}{'ours s':>9}{'other s':>9}{'ratio':>8}{'median':>8}{'of cat':>8}{'goal':>8}{'peak MiB':>10}", flush=True)

    def line(self, label, ours="", other="", ratio="", goal="", peak="", missed=False, median="", of_cat=""):
        print(f"{label:42}{ours:>9}{other:>9}{ratio:>8}{median:>8}{of_cat:>8}{goal:>8}{peak:>10}{'  missed' if missed else ''}",
              flush=True)

    def row(self, label, ours, other, goal, touch, want=None, cat=None):
        """`want`: the file that ours must equal, byte by byte. `cat`: one more command to compare with, without a goal. Returns
        the seconds of ours and of the other."""
        peak = ours.peak()
        if want and not filecmp.cmp(ours.new, want, shallow=False):
            raise Failed(f"{label}: the output differs from that of one scalar thread")
        ours.clean()
        commands = [ours, other] + ([cat] if cat else [])
        for command in commands[1:]:
            command.seconds(0)
        times = {command: [] for command in commands}
        for _ in range(self.rounds):
            for command in commands + commands[::-1]:
                times[command].append(command.seconds(touch))
        a, b = (min(times[c]) for c in (ours, other))
        median = statistics.median(times[ours]) / statistics.median(times[other])
        self.highest = max(self.highest, peak)
        self.line(label, f"{a:.4f}", f"{b:.4f}", f"{a / b:.2f}", f"{goal:.2f}", f"{peak:.1f}", a / b > goal, f"{median:.2f}",
                  f"{a / min(times[cat]):.2f}" if cat else "")
        return a, b
