"""Pages as GitHub shows them: links lead to files and headings that are there."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("**/README.md")]
PAGES += [ROOT / name for name in ("README.md", "README.zh.md", "CHANGELOG.md")]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
NAMED = re.compile(r"(?<![\w./-])docs/[\w/-]+\.(?:md|json)\b")
FUTURE = {"docs/measurements/needed-conditions.md"}
"""Written by a benchmark when it is asked to; not in the repository."""


@cache
def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text(encoding="utf-8"))


@cache
def headings(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    found: dict[str, int] = {}
    anchors = set()
    for title in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        seen = found[slug] = found.get(slug, -1) + 1
        anchors.add(f"{slug}-{seen}" if seen else slug)
    return anchors


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(CODE.sub("", prose(page))):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if anchor and target.suffix == ".md":
            assert anchor in headings(target), f"{path}#{anchor}"


def test_pages_that_files_name_are_there() -> None:
    words = ("git", "grep", "--untracked", "-hoIE", r"docs/[a-z0-9/-]+\.(md|json)")
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    named = {path for path in done.stdout.splitlines() if NAMED.fullmatch(path)}
    assert named
    assert {path for path in named - FUTURE if not (ROOT / path).is_file()} == set()
