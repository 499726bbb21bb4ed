"""The public names of the present Paddle, as data.

`present_names.json` lists what the public modules of Paddle 3.3.1 hold; a test compares it with the
installed Paddle.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_INTERNAL = ("paddle.fluid", "paddle.base", "paddle.libs", "paddle.proto")


@cache
def present_names() -> Mapping[str, frozenset[str]]:
    """Return module to the public names in it."""
    text = Path(__file__).with_name("present_names.json").read_text(encoding="utf-8")
    return {module: frozenset(names.split()) for module, names in json.loads(text).items()}


def absent_part(name: str) -> str:
    """Return the shortest part of a qualified name that Paddle 3 does not have; empty if all of it
    may exist. Private names and those of `paddle.fluid` and `paddle.base` are not judged."""
    parts = name.split(".")
    if ".".join(parts[:2]) in _INTERNAL:
        return ""
    for count in range(1, len(parts)):
        known = present_names().get(".".join(parts[:count]))
        if known is None or parts[count].startswith("_"):
            return ""
        if parts[count] not in known:
            return ".".join(parts[: count + 1])
    return ""
