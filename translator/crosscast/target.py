"""What a backend is, and how backends and their versions are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, Protocol

from crosscast.capability import Row
from crosscast.codes import Code
from crosscast.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan import Plan
from crosscast.recipe import Recipe, Section

GROUP = "crosscast.backends"
Form = Literal["script", "step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One API generation of a framework: the versions it covers and what it offers."""

    name: str
    since: str
    """Lowest framework version, inclusive."""
    until: str = ""
    """First framework version that is no longer covered; empty for none."""
    features: frozenset[str] = frozenset()


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
        """API generations, newest first."""

    @property
    def rows(self) -> Sequence[Row]:
        """What the target can express."""

    @property
    def codes(self) -> Sequence[Code]:
        """Diagnostic codes that the rows use."""

    @property
    def overrides(self) -> type[Section]:
        """Model of the settings below `overrides.<name>`."""

    @property
    def templates(self) -> Path:
        """Folder of the backend's templates."""

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
        from crosscast.suggest import suggest

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
