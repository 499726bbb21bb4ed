"""Check the scaling law of a recipe on targets: make the runs, compare, judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from crosscast.diagnostics import Diagnostic, DiagnosticError
from crosscast.recipe import Recipe
from crosscast_parity.checks import windows
from crosscast_parity.process import Outcome
from crosscast_parity.scaling_law.course import scenes_of
from crosscast_parity.scaling_law.judging import Judge
from crosscast_parity.scaling_law.recipes import Subject
from crosscast_parity.scaling_law.report import ScalingReport, ShapeReport, TargetReport, Verdict
from crosscast_parity.scaling_law.runs import (
    TWINS,
    Maker,
    Settings,
    shapes_together,
)

EXIT_EQUAL, EXIT_DIFFERENT, EXIT_CANNOT_RUN = 0, 1, 3
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
    found = []
    try:
        for target in targets:
            folder = settings.folder / target.replace("@", "-")
            folder.mkdir(parents=True)
            own = replace(settings, folder=folder, python=pythons.get(target, settings.python))
            found.append(check_target(subject, target, own))
    except OSError as error:
        message = f"{error.filename or settings.folder}: {error.strerror or error}"
        raise DiagnosticError(Diagnostic(code="CC708", message=message)) from None
    return ScalingReport(name=recipe.name, subject=subject, targets=tuple(found))


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
    maker.compile()
    scenes = scenes_of(subject)
    half = maker.execution if maker.half else ""
    alone = maker.alone(scenes)
    broken = next((pair for pair in alone.items() if not pair[1].outcome.complete), None)
    if broken:
        verdict, words = _unable(f"run {broken[0]}", broken[1].outcome)
        return TargetReport(target=target, verdict=verdict, wording=words, half=half)
    judge = Judge(subject, maker.inputs, alone, scenes)
    runs: list[ShapeReport] = []
    for scene in scenes:
        for shape in subject.shapes[1:]:
            if shape.processes == 1:
                runs.append(judge.report(scene, shape, alone[f"{scene.name}-{shape.name}"]))
        for shape in shapes_together(scene, subject):
            made = maker.together(scene, shape)
            if made.outcome.kind in ("cannot_run", "interrupted"):
                verdict, words = _unable(str(shape), made.outcome)
                return TargetReport(target=target, verdict=verdict, wording=words, half=half)
            runs.append(judge.report(scene, shape, made))
    verdict, words = _conclude(runs, judge.horizon, subject, half)
    return TargetReport(
        target=target,
        verdict=verdict,
        wording=words,
        half=half,
        horizon=judge.horizon,
        runs=tuple(runs),
    )


def _unable(what: str, outcome: Outcome) -> tuple[Verdict, str]:
    """Return the verdict on a run that came to no end."""
    message = outcome.message or "no message"
    if outcome.kind == "cannot_run":
        return "NOT TESTED", f"cannot run here: {message}"
    if outcome.kind == "interrupted":
        return "NOT TESTED", "interrupted"
    last = outcome.log_tail.strip().rpartition("\n")[2][:200]
    return "ERROR", f"{what} {outcome.kind}: {message}" + (f"; {last}" if last else "")


def _conclude(
    runs: Sequence[ShapeReport], horizon: int, subject: Subject, half: str
) -> tuple[Verdict, str]:
    for run in runs:
        if run.failed:
            check = run.failed[0]
            where = f"{run.scene}, {run.shape}"
            crashed = run.outcome.kind == "failed"
            if crashed and all(check.name == "end" for check in run.failed):
                return _unable(where, run.outcome)
            return "DIFFERENT", f"{where}: {check.name}: {check.wording}"
    if horizon < LEAST:
        words = f"rounding alone parts the runs after {windows(horizon)}: lower the learning rate"
        return "INCONCLUSIVE", words
    unclear = [check for run in runs for check in run.checks if check.result == "unclear"]
    if unclear:
        return "INCONCLUSIVE", f"{unclear[0].name}: {unclear[0].wording}"
    dtype = subject.recipe.precision.compute_dtype
    said = f"equal within the rounding of {dtype}" + (f" ({half})" if half else "")
    if horizon < subject.windows:
        said += f", compared over {windows(horizon)}"
    return "EQUAL", f"{said}; limits from {TWINS} runs with perturbed weights"


def place(folder: Path) -> Path:
    """Return the folder for the runs, which must be new or empty.

    Raises:
        DiagnosticError: CC708 if it is not.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        message = f"{folder}: {error.strerror or error}"
        raise DiagnosticError(Diagnostic(code="CC708", message=message)) from None
    if taken:
        hint = "name a new folder with --output"
        message = f"{folder} is not empty"
        raise DiagnosticError(Diagnostic(code="CC708", message=message, hint=hint))
    return folder.absolute()
