"""Check the scaling law of a recipe for several targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.recipe.document import Recipe
from crosscast_parity.checks.check import windows
from crosscast_parity.processes.process import Outcome
from crosscast_parity.scaling_law.judgement import Judge
from crosscast_parity.scaling_law.problems import TWINS, refuse
from crosscast_parity.scaling_law.recipes import Subject
from crosscast_parity.scaling_law.report import (
    ScalingReport,
    ScalingVerdict,
    ShapeReport,
    TargetReport,
)
from crosscast_parity.scaling_law.runs import Maker, Settings, shapes_together
from crosscast_parity.scaling_law.scenes import scenes_of

EXIT_EQUAL, EXIT_DIFFERENT, EXIT_CANNOT_RUN = 0, 1, 3
UNTESTED = {"CC401": "cannot run here", "CC749": "not the same by design"}
"""Codes of inputs that cannot be made, and what they mean for a target."""
LEAST = 4
"""Windows that must be compared before anybody speaks of equality."""


def check_scaling(
    recipe: Recipe,
    subject: Subject,
    targets: Sequence[str],
    settings: Settings,
    pythons: Mapping[str, str],
) -> ScalingReport:
    """Run a recipe in all shapes on every target and compare.

    Args:
        recipe: of the user.
        subject: what is run.
        targets: to compile to.
        settings: how runs are made; every target gets a folder of its own below its folder.
        pythons: interpreters by target, where they are others.

    Raises:
        DiagnosticError: a target cannot express a shape, or nothing can be written (CC708).
    """
    reports = []
    try:
        for target in targets:
            folder = settings.folder / target.replace("@", "-")
            folder.mkdir(parents=True)
            own = replace(settings, folder=folder, python=pythons.get(target, settings.python))
            reports.append(check_target(subject, target, own))
    except OSError as error:
        message = f"{error.filename or settings.folder}: {error.strerror or error}"
        raise DiagnosticError(Diagnostic(code="CC708", message=message)) from None
    return ScalingReport(name=recipe.name, subject=subject, targets=tuple(reports))


def exit_code(report: ScalingReport) -> int:
    """Return 0 if all are equal, 3 if one could not be run here, else 1."""
    verdicts = {target.verdict for target in report.targets}
    if verdicts & {"DIFFERENT", "INCONCLUSIVE", "ERROR"}:
        return EXIT_DIFFERENT
    return EXIT_CANNOT_RUN if "NOT TESTED" in verdicts else EXIT_EQUAL


def check_target(subject: Subject, target: str, settings: Settings) -> TargetReport:
    """Make all runs of a target and compare them.

    Raises:
        DiagnosticError: as `check_scaling`.
    """
    maker = Maker(subject, target, settings)
    try:
        maker.compile()
    except DiagnosticError as error:
        return _refused(target, error)
    try:
        maker.write_inputs()
    except DiagnosticError as error:
        first = error.diagnostics[0]
        if first.code not in UNTESTED:
            raise
        words = f"{UNTESTED[first.code]}: {first.message} ({first.code})"
        return TargetReport(target=target, verdict="NOT TESTED", wording=words, code=first.code)
    scenes = scenes_of(subject)
    half = maker.execution if maker.half else ""
    alone = maker.alone(scenes)
    broken = next((pair for pair in alone.items() if not pair[1].outcome.complete), None)
    if broken:
        return _unable(target, f"run {broken[0]}", broken[1].outcome, half)
    judge = Judge(subject, maker.inputs, alone, scenes)
    runs: list[ShapeReport] = []
    for scene in scenes:
        for shape in subject.shapes[1:]:
            if shape.processes == 1:
                runs.append(judge.report(scene, shape, alone[f"{scene.name}-{shape.name}"]))
        for shape in shapes_together(scene, subject):
            shape_run = maker.together(scene, shape)
            if shape_run.outcome.kind == "cannot_run":
                return _unable(target, str(shape), shape_run.outcome, half)
            runs.append(judge.report(scene, shape, shape_run))
    verdict, words = _conclude(runs, judge.horizon, subject, half)
    return TargetReport(
        target=target,
        verdict=verdict,
        wording=words,
        half=half,
        horizon=judge.horizon,
        runs=tuple(runs),
    )


def _refused(target: str, error: DiagnosticError) -> TargetReport:
    """Return the report on a target that cannot express a shape."""
    first = next(
        (diagnostic for diagnostic in error.diagnostics if diagnostic.severity is Severity.ERROR),
        error.diagnostics[0],
    )
    words = f"cannot be compiled: {first.code}: {first.path or 'recipe'}: {first.message}"
    return TargetReport(target=target, verdict="NOT TESTED", wording=words, code=first.code)


def _unable(target: str, run_title: str, outcome: Outcome, half: str) -> TargetReport:
    """Return the report on a target of which a run came to no end.

    Raises:
        KeyboardInterrupt: the run was interrupted.
    """
    if outcome.kind == "interrupted":
        raise KeyboardInterrupt
    if outcome.kind == "cannot_run":
        missing = outcome.message.startswith("the Python package")
        words = f"cannot run here: {outcome.message}"
        return TargetReport(
            target=target,
            verdict="NOT TESTED",
            wording=words,
            code="CC401" if missing else "",
            half=half,
        )
    words = f"{run_title}: {ended(outcome)}"
    return TargetReport(target=target, verdict="ERROR", wording=words, half=half)


def ended(outcome: Outcome) -> str:
    """Say how a run ended that came to no end of its own, with the last line of its log."""
    last = outcome.log_tail.strip().rpartition("\n")[2][:200]
    words = f"{outcome.kind}: {outcome.message or 'no message'}"
    return words + (f"; {last}" if last and last not in words else "")


def _conclude(
    runs: Sequence[ShapeReport], horizon: int, subject: Subject, half: str
) -> tuple[ScalingVerdict, str]:
    for run in runs:
        if run.failed:
            check = run.failed[0]
            where = f"{run.scene}, {run.shape}"
            crashed = run.outcome.kind == "failed"
            if crashed and all(check.name == "end" for check in run.failed):
                return "ERROR", f"{where}: {ended(run.outcome)}"
            return "DIFFERENT", f"{where}: {check.name}: {check.wording}"
    if horizon < LEAST:
        words = (
            f"rounding alone separates the runs after {windows(horizon)}: lower the learning rate"
        )
        return "INCONCLUSIVE", words
    unclear = [check for run in runs for check in run.checks if check.result == "unclear"]
    if unclear:
        return "INCONCLUSIVE", f"{unclear[0].name}: {unclear[0].wording}"
    dtype = subject.recipe.precision.compute_dtype
    sentence = f"equal within the rounding of {dtype}" + (f" ({half})" if half else "")
    if horizon < subject.windows:
        sentence += f", compared over {windows(horizon)}"
    return "EQUAL", f"{sentence}; limits from {TWINS} runs with perturbed weights"


def place(folder: Path) -> Path:
    """Return the folder for the runs, which must be new or empty.

    Raises:
        DiagnosticError: CC748 if it is not, CC708 if it cannot be read or made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        message = f"{folder}: {error.strerror or error}"
        raise DiagnosticError(Diagnostic(code="CC708", message=message)) from None
    if taken:
        raise refuse(f"{folder} is not empty", "name a new folder with --output")
    return folder.absolute()
