"""The loss of static Paddle programs: read where it is exactly one that a recipe names."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast_reading.readers.python.accumulation import READER
from torch_programs import read_by

PROGRAM = """
import paddle
import paddle.fluid as fluid
import paddle.nn.functional as F
{before}
logits = fluid.layers.fc(input=features, size=10)
{loss}
optimizer = fluid.optimizer.Adam(learning_rate=1e-3)
optimizer.minimize({minimized})
exe = fluid.Executor(fluid.CPUPlace())
for batch in reader():
    exe.run(feed=feeder.feed(batch), fetch_list=[cost])
"""


def losses(loss: str, before: str = "", minimized: str = "cost") -> dict[str, Any]:
    found = read_by(READER, PROGRAM.format(before=before, loss=loss, minimized=minimized))
    return {path: value for path, value in found.items() if path.startswith("loss.")}


CROSS_ENTROPY = {"loss.kind": "cross_entropy"}


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (
            "cost = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))",
            CROSS_ENTROPY,
        ),
        (
            "each = fluid.layers.softmax_with_cross_entropy(logits=logits, label=label)\n"
            "cost = fluid.layers.mean(x=each)",
            CROSS_ENTROPY,
        ),
        (
            "each, probs = fluid.layers.softmax_with_cross_entropy(\n"
            "    logits=logits, label=label, return_softmax=True)\n"
            "cost = fluid.layers.reduce_mean(input=each)",
            CROSS_ENTROPY,
        ),
        ("cost = fluid.layers.reduce_sum(F.softmax_with_cross_entropy(logits, label))",
         CROSS_ENTROPY),
        ("cost = paddle.mean(F.cross_entropy(logits, label, reduction='none'))", CROSS_ENTROPY),
        (
            "cost = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(\n"
            "    logits, label, ignore_index=0))",
            CROSS_ENTROPY | {"loss.ignore_index": 0},
        ),
        ("cost = fluid.layers.mean(fluid.layers.square_error_cost(input=y_, label=y))",
         {"loss.kind": "mse"}),
        ("cost = paddle.mean(F.square_error_cost(y_, y))", {"loss.kind": "mse"}),
        ("cost = fluid.layers.mse_loss(y_, y)", {"loss.kind": "mse"}),
        (
            "cost = fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(y_, y))",
            {"loss.kind": "binary_cross_entropy"},
        ),
    ],
)  # fmt: skip
def test_losses_of_static_programs(loss: str, expected: dict[str, Any]) -> None:
    assert losses(loss) == expected


@pytest.mark.parametrize(
    "loss",
    [
        # of probabilities
        "cost = fluid.layers.mean(fluid.layers.cross_entropy(input=probs, label=label))",
        "probs = fluid.layers.softmax(logits)\n"
        "cost = fluid.layers.mean(x=fluid.layers.cross_entropy(probs, label))",
        "cost = fluid.layers.mean(fluid.layers.log_loss(probs, label))",
        # of other labels
        "cost = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(\n"
        "    logits, label, soft_label=True))",
        "cost = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label, True))",
        "cost = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label, axis=1))",
        # summed over the elements of a row, or not reduced
        "cost = fluid.layers.reduce_sum(fluid.layers.square_error_cost(y_, y))",
        "cost = fluid.layers.square_error_cost(y_, y)",
        "cost = fluid.layers.mean(fluid.layers.reduce_sum(\n"
        "    fluid.layers.square_error_cost(y_, y), dim=1))",
        "cost = fluid.layers.reduce_mean(fluid.layers.square_error_cost(y_, y), dim=1)",
        "cost = fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(\n"
        "    y_, y, normalize=True))",
        "cost = fluid.layers.mean(fluid.layers.sigmoid_cross_entropy_with_logits(\n"
        "    y_, y, ignore_index=-1))",
        # more than one call
        "ce = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))\n"
        "cost = ce + 0.4 * auxiliary",
        "ce = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))\n"
        "cost = fluid.layers.scale(ce, scale=0.5)",
        "ce = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))\n"
        "cost = fluid.layers.sum([ce, auxiliary])",
        "ce = fluid.layers.softmax_with_cross_entropy(logits, label)\n"
        "cost = fluid.layers.mean(fluid.layers.elementwise_mul(ce, weights))",
        # the second output
        "ce, cost = fluid.layers.softmax_with_cross_entropy(logits, label, return_softmax=True)",
    ],
)
def test_other_losses_are_the_programs_own(loss: str) -> None:
    assert losses(loss) == {"loss.kind": "?"}


SMOOTHED = """
soft = fluid.layers.label_smooth(label={label}, epsilon={epsilon}{more})
cost = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(
    logits=logits, label=soft, soft_label=True))
"""
ONE_HOT = "fluid.layers.one_hot(input=label, depth=10)"


def smoothed(label: str = ONE_HOT, epsilon: str = "0.2", more: str = "") -> dict[str, Any]:
    return losses(SMOOTHED.format(label=label, epsilon=epsilon, more=more))


def test_smoothed_labels() -> None:
    assert smoothed() == CROSS_ENTROPY | {"loss.label_smoothing": 0.2}
    assert smoothed(epsilon="SHARE") == CROSS_ENTROPY | {"loss.label_smoothing": "?"}
    text = "cost = F.cross_entropy(logits, F.label_smooth(F.one_hot(y, 10)), soft_label=True)"
    assert losses(text) == CROSS_ENTROPY | {"loss.label_smoothing": 0.1}


def test_labels_that_are_smoothed_otherwise() -> None:
    assert smoothed(label="shares") == {"loss.kind": "?"}
    assert smoothed(more=", prior_dist=prior") == {"loss.kind": "?"}
    text = "cost = fluid.layers.mean(fluid.layers.cross_entropy(probs, soft, soft_label=True))"
    text = f"soft = fluid.layers.label_smooth({ONE_HOT})\n{text}"
    assert losses(text) == {"loss.kind": "?"}
    assert losses(
        f"soft = fluid.layers.label_smooth({ONE_HOT}) if smooth else {ONE_HOT}\n"
        "cost = F.cross_entropy(logits, soft, soft_label=True)"
    ) == {"loss.kind": "?"}


NET = """
def net(features, label):
    logits = fluid.layers.fc(features, 10)
    each = fluid.layers.softmax_with_cross_entropy(logits, label)
    cost = fluid.layers.mean(each)
    accuracy = fluid.layers.accuracy(fluid.layers.softmax(logits), label)
    {returned}
"""


@pytest.mark.parametrize(
    ("returned", "loss", "expected"),
    [
        ("return cost, accuracy", "cost, accuracy = net(features, label)", "cross_entropy"),
        ("return [cost, accuracy]", "out = net(features, label)\ncost = out[0]", "cross_entropy"),
        (
            "return {'loss': cost, 'acc': accuracy}",
            "out = net(features, label)\ncost = out['loss']",
            "cross_entropy",
        ),
        ("return accuracy, cost", "cost, accuracy = net(features, label)", "?"),
        ("return cost + penalty, accuracy", "cost, accuracy = net(features, label)", "?"),
        (
            "out = {'loss': cost}\n    out['loss'] += penalty\n    return out",
            "out = net(features, label)\ncost = out['loss']",
            "?",
        ),
        ("return cost, accuracy", "out = net(features, label)\ncost = out[which]", "?"),
        ("return cost", "cost = net(features, label)[0]", "?"),
    ],
)
def test_a_part_of_what_a_function_returns(returned: str, loss: str, expected: str) -> None:
    assert losses(loss, NET.format(returned=returned)) == {"loss.kind": expected}
