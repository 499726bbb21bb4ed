"""`crosscast lift ... --run`: hold what was read against a run of the program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from crosscast.messages.console import (
    EXIT_CANNOT_RUN,
    EXIT_FINDINGS,
    EXIT_OK,
    exit_code,
    print_diagnostics,
    print_json,
    print_table,
)
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from crosscast.lift.drafting import Lifted
    from crosscast.lift.report import Report
    from crosscast.lift.run_proof import Demand, RunProof

COLUMNS = ("field", "value", "run", "evidence")


def lift_and_run(
    paths: Sequence[str],
    demand: Demand,
    *,
    versions: Mapping[str, str],
    correct: bool,
    json: bool,
    write: Callable[[Report], None] | None,
) -> int:
    """Read one run, execute its program, and print what that says of every field.

    Args:
        paths: the sources.
        demand: what to execute.
        versions: package to version.
        correct: whether the recipe gets the values that fit.
        json: print JSON.
        write: writes the recipe; None prints a table.

    Raises:
        DiagnosticError: the demand is invalid, or a requirement is missing.
    """
    from crosscast.lift.report import as_json, report
    from crosscast.lift.run_proof import prove_by_run, run_diagnostics, run_json

    lifted, problems = _one(paths, versions)
    proof = prove_by_run(lifted, demand, _on_run)
    written = proof.corrected if correct else lifted
    found = [*problems, *lifted.diagnostics, *run_diagnostics(proof, corrected=correct)]
    if json:
        data = {**as_json(written), "run": run_json(proof)}
        problems_ = [problem.to_json() for problem in problems]
        print_json({"version": 1, "groups": [data], "diagnostics": problems_})
    if proof.printed:
        _print_of_program(proof)
    if write:
        write(report(written))
    elif not json:
        _show(proof)
    if not json:
        print_diagnostics(found)
        _print_verdict(proof)
    if code := exit_code(found):
        return code
    if proof.problem:
        return EXIT_CANNOT_RUN
    return EXIT_FINDINGS if proof.unexplained else EXIT_OK


def _one(paths: Sequence[str], versions: Mapping[str, str]) -> tuple[Lifted, list[Diagnostic]]:
    """Return the only run that paths name."""
    from crosscast.lift.analysis import analyse
    from crosscast.lift.batch import groups_of, read_sources
    from crosscast.lift.drafting import lift

    sources, problems = read_sources(paths)
    found = [lift(analyse(members, versions)) for members in groups_of(sources, paths)]
    trains = [lifted for lifted in found if lifted.text] or found
    if len(trains) != 1:
        message = f"--run needs one run, but {len(trains)} were found"
        hint = "name the files of one run"
        raise DiagnosticError(*problems, Diagnostic(code="CC919", message=message, hint=hint))
    others = [d for lifted in found if lifted is not trains[0] for d in lifted.diagnostics]
    return trains[0], [*problems, *others]


def _on_run(name: str) -> None:
    """Print the current run on a terminal."""
    if sys.stderr.isatty():
        print(f"running the {name}", file=sys.stderr)


def _print_of_program(proof: RunProof) -> None:
    """Print the end of what the user's program printed, as the program's own words."""
    print(f"--- {proof.command} printed:", file=sys.stderr)
    print(proof.printed, file=sys.stderr)
    print("---", file=sys.stderr)


def _show(proof: RunProof) -> None:
    from crosscast.lift.run_proof import run_cells

    if proof.fields:
        print_table(COLUMNS, list(run_cells(proof)), long=("evidence",))


def _print_verdict(proof: RunProof) -> None:
    if proof.where:
        print(f"ran: {proof.command} ({proof.where})", file=sys.stderr)
    print(f"{proof.sentence}", file=sys.stderr)
    for note in proof.notes:
        print(f"  {note}", file=sys.stderr)
