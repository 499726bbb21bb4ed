"""Writes a model as a class of another framework: the file `own_model.py`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from crosscast.emit.render import py_literal
from crosscast_migrate.models import initials, known_models
from crosscast_migrate.models.code_lines import long, wrapped
from crosscast_migrate.models.layouts import with_channels
from crosscast_migrate.models.network import Initial, Layer, Network, Step, UnreadableError
from crosscast_migrate.models.paddings import with_padding
from crosscast_migrate.models.shapes import POINTWISE
from crosscast_migrate.models.writing_rows import BUILDS, LAYERS, OPERATIONS

_HEADS: Mapping[str, tuple[str, ...]] = {
    "torch": (
        "import torch",
        "import torchvision",
        "from torch import nn",
        "from torch.nn import functional as F",
    ),
    "paddle": ("import paddle", "from paddle import nn", "from paddle.nn import functional as F"),
    "tensorflow": ("import keras", "from keras import layers, ops"),
}
_BASES = {"torch": "nn.Module", "paddle": "nn.Layer", "tensorflow": "keras.Model"}
_TENSORS = {"torch": "torch.Tensor", "paddle": "paddle.Tensor"}
_TRAINED = frozenset({"dropout", "batch_norm"})
_INITIALS: Mapping[tuple[str, str], str] = {
    ("torch", "uniform"): "nn.init.uniform_({w}, -{n}, {n})",
    ("torch", "normal"): "nn.init.normal_({w}, std={n})",
    ("torch", "truncated_normal"): "nn.init.trunc_normal_({w}, std={n}, a=-{twice}, b={twice})",
    ("torch", "constant"): "nn.init.constant_({w}, {n})",
    ("paddle", "uniform"): "nn.initializer.Uniform(-{n}, {n})",
    ("paddle", "normal"): "nn.initializer.Normal(std={n})",
    ("paddle", "truncated_normal"): "nn.initializer.TruncatedNormal(std={n})",
    ("paddle", "constant"): "nn.initializer.Constant({n})",
    ("tensorflow", "uniform"): "keras.initializers.RandomUniform(-{n}, {n})",
    ("tensorflow", "normal"): "keras.initializers.RandomNormal(stddev={n})",
    ("tensorflow", "truncated_normal"): "keras.initializers.TruncatedNormal(stddev={n})",
    ("tensorflow", "constant"): "keras.initializers.Constant({n})",
}
"""Backend and distribution to code; `w` is the weight."""


def written(network: Network, backend: str) -> str:
    """Return the text of own_model.py.

    Args:
        network: the model.
        backend: the framework to write; one of those that models are read from.

    Raises:
        UnreadableError: a step has no counterpart there.
    """
    ready = with_channels(network, "last" if backend == "tensorflow" else "first")
    ready = with_padding(ready, symmetric=backend != "tensorflow")
    if backend == "torch":
        ready = _without_pad_limits(ready)
    return "\n".join(_lines(ready, backend)) + "\n"


def _without_pad_limits(network: Network) -> Network:
    for step in network.steps:
        settings = step.settings
        if network.kind_of(step) in ("max_pool", "avg_pool") and settings["padding"] != "same":
            for pair, size in zip(settings["padding"], settings["kernel"], strict=True):
                if pair[0] > size // 2:
                    raise UnreadableError("a pool with more padding than half its window")
    return network


def _lines(network: Network, backend: str) -> Iterator[str]:
    yield '"""Your model, migrated. train.py imports build_model from here."""'
    yield ""
    code = [*_constructor(network, backend), *_forward(network, backend)]
    whole = "\n".join([_BASES[backend], *code])
    for line in _HEADS[backend]:
        name = line.rpartition(" ")[2]
        if line.endswith("layers, ops"):
            used = [word for word in ("layers", "ops") if f"{word}." in whole]
            if used:
                yield f"from keras import {', '.join(used)}"
        elif f"{name}." in whole or line.startswith("import keras"):
            yield line
    yield from ("", "", f"class {_class(network)}({_BASES[backend]}):")
    named = network.title != "Model"
    source = f"`{network.title}` of the source" if named else "The source's model"
    yield f'    """{source}, layer by layer."""'
    yield ""
    yield from code
    yield from ("", "", f"def build_model() -> {_BASES[backend]}:")
    yield '    """Return the model with fresh weights."""'
    yield f"    return {_class(network)}()"


def _class(network: Network) -> str:
    return network.title if network.title.isidentifier() else "Model"


def _constructor(network: Network, backend: str) -> Iterator[str]:
    yield "    def __init__(self) -> None:"
    yield "        super().__init__()"
    for layer in network.layers:
        if layer.kind == "known_model":
            first, *others = known_models.written(layer.settings, backend)
            yield f"        self.{layer.name} = {first}"
            yield from (f"        {line}" for line in others)
            continue
        values = _values(layer, network, backend)
        row = LAYERS[backend].get(layer.kind)
        if row is None:
            raise UnreadableError(f"{layer.kind} has no counterpart")
        arguments = [text for part in row[1:] if (text := _argument(part, values))]
        yield from wrapped(
            f"        self.{layer.name} = {row[0].format(**values)}(", arguments, ")"
        )
        if backend == "torch":
            for name, initial in sorted(layer.initial.items(), reverse=True):
                if initial is not None and not _is_default(layer, name, initial, backend):
                    weight = f"self.{layer.name}.{name}"
                    yield from long(f"        {_drawn(initial, backend, weight)}")
        if backend == "tensorflow" and layer.kind in BUILDS:
            yield f"        self.{layer.name}.build({BUILDS[layer.kind].format(**values)})"
    if backend == "tensorflow":
        yield "        self.built = True"
    yield ""


def _argument(part: str, values: Mapping[str, Any]) -> str:
    """Return one argument; empty where its value is the default or nothing."""
    template, _, default = part.partition("|")
    name, equals, value = template.partition("=")
    text = (value if equals else name).format(**values)
    if not text or (default and text == default):
        return ""
    return f"{name}={text}" if equals else text


def _values(layer: Layer, network: Network, backend: str) -> dict[str, Any]:
    """Return what the rows of layers can print."""
    settings = layer.settings
    values = _printed(settings, backend)
    values["name"] = py_literal(layer.name)
    weight = _initial_text(layer, "weight", backend)
    values["weight"], values["b"] = weight, _initial_text(layer, "bias", backend)
    if backend == "paddle" and settings.get("bias") is False:
        values["b"] = "False"
    if layer.kind == "batch_norm":
        rank = _norm_rank(layer, network)
        values["norm_rank"] = rank or 1
        values["new"] = py_literal(round(1.0 - settings["keep"], 12))
        sizes: list[int | None] = [None] * (rank + 2)
        axis = settings["axis"] % len(sizes) if rank or settings["axis"] == 1 else 1
        sizes[axis] = settings["features"]
        values["norm_shape"] = py_literal(tuple(sizes))
        if settings["axis"] == 1 and rank == 0:
            values["axis"] = "1"
        if backend != "tensorflow" and axis != 1:
            raise UnreadableError("normalization over an axis other than that of the channels")
    if layer.kind == "layer_norm":
        count = len(settings["shape"])
        axes = tuple(range(-count, 0))
        values["norm_axes"] = "-1" if count == 1 else py_literal(axes)
        values["shape_items"] = ", ".join(map(str, settings["shape"]))
        values["shape"] = values["shape_items"] if count == 1 else py_literal(settings["shape"])
    if backend == "tensorflow" and settings.get("padding_index") is not None:
        raise UnreadableError("Keras has no embedding with a row that stays zero")
    if backend == "tensorflow" and layer.kind == "conv":
        values["nones"] = ", ".join(["None"] * settings["rank"])
    return values


def _norm_rank(layer: Layer, network: Network) -> int:
    """Return the axes of the images that a batch normalization gets; 0 for plain rows."""
    if layer.settings.get("rank"):
        return int(layer.settings["rank"])
    step = next(step for step in network.steps if step.layer == layer.name)
    shape = network.shapes.get(step.inputs[0])
    return len(shape) - 2 if shape is not None else 0


def _initial_text(layer: Layer, name: str, backend: str) -> str:
    initial = layer.initial.get(name)
    if initial is None or _is_default(layer, name, initial, backend):
        return ""
    return _drawn(initial, backend, "")


def _is_default(layer: Layer, name: str, initial: Initial, backend: str) -> bool:
    if layer.kind in ("batch_norm", "layer_norm"):
        return initial == Initial("constant", 1.0 if name == "weight" else 0.0)
    default = initials.DEFAULTS[backend, layer.kind].get(name)
    if default is None:
        return False
    usual = default(initials.fans(layer.kind, layer.settings))
    return usual.name == initial.name and math.isclose(usual.number, initial.number)


def _drawn(initial: Initial, backend: str, weight: str) -> str:
    number = float(f"{initial.number:.7g}")
    twice = float(f"{2 * initial.number:.7g}")
    return _INITIALS[backend, initial.name].format(
        w=weight, n=py_literal(number), twice=py_literal(twice)
    )


def _printed(settings: Mapping[str, Any], backend: str) -> dict[str, Any]:
    """Return settings as code."""
    values: dict[str, Any] = {}
    for name, value in settings.items():
        match value:
            case tuple() if name in ("kernel", "stride", "dilation", "size"):
                same = len(set(value)) == 1
                values[name] = py_literal(value[0] if same else value)
            case str() if name == "padding":
                values[name] = value
            case tuple() if name == "padding":
                sizes = tuple(low for low, _ in value)
                values[name] = py_literal(sizes[0] if len(set(sizes)) == 1 else sizes)
                if backend == "tensorflow":
                    values[name] = "valid"
            case tuple() if name == "pairs":
                values |= _pairs(value, settings)
            case float() if math.isinf(value):
                values[name] = 'float("-inf")'
            case tuple() if name == "shape" and "eps" not in settings:
                values[name] = py_literal(tuple(-1 if size is None else size for size in value))
                if None in value and -1 in value:
                    values[name] = ""
            case list():
                values[name] = py_literal(tuple(value))
            case _:
                values[name] = py_literal(value)
    return values


def _pairs(pairs: Sequence[tuple[int, int]], settings: Mapping[str, Any]) -> dict[str, str]:
    flat = [size for pair in reversed(pairs) for size in pair]
    return {
        "flat_pairs": f"[{', '.join(map(str, flat))}]",
        "all_pairs": py_literal(((0, 0), *pairs, (0, 0))),
        "value": py_literal(settings.get("value", 0.0))
        if math.isfinite(settings.get("value", 0.0))
        else 'float("-inf")',
    }


def _forward(network: Network, backend: str) -> Iterator[str]:
    variables = dict(enumerate(network.inputs))
    trained = any(network.kind_of(step) in _TRAINED for step in network.steps)
    if backend == "tensorflow":
        parameter = "inputs"
        more = ", training=None" if trained else ""
        yield f"    def call(self, {parameter}{more}):"
        for name in network.inputs:
            yield f"        {name} = inputs[{py_literal(name)}]"
    else:
        tensor = _TENSORS[backend]
        typed = ", ".join(f"{name}: {tensor}" for name in network.inputs)
        yield f"    def forward(self, {typed}) -> {tensor}:"
    last = {value: place for place, step in enumerate(network.steps) for value in step.inputs}
    last[network.output] = len(network.steps)
    taken = set(variables.values())
    for place, step in enumerate(network.steps):
        text = _step(network, step, [variables[value] for value in step.inputs], backend)
        dying = [variables[v] for v in step.inputs if last[v] == place]
        free = next((name for name in dying if _is_free(name, variables, last, place)), None)
        name = free or next(name for name in _fresh() if name not in taken)
        taken.add(name)
        variables[step.output] = name
        if place == len(network.steps) - 1 and step.output == network.output:
            yield from long(f"        return {text}")
        else:
            yield from long(f"        {name} = {text}")
    if not network.steps or network.steps[-1].output != network.output:
        yield f"        return {variables[network.output]}"


def _fresh() -> Iterator[str]:
    """Yield names for values."""
    yield "x"
    yield from (f"x{number}" for number in count(1))


def _is_free(name: str, variables: Mapping[int, str], last: Mapping[int, int], place: int) -> bool:
    """Whether no value with a name is needed after a step, and it is not that of an input."""
    holders = (value for value, held in variables.items() if held == name)
    return (name == "x" or name[1:].isdigit()) and all(last.get(v, -1) <= place for v in holders)


def _step(network: Network, step: Step, inputs: Sequence[str], backend: str) -> str:
    if step.layer:
        layer = network.layer(step.layer)
        training = backend == "tensorflow" and layer.kind in _TRAINED
        return f"self.{step.layer}({inputs[0]}{', training=training' if training else ''})"
    template = OPERATIONS[backend].get(step.kind)
    if template is None:
        raise UnreadableError(f"{step.kind} has no counterpart")
    settings = step.settings
    values = _printed(settings, backend)
    values["all"] = ", ".join(inputs)
    if step.kind == "flatten":
        values["features"] = _flattened(network, step, backend)
    if step.kind == "part":
        values["part"] = _part(settings)
    if step.kind == "scale":
        values["scaled"] = _scaled(settings)
    if step.kind == "gelu":
        values["gelu"] = '"tanh"' if settings["tanh"] else '"none"'
    if step.kind == "avg_pool":
        values["excludes_padding"] = str(not settings["counts_padding"])
    if step.kind in ("global_avg", "global_max"):
        first = 2 if network.channels == "first" else 1
        axes = tuple(range(first, first + settings["rank"]))
        values["image"] = py_literal(axes)
    if step.kind == "reshape" and not values["shape"]:
        raise UnreadableError("a shape with two sizes that are not known")
    return template.format(*inputs, **values)


def _flattened(network: Network, step: Step, backend: str) -> str:
    """Return the features of flattened rows, as the shapes or the next layer say."""
    if backend != "tensorflow":
        return ""
    if step.settings["start"] != 1 or step.settings["end"] != -1:
        raise UnreadableError("only whole rows are flattened")
    shape = network.shapes.get(step.inputs[0])
    if shape is not None and None not in shape[1:]:
        return str(math.prod(size or 1 for size in shape[1:]))
    number = step.output
    for later in network.steps:
        if number not in later.inputs:
            continue
        kind = network.kind_of(later)
        if kind in ("linear", "batch_norm"):
            settings = network.layer(later.layer).settings
            return str(settings["inputs" if kind == "linear" else "features"])
        if kind not in POINTWISE:
            break
        number = later.output
    raise UnreadableError("how many features flattened rows have is not known")


def _part(settings: Mapping[str, Any]) -> str:
    axis, index = settings["axis"], settings["index"]
    return f"..., {index}" if axis == -1 else f"{':, ' * axis}{index}"


def _scaled(settings: Mapping[str, Any]) -> str:
    scale, offset = settings["scale"], settings["offset"]
    text = "" if scale == 1.0 else f" * {py_literal(float(scale))}"
    if offset:
        text += f" {'+' if offset > 0 else '-'} {py_literal(abs(float(offset)))}"
    return text or " * 1.0"


def notes(network: Network, backend: str) -> list[str]:
    """Return what is to be told of a model that is written."""
    known = [layer.settings for layer in network.layers if layer.kind == "known_model"]
    return [note for settings in known for note in known_models.notes(settings, backend)]
