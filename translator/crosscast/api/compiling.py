"""Recipes to scripts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from crosscast.api import html
from crosscast.api.calls import Words, public, targets_of
from crosscast.api.files import Files, counted
from crosscast.api.parameters import ALLOW_FILL_IN, FORCE, RECIPE, STRICT, TARGETS, Parameter
from crosscast.api.recipes import LoadedRecipe, RecipeLike, loaded, shown
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_OK, cell_text
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.messages.screens import Part

if TYPE_CHECKING:
    from crosscast.targets.capability import Judgement

_LISTED = 3
"""Maximum number of files that are listed."""
RECIPE_FILE = "recipe.yaml"
"""The file among the compiled ones that holds the recipe."""


@dataclass(frozen=True, slots=True)
class FieldVerdict:
    """How a target implements a field of a recipe."""

    target: str
    field: str
    value: Any
    verdict: str
    """exact, adapted, approximate or unsupported."""
    code: str
    """Code of the diagnostic that explains it; empty for exact."""
    evidence: str
    how: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


VERDICTS = ("exact", "adapted", "approximate", "unsupported")
"""From the best to the worst."""
COLUMNS = ("target", "field", "verdict", "code", "value", "how")
LONG = ("value", "how")


def verdicts_of(target: str, judgements: Iterable[Judgement]) -> Iterator[FieldVerdict]:
    """Yield the verdict on every field."""
    for judgement in judgements:
        row = judgement.row
        yield FieldVerdict(
            target=target,
            field=judgement.path,
            value=_plain(judgement.value),
            verdict=str(row.verdict),
            code=row.code,
            evidence=str(row.evidence),
            how=row.how,
        )


def _plain(value: Any) -> Any:
    """Return the value of a field as JSON knows it."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def cells(verdicts: Iterable[FieldVerdict]) -> Iterator[list[str]]:
    """Yield the rows of a table of verdicts."""
    for verdict in verdicts:
        yield [cell_text(getattr(verdict, name)) for name in COLUMNS]


def verdict_tables(verdicts: tuple[FieldVerdict, ...]) -> Iterator[str]:
    """Yield the tables that a notebook shows of verdicts: first those that are not exact."""
    for title, some in (
        ("not exact", [v for v in verdicts if v.verdict != "exact"]),
        ("exact", [v for v in verdicts if v.verdict == "exact"]),
    ):
        if some:
            body = html.table(COLUMNS, cells(some), long=LONG)
            yield body if title == "not exact" else html.folded(f"{len(some)} {title}", body)


def counts(verdicts: Iterable[FieldVerdict]) -> str:
    """Return how many fields have which verdict."""
    verdict_words = [verdict.verdict for verdict in verdicts]
    return ", ".join(
        f"{verdict_words.count(word)} {word}" for word in VERDICTS if word in verdict_words
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Compilation(Result):
    """The scripts of a recipe, which are not on disk unless `out` was given."""

    recipe: LoadedRecipe
    targets: tuple[str, ...]
    files: Files
    """`recipe.yaml`, and a folder for every target."""
    verdicts: tuple[FieldVerdict, ...]
    """How every target implements every field."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings about the recipe, and what targets do not implement exactly."""
    written: tuple[Path, ...] = ()
    """The files that were written because of `out`."""

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> tuple[Path, ...]:
        """Write all files into a folder, or none; return their paths. See `Files.write`."""
        return self.files.write(folder, force=force)

    @property
    def exit_code(self) -> Exit:
        """Always 0: a recipe that a target cannot express is an error."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """The number of files, and the numbers of verdicts."""
        made = " written" if self.written else ""
        return f"{counted(len(self.files), 'file')}{made}; fields: {counts(self.verdicts)}"

    @property
    def _about(self) -> str:
        what = f"{self.recipe.source.name} ({self.recipe.name})"
        return f"{what} for {', '.join(self.targets)}"

    @property
    def _next(self) -> str:
        if not self.written:
            return "-o FOLDER (in Python: out) writes the files"
        if len(self.targets) > 1 and all(f"{t}/train.py" in self.files for t in self.targets):
            to = ",".join(self.targets)
            return f"crosscast parity {shown(self.recipe)} --to {to} -o FOLDER compares them"
        return f"crosscast explain {shown(self.recipe)} --to {','.join(self.targets)}"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        if all or len(self.written) <= _LISTED:
            yield "\n".join(map(str, self.written))
            return
        root = self.written[0].parents[len(Path(min(self.files)).parts) - 1]
        groups = Counter(PurePosixPath(path).parts[0] for path in self.files)
        yield "\n".join(
            f"{root / name}" if name in self.files else f"{root / name}: {counted(number, 'file')}"
            for name, number in sorted(groups.items())
        )

    def _html(self) -> Iterator[str]:
        yield from verdict_tables(self.verdicts)
        yield self.files._repr_html_()


@public
def compile(
    recipe: Annotated[RecipeLike, RECIPE],
    to: Annotated[Words, TARGETS],
    *,
    out: str | os.PathLike[str] | None = None,
    form: Annotated[
        Literal["script", "step"],
        Parameter("Emit a complete training script, or only the training step."),
    ] = "script",
    strict: Annotated[bool, STRICT] = False,
    allow_fill_in: Annotated[bool, ALLOW_FILL_IN] = False,
    force: Annotated[bool, FORCE] = False,
) -> Compilation:
    """Compile a recipe to training scripts or configurations, one folder per target.

    Args:
        out: Folder to write the files to; without it, nothing is written.

    Raises:
        DiagnosticError: the recipe is invalid, a target cannot express it, or the files cannot be
            written.
    """
    from crosscast.emit.compiler import compile_recipe
    from crosscast.messages.output import OutputFile
    from crosscast.recipe.fill_in import still_open

    targets = targets_of(to)
    if out is not None:
        check_folder(out)
    given = loaded(recipe)
    marks = given.placed.document.marks
    if marks and not allow_fill_in:
        raise DiagnosticError(*still_open(marks))
    try:
        compiled = compile_recipe(given.fields, targets, form=form, strict=strict)
    except DiagnosticError as error:
        raise given.placed.placed(error) from None
    files = {RECIPE_FILE: OutputFile(given.text)}
    verdicts: list[FieldVerdict] = []
    for built in compiled:
        files |= {f"{built.target.folder}/{path}": file for path, file in built.files.items()}
        verdicts += verdicts_of(built.target.name, built.judgements)
    made = Files(files)
    return Compilation(
        recipe=given,
        targets=tuple(targets),
        files=made,
        verdicts=tuple(verdicts),
        diagnostics=(*given.diagnostics, *(d for built in compiled for d in built.diagnostics)),
        written=made.write(out, force=force) if out is not None else (),
    )


def check_folder(out: str | os.PathLike[str]) -> None:
    """Refuse a folder without a name.

    Raises:
        DiagnosticError: CC503.
    """
    if not os.fspath(out):
        message = "-o needs a folder; use . for the current one"
        raise DiagnosticError(Diagnostic(code="CC503", message=message))
