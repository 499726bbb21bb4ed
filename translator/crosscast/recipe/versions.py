"""Recipe versions: what a document of version 1 means in version 2, and the way back.

Version 2 says what operations store (`precision.policy`, `precision.ops`) and whether attention is
fused. A document of version 1 keeps its meaning; what version 1 can say is still written in it, so
that files, fingerprints and emitted scripts of such recipes do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crosscast.recipe.document import VERSION, OpTypes
from crosscast.recipe.yaml_source import PathKey

OLDEST = 1
_NEW_FIELDS: tuple[PathKey, ...] = (
    ("model", "attention"),
    ("precision", "policy"),
    ("precision", "ops", "residual"),
)
"""Fields that version 1 does not have."""
WORDS_OF_1 = ("compute", "float32")
"""What classes of operations compute in; `compute` is called `half` since version 2."""
_COMPUTE = {"compute": "half"}


def problems_of_version_1(data: Mapping[str, Any]) -> Iterator[tuple[PathKey, str, str]]:
    """Yield path, message and hint of what a document of version 1 takes from version 2."""
    for path in _NEW_FIELDS:
        if _lookup(data, path) is not None:
            yield path, "version 1 does not have this field", f"write `version: {VERSION}`"
    ops = _lookup(data, ("precision", "ops"))
    for name, value in ops.items() if isinstance(ops, Mapping) else ():
        if name in OpTypes.model_fields and name != "residual" and value not in WORDS_OF_1:
            hint = f"write one of them, or `version: {VERSION}`"
            yield ("precision", "ops", name), "version 1 has compute and float32 here", hint


def _lookup(data: Any, path: PathKey) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of version 2 with the meaning of one of version 1.

    Args:
        data: as written, without what is derived; nothing in it is changed.
    """
    new = {**data, "version": VERSION}
    model, precision = data.get("model"), data.get("precision")
    shipped = isinstance(model, Mapping) and model.get("kind") == "bert"
    if isinstance(model, Mapping) and shipped:
        new["model"] = {**model, "attention": "explicit"}
    if isinstance(precision, Mapping):
        new["precision"] = _upgraded_precision(precision, shipped)
    return new


def _upgraded_precision(precision: Mapping[str, Any], shipped: bool) -> dict[str, Any]:
    new = dict(precision)
    if shipped and precision.get("mode") in ("mixed", "full"):
        new["policy"] = "float32_stream"
    ops = precision.get("ops")
    if isinstance(ops, Mapping):
        known = {name: _COMPUTE.get(str(value), value) for name, value in ops.items()}
        # Version 1 counts the sums of the residual stream among the pointwise operations.
        new["ops"] = known | {"residual": known["pointwise"]} if "pointwise" in known else known
    return new


def as_written(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a recipe in the oldest version that can say them.

    Args:
        data: all fields of a recipe of version 2, as `model_dump` returns them.
    """
    if not said_in_version_1(data):
        return dict(data)
    old = {**data, "version": OLDEST, "precision": dict(data["precision"])}
    old["model"] = {name: value for name, value in data["model"].items() if name != "attention"}
    del old["precision"]["policy"]
    ops = {name: value for name, value in data["precision"]["ops"].items() if name != "residual"}
    old["precision"]["ops"] = {
        name: "compute" if value == "half" else value for name, value in ops.items()
    }
    return old


def said_in_version_1(data: Mapping[str, Any]) -> bool:
    """Whether version 1 can say a recipe.

    Args:
        data: all fields of a recipe of version 2, as `model_dump` returns them.
    """
    ops = data["precision"]["ops"]
    types = "float32_stored_half" not in ops.values() and ops["residual"] == ops["pointwise"]
    return types and data["model"].get("attention", "explicit") == "explicit"
