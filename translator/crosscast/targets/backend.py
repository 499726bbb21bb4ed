"""The protocol of backends, and the lookup of backends and their versions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from crosscast.messages.chinese import add_texts
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.targets.capability import Evidence, Judgement, Row

if TYPE_CHECKING:
    from crosscast.messages.code import Code
    from crosscast.plan.operations import Plan
    from crosscast.recipe.document import Recipe, Section
    from crosscast.targets.defaults import Defaults
    from crosscast.targets.framework import Framework
    from crosscast.targets.harness import Harness

GROUP = "crosscast.backends"
Form = Literal["script", "step"]
Emits = Literal["script", "flags", "configuration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One API generation of a framework: its versions and features."""

    name: str
    title: str = ""
    """Display name, such as `PyTorch 2.4 or newer`."""
    since: str = ""
    """Lowest framework version, inclusive; empty if the dialect is selected by name only."""
    until: str = ""
    """First framework version that is no longer covered; empty for none."""
    newest: str = ""
    """The newest known release of a dialect without `until`, without the number of the patch. A
    later one cannot be selected by its number; the dialect's name selects it."""
    oldest: str = ""
    """Lowest framework version of a dialect that is selected by name only."""
    evidence: Evidence = Evidence.MEASURED_CPU
    """`documented` if no script of this dialect was ever run."""
    requirements: tuple[str, ...] = ()
    """Lines of the emitted requirements.txt."""
    features: frozenset[str] = frozenset()
    """Features that the backend's lowering queries."""
    emits: Emits = "script"
    """A standalone training script, flags for the user's script, or a configuration of the user's
    program."""
    environment: tuple[tuple[str, str], ...] = ()
    """Environment variables of a process that runs an emitted step without its script."""

    def covers(self, version: str) -> bool:
        """Whether a framework version (digits and dots) is in the range."""
        if not self.since:
            return False
        number = _number(version)
        return _number(self.since) <= number and (not self.until or number < _number(self.until))

    def knows(self, version: str) -> bool:
        """Whether a framework version is not later than the newest known one."""
        if not self.newest:
            return True
        newest = _number(self.newest)
        return _number(version)[: len(newest)] <= newest


def _number(version: str) -> tuple[int, ...]:
    """Return a version as comparable numbers, without trailing zeros: 2.4.0 is 2.4."""
    parts = [int(part) for part in version.split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file to emit: a template with its view."""

    path: str
    """Relative to the target's folder, with forward slashes."""
    template: str
    view: Mapping[str, Any]
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A recipe lowered for one target."""

    plan: Plan
    files: tuple[File, ...]


class Backend(Protocol):
    """The interface of a framework package; see docs/how-to/adding-a-framework.md."""

    @property
    def name(self) -> str:
        """Name used in `--to`, `overrides` and folder names."""

    @property
    def title(self) -> str:
        """Display name."""

    @property
    def distributions(self) -> Sequence[str]:
        """Names of the Python distributions of the framework, the most common one first."""

    @property
    def dialects(self) -> Sequence[Dialect]:
        """API generations, newest first: the bare name selects the first one."""

    @property
    def rows(self) -> Sequence[Row]:
        """What the target can express."""

    @property
    def codes(self) -> Sequence[Code]:
        """Diagnostic codes that the rows use."""

    @property
    def defaults(self) -> Sequence[Defaults]:
        """Default values of the framework's APIs, by version."""

    @property
    def overrides(self) -> type[Section]:
        """Model of the settings below `overrides.<name>`."""

    @property
    def templates(self) -> Path:
        """Folder of the backend's templates."""

    @property
    def texts(self) -> Path | None:
        """Folder of Chinese texts of its codes and hints (`messages.chinese`)."""

    @property
    def framework(self) -> Framework | None:
        """Names, weights and users' models; None if another backend provides the framework."""

    @property
    def harness(self) -> Harness | None:
        """Information for `crosscast parity` to observe the scripts; None only runs them."""

    def lower(
        self, recipe: Recipe, judgements: Sequence[Judgement], dialect: Dialect, form: Form
    ) -> Lowered:
        """Return plan and files for a recipe that the rows accept with these judgements.

        Imports no framework.
        """


@cache
def _entry_points() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)} | _own_entry_points()


@cache
def _own_entry_points() -> dict[str, EntryPoint]:
    """Return the backends of this distribution; reading one distribution is faster than all."""
    try:
        own = distribution("crosscast").entry_points
    except PackageNotFoundError:
        return {}
    return {entry.name: entry for entry in own.select(group=GROUP)}


def backend_names() -> list[str]:
    """Return the names of the installed backends, sorted."""
    return sorted(_entry_points())


