"""Tables of models for a framework that is written unlike the others, in the way of Flax NNX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from carried_models import network_read
from crosscast_migrate.models import installed
from crosscast_migrate.models.initials import constant, truncated_normal, variance_scaling
from crosscast_migrate.models.network import Settings, UnreadableError
from crosscast_migrate.models.rows import REQUIRED, Argument, Reading, arguments
from crosscast_migrate.models.tables import Fill, ModelReading, ModelTables, ModelWriting
from crosscast_migrate.models.writing import written


def _window(settings: Settings) -> Mapping[str, str]:
    padding = settings["padding"]
    pairs = list(padding) if padding != "same" else "SAME"
    sizes = {name: repr(settings[name]) for name in ("kernel", "stride")}
    return {**sizes, "padding": repr(pairs).replace("'", '"')}


SYMMETRIC = """def symmetric(bound):
    return lambda key, shape, dtype: jax.random.uniform(key, shape, dtype, -bound, bound)"""
_WINDOW = (Argument("strides", "stride", 1), Argument("padding", "padding", "SAME"))
NNX = ModelTables(
    backend="nnx",
    title="Flax NNX",
    channels="last",
    initials={
        kind: {"weight": variance_scaling(1.0, "fan_in", "truncated_normal"), "bias": constant(0.0)}
        for kind in ("linear", "conv")
    },
    reading=ModelReading(
        package="flax.nnx",
        layers={
            "Linear": Reading(
                "linear",
                (
                    Argument("in_features", "inputs"),
                    Argument("out_features", "units"),
                    Argument("use_bias", "bias", True),
                    Argument("kernel_init", "weight_initial", None),
                    *arguments("rngs?"),
                ),
            ),
            "Conv": Reading(
                "conv",
                (
                    Argument("in_features", "inputs"),
                    Argument("out_features", "filters"),
                    Argument("kernel_size", "kernel"),
                    *_WINDOW,
                    *arguments("rngs?"),
                ),
                {"dilation": 1, "groups": 1, "bias": True},
            ),
        },
        functions={
            "flax.nnx.relu": Reading("relu"),
            "flax.nnx.max_pool": Reading(
                "max_pool", (Argument("window_shape", "kernel"), *_WINDOW)
            ),
        },
        methods={"reshape": Reading("reshape", (Argument("shape", "shape"),))},
        forward="__call__",
        initializers={
            "flax.nnx.initializers.truncated_normal": Fill(
                of=lambda given: truncated_normal(given.get("stddev", 0.01))
            )
        },
    ),
    writing=ModelWriting(
        imports=("import jax", "from flax import nnx"),
        helpers={"symmetric": SYMMETRIC},
        base="nnx.Module",
        constructor=("def __init__(self, rngs: nnx.Rngs) -> None:",),
        created="{name}(nnx.Rngs(0))",
        signature="def __call__(self, {inputs}):",
        layers={
            "linear": (
                "nnx.Linear",
                "{inputs}",
                "{units}",
                "use_bias={bias}|True",
                "kernel_init={weight}",
                "bias_init={b}",
                "rngs=rngs",
            ),
            "conv": (
                "nnx.Conv",
                "{inputs}",
                "{filters}",
                "{kernel}",
                "strides={stride}",
                "padding={padding}",
                "kernel_init={weight}",
                "bias_init={b}",
                "rngs=rngs",
            ),
        },
        operations={
            "relu": "nnx.relu({0})",
            "flatten": "{0}.reshape(-1, {features})",
            "permute": "{0}.transpose({axes})",
            "max_pool": "nnx.max_pool({0}, {kernel}, strides={stride}, padding={padding})",
        },
        values={"conv": _window, "max_pool": _window},
        initials={
            "uniform": "symmetric({n})",
            "truncated_normal": "nnx.initializers.truncated_normal({n})",
        },
    ),
)
HEAD = "from flax import nnx\n\n\nclass Net(nnx.Module):\n    def __init__(self, rngs):\n"
SOURCE = f"""{HEAD}        self.conv = nnx.Conv(1, 4, (3, 3), rngs=rngs)
        start = nnx.initializers.truncated_normal(stddev=0.5)
        self.layers = [nnx.Linear(4 * 36, 8, kernel_init=start, rngs=rngs)]

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.conv(x)), (2, 2), strides=(2, 2), padding="VALID")
        x = x.reshape(x.shape[0], -1)
        for layer in self.layers:
            x = layer(x)
        return x


