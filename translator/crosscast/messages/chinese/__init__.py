"""Titles, help and hints in Simplified Chinese.

`codes.json` and `rules.json` have the code, `hints.json` the English text as key. An entry of the
first two keeps a digest of the English text that was translated (`of`), so that
`tests/unit/test_chinese_table.py` finds what fell behind. `glossary.json` has the terms.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypedDict


class Entry(TypedDict):
    """The translation of a code or a rule."""

    of: str
    """`digest` of the English title and help."""
    title: str
    help: str


def digest(title: str, text: str) -> str:
    """Return the digest of an English title and help; how they are wrapped does not matter."""
    words = " ".join(f"{title}\n{text}".split())
    return hashlib.sha256(words.encode()).hexdigest()[:8]


def entry(code: str) -> Entry | None:
    """Return the translation of a code or a rule; None for those of plug-ins."""
    return _entries("rules" if code.startswith("CL") else "codes").get(code)


def codes_translated() -> set[str]:
    """Return the codes and rules that have a translation."""
    return {*_entries("codes"), *_entries("rules")}


def hint(text: str) -> str:
    """Return a hint in Chinese, or as it is if it is not in the table."""
    return hints().get(text, text)


@cache
def _entries(name: str) -> Mapping[str, Entry]:
    return _read(name)


@cache
def hints() -> Mapping[str, str]:
    """Return English to Chinese for the hints without values."""
    return _read("hints")


@cache
def glossary() -> Mapping[str, tuple[str, ...]]:
    """Return English term to its Chinese ones, the usual one first."""
    return {term: tuple(words) for term, words in _read("glossary").items()}


def _read(name: str) -> dict[str, Any]:
    path = Path(__file__).with_name(f"{name}.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
