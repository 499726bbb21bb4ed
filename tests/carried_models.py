"""Training programs with models that are carried to another framework, and inputs for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from crosscast.messages.source import Source
from crosscast_migrate.models.network import Layer, Network
from crosscast_migrate.models.reading import network_of
from crosscast_migrate.models.recurrence import GATES
from crosscast_reading.lift.analysis import analyse
from program_files import Entry, entries_of

BACKENDS = ("torch", "tensorflow", "paddle", "jax")
ROWS = 4
_LOOPS: Mapping[str, str] = {
    "torch": """
model = make()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for {names}, labels in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model({names}), labels)
    loss.backward()
    optimizer.step()
""",
    "paddle": """
model = make()
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for {names}, labels in loader:
    loss = paddle.nn.functional.cross_entropy(model({names}), labels)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
""",
    "tensorflow": """
model = make()
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, labels)
""",
    "jax": """
model = make()
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)


def loss_fn(model, {names}, labels):
    logits = model({names})
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@nnx.jit
def train_step(model, optimizer, {names}, labels):
    loss, gradients = nnx.value_and_grad(loss_fn)(model, {names}, labels)
    optimizer.update(model, gradients)
    return loss


for {names}, labels in loader:
    train_step(model, optimizer, {names}, labels)
""",
}
_HEADS: Mapping[str, str] = {
    "torch": "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n",
    "paddle": "import paddle\nimport paddle.nn.functional as F\nfrom paddle import nn\n\n",
    "tensorflow": "import keras\nfrom keras import layers\n\n",
    "jax": "from functools import partial\n\nimport jax\nimport jax.numpy as jnp\nimport optax\n"
    "from flax import nnx\n\n",
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model with a function `make()`, and the shapes of its inputs behind the rows."""

    name: str
    framework: str
    text: str
    inputs: Mapping[str, tuple[int, ...]]
    integers: int = 0
    """Inputs are numbers below this one; 0 for real numbers."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Target to a part of the reason why it is not written there."""

    @property
    def module(self) -> str:
        """The model alone, which can be imported."""
        return _HEADS[self.framework] + self.text

    @property
    def program(self) -> str:
        """A program that trains the model."""
        loop = _LOOPS[self.framework].format(names=", ".join(self.inputs))
        return f"{self.module}\n{loop}"

    def network(self) -> Network:
        """Return the model, read."""
        return network_read(self.program, self.framework)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return inputs."""
        rng = np.random.default_rng(7)
        if self.integers:
            return {
                name: rng.integers(0, self.integers, (ROWS, *shape))
                for name, shape in self.inputs.items()
            }
        return {
            name: rng.normal(size=(ROWS, *shape)).astype(np.float32)
            for name, shape in self.inputs.items()
        }


def network_read(text: str, framework: str) -> Network:
    """Return the model of a program; raises `UnreadableError`."""
    subject = analyse([Source("train.py", text)]).subject
    return network_of(subject.program, list(subject.steps), framework)


def program_of_jax(text: str, inputs: Iterable[str]) -> str:
    """Return a program that trains the model of an own_model.py that was written for JAX."""
    factory = "\n\ndef make():\n    return build_model(nnx.Rngs(0))\n\n"
    return f"import optax\n{text}{factory}" + _LOOPS["jax"].format(names=", ".join(inputs))


def weights_of(network: Network) -> dict[str, np.ndarray]:
    """Return weights for every layer, in the layout of PyTorch."""
    rng = np.random.default_rng(11)
    found: dict[str, np.ndarray] = {}
    for layer in network.layers:
        for name, shape in _shapes(layer).items():
            size = 0.5 if name != "var" else 0.0
            array = rng.uniform(-size, size, shape) + (1.0 if name == "var" else 0.1)
            found[f"{layer.name}/{name}"] = array.astype(np.float32)
    return found


def _shapes(layer: Layer) -> dict[str, tuple[int, ...]]:
    settings = layer.settings
    match layer.kind:
        case "linear":
            shapes = {
                "weight": (settings["units"], settings["inputs"]),
                "bias": (settings["units"],),
            }
        case "conv":
            inputs = settings["inputs"] // settings["groups"]
            weight = (settings["filters"], inputs, *settings["kernel"])
            shapes = {"weight": weight, "bias": (settings["filters"],)}
        case "batch_norm":
            learned = ("weight", "bias") if settings["affine"] else ()
            return dict.fromkeys((*learned, "mean", "var"), (settings["features"],))
        case "layer_norm":
            has = {"weight": settings["affine"], "bias": settings["shift"]}
            return {name: tuple(settings["shape"]) for name in has if has[name]}
        case "recurrent":
            rows = GATES[settings["cell"]] * settings["units"]
            found: dict[str, tuple[int, ...]] = {
                "weight": (rows, settings["inputs"]),
                "state": (rows, settings["units"]),
            }
            has = {"bias": settings["bias"], "state_bias": settings["state_bias"]}
            return found | {name: (rows,) for name in has if has[name]}
        case "embedding":
            return {"weight": (settings["count"], settings["width"])}
        case _:
            return {}
    return shapes if settings["bias"] else {"weight": shapes["weight"]}


def _case(entry: Entry) -> Case:
    name, _, shapes = entry.title.partition(": ")
    inputs = {
        argument: tuple(map(int, sizes))
        for argument, *sizes in (shape.split() for shape in shapes.split(", "))
    }
    text = f"\n{entry.text}"
    return Case(name=name, framework=entry.of, text=text, inputs=inputs, **entry.values)


SEQUENCES = tuple(map(_case, entries_of(Path(__file__).with_name("carried_sequences.md"))))
"""Models with attention and recurrent layers."""
CASES = (*map(_case, entries_of(Path(__file__).with_suffix(".md"))), *SEQUENCES)
"""Whole models of every framework, and the rarer operations."""
