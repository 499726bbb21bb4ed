"""The checks of a run on the toy: one for each level, from its comparison with the reference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe
from crosscast_parity.checks.check import Check, Result, windows
from crosscast_parity.checks.kinds import Level
from crosscast_parity.planning.runs import Stage
from crosscast_parity.toy.causes import likely_cause
from crosscast_parity.toy.compare import Difference, Report, Seen, compare
from crosscast_parity.toy.course import course_of
from crosscast_parity.toy.model import make_toy
from crosscast_parity.toy.running import read_seen

NAMES: Mapping[Level, str] = {"L0b": "trace of the toy", "L1b": "tensors of the toy"}
FOLDER, MAX_BYTES = "steps", 16 * 2**20


def checks_of(
    report: Report, rows: Sequence[Mapping[str, Any]], cause: str = ""
) -> Iterator[Check]:
    """Return one check for each level. What follows the first difference is not compared.

    `cause`: what explains the first difference, see `toy.causes`.
    """
    first = report.differences[0].window if report.differences else report.reached
    for level, name in NAMES.items():
        own = [difference for difference in report.differences if difference.level == level]
        result: Result = "unclear"
        if own:
            result, words = "fail", "; ".join(filter(None, (_first(own), cause)))
        elif report.differences:
            words = f"nothing up to window {first}, where more is compared no longer"
        elif report.undecided:
            words = f"equal up to window {first}, where one rounding decides about an overflow"
        elif report.beyond and level == "L1b":
            words = f"equal up to window {first}, whose infinite gradients nothing looks for"
        else:
            skipped = sum(bool(row["skipped"]) for row in rows)
            result, words = "pass", f"equal in {windows(len(rows))}, {skipped} of them overflowed"
        yield Check(
            level=level,
            name=name,
            result=result,
            wording=words,
            window=first if result == "fail" else None,
        )


def _first(differences: Sequence[Difference]) -> str:
    more = len(differences) - 1
    return str(differences[0]) + (f" (and {more} more in this window)" if more else "")


def check_steps(recipe: Recipe, stage: Stage, framework: str, folder: Path) -> tuple[Check, ...]:
    """Compare what a script left of the toy that it trained with the reference.

    Args:
        recipe: of the stage, that the script was compiled from.
        stage: which decides about the course of the toy.
        framework: of the script.
        folder: of the run, with the files of `inside.toy`; they are data from elsewhere.

    Raises:
        DiagnosticError: CC723 if they are malformed.
    """
    toy = make_toy(recipe, course_of(recipe, stage))
    try:
        seen = read_steps(folder)
        report = compare(canonical_plan(recipe), toy, seen, framework)
        cause = likely_cause(recipe, toy, seen, framework, report)
        return tuple(checks_of(report, seen.rows, cause))
    except (OSError, KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
        message = f"steps of the toy cannot be read: {error!r}"
        raise DiagnosticError(Diagnostic(code="CC723", message=message)) from None


def read_steps(folder: Path) -> Seen:
    """Read what a script left of the toy in the folder of its run.

    Raises:
        OSError, KeyError, TypeError, ValueError: it is not what `inside.toy` writes.
    """
    toy_folder = folder / FOLDER
    with (toy_folder / "steps.json").open("rb") as stream:
        answer = json.loads(stream.read(MAX_BYTES))
    return read_seen(toy_folder, answer)


def untested_steps(why: str) -> tuple[Check, ...]:
    """Return the checks of a program that could not be given the toy."""
    return tuple(
        Check(level=level, name=name, result="not tested", wording=why)
        for level, name in NAMES.items()
    )
