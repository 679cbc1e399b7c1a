"""pinned.py REQUIREMENTS: exit with 0 if exactly these versions are installed."""
import sys
from importlib.metadata import PackageNotFoundError, version

for line in open(sys.argv[1]):
    name, _, wanted = line.split("#")[0].strip().partition("==")
    try:
        # A local version label (2.1.0+cpu) does not count.
        if name and version(name).split("+")[0] != wanted:
            sys.exit(1)
    except PackageNotFoundError:
        sys.exit(1)
