"""Recipe versions: what a document of version 1 means in version 2, and the way back.

Version 2 says what operations store (`precision.policy`, `precision.ops`) and whether attention is
fused. A document of version 1 keeps its meaning; what version 1 can say is still written in it, so
that files, fingerprints and emitted scripts of such recipes do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.recipe.document import VERSION, BertModel, OpType, OpTypes, Recipe
from crosscast.recipe.policies import DEFAULT_POLICY, POLICIES
from crosscast.recipe.yaml_source import PathKey

OLDEST = 1
_NEW_FIELDS: tuple[PathKey, ...] = (
    ("model", "attention"),
    ("precision", "policy"),
    ("precision", "ops", "residual"),
)
"""Fields that version 1 does not have."""
POLICY_OF_1 = "float32_stream"
WORDS_OF_1 = ("compute", "float32")
"""What classes of operations compute in; `compute` is called `half` since version 2."""
_CLASSES_OF_1 = frozenset(OpTypes.model_fields) - {"residual"}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a document of version 1 cannot say, or not with these words."""

    path: PathKey
    code: str
    message: str
    hint: str


def problems_of_version_1(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the fields and words of a document of version 1 that it does not have."""
    newer = f"write `version: {VERSION}`"
    for path in _NEW_FIELDS:
        if _lookup(data, path) is not None:
            yield Problem(path, "CC105", "version 1 does not have this field", newer)
    ops = _lookup(data, ("precision", "ops"))
    words = " or ".join(WORDS_OF_1)
    for name, value in ops.items() if isinstance(ops, Mapping) else ():
        if name not in _CLASSES_OF_1 or value in WORDS_OF_1:
            continue
        if value in get_args(OpType):
            hint = f"write `version: {VERSION}`, or {words} here"
            yield Problem(
                ("precision", "ops", name), "CC105", f"version 1 has no {value} here", hint
            )
        else:
            hint = f"write {words}"
            yield Problem(("precision", "ops", name), "CC104", f"must be {words}", hint)


def _lookup(data: Any, path: PathKey) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def meaning_of_newer(recipe: Recipe, written: Mapping[str, Any]) -> Diagnostic | None:
    """Return a note of what a document of version 1 would mean in version 2, if not the same.

    Args:
        recipe: what the document means.
        written: the document, as written.
    """
    model, precision = recipe.model, recipe.precision
    if written.get("version") != OLDEST or not isinstance(model, BertModel):
        return None
    changes, kept = ["attention keeps no scores"], [f"model.attention: {model.attention}"]
    ops = upgraded(written).get("precision", {}).get("ops", {})
    if recipe.half and {**POLICIES[DEFAULT_POLICY], **ops} != precision.ops.model_dump():
        changes.insert(0, "operations store half precision")
        kept.append(f"precision.policy: {precision.policy}")
    if ops:  # `compute` has another name
        classes = ", ".join(f"{name}: {word}" for name, word in ops.items())
        kept.append(f"precision.ops: {{{classes}}}")
    return Diagnostic(
        code="CC221",
        severity=Severity.NOTE,
        path="version",
        message=f"in version {VERSION} {' and '.join(changes)}, which saves memory",
        hint=f"write `version: {VERSION}`; with {' and '.join(kept)} it means the same as now",
    )


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
    new = {name: value for name, value in precision.items() if name != "policy"}
    if shipped and precision.get("mode") in ("mixed", "full"):
        new["policy"] = POLICY_OF_1
    ops = precision.get("ops")
    if isinstance(ops, Mapping):
        # What neither version has was reported above; unknown fields are reported later.
        known = {
            name: ("half" if value == "compute" else "float32") if name in _CLASSES_OF_1 else value
            for name, value in ops.items()
            if name != "residual"
        }
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
    explicit = data["model"].get("attention", "explicit") == "explicit"
    return types and explicit and data["precision"]["policy"] == POLICY_OF_1
