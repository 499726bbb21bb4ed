"""Which lines of the emitted scripts carry which field, as a page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crosscast.api import html
from crosscast.api.calls import Texts, Words, named_versions, public, targets_of
from crosscast.api.parameters import VERSIONS, Parameter, targets
from crosscast.api.recipes import LoadedRecipe, RecipeLike
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_FINDINGS, EXIT_OK
from crosscast.messages.diagnostics import Diagnostic, failure
from crosscast.messages.unread import unread_parts

if TYPE_CHECKING:
    from crosscast.explore.subject import Side

_SIDES = 2


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Exploration(Result):
    """A page that shows which lines of the emitted scripts carry which field."""

    names: tuple[str, ...]
    """The recipes or runs on the page."""
    targets: tuple[str, ...]
    page: str
    """The page as HTML; it needs no other file."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Why some targets have no script, and what of the sources could not be read."""
    written: Path | None = None
    """The file that was written because of `out`."""

    @public
    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the page and return its path; an older page there is replaced.

        Args:
            path: the file; its folder is created if missing.
            force: overwrite a file that is not such a page.

        Raises:
            DiagnosticError: CC501 to CC503 if it cannot be written.
        """
        from crosscast.messages.output import OutputFile, write_files

        file = _checked(path)
        texts = {file.name: OutputFile(self.page)}
        write_files(file.parent, texts, force=force or _is_page(file), manifest=False)
        return file

    @property
    def exit_code(self) -> Exit:
        """1 if a target cannot express a recipe, or a part of the sources could not be read."""
        return EXIT_FINDINGS if self.diagnostics else EXIT_OK

    @property
    def summary(self) -> str:
        """What the page shows for which targets."""
        size = len(self.page.encode()) // 1000
        return f"{' and '.join(self.names)} for {', '.join(self.targets)}: a page of {size} kB"

    @property
    def _about(self) -> str:
        return f"{' and '.join(self.names)} for {', '.join(self.targets)}"

    @property
    def _next(self) -> str:
        where = self.written or "the page, which write() makes a file"
        return f"open {where} in a browser, and point at a field or a line"

    def _html(self) -> Iterator[str]:
        yield html.page(self.page, self.summary)


@public
def explore(
    paths: Annotated[
        RecipeLike | Sequence[RecipeLike],
        Parameter(
            "A recipe (or - for stdin), or a script or folder with one run; two are shown side by "
            "side.",
            "A [B]",
        ),
    ],
    to: Annotated[
        Words | None,
        targets(
            "Targets; default: all frameworks. Two dialects of one framework are shown side by "
            "side."
        ),
    ] = None,
    *,
    out: str | os.PathLike[str] | None = None,
    version: Annotated[Texts, VERSIONS] = (),
    force: Annotated[bool, Parameter("Overwrite a file that is not such a page.")] = False,
) -> Exploration:
    """Return a page that shows which lines of the emitted scripts carry which field.

    Args:
        out: File to write the page to; without it, nothing is written.

    Raises:
        DiagnosticError: something cannot be read or is not complete, no target can express a
            recipe, CC021 for more than two, CC501 to CC503 for the file.
    """
    from crosscast.explore.reading import side_at, side_of_recipe
    from crosscast.targets.backend import program_names

    given = [paths] if isinstance(paths, LoadedRecipe | str | os.PathLike) else [*paths]
    if not 1 <= len(given) <= _SIDES:
        message = f"{len(given)} recipes or scripts; a page shows one or two"
        hint = "with a script, those that it starts or imports are found beside it"
        raise failure("CC021", message, hint)
    if out is not None:
        _checked(out)
    targets = targets_of(to) if to else program_names()
    versions = named_versions(version)
    sides = [
        side_of_recipe(source.placed)
        if isinstance(source, LoadedRecipe)
        else side_at(os.fspath(source), targets, versions)
        for source in given
    ]
    return explored(sides, targets, out=out, force=force)


def explored(
    sides: Sequence[Side],
    targets: Sequence[str],
    *,
    out: str | os.PathLike[str] | None,
    force: bool,
) -> Exploration:
    """Return the page of one or two recipes, and write it if asked.

    Raises:
        DiagnosticError: no target can express a recipe; CC501 to CC503 for the file.
    """
    from crosscast.explore.page import explorer_page

    if out is not None:
        _checked(out)
    page = explorer_page(sides, targets)
    lost = [note for side in sides for note in side.notes if unread_parts([note])]
    exploration = Exploration(
        names=tuple(side.name for side in sides),
        targets=tuple(targets),
        page=page.text,
        diagnostics=(*page.refusals, *lost),
    )
    return (
        exploration
        if out is None
        else replace(exploration, written=exploration.write(out, force=force))
    )


def _checked(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that may be written.

    Raises:
        DiagnosticError: CC503.
    """
    file = Path(path)
    if not file.name or file.is_dir():
        named = os.fspath(path) or "an empty name"
        raise failure("CC503", f"-o needs a file, {named} is none")
    return file


def _is_page(path: Path) -> bool:
    """Whether a file is a page of the explorer."""
    from crosscast.explore.page import MADE

    if not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            return stream.read(len(MADE)) == MADE.encode()
    except OSError:
        return False
