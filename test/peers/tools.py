"""tools: the tools under test, and counts of passed and failed checks. Needs no library."""
import os
import subprocess
import sys


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, ok, what):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"FAILED {what}")
        return ok

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(self.failed != 0)


class Tools:
    """The tools under test, and a folder for their files."""

    def __init__(self):
        self.bin, self.folder = sys.argv[1:3]

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, tool, *args):
        """Returns standard output; None if the tool fails, after printing the error."""
        done = subprocess.run([os.path.join(self.bin, tool), *args], stdout=subprocess.PIPE, check=False)
        return done.stdout if done.returncode == 0 else None

    def remember(self, source, *options):
        """(how, output file or None) for a file read at random, and for a pipe."""
        tool = os.path.join(self.bin, "amn-remember")
        out = self.path("file.safetensors")
        done = subprocess.run([tool, "-q", *options, "-o", out, source], check=False)
        yield "file", out if done.returncode == 0 else None
        out = self.path("pipe.safetensors")
        with open(out, "wb") as f, subprocess.Popen(["cat", source], stdout=subprocess.PIPE) as cat:
            done = subprocess.run([tool, "-q", *options], stdin=cat.stdout, stdout=f, check=False)
        yield "pipe", out if done.returncode == 0 else None
