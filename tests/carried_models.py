"""Training programs with models that are carried to another framework, and inputs for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from crosscast.messages.source import Source
from crosscast_migrate.models.network import Layer, Network
from crosscast_migrate.models.reading import network_of
from crosscast_migrate.models.recurrence import GATES
from crosscast_reading.lift.analysis import analyse

BACKENDS = ("torch", "tensorflow", "paddle", "jax")
ROWS = 4
Framework = Literal["torch", "tensorflow", "paddle", "jax"]
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
    framework: Framework
    text: str
    inputs: Mapping[str, tuple[int, ...]]
    integers: int = 0
    """Inputs are numbers below this one; 0 for real numbers."""
    targets: tuple[str, ...] = BACKENDS
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


CASES = (
    Case(
        name="cnn",
        framework="torch",
        inputs={"x": (1, 12, 12)},
        text="""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 6, kernel_size=3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(6)
        self.drop = nn.Dropout(0.25)
        self.fc1 = nn.Linear(54, 10)
        self.fc2 = nn.Linear(10, 3)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = self.norm(self.conv2(x))
        x = F.max_pool2d(F.leaky_relu(x, 0.2), 3, stride=2, padding=1)
        x = self.drop(x)
        x = torch.flatten(x, 1)
        x = F.gelu(self.fc1(x))
        return self.fc2(x)


def make():
    return Net()
""",
    ),
    Case(
        name="residual",
        framework="torch",
        inputs={"images": (3, 8, 8)},
        text="""
class Block(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super(Block, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes, eps=1e-3, momentum=0.2)
        self.downsample = downsample

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, depths, num_classes):
        super().__init__()
        self.inplanes = 4
        conv = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.stem = nn.Sequential(conv, nn.BatchNorm2d(4), nn.ReLU())
        stages = []
        for i, depth in enumerate(depths):
            stages.append(self._stage(block, 4 * 2**i, depth, stride=1 if i == 0 else 2))
        self.stages = nn.Sequential(*stages)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _stage(self, block, planes, count, stride):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes, 1, stride=stride, bias=False),
                nn.BatchNorm2d(planes),
            )
        parts = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes
        for _ in range(1, count):
            parts.append(block(self.inplanes, planes))
        return nn.Sequential(*parts)

    def forward(self, images):
        x = self.stages(self.stem(images))
        x = self.pool(x)
        x = x.view(x.size(0), -1)
        return self.fc(x)


def make():
    return ResNet(Block, [1, 2], num_classes=5)
""",
    ),
    Case(
        name="perceptron",
        framework="torch",
        inputs={"x": (6,)},
        text="""
def make(hidden=8):
    return nn.Sequential(
        nn.Linear(6, hidden),
        nn.BatchNorm1d(hidden),
        nn.SiLU(),
        nn.Linear(hidden, hidden),
        nn.LayerNorm(hidden),
        nn.ELU(),
        nn.Softplus(),
        nn.Linear(hidden, 3),
    )
""",
    ),
    Case(
        name="words",
        framework="torch",
        inputs={"tokens": (7,), "segments": (7,)},
        integers=10,
        text="""
class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 6)
        self.segments = nn.Embedding(10, 6)
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(2)])
        self.conv = nn.Conv1d(6, 4, 3, padding=1)
        self.head = nn.Linear(8, 2)

    def forward(self, tokens, segments):
        x = self.words(tokens) + self.segments(segments)
        for layer in self.layers:
            x = torch.tanh(layer(x)) * 0.5 + x
        y = F.relu(self.conv(x.permute(0, 2, 1))).mean(dim=2)
        z = torch.sigmoid(y)
        return self.head(torch.cat([y, z], dim=1))


def make():
    return Words()
""",
    ),
    Case(
        name="pools",
        framework="torch",
        inputs={"x": (2, 9, 9)},
        refused={"tensorflow": "an average does not count"},
        text="""
class Pools(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 5, stride=2, padding=2, groups=2)
        self.average = nn.AvgPool2d(2, count_include_pad=False, padding=1)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = self.average(torch.sigmoid(self.conv(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def make():
    return Pools()
""",
    ),
    Case(
        name="keras-images",
        framework="tensorflow",
        inputs={"x": (14, 14, 1)},
        text="""
def make():
    return keras.Sequential(
        [
            keras.Input(shape=(14, 14, 1)),
            layers.Rescaling(1.0 / 2),
            layers.Conv2D(4, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Conv2D(6, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Conv2D(6, 3, strides=2, padding="same", activation="gelu"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(5),
        ]
    )
""",
    ),
    Case(
        name="keras-functional",
        framework="tensorflow",
        inputs={"x": (12,)},
        text="""
def make(width=8):
    inputs = keras.Input(shape=(12,))
    x = layers.Dense(width, activation="relu", kernel_initializer="he_normal")(inputs)
    x = layers.BatchNormalization()(x)
    shortcut = x
    x = layers.Dense(width)(x)
    x = layers.LayerNormalization()(x)
    x = layers.Activation("silu")(layers.add([x, shortcut]))
    y = layers.Dense(3, activation="tanh")(x)
    x = layers.Concatenate()([x, y])
    outputs = layers.Dense(4)(x)
    return keras.Model(inputs=inputs, outputs=outputs)
""",
    ),
    Case(
        name="keras-subclass",
        framework="tensorflow",
        inputs={"x": (10, 10, 3)},
        text="""
class Net(keras.Model):
    def __init__(self, classes):
        super().__init__()
        self.conv = layers.Conv2D(4, 3, activation="relu")
        self.drop = layers.Dropout(0.1)
        self.pool = layers.GlobalAveragePooling2D()
        self.head = layers.Dense(classes)

    def call(self, inputs, training=False):
        x = self.conv(inputs)
        x = self.drop(x, training=training)
        return self.head(self.pool(x))


def make():
    return Net(classes=3)
""",
        refused=dict.fromkeys(BACKENDS, "is not in the source"),
    ),
)
