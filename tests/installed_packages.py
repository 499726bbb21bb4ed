"""Replace what is installed by packages of a test, and find what is said of those that fail."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from crosscast.messages import chinese
from crosscast.messages.diagnostics import Diagnostic
from crosscast.targets import source_support
from crosscast.targets.source_support import migration_apis
from crosscast_migrate import allowed_changes
from crosscast_migrate import registry as codemods
from crosscast_migrate.models import installed as models
from crosscast_reading.lint import registry as rules
from crosscast_reading.pysource.libraries import public_names, roles, signatures, words
from crosscast_reading.readers import registry as readers

assert public_names.INSTALLED  # is made when it is imported: of what is really installed
Install = Callable[..., None]
CACHES = (
    source_support._load_all,
    migration_apis,
    rules._load,
    codemods._load,
    readers._text,
    readers._python,
    words._found,
    roles._pattern,
    roles.has_role,
    models._found,
    allowed_changes.all_changes,
    signatures.table,
    chinese._entries,
    chinese.hints,
    chinese._patterns,
)


def installing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Install]:
    """Yield a function that replaces what is installed by some entry points, by name."""
    package = tmp_path / "their"
    for folder in ("rules/launch", "codemods"):
        (package / folder).mkdir(parents=True)
    for folder in (".", "rules", "codemods"):
        (package / folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    def put(files: dict[str, str] | None = None, **supports: object) -> None:
        for name, text in (files or {}).items():
            (package / name).write_text(text)
        entries = [
            SimpleNamespace(name=name, dist=None, load=lambda support=support: _loaded(support))
            for name, support in supports.items()
        ]
        monkeypatch.setattr(source_support, "entry_points", lambda group: entries)
        _forget()

    yield put
    monkeypatch.undo()
    _forget()


def _loaded(support: object) -> object:
    if isinstance(support, Exception):
        raise support
    return support


def _forget() -> None:
    for cache in CACHES:
        cache.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "their"]:
        del sys.modules[name]


def messages_of(problems: tuple[Diagnostic, ...]) -> list[str]:
    """Return the messages of failures to load, all of which have the code for it."""
    assert {problem.code for problem in problems} <= {"CC955"}
    return [problem.message for problem in problems]
