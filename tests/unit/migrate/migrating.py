"""What tests of codemods share: programs of several files, migrated by one codemod."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter

from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import all_codemods


def migrate(code: str, text: str, **others: str) -> InPlaceMigration:
    """Migrate `train.py` and other modules by one codemod; every output must be sound."""
    texts = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    found = _once(code, texts)
    assert not found.problems
    after = texts | found.texts
    for name, content in after.items():
        ast.parse(content)
        assert not _comments(texts[name]) - _comments(content), "comments are lost"
    again = _once(code, after)
    assert not again.texts, "a second run changes something"
    return found


def changed(code: str, text: str, **others: str) -> str:
    """Return what becomes of `train.py`; it must change, and nothing may be refused."""
    found = migrate(code, text, **others)
    assert not found.refusals, [refusal.message for refusal in found.refusals]
    return found.texts["train.py"]


def refused(code: str, text: str, **others: str) -> str:
    """Return what is said of a program of which nothing may change."""
    found = migrate(code, text, **others)
    assert not found.texts
    assert found.refusals
    return " ".join(refusal.message for refusal in found.refusals)


def stays(code: str, text: str, **others: str) -> None:
    """Check that a program stays, without a word."""
    found = migrate(code, text, **others)
    assert not found.texts
    assert not found.refusals


def _once(code: str, texts: dict[str, str]) -> InPlaceMigration:
    sources = [Source(name, text) for name, text in texts.items()]
    return migrate_in_place(sources, [all_codemods()[code]])


def _comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)
