"""The index of what the tests share is complete and says what the modules say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def words_of(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.partition("\n\n")[0].split()).removesuffix(".")


def test_every_module_is_listed_with_its_first_words() -> None:
    lines = re.findall(r"^\| `(.+)` \| (.+) \|$", (TESTS / "README.md").read_text(), re.M)
    assert lines == [(path.stem, words_of(path)) for path in sorted(TESTS.glob("*.py"))]
