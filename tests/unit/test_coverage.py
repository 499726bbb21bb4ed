"""The table of checks: each that is made is in it, each in it is made, and where it says."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from coverage_page import LOOKED_AT, OWN, coverage_page, runs_of
from crosscast.recipe.document import Recipe
from crosscast_parity.bisect.unobservable_fields import hidden_in
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import LEVELS, ON, Level
from crosscast_parity.checks.table import GAPS, KINDS, RECORDING, find_kind
from crosscast_parity.compare.paired_seeds import seed_checks
from crosscast_parity.compare.stage_checks import own_checks, pair_checks, stage_envelope
from crosscast_parity.inputs.shared import write_inputs
from crosscast_parity.inside.inject import Fault
from crosscast_parity.judge.records import Run
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.levels.operation_types import compare_operations
from crosscast_parity.levels.statistics import check_statistics
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.runs import RunSpec, Stage, plain_runs, twin_runs
from crosscast_parity.planning.stages import make_stages, own_stage, toy_stages
from crosscast_parity.processes.process import Outcome
from crosscast_parity.recordings.observations import Observation
from crosscast_parity.recordings.status import Evaluation, Status
from crosscast_parity.recordings.type_manifest import Manifest, Operation, OrderedCall
from crosscast_parity.runs.outcomes import FinishedRun, StageResult
from custom_fakes import own_recipe
from observed_runs import SIZES, Script
from recipe_texts import recipe_of
from source_trees import modules, tree_of

WINDOWS = 24
MAKERS = ("Check", "judge", "judge_tensors", "untested")
BEYOND = Fault(WINDOWS + 20, 0, "inf")


def half(**changes: str) -> Recipe:
    sizes = ", ".join(f"{name}: {size}" for name, size in SIZES.items())
    fields = {
        "model": f"{{kind: bert, {sizes}, labels: 3, dropout: 0.0}}",
        "data": "{source: synthetic, sequence_length: 12, train_rows: 100, eval_rows: 8}",
        "precision": "{mode: mixed, compute_dtype: float16}",
        "loss_scaling": "{mode: dynamic, init_scale: 1024}",
        "ema": "{decay: 0.9}",
        "metrics": "{custom: {f1: {torch: 'own:f1', paddle: 'own:f1'}}}",
    }
    return recipe_of(**(fields | changes))


@dataclass
class StandIn:
    """A comparison of programs that the reference interpreter trains."""

    folder: Path
    programs: tuple[Contestant, ...]
    faults: tuple[Fault, ...] = (Fault(2, 0, "inf"),)
    results: list[StageResult] = field(default_factory=list)

    def stage(self, stage: Stage) -> None:
        recipes = {program.name: stage.derive(program.recipe) for program in self.programs}
        frameworks = {program.name: program.framework for program in self.programs}
        result = StageResult(stage, recipes, self.faults, frameworks)
        self.results.append(result)
        folder = self.folder / stage.name
        for number, program in enumerate(self.programs):
            recipe = recipes[program.name]
            inputs = write_inputs(recipe, folder, 0)
            faults = self.faults if recipe.scaling_on else ()
            specs = plain_runs(program, recipe, stage, inputs, faults, emulated=True)
            if not number:
                specs += twin_runs(program, recipe, stage, inputs)
            for spec in specs:
                self.make(result, spec, folder / program.name / spec.name)

    def make(self, result: StageResult, spec: RunSpec, folder: Path) -> None:
        folder.mkdir(parents=True)
        rows, seen = Script(spec.recipe).train(spec.windows, spec.faults, range(spec.windows))
        assert seen
        last = seen.windows[-1]
        save_file(dict(last.after), folder / "model.safetensors")
        save_file({**last.after, **last.average}, folder / "ema.safetensors")
        arrays = {f"model/{name}": np.asarray(array) for name, array in last.after.items()}
        arrays |= {f"ema/{name}": np.asarray(array) for name, array in last.average.items()}
        if spec.name != "faults":  # whose checkpoint is missing
            save_file(arrays, folder / "checkpoint.safetensors", {"counters": "{}"})
        values = Evaluation(loss=1.0, accuracy=0.5, metrics={"f1": 0.5})
        found = replace(values, averages=values)
        outcome = Outcome(kind="finished", status=Status(status="finished", eval=found))
        if spec.toy:
            outcome = Outcome(kind="cannot_run", message="the toy needs another script")
        run = Run(contestant=spec.contestant, stage=spec.stage, name=spec.name, outcome=outcome,
                  rows=rows)  # fmt: skip
        made = FinishedRun(spec=spec, run=run, folder=folder)
        result.finished[spec.contestant, spec.name] = made
        kept = tuple(window for window in seen.windows if window.window in spec.record)
        seen = replace(seen, windows=kept)
        result._observations[spec.contestant, spec.name] = seen

    @cached_property
    def checks(self) -> Sequence[tuple[StageResult | None, str, Check]]:
        """The checks with their stage and their program."""
        return list(self._checks())

    def _checks(self) -> Iterator[tuple[StageResult | None, str, Check]]:
        reference, ours = (program.name for program in self.programs)
        for result in self.results:
            for name in (reference, ours):
                yield from ((result, name, check) for check in own_checks(result, name))
            envelope = stage_envelope(result, reference)
            found, _, _ = pair_checks(result, ours, reference, envelope)
            yield from ((result, ours, check) for check in found)
        recipes = {program.name: program.recipe for program in self.programs}
        found = hidden_in(self.results, recipes, ours, reference)
        found += seed_checks(self.results, ours, reference)
        yield from ((None, ours, check) for check in found)


def emitted(folder: Path, recipe: Recipe, other: Recipe) -> StandIn:
    programs = [("torch", recipe), ("paddle", other)]
    found = StandIn(folder, tuple(Contestant(name=n, target=n, recipe=r) for n, r in programs))
    tiny, *others = make_stages(recipe, "full", windows=WINDOWS, twins=0)
    found.stage(replace(tiny, windows=WINDOWS))
    for stage in [stage for stage in others if stage.seed is not None][:3]:
        found.stage(replace(stage, windows=WINDOWS))
    found.stage(replace(toy_stages()[0], windows=2))
    return found


def own(folder: Path) -> StandIn:
    script = folder / "train.py"
    programs = (
        Contestant(name="torch", target="torch", recipe=half()),
        Contestant(name="mine", target="torch", recipe=half(), script=script),
    )
    found = StandIn(folder, programs, (Fault(2, 0, "inf"), BEYOND))
    found.stage(replace(own_stage(half(), WINDOWS, 0), windows=WINDOWS))
    return found


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> list[StandIn]:
    folder = tmp_path_factory.mktemp("runs")
    hidden = half(distributed="{strategy: data_parallel, processes_per_node: 2}")
    return [
        emitted(folder / "float16", half(), hidden),
        emitted(folder / "float32", half(precision="{mode: none}", loss_scaling="{mode: none}"),
                half(precision="{mode: none}", loss_scaling="{mode: none}")),
        own(folder / "own"),
    ]  # fmt: skip


@cache
def literals() -> Sequence[tuple[Any, Any]]:
    """Return level and name of the checks that the package makes by these very words."""
    return list(_literals())


def _literals() -> Iterator[tuple[Any, Any]]:
    for path in modules("parity"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS:
                named = {word.arg: word.value for word in node.keywords}
                level, name = (
                    named.get(word) or (node.args[place] if len(node.args) > place else None)
                    for place, word in enumerate(("level", "name"))
                )
                if isinstance(level, ast.Constant) and isinstance(name, ast.Constant):
                    yield level.value, name.value


def test_a_check_that_is_not_in_the_table_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="describes L1b speed"):
        Check(level="L1b", name="speed", result="pass", wording="")
    for level, name in (("L9", "scale"), ("L9", RECORDING), ("L1a", "first loss, other")):
        with pytest.raises(ValueError, match="no row"):
            find_kind(level, name)  # type: ignore[arg-type]
    for name in ("update, by the reference's recipe", "first loss, stress", RECORDING):
        Check(level="L1b" if "update" in name else "L1a", name=name, result="pass", wording="")


def test_the_words_of_the_package_are_in_the_table() -> None:
    assert len(literals()) > 20
    for level, name in literals():
        find_kind(level, name)


def test_every_row_of_the_table_is_made_by_some_check(stand_ins: list[StandIn]) -> None:
    walked = [(c.level, c.name) for lab in stand_ins for _, _, c in lab.checks]
    sum_ = OrderedCall(
        name="add",
        inputs=("float32",),
        output="float32",
        size=8,
        whole=True,
        narrowed=False,
        usual=True,
        plain="float32",
        rounded=False,
        lookups=False,
        learned=True,
        place="",
    )
    operation = Operation(name="add", inputs=("float32",), output="float32", count=1)
    sums = {"pointwise": (operation,)}
    evaluated = {"pointwise": (replace(operation, output="float16"),)}
    own_model = Manifest(
        autocast=None, operations=sums, evaluation=evaluated, order=(sum_,), closed=("a function",)
    )
    own = own_recipe(precision={"mode": "mixed", "compute_dtype": "float16"})
    of_types = check_dtypes(own, Observation(windows=(), manifest=own_model), emulated=True)
    walked += [(check.level, check.name) for check in of_types]
    walked += [(c.level, c.name) for c in compare_operations(own_model, own_model)]
    levels: tuple[Level, ...] = ("L1a", "L2")
    moved, start = {"mean": np.ones(2)}, {"mean": np.zeros(2)}
    statistics = (check_statistics(moved, moved, [moved], start, 3, level) for level in levels)
    walked += [(check.level, check.name) for check in statistics]
    found = [kind for kind in (find_kind(*named) for named in (*literals(), *walked)) if kind]
    made = {(kind.level, kind.name) for kind in found}
    assert KINDS.keys() - made == set()


def test_checks_look_at_the_runs_that_the_table_says(stand_ins: list[StandIn]) -> None:
    for lab in stand_ins:
        for result, name, check in lab.checks:
            kind = find_kind(check.level, check.name)
            if kind is None:
                continue
            if result is None:
                assert kind.on in ("recipes", "seeds"), check
            elif check.run:
                spec = result.finished[name, check.run].spec
                assert LOOKED_AT[kind.on](result.stage, spec), (check, kind.on)


def test_limits_are_those_of_the_table(stand_ins: list[StandIn]) -> None:
    for lab in stand_ins:
        for result, name, check in lab.checks:
            kind = find_kind(check.level, check.name)
            if kind is None or check.limit is None:
                continue
            spec = result.finished[name, check.run].spec if result and check.run else None
            limits = {kind.limit, *kind.by_type.values()}
            if spec and spec.recipe.accumulation.dtype == "float32":
                assert check.limit in limits, (check, limits)


def test_the_page_has_every_check_level_and_gap() -> None:
    text = coverage_page(half())
    for kind in KINDS.values():
        assert f"| {kind.name} | {kind.compares} |" in text
    assert [line for line in text.splitlines() if line.startswith("### ")] == [
        f"### {level}: {title}" for level, title in LEVELS.items()
    ]
    assert all(gap.what in text for gap in GAPS)


def test_every_kind_of_run_is_made_somewhere() -> None:
    made = [pair for check in ("full", OWN) for pair in runs_of(half(), check)]
    for on in ON:
        assert any(LOOKED_AT[on](*pair) for pair in made) == (on != "recipes"), on
