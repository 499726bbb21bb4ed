"""Sums of losses in loops and in models that are compiled: those carried, and look-alikes refused.

The programs are those of `across_fits.md`, which tests/frameworks/test_across_programs.py runs.
"""

from __future__ import annotations

from typing import Any

import pytest

from unit.migrate.across_changes import moved, reasons

SUMS_REFUSED = [
    ("keras_two", '"value": 0.5}', '"value": weight()}'),
    ("keras_two", '"value": 0.5}', "}"),
    ("keras_two", 'name="value")', 'name="other")'),
    ("keras_listed", '"mae"]', "own_loss]"),
    ("keras_listed", '"mae"]', "None]"),
    ("keras_listed", '"mae"]', '"sparse_categorical_crossentropy"]'),
    ("keras_listed", '"mae"]', 'keras.losses.MeanSquaredError(reduction="sum")]'),
    ("keras_listed", "loss_weights=[1.0, 0.25]", "loss_weights=[1.0]"),
    ("tensorflow_loop", "0.5 * squared", "0.5 * squared + sum(model.losses)"),
    ("tensorflow_loop", "    gradients = tape", "    loss += penalty\n    gradients = tape"),
    ("tensorflow_loop", "tf.reduce_mean(tf.square", "tf.reduce_sum(tf.square"),
    ("tensorflow_loop", "tf.reduce_mean(tf.square", "(tf.square"),
    ("tensorflow_loop", "cross_entropy(classes, logits)", "cross_entropy(logits, classes)"),
    ("tensorflow_loop", "cross_entropy(classes, ", "cross_entropy(classes - 1, "),
    ("tensorflow_loop", "(classes, logits)", "(classes, logits, sample_weight=w)"),
    ("jax_sum", "jnp.mean(optax.l2_loss", "jnp.sum(optax.l2_loss"),
    ("jax_sum", "+ 0.5 * l2", "+ 0.5 * l2 + 1e-4 * optax.global_norm(weights)"),
    ("jax_sum", "(logits, classes).mean", "(logits, classes % 2).mean"),
    ("jax_sum", "    return ce +", "    if small:\n        l2 = other\n    return ce +"),
    (
        "tensorflow_loop",
        "    gradients =",
        "        if x:\n            loss = other\n    gradients =",
    ),
    ("jax_sum", "l2_loss(value[:, 0], values)", "huber_loss(value[:, 0], values, 0.5)"),
]


WEIGHTS = '{"kind": 1.0, "value": 0.5}'
UNCERTAIN = [
    f"w = {WEIGHTS}\nw['value'] = 0.1\n",
    f"w = {WEIGHTS}\nif small:\n    w = {WEIGHTS.replace('0.5', '0.1')}\n",
    f"w = {WEIGHTS}\nif small:\n    w = read()\n",
    f"w = {WEIGHTS}\nw.update(value=0.1)\n",
]


@pytest.mark.parametrize("before", UNCERTAIN)
def test_weights_that_are_not_certain_are_left_to_the_user(before: str) -> None:
    given = (f"loss_weights={WEIGHTS}", "loss_weights=w")
    assert moved("keras_two", given, ("model.compile(", f"w = {WEIGHTS}\nmodel.compile(")).loss
    across = moved("keras_two", given, ("model.compile(", f"{before}model.compile("))
    assert across.loss is None
    assert "loss.kind" in across.fill_in


@pytest.mark.parametrize(("name", "old", "new"), SUMS_REFUSED)
def test_a_sum_that_means_something_else_is_left_to_the_user(name: str, old: str, new: str) -> None:
    across = moved(name, (old, new))
    assert "loss.kind" in across.fill_in
    assert "write its kind" in reasons(across, "loss.kind")
    assert not [file for file in across.files if file.endswith("own_loss.py")]


ONE_LOSS = [
    ('metrics=["accuracy"],', "loss_weights=[0.5],", "loss_weights=[0.5]"),
    ("model.compile(", "model.add_loss(penalty)\nmodel.compile(", "add_loss of the source adds"),
]


@pytest.mark.parametrize(("old", "new", "reason"), ONE_LOSS)
def test_what_fit_makes_of_a_loss_is_not_left_out(old: str, new: str, reason: str) -> None:
    across = moved("keras_fit", (old, new))
    assert "loss.kind" in across.fill_in
    assert reason in reasons(across, "loss.kind")


SUMS_KEPT = [
    ("tensorflow_loop", (("0.5 * squared", "squared / 2"),), (1, 2), (1.0, 0.5)),
    (
        "tensorflow_loop",
        (("for x, classes, values in", "for x, values, classes in"),),
        (2, 1),
        (1.0, 0.5),
    ),
    (
        "tensorflow_loop",
        (
            ("for x, classes, values in", "for batch in"),
            ("= train_step(x, classes, values)", "= train_step(batch)"),
            (
                "def train_step(x, classes, values):",
                "def train_step(b):\n    x, values, classes = b",
            ),
        ),
        (2, 1),
        (1.0, 0.5),
    ),
    (
        "tensorflow_loop",
        (("cross_entropy(classes, logits)", "cross_entropy(y_pred=logits, y_true=classes)"),),
        (1, 2),
        (1.0, 0.5),
    ),
    ("jax_sum", (("return ce + 0.5 * l2", "return (ce + l2) / 2, logits"),), (1, 2), (0.5, 0.25)),
    (
        "jax_sum",
        (("optax.l2_loss(value[:, 0], values)", "(values - value[:, 0]) ** 2"),),
        (1, 2),
        (1.0, 0.5),
    ),
]


@pytest.mark.parametrize(("name", "changes", "labels", "weights"), SUMS_KEPT)
def test_a_sum_has_the_weights_and_labels_of_the_source(
    name: str,
    changes: tuple[tuple[str, str], ...],
    labels: tuple[int, ...],
    weights: tuple[float, ...],
) -> None:
    loss: Any = moved(name, *changes).loss
    terms = loss.losses.terms
    assert tuple(term.labels + 1 for term in terms) == labels
    assert tuple(term.weight for term in terms) == weights


def test_labels_of_a_batch_by_name_are_told() -> None:
    batch = "{'x': xs[index], 'classes': classes[index], 'values': values[index]}"
    across = moved(
        "jax_sum",
        ("def loss_fn(model, x, classes, values):", "def loss_fn(model, batch):"),
        ("model(x)", "model(batch['x'])"),
        ("logits, classes)", "logits, batch['classes'])"),
        ("value[:, 0], values)", "value[:, 0], batch['values'])"),
        ("(loss_fn)(model, x, classes, values)", "(loss_fn)(model, batch)"),
        ("optimizer, x, classes, values):", "optimizer, batch):"),
        ("xs[index], classes[index], values[index])", f"{batch})"),
    )
    assert across.loss is not None
    assert across.loss.note.endswith("the labels are labels: classes, labels_2: values")
