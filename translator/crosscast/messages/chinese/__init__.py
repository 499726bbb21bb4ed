"""Titles, help and hints in Simplified Chinese.

`codes.json` and `rules.json` have the code as key, and a digest of the English text that was
translated (`of`); `hints.json` has the English text as key, with `{}` for each value (names,
numbers, code). `tests/unit/test_chinese_*.py` find what fell behind. `glossary.json` has the terms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypedDict

PLACE = "{}"
"""Stands for a value of a hint, in the same order in both languages."""
_SENTENCE = re.compile(r"[a-z]{2} [a-z]{2,}+ [a-z]{2}")
"""Words, which are no value: the hint is another one that begins alike."""
_FOLDERS = [Path(__file__).parent]
"""Where the tables are: first crosscast's own, then those of packages."""


class Entry(TypedDict):
    """The translation of a code or a rule."""

    of: str
    """`digest` of the English title and help."""
    title: str
    help: str


def digest(title: str, text: str) -> str:
    """Return the digest of an English title and help; how they are wrapped does not matter."""
    import hashlib

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
    if text in hints():
        return hints()[text]
    for pattern, translated in _patterns():
        match = pattern.fullmatch(text)
        if match and not any(map(_SENTENCE.search, match.groups())):
            parts = translated.split(PLACE)
            return "".join(chain.from_iterable(zip_longest(parts, match.groups(), fillvalue="")))
    return text


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Return the hints with values; those with most words of their own first."""
    texts = [text for text in hints() if PLACE in text]
    texts.sort(key=lambda text: len(text.replace(PLACE, "")), reverse=True)
    parts = [(map(re.escape, text.split(PLACE)), hints()[text]) for text in texts]
    return [
        (re.compile("(.+?)".join(words), re.DOTALL), translation) for words, translation in parts
    ]


@cache
def _entries(name: str) -> Mapping[str, Entry]:
    return _read(name)


def add_texts(folder: Path) -> None:
    """Add the translations of a package: `codes.json`, `rules.json`, `hints.json`, if it has them.

    Where crosscast has a translation already, that one stays. A text whose translation cannot be
    read stays in English.
    """
    if folder not in _FOLDERS:
        _FOLDERS.append(folder)
        for function in (_entries, hints, _patterns):
            function.cache_clear()


@cache
def hints() -> Mapping[str, str]:
    """Return English to Chinese."""
    return _read("hints")


@cache
def glossary() -> Mapping[str, tuple[str, ...]]:
    """Return English term to its Chinese ones, the usual one first."""
    return {term: tuple(words) for term, words in _read("glossary").items()}


def _read(name: str) -> dict[str, Any]:
    by_text: dict[str, Any] = {}
    for folder in reversed(_FOLDERS):
        try:
            table = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # of a plug-in that brings none, or a broken one
        rows = table.items() if isinstance(table, dict) else ()
        by_text.update((text, row) for text, row in rows if _is_row(name, row))
    return by_text


def _is_row(name: str, row: object) -> bool:
    """Whether a row of a table has the form that its readers expect."""
    match name, row:
        case "hints", str():
            return True
        case "codes" | "rules", {"title": str(), "help": str()}:
            return True
        case "glossary", list():
            return True
    return False
