"""How targets implement a recipe, and what the training step of a script does."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from crosscast.api import html
from crosscast.api.calls import Words, public, targets_of, words_of
from crosscast.api.compiling import (
    COLUMNS,
    LONG,
    VERDICTS,
    FieldVerdict,
    cells,
    counts,
    verdict_tables,
    verdicts_of,
)
from crosscast.api.files import counted
from crosscast.api.parameters import FIELDS, ONLY, STRICT, Parameter, targets
from crosscast.api.recipes import LoadedRecipe, RecipeLike, loaded, shown
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_FINDINGS, EXIT_OK
from crosscast.messages.diagnostics import Diagnostic, Severity, failure
from crosscast.messages.screens import Part, Table
from crosscast.targets.choice import Only

if TYPE_CHECKING:
    from crosscast.plan.operations import Plan
    from crosscast_reading.lift.explanation import StepBesidePlan


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Result):
    """Verdicts on a recipe, or the training steps of a program beside the neutral one."""

    verdicts: tuple[FieldVerdict, ...] = ()
    """How every target implements every field of a recipe; empty for a program."""
    steps: tuple[StepBesidePlan, ...] = ()
    """The training steps of a program; empty for a recipe."""
    plan: Plan | None = None
    """The neutral training step of a program; None for a recipe."""
    strict: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()

    _about: str = ""
    _chosen: str = ""
    _recipe: str = ""
    _targets: tuple[str, ...] = ()
    _asked: bool = True

    @property
    def exit_code(self) -> Exit:
        """1 if a field is unsupported (if `strict`: not exact), or a program has errors.

        Where no targets were asked for, one that can express the recipe is enough.
        """
        failed = any(diagnostic.severity is Severity.ERROR for diagnostic in self.diagnostics)
        below = {"unsupported"} | ({"adapted", "approximate"} if self.strict else set())
        refused = any(verdict.verdict in below for verdict in self.verdicts)
        if refused and not (self._asked or self.strict):
            refused = not self._possible
        return EXIT_FINDINGS if failed or refused else EXIT_OK

    @property
    def _possible(self) -> tuple[str, ...]:
        """The targets that can express all fields."""
        refusing = {verdict.target for verdict in self.verdicts if verdict.verdict == "unsupported"}
        return tuple(target for target in self._targets if target not in refusing)

    @property
    def summary(self) -> str:
        """What the targets can do, and the numbers of verdicts; or how much of a step was found."""
        if self.plan is not None:
            steps = f"{counted(len(self.steps), 'training step')} beside the neutral one"
            rows = (row for step in self.steps for row in step.rows)
            missing = dict.fromkeys(part for _, part, program, *_ in rows if program == "-")
            return f"{steps}; not found: {', '.join(missing)}" if missing else steps
        if not self.verdicts:
            return "no field of this recipe matches"
        if self._chosen:
            return f"fields: {counts(self.verdicts)}"
        for verdict, words in (("unsupported", "not possible"), ("approximate", "approximate")):
            targets = dict.fromkeys(v.target for v in self.verdicts if v.verdict == verdict)
            if targets:
                return f"{words} on {', '.join(targets)}; fields: {counts(self.verdicts)}"
        return f"every target does what the recipe says; fields: {counts(self.verdicts)}"

    @property
    def _next(self) -> str:
        if self.plan is not None:
            return f"crosscast lint {self._recipe} says whether the step has a mistake"
        if not self.ok:
            return "change the fields below, or choose other targets"
        if any(verdict.verdict == "approximate" for verdict in self.verdicts):
            return "read below what differs; --strict refuses what is not exact"
        return f"crosscast compile {self._recipe} --to {','.join(self._possible)} -o FOLDER"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        for step in self.steps:
            from crosscast_reading.lift.plan_comparison import COLUMNS as STEP_COLUMNS

            title = f"== {step.function or 'module level'}"
            yield Table(STEP_COLUMNS, step.rows, long=("how",), title=title)
        if not self._chosen and self.verdicts:
            yield Table(("target", *VERDICTS), [*_numbers(self._targets, self.verdicts)])
        every = all or bool(self._chosen)
        rows = [verdict for verdict in self.verdicts if every or verdict.verdict != "exact"]
        if rows:
            yield Table(COLUMNS, [*_said_once(cells(rows))], long=LONG)
        if hidden := len(self.verdicts) - len(rows):
            yield f"exact: {counted(hidden, 'field')}; --all shows every row."

    def _html(self) -> Iterator[str]:
        yield from verdict_tables(self.verdicts)
        if self.steps:
            from crosscast_reading.lift.plan_comparison import COLUMNS as STEP_COLUMNS

            for step in self.steps:
                yield html.paragraph(step.function or "module level")
                yield html.table(STEP_COLUMNS, step.rows, long=("how",))


def _said_once(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield rows without what the one before says already of how a target does it."""
    before: list[str] = []
    how = COLUMNS.index("how")
    for row in rows:
        same = [row[0], *row[how:]]
        yield [*row[:how], "" if same == before else row[how], *row[how + 1 :]]
        before = same


def _numbers(targets: Sequence[str], verdicts: Sequence[FieldVerdict]) -> Iterator[tuple[str, ...]]:
    """Yield every target with the number of fields of each verdict."""
    numbers = Counter((verdict.target, verdict.verdict) for verdict in verdicts)
    for target in targets:
        yield target, *(str(numbers[target, verdict]) for verdict in VERDICTS)


@public
def explain(
    source: Annotated[
        RecipeLike,
        Parameter("A recipe (or - for stdin), a script or a launch script.", "FILE"),
    ],
    to: Annotated[Words | None, targets("Targets; default: all frameworks.")] = None,
    *,
    only: Annotated[Only | None, ONLY] = None,
    field: Annotated[Words | None, FIELDS] = None,
    strict: Annotated[bool, STRICT] = False,
) -> Explanation:
    """Explain how targets implement a recipe, or show the training step of a script.

    `only` and `field` choose fields of a recipe; `below-exact` is all but exact. With `strict`,
    every verdict below exact counts as a finding.

    Raises:
        DiagnosticError: the file cannot be read, the recipe is invalid, or nothing trains there;
            CC028 for an unknown field.
    """
    from crosscast.targets.choice import check_fields, chosen_words, is_about, is_chosen

    fields = words_of(field)
    check_fields(fields)
    if not isinstance(source, LoadedRecipe):
        from crosscast_reading.lift.programs import is_program

        path = os.fspath(source)
        if is_program(path):
            if only or fields:
                raise failure("CC016", "--only and --field choose fields of a recipe")
            from crosscast_reading.lift.explanation import program_steps

            program = program_steps(path)
            return Explanation(
                steps=program.steps,
                plan=program.plan,
                diagnostics=program.diagnostics,
                _about=path,
                _recipe=shlex.quote(path),
            )
    from crosscast.targets.backend import find_target, program_names
    from crosscast.targets.capability import judge

    recipe = loaded(source)
    targets = targets_of(to) if to else program_names()
    verdicts = [
        verdict
        for name in targets
        for verdict in verdicts_of(name, judge(recipe.fields, find_target(name).rows))
        if is_chosen(verdict.verdict, only) and is_about(verdict.field, fields)
    ]
    chosen = chosen_words(only, fields)
    what = f"{recipe.source.name} ({recipe.name}) on {', '.join(targets)}"
    return Explanation(
        verdicts=tuple(verdicts),
        strict=strict,
        diagnostics=recipe.open,
        _about=f"{what}; {chosen}" if chosen else what,
        _chosen=chosen,
        _recipe=shown(recipe),
        _targets=tuple(targets),
        _asked=bool(to),
    )
