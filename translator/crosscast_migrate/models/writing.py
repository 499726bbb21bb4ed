"""Writes a model as a class of another framework: the file `own_model.py`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from crosscast.emit.render import py_literal
from crosscast_migrate.models import known_models
from crosscast_migrate.models.attention import with_attention
from crosscast_migrate.models.code_lines import long
from crosscast_migrate.models.installed import model_tables
from crosscast_migrate.models.layer_code import LayerCode, numbers, numbers_text, printed
from crosscast_migrate.models.layouts import with_channels
from crosscast_migrate.models.network import Network, Settings, Step, UnreadableError
from crosscast_migrate.models.paddings import with_padding
from crosscast_migrate.models.recurrence import with_cells
from crosscast_migrate.models.shapes import POINTWISE
from crosscast_migrate.models.slices import SizeOf, parts_text
from crosscast_migrate.models.tables import ModelWriting

_TRAINED = frozenset({"dropout", "batch_norm"})
"""Layers that compute something else in training."""


def written(network: Network, backend: str) -> str:
    """Return the text of own_model.py.

    Args:
        network: the model.
        backend: the framework to write.

    Raises:
        UnreadableError: a step has no counterpart there, or models are not written for it.
    """
    tables = model_tables().get(backend)
    if tables is None or tables.writing is None:
        raise UnreadableError("models are not written for this framework")
    ready = with_channels(network, tables.channels)
    ready = with_padding(ready, tables.writing.pads)
    ready = with_cells(with_attention(ready, tables.writing.operations), tables.writing.cells)
    if tables.writing.pads_half:
        _check_pools(ready)
    code = [
        *LayerCode(ready, tables, tables.writing).constructor(),
        *_forward(ready, tables.writing),
    ]
    return "\n".join(_lines(ready, tables.writing, code)) + "\n"


def _check_pools(network: Network) -> None:
    """Raise an error for a pool whose padding is more than half its window."""
    for step in network.steps:
        settings = step.settings
        if network.kind_of(step) in ("max_pool", "avg_pool") and settings["padding"] != "same":
            for pair, size in zip(settings["padding"], settings["kernel"], strict=True):
                if pair[0] > size // 2:
                    raise UnreadableError("a pool with more padding than half its window")


def _lines(network: Network, writing: ModelWriting, code: Sequence[str]) -> Iterator[str]:
    yield '"""Your model, migrated. train.py imports build_model from here."""'
    yield ""
    body = "\n".join(code)
    helpers = [text for name, text in writing.helpers.items() if f"{name}(" in body]
    helpers += numbers(network)
    whole = "\n".join([writing.base, body, *helpers])
    imports = ("import numpy as np", *writing.imports)
    for line in sorted(imports, key=lambda line: (line.startswith("from"), line)):
        yield from _import(line, whole)
    for text in helpers:
        yield from ("", "", text)
    yield from ("", "", f"class {_class(network)}({writing.base}):")
    named = network.title != "Model"
    source = f"`{network.title}` of the source" if named else "The source's model"
    yield f'    """{source}, layer by layer."""'
    yield ""
    yield from code
    yield from ("", "", f"def build_model({writing.factory}) -> {writing.base}:")
    yield '    """Return the model with fresh weights."""'
    yield f"    return {writing.created.format(name=_class(network))}"


def _import(line: str, code: str) -> Iterator[str]:
    """Yield an import with the names that the code uses, if there are any."""
    head, word, names = line.rpartition("import ")
    called = {name: name.rpartition(" ")[2] for name in names.split(", ")}
    used = [name for name, word in called.items() if re.search(rf"\b{word}\.", code)]
    if used:
        yield f"{head}{word}{', '.join(used)}"


def _class(network: Network) -> str:
    return network.title if network.title.isidentifier() else "Model"


def _forward(network: Network, writing: ModelWriting) -> Iterator[str]:
    variables = dict(enumerate(network.inputs))
    trained = any(network.kind_of(step) in _TRAINED for step in network.steps)
    inputs = ", ".join(writing.parameter.format(name=name) for name in network.inputs)
    signature = writing.signature.format(inputs=inputs, training=writing.training * trained)
    gives = next((step for step in network.steps if step.output == network.output), None)
    if gives is not None and gives.kind == "values":
        signature = re.sub(r"-> [\w.]+:", f"-> {writing.several}:", signature)
    yield f"    {signature}"
    for name in network.inputs if writing.prepared else ():
        yield f"        {writing.prepared.format(name=name)}"
    last = {value: place for place, step in enumerate(network.steps) for value in step.inputs}
    last[network.output] = len(network.steps)
    taken = set(variables.values())
    for place, step in enumerate(network.steps):
        text = _step(network, step, [variables[value] for value in step.inputs], writing)
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


def _step(network: Network, step: Step, inputs: Sequence[str], writing: ModelWriting) -> str:
    if network.kind_of(step) == "recurrent":
        backward = network.layer(step.layer).settings["backward"]
        row = writing.operations["recurrent_backward" if backward else "recurrent"]
        return row.format(*inputs, layer=step.layer)
    if step.layer:
        is_trained = network.layer(step.layer).kind in _TRAINED
        return f"self.{step.layer}({inputs[0]}{writing.training_argument * is_trained})"
    template = writing.operations.get(step.kind) or SAME.get(step.kind)
    if template is None:
        raise UnreadableError(f"{step.kind} has no counterpart")
    settings = step.settings
    if step.kind in _SHOWN:
        return template.format(*inputs, **_SHOWN[step.kind](settings, inputs, writing))
    values = printed(settings, writing)
    values["all"] = ", ".join(inputs)
    if step.kind == "flatten" and "{features}" in template:
        values["features"] = _flattened(network, step)
    if step.kind == "part":
        values["part"] = _part(settings)
    if step.kind == "scale":
        values["scaled"] = _scaled(settings)
    if step.kind in ("global_avg", "global_max"):
        first = 2 if network.channels == "first" else 1
        axes = tuple(range(first, first + settings["rank"]))
        values["image"] = py_literal(axes)
    if step.kind == "reshape":
        values["shape"] = shape_text(settings["shape"], inputs, writing.size)
    if step.kind in writing.values:
        more = writing.values[step.kind](settings)
        values |= {name: text.format(*inputs) for name, text in more.items()}
    return template.format(*inputs, **values)


def _attention(settings: Settings, inputs: Sequence[str], writing: ModelWriting) -> dict[str, str]:
    """Return the arguments of attention beside queries, keys and values."""
    more = f", attn_mask={inputs[3]}" if len(inputs) > 3 else ""
    more += ", is_causal=True" if settings["causal"] else ""
    scale = settings["scale"]
    return {"masked": more, "scaled": f", scale={py_literal(scale)}" if scale is not None else ""}


def _compared(settings: Settings, inputs: Sequence[str], writing: ModelWriting) -> dict[str, str]:
    other = inputs[1] if len(inputs) > 1 else py_literal(settings["value"])
    return {"compared": f"{settings['operator']} {other}"}


def _parts(settings: Settings, inputs: Sequence[str], writing: ModelWriting) -> dict[str, str]:
    text = parts_text(settings["parts"], inputs, writing.size)
    return {"parts": f"..., {text}" if settings["from_end"] else text}


def _plain(settings: Settings, inputs: Sequence[str], writing: ModelWriting) -> dict[str, str]:
    texts = {name: str(value) for name, value in settings.items()}
    if "axis" in settings:
        texts["size"] = writing.size.format(value=inputs[0], axis=settings["axis"])
    if "text" in settings:
        texts["numbers"] = numbers_text(settings)
    return texts


_SHOWN = {
    "attend": _attention,
    "compare": _compared,
    "slice": _parts,
    "constant": _plain,
    "positions": _plain,
    "recurrence": _plain,
}
"""Operations whose settings are shown in their own way."""
SAME: Mapping[str, str] = {"recurrence": "{function}({0}, self.{state}, backward={backward})"}
"""Operations that are written the same everywhere."""


def shape_text(shape: Sequence[Any], inputs: Sequence[str], size: str) -> str:
    """Return a shape as code; sizes that are not known are those of the inputs of the step."""
    sizes = list(shape)
    if sizes[0] is None and -1 in sizes:
        sizes[0] = SizeOf(0, 0)
    texts = [
        size.format(value=inputs[each.place], axis=each.axis)
        if isinstance(each, SizeOf)
        else str(-1 if each is None else each)
        for each in sizes
    ]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _flattened(network: Network, step: Step) -> str:
    """Return the features of flattened rows, as the shapes or the next layer say."""
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
    """Return the notes to give on a model that is written."""
    known = [layer.settings for layer in network.layers if layer.kind == "known_model"]
    return [
        note for settings in known for note in known_models.notes(settings, network.source, backend)
    ]
