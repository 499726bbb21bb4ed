"""Tests by name, as tables and pages cite them: path below tests/, two colons, function."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent


@cache
def functions(path: Path) -> frozenset[str]:
    """Return the names of the functions of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def is_test(name: str) -> bool:
    """Whether a cited test exists; probes may leave out their folder."""
    file, _, function = name.partition("::")
    paths = [path for path in (TESTS / "probes" / file, TESTS / file) if path.is_file()]
    return bool(paths) and function.startswith("test_") and function in functions(paths[0])
