"""Terms of optax as settings of an optimizer, and gradients before they were clipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crosscast_jax.inside.gradient_sums import before_clips
from crosscast_jax.inside.update_settings import ToldTerm, name_of, roles_of, settings_of

NAMES = ("dense.kernel", "dense.bias")
ADAM = ToldTerm("adam", {"b1": 0.9, "b2": 0.99, "eps": 1e-8}, frozenset(NAMES))


def term(kind: str, *names: str, **settings: Any) -> ToldTerm:
    return ToldTerm(kind, settings, frozenset(names or NAMES))


RATE = term("rate", factor=-0.1)
DECAY = term("decay", weight_decay=0.01)
MOMENTUM = term("momentum", momentum=0.9, nesterov=False)


@pytest.mark.parametrize(
    ("terms", "cls"),
    [
        ((ADAM, RATE), "Adam"),
        ((DECAY, ADAM, RATE), "Adam"),
        ((ADAM, DECAY, RATE), "AdamW"),
        ((ADAM, DECAY, term("trust ratio"), RATE), "Lamb"),
        ((term("lion", b1=0.9, b2=0.99), DECAY, RATE), "Lion"),
        ((RATE,), "SGD"),
        ((DECAY, MOMENTUM, RATE), "SGD"),
        ((RATE, MOMENTUM), "rate+momentum"),  # the momentum holds the rate
        ((ADAM,), "adam"),
        ((ADAM, term("ema"), RATE), "adam+ema+rate"),
    ],
)
def test_an_order_of_terms_is_an_optimizer(terms: tuple[ToldTerm, ...], cls: str) -> None:
    assert settings_of(terms, NAMES).cls == cls


def test_factors_behind_the_optimizer_are_its_rate() -> None:
    terms = (ADAM, term("rate", factor=0.5), term("rate", factor=-0.1))
    (group,) = settings_of(terms, NAMES).groups
    assert group["lr"] == pytest.approx(0.05)
    assert group["betas"] == [0.9, 0.99]
    assert "maximize" not in group
    (group,) = settings_of((ADAM, term("rate", factor=0.1)), NAMES).groups
    assert group["maximize"]


def test_masked_terms_make_groups() -> None:
    decay = term("decay", "dense.kernel", weight_decay=0.01)
    told = settings_of((ADAM, decay, RATE), NAMES)
    assert told.cls == "AdamW"
    assert told.group_of == {"dense.kernel": 0, "dense.bias": 1}
    assert [group["weight_decay"] for group in told.groups] == [0.01, 0.0]
    assert all(group["decoupled_weight_decay"] for group in told.groups)


def test_weights_that_are_not_trained_have_no_rate() -> None:
    kernel = "dense.kernel"
    trained = [term(t.kind, kernel, **t.settings) for t in (ADAM, RATE)]
    told = settings_of([*trained, term("zero", "dense.bias")], NAMES)
    assert told.cls == "Adam"
    assert [group["lr"] for group in told.groups] == [0.1, 0.0]


def test_two_optimizers_of_one_transformation_are_both_named() -> None:
    left = [term(t.kind, "dense.kernel", **t.settings) for t in (ADAM, RATE)]
    right = [term(t.kind, "dense.bias", **t.settings) for t in (MOMENTUM, RATE)]
    assert settings_of([*left, *right], NAMES).cls == "Adam and SGD"


def test_clips_are_those_of_all_gradients_before_anything_else() -> None:
    clip = term("clip by global_norm", limit=0.5)
    told = settings_of((clip, ADAM, RATE), NAMES)
    assert [(entry["kind"], entry["limit"]) for entry in told.clips] == [("global_norm", 0.5)]
    assert told.cls == "Adam"
    some = term("clip by global_norm", "dense.bias", limit=0.5)
    for terms in ((some, ADAM, RATE), (ADAM, clip, RATE)):
        told = settings_of(terms, NAMES)
        assert not told.clips
        assert "clip by global_norm" in told.cls


class Key:
    def __init__(self, **names: Any) -> None:
        self.__dict__.update(names)


def test_names_and_roles_come_from_paths() -> None:
    path = (
        Key(key="params"),
        Key(name="LayerNorm_0"),
        Key(idx=2),
        Key(key="bias"),
        Key(name="value"),
    )
    assert name_of(path) == "params.LayerNorm_0.2.bias"
    assert name_of(()) == "weights"
    assert roles_of("params.LayerNorm_0.bias") == ["bias", "layer_norm"]
    assert roles_of("norm1.scale") == ["layer_norm"]
    assert roles_of("BatchNorm_0.scale") == []
    assert roles_of("Embed_0.embedding") == ["embedding"]


GRADIENTS = {"a": np.array([3.0, -1.0]), "b": np.array([2.0])}


def times(factor: float) -> dict[str, np.ndarray]:
    return {name: factor * array for name, array in GRADIENTS.items()}


@pytest.mark.parametrize("factor", [1.0, 1 / 3, 1 / 3 + 1e-7, 1 / 3 - 1e-7])
def test_a_sum_or_a_mean_is_what_was_handed(factor: float) -> None:
    handed = times(factor)
    assert before_clips(handed, GRADIENTS, 3) is handed


def test_gradients_before_a_limit_on_their_norm() -> None:
    """Below the mean it does not show whether the sum or the mean exceeded the limit."""
    for factor, whole in ((0.5, 1.0), (0.1, 0.25)):
        total = before_clips(times(factor), GRADIENTS, 4)
        assert total is not None
        assert total["a"] == pytest.approx(whole * GRADIENTS["a"])


def test_gradients_that_were_changed_otherwise() -> None:
    clipped = {name: np.clip(array, -1.5, 1.5) for name, array in GRADIENTS.items()}
    total = before_clips(clipped, GRADIENTS, 1)
    assert total is not None
    assert total["a"] == pytest.approx(GRADIENTS["a"])
    assert before_clips(clipped, GRADIENTS, 4) is None
    assert before_clips(times(2.0), GRADIENTS, 4) is None
    assert before_clips({"c": np.ones(1)}, GRADIENTS, 1) is None
    assert before_clips(times(1.0), GRADIENTS, 0) is None
