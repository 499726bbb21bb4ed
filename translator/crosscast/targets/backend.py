"""The protocol of backends, and finding backends and their versions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, Protocol

from crosscast.messages.codes import Code
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan.operations import Plan
from crosscast.recipe.document import Recipe, Section
from crosscast.targets.capability import Evidence, Row
from crosscast.targets.defaults import Defaults
from crosscast.targets.framework import Framework
from crosscast.targets.harness import Harness

GROUP = "crosscast.backends"
Form = Literal["script", "step"]
Emits = Literal["script", "flags", "configuration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One API generation of a framework: the versions it covers and what it offers."""

    name: str
    title: str = ""
    """Name for people, as in `PyTorch 2.4 or newer`."""
    since: str = ""
    """Lowest framework version, inclusive; empty if the dialect is chosen by name only."""
    until: str = ""
    """First framework version that is no longer covered; empty for none."""
    oldest: str = ""
    """Lowest framework version of a dialect that is chosen by name only."""
    evidence: Evidence = Evidence.MEASURED_CPU
    """`documented` where no script of this dialect was ever run."""
    requirements: tuple[str, ...] = ()
    """Lines of the emitted requirements.txt."""
    features: frozenset[str] = frozenset()
    """Words that the backend's lowering decides by."""
    emits: Emits = "script"
    """A training script that runs by itself, flags of a script that the user has, or what
    configures a program of the user's."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables of a process in which an emitted step runs without its script."""

    def covers(self, version: str) -> bool:
        """Whether a framework version (digits and dots) lies in the window."""
        if not self.since:
            return False
        number = _number(version)
        return _number(self.since) <= number and (not self.until or number < _number(self.until))


