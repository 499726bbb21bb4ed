"""Observations of some windows of a run, read as untrusted data.

`inside/observe.py` writes one safetensors file per window and a manifest of the types in which
operations computed. The names and shapes of tensors are checked when a file is opened; their
values are read when they are asked for, so that a large model does not lie in memory as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from safetensors import SafetensorError

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.recordings.files import parse_json
from crosscast_parity.recordings.mapped_tensors import MappedFile
from crosscast_parity.recordings.roles import Roles, roles_of
from crosscast_parity.recordings.trace import TraceRow, parse_row
from crosscast_parity.recordings.type_manifest import Manifest, read_manifest

Tensors = Mapping[str, np.ndarray]
"""Float32 arrays in canonical layout, by canonical name."""

FORMAT = 1
Shape = tuple[int, ...]
KINDS = ("before", "after", "total", "first", "applied")
DTYPES = ("float32", "float16", "bfloat16")
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldState:
    """What a run held before a window: moments by `slot/name`, and the averaged weights."""

    moments: Tensors
    average: Tensors = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedWindow:
    """One window from outside.

    `micro_rows` has one entry a micro-batch, or none where rows could not be counted; `losses`
    (what the loss function returned) and `factors` (the derivative of what the backward pass began
    with by that loss) have one a call of the loss function. None is what could not be seen or was
    not finite. `before`, `after`: float32 parameters around the window. `total`: sum
    of the gradients that autograd delivered, still scaled. `first`: those of the first micro-batch
    alone. `applied`: what the optimizer was given; empty in skipped windows. A parameter without
    a gradient has none in the last three, and what was not recorded is empty. `tokens`: labels
    that count, if the trace says it. `average`: averaged weights after the window, if there are.
    `held`: what the run held before a window that follows a gap, if its script tells. `known`: the
    roles of parameters; None of the shipped BERT, whose names tell them.
    """

    window: int
    micro_rows: tuple[int, ...]
    losses: tuple[float | None, ...]
    factors: tuple[float | None, ...]
    gradient_dtypes: Mapping[str, str]
    row: TraceRow
    before: Tensors
    after: Tensors
    total: Tensors
    first: Tensors
    applied: Tensors
    tokens: int | None = None
    average: Tensors = field(default_factory=dict)
    held: HeldState | None = None
    known: Roles | None = None

    @property
    def roles(self) -> Roles:
        """The roles of the parameters."""
        return roles_of(self.before) if self.known is None else self.known


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Recorded windows of a run, in their order, and in which types it computed."""

    windows: tuple[ObservedWindow, ...]
    manifest: Manifest | None = None


class StoredTensors(Mapping[str, np.ndarray]):
    """Tensors of an open safetensors file with a common name prefix; values are read lazily."""

    def __init__(self, path: Path, file: Any, prefix: str, shapes: Mapping[str, Shape]) -> None:
        self._path, self._file, self._prefix = path, file, prefix
        self.shapes = dict(sorted(shapes.items()))

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.shapes:
            raise KeyError(name)
        try:
            array: np.ndarray = self._file.get_tensor(self._prefix + name)
        except (OSError, SafetensorError, ValueError) as error:
            _refuse(self._path, f"{self._prefix}{name} cannot be read: {error}")
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)


def read_observation(folder: Path, averaged: Collection[str] | None = None) -> Observation:
    """Read the folder `observed` of a run.

    Args:
        folder: to read.
        averaged: parameters of which averages are kept, if there are any; None for all.

    Raises:
        DiagnosticError: CC723 for anything in the folder that breaks its contract, CC701 for a
            row of a trace that does.
    """
    try:
        paths = list(folder.glob("window-*.safetensors"))
        manifest = (folder / MANIFEST).is_file()
    except OSError as error:
        _refuse(folder, f"cannot be read: {error.strerror}")
    numbered = {_number_of(path): path for path in paths}
    if len(numbered) < len(paths):
        _refuse(folder, "two files are of the same window")
    windows = tuple(_window(path, number, averaged) for number, path in sorted(numbered.items()))
    _same_parameters(folder, windows)
    return Observation(
        windows=windows, manifest=read_manifest(folder / MANIFEST) if manifest else None
    )


