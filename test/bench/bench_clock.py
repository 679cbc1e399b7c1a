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


class Usage:
    """What one run of a command took: seconds of the clock, seconds of all processors, bytes that it read, peak in MiB."""

    def __init__(self, wall, rusage, read):
        self.wall, self.cpu, self.read = wall, rusage.ru_utime + rusage.ru_stime, read
        self.peak = rusage.ru_maxrss / 1024


def nbytes_of(path):
    """Returns the bytes of a file, or of the files of a directory."""
    if os.path.isdir(path):
        return sum(nbytes_of(entry.path) for entry in os.scandir(path))
    return os.path.getsize(path) if os.path.isfile(path) else 0


def read_by(pid):
    """Returns the bytes that an exited process has read with system calls: it must not be reaped yet."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with open(f"/proc/{pid}/io") as f:
        return int(f.readline().split()[1])             # rchar


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

    def of_build(self, ours, base):
        """Returns the same command with the tools of another build."""
        def moved(text):
            return text.replace(ours + "/", base + "/") if text.startswith(ours) else text
        env = {**self.env, "PATH": self.env["PATH"].replace(ours + ":", base + ":")}
        return Command([moved(a) for a in self.argv], env, self.stdout, self.new, self.pipe, self.cpus)

    def input_bytes(self):
        """Returns the bytes of the files and directories among its operands, except the new file."""
        return sum(nbytes_of(a) for a in self.argv[1:] if a != self.new and os.path.exists(a))

    def check(self, status):
        if os.waitstatus_to_exitcode(status) != 0:
            raise Failed(f"{' '.join(self.argv)}: status {os.waitstatus_to_exitcode(status)}")

    def run(self, touch):
        """Runs once and removes its output. Returns the usage of the command, without that of a pipe's reader."""
        if touch:
            prime(touch)
        before = self.pinned()
        start = time.perf_counter()
        pids = self.start(self.argv)
        read = read_by(pids[0])
        _, status, usage = os.wait4(pids[0], 0)
        for pid in pids[1:]:
            os.waitpid(pid, 0)
        taken = time.perf_counter() - start
        os.sched_setaffinity(0, before)
        self.clean()
        self.check(status)
        return Usage(taken, usage, read)

    def seconds(self, touch):
        return self.run(touch).wall

    def peak(self):
        """Runs once off the clock and returns the peak resident memory in MiB. Its output is kept."""
        return self.once().peak

    def once(self):
        """Runs once and returns its usage. Its output is kept.

        A process starts with the peak of the process that forked it, here Python's. So it is started by a shell, which is
        small and exits; as its subreaper we get its usage.
        """
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)         # PR_SET_CHILD_SUBREAPER
        before = self.pinned()
        start = time.perf_counter()
        pids = self.start(["sh", "-c", '"$@" &', "sh", *self.argv])
        for pid in pids:
            os.waitpid(pid, 0)
        child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
        read = read_by(child)
        _, status, usage = os.wait4(child, 0)
        taken = time.perf_counter() - start
        os.sched_setaffinity(0, before)
        self.check(status)
        return Usage(taken, usage, read)


class Table:
    """The figures of a row are those of the fastest runs, since noise only adds. The ratio of the medians stands beside the ratio."""

    COLUMNS = (("ours s", 9), ("other s", 9), ("ratio", 8), ("median", 8), ("of cat", 8), ("goal", 8), ("CPU s/GB", 10),
               ("peak MiB", 10), ("read", 7), ("of base", 9), ("its CPU", 9))

    def __init__(self, rounds, ours=None, base=None):
        self.rounds = rounds
        self.highest = 0.0
        self.ours, self.base = ours, base               # folders of the tools; or no other build
        self.columns = self.COLUMNS if base else self.COLUMNS[:-2]
        print(f"{'':42}" + "".join(f"{name:>{width}}" for name, width in self.columns), flush=True)

    def line(self, label, *figures, missed=False, **named):
        """Prints the figures, in the order of the columns, and those of columns that are named, with _ for a space."""
        given = dict(zip((name for name, _ in self.COLUMNS), figures))
        given.update((name.replace("_", " "), text) for name, text in named.items())
        cells = "".join(f"{given.get(name, ''):>{width}}" for name, width in self.columns)
        print(f"{label:42}{cells}{'  missed' if missed else ''}".rstrip(), flush=True)

    def of_base(self, ours):
        """Returns the command of the other build; None if there is none, or if it cannot do the job."""
        if not self.base:
            return None
        command = ours.of_build(self.ours, self.base)
        try:
            command.run(0)
        except Failed:
            return None
        return command

    def row(self, label, ours, other, goal, touch, want=None, cat=None, nbytes=0):
        """`want`: the file that ours must equal, byte by byte. `cat`: one more command to compare with, without a goal. `nbytes`:
        bytes made, for the CPU seconds of a GB; the size of `want`, if 0. Returns the seconds of ours and of the other."""
        first = ours.once()
        if want and not filecmp.cmp(ours.new, want, shallow=False):
            raise Failed(f"{label}: the output differs from that of one scalar thread")
        nbytes = nbytes or (os.path.getsize(want) if want else 0)
        input_ = ours.input_bytes()
        ours.clean()
        base = self.of_base(ours)
        commands = [c for c in (ours, other, cat, base) if c]
        for command in commands[1:]:
            command.run(0)
        runs = {command: [] for command in commands}
        for _ in range(self.rounds):
            for command in commands + commands[::-1]:
                runs[command].append(command.run(touch))
        wall, cpu = ({c: min(getattr(u, what) for u in runs[c]) for c in commands} for what in ("wall", "cpu"))
        a, b = wall[ours], wall[other]
        middle = {c: statistics.median(u.wall for u in runs[c]) for c in (ours, other)}
        self.highest = max(self.highest, first.peak)
        self.line(label, f"{a:.4f}", f"{b:.4f}", f"{a / b:.2f}", f"{middle[ours] / middle[other]:.2f}",
                  f"{a / wall[cat]:.2f}" if cat else "", f"{goal:.2f}" if goal else "",
                  f"{cpu[ours] / nbytes * 1e9:.3f}" if nbytes else "", f"{first.peak:.1f}",
                  f"{first.read / input_:.2f}" if input_ else "",
                  f"{a / wall[base]:.2f}" if base else "", f"{cpu[ours] / cpu[base]:.2f}" if base and cpu[base] else "",
                  missed=bool(goal) and a / b > goal)
        return a, b
