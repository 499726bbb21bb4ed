"""Let Ivy transpile one class or function of a script: `python ivy_transpile.py SCRIPT NAME`."""

import importlib
import inspect
import sys
from pathlib import Path


def main():
    """Import the script, transpile, and say in which file the result is."""
    import ivy

    script, name = Path(sys.argv[1]).resolve(), sys.argv[2]
    sys.path.insert(0, str(script.parent))
    thing = getattr(importlib.import_module(script.stem), name)
    done = ivy.transpile(thing, source="torch", target="tensorflow")
    print(f"\noutput {inspect.getsourcefile(done)}")


if __name__ == "__main__":
    main()
