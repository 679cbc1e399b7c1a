"""llama_process: llama.cpp in a process of its own, which llama_logits.py runs in the environment next to this one, whose name ends in
-llama. Needs no library."""
import json
import os
import subprocess
import sys

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable))) + "-llama/bin/python"


class Llama:
    """llama.cpp ends its process when it finds a model that it cannot run."""

    def __init__(self):
        self.child = None

    def ask(self, **request):
        if not self.child or self.child.poll() is not None:
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "llama_logits.py")
            self.child = subprocess.Popen([PYTHON, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                          text=True)
        self.child.stdin.write(json.dumps(request) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        return json.loads(line) if line else {"error": "llama.cpp aborts"}
