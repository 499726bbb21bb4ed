"""What a release says of itself is true and the same everywhere."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crosscast import __version__
from package.release_check import PROJECT, PYTHONS, oldest
from package_readme import PackageReadme, package_readme
from source_trees import ROOT, tree_of

REMOVED = {
    "3.12": "asynchat asyncore distutils imp smtpd",
    "3.13": (
        "aifc audioop cgi cgitb chunk crypt imghdr lib2to3 mailcap msilib nis nntplib ossaudiodev"
        " pipes sndhdr spwd sunau telnetlib uu xdrlib"
    ),
}
"""Modules that a release of Python no longer has, https://docs.python.org/3/whatsnew/."""
ENVIRONMENTS = ("all", "bench", "dev", "docs")
"""Extras for those who work on crosscast, or of other extras."""


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0]


def test_the_version_is_the_same_everywhere() -> None:
    versions = {
        "pyproject.toml": PROJECT["version"],
        "CITATION.cff": _found(r"^version: (\S+)$", text_of("CITATION.cff")),
        "CHANGELOG.md": _found(r"^## (\S+)", text_of("CHANGELOG.md")),
        "editors/vscode": json.loads(text_of("editors/vscode/package.json"))["version"],
    }
    assert versions == dict.fromkeys(versions, __version__)


def test_the_licence_is_the_same_everywhere() -> None:
    licences = {PROJECT["license"], _found(r"^license: (\S+)$", text_of("CITATION.cff"))}
    assert licences == {"Apache-2.0"}
    assert text_of("LICENSE").split()[:2] == ["Apache", "License"]


def test_pythons_are_the_same_everywhere() -> None:
    first, last = PYTHONS[0], PYTHONS[-1]
    after = f"3.{int(last.partition('.')[2]) + 1}"
    assert PROJECT["requires-python"] == f">={first},<{after}"
    for name in ("Makefile", "CONTRIBUTING.md"):
        assert f"Python {first} to {last}" in text_of(name)
    assert "Python {}, {} or {}".format(*PYTHONS) in text_of("README.md")
    assert [*REMOVED] == PYTHONS[1:]


def test_nothing_is_imported_that_a_python_lacks() -> None:
    removed = {name for names in REMOVED.values() for name in names.split()}
    words = re.compile(rf"\b({'|'.join(removed)})\b")
    rooms = ("translator", "backends", "parity", "examples")
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for room in rooms
        for path in (ROOT / room).rglob("*.py")
        # What is imported stands in the text, and most modules have none of these words.
        if words.search(path.read_text(encoding="utf-8"))
        for name in imported(path)
        if name in removed
    }
    assert found == set()


def test_every_dependency_has_a_lower_bound() -> None:
    assert len([*oldest()]) == len(PROJECT["dependencies"])
    for extra, dependencies in PROJECT["optional-dependencies"].items():
        for dependency in dependencies:
            assert ">=" in dependency or dependency.startswith("crosscast["), (extra, dependency)


def test_every_extra_is_documented() -> None:
    pages = [text_of("README.md"), *(page.read_text() for page in ROOT.glob("docs/*/*.md"))]
    for extra in PROJECT["optional-dependencies"]:
        told = (f"`{extra}`", f"crosscast[{extra}]")
        found = any(word in page for page in pages for word in told)
        assert found or extra in ENVIRONMENTS, extra


def test_a_package_index_shows_no_link_to_a_file() -> None:
    text = "[a](b.md) ([docs](c.md#d)): [e](https://f) [`g`](../h.py), [i\nj](k)[![l](m)](n)"
    assert package_readme(text) == "a: [e](https://f) `g`, i\nj"
    metadata: dict[str, Any] = {}
    PackageReadme(str(ROOT), {}).update(metadata)
    assert metadata["readme"]["content-type"] == "text/markdown"
    shown = metadata["readme"]["text"]
    links = re.findall(r"\]\(([^)]*)\)", shown)
    assert [link for link in links if not link.startswith("https://")] == []
    assert "<img" not in shown


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None, pattern
    return match[1]
