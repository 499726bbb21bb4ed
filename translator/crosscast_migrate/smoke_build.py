"""Builds the models of a program on request, where it cannot be run: past the data that it misses.

What its framework refuses then is among what a person must decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Diagnostic, Severity, Span
from crosscast.messages.missing_packages import package_missing
from crosscast.targets.backend import harness_of
from crosscast_migrate.executed_proof import Demand, MigratedFiles, limits_of, program_after
from crosscast_reading.lint.result import Result

if TYPE_CHECKING:
    from crosscast_parity.side_by_side.building import Built, BuiltPlace

REFUSED, NOT_TESTED = "CC984", "CC985"
_HINT = "nothing unknown took part: it fails like this wherever the program runs"


@dataclass(frozen=True, slots=True)
class SmokeBuild:
    """What came of building the models of a program."""

    built: Built
    places: tuple[Result, ...]
    """What the framework refused, with the names of the files that were read."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """A diagnostic if nothing was tested."""
        if self.built.outcome != "not tested":
            return ()
        message = f"no model was built: {self.built.wording}"
        return (Diagnostic(code=NOT_TESTED, severity=Severity.WARNING, message=message),)

    @property
    def words(self) -> str:
        """How much was built, as a part of a sentence."""
        built = self.built
        counts = [
            (len(built.models), "model", "built"),
            (len(built.steps), "step", "made"),
            (len(built.raises), "place", "refused"),
            (len(built.not_tested), "place", "NOT TESTED"),
        ]
        words = [f"{count} {what}{'s' * (count != 1)} {done}" for count, what, done in counts]
        chosen = [each for each in words if not each.startswith("0 ")]
        return ", ".join(chosen) or "no model built"

    @property
    def lines(self) -> Iterator[str]:
        """A line for everything that was built, or was not tested."""
        built = self.built
        for title, places in (("built", built.models), ("made", built.steps)):
            yield from (f"{title}: {place}" for place in places)
        yield from (f"NOT TESTED: {place}" for place in built.not_tested)
        if built.ended:
            yield f"NOT TESTED: what follows: {built.ended}"


def smoke_build(
    migrated: MigratedFiles, demand: Demand, on_run: Callable[[str], None]
) -> SmokeBuild:
    """Build the models of a program as a migration leaves it.

    Args:
        migrated: its files.
        demand: which script to execute, and the limits.
        on_run: called with the name of the run.

    Raises:
        DiagnosticError: CC970 for an invalid demand, CC001 for a missing script, CC401 if the
            harness is not installed.
    """
    try:
        from crosscast_parity.side_by_side.building import Built, build
    except ModuleNotFoundError as error:
        raise package_missing("building models needs", error) from None
    program = program_after(migrated, demand, "--build")
    if isinstance(program, tuple):
        return SmokeBuild(Built(ended=program[0]), ())
    on_run("build of the models")
    built = build(program, limits_of(demand))
    names = {file.path.resolve(): name for name, file in migrated.files.items()}
    texts = {name: file.source.text for name, file in migrated.files.items()} | {**migrated.texts}
    harness = harness_of(program.framework)
    hints = {} if harness is None else harness.refusal_hints

    def place(refused: BuiltPlace) -> Result:
        path = program.folder / refused.file
        name = names.get(path.resolve(), refused.file)
        text = texts[name] if name in texts else _text(path)
        line = next(iter(text.splitlines()[refused.line - 1 : refused.line]), "")
        start = len(line) - len(line.lstrip()) + 1
        known = (hint for pattern, hint in hints.items() if re.search(pattern, refused.words))
        return Result(
            code=REFUSED,
            severity=Severity.WARNING,
            message=f"the framework refuses this: {refused.words}",
            span=Span(name, refused.line, start, max(len(line), start) + 1, line),
            hint=next(known, _HINT),
        )

    return SmokeBuild(built, tuple(map(place, built.raises)))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
