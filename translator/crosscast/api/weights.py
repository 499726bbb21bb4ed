"""Which weight of one framework's model is which of another's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from crosscast.api import html
from crosscast.api.calls import Texts, Words, public, targets_of, texts_of
from crosscast.api.parameters import INTERPRETERS, RECIPE, Parameter, targets
from crosscast.api.recipes import RecipeLike, folder_of, loaded
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import exit_code as exit_code_of
from crosscast.messages.diagnostics import Diagnostic, failure
from crosscast.messages.missing_packages import package_missing
from crosscast.messages.screens import Part, Table

if TYPE_CHECKING:
    from crosscast.weights.document import WeightsMap
    from crosscast_parity.weights.command import Request
    from crosscast_parity.weights.proof import Proof
    from crosscast_parity.weights.search import Found

COLUMNS = ("framework", "tensors", "matched", "how")

ROWS = Parameter("Rows for the models; default: those of the recipe.", "FILE.npz")
TIMEOUT = Parameter("Time limit of a step of a process in seconds.", positive=True)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Weights(Result):
    """A map of weights, with its proof: the models were run with the same weights."""

    known: WeightsMap
    """The map."""
    proof: Proof
    found: Found | None = None
    """What a search found; None if a map was checked."""
    diagnostics: tuple[Diagnostic, ...]

    @property
    def text(self) -> str:
        """The map as YAML."""
        from crosscast.weights.writer import text_of

        return text_of(self.known)

    @public
    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the map; return the path.

        Raises:
            DiagnosticError: CC501 if the file exists, CC502 if it cannot be written.
        """
        from crosscast.messages.output import OutputFile, write_files

        place = check_new(path, force=force)
        files = {place.name: OutputFile(self.text)}
        write_files(place.parent, files, force=force, manifest=False)
        return place

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """How many tensors of which framework were matched, and how; empty for a check."""
        from crosscast_parity.weights.report import table

        return table(self.found) if self.found else []

    @property
    def exit_code(self) -> Exit:
        """0 if every weight has its counterpart and that is proven."""
        return exit_code_of(self.diagnostics)

    @property
    def summary(self) -> str:
        """How many tensors were proved."""
        return self._lines[0]

    @property
    def _lines(self) -> list[str]:
        from crosscast_parity.weights.report import summary

        return [*summary(self.known, self.proof)]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        from crosscast_parity.weights.report import as_json

        return as_json(self.known, self.proof, [*self.diagnostics], self.found)

    @property
    def _about(self) -> str:
        return f"the weights of {', '.join(self.known.frameworks)}"

    @property
    def _next(self) -> str:
        if self.ok:
            return "crosscast parity compares the models with these weights"
        return "edit the map and run crosscast weights check"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        if self.found:
            yield Table(COLUMNS, self.rows, long=("how",))
        if differences := self._lines[1:]:
            yield "\n".join(differences)

    def _html(self) -> Iterator[str]:
        if self.found:
            yield html.table(COLUMNS, self.rows, long=("how",))
        yield html.folded("the map", html.pre(self.text))


def check_new(path: str | os.PathLike[str], *, force: bool) -> Path:
    """Return a path as one that may be written.

    Raises:
        DiagnosticError: CC501 if there is such a file.
    """
    place = Path(path)
    if place.exists() and not force:
        raise failure("CC501", f"{place} exists", "use --force, or -o FILE")
    return place


@public
def weights_match(
    recipe: Annotated[RecipeLike, RECIPE],
    to: Annotated[
        Words | None, targets("Targets; default: all that have a factory in the recipe.")
    ] = None,
    *,
    out: str | os.PathLike[str] | None = None,
    rows: Annotated[str | os.PathLike[str] | None, ROWS] = None,
    force: Annotated[bool, Parameter("Overwrite an existing file.")] = False,
    python: Annotated[Texts, INTERPRETERS] = (),
    timeout: Annotated[float, TIMEOUT] = 300.0,
) -> Weights:
    """Match the weights of a recipe's models (`model.kind: custom`), proven by running them.

    Args:
        out: File to write the map to; without it, nothing is written.

    Raises:
        DiagnosticError: the recipe, its models or an argument are invalid, a requirement is
            missing, or the file exists.
    """
    request = _request(recipe, to, rows, python, timeout)
    from crosscast_parity.weights.command import match
    from crosscast_parity.weights.report import found_problems

    if out is not None:
        check_new(out, force=force)
    search = match(request)
    weights = Weights(
        known=search.known,
        proof=search.proof,
        found=search,
        diagnostics=tuple(found_problems(search)),
    )
    if out is not None:
        weights.write(out, force=force)
    return weights


@public
def weights_check(
    recipe: Annotated[RecipeLike, RECIPE],
    weights: Annotated[
        str | os.PathLike[str],
        Parameter("Default: weights.yaml beside the recipe.", "FILE", ("--weights",)),
    ] = "",
    to: Annotated[Words | None, targets("Versions of the frameworks in the file.")] = None,
    *,
    rows: Annotated[str | os.PathLike[str] | None, ROWS] = None,
    python: Annotated[Texts, INTERPRETERS] = (),
    timeout: Annotated[float, TIMEOUT] = 300.0,
) -> Weights:
    """Check a map of weights, such as an edited one, on the models, and prove it again.

    Raises:
        DiagnosticError: the recipe, its models, the map or an argument are invalid, or a
            requirement is missing.
    """
    request = _request(recipe, to, rows, python, timeout)
    from crosscast.weights.document import NAME
    from crosscast_parity.weights.command import check
    from crosscast_parity.weights.report import problems

    checked = check(request, os.fspath(weights) or str(request.folder / NAME))
    diagnostics = problems(checked.known, checked.proof, corrections=checked.corrections)
    return Weights(known=checked.known, proof=checked.proof, diagnostics=tuple(diagnostics))


def _request(
    recipe: RecipeLike,
    to: Words | None,
    rows: str | os.PathLike[str] | None,
    python: Sequence[str],
    timeout: float,
) -> Request:
    targets = targets_of(to) if to else []
    given = loaded(recipe).fields
    try:
        from crosscast_parity.planning.options import read_interpreters
        from crosscast_parity.weights.command import Request, targets_of_models
    except ModuleNotFoundError as error:
        raise package_missing("matching weights needs", error) from None
    request = Request(
        recipe=given,
        folder=folder_of(recipe),
        targets=targets,
        rows=Path(rows) if rows is not None else None,
        timeout=timeout,
    )
    interpreters = read_interpreters(texts_of(python), targets_of_models(request))
    return replace(request, python=interpreters)
