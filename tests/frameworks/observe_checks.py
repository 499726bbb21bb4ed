"""What observation must do in every framework; a test file per framework inherits it."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from safetensors.numpy import load_file

from crosscast_parity.checks.check import Check
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.levels.replay import replay_run
from crosscast_parity.recordings.observations import read_observation
from frameworks import observe_runs
from frameworks.fault_toys import TOYS
from frameworks.observe_runs import (
    EVALUATIONS,
    HALF_FAULTS,
    MAX_NORM,
    Plan,
    Window,
    same_results,
    windows,
)
from frameworks.subprocesses import run_python
from tiers import cases, with_exhaustive

JOB = Path(__file__).parent / "observe_job.py"
PLANS = (
    Plan("half-plain", "half", 6, faults=HALF_FAULTS),
    Plan("half-seen", "half", 6, record=range(4), manifest=True, faults=HALF_FAULTS),
    Plan("half-after", "half", 6, faults=HALF_FAULTS),
    Plan("float-plain", "float", 3),
    Plan("float-seen", "float", 3, record=range(2), manifest=True),
    Plan("full-seen", "full", 2, record=range(2), manifest=True),
    Plan("lamb-seen", "lamb", 2, record=range(2)),
    Plan("half-gaps", "half", 6, record=(0, 5), faults=HALF_FAULTS),
    Plan("lamb-gaps", "lamb", 6, record=(2, 5), faults=HALF_FAULTS),
    Plan("bfloat-seen", "bfloat", 1, manifest=True),
    Plan("softmax", "softmax", 1, manifest=True),
    Plan("loss", "loss", 1, manifest=True),
    *(Plan(bug, bug, 1, manifest=True) for bug in EVALUATIONS),
)
MORE = frozenset({"float-plain", "lamb-gaps", "bfloat-seen", "softmax", "evaluated_in_other_half"})
"""Runs that show again, in another type or recipe, what others show."""
GROUPS = ("before", "after", "total", "first", "applied")
DENSE = ("query.weight", "key.weight", "value.weight", "dense.weight", "classifier.weight")


SEEN = ("half-seen", "float-seen", "full-seen", "lamb-seen")
MANIFESTS = (
    ("float-seen", "float32", None),
    ("half-seen", "float16", "float16"),
    ("bfloat-seen", "bfloat16", "bfloat16"),
)
"""Runs, the type of their products, and what their autocast says."""
EVALUATED = (
    ("half-seen", "half"),
    ("float-seen", "float"),
    ("full-seen", "full"),
    ("bfloat-seen", "bfloat"),
    ("loss", "half"),
)
"""Runs with an evaluation, and their recipes."""
AGAIN = "observed in more types and recipes"


NATIVE = "without emulation"
ARGUMENTS = ("run", "name", "dtype", "autocast")
LOOKED_AT: dict[str, tuple[Any, ...]] = {
    "test_no_bit_of_the_run_changes": ("half-plain", "float-plain"),
    "test_nothing_leaks_into_the_next_run": ("half-after",),
    "test_no_bit_changes_if_some_windows_are_recorded": ("half-gaps",),
    "test_its_updates_are_replayed": ("half-gaps", "lamb-gaps", *SEEN),
    "test_a_short_window_after_a_gap_is_whole": ("half-gaps", "lamb-gaps"),
    "test_windows_are_a_chain": SEEN,
    "test_after_the_last_window_are_the_final_weights": ("full-seen",),
    "test_applied_is_the_total_unscaled_and_clipped": SEEN,
    "test_without_half_precision_they_show_none": ("float-seen",),
    "test_half_weights_deliver_half_gradients": ("full-seen",),
    "test_averages_are_recorded": ("lamb-seen",),
    "test_the_manifest": MANIFESTS,
    "test_softmax_in_half_shows": ("softmax",),
    "test_a_loss_in_half_shows": ("loss",),
    "test_the_evaluation_computes_in_the_types_of_the_recipe": EVALUATED,
    "test_an_evaluation_in_another_type_is_seen": tuple(EVALUATIONS),
    "test_without_emulation": (NATIVE,),
}
"""Which runs a test looks at, each with further arguments of the test, if there are any."""


def on_half_grid(array: np.ndarray) -> float:
    """Share of the entries that are float16 numbers."""
    return float(np.mean(array == array.astype(np.float16)))


def types(found: dict[str, Any], kind: str) -> dict[str, set[str]]:
    """Result types of a class by operation."""
    return {name: {e["out"] for e in es} for name, es in found["operations"][kind].items()}


class Observation:
    """The tests. `framework`: whose scripts run; `native`: whether it has half types on CPU."""

    framework: ClassVar[str]
    native: ClassVar[bool]
    one_loss: ClassVar[bool] = False
    """Whether training and evaluation compute the loss in the same function."""
    more: ClassVar[Collection[str]] = MORE
    """Runs that are left to `make test-all`."""
    sums: ClassVar[dict[str, int]]
    """Calls of the operations in class matmul of one forward pass of the model."""

    @pytest.fixture(scope="class")
    @classmethod
    def scripts(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        folder: Path = tmp_path_factory.mktemp("observe")
        observe_runs.emit_all(cls.framework, folder)
        return folder

    @pytest.fixture(scope="class")
    @classmethod
    def runs(cls, request: pytest.FixtureRequest, scripts: Path) -> Path:
        plans = [plan for plan in PLANS if with_exhaustive(request) or plan.name not in cls.more]
        return observe_runs.session(cls.framework, scripts, plans, emulate=True)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize the tests by the runs they look at, each in its tier for the framework."""
        runs = LOOKED_AT.get(metafunc.function.__name__, ())
        if not runs:
            return
        values = [value if isinstance(value, tuple) else (value,) for value in runs]
        quick = [value for value in values if value[0] not in self.more]
        plain = [value if len(value) > 1 else value[0] for value in quick]
        names = [name for name in ARGUMENTS if name in metafunc.fixturenames]
        metafunc.parametrize(names, cases(values, quick=plain, reason=AGAIN))

    def seen(self, runs: Path, name: str) -> list[Window]:
        return windows(runs / name / "observed")

    def test_no_bit_of_the_run_changes(self, runs: Path, run: str) -> None:
        same_results(runs / run, runs / run.replace("plain", "seen"))

    def test_nothing_leaks_into_the_next_run(self, runs: Path, run: str) -> None:
        same_results(runs / "half-plain", runs / run)
        assert not (runs / run / "observed").exists()

    def test_no_bit_changes_if_some_windows_are_recorded(self, runs: Path, run: str) -> None:
        same_results(runs / "half-plain", runs / run)
        assert [window.facts["window"] for window in self.seen(runs, run)] == [0, 5]

    def test_its_updates_are_replayed(self, runs: Path, run: str) -> None:
        found = read_observation(runs / run / "observed")
        name = run.partition("-")[0]
        checks = {check.name: check for check in replay_run(observe_runs.recipe(name), found)}
        assert {"loss factor", "gradient norm", "applied gradients", "update"} <= set(checks)
        assert ("average" in checks) == (name == "lamb")
        assert {check.result for check in checks.values()} == {"pass"}

    def test_a_short_window_after_a_gap_is_whole(self, runs: Path, run: str) -> None:
        """Its graphs were traced in a window that was not recorded."""
        last = self.seen(runs, run)[-1]
        assert last.facts["window"] == 5
        assert last.facts["micro_rows"] == [4, 4, 2]
        assert {group for group in GROUPS if last.group(group)} == set(GROUPS)
        final = load_file(runs / run / "model.safetensors")
        assert all(np.array_equal(last.group("after")[n], final[n]) for n in final)

    def test_it_reads_as_an_observation(self, runs: Path) -> None:
        found = read_observation(runs / "half-seen" / "observed")
        assert [window.window for window in found.windows] == [0, 1, 2, 3]
        assert found.manifest is not None

    def test_windows_are_a_chain(self, runs: Path, run: str) -> None:
        found = self.seen(runs, run)
        for window, next_one in itertools.pairwise(found):
            after, before = window.group("after"), next_one.group("before")
            assert after.keys() == before.keys()
            assert all(np.array_equal(after[name], before[name]) for name in after)
            moved = any((window.group("before")[n] != after[n]).any() for n in after)
            assert moved == (not window.facts["row"]["skipped"] and window.facts["row"]["lr"] > 0)

    def test_after_the_last_window_are_the_final_weights(self, runs: Path, run: str) -> None:
        last = self.seen(runs, run)[-1].group("after")
        final = load_file(runs / run / "model.safetensors")
        assert last.keys() == final.keys()
        assert all(np.array_equal(last[name], final[name]) for name in final)

    def test_rows_losses_and_factors(self, runs: Path) -> None:
        found = self.seen(runs, "half-seen")
        rows = [[4] * 4, [4] * 4, [4, 4, 2], [4] * 4]
        assert [window.facts["micro_rows"] for window in found] == rows
        for number, window in enumerate(found):
            facts, row = window.facts, window.facts["row"]
            assert facts["window"] == row["window"] == number
            expected = np.float32(row["scale"]) / np.float32(row["rows"])
            assert len(facts["factors"]) == row["n_micro"]
            for factor in facts["factors"]:
                assert abs(factor - expected) <= np.spacing(expected)
            if not row["skipped"]:
                assert sum(facts["losses"]) / row["rows"] == pytest.approx(row["loss"], rel=1e-6)
        assert [w.facts["row"]["skipped"] for w in found] == [False, True, False, False]
        assert [loss is None for loss in found[1].facts["losses"]] == [True, False, False, False]

    def test_applied_is_the_total_unscaled_and_clipped(self, runs: Path, run: str) -> None:
        for window in self.seen(runs, run):
            row, total = window.facts["row"], window.group("total")
            applied = window.group("applied")
            assert (applied == {}) == row["skipped"]
            if row["skipped"]:
                continue
            assert applied.keys() == total.keys() == window.group("before").keys()
            plain = {n: a.astype(np.float64) / row["scale"] for n, a in total.items()}
            norm = np.sqrt(sum((array**2).sum() for array in plain.values()))
            assert norm == pytest.approx(row["grad_norm"], rel=2e-6)
            coefficient = min(1.0, MAX_NORM / (norm + 1e-6))
            for name, array in applied.items():
                error = np.abs(array - plain[name] * coefficient).max()
                assert error <= 2e-6 * max(np.abs(array).max(), 1e-30), name

    def test_a_poisoned_window_keeps_its_gradients(self, runs: Path) -> None:
        poisoned = self.seen(runs, "half-seen")[1].group("total")
        assert poisoned
        assert not any(np.isfinite(array).all() for array in poisoned.values())

    def test_the_first_gradients_show_the_type_of_the_products(self, runs: Path) -> None:
        half = self.seen(runs, "half-seen")[0]
        assert set(half.facts["gradient_dtypes"].values()) == {"float32"}
        first = {n: a for n, a in half.group("first").items() if n.endswith(DENSE)}
        assert all(on_half_grid(array) == 1.0 for array in first.values())
        sums = [on_half_grid(half.group("total")[name]) for name in first]
        assert np.median(sums) < 0.9, "they were not summed in float32"

    def test_without_half_precision_they_show_none(self, runs: Path, run: str) -> None:
        plain = self.seen(runs, run)[0].group("first")
        assert all(on_half_grid(a) < 0.3 for n, a in plain.items() if n.endswith(DENSE))

    def test_half_weights_deliver_half_gradients(self, runs: Path, run: str) -> None:
        window, last = self.seen(runs, run)
        for name, dtype in window.facts["gradient_dtypes"].items():
            norm = "LayerNorm" in name
            assert dtype == ("float32" if norm else "float16"), name
            if not norm:
                assert on_half_grid(window.group("first")[name]) == 1.0, name
                assert on_half_grid(last.group("after")[name]) < 0.5, "these are not the masters"

    def test_averages_are_recorded(self, runs: Path, run: str) -> None:
        folder = runs / run / "observed"
        average: dict[str, Any] = self.seen(runs, run)[0].group("before")
        for window in self.seen(runs, run):
            stored = load_file(folder / f"average-{window.facts['window']:04d}.safetensors")
            after = window.group("after")
            average = {name: 0.5 * average[name] + 0.5 * after[name] for name in average}
            for name, array in stored.items():
                np.testing.assert_allclose(array, average[name], rtol=1e-5, atol=1e-8)

    def test_the_manifest(self, runs: Path, run: str, dtype: str, autocast: str | None) -> None:
        self.check_manifest(runs / run / "observed", dtype, autocast)

    def check_manifest(self, folder: Path, dtype: str, autocast: str | None) -> None:
        found = observe_runs.manifest(folder)
        assert found["autocast"] == autocast
        operations = found["operations"]
        matmul = {n: sum(e["count"] for e in es) for n, es in operations["matmul"].items()}
        assert matmul == self.sums
        assert all(kinds == {dtype} for kinds in types(found, "matmul").values())
        for kind in ("pointwise", "reductions", "embeddings", "losses"):
            for name, kinds in types(found, kind).items():
                assert kinds == {"float32"}, (kind, name)
        counts = {
            (kind, name): sum(e["count"] for e in operations[kind][name])
            for kind, name in (
                ("pointwise", "gelu"),
                ("pointwise", "tanh"),
                ("reductions", "softmax"),
                ("reductions", "layer_norm"),
                ("embeddings", "embedding"),
                ("losses", "cross_entropy"),
            )
        }
        assert list(counts.values()) == [1, 1, 1, 3, 3, 1], counts

    def test_softmax_in_half_shows(self, runs: Path, run: str) -> None:
        found = observe_runs.manifest(runs / run / "observed")
        assert types(found, "reductions")["softmax"] == {"float16"}
        assert types(found, "losses")["cross_entropy"] == {"float32"}

    def test_a_loss_in_half_shows(self, runs: Path, run: str) -> None:
        found = observe_runs.manifest(runs / run / "observed")
        assert types(found, "losses")["cross_entropy"] == {"float16"}
        assert types(found, "reductions")["softmax"] == {"float32"}
        assert not list((runs / run / "observed").glob("window-*"))

    def test_the_evaluation_computes_in_the_types_of_the_recipe(
        self, runs: Path, run: str, name: str
    ) -> None:
        check = self.evaluated(runs, run, name)
        assert check.result == ("fail" if run == "loss" and self.one_loss else "pass"), check

    def test_an_evaluation_in_another_type_is_seen(self, runs: Path, run: str) -> None:
        check = self.evaluated(runs, run, "half")
        assert check.result == "fail"
        assert f"computed in {EVALUATIONS[run]}, not float16" in check.wording
        found = read_observation(runs / run / "observed").manifest
        assert found is not None
        assert {operation.output for operation in found.operations["matmul"]} == {"float16"}

    def evaluated(self, runs: Path, run: str, name: str) -> Check:
        found = read_observation(runs / run / "observed")
        checks = check_dtypes(observe_runs.recipe(name), found, emulated=True)
        return next(check for check in checks if check.name == "operations of the evaluation")

    def test_without_emulation(self, scripts: Path, run: str) -> None:
        assert run == NATIVE
        kind, dtype = ("half", "float16") if self.native else ("float", "float32")
        plans = (Plan("plain", kind, 2), Plan("seen", kind, 2, record=range(1), manifest=True))
        runs = observe_runs.session(self.framework, scripts, plans, emulate=False)
        same_results(runs / "plain", runs / "seen")
        found = windows(runs / "seen" / "observed")
        assert len(found) == 1
        assert {name.partition("/")[0] for name in found[0].arrays} == set(GROUPS)
        self.check_manifest(runs / "seen" / "observed", dtype, dtype if self.native else None)

    def test_a_toy_whose_gradients_are_known(self, tmp_path: Path) -> None:
        script = tmp_path / "train.py"
        script.write_text(TOYS[self.framework])
        left = run_python(JOB, self.framework, self.framework, script, tmp_path)
        assert left == {"changed": [], "restored": True, "hooks": 0}
        total = {"body.weight": [4, 6], "table.weight": [1, 1, 3, 3, 0, 0], "head.bias": [2, 2]}
        first = {"body.weight": [1, 2], "table.weight": [1, 1, 1, 1, 0, 0], "head.bias": [1, 1]}
        for order in ("observe", "inject-observe", "observe-inject"):
            window, two = windows(tmp_path / order)
            for group, expected in (("total", total), ("first", first)):
                found = {n: a.ravel().tolist() for n, a in window.group(group).items()}
                assert found == expected, (order, group)
            assert window.facts["losses"] == [9.0, 13.0]
            assert window.facts["factors"] == [1.0, 1.0]
            if order == "observe":
                assert {n: a.ravel().tolist() for n, a in two.group("total").items()} == total
                continue
            poisoned = order == "inject-observe"
            assert two.facts["losses"] == [9.0, None if poisoned else 13.0]
            assert two.facts["factors"] == [1.0, 1.0 if poisoned else None]
            assert two.group("first")["head.bias"].tolist() == [np.inf, np.inf]
            assert two.group("first")["body.weight"].tolist() == [1, 2]
            assert np.isnan(two.group("total")["body.weight"]).all()
