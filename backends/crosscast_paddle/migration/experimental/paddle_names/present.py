"""Which names the present Paddle has, by the index of its public names."""

from __future__ import annotations

from crosscast_migrate.binding.index import Index

_INTERNAL = ("paddle.fluid", "paddle.base", "paddle.libs", "paddle.proto")


def absent_part(name: str) -> str:
    """Return the shortest part of a qualified name that Paddle 3 does not have; empty if all of it
    may exist. Private names and those of `paddle.fluid` and `paddle.base` are not judged."""
    parts = name.split(".")
    if ".".join(parts[:2]) in _INTERNAL:
        return ""
    index = Index.load("crosscast_paddle.names:NAMES")
    for count in range(1, len(parts)):
        known = index.names_in(".".join(parts[:count]))
        if known is None or parts[count].startswith("_"):
            return ""
        if parts[count] not in known:
            return ".".join(parts[: count + 1])
    return ""