def _number(version: str) -> tuple[int, ...]:
    """Return a version as numbers that compare, without trailing zeros: 2.4.0 is 2.4."""
    parts = [int(part) for part in version.split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file to emit: a template with everything it may look at."""

    path: str
    """Relative to the target's folder, with forward slashes."""
    template: str
    view: Mapping[str, Any]
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A recipe as one target will realise it."""

    plan: Plan
    files: tuple[File, ...]


class Backend(Protocol):
    """What a framework package offers; see docs/adding-a-framework.md."""

    @property
    def name(self) -> str:
        """Name used in `--to`, `overrides` and folder names."""

    @property
    def title(self) -> str:
        """Name for people."""

    @property
    def distributions(self) -> Sequence[str]:
        """Names of the Python distributions that hold the framework, the usual one first."""

    @property
    def dialects(self) -> Sequence[Dialect]:
        """API generations, newest first: the first is the one meant by the bare name."""

    @property
    def rows(self) -> Sequence[Row]:
        """What the target can express."""

    @property
    def codes(self) -> Sequence[Code]:
        """Diagnostic codes that the rows use."""

    @property
    def defaults(self) -> Sequence[Defaults]:
        """What APIs of the framework do where a script says nothing, by version."""

    @property
    def overrides(self) -> type[Section]:
        """Model of the settings below `overrides.<name>`."""

    @property
    def templates(self) -> Path:
        """Folder of the backend's templates."""

    @property
    def framework(self) -> Framework | None:
        """Names, weights and users' models; None where it is another backend's framework."""

    @property
    def harness(self) -> Harness | None:
        """What `crosscast parity` must know to run and watch the scripts; None runs them only."""

    def lower(self, recipe: Recipe, dialect: Dialect, form: Form) -> Lowered:
        """Return plan and files for a recipe that the rows accept. Imports no framework."""


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def backend_names() -> list[str]:
    """Return the names of the installed backends, sorted."""
    return sorted(_entry_points())


def load_backend(name: str) -> Backend:
    """Return an installed backend.

    Raises:
        DiagnosticError: CC106 when no such backend is installed, CC107 when it does not load.
    """
    entry = _entry_points().get(name)
    if entry is None:
        from crosscast.recipe.suggestions import suggest

        near = suggest(name, backend_names())
        raise DiagnosticError(
            Diagnostic(
                code="CC106",
                message=f"no backend {name!r}; installed: {', '.join(backend_names())}",
                hint=f"did you mean {near!r}?" if near else "",
            )
        )
    try:
        backend: Backend = entry.load()
    except Exception as error:  # whatever a stranger's package raises while it is imported
        raise DiagnosticError(
            Diagnostic(code="CC107", message=f"backend {name!r} does not load: {error}")
        ) from None
    return backend


def harness_of(name: str) -> Harness | None:
    """Return what the harness knows of a backend; None for one that is not installed.

    Raises:
        DiagnosticError: CC107 when it does not load.
    """
    return load_backend(name).harness if name in _entry_points() else None


@cache
def installed_backends() -> tuple[Backend, ...]:
    """Return the installed backends that load, by name."""
    found = []
    for name in backend_names():
        with contextlib.suppress(DiagnosticError):
            found.append(load_backend(name))
    return tuple(found)


_TARGET = re.compile(r"([^@]*)(?:@([0-9]{1,4}(?:\.[0-9]{1,4}){0,3})|@(.*))?", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """What code is emitted for: a backend and one of its dialects."""

    name: str
    """As it was asked for: `torch`, `torch@2.1`."""
    backend: Backend
    dialect: Dialect

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that hold for the dialect."""
        return rows_of(self.backend, self.dialect)

    @property
    def runs(self) -> bool:
        """Whether a training script is emitted, which can be run."""
        return self.dialect.emits == "script"

    @property
    def folder(self) -> str:
        """Name of the folder of its files."""
        return self.name.replace("@", "-")


def program_names() -> list[str]:
    """Return the names of the installed backends whose bare name means a training script."""
    return [name for name in backend_names() if find_target(name).runs]


def without_script(target: str, hint: str) -> Diagnostic:
    """Return the error of a target that emits no training script where one is needed."""
    message = f"{target}: what is emitted is no training script"
    return Diagnostic(code="CC306", message=message, hint=hint)


def rows_of(backend: Backend, dialect: Dialect) -> tuple[Row, ...]:
    """Return the rows of a backend that hold for one of its dialects."""
    return tuple(row for row in backend.rows if not row.dialects or dialect.name in row.dialects)


def find_target(text: str) -> Target:
    """Return the target named `BACKEND`, `BACKEND@VERSION` or `BACKEND@DIALECT`.

    Raises:
        DiagnosticError: CC106 or CC107 for the backend, CC108 for version or dialect.
    """
    match = _TARGET.fullmatch(text)
    assert match is not None  # the last alternative takes everything
    name, version, word = match.groups()
    backend = load_backend(name)
    if version is None and word is None:
        return Target(text, backend, backend.dialects[0])
    for dialect in backend.dialects:
        if dialect.name == word or (version is not None and dialect.covers(version)):
            return Target(text, backend, dialect)
    raise DiagnosticError(_no_dialect(text, backend, word))


def _no_dialect(text: str, backend: Backend, word: str | None) -> Diagnostic:
    from crosscast.recipe.suggestions import suggest

    names = [dialect.name for dialect in backend.dialects]
    near = suggest(word, names) if word else None
    known = [f"{d.name} ({window(d)})" for d in backend.dialects]
    return Diagnostic(
        code="CC108",
        message=f"{text!r}: {backend.name} is emitted as {', '.join(known)}",
        hint=f"did you mean {backend.name}@{near}?" if near else "",
    )


def version_view(module: str, title: str, since: str, until: str = "") -> dict[str, str]:
    """Return what an emitted script checks the version of its framework by.

    Args:
        module: Name under which the script imports the framework.
        title: The versions for people.
        since: Lowest version, inclusive; its first two numbers count.
        until: First version that is too new; empty for none.
    """
    after = f" < {_pair(until)}" if until else ""
    return {"module": module, "title": title, "window": f"{_pair(since)} <= found{after}"}


def _pair(version: str) -> str:
    major, minor = version.split(".")[:2]
    return f"({int(major)}, {int(minor)})"


def window(dialect: Dialect) -> str:
    """Return the versions a dialect covers, for people."""
    if not dialect.since:
        return "by name"
    return f"{dialect.since} up to {dialect.until}" if dialect.until else f"from {dialect.since}"
