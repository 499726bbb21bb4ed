"""A check that cannot fail is worth nothing: plant known bugs, and see that their level speaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import LEVELS, Level
from crosscast_parity.compare.harness import OnProgress, compare, ignore
from crosscast_parity.inputs.custom import CustomModels
from crosscast_parity.judge.records import CanaryRecord, Pair, ParityReport
from crosscast_parity.levels.seeds import SeedResult, judge_seeds
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import Options
from crosscast_parity.planning.runs import Stage, recipe_variants
from crosscast_parity.planning.stages import custom_stages, make_stages
from crosscast_parity.processes.work_done import without_findings
from crosscast_parity.runs.workspace import CompileTo
from crosscast_parity.self_test.canaries import Canary, canaries_of, fitting
from crosscast_parity.self_test.mutation import apply, texts_of

AT_ONCE = 4
"""Canaries of one comparison: they share processes, and memory."""
SEEDS = 5
SHIFT = 0.05
"""What the canary of L3 adds to the loss of every seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What became of a canary. `level`: that must see it. `seen`: the levels that did."""

    program: str
    canary: str
    title: str
    level: Level
    seen: tuple[Level, ...]
    verdict: str

    @property
    def caught(self) -> bool:
        """Whether its own level saw it."""
        return self.level in self.seen


class Interrupted(Exception):
    """The user pressed Ctrl-C."""


def missed(findings: Sequence[Detection]) -> list[Diagnostic]:
    """Return CC735 if a level did not see its canary."""
    blind = [finding for finding in findings if not finding.caught]
    if not blind:
        return []
    words = ", ".join(f"{finding.level} ({finding.program}: {finding.canary})" for finding in blind)
    return [_failed(f"a planted bug was not detected by {words}")]


def as_report(
    findings: Sequence[Detection], contestant: Contestant, options: Options
) -> ParityReport:
    """Return the findings as a report of their own."""
    return ParityReport(
        recipe=contestant.recipe.name,
        check="self-test",
        device=options.device,
        threads=options.threads,
        reference=None,
        requested_reference=contestant.name,
        entrants=(),
        stages=(),
        runs=(),
        pairs=(),
        self_test=tuple(
            CanaryRecord(
                program=finding.program, title=finding.title, level=finding.level, seen=finding.seen
            )
            for finding in findings
        ),
    )


def self_test(
    contestants: Sequence[Contestant],
    *,
    options: Options,
    compile_to: CompileTo,
    on_progress: OnProgress = ignore,
    custom: CustomModels | None = None,
) -> Iterator[Detection]:
    """Yield the detection of every canary, program by program.

    Raises:
        Interrupted: the user pressed Ctrl-C.
        DiagnosticError: CC735 if an unchanged program does not pass its own checks, CC707 if no
            program is one that the compiler emits.
    """
    quick = replace(
        options,
        check="quick",
        stress=custom is None,
        bisect=False,
        faults=None,
        save_reference=None,
    )
    emitted = [
        program for program in contestants if not (program.own or program.adapter or program.stored)
    ]
    own = custom is not None
    programs = [program for program in emitted if canaries_of(program.framework, custom=own)]
    if not programs:
        message = "bugs are planted in emitted scripts: name a built-in target"
        raise DiagnosticError(Diagnostic(code="CC707", message=message))
    for program in programs:
        stages = _stages(program, quick, custom)
        # Scripts of the toy have another model, and what they make active need not show elsewhere.
        trained = [stage for stage in stages if not stage.toy]
        canaries = fitting(
            canaries_of(program.framework, custom=own), _scripts(program, trained, compile_to)
        )
        for start in range(0, len(canaries), AT_ONCE):
            chosen = {
                _name(program, canary): canary for canary in canaries[start : start + AT_ONCE]
            }
            report = compare(
                [program, *(_planted(program, name, canary) for name, canary in chosen.items())],
                options=replace(quick, reference=program.name),
                compile_to=compile_to,
                on_progress=without_findings(on_progress),
                stages=stages,
                custom=custom,
            )
            yield from _findings(report, program, chosen)
    yield seeds_finding()


def seeds_finding() -> Detection:
    """Return the L3 verdict on results that are slightly worse for every seed."""
    results = [
        SeedResult(seed=n, train_loss_tail=0.6, eval_loss=0.5 + 0.01 * n, eval_accuracy=0.8)
        for n in range(SEEDS)
    ]
    worse = [replace(result, eval_loss=(result.eval_loss or 0.0) + SHIFT) for result in results]
    same, shifted = _failed_levels(judge_seeds(results, results)), judge_seeds(worse, results)
    return Detection(
        program="results of seeds",
        canary="loss-shifted",
        title=f"the loss of every seed is {SHIFT:g} higher",
        level="L3",
        seen=() if same else _failed_levels(shifted),
        verdict="DIFFERENT" if _failed_levels(shifted) else "EQUIVALENT",
    )


def in_words(findings: Sequence[Detection]) -> Iterator[str]:
    """Yield a line for every canary and one for all of them."""
    width = max(len(f"{finding.program}: {finding.title}") for finding in findings)
    for finding in findings:
        also = [level for level in finding.seen if level != finding.level]
        more = f"; also {', '.join(also)}" if also else ""
        outcome = f"seen{more}" if finding.caught else f"NOT SEEN ({finding.verdict}){more}"
        yield f"{f'{finding.program}: {finding.title}':{width}}  {finding.level:4}  {outcome}"
    caught = sum(finding.caught for finding in findings)
    yield f"self-test: {caught} of {len(findings)} planted bugs were detected by their level"


def _name(program: Contestant, canary: Canary) -> str:
    return f"{program.name[:12]}-{canary.name}"


def _planted(program: Contestant, name: str, canary: Canary) -> Contestant:
    return replace(program, name=name, edits=(*program.edits, partial(apply, canary.bug)))


def _stages(program: Contestant, options: Options, custom: CustomModels | None) -> list[Stage]:
    """Return the stage of the small model, with every feature active; of a custom model all."""
    if custom is not None:
        return custom_stages(program.recipe, custom.count, "quick", options.windows, options.twins)
    stages = make_stages(
        program.recipe, "quick", windows=options.windows, twins=options.twins, stress=True
    )
    return stages[:1]


def _scripts(
    program: Contestant, stages: Sequence[Stage], compile_to: CompileTo
) -> list[Mapping[str, str]]:
    """Return the texts of every variant of a program's script in some stages."""
    variants: list[Mapping[str, str]] = []
    for stage in stages:
        for variant in recipe_variants(stage.derive(program.recipe), stage).values():
            with TemporaryDirectory() as folder:
                compile_to(variant, (program.target,), Path(folder))
                script = next(iter(sorted(Path(folder).glob("*/train.py"))))
                variants.append(texts_of(script.parent))
    return variants


def _findings(
    report: ParityReport, program: Contestant, canaries: Mapping[str, Canary]
) -> Iterator[Detection]:
    if report.interrupted:
        raise Interrupted
    own = _failed_levels(report.entrant(program.name).checks)
    if own or report.reference != program.name:
        ending = f"fails {', '.join(own)}" if own else "came to no end"
        raise DiagnosticError(
            _failed(f"{program.name} {ending} although it contains no planted bug")
        )
    pairs: dict[str, Pair] = {pair.contestant: pair for pair in report.pairs}
    for name, canary in canaries.items():
        yield Detection(
            program=program.name,
            canary=canary.name,
            title=canary.bug.title,
            level=canary.level,
            seen=_failed_levels(pairs[name].checks),
            verdict=pairs[name].verdict,
        )


def _failed_levels(checks: Sequence[Check]) -> tuple[Level, ...]:
    failed = {check.level for check in checks if check.result == "fail"}
    return tuple(level for level in LEVELS if level in failed)


def _failed(message: str) -> Diagnostic:
    hint = "do not trust verdicts of this installation until this is explained"
    return Diagnostic(code="CC735", message=message, hint=hint)