def _number_of(path: Path) -> int:
    digits = path.stem.removeprefix("window-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 12:
        _refuse(path, "has no number in its name")
    return int(digits)


def _window(path: Path, number: int, averaged: Collection[str] | None) -> ObservedWindow:
    file = _open(path)
    document = _metadata(path, file)
    if document.get("format") != FORMAT or document.get("window") != number:
        _refuse(path, f"is not window {number} in format {FORMAT}")
    rows = document.get("micro_rows")
    if not isinstance(rows, list) or not all(map(_count, rows)):
        _refuse(path, "`micro_rows` is not a list of whole numbers")
    tensors = _by_kind(path, file)
    row = document.get("row")
    if not isinstance(row, dict):
        _refuse(path, "`row` is not an object")
    losses, factors = (_numbers(path, document, name) for name in ("losses", "factors"))
    if len(losses) != len(factors):
        _refuse(path, f"{len(losses)} losses, but {len(factors)} factors")
    tokens = row.get("tokens")
    kept = tensors["before"].shapes.keys() if averaged is None else set(averaged)
    average, state = (
        path.with_name(path.name.replace("window", kind, 1)) for kind in ("average", "state")
    )
    return ObservedWindow(
        window=number,
        micro_rows=tuple(rows),
        losses=losses,
        factors=factors,
        gradient_dtypes=_gradient_dtypes(path, document),
        row=parse_row(path.name, json.dumps(row).encode(), number),
        tokens=tokens if _count(tokens) else None,
        average=_average(average, tensors["before"], kept),
        held=_held(state, tensors["before"], kept),
        known=None,
        **tensors,
    )


def _open(path: Path) -> Any:
    if not path.is_file():
        _refuse(path, "is not a plain file")
    try:
        return MappedFile(path)
    except (OSError, SafetensorError, ValueError) as error:
        _refuse(path, f"cannot be read: {error}")


def _metadata(path: Path, file: Any) -> dict[str, Any]:
    try:
        document = parse_json((file.metadata() or {}).get("observation", "").encode())
    except ValueError:
        _refuse(path, "`observation` in its metadata is not JSON")
    if not isinstance(document, dict):
        _refuse(path, "`observation` in its metadata is not an object")
    return document


def _by_kind(path: Path, file: Any) -> dict[str, StoredTensors]:
    """Return the tensors of a file by kind, having looked at every name, type and shape."""
    shapes = _shapes(path, file)
    by_kind: dict[str, dict[str, Shape]] = {kind: {} for kind in KINDS}
    for key, shape in shapes.items():
        kind, slash, name = key.partition("/")
        if kind not in by_kind or not slash or not name:
            _refuse(path, f"{key!r} is not one of {', '.join(KINDS)}")
        by_kind[kind][name] = shape
    if by_kind["before"].keys() != by_kind["after"].keys() or not by_kind["before"]:
        _refuse(path, "the parameters before and after the window differ, or there are none")
    for key, shape in shapes.items():
        name = key.partition("/")[2]
        if shapes.get(f"before/{name}") != shape:
            _refuse(path, f"{key} has the shape {shape}, which is not that of a parameter")
    return {kind: StoredTensors(path, file, f"{kind}/", shapes) for kind, shapes in by_kind.items()}


def _shapes(path: Path, file: Any) -> dict[str, Shape]:
    shapes = {}
    for key in file.keys():  # noqa: SIM118  (not a mapping)
        part = file.get_slice(key)
        if part.get_dtype() != "F32":
            _refuse(path, f"{key} is {part.get_dtype()}, not F32")
        shapes[key] = tuple(part.get_shape())
    return shapes


def _average(path: Path, parameters: StoredTensors, kept: Collection[str]) -> Tensors:
    if not path.is_file():
        return {}
    file = _open(path)
    shapes = _shapes(path, file)
    for name in kept:
        if shapes.get(name) != parameters.shapes.get(name):
            _refuse(path, f"{name} is missing or has another shape than the parameter")
    return StoredTensors(path, file, "", shapes)


def _held(path: Path, parameters: StoredTensors, kept: Collection[str]) -> HeldState | None:
    if not path.is_file():
        return None
    file = _open(path)
    by_kind: dict[str, dict[str, Shape]] = {"moments": {}, "average": {}}
    for key, shape in _shapes(path, file).items():
        kind, _, name = key.partition("/")
        of = name if kind == "average" else name.partition("/")[2]
        if kind not in by_kind or of not in parameters.shapes:
            _refuse(path, f"{key!r} is no moment or average of a parameter")
        if kind == "average" and shape != parameters.shapes[of]:
            _refuse(path, f"{key} has the shape {shape}, which is not that of the parameter")
        by_kind[kind][name] = shape
    if by_kind["average"] and not by_kind["average"].keys() >= set(kept):
        _refuse(path, "some parameters have an average, others none")
    stored = {kind: StoredTensors(path, file, f"{kind}/", names) for kind, names in by_kind.items()}
    return HeldState(**stored)


def _same_parameters(folder: Path, windows: tuple[ObservedWindow, ...]) -> None:
    shapes = [w.before.shapes for w in windows if isinstance(w.before, StoredTensors)]
    for number, shape in enumerate(shapes):
        if shape != shapes[0]:
            _refuse(folder, f"file {number} has other parameters, or of other shapes, than file 0")


def _numbers(path: Path, document: dict[str, Any], name: str) -> tuple[float | None, ...]:
    values = document.get(name)
    if not isinstance(values, list) or not all(map(_number, values)):
        _refuse(path, f"`{name}` is not a list of numbers or null")
    return tuple(None if value is None else float(value) for value in values)


def _number(value: Any) -> bool:
    """Whether JSON gave null or a finite number that fits a float."""
    if value is None:
        return True
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and abs(value) < 1e300  # also refuses nan


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53


def _gradient_dtypes(path: Path, document: dict[str, Any]) -> dict[str, str]:
    dtypes = document.get("gradient_dtypes")
    if not isinstance(dtypes, dict) or not all(
        isinstance(dtype, str) and dtype in DTYPES for dtype in dtypes.values()
    ):
        _refuse(path, f"`gradient_dtypes` does not map names to {', '.join(DTYPES)}")
    return dtypes


def _refuse(path: Path, problem: str) -> NoReturn:
    hint = "Run the comparison again; the folder is written by the harness alone."
    message = f"{path.name}: {problem}"
    raise DiagnosticError(Diagnostic(code="CC723", message=message, hint=hint))
