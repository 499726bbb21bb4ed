"""Names and docstrings say a noun of the field: bindings called `found`, "Return what …".

Both are counted for every room that still has some. A number may only fall, and the smaller one is
written here; a room that is not in the table has none.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from source_trees import ROOT, SOURCES, modules, text_of, tree_of

WHAT = re.compile(r"(Return|Yield)( by| in)? what\b")
DOCSTRINGS: dict[str, int] = {
    "backends/crosscast_paddle/migration": 4,
    "backends/crosscast_tensorflow/migration": 6,
    "backends/crosscast_torch/migration": 4,
}
"""Room to docstrings that begin with "Return what" or "Yield what"."""
FOUND: dict[str, int] = {
    "backends/crosscast_paddle/migration": 23,
    "backends/crosscast_tensorflow/migration": 25,
    "backends/crosscast_torch/migration": 35,
    "translator/crosscast/api": 1,
}
"""Room to bindings of `found`: variables, parameters, fields, captures of patterns.

That of `api` is a public name, which stays.
"""


def vague_docstrings(tree: ast.Module) -> int:
    """Count the docstrings of functions that name no noun."""
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return sum(bool(WHAT.match(ast.get_docstring(function) or "")) for function in functions)


def bindings_of_found(tree: ast.Module) -> int:
    """Count the places that bind the name `found`."""
    count = 0
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="found", ctx=ast.Store()) | ast.arg(arg="found"):
                count += 1
            case ast.MatchAs(name="found") | ast.MatchStar(name="found"):
                count += 1
    return count


def room_of(path: Path) -> str:
    """Return the folder below the package of a module, or the package itself."""
    folder = path.relative_to(ROOT).parent
    return "/".join(folder.parts[:3])


@pytest.mark.parametrize(
    ("word", "count", "known"),
    [("what", vague_docstrings, DOCSTRINGS), ("found", bindings_of_found, FOUND)],
    ids=["docstrings", "bindings"],
)
def test_vague_words_only_get_fewer(
    word: str, count: Callable[[ast.Module], int], known: Mapping[str, int]
) -> None:
    counted: Counter[str] = Counter()
    for path in modules(*SOURCES):
        if word in text_of(path):
            counted[room_of(path)] += count(tree_of(path))
    assert {room: number for room, number in counted.items() if number} == known


@pytest.mark.parametrize(
    ("text", "docstrings", "bindings"),
    [
        ('def f():\n    """Return what was read."""', 1, 0),
        ('class C:\n    def f(self):\n        """Yield what is left.\n\n        More."""', 1, 0),
        ('async def f():\n    """Return by what it is divided."""', 1, 0),
        ('def f():\n    """Return the rows, and what is left of them."""', 0, 0),
        ("found = {}\nfound[1] = found", 0, 1),
        ("def f(found, *, other): return found", 0, 1),
        ("class C:\n    found: int = 0", 0, 1),
        ("if found := g(): pass", 0, 1),
        ("rows = [found for found in rows]", 0, 1),
        ("match x:\n    case [1, *found]: pass\n    case {1: 2 as found}: pass", 0, 2),
        ("self.found = not_found", 0, 0),
    ],
)
def test_planted_words_are_counted(text: str, docstrings: int, bindings: int) -> None:
    tree = ast.parse(text)
    assert (vague_docstrings(tree), bindings_of_found(tree)) == (docstrings, bindings)
