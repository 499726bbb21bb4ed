"""Print which of the names in a JSON file (qualified, package first) do not exist here."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path


def exists(name: str) -> bool:
    """Whether a qualified name can be reached, by attributes or by imports.

    Attributes come first: `tensorflow.contrib.eager` is a module that is called otherwise, which an
    import of that name would hide.
    """
    parts = name.split(".")
    for cut in range(1, len(parts) + 1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            return False
        try:
            for part in parts[cut:]:
                found = getattr(found, part)
        except (AttributeError, ImportError):
            continue
        return True
    return False


if __name__ == "__main__":
    sys.path[:0] = sys.argv[2:]
    names = json.loads(Path(sys.argv[1]).read_text())
    print(json.dumps([name for name in names if not exists(name)]))
