"""Damages of checkpoints and weights files, each with what a script must make of it.

A file is read into `Parts`, damaged in one place and packed again. `REFUSED` ends with exit code 2;
after `SAME` the state is bit for bit that of the undamaged file. Values that a run could have saved
(another weight, another loss scale within the bounds) are left out: no reader can detect them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

REFUSED, SAME = "refused", "same"
TYPES = {"float32": "F32", "float64": "F64", "float16": "F16", "int32": "I32", "int64": "I64"}
TYPES |= {"uint8": "U8", "bool": "BOOL", "complex64": "C64", "int8": "I8", "uint32": "U32"}
SQUARES = ("exp_avg_sq", "row_var", "col_var", "variance")
Tensor = tuple[str, tuple[int, ...], bytes]
Case = tuple[str, bytes, str]


@dataclass(frozen=True)
class Parts:
    """The contents of a safetensors file; a tensor is its type, shape and bytes."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str]

    def pack(self) -> bytes:
        """Return the file."""
        header: dict[str, Any] = {"__metadata__": self.metadata} if self.metadata else {}
        at = 0
        for name, (dtype, shape, data) in self.tensors.items():
            offsets = [at, at + len(data)]
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
            at = offsets[1]
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        data = b"".join(data for _, _, data in self.tensors.values())
        return len(text).to_bytes(8, "little") + text + data

    def with_tensors(self, **changed: Tensor | None) -> Parts:
        """Replace tensors; None takes one away."""
        tensors = {name: t for name, t in (self.tensors | changed).items() if t is not None}
        return replace(self, tensors=tensors)


def unpack(data: bytes) -> Parts:
    """Read a file that `Parts.pack` or safetensors wrote."""
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        start, stop = (begin + offset for offset in entry["data_offsets"])
        tensors[name] = (entry["dtype"], tuple(entry["shape"]), data[start:stop])
    return Parts(tensors, metadata)


def as_tensor(array: np.ndarray) -> Tensor:
    """Return a tensor of a file."""
    return TYPES[array.dtype.name], array.shape, array.tobytes()


def as_array(tensor: Tensor) -> np.ndarray:
    """Return the array of a tensor."""
    dtype, shape, data = tensor
    names = {code: name for name, code in TYPES.items()}
    return np.frombuffer(data, names[dtype]).reshape(shape)


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    """Return a deep value as JSON."""
    return opening * depth + "1" + closing * depth


VALUES = {
    **{
        text: text for text in ("Infinity", "-Infinity", "NaN", "1e400", "-1e400", "1e30", "1e-400")
    },
    **{text: text for text in ("-5", "-1", "-0.5", "0.5", "2147483648", "9007199254740993")},
    **{text: text for text in ("null", "true", "false", '""', '"3"', '"inf"', "[]", "[3]", "{}")},
    **{"object": '{"a": 1}', "10**400": "1" + "0" * 400, "10**5000": "1" + "0" * 5000},
    **{"nested 900": nested(900), "nested 100000": nested(100_000)},
    "nested objects": nested(1000, '{"a": ', "}"),
}
"""What may stand where a counter does, as JSON."""


def counters(good: Parts, bounds: dict[str, tuple[str, ...]]) -> Iterator[Case]:
    """Yield damages of every counter; `bounds` adds values of the recipe."""
    found = json.loads(good.metadata["counters"])

    def changed(name: str, text: str) -> bytes:
        rest = {key: value for key, value in found.items() if key != name}
        whole = json.dumps(rest)[:-1] + f', "{name}": {text}}}'
        return replace(good, metadata=good.metadata | {"counters": whole}).pack()

    for name in found:
        for label, text in VALUES.items():
            yield f"{name}: {label}", changed(name, text), REFUSED
        for text in bounds.get(name, ()):
            yield f"{name}: {text}", changed(name, text), REFUSED
        rest = {key: value for key, value in found.items() if key != name}
        missing = replace(good, metadata=good.metadata | {"counters": json.dumps(rest)}).pack()
        yield f"{name}: missing", missing, SAME if name in ("rows", "moments") else REFUSED
    for name in found.keys() - {"scale"}:
        yield f"{name}: a float", changed(name, f"{found[name]}.0"), REFUSED
    if "scale" in found:
        yield "scale: an integer", changed("scale", str(int(found["scale"]))), SAME
        yield "scale: an exponent", changed("scale", f"{found['scale']:e}"), SAME


def metadata(good: Parts) -> Iterator[Case]:
    """Yield damages of the texts beside the tensors."""
    found = json.loads(good.metadata["counters"])
    reverse = json.dumps(dict(reversed(found.items())), indent=2)
    for name in good.metadata:
        rest = {key: text for key, text in good.metadata.items() if key != name}
        yield f"no {name}", replace(good, metadata=rest).pack(), REFUSED
        texts = {**VALUES, "nothing": "", "cut": good.metadata[name][:-1], "bare": "{", "word": "x"}
        for label, text in texts.items():
            changed = replace(good, metadata=good.metadata | {name: text})
            yield f"{name} is {label}", changed.pack(), REFUSED
    yield "no metadata", replace(good, metadata={}).pack(), REFUSED
    same = good.metadata | {"counters": reverse}
    yield "counters in another order", replace(good, metadata=same).pack(), SAME
    formatted = good.metadata | {"format": "pt"}
    yield "a format", replace(good, metadata=formatted).pack(), SAME


