"""Settings of layers that are said in a roundabout way: partials, absent weights, initializers."""

from __future__ import annotations

import pytest

from carried_models import BACKENDS, network_read
from crosscast_migrate.models.network import Initial, Layer, UnreadableError
from crosscast_migrate.models.writing import written

TORCH = """
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

{before}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.norm = {norm}

    def forward(self, x):
        return self.norm(self.fc(x))


def loss_of(model, x, labels):
    outputs = model(x)
    {lines}


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, labels in loader:
    optimizer.zero_grad()
    loss = loss_of(model, x, labels)
    loss.backward()
    optimizer.step()
"""
PADDLE = """
import paddle
from paddle import nn

model = nn.Sequential(nn.Linear(4, 4), {norm})
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for x, labels in loader:
    loss = paddle.nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
KERAS = """
import keras
from keras import layers

model = keras.Sequential([keras.Input((4,)), {norm}])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, labels)
"""
JAX = """
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = {norm}

    def __call__(self, x):
        return self.norm(x)


def loss_of(model, x, labels):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), labels).mean()


model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
for x, labels in loader:
    gradients = nnx.grad(loss_of)(model, x, labels)
    optimizer.update(model, gradients)
"""
RETURNED = "return F.cross_entropy(outputs, labels)"


def torch_program(norm: str, before: str = "", lines: str = RETURNED) -> str:
    return TORCH.format(norm=norm, before=before, lines=lines)


def last(text: str, framework: str) -> Layer:
    return network_read(text, framework).layers[-1]


PARTIALS = {
    "norm = partial(nn.LayerNorm, eps=1e-3)": "norm(4)",
    "norm = partial(partial(nn.LayerNorm, eps=1e-3), 4)": "norm()",
    "norm = partial(nn.LayerNorm, eps=1e-5)": "norm(4, eps=1e-3)",
    "": "partial(nn.LayerNorm, eps=1e-3)(4)",
}


@pytest.mark.parametrize(("before", "norm"), PARTIALS.items())
def test_arguments_of_a_partial_are_arguments_of_the_layer(before: str, norm: str) -> None:
    assert last(torch_program(norm, before), "torch").settings["eps"] == 1e-3


def test_one_of_two_partials_is_refused() -> None:
    before = "norm = partial(nn.LayerNorm, eps=1e-3)\nif flag:\n    norm = nn.LayerNorm"
    with pytest.raises(UnreadableError, match="norm is not known"):
        last(torch_program("norm(4)", before), "torch")


WEIGHTS = [
    (torch_program("nn.LayerNorm(4)"), "torch", True, True),
    (torch_program("nn.LayerNorm(4, bias=False)"), "torch", True, False),
    (torch_program("nn.LayerNorm(4, elementwise_affine=False)"), "torch", False, False),
    (PADDLE.format(norm="nn.LayerNorm(4, weight_attr=False)"), "paddle", False, True),
    (PADDLE.format(norm="nn.LayerNorm(4, bias_attr=False)"), "paddle", True, False),
    (KERAS.format(norm="layers.LayerNormalization(scale=False)"), "tensorflow", False, True),
    (KERAS.format(norm="layers.LayerNormalization(center=False)"), "tensorflow", True, False),
    (JAX.format(norm="nnx.LayerNorm(4, use_scale=False, rngs=rngs)"), "jax", False, True),
    (JAX.format(norm="nnx.LayerNorm(4, use_bias=False, rngs=rngs)"), "jax", True, False),
]
SAYS = {
    "torch": ("elementwise_affine=False", "bias=False"),
    "tensorflow": ("scale=False", "center=False"),
    "paddle": ("weight_attr=False", "bias_attr=False"),
    "jax": ("use_scale=False", "use_bias=False"),
}


@pytest.mark.parametrize(("text", "framework", "weight", "bias"), WEIGHTS)
@pytest.mark.parametrize("target", BACKENDS)
def test_a_normalization_has_the_weights_of_the_source(
    text: str, framework: str, weight: bool, bias: bool, target: str
) -> None:
    network = network_read(text, framework)
    initial = network.layers[-1].initial
    assert set(initial) == {name for name, has in (("weight", weight), ("bias", bias)) if has}
    if target == "torch" and bias and not weight:
        with pytest.raises(UnreadableError, match="a bias and no weight"):
            written(network, target)
        return
    code = written(network, target)
    without_weight, without_bias = SAYS[target]
    assert (without_weight in code) is not weight
    if weight or target != "torch":  # of PyTorch's two, the first takes the bias, too
        assert (without_bias in code) is not bias


ONE_OF_TWO = {
    "paddle": PADDLE.format(norm="nn.BatchNorm1D(4, bias_attr=False)"),
    "jax": JAX.format(norm="nnx.BatchNorm(4, use_bias=False, rngs=rngs)"),
}


@pytest.mark.parametrize("framework", ONE_OF_TWO)
def test_a_batch_normalization_with_one_weight_is_refused(framework: str) -> None:
    with pytest.raises(UnreadableError, match="with either a weight or a bias"):
        network_read(ONE_OF_TWO[framework], framework)


def test_what_a_normalization_of_paddle_starts_from_is_carried() -> None:
    start = "weight_attr=paddle.ParamAttr(initializer=nn.initializer.Constant({}))"
    for value in ("0.5", "value=0.5"):
        norm = f"nn.LayerNorm(4, {start.format(value)})"
        layer = last(PADDLE.format(norm=norm), "paddle")
        assert layer.initial["weight"] == Initial("constant", 0.5)
    strange = f"nn.LayerNorm(4, {start.format('value=args.start')})"
    network = network_read(PADDLE.format(norm=strange), "paddle")
    assert network.layers[-1].initial["weight"] is None
    assert network.notes == ("what the weight of layer_1 starts from is not carried",)


INITIALIZERS = {
    "keras.initializers.RandomNormal(0.0, 0.2)": Initial("normal", 0.2),
    "keras.initializers.RandomNormal(stddev=0.2)": Initial("normal", 0.2),
    "keras.initializers.RandomNormal(stddev=args.std)": None,
    "keras.initializers.RandomNormal(1.0, 0.2)": None,
    "keras.initializers.RandomNormal(0.0, 0.2, None, 1)": None,
}


@pytest.mark.parametrize(("initializer", "initial"), INITIALIZERS.items())
def test_arguments_of_an_initializer(initializer: str, initial: Initial | None) -> None:
    norm = f"layers.Dense(3, kernel_initializer={initializer})"
    assert last(KERAS.format(norm=norm), "tensorflow").initial["weight"] == initial


COMPUTED = [
    "return F.cross_entropy(outputs / 2.0, labels)",
    "scaled = outputs / 2.0\n    return F.cross_entropy(scaled, labels)",
    "return F.cross_entropy(outputs / 2.0, labels), outputs",
    "result = F.cross_entropy(outputs / 2.0, labels)\n    return result",
]


@pytest.mark.parametrize("lines", COMPUTED)
def test_what_a_function_of_the_loss_computes_of_the_outputs_is_refused(lines: str) -> None:
    with pytest.raises(UnreadableError, match="not what the model returns"):
        network_read(torch_program("nn.LayerNorm(4)", lines=lines), "torch")


MEASURED = [
    RETURNED,
    "return F.cross_entropy(outputs, labels), (outputs / 2.0).sum()",
    "half = outputs / 2.0\n    return F.cross_entropy(outputs, labels), half",
]


@pytest.mark.parametrize("lines", MEASURED)
def test_what_it_returns_beside_the_loss_is_no_part_of_the_model(lines: str) -> None:
    assert network_read(torch_program("nn.LayerNorm(4)", lines=lines), "torch").steps


def test_a_maximum_along_several_axes_is_taken_one_by_one_in_paddle() -> None:
    """All at once it has a wrong derivative there: tests/probes/paddle/test_maxima.py."""
    program = torch_program("nn.LayerNorm(4)").replace(
        "return self.norm(self.fc(x))", "return self.norm(self.fc(x)).amax(dim=(1, 2))"
    )
    network = network_read(program, "torch")
    assert "x.amax(1, True).amax(2, True).squeeze((1, 2))" in written(network, "paddle")
    assert "x.max((1, 2), keepdims=False)" in written(network, "jax")
    assert "x.amax((1, 2), keepdim=False)" in written(network, "torch")


def test_a_value_that_is_made_a_whole_number_is_refused() -> None:
    def read(value: str) -> object:
        program = torch_program("nn.LayerNorm(4)").replace("self.fc(x)", value)
        return network_read(program, "torch").steps

    assert read("self.fc(x.to(torch.float32))")
    assert read("self.fc(x.to(torch.int64))")  # a row that is one stays one
    with pytest.raises(UnreadableError, match="made a whole number"):
        read("self.fc(x).to(torch.int64)")
