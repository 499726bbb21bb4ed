"""What targets support, what this machine runs, and how to start a recipe."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from crosscast.api import html
from crosscast.api.calls import Words, public, targets_of, words_of
from crosscast.api.compiling import VERDICTS
from crosscast.api.files import Files, counted
from crosscast.api.parameters import FIELDS, ONLY, Parameter, targets
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_CANNOT_RUN, EXIT_OK, cell_text
from crosscast.messages.diagnostics import Diagnostic, failure
from crosscast.messages.screens import Part, Table
from crosscast.targets.choice import Only

if TYPE_CHECKING:
    from crosscast.targets.doctor import Examination

About = Literal["fields", "defaults", "dialects"]
HIDDEN = {
    "fields": {"when", "probe"},
    "defaults": {"kind", "measured", "source", "note"},
    "dialects": set[str](),
}
"""Columns that only JSON has."""
_NOUNS = {"fields": "field", "defaults": "default value", "dialects": "version"}
MACHINE_COLUMNS = ("target", "version", "devices", "float32", "bfloat16", "float16", "note")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Matrix(Result):
    """What every target supports."""

    about: About
    rows: tuple[Mapping[str, Any], ...]
    """Every row, by the names of what it says."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def markdown(self) -> str:
        """A page about it; that of the fields holds the dialects."""
        from crosscast.targets.backend import backend_names, load_backend
        from crosscast.targets.default_tables import defaults_page
        from crosscast.targets.matrix import markdown_page

        page = defaults_page if self.about == "defaults" else markdown_page
        return page([load_backend(name) for name in backend_names()])

    _chosen: str = ""
    _targets: tuple[str, ...] = ()

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
        """The number of rows, of fields by their verdicts."""
        if self.about != "fields":
            return counted(len(self.rows), _NOUNS[self.about])
        rows = counted(len(self.rows), "row")
        numbers = Counter(row["verdict"] for row in self.rows)
        words = ", ".join(f"{numbers[name]} {name}" for name in VERDICTS if numbers[name])
        return f"{rows}: {words}" if words else "no row matches"

    @property
    def _about(self) -> str:
        whose = ", ".join(self._targets) or "all targets"
        what = {"fields": "fields of recipes on"}.get(self.about, f"{_NOUNS[self.about]}s of")
        return f"{what} {whose}{self._chosen and f'; {self._chosen}'}"

    @property
    def _next(self) -> str:
        if self.about == "defaults":
            return "crosscast lift SCRIPT says which of them a script relies on"
        return "crosscast explain RECIPE says what targets do with your recipe"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        from crosscast.targets.backend import find_target
        from crosscast.targets.matrix import target_rows
        from crosscast.targets.matrix_screens import default_parts, dialect_parts, field_parts

        if self.about == "dialects":
            yield from dialect_parts(self.rows)
        elif self.about == "defaults":
            yield from default_parts(self.rows, all=all or bool(self._targets))
        elif all or self._chosen or self._targets:
            yield from field_parts(self.rows, reasons=True, exact=all or bool(self._chosen))
        else:
            names = dict.fromkeys(row["target"] for row in self.rows)
            first = [row for name in names for row in target_rows(find_target(name))]
            yield from field_parts(first, reasons=False, exact=False)

    def _html(self) -> Iterator[str]:
        if self.rows:
            yield html.table(self.columns, self.cells, long=("how",))


