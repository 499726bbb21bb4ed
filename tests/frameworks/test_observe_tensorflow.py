"""Observation of TensorFlow scripts from outside."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

import pytest

from frameworks.observe_checks import AGAIN, EVALUATED, MANIFESTS, MORE, SEEN, Observation, of_tier
from frameworks.observe_runs import EVALUATIONS
from frameworks.subprocesses import run_python
from tiers import exhaustive

pytestmark = pytest.mark.tensorflow

LATER = MORE | {"float-seen", "lamb-seen", "half-after", "evaluated_in_float32"}
"""Left to test-all: TensorFlow traces each run, which takes six seconds, and `make test` has these
in PyTorch and Paddle. Instead of half-after it has half-gaps, which also follows half-seen; the
loss in half precision is seen in the evaluation, too."""


class TestTensorFlow(Observation):
    """The tests of `Observation`."""

    framework: ClassVar[str] = "tensorflow"
    native: ClassVar[bool] = True
    one_loss: ClassVar[bool] = True
    more: ClassVar[Collection[str]] = LATER
    sums: ClassVar[dict[str, int]] = {"bias_add": 8, "matmul": 4, "tensordot": 6}

    @exhaustive(AGAIN)
    def test_nothing_leaks_into_the_next_run(self, runs: Path) -> None:
        super().test_nothing_leaks_into_the_next_run(runs)

    @pytest.mark.parametrize("run", of_tier("half-gaps", "lamb-gaps", *SEEN, more=LATER))
    def test_its_updates_are_replayed(self, runs: Path, run: str) -> None:
        super().test_its_updates_are_replayed(runs, run)

    @pytest.mark.parametrize("run", of_tier(*SEEN, more=LATER))
    def test_windows_are_a_chain(self, runs: Path, run: str) -> None:
        super().test_windows_are_a_chain(runs, run)

    @pytest.mark.parametrize("run", of_tier(*SEEN, more=LATER))
    def test_applied_is_the_total_unscaled_and_clipped(self, runs: Path, run: str) -> None:
        super().test_applied_is_the_total_unscaled_and_clipped(runs, run)

    @exhaustive(AGAIN)
    def test_without_half_precision_they_show_none(self, runs: Path) -> None:
        super().test_without_half_precision_they_show_none(runs)

    @pytest.mark.parametrize(("run", "dtype", "autocast"), of_tier(*MANIFESTS, more=LATER))
    def test_the_manifest(self, runs: Path, run: str, dtype: str, autocast: str | None) -> None:
        super().test_the_manifest(runs, run, dtype, autocast)

    @pytest.mark.parametrize(("run", "name"), of_tier(*EVALUATED, more=LATER))
    def test_the_evaluation_computes_in_the_types_of_the_recipe(
        self, runs: Path, run: str, name: str
    ) -> None:
        super().test_the_evaluation_computes_in_the_types_of_the_recipe(runs, run, name)

    @exhaustive(AGAIN)
    def test_averages_are_recorded(self, runs: Path) -> None:
        super().test_averages_are_recorded(runs)

    @pytest.mark.parametrize("bug", of_tier(*EVALUATIONS, more=LATER))
    def test_an_evaluation_in_another_type_is_seen(self, runs: Path, bug: str) -> None:
        super().test_an_evaluation_in_another_type_is_seen(runs, bug)

    @exhaustive("observed without emulation; `make test` has it in PyTorch")
    def test_without_emulation(self, scripts: Path) -> None:
        super().test_without_emulation(scripts)


def test_a_mean_of_keras_is_one_operation_in_half() -> None:
    """Inside, Keras 3 casts to float32 and back: PyTorch's kernel does the same unseen."""
    for order in run_python(Path(__file__).with_name("run_pooled_keras.py"), "tensorflow"):
        assert ["mean", ["float16"], "float16"] in order
        assert all(output == "float16" for _, _, output in order)
