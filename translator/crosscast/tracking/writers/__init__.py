"""Programs that write runs with the library of a tool, each in a process of its own.

They read a JSON document from their input: `folder` to write to, `place` that the folder will have,
and `runs`. What the libraries print, start or remember stays in that process.
"""

from __future__ import annotations

import json
import sys
from typing import Any

PROJECT = "crosscast"
"""Name of the project, or of the experiment, where a tool has some."""


def read_request() -> dict[str, Any]:
    """Return the document that the process was started with."""
    document: dict[str, Any] = json.loads(sys.stdin.read())
    return document
