"""States out of what JAX programs save: what optax wraps, where counters stand, what is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import Collector, DiagnosticError, Severity
from crosscast.recipe.document import Recipe
from crosscast.state.emitted import check
from crosscast.state.reading import GivenPosition, Reading
from crosscast.state.recipe_check import misfits
from crosscast.state.saved_file import SavedTensor
from crosscast.state.training_state import Account, TrainingState
from crosscast_jax.states.state import STATES
from state_files import HALF, OWN, small_recipe
from torch_states import codes

Tree = dict[str, Any]
ADAMW = "{name: adamw, learning_rate: 1e-3, weight_decay: 0.01}"
SCALED = {
    "precision": HALF,
    "loss_scaling": "{mode: dynamic, init_scale: 1024, growth_interval: 50}",
}


def recipe_of(**changes: str) -> Recipe:
    return small_recipe(**{"model": OWN, "optimizer": ADAMW, **changes})


def tensor(array: Any, dtype: str = "float32") -> SavedTensor:
    return SavedTensor(np.asarray(array, np.float32), dtype)


def number(value: int) -> SavedTensor:
    return SavedTensor(np.asarray(value, np.int32), "int32")


def weights(value: float = 1.0) -> Tree:
    """A layer in a list and a norm, as a file of Flax holds them."""
    return {
        "layers": {"0": {"kernel": tensor(np.full((3, 2), value)), "bias": tensor([value] * 2)}},
        "norm": {"scale": tensor([value, value])},
    }


def adam(updates: int = 6) -> Tree:
    return {"count": number(updates), "mu": weights(2.0), "nu": weights(3.0)}


def chained(updates: int = 6) -> Tree:
    """The state of a chain: a clip, Adam, a masked decay, a schedule."""
    inner = {"0": adam(updates), "1": {"inner_state": None}, "2": {"count": number(updates)}}
    return {"0": {}, "1": inner}


def tree_of(updates: int = 6, **more: Any) -> Tree:
    return {"params": weights(), "opt_state": chained(updates), "step": updates, **more}


def read(
    tree: Any, recipe: Recipe | None = None, **position: int
) -> tuple[TrainingState, Collector, Account]:
    collect, account = Collector(), Account()
    recipe = recipe or recipe_of()
    reading = Reading("x.msgpack", recipe, account, collect)
    state = STATES.read(tree, reading, GivenPosition(**position))
    if not collect.errors:
        assert [*check(state), *misfits(state, recipe)] == []
    return state, collect, account


def as_variables(tree: Any) -> Any:
    """Return a tree as Orbax writes variables of NNX."""
    if isinstance(tree, dict):
        return {key: as_variables(value) for key, value in tree.items()}
    return {"value": tree}


def as_lists(tree: Any) -> Any:
    """Return a tree as Orbax writes tuples."""
    if isinstance(tree, dict) and tree and all(key.isdigit() for key in tree):
        return [as_lists(value) for value in tree.values()]
    return {k: as_lists(v) for k, v in tree.items()} if isinstance(tree, dict) else tree


FORMS: dict[str, Callable[[], Tree]] = {
    "a file of Flax": tree_of,
    "a folder of Orbax": lambda: as_lists(tree_of()),
    "NNX": lambda: {
        "model": as_variables(weights()),
        "optimizer": {"opt_state": as_variables(chained()), "step": {"value": number(6)}},
    },
    "one key around it": lambda: {"default": {"state": tree_of()}},
    "collections of Linen": lambda: tree_of() | {"params": {"params": weights()}},
    "groups": lambda: (
        tree_of()
        | {
            "opt_state": {
                "inner_states": {
                    "decayed": {
                        "inner_state": [
                            {
                                "count": number(6),
                                "mu": {"layers": weights(2.0)["layers"], "norm": {"scale": None}},
                                "nu": {"layers": weights(3.0)["layers"], "norm": {"scale": {}}},
                            }
                        ]
                    },
                    "others": {
                        "inner_state": [
                            {
                                "count": number(6),
                                "mu": {"norm": weights(2.0)["norm"]},
                                "nu": {"norm": weights(3.0)["norm"]},
                            }
                        ]
                    },
                }
            }
        }
    ),
    "hyperparameters": lambda: (
        tree_of()
        | {
            "opt_state": {
                "count": number(6),
                "hyperparams": {"learning_rate": tensor(0.5), "b1": tensor(0.9)},
                "hyperparams_states": {"learning_rate": {"count": number(6)}},
                "inner_state": chained(),
            }
        }
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_a_state(form: str) -> None:
    state, collect, account = read(FORMS[form]())
    assert collect.diagnostics == []
    assert set(state.weights) == {"layers.0.kernel", "layers.0.bias", "norm.scale"}
    assert {slot: {*arrays} for slot, arrays in state.moments.items()} == {
        "exp_avg": set(state.weights),
        "exp_avg_sq": set(state.weights),
    }
    assert {array.flat[0] for array in state.moments["exp_avg_sq"].values()} == {3.0}
    assert (state.windows, state.updates, state.scale) == (6, 6, None)
    assert {row.part for row in account.rows} >= {"weights", "exp_avg", "exp_avg_sq", "updates"}


def test_momentum() -> None:
    recipe = recipe_of(optimizer="{name: sgd, learning_rate: 0.1, momentum: 0.9}")
    tree = {"params": weights(), "opt_state": [{"trace": weights(5.0)}, {}], "step": 6}
    state, collect, _ = read(tree, recipe)
    assert collect.diagnostics == []
    assert set(state.moments) == {"momentum_buffer"}
    assert (state.windows, state.updates) == (6, 6)


def test_averages_statistics_and_random_numbers() -> None:
    tree = tree_of(
        ema_params=weights(4.0),
        batch_stats={"norm": {"mean": tensor([0.0, 1.0]), "var": tensor([1.0, 1.0])}},
    )
    tree["params"]["drop"] = {"rngs": {"count": number(3), "key": number(5)}}
    state, collect, account = read(tree, recipe_of(ema="{decay: 0.9}"))
    assert collect.diagnostics == []
    assert set(state.weights) - set(state.averages) == {"norm.mean", "norm.var"}
    assert state.averages["norm.scale"].tolist() == [4.0, 4.0]
    assert [row.verdict for row in account.rows if row.part == "random numbers"] == ["left out"]


def test_windows_of_multi_steps() -> None:
    """`step` counts micro-batches then; a window that has begun begins again."""
    steps = {
        "mini_step": number(0),
        "gradient_step": number(6),
        "inner_opt_state": chained(),
        "acc_grads": weights(0.0),
        "skip_state": {},
    }
    state, collect, _ = read(tree_of() | {"opt_state": steps, "step": 24})
    assert collect.diagnostics == []
    assert (state.windows, state.updates) == (6, 6)
    within = tree_of() | {"opt_state": steps | {"mini_step": number(1)}}
    _, collect, _ = read(within)
    assert [(d.code, d.severity) for d in collect.diagnostics] == [("CC968", Severity.WARNING)]
    statistics = {"norm": {"mean": tensor([0.0, 0.0])}}
    _, collect, _ = read(within | {"batch_stats": statistics})
    assert codes(collect) == ["CC968"]


def test_a_step_that_counts_something_else() -> None:
    state, collect, _ = read(tree_of() | {"step": 24})
    assert [(d.code, d.severity) for d in collect.diagnostics] == [("CC965", Severity.WARNING)]
    assert (state.windows, state.updates) == (6, 6)


def test_skipped_windows() -> None:
    guarded = {
        "notfinite_count": number(0),
        "last_finite": number(1),
        "total_notfinite": number(2),
        "inner_state": chained(),
    }
    scaled = tree_of() | {
        "opt_state": guarded,
        "dynamic_scale": {"fin_steps": number(3), "scale": tensor(512.0)},
    }
    state, collect, _ = read(scaled, recipe_of(**SCALED))
    assert collect.diagnostics == []
    assert (state.windows, state.updates) == (8, 6)
    assert state.scale is not None
    assert (state.scale.scale, state.scale.good) == (512.0, 3)
    jmp = tree_of() | {"loss_scale": {"loss_scale": tensor(512.0), "counter": number(3)}, "step": 8}
    state, collect, _ = read(jmp, recipe_of(**SCALED))
    assert collect.diagnostics == []
    assert (state.windows, state.updates) == (8, 6)
    _, collect, _ = read(jmp, recipe_of(**SCALED), windows=9)
    assert collect.diagnostics == []


REFUSED: dict[str, tuple[Callable[[], Tree], str, str]] = {
    "other moments": (
        lambda: tree_of() | {"opt_state": {"v_row": weights(), "count": number(6)}},
        "CC966",
        "moment 'v_row'",
    ),
    "moments of another optimizer": (
        lambda: tree_of() | {"opt_state": {"trace": weights()}},
        "CC966",
        "moment 'trace'",
    ),
    "two optimizers": (
        lambda: tree_of() | {"opt_state": {"0": adam(), "1": adam()}},
        "CC961",
        "several tensors of 'mu'",
    ),
    "moments of others": (
        lambda: tree_of() | {"params": {"norm": weights()["norm"]}},
        "CC961",
        "which are no weights",
    ),
    "counts that differ": (
        lambda: tree_of() | {"opt_state": chained() | {"3": {"count": number(5)}}},
        "CC967",
        "different numbers",
    ),
    "windows that differ": (
        lambda: (
            tree_of()
            | {
                "opt_state": {
                    str(n): {"mini_step": number(0), "gradient_step": number(n), "inner": {}}
                    for n in (6, 7)
                }
            }
        ),
        "CC967",
        "different numbers of windows",
    ),
    "settings that differ": (
        lambda: (
            tree_of()
            | {"opt_state": {"hyperparams": {"b2": tensor(0.95)}, "inner_state": chained()}}
        ),
        "CC966",
        "b2 is 0.95",
    ),
    "text for a tensor": (
        lambda: tree_of() | {"params": weights() | {"name": "net"}},
        "CC961",
        "'name' is not a tensor",
    ),
    "other collections": (
        lambda: tree_of() | {"params": {"params": weights(), "cache": weights()}},
        "CC961",
        "collection 'cache'",
    ),
    "two kinds of weights": (lambda: tree_of(model=weights()), "CC961", "are both weights"),
    "a loss scale that is none": (
        lambda: tree_of(dynamic_scale={"scale": tensor(np.inf), "fin_steps": number(0)}),
        "CC961",
        "loss scale None",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    make, code, words = REFUSED[name]
    recipe = recipe_of(**SCALED) if "scale" in name else recipe_of()
    _, collect, _ = read(make(), recipe)
    assert code in codes(collect)
    assert words in " ".join(error.message for error in collect.errors)


@pytest.mark.parametrize("tree", [[], {}, {"params": weights()}, {"opt_state": chained()}])
def test_files_without_a_state(tree: Any) -> None:
    with pytest.raises(DiagnosticError, match="CC960"):
        read(tree)


def test_a_parameter_that_is_called_value() -> None:
    tree = tree_of()
    tree["params"]["norm"] = {"value": tensor([1.0]), "scale": tensor([1.0, 1.0])}
    for slot in ("mu", "nu"):
        tree["opt_state"]["1"]["0"][slot]["norm"]["value"] = tensor([1.0])
    state, collect, _ = read(tree)
    assert collect.diagnostics == []
    assert "norm.value" in state.weights


def test_half_precision_is_said() -> None:
    tree = tree_of()
    tree["params"]["norm"] = {"scale": tensor([1.0, 1.0], "bfloat16")}
    _, collect, _ = read(tree)
    assert [diagnostic.code for diagnostic in collect.diagnostics] == ["CC965"]


def test_formulas_that_optax_does_not_have() -> None:
    optimizer = "{name: sgd, learning_rate: 0.1, momentum: 0.9, rate_in_momentum: true}"
    tree = {"params": weights(), "opt_state": {"trace": weights()}, "step": 6}
    _, collect, _ = read(tree, recipe_of(optimizer=optimizer))
    assert codes(collect) == ["CC966"]
