"""What targets support, what this machine runs, and how to start a recipe."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from crosscast.api import html
from crosscast.api.calls import (
    check_choice,
    public,
)
from crosscast.api.files import Files, counted
from crosscast.api.result import Result
from crosscast.messages.console import EXIT_CANNOT_RUN, EXIT_OK, Exit, cell_text
from crosscast.messages.diagnostics import Diagnostic

if TYPE_CHECKING:
    from crosscast.targets.doctor import Examination

About = Literal["fields", "defaults", "dialects"]
HIDDEN = {
    "fields": {"when", "probe"},
    "defaults": {"kind", "measured", "source", "note"},
    "dialects": set[str](),
}
"""Columns that only JSON has."""
MACHINE_COLUMNS = ("target", "version", "devices", "float32", "bfloat16", "float16", "note")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Matrix(Result):
    """What every target supports."""

    about: About
    rows: tuple[Mapping[str, Any], ...]
    """Every row, by the names of the columns."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def markdown(self) -> str:
        """A page about it; that of the fields holds the dialects."""
        from crosscast.targets.backend import backend_names, load_backend
        from crosscast.targets.default_tables import defaults_page
        from crosscast.targets.matrix import markdown_page

        page = defaults_page if self.about == "defaults" else markdown_page
        return page([load_backend(name) for name in backend_names()])

    @property
    def columns(self) -> list[str]:
        """The columns of the table."""
        return [name for name in self.rows[0] if name not in HIDDEN[self.about]]

    @property
    def cells(self) -> list[list[str]]:
        """The cells of the table."""
        from crosscast.targets.default_tables import value_text

        # Distinguish the number 1 from the text '1', and print 65536 as 2**16.
        return [
            [(value_text if name == "default" else cell_text)(row[name]) for name in self.columns]
            for row in self.rows
        ]

    @property
    def exit_code(self) -> Exit:
        """Always 0."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """The number of rows."""
        return f"{counted(len(self.rows), 'row')} about the {self.about} of targets"

    def _html(self) -> Iterator[str]:
        yield html.table(self.columns, self.cells, long=("how",))


@public
def matrix(about: About = "fields") -> Matrix:
    """Return what every target supports.

    Args:
        about: the fields of recipes, the defaults of framework APIs, or the versions of targets.

    Raises:
        DiagnosticError: CC107 if a backend does not load.
    """
    from crosscast.targets.backend import backend_names, load_backend
    from crosscast.targets.default_tables import default_rows
    from crosscast.targets.matrix import dialect_rows, matrix_rows

    check_choice("about", about, HIDDEN)
    backends = [load_backend(name) for name in backend_names()]
    rows: Sequence[Mapping[str, Any]]
    if about == "defaults":
        rows = default_rows(backends)
    elif about == "dialects":
        rows = dialect_rows(backends)
    else:
        rows = matrix_rows(backends)
    return Matrix(about=about, rows=tuple(rows))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Machine(Result):
    """Which frameworks are installed here and what they can run natively."""

    targets: tuple[Examination, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> Exit:
        """3 if no framework can run here."""
        return EXIT_OK if any(found.usable for found in self.targets) else EXIT_CANNOT_RUN

    @property
    def summary(self) -> str:
        """The frameworks that can run here."""
        usable = [f"{found.target} {found.version}" for found in self.targets if found.usable]
        return f"usable here: {', '.join(usable) or 'no framework'}"

    def _html(self) -> Iterator[str]:
        rows = [found.cells() for found in self.targets]
        yield html.table(MACHINE_COLUMNS, rows, long=("note",))


@public
def doctor() -> Machine:
    """Report which frameworks are installed here and what they can run natively.

    Every framework is examined in a process of its own.

    Raises:
        DiagnosticError: CC107 if a backend does not load.
    """
    from crosscast.targets.backend import load_backend, program_names
    from crosscast.targets.doctor import examine

    return Machine(targets=tuple(examine(load_backend(name)) for name in program_names()))


@public
def schema() -> dict[str, Any]:
    """Return the JSON Schema of recipes."""
    from crosscast.recipe.schema import recipe_schema

    return recipe_schema()


@public
def init(
    path: str | os.PathLike[str] = "recipe.yaml",
    *,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Files:
    """Return a commented starter recipe and the JSON Schema that editors use for completion.

    Args:
        path: name of the recipe's file.
        out: folder to write both to; without it, nothing is written.
        force: replace existing files.

    Raises:
        DiagnosticError: CC501 to CC503 if they cannot be written.
    """
    from crosscast.emit.render import template_root
    from crosscast.messages.output import OutputFile
    from crosscast.recipe.schema import schema_text

    starter = (template_root() / "_shared" / "starter.recipe.yaml").read_text(encoding="utf-8")
    texts = {Path(path).name: starter, "recipe-v1.json": schema_text()}
    files = Files({name: OutputFile(text) for name, text in texts.items()}, False)
    if out is not None:
        files.write(out, force=force)
    return files