def load_backend(name: str) -> Backend:
    """Return an installed backend.

    Raises:
        DiagnosticError: CC106 if no such backend is installed, CC107 if it does not load.
    """
    entry = _own_entry_points().get(name) or _entry_points().get(name)
    if entry is None:
        from crosscast.targets.target_names import backend_meant

        near = backend_meant(name, backend_names())
        raise DiagnosticError(
            Diagnostic(
                code="CC106",
                message=f"no backend {name!r}; installed: {', '.join(backend_names())}",
                hint=f"did you mean {near!r}?" if near else "",
            )
        )
    try:
        backend: Backend = entry.load()
        texts = backend.texts
    except Exception as error:  # third-party code may raise any exception at import
        raise DiagnosticError(
            Diagnostic(code="CC107", message=f"backend {name!r} does not load: {error}")
        ) from None
    if texts is not None:
        add_texts(texts)
    return backend


def harness_of(name: str) -> Harness | None:
    """Return the harness information of a backend; None if it is not installed.

    Raises:
        DiagnosticError: CC107 if it does not load.
    """
    return load_backend(name).harness if name in _entry_points() else None


@cache
def installed_backends() -> tuple[Backend, ...]:
    """Return the installed backends that load, by name."""
    backends = []
    for name in backend_names():
        with contextlib.suppress(DiagnosticError):
            backends.append(load_backend(name))
    return tuple(backends)


_TARGET = re.compile(r"([^@]*)(?:@([0-9]{1,4}(?:\.[0-9]{1,4}){0,3})|@(.*))?", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """A backend and one of its dialects."""

    name: str
    """The name as given: `torch`, `torch@2.1`."""
    backend: Backend
    dialect: Dialect

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that apply to the dialect."""
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
    """Return the installed backends whose first dialect emits a training script."""
    return [name for name in backend_names() if find_target(name).runs]


def without_script(target: str, hint: str) -> Diagnostic:
    """Return the error for a target without the required training script."""
    message = f"{target}: emits no training script"
    return Diagnostic(code="CC306", message=message, hint=hint)


def rows_of(backend: Backend, dialect: Dialect) -> tuple[Row, ...]:
    """Return the rows of a backend that apply to one of its dialects."""
    return tuple(row for row in backend.rows if not row.dialects or dialect.name in row.dialects)


def find_target(text: str) -> Target:
    """Return the target named `BACKEND`, `BACKEND@VERSION` or `BACKEND@DIALECT`.

    Raises:
        DiagnosticError: CC106 or CC107 for the backend, CC108 for version or dialect.
    """
    match = _TARGET.fullmatch(text)
    assert match is not None  # the last alternative matches any text
    name, version, word = match.groups()
    backend = load_backend(name)
    if version is None and word is None:
        return Target(text, backend, backend.dialects[0])
    for dialect in backend.dialects:
        if dialect.name == word:
            return Target(text, backend, dialect)
        if version is not None and dialect.covers(version):
            if dialect.knows(version):
                return Target(text, backend, dialect)
            raise DiagnosticError(_too_new(text, backend, dialect))
    raise DiagnosticError(_no_dialect(text, backend, version, word))


def _too_new(text: str, backend: Backend, dialect: Dialect) -> Diagnostic:
    return Diagnostic(
        code="CC108",
        message=f"{text!r}: the newest known release of {backend.name} is {dialect.newest}",
        hint=f"write {backend.name}@{dialect.name} for {dialect.since} or newer, or a release from "
        f"{oldest_version(backend)} to {dialect.newest}",
    )


def oldest_version(backend: Backend) -> str:
    """Return the lowest framework version that can be selected by its number."""
    return min((d.since for d in backend.dialects if d.since), key=_number)


def _no_dialect(text: str, backend: Backend, version: str | None, word: str | None) -> Diagnostic:
    from crosscast.recipe.suggestions import suggest

    names = [dialect.name for dialect in backend.dialects]
    near = suggest(word, names) if word else None
    if version is not None:  # the first one of the same generation
        first = [d.since for d in backend.dialects if d.since.startswith(f"{version}.")]
        near = first[-1] if first else None
    known = [f"{d.name} ({window(d)})" for d in backend.dialects]
    return Diagnostic(
        code="CC108",
        message=f"{text!r}: {backend.name} is emitted as {', '.join(known)}",
        hint=f"did you mean {backend.name}@{near}?" if near else "",
    )


def window(dialect: Dialect) -> str:
    """Return the versions of a dialect as text."""
    if not dialect.since:
        return "by name"
    return f"{dialect.since} up to {dialect.until}" if dialect.until else f"from {dialect.since}"
