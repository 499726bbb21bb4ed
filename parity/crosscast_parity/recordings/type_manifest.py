"""The manifest of types: in which types the operations of a run computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.recordings.files import read_json

FORMAT = 1
MAX_BYTES = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Calls of one operation with the same types.

    `inputs`: those of its float inputs as the script passed them, each once. `output`: that of its
    result, which is the type it computed in.
    """

    name: str
    inputs: tuple[str, ...]
    output: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedCall:
    """One call of an operation, in the order of the forward pass.

    `size`: elements of its result; None if not known. `whole`: whether several of its inputs are of
    that size, so that nothing is broadcast. `narrowed`: whether one of them comes from a cast of
    float32 to half, at most cast back in between. `usual`: whether the autocast around it is the
    one of the forward pass, with the lists of its framework. `plain`: the type of its result if the
    script cast nothing itself. `rounded`: whether a cast of the script took digits from what it
    gets. `lookups`: whether it adds what was looked up in tables. `learned`: whether its result is
    computed from weights, as far as is known. `place`: path of the module that calls it.
    """

    name: str
    inputs: tuple[str, ...]
    output: str
    size: int | None
    whole: bool
    narrowed: bool
    usual: bool
    plain: str
    rounded: bool
    lookups: bool
    learned: bool
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Operations of a forward pass by class of `precision.ops`.

    `autocast`: the half type of the autocast, or of the policy of Keras, around it. `evaluation`:
    operations of the evaluations; empty if none were seen. `backward`: of the first backward pass,
    those that the program calls in gradients of its own. `order`: the calls of the forward pass.
    `closed`: functions whose operations were not seen.
    """

    autocast: str | None
    operations: Mapping[str, tuple[Operation, ...]]
    evaluation: Mapping[str, tuple[Operation, ...]] = field(default_factory=dict)
    backward: Mapping[str, tuple[Operation, ...]] = field(default_factory=dict)
    order: tuple[OrderedCall, ...] = ()
    closed: tuple[str, ...] = ()


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        DiagnosticError: CC723 if it breaks its contract.
    """
    try:
        document = read_json(path, MAX_BYTES)
    except ValueError as error:
        _refuse(path, str(error))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        _refuse(path, f"is not a manifest in format {FORMAT}")
    autocast = document.get("autocast")
    if autocast is not None and not isinstance(autocast, str):
        _refuse(path, "`autocast` is not the name of a type")
    return Manifest(
        autocast=autocast,
        operations=_classes(path, "operations", document.get("operations")),
        evaluation=_classes(path, "evaluation", document.get("evaluation", {})),
        backward=_classes(path, "backward", document.get("backward", {})),
        order=tuple(_call(path, entry) for entry in _list(path, "order", document)),
        closed=tuple(map(str, _list(path, "closed", document))),
    )


def _list(path: Path, key: str, document: Mapping[str, Any]) -> list[Any]:
    entries = document.get(key, [])
    if not isinstance(entries, list):
        _refuse(path, f"`{key}` is not a list")
    return entries


def _call(path: Path, entry: Any) -> OrderedCall:
    match entry:
        case {
            "name": str(name),
            "in": [*inputs],
            "out": str(output),
            "size": int() | None as size,
            "whole": bool(whole),
            "narrowed": bool(narrowed),
            "usual": bool(usual),
            "plain": str(plain),
            "rounded": bool(rounded),
            "lookups": bool(lookups),
            "learned": bool(learned),
            "place": str(place),
        } if all(isinstance(dtype, str) for dtype in inputs):
            return OrderedCall(
                name=name,
                inputs=tuple(inputs),
                output=output,
                size=size,
                whole=whole,
                narrowed=narrowed,
                usual=usual,
                plain=plain,
                rounded=rounded,
                lookups=lookups,
                learned=learned,
                place=place,
            )
    _refuse(path, "an entry of `order` is not a call of an operation")


def _classes(path: Path, key: str, classes: Any) -> dict[str, tuple[Operation, ...]]:
    if not isinstance(classes, dict):
        _refuse(path, f"`{key}` is not an object")
    return {name: tuple(_operations(path, operations)) for name, operations in classes.items()}


def _operations(path: Path, by_name: Any) -> list[Operation]:
    if not isinstance(by_name, dict) or not all(
        isinstance(operations, list) for operations in by_name.values()
    ):
        _refuse(path, "a class of operations does not map names to lists")
    return [_operation(path, name, entry) for name, entries in by_name.items() for entry in entries]


def _operation(path: Path, name: str, entry: Any) -> Operation:
    if not isinstance(entry, dict):
        _refuse(path, f"an entry of {name!r} is not an object")
    inputs, output, count = entry.get("in"), entry.get("out"), entry.get("count")
    if (
        not isinstance(inputs, list)
        or not all(isinstance(dtype, str) for dtype in inputs)
        or not isinstance(output, str)
        or not isinstance(count, int)
        or isinstance(count, bool)
        or not 0 < count < 2**53
    ):
        _refuse(path, f"an entry of {name!r} lacks `in`, `out` or `count`")
    return Operation(name=name, inputs=tuple(inputs), output=output, count=count)


def _refuse(path: Path, problem: str) -> NoReturn:
    raise DiagnosticError(Diagnostic(code="CC723", message=f"{path.name}: {problem}"))
