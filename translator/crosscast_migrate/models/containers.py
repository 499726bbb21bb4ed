"""Sequential, lists of modules, inputs and functional models; what they and plain lists can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.objects import (
    MODULES,
    ClassObject,
    FunctionalModel,
    LayerObject,
    Library,
    ModuleObject,
    Opaque,
    Partial,
    SequenceObject,
    Tensor,
)
from crosscast_reading.pysource.machine.frames import Closure

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine

NO_METHOD = object()


def made(
    machine: ModelMachine,
    is_model: bool,
    given: Sequence[Any],
    named: Mapping[str, Any],
    span: Span | None,
) -> SequenceObject:
    """Return a Sequential or a list of modules."""
    parts = list(given)
    if "layers" in named:
        parts = [named["layers"]]
    if len(parts) == 1 and isinstance(parts[0], Opaque):
        raise UnreadableError(parts[0].text, span)
    if len(parts) == 1 and isinstance(parts[0], dict):
        return SequenceObject([(str(key), part) for key, part in parts[0].items()], is_model)
    if len(parts) == 1 and isinstance(parts[0], list | tuple) and not _is_pair(parts[0]):
        parts = list(parts[0])
    pairs = [part if _is_pair(part) else (str(n), part) for n, part in enumerate(parts)]
    for _, part in pairs:
        computes = isinstance(part, Library) and part.name in machine.tables.functions
        if not computes and not isinstance(part, (*MODULES, Tensor, Closure, Partial)):
            raise UnreadableError("a part of a Sequential is no layer of the table", span)
    return SequenceObject(list(pairs), is_model)


def _is_pair(part: Any) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str)


def input_value(
    machine: ModelMachine, given: Sequence[Any], named: Mapping[str, Any], span: Span | None
) -> Tensor:
    """Return the value that keras.Input stands for."""
    shape = named.get("shape", named.get("input_shape", given[0] if given else None))
    if isinstance(shape, int):
        shape = (shape,)
    if not isinstance(shape, list | tuple):
        raise UnreadableError("the shape of an input is not known", span)
    sizes = tuple(size if isinstance(size, int) else None for size in shape)
    if named.get("batch_size") not in (None, *()) or named.get("sparse") or named.get("tensor"):
        raise UnreadableError("this input is not carried", span)
    tensor = machine.graph.value((None, *sizes))
    name = named.get("name")
    machine.input_names[tensor.number] = name if isinstance(name, str) else ""
    return tensor


def functional(
    given: Sequence[Any], named: Mapping[str, Any], span: Span | None
) -> FunctionalModel:
    """Return a model by the functional API."""
    values = dict(zip(("inputs", "outputs"), given, strict=False)) | dict(named)
    inputs, output = values.get("inputs"), values.get("outputs")
    if isinstance(output, list | tuple) and len(output) == 1:
        output = output[0]
    input_values = inputs if isinstance(inputs, list | tuple) else [inputs]
    if isinstance(inputs, dict):
        input_values = list(inputs.values())
    if isinstance(output, tuple):
        output = list(output)
    several = list(output.values()) if isinstance(output, dict) else output
    several = several if isinstance(several, list) else [several]
    tensors = [each for each in input_values if isinstance(each, Tensor)]
    known = all(isinstance(part, Tensor) for part in several)
    if output is None or not several or not known or len(tensors) < len(input_values):
        raise UnreadableError("the inputs or the output of the model are not known", span)
    return FunctionalModel(tensors, output)


def method(held: SequenceObject, name: str, given: Sequence[Any]) -> Any:
    """Return the value that a method of a container returns; `NO_METHOD` for another one."""
    match name, given:
        case "append" | "add", [part]:
            held.parts.append((str(len(held.parts)), part))
            return held
        case "add_module" | "add_sublayer", [word, part]:
            held.parts.append((str(word), part))
            return None
        case "extend", [list() | tuple() as parts]:
            for part in parts:
                held.parts.append((str(len(held.parts)), part))
            return held
        case "children", _:
            return [part for _, part in held.parts]
    return NO_METHOD


def children(held: Any) -> list[tuple[str, Any]]:
    """Return the parts of a model by name."""
    if isinstance(held, SequenceObject):
        return held.parts
    if isinstance(held, ModuleObject):
        parts: list[tuple[str, Any]] = []
        for name, value in held.attributes.items():
            if isinstance(value, MODULES):
                parts.append((name, value))
            elif isinstance(value, list | tuple):
                parts += [
                    (f"{name}_{n}", part)
                    for n, part in enumerate(value)
                    if isinstance(part, MODULES)
                ]
        return parts
    return []


def modules_of(held: Any) -> list[Any]:
    """Return a model and everything in it."""
    return [held, *(inner for _, part in children(held) for inner in modules_of(part))]


def named_layers(held: Any, prefix: str = "") -> list[tuple[str, LayerObject]]:
    """Return the layers of a model with their names."""
    if isinstance(held, LayerObject):
        return [(prefix, held)]
    layers: list[tuple[str, LayerObject]] = []
    for name, part in children(held):
        layers += named_layers(part, f"{prefix}_{name}" if prefix else name)
    return layers


def is_instance(machine: ModelMachine, held: Any, kinds: Any) -> Any:
    """Whether something is an instance of classes of the library or of the program."""
    classes = kinds if isinstance(kinds, tuple) else (kinds,)
    answers = []
    for kind in classes:
        match kind:
            case Library(name=name) if isinstance(held, (*MODULES, ModuleObject)):
                row = machine.tables.layer(name)
                answers.append(
                    isinstance(held, LayerObject) and row is not None and held.reading is row
                )
            case Library(name=name) if isinstance(held, int | float | str | list | tuple):
                word = {"int": int, "float": float, "str": str, "list": list, "tuple": tuple}
                answers.append(name in word and isinstance(held, word[name]))
            case ClassObject(scope=scope):
                answers.append(
                    isinstance(held, ModuleObject)
                    and (held.scope is scope or scope in machine.bases(held.scope))
                )
            case _:
                return Opaque("isinstance")
    return any(answers)