@public
def matrix(
    about: Annotated[
        About,
        Parameter(
            "The fields of recipes, the defaults of framework APIs, or the targets' versions."
        ),
    ] = "fields",
    to: Annotated[Words | None, targets("Targets; default: all.")] = None,
    *,
    only: Annotated[Only | None, ONLY] = None,
    field: Annotated[Words | None, FIELDS] = None,
) -> Matrix:
    """Return the table of what every target supports.

    `only` and `field` choose rows about fields; `below-exact` is all but exact. The rows of a
    section above a field are about it too.

    Raises:
        DiagnosticError: CC106 to CC108 for a target, CC028 for an unknown field, CC016 for a
            question that the defaults and the versions do not answer.
    """
    from crosscast.targets.backend import backend_names, find_target, load_backend
    from crosscast.targets.choice import check_fields, chosen_words, is_about, is_chosen
    from crosscast.targets.default_tables import default_rows
    from crosscast.targets.matrix import dialect_rows, matrix_rows, target_rows

    fields = words_of(field)
    if about != "fields" and (only or fields):
        raise failure("CC016", f"--only and --field choose rows about fields, not about {about}")
    names = targets_of(to) if to else []
    backends = [load_backend(name) for name in backend_names()]
    mine = [backend for backend in backends if _is_named(backend.name, names)]
    rows: Sequence[Mapping[str, Any]]
    if about == "defaults":
        rows = default_rows(backends)
        rows = [row for row in rows if not names or _is_named(row["target"], names)]
    elif about == "dialects":
        rows = dialect_rows(mine)
    else:
        check_fields(fields, (row.path for backend in backends for row in backend.rows))
        whole = [row for name in names for row in target_rows(find_target(name))]
        rows = [
            row
            for row in (whole if names else matrix_rows(backends))
            if is_chosen(row["verdict"], only) and is_about(row["field"], fields, above=True)
        ]
    return Matrix(
        about=about, rows=tuple(rows), _chosen=chosen_words(only, fields), _targets=tuple(names)
    )


def _is_named(backend: str, targets: Sequence[str]) -> bool:
    return not targets or backend in {name.partition("@")[0] for name in targets}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Machine(Result):
    """Which frameworks are installed here and what they can run natively."""

    targets: tuple[Examination, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> Exit:
        """3 if no framework can run here."""
        return EXIT_OK if any(framework.usable for framework in self.targets) else EXIT_CANNOT_RUN

    @property
    def summary(self) -> str:
        """The frameworks that can run here."""
        usable = [
            f"{framework.target} {framework.version}"
            for framework in self.targets
            if framework.usable
        ]
        return f"usable here: {', '.join(usable) or 'no framework'}"

    @property
    def _about(self) -> str:
        return "the frameworks that are installed here"

    @property
    def _next(self) -> str:
        usable = [framework.target for framework in self.targets if framework.usable]
        if not usable:
            return "install a framework, such as crosscast[torch]"
        return f"crosscast compile RECIPE --to {','.join(usable)} -o FOLDER"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        rows = [framework.cells() for framework in self.targets]
        yield Table(MACHINE_COLUMNS, rows, long=("note",))

    def _html(self) -> Iterator[str]:
        rows = [framework.cells() for framework in self.targets]
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
def schema(
    *,
    version: Annotated[int, Parameter("Version of recipes.", least=1, most=2)] = 2,
) -> dict[str, Any]:
    """Return the JSON Schema of recipes of a version."""
    from crosscast.recipe.schema import recipe_schema

    return recipe_schema(version)


@public
def init(
    path: str | os.PathLike[str] = "recipe.yaml",
    *,
    out: str | os.PathLike[str] | None = None,
    force: Annotated[bool, Parameter("Replace existing files.")] = False,
) -> Files:
    """Return a commented starter recipe and the JSON Schema that editors use for completion.

    Args:
        path: Name of the recipe's file.
        out: Folder to write both to; without it, nothing is written.

    Raises:
        DiagnosticError: CC501 to CC503 if they cannot be written.
    """
    from crosscast.emit.render import template_root
    from crosscast.messages.output import OutputFile
    from crosscast.recipe.document import VERSION
    from crosscast.recipe.schema import schema_text

    starter = (template_root() / "_shared" / "starter.recipe.yaml").read_text(encoding="utf-8")
    texts = {Path(path).name: starter, f"recipe-v{VERSION}.json": schema_text(VERSION)}
    files = Files({name: OutputFile(text) for name, text in texts.items()}, False)
    if out is not None:
        files.write(out, force=force)
    return files
