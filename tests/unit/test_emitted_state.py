"""`runtime/state.py` of TensorFlow: counters of the loss scale, own models and their dropout."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crosscast.emit.compiler import compile_recipe
from frameworks.emitted_script import tiny_recipe
from runtime_texts import state_module

SAVED = {"scale": 512.0, "good": 3, "bad": 1}


@pytest.fixture(scope="module")
def state() -> ModuleType:
    (compiled,) = compile_recipe(tiny_recipe(), ["tensorflow"])
    return state_module({path: file.text for path, file in compiled.files.items()})


def test_a_loss_scale_that_counts_overflows_keeps_its_counters(state: ModuleType) -> None:
    machine = SimpleNamespace(scale=1.0, good=0, bad=0)
    state.restore_scaler(SimpleNamespace(loss_scale=machine), SAVED)
    assert vars(machine) == SAVED
    assert state.scaler_counters(SimpleNamespace(loss_scale=machine)) == SAVED


def test_a_loss_scale_that_counts_none_has_had_none(state: ModuleType) -> None:
    machine = SimpleNamespace(scale=1.0, good=0)
    state.restore_scaler(SimpleNamespace(loss_scale=machine), SAVED)
    assert vars(machine) == {"scale": 512.0, "good": 3}
    counters = state.scaler_counters(SimpleNamespace(loss_scale=machine))
    assert counters == SAVED | {"bad": 0}


def test_a_constant_loss_scale_has_no_counters(state: ModuleType) -> None:
    constant = SimpleNamespace()
    state.restore_scaler(constant, SAVED)
    assert vars(constant) == {}
    assert state.scaler_counters(constant) == {}


def model(*paths: str, trainable: bool = True) -> Any:
    weights = [SimpleNamespace(path=path) for path in paths]
    return SimpleNamespace(weights=weights, trainable_variables=weights if trainable else [])


def test_a_model_that_cannot_be_trained_or_saved_is_refused(state: ModuleType) -> None:
    state.check_model(model("dense/kernel", "dense/bias"))
    with pytest.raises(state.Stop, match="no weights yet"):
        state.check_model(model("dense/kernel", trainable=False))
    with pytest.raises(state.Stop, match="two weights are called dense/kernel: name the layers"):
        state.check_model(model("dense/kernel", "dense/kernel", "bias"))


class Generator:
    """A variable of a dropout layer."""

    def __init__(self) -> None:
        self.value: list[int] = []

    def assign(self, value: list[int]) -> None:
        self.value = [int(number) for number in value]


def test_dropout_depends_on_seed_window_and_process(state: ModuleType) -> None:
    def drawn(*numbers: int) -> list[list[int]]:
        weight, first, second = object(), Generator(), Generator()
        own = SimpleNamespace(weights=[weight], variables=[weight, first, second])
        state.reseed(own, *numbers)
        return [first.value, second.value]

    wanted = np.random.SeedSequence([7, 3]).generate_state(2).tolist()
    assert drawn(7, 3) == [[seed, 0] for seed in wanted]
    assert drawn(7, 3) == drawn(7, 3)
    assert len({str(drawn(*numbers)) for numbers in ((7, 3), (7, 4), (8, 3), (7, 3, 1))}) == 4