model = Net(rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
for x, labels in loader:
    loss = compute(model(x), labels)
    loss.backward()
    optimizer.step()
"""
TORCH = """
import torch
from torch import nn

model = nn.Sequential(
    nn.Conv2d(1, 4, 3, padding=1{more}), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(144, 8)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, labels in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(autouse=True)
def _nnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(installed._found()[0], "nnx", NNX)


def test_its_models_are_read() -> None:
    network = network_read(SOURCE, "nnx")
    text = written(network, "torch")
    assert "self.conv = nn.Conv2d(1, 4, 3, padding=1)" in text
    assert "nn.init.trunc_normal_(self.layers_0.weight, std=0.5, a=-1.0, b=1.0)" in text
    assert "nn.init.constant_(self.layers_0.bias, 0.0)" in text
    assert "F.max_pool2d(x, 2, stride=2, padding=0)" in text


def test_its_models_are_written() -> None:
    text = written(network_read(TORCH.format(more=""), "torch"), "nnx")
    for line in (
        "    def __init__(self, rngs: nnx.Rngs) -> None:",
        "            padding=[(1, 1), (1, 1)],",
        "            rngs=rngs,",
        "        x = nnx.max_pool(x, (2, 2), strides=(2, 2), padding=[(0, 0), (0, 0)])",
        "    return Model(nnx.Rngs(0))",
    ):
        assert line in text.splitlines()


def test_a_function_is_written_where_it_is_called() -> None:
    text = written(network_read(TORCH.format(more=""), "torch"), "nnx")
    head, _, _ = text.partition("class ")
    assert head.endswith(f"import jax\nfrom flax import nnx\n\n\n{SYMMETRIC}\n\n\n")
    other = written(network_read(SOURCE, "nnx"), "nnx")
    assert "symmetric" not in other
    assert "import jax" not in other


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (", groups=1, dilation=2", "Flax NNX has no convolution with holes"),
        (", bias=False", "Flax NNX has no layer without a bias"),
    ],
)
def test_what_a_row_does_not_print_is_refused(more: str, reason: str) -> None:
    network = network_read(TORCH.format(more=more), "torch")
    with pytest.raises(UnreadableError, match=reason):
        written(network, "nnx")


def test_a_row_without_a_place_for_initial_weights_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert NNX.writing is not None
    rows = {**NNX.writing.layers, "linear": ("nnx.Linear", "{inputs}", "{units}")}
    changed = replace(NNX, writing=replace(NNX.writing, layers=rows))
    monkeypatch.setitem(installed._found()[0], "nnx", changed)
    with pytest.raises(UnreadableError, match="Flax NNX has no initial weight of linear"):
        written(network_read(TORCH.format(more=""), "torch"), "nnx")


def test_initial_weights_without_a_row_are_refused() -> None:
    drawn = "nn.init.normal_(model[0].weight)\noptimizer = "
    network = network_read(TORCH.format(more="").replace("optimizer = ", drawn), "torch")
    with pytest.raises(UnreadableError, match="weights from normal have no counterpart"):
        written(network, "nnx")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"reading": 1}, "reading is no ModelReading"),
        ({"encoders": ("transformers",)}, "encoders has something that is no EncoderLibrary"),
        ({"initials": ("linear",)}, "initials is no mapping"),
        ({"reading": ModelReading(package="a", layers=(), functions={})}, "layers is no mapping"),  # type: ignore[arg-type]
    ],
)
def test_tables_of_another_type_are_refused(part: Mapping[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ModelTables(backend="a", title="A", channels="first", **part)  # type: ignore[arg-type]


def test_arguments_in_words() -> None:
    given = Argument("x", "y", 1.0, others=("z",))
    assert arguments("units p:rate=0.5 beta==1", "name? pads='same' dims==()", "", given) == (
        Argument("units", "units", REQUIRED),
        Argument("p", "rate", 0.5),
        Argument("beta", "", 1),
        Argument("name", "_", None),
        Argument("pads", "pads", "same"),
        Argument("dims", "", ()),
        given,
    )


@pytest.mark.parametrize("word", ["p:", "=1", "p:rate:other", "a-b"])
def test_words_that_are_no_argument(word: str) -> None:
    with pytest.raises(ValueError, match="is no argument"):
        arguments(word)
