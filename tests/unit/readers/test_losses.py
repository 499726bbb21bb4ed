"""The loss of a training loop: read where it is exactly one that a recipe names."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast_reading.readers.python.accumulation import READER as LOOPS
from crosscast_tensorflow.reading.keras import READER as KERAS_MODELS
from torch_programs import read_by


def losses(text: str, reader: Any = LOOPS) -> dict[str, Any]:
    found = read_by(reader, text)
    kept = {path: value for path, value in found.items() if path.startswith("loss.")}
    kept.pop("loss.named", None)  # see test_carried_losses.py
    return kept


TORCH = """
import torch
from torch import nn
from torch.nn import functional as F

optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = {criterion}
for inputs, labels in loader:
    optimizer.zero_grad()
    loss = {loss}
    {backward}
    optimizer.step()
"""


def torch_loss(
    criterion: str = "None",
    loss: str = "criterion(model(inputs), labels)",
    backward: str = "loss.backward()",
) -> dict[str, Any]:
    return losses(TORCH.format(criterion=criterion, loss=loss, backward=backward))


CROSS_ENTROPY = {"loss.kind": "cross_entropy"}


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ("nn.CrossEntropyLoss()", CROSS_ENTROPY),
        ("nn.CrossEntropyLoss().cuda()", CROSS_ENTROPY),
        ("nn.CrossEntropyLoss(reduction='none')", CROSS_ENTROPY),
        ("nn.CrossEntropyLoss(None)", CROSS_ENTROPY),
        ("nn.CrossEntropyLoss(ignore_index=-100)", CROSS_ENTROPY),
        ("nn.CrossEntropyLoss(label_smoothing=0.1)", {"loss.label_smoothing": 0.1}),
        ("nn.CrossEntropyLoss(label_smoothing=SMOOTHING)", {"loss.label_smoothing": "?"}),
        ("nn.CrossEntropyLoss(weight=weights)", {"loss.class_weights": "weighted_mean"}),
        ("nn.CrossEntropyLoss(weights)", {"loss.class_weights": "weighted_mean"}),
        ("nn.CrossEntropyLoss(ignore_index=0)", {"loss.ignore_index": 0}),
    ],
)
def test_cross_entropy_of_torch(criterion: str, expected: dict[str, Any]) -> None:
    assert torch_loss(criterion) == CROSS_ENTROPY | expected


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        ("F.cross_entropy(model(inputs), labels)", "cross_entropy"),
        ("nn.functional.cross_entropy(model(inputs), labels) / 4", "cross_entropy"),
        ("F.cross_entropy(model(inputs), labels, reduction='none').mean()", "cross_entropy"),
        ("nn.CrossEntropyLoss()(model(inputs), labels)", "cross_entropy"),
        ("F.mse_loss(model(inputs), labels)", "mse"),
        ("F.mse_loss(model(inputs), labels, reduction='none').float().mean()", "mse"),
        ("nn.MSELoss()(model(inputs), labels)", "mse"),
        ("F.binary_cross_entropy_with_logits(model(inputs), labels)", "binary_cross_entropy"),
        ("nn.BCEWithLogitsLoss()(model(inputs), labels)", "binary_cross_entropy"),
    ],
)
def test_functions_of_torch(loss: str, kind: str) -> None:
    assert torch_loss(loss=loss) == {"loss.kind": kind}


@pytest.mark.parametrize(
    "loss",
    [
        "model(inputs).sum()",
        "model(inputs, labels=labels).loss",
        "F.cross_entropy(model(inputs), labels) + 0.1 * penalty(model)",
        "0.5 * F.mse_loss(model(inputs), labels)",
        "F.mse_loss(model(inputs), labels, reduction='sum')",
        "F.mse_loss(model(inputs), labels, None, None, 'sum')",
        "F.mse_loss(model(inputs), labels, size_average=False)",
        "F.mse_loss(model(inputs), labels, reduction='none')",
        "F.mse_loss(model(inputs), labels, reduction='none').sum()",
        "torch.mean(F.mse_loss(model(inputs), labels, reduction='none'), dim=1).sum()",
        "F.binary_cross_entropy_with_logits(model(inputs), labels, weights)",
        "nn.BCEWithLogitsLoss(pos_weight=weights)(model(inputs), labels)",
        "F.binary_cross_entropy(model(inputs), labels)",
        "F.nll_loss(model(inputs), labels)",
        "F.smooth_l1_loss(model(inputs), labels)",
        "F.cross_entropy(model(inputs), labels) if warm else F.mse_loss(model(inputs), labels)",
        "F.cross_entropy(model(inputs), labels, **options)",
        "criterion(model(inputs), labels)",
    ],
)
def test_other_losses_of_torch_are_the_programs_own(loss: str) -> None:
    assert torch_loss("MyLoss()", loss) == {"loss.kind": "?"}


@pytest.mark.parametrize(
    "backward",
    [
        "(loss / 4).backward()",
        "scaler.scale(loss).backward()",
        "accelerator.backward(loss)",
        "loss = loss / 4; loss.backward()",
        "loss /= 4; loss.backward()",
    ],
)
def test_the_loss_is_followed_to_its_backward_pass(backward: str) -> None:
    assert torch_loss("nn.CrossEntropyLoss()", backward=backward) == CROSS_ENTROPY


@pytest.mark.parametrize(
    "backward",
    ["loss += penalty(model); loss.backward()", "(loss * 3).backward()", "other.backward()"],
)
def test_what_is_added_on_the_way_is_seen(backward: str) -> None:
    assert torch_loss("nn.CrossEntropyLoss()", backward=backward) == {"loss.kind": "?"}


def test_a_function_of_the_program_is_followed() -> None:
    text = """
    import torch

    def loss_of(model, batch):
        logits = model(batch["x"])
        return torch.nn.functional.cross_entropy(logits, batch["y"], label_smoothing=0.2)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
    """
    assert losses(text) == CROSS_ENTROPY | {"loss.label_smoothing": 0.2}


PADDLE = """
import paddle
import paddle.nn.functional as F

optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
scaler = paddle.amp.GradScaler()
for x, y in loader:
    loss = {loss}
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        ("F.cross_entropy(model(x), y)", "cross_entropy"),
        ("paddle.mean(F.softmax_with_cross_entropy(model(x), y))", "cross_entropy"),
        ("paddle.nn.CrossEntropyLoss()(model(x), y)", "cross_entropy"),
        ("F.mse_loss(model(x), y)", "mse"),
        ("F.binary_cross_entropy_with_logits(model(x), y)", "binary_cross_entropy"),
        ("F.cross_entropy(model(x), y, soft_label=True)", "?"),
        ("F.cross_entropy(model(x), y, use_softmax=False)", "?"),
        ("F.kl_div(model(x), y)", "?"),
        ("paddle.scale(F.mse_loss(model(x), y), 0.5)", "?"),
        ("scaler.scale(F.mse_loss(model(x), y))", "mse"),
    ],
)
def test_losses_of_paddle(loss: str, kind: str) -> None:
    assert losses(PADDLE.format(loss=loss)) == {"loss.kind": kind}


def test_ignored_labels_that_a_mean_of_paddle_counts() -> None:
    over_all = {"loss.kind": "cross_entropy", "loss.mean_over": "all_labels"}
    text = PADDLE.format(loss="F.cross_entropy(model(x), y, ignore_index={})")
    assert losses(text.format(-1)) == over_all | {"loss.ignore_index": -1}
    assert losses(text.format(3)) == {"loss.kind": "cross_entropy", "loss.ignore_index": 3}
    masked = text.format(-100).replace("    loss =", "    y[y == 0] = -100\n    loss =")
    assert losses(masked) == over_all
    assert losses(
        TORCH.format(
            criterion="nn.CrossEntropyLoss(ignore_index=-1)",
            loss="criterion(model(inputs), labels)",
            backward="loss.backward()",
        )
    ) == {"loss.kind": "cross_entropy", "loss.ignore_index": -1}


