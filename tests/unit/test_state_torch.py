"""States out of what scripts of PyTorch save: whose moment is which, and what is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError, Severity
from crosscast.state.saved_file import Foreign
from state_files import HALF, small_recipe
from torch_states import SCALED, SCALER, Tree, codes, read, tensor, tree_of


@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod.module.", "model."])
def test_a_usual_file(prefix: str) -> None:
    state, collect, account = read(tree_of(small_recipe(), prefix))
    assert collect.diagnostics == []
    assert (state.windows, state.updates, state.scale) == (6, 6, None)
    for name, array in state.weights.items():  # every moment is with its weight
        number = array.flat[0] - 0.25
        assert state.moments["exp_avg"][name].flat[0] == number
        assert state.moments["exp_avg_sq"][name].flat[0] == number + 0.5
    verdicts = {row.part: row.verdict for row in account.rows}
    assert verdicts == {
        "weights": "carried",
        "parameters": "derived",
        "learning rate": "derived",
        "exp_avg": "carried",
        "exp_avg_sq": "carried",
        "schedule": "derived",
        "windows": "carried",
        "updates": "carried",
    }


def test_a_file_of_lightning() -> None:
    tree = tree_of(small_recipe(), "model.")
    lightning = {
        "state_dict": tree["model"],
        "optimizer_states": [tree["optimizer"]],
        "lr_schedulers": [tree["scheduler"]],
        "pytorch-lightning_version": "2.5",
    }
    state, collect, _ = read(lightning)
    assert [diagnostic.code for diagnostic in collect.diagnostics] == ["CC965"]
    assert (state.windows, state.updates) == (6, 6)


def test_one_group_and_names_in_the_file() -> None:
    recipe = small_recipe(
        optimizer="{name: adamw, learning_rate: 1e-3, weight_decay: 0.01, no_decay: []}"
    )
    tree = tree_of(recipe)
    groups = tree["optimizer"]["param_groups"]
    names = list(tree["model"])
    groups[:] = [groups[0] | {"params": list(range(len(names)))}]
    for number, name in enumerate(names):
        shape = tree["model"][name].array.shape
        slots = {s: tensor(np.full(shape, number)) for s in ("exp_avg", "exp_avg_sq")}
        tree["optimizer"]["state"][number] = slots | {"step": tensor(6.0)}
    state, collect, _ = read(tree, recipe)
    assert collect.diagnostics == []
    assert state.moments["exp_avg"][names[3]].flat[0] == 3
    backwards = names[::-1]
    groups[0]["param_names"] = backwards
    for number, name in enumerate(backwards):
        shape = tree["model"][name].array.shape
        slots = {s: tensor(np.full(shape, number)) for s in ("exp_avg", "exp_avg_sq")}
        tree["optimizer"]["state"][number] = slots | {"step": tensor(6.0)}
    state, collect, account = read(tree, recipe)
    assert collect.diagnostics == []
    assert state.moments["exp_avg"][names[-1]].flat[0] == 0
    assert "by the names in the file" in {row.how for row in account.rows}


def test_old_names_and_constant_buffers() -> None:
    tree = tree_of(small_recipe())
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    renamed = {}
    for name, value in tree["model"].items():
        for new, before in old.items():
            name = name.replace(new, before)
        renamed[name] = value
    tree["model"] = {"bert.embeddings.position_ids": tensor(np.arange(5))} | renamed
    state, collect, account = read(tree)
    assert collect.diagnostics == []
    assert "bert.embeddings.LayerNorm.bias" in state.weights
    assert ("constant buffers", "left out") in {(r.part, r.verdict) for r in account.rows}


def test_loss_scales() -> None:
    recipe = small_recipe(**SCALED)
    tree = tree_of(recipe)
    for key, saved in (
        ("scaler", SCALER),
        ("amp", {"loss_scaler0": {"loss_scale": 512.0, "unskipped": 3}}),
        ("MixedPrecision", SCALER | {"scale": tensor(512.0)}),
    ):
        state, collect, account = read(tree | {key: saved}, recipe, windows=9)
        assert collect.diagnostics == [], key
        assert state.scale is not None
        assert (state.scale.scale, state.scale.good, state.scale.bad) == (512.0, 3, 0)
        assert (state.windows, state.updates) == (9, 6)
        assert ("hopeless windows", "reset") in {(r.part, r.verdict) for r in account.rows}
    _, collect, _ = read(tree | {"scaler": SCALER, "windows": 8, "updates": 6}, recipe)
    assert collect.diagnostics == []


def test_scaled_files_need_their_position() -> None:
    recipe = small_recipe(**SCALED)
    tree = tree_of(recipe) | {"scaler": SCALER}
    assert codes(read(tree, recipe)[1]) == ["CC967"]
    assert codes(read(tree, recipe, windows=9, updates=7)[1]) == ["CC967"]
    assert codes(read(tree, recipe, windows=5)[1]) == ["CC967"]
    attempts = small_recipe(**SCALED, schedule="{name: linear, total_steps: 10, tick: attempt}")
    tree["scheduler"]["last_epoch"] = 8
    state, collect, _ = read(tree, attempts)
    assert collect.diagnostics == []
    assert (state.windows, state.updates) == (8, 6)


def test_sgd_has_no_count_of_its_own() -> None:
    recipe = small_recipe(optimizer="{name: sgd, learning_rate: 1e-3, momentum: 0.9}")
    tree = tree_of(recipe)
    names = list(tree["model"])
    group = {"lr": 5e-4, "momentum": 0.9, "dampening": 0, "nesterov": False, "weight_decay": 0}
    state = {n: {"momentum_buffer": tree["model"][name]} for n, name in enumerate(names)}
    tree["optimizer"] = {
        "state": state,
        "param_groups": [group | {"params": list(range(len(names)))}],
    }
    found, collect, _ = read(tree, recipe)
    assert collect.diagnostics == []
    assert (found.updates, set(found.moments)) == (6, {"momentum_buffer"})
    del tree["scheduler"]
    assert codes(read(tree, recipe)[1]) == ["CC967"] * 2
    assert codes(read(tree, recipe, windows=6)[1]) == []
    group = tree["optimizer"]["param_groups"][0]
    for name, value in (("dampening", 0.1), ("nesterov", True), ("momentum", 0.8)):
        changed = {"state": state, "param_groups": [group | {name: value}]}
        assert codes(read(tree | {"optimizer": changed}, recipe, windows=6)[1]) == ["CC966"], name
    inside = "{name: sgd, learning_rate: 1e-3, momentum: 0.9, rate_in_momentum: true}"
    assert codes(read(tree, small_recipe(optimizer=inside), windows=6)[1]) == ["CC966"]


def with_group(**changes: Any) -> Callable[[Tree], None]:
    def change(tree: Tree) -> None:
        for group in tree["optimizer"]["param_groups"]:
            group.update(changes)

    return change


def in_state(**changes: Any) -> Callable[[Tree], None]:
    def change(tree: Tree) -> None:
        tree["optimizer"]["state"][0].update(changes)

    return change


def top(**changes: Any) -> Callable[[Tree], None]:
    return lambda tree: tree.update(changes)


def with_statistics(**changes: Any) -> Callable[[Tree], None]:
    """Changes a file whose model keeps running statistics."""

    def change(tree: Tree) -> None:
        tree["model"]["norm.running_mean"] = tensor([0.5])
        tree.update(changes)

    return change


CHANGES: dict[str, tuple[Callable[[Tree], None], str, str]] = {
    "eps": (with_group(eps=1e-6), "CC966", "eps is 1e-06"),
    "betas": (with_group(betas=[0.9, 0.98]), "CC966", "betas"),
    "betas of texts": (with_group(betas=["a", "b"]), "CC966", "betas"),
    "amsgrad": (with_group(amsgrad=True), "CC966", "amsgrad is True"),
    "maximize": (with_group(maximize=True), "CC966", "maximize is True"),
    "coupled": (with_group(decoupled_weight_decay=False), "CC966", "coupled"),
    "rate": (with_group(initial_lr=2e-3), "CC961", "parameters in a group"),
    "decay": (with_group(weight_decay=0.5), "CC961", "parameters in a group"),
    "a moment more": (in_state(max_exp_avg_sq=tensor([1.0])), "CC966", "max_exp_avg_sq"),
    "other steps": (in_state(step=tensor(5.0)), "CC967", "different numbers"),
    "half a step": (in_state(step=tensor(5.5)), "CC967", "different numbers"),
    "nan step": (in_state(step=tensor(np.nan)), "CC967", "different numbers"),
    "parameter": (lambda t: t["optimizer"]["state"].update({99: {}}), "CC961", "in no group"),
    "no groups": (lambda t: t["optimizer"].pop("param_groups"), "CC961", "lacks param_groups"),
    "window": (with_statistics(micro_step=2), "CC968", "'micro_step'"),
    "gradients": (with_statistics(grads={"w": tensor([0.5])}), "CC968", "'grads'"),
    "two models": (top(state_dict={}), "CC961", "are both weights"),
    "two optimizers": (top(optimizer=[{}, {}]), "CC961", "2 states of optimizer"),
    "object": (lambda t: t["model"].update(w=Foreign("Linear")), "CC961", "'w' is not a tensor"),
    "one name twice": (
        lambda t: t["model"].update({"bert.embeddings.LayerNorm.gamma": tensor([1.0] * 4)}),
        "CC961",
        "several become 'bert.embeddings.LayerNorm.weight'",
    ),
    "scaler of text": (top(scaler={"scale": "x"}), "CC961", "loss scale None"),
    "nan scale": (top(scaler=SCALER | {"scale": float("nan")}), "CC961", "loss scale None"),
    "zero scale": (top(scaler=SCALER | {"scale": 0.0}), "CC961", "loss scale 0.0"),
    "two scalers": (top(amp={"loss_scaler0": {}, "loss_scaler1": {}}), "CC961", "unknown loss"),
    "scaler": (top(scaler=[1, 2]), "CC961", "2 states of loss scale"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_files_that_are_refused(name: str) -> None:
    change, code, words = CHANGES[name]
    tree = tree_of(small_recipe())
    change(tree)
    _, collect, _ = read(tree)
    assert any(error.code == code and words in error.message for error in collect.errors), (
        collect.diagnostics
    )


def test_scalers_of_other_settings() -> None:
    recipe = small_recipe(**SCALED)
    tree = tree_of(recipe) | {"scaler": SCALER | {"growth_interval": 2000}, "windows": 9}
    assert codes(read(tree, recipe)[1]) == ["CC966"]
    patient = SCALED["loss_scaling"].replace("}", ", hysteresis: 2}")
    recipe = small_recipe(precision=HALF, loss_scaling=patient)
    assert codes(read(tree | {"scaler": SCALER}, recipe)[1]) == ["CC966"]


@pytest.mark.parametrize("form", ["eps_placement: before_correction", "bias_correction: false"])
def test_forms_that_torch_does_not_have(form: str) -> None:
    optimizer = f"{{name: adamw, learning_rate: 1e-3, weight_decay: 0.01, {form}}}"
    _, collect, _ = read(tree_of(small_recipe()), small_recipe(optimizer=optimizer))
    assert codes(collect) == ["CC966"]
    assert "torch.optim has" in collect.errors[0].message


def test_what_goes_nowhere_is_said() -> None:
    tree = tree_of(small_recipe()) | {"epoch": 3, "rng_state": tensor([1.0]), "args": Foreign("x")}
    tree["optimizer"]["param_groups"][0]["warm"] = 1
    tree["model"]["classifier.bias"] = tensor(tree["model"]["classifier.bias"].array, "float16")
    _, collect, account = read(tree)
    assert codes(collect) == []
    warnings = [
        diagnostic.message
        for diagnostic in collect.diagnostics
        if diagnostic.severity is Severity.WARNING
    ]
    assert len(warnings) == 5
    for words in ("'epoch'", "'rng_state'", "'args'", "'warm'", "1 weights are stored in half"):
        assert any(words in message for message in warnings), words
    left = {row.part for row in account.rows if row.verdict == "left out"}
    assert left == {"epoch", "rng_state", "args"}


def test_a_window_that_had_begun_begins_again() -> None:
    tree = tree_of(small_recipe())
    expected, *_ = read(tree)
    inside = {"micro_step": 2, "grads": {"classifier.bias": tensor([0.5])}}
    state, collect, account = read(tree | inside)
    assert codes(collect) == []
    assert [(diagnostic.code, diagnostic.severity) for diagnostic in collect.diagnostics] == [
        ("CC968", Severity.WARNING)
    ] * 2
    rows = {row.part: row.verdict for row in account.rows}
    assert (rows["micro_step"], rows["grads"]) == ("left out", "left out")
    assert state.counters() == expected.counters()


def test_averages() -> None:
    recipe = small_recipe(ema="{decay: 0.9}")
    tree = tree_of(recipe)
    averages = {
        f"module.{name}": tensor(parameter.array + 1) for name, parameter in tree["model"].items()
    }
    state, collect, _ = read(tree | {"ema": averages | {"n_averaged": tensor(6)}}, recipe)
    assert collect.diagnostics == []
    assert state.averages.keys() == state.weights.keys()
    state, *_ = read(tree | {"ema": {"shadow": dict(tree["model"])}}, recipe)
    assert state.averages.keys() == state.weights.keys()


@pytest.mark.parametrize(
    "tree",
    [
        [],
        None,
        7,
        {1: 2},
        {},
        {"model": {}},
        {"optimizer": {}},
        {"layer.weight": tensor([1.0])},
        Foreign("Net"),
    ],
)
def test_files_without_a_state(tree: Any) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read(tree)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CC960"]
