"""The modules of the project and their syntax trees, parsed once for all tests of a process."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("translator", "backends", "parity")


def modules(*folders: str) -> Iterator[Path]:
    """Yield the Python files in some folders of the project."""
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


@cache
def text_of(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the tree of a module."""
    return ast.parse(text_of(path))


@cache
def statements_of(path: Path) -> tuple[ast.stmt, ...]:
    """Return all statements of a module, those of its functions and classes among them."""
    found: list[ast.AST] = [tree_of(path)]
    for node in found:  # grows: no expression holds a statement
        found += [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr)]
    return tuple(node for node in found if isinstance(node, ast.stmt))


def is_for_types(node: ast.If) -> bool:
    """Whether only type checkers look into the body of a statement."""
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@cache
def names_of_modules() -> dict[str, Path]:
    """Return every module of the project by the name under which it is imported."""
    found: dict[str, Path] = {}
    for folder in SOURCES:
        for path in modules(folder):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join(part for part in parts if part != "__init__")] = path
    return found
