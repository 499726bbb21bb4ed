"""Reports as comparisons leave them: equivalent, different, and with programs that came to no end.

No program runs for them; the numbers are of the size that real comparisons measure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from crosscast.recipe.bert_shapes import bert_shapes
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import Level
from crosscast_parity.judge.records import (
    BisectionRecord,
    BisectionStep,
    CanaryRecord,
    Difference,
    Entrant,
    FieldExercise,
    Pair,
    ParityReport,
    Run,
    StageRecord,
)
from crosscast_parity.levels.envelope import Envelope, measure_envelope
from crosscast_parity.levels.seeds import judge_seeds
from crosscast_parity.processes.process import Outcome
from crosscast_parity.recipes.derived import bert_of
from crosscast_parity.recordings.status import Evaluation, Status
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.report.page.seed_section import seed_results
from parity_fakes import good_rows, make_recipe

VERSIONS: Mapping[str, dict[str, str]] = {
    "torch": {"python": "3.11.9", "torch": "2.13.0", "numpy": "2.3.5"},
    "tensorflow": {"python": "3.11.9", "tensorflow": "2.21.0", "keras": "3.15.1"},
    "paddle": {"python": "3.11.9", "paddlepaddle": "3.3.1", "numpy": "2.3.5"},
}
NOISE = {"torch": 0.0, "tensorflow": 2e-6, "paddle": 5e-7}
FAULTS = ("2:0=inf", "5:1=nan", "6:0=-inf", "12:1=inf@embeddings")
LIMITS: Mapping[str, tuple[Level, str, float, float]] = {
    "float32-initial": ("L1a", "first gradients by tensor, initial", 5e-5, 1.5e-6),
    "float32-stress": ("L1a", "first gradients by tensor, stress", 5e-5, 2.4e-6),
    "half-stress": ("L1c", "first gradients by tensor, stress", 2e-2, 2.5e-3),
}


def finished(loss: float = 0.4217, accuracy: float = 0.8945, text: str = "") -> Outcome:
    status = Status(
        status="finished",
        eval=Evaluation(loss=loss, accuracy=accuracy),
        device=text or "cpu",
        versions={text or "numpy": text or "2.3.5"},
    )
    return Outcome(kind="finished", exit_code=0, seconds=3.2, status=status)


def make_run(contestant: str, name: str, rows: Iterable[TraceRow], stage: str = "tiny") -> Run:
    return Run(contestant=contestant, stage=stage, name=name, outcome=finished(), rows=tuple(rows))


def main_rows(contestant: str) -> list[TraceRow]:
    return good_rows(64, skipped=[9], noise=NOISE.get(contestant, 1e-6))


def fault_rows() -> list[TraceRow]:
    return good_rows(19, skipped=[2, 5, 6, 12])


def envelope() -> Envelope:
    twins = [
        [
            replace(row, loss=(row.loss or 0.0) + n * 1e-7 * math.exp(0.11 * t))
            for t, row in enumerate(main_rows("torch"))
        ]
        for n in (1, 2, 3)
    ]
    return measure_envelope(main_rows("torch"), twins)


def errors(run: str, *, wrong_from: str = "") -> dict[str, float]:
    """Errors of first gradients; those of tensors before `wrong_from` are over the limit."""
    names = list(bert_shapes(bert_of(make_recipe(model={"layers": 2}))))
    _, _, limit, size = LIMITS[run]
    found = {name: size * (0.4 + 0.6 * abs(math.sin(3 * n))) for n, name in enumerate(names)}
    for name in names[: names.index(wrong_from)] if wrong_from else ():
        found[name] = limit * (3 + 40 * found[name] / size)
    return found


def check(level: Level, name: str, value: float, limit: float, run: str, **more: str) -> Check:
    ok = value <= limit
    words = f"{value:.2g} (limit {limit:g})" if value else "equal in 64 windows"
    return Check(
        level=level,
        name=name,
        result="pass" if ok else "fail",
        wording=more.get("wording", words),
        value=value,
        limit=limit,
        window=None if ok else 0,
        stage=more.get("stage", "tiny"),
        run=run,
    )


def good_checks(contestant: str) -> tuple[Check, ...]:
    half = "native kernels of an accelerator are not on this machine"
    by_run = [
        check(level, name, max(errors(run).values()), limit, run)
        for run, (level, name, limit, _) in LIMITS.items()
    ]
    return (
        check("L1a", "later gradients by tensor, initial", 4e-6, 3e-4, "float32-initial"),
        check("gate", "traces", 0, 0, "gate"),
        *(
            check("L0a", name, 0, 0, run)
            for run in ("faults", "main")
            for name in ("rows", "scale", "updates", "skipped")
        ),
        check("L0a", "learning rate", 1.4e-7, 2e-6, "main"),
        check("L0b", "scale", 0, 0, "main"),
        check("L0c", "gradient norm", 1.9e-3, 2e-2, "main"),
        Check(
            level="L0d",
            name="operations",
            result="not tested",
            wording=half,
            stage="tiny",
            run="half-stress",
        ),
        *by_run,
        check("L1b", "update", 1.1e-5, 1e-3, "float32-stress"),
        check("L1b", "applied gradients", 3e-7, 1e-4, "float32-stress"),
        check("L2", "trajectory", 0.33 if contestant == "paddle" else 0.08, 1, "main"),
        Check(
            level="result",
            name="eval loss",
            result="info",
            wording="loss 0.4217, accuracy 0.8945",
            stage="tiny",
            run="main",
        ),
    )


def entrant(name: str, text: str = "") -> Entrant:
    return Entrant(
        name=name,
        target=text or name,
        framework=text or name,
        recipe=text or "bert-small.yaml",
        execution="native" if name == "torch" else "emulated",
        script=text or "9f31c06b5e1a7d22ab04",
        device=text or "cpu",
        versions={text: text} if text else VERSIONS.get(name, {"python": "3.11.9"}),
        checks=(check("gate", "traces", 0, 0, "gate"), check("L0b", "scale", 0, 0, "main")),
    )


def equivalent(text: str = "") -> ParityReport:
    """Three programs that agree; `text` stands everywhere where a name or a message may stand."""
    names = ("torch", "tensorflow", "paddle")
    runs = [make_run(name, "main", main_rows(name)) for name in names]
    runs += [make_run(name, "faults", fault_rows()) for name in names]
    wording = (
        "equivalent within measured rounding noise: trace exact, update 1.1e-05 (limit 0.001),"
        " trajectory 0.33 (limit 1) (half precision: paddle emulated, torch native)"
    )
    return ParityReport(
        recipe=text or "bert-small",
        check=text or "quick",
        device="cpu",
        threads=1,
        reference="torch",
        requested_reference="torch",
        entrants=tuple(entrant(name, text) for name in names),
        stages=(
            StageRecord(
                name="tiny",
                title=text or "2 layers of 64, vocabulary 512",
                dtype="float16",
                windows=64,
                weights=140_000,
                faults=FAULTS,
                envelope=envelope(),
            ),
        ),
        runs=tuple(runs),
        pairs=tuple(
            Pair(
                contestant=name,
                reference="torch",
                verdict="EQUIVALENT",
                wording=text or wording,
                checks=good_checks(name),
                tensor_errors={f"tiny/{run}": errors(run) for run in LIMITS},
            )
            for name in names[1:]
        ),
        left_out=(text or "model.dropout: 0.1 was set to 0 (masks differ)",),
        exercise=(
            FieldExercise(field="clip.max_norm", exercised=True, why="norm above it in 41 windows"),
            FieldExercise(
                field=text or "loss_scaling.max_scale",
                exercised=False,
                why=text or "the scale never came near it",
            ),
            FieldExercise(field="ema.decay", exercised=False, why="no average is kept"),
        ),
        command=text or "crosscast parity bert-small.yaml --to torch,tensorflow,paddle -o out",
    )


def seeded(text: str = "") -> ParityReport:
    """The equivalent comparison over five seeds, too, which are too few for one metric."""
    report = equivalent(text)
    stages, runs = list(report.stages), list(report.runs)
    for seed in range(5):
        name = f"seed-{seed}"
        stage = replace(stages[0], name=name, seed=seed, faults=(), envelope=None)
        stages.append(stage)
        for place, entrant_ in enumerate(report.entrants):
            off = place * 1e-3 * math.sin(seed + place)
            rows = [replace(row, loss=(row.loss or 0.0) + off) for row in main_rows("torch")]
            run = make_run(entrant_.name, "main", rows, name)
            ended = finished(0.42 + 0.01 * seed + off, 0.9 + (0.012 * seed + 9 * off) / 3)
            runs.append(replace(run, outcome=ended))
    with_seeds = replace(report, stages=tuple(stages), runs=tuple(runs))
    results = seed_results(with_seeds)
    pairs = []
    for pair in report.pairs:
        ours, torch = results[pair.contestant], results["torch"]
        more = judge_seeds(list(ours.values()), list(torch.values()))
        pairs.append(replace(pair, checks=(*pair.checks, *more)))
    return replace(with_seeds, pairs=tuple(pairs))


def step(changes: tuple[str, ...], gap: float, value: float) -> BisectionStep:
    return BisectionStep(changes=changes, gap=gap, level="L1b update", value=value, limit=1e-3)


def different(text: str = "") -> ParityReport:
    """The same, but one program has a bug in layer 0, decays what it must not, and skips late."""
    report = equivalent(text)
    wrong_from = "bert.encoder.layer.0.output.LayerNorm.weight"
    wrong = {f"tiny/{run}": errors(run, wrong_from=wrong_from) for run in LIMITS}
    late = [replace(row, scale=row.scale * (2 if row.window > 8 else 1)) for row in fault_rows()]
    moved = [
        replace(row, loss=(row.loss or 0.0) + 2e-5 * math.exp(0.12 * row.window))
        for row in main_rows("paddle")
    ]
    runs = [
        replace(run, rows=tuple(moved if run.name == "main" else late))
        if run.contestant == "paddle"
        else run
        for run in report.runs
    ]
    failing = (
        check("L0a", "scale", 10, 0, "faults", wording="window 9: 1024, expected 512 (10 of 19)"),
        check("L1b", "update", 0.65, 1e-3, "float32-stress", wording="window 0, layer.1: 0.65"),
        check("L2", "trajectory", 31.5, 1, "main", wording="window 38: 1.9e-3, limit 6e-5"),
        *(
            check(level, name, max(wrong[f"tiny/{run}"].values()), limit, run)
            for run, (level, name, limit, _) in LIMITS.items()
        ),
    )
    failed = {(judged.level, judged.name, judged.run) for judged in failing}
    checks = [c for c in good_checks("paddle") if (c.level, c.name, c.run) not in failed]
    sample = next(n for n, row in enumerate(late) if row.scale != fault_rows()[n].scale)
    differences = tuple(
        Difference(stage="tiny", run="faults", ours=late[n], reference=fault_rows()[n])
        for n in range(sample, sample + 3)
    )
    pair = replace(
        report.pairs[1],
        verdict="DIFFERENT",
        wording=text or "different at L0a scale (tiny/faults): window 9: 1024, expected 512",
        checks=(*checks, *failing),
        differences=differences,
        tensor_errors=wrong,
    )
    steps = (
        step((), 9.4, 0.65),
        step(("optimizer.eps", "optimizer.betas"), 9.4, 0.65),
        step(("optimizer.weight_decay", "clip.max_norm"), 0.0, 1e-8),
        step(("clip.max_norm",), 9.3, 0.64),
        step((text or "optimizer.weight_decay",), 0.0, 1e-8),
    )
    bisection = BisectionRecord(
        contestant="paddle",
        reference="torch",
        fields=("optimizer.weight_decay",),
        wording=text or "optimizer.weight_decay explains the difference: with 0.0 nothing is left",
        steps=steps,
    )
    return replace(report, runs=tuple(runs), pairs=(report.pairs[0], pair), bisections=(bisection,))


def broken(text: str = "") -> ParityReport:
    """One program crashed in window 7 of its plain run, one cannot run here."""
    report = equivalent(text)
    log = text or "\n".join(
        ["window 6 loss 1.04", "Traceback (most recent call last):", "RuntimeError: no memory"]
    )
    crash = Outcome(
        kind="failed", message=text or "ended by SIGABRT", exit_code=-6, seconds=2.1, log_tail=log
    )
    missing = Outcome(kind="cannot_run", message=text or "paddle is not installed", exit_code=3)
    runs = [
        replace(run, outcome=crash, rows=run.rows[:8])
        if (run.contestant, run.name) == ("tensorflow", "main")
        else replace(run, outcome=missing, rows=())
        if run.contestant == "paddle"
        else run
        for run in report.runs
    ]
    words = "run tensorflow tiny/main failed: ended by SIGABRT, last window 7"
    some = tuple(c for c in good_checks("tensorflow") if c.run == "faults")
    pairs = (
        Pair(
            contestant="tensorflow",
            reference="torch",
            verdict="ERROR",
            wording=text or words,
            checks=some,
        ),
        Pair(
            contestant="paddle",
            reference="torch",
            verdict="NOT TESTED",
            wording=text or "paddle cannot run here: paddle is not installed",
        ),
    )
    return replace(report, runs=tuple(runs), pairs=pairs, exercise=())


def lone(text: str = "") -> ParityReport:
    """One program and there is no other program to compare with."""
    report = equivalent(text)
    kept = tuple(run for run in report.runs if run.contestant == "torch")
    stage = replace(report.stages[0], envelope=None)
    return replace(report, runs=kept, pairs=(), entrants=report.entrants[:1], stages=(stage,))


def nothing(text: str = "") -> ParityReport:
    """Every run died before its first window."""
    report = broken(text)
    dead = Outcome(kind="timeout", message=text or "killed after 60 s", exit_code=-9)
    runs = tuple(replace(run, outcome=dead, rows=()) for run in report.runs)
    stage = replace(report.stages[0], envelope=None)
    return replace(report, runs=runs, reference=None, stages=(stage,))


def self_test(text: str = "") -> ParityReport:
    """Two bugs were planted; one was not seen by its level."""
    seen = CanaryRecord(
        program=text or "torch", title=text or "no skip", level="L0b", seen=("L0b", "L2")
    )
    missed = CanaryRecord(program="torch", title="decay on biases", level="L1b", seen=("L2",))
    report = equivalent(text)
    return replace(
        report,
        check="self-test",
        reference=None,
        entrants=(),
        stages=(),
        runs=(),
        pairs=(),
        exercise=(),
        self_test=(seen, missed),
    )


REPORTS = {
    "equivalent": equivalent,
    "seeded": seeded,
    "different": different,
    "broken": broken,
    "lone": lone,
    "nothing": nothing,
    "self_test": self_test,
}