def values(name: str, array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield an array with one value that no sound run saves."""
    if array.dtype.kind != "f" or not array.size:
        return
    for label, value in (("nan", np.nan), ("inf", np.inf), ("-inf", -np.inf)):
        for place in {0, array.size // 2, array.size - 1}:
            wrong = array.copy()
            wrong.flat[place] = value
            yield f"{label} at {place}", wrong
    yield "all nan", np.full_like(array, np.nan)
    if name.startswith(tuple(f"optimizer/{slot}/" for slot in SQUARES)):
        wrong = array.copy()
        wrong.flat[-1] = -1e-30
        yield "a negative square", wrong


def shapes(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield an array in other shapes."""
    yield "longer", np.concatenate([np.atleast_1d(array)] * 2)
    yield "empty", np.zeros(0, array.dtype)
    yield "a number", np.zeros((), array.dtype)
    yield "one axis more", array[None]
    if array.ndim > 1:
        yield "flat", array.reshape(-1)
        if array.shape[0] != array.shape[1]:
            yield "turned", array.T.copy()


def tensors(good: Parts, names: list[str]) -> Iterator[Case]:
    """Yield damages of tensors in a checkpoint, where types are as strict as shapes."""
    for name in names:
        array = as_array(good.tensors[name])
        changed = [(f"of type {kind}", array.astype(kind)) for kind in TYPES if kind != array.dtype]
        for label, wrong in (*changed, *shapes(array), *values(name, array)):
            yield f"{name} {label}", good.with_tensors(**{name: as_tensor(wrong)}).pack(), REFUSED
        half = ("BF16", array.shape, bytes(2 * array.size))
        yield f"{name} of type bfloat16", good.with_tensors(**{name: half}).pack(), REFUSED
        yield f"{name} missing", good.with_tensors(**{name: None}).pack(), REFUSED
        moved = good.with_tensors(**{name: None, f"{name}x": good.tensors[name]})
        yield f"{name} renamed", moved.pack(), REFUSED
    one = as_tensor(np.ones(1, np.float32))
    for name in ("model/x", "ema/x", "optimizer/x", "optimizer/x/y", "other/x", "x", ""):
        yield f"{name!r} added", good.with_tensors(**{name: one}).pack(), REFUSED
    first = next(name for name in good.tensors if name.startswith("model/")).removeprefix("model/")
    left = {
        name: t
        for name, t in good.tensors.items()
        if not (name.startswith("optimizer/") and name.endswith(f"/{first}"))
    }
    if len(left) < len(good.tensors):
        yield f"no moments of {first}", replace(good, tensors=left).pack(), REFUSED
    stray = good.with_tensors(**{f"optimizer/foo/{first}": good.tensors[f"model/{first}"]})
    yield "a moment of another optimizer", stray.pack(), REFUSED
    for part in ("model/", "optimizer/", "ema/"):
        rest = {name: t for name, t in good.tensors.items() if not name.startswith(part)}
        if len(rest) < len(good.tensors):
            yield f"no {part}", replace(good, tensors=rest).pack(), REFUSED
    yield "no tensors", replace(good, tensors={}).pack(), REFUSED
    turned = dict(reversed(good.tensors.items()))
    yield "tensors in another order", replace(good, tensors=turned).pack(), SAME


def files(good: Parts) -> Iterator[Case]:
    """Yield files that are no safetensors files."""
    data = good.pack()
    begin = 8 + int.from_bytes(data[:8], "little")
    for size in (0, 1, 7, 8, 9, 100, begin - 1, begin, begin + 1, len(data) // 2, len(data) - 1):
        yield f"cut after {size} bytes", data[:size], REFUSED
    for length in (0, 1, 2**31, 2**63, 2**64 - 1):
        yield f"a header of {length}", length.to_bytes(8, "little") + data[8:], REFUSED
    yield "longer than its tensors", data + b"\0", REFUSED
    yield "no UTF-8", data[:9] + b"\xff\xfe" + data[11:], REFUSED
    yield "a text", b"window 1\n", REFUSED
    yield "a pickle", b"\x80\x04N.", REFUSED
    yield "zeros", bytes(1000), REFUSED
    deep = b'{"a": ' * 5000
    yield "a deep header", len(deep).to_bytes(8, "little") + deep, REFUSED


def checkpoints(
    good: Parts, names: list[str], bounds: dict[str, tuple[str, ...]]
) -> Iterator[Case]:
    """Yield damaged checkpoints."""
    yield "nothing changed", good.pack(), SAME
    yield from counters(good, bounds)
    yield from metadata(good)
    yield from tensors(good, names)
    yield from files(good)


def weights(good: Parts, names: list[str]) -> Iterator[Case]:
    """Yield damaged files of weights; other float types are none, as long as values fit."""
    yield "nothing changed", good.pack(), SAME
    for name in names:
        array = as_array(good.tensors[name])
        kinds = ("int32", "int64", "uint8", "bool", "complex64") if array.dtype.kind == "f" else ()
        changed = [(f"of type {kind}", array.astype(kind)) for kind in kinds]
        for label, wrong in (*changed, *shapes(array), *values(name, array)):
            yield f"{name} {label}", good.with_tensors(**{name: as_tensor(wrong)}).pack(), REFUSED
        if array.dtype.kind == "f":
            wide = as_tensor(array.astype(np.float64))
            yield f"{name} of type float64", good.with_tensors(**{name: wide}).pack(), SAME
            large = as_tensor(np.full(array.shape, 1e300))
            yield f"{name} too large", good.with_tensors(**{name: large}).pack(), REFUSED
            kept = array.astype(np.float16).astype(array.dtype)
            if np.array_equal(kept, array):
                narrow = as_tensor(array.astype(np.float16))
                yield f"{name} of type float16", good.with_tensors(**{name: narrow}).pack(), SAME
        if not name.startswith("classifier."):
            yield f"{name} missing", good.with_tensors(**{name: None}).pack(), REFUSED
    more = good.with_tensors(**{"cls.bias": as_tensor(np.full(3, np.nan, np.float32))})
    yield "a head of another task", more.pack(), SAME
    yield from files(good)