KERAS = """
import tensorflow as tf
from tensorflow import keras

model.compile(optimizer=keras.optimizers.Adam(1e-3), loss={loss})
model.fit(dataset)
"""
TAPE = """
import tensorflow as tf
from tensorflow import keras

optimizer = keras.optimizers.Adam(1e-3)
for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = {loss}
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        ("'mse'", "mse"),
        ("'mean_squared_error'", "mse"),
        ("keras.losses.MeanSquaredError()", "mse"),
        ("keras.losses.SparseCategoricalCrossentropy(from_logits=True)", "cross_entropy"),
        ("tf.keras.losses.BinaryCrossentropy(from_logits=True)", "binary_cross_entropy"),
        # of probabilities, of one-hot labels, of two outputs, the program's own
        ("'sparse_categorical_crossentropy'", "?"),
        ("keras.losses.SparseCategoricalCrossentropy()", "?"),
        ("keras.losses.CategoricalCrossentropy(from_logits=True)", "?"),
        ("keras.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1)", "?"),
        ("{'a': 'mse', 'b': 'mse'}", "?"),
        ("my_loss", "?"),
    ],
)
def test_losses_that_keras_compiles(loss: str, kind: str) -> None:
    assert losses(KERAS.format(loss=loss), KERAS_MODELS) == {"loss.kind": kind}


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (
            "tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, "
            "logits=model(x)))",
            "cross_entropy",
        ),
        (
            "keras.losses.SparseCategoricalCrossentropy(from_logits=True)(y, model(x))",
            "cross_entropy",
        ),
        ("tf.compat.v1.losses.sparse_softmax_cross_entropy(y, model(x))", "cross_entropy"),
        ("tf.compat.v1.losses.sparse_softmax_cross_entropy(y, model(x), weights=w)", "?"),
        ("tf.reduce_mean(keras.losses.mean_squared_error(y, model(x)))", "mse"),
        ("tf.reduce_mean(tf.square(model(x) - y))", "?"),
        ("keras.losses.SparseCategoricalCrossentropy()(y, model(x))", "?"),
    ],
)
def test_losses_of_a_tape(loss: str, kind: str) -> None:
    assert losses(TAPE.format(loss=loss)) == {"loss.kind": kind}


TWICE = """
import torch
from torch.nn import functional as F

optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

def step(x, labels):
    return {returned}

for inputs, labels in loader:
    optimizer.zero_grad()
    if amp:
        with torch.autocast("cuda"):
            {taken} = step(inputs, labels)
    else:
        {taken} = step(inputs, labels)
    {loss}.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("returned", "taken", "loss"),
    [
        ("{value}", "loss", "loss"),
        ("{value}, 1", "loss, _", "loss"),
        ("{{'loss': {value}}}", "out", "out['loss']"),
    ],
)
def test_a_function_that_is_called_twice(returned: str, taken: str, loss: str) -> None:
    value = returned.format(value="F.cross_entropy(model(x), labels)")
    text = TWICE.format(returned=value, taken=taken, loss=loss)
    assert losses(text) == CROSS_ENTROPY


@pytest.mark.parametrize("loss", ["follow(inputs)", "follow(inputs)[0]"])
def test_a_function_that_calls_itself_often(loss: str) -> None:
    branches = "".join(f"    if x == {i}:\n        return follow(x)\n" for i in range(30))
    text = f"def follow(x):\n{branches}    return unknown(x)\n"
    assert losses(text + TORCH.format(criterion="None", loss=loss, backward="loss.backward()")) == {
        "loss.kind": "?"
    }


@pytest.mark.parametrize(
    ("reduction", "kind"),
    [("sum_over_batch_size", "mse"), ("auto", "mse"), ("sum", "?"), ("none", "?")],
)
def test_reductions_of_keras(reduction: str, kind: str) -> None:
    loss = f"keras.losses.MeanSquaredError(reduction='{reduction}')"
    text = f"import keras\nmodel = keras.Sequential([])\nmodel.compile('adam', {loss})\n"
    assert losses(text, KERAS_MODELS) == {"loss.kind": kind}
