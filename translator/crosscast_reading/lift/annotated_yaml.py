"""Write a recipe as YAML with a comment at every field: where it comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crosscast import __version__
from crosscast.recipe.fill_in import FILL_IN
from crosscast_reading.lift.recipe_draft import Filled, nested

ORDER = (
    *("version", "name", "seed", "model", "data", "loss", "batch", "precision", "loss_scaling"),
    *("accumulation", "clipping", "optimizer", "schedule", "ema", "activation_checkpointing"),
    *("distributed", "launch", "tracking", "overrides"),
)
_WIDTH = 34
_PLACES = 3


def recipe_yaml(fields: Mapping[str, Filled], sources: Sequence[str]) -> str:
    """Return the text of a recipe.

    Args:
        fields: by their path.
        sources: names of the files that it was read from.
    """
    shown = ", ".join(_printable(name) for name in sources[:4]) + (
        ", ..." if len(sources) > 4 else ""
    )
    lines = [f"# Lifted by crosscast {__version__} from {shown}."]
    if any(filled.how == "assumed" for filled in fields.values()):
        lines.append(f"# {FILL_IN}: the source does not say it; what stands here is only a start.")
    tree = nested({path: (path, filled) for path, filled in fields.items()})
    for name in sorted(tree, key=lambda n: ORDER.index(n) if n in ORDER else len(ORDER)):
        _write(name, tree[name], 0, lines)
    return "\n".join(lines) + "\n"


def _write(name: str, value: Any, depth: int, lines: list[str]) -> None:
    indent = "  " * depth
    if isinstance(value, dict):
        lines.append(f"{indent}{name}:")
        for key, entry in value.items():
            _write(key, entry, depth + 1, lines)
        return
    if value and isinstance(value[0], dict):  # items with fields of their own
        lines.append(f"{indent}{name}:")
        for item in value:
            start = len(lines)
            for key, entry in item.items():
                _write(key, entry, depth + 2, lines)
            lines[start] = f"{indent}  - {lines[start].lstrip()}"
        return
    _, filled = value
    text = f"{indent}{name}: {scalar(filled.value)}"
    note = comment(filled)
    lines.append(f"{text:{_WIDTH}}  # {note}" if note else text)


def scalar(value: Any) -> str:
    """Return a value as YAML 1.2 reads it back."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(scalar(element) for element in value)}]"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        text = repr(value)
        if "e" in text and "." not in text:
            text = text.replace("e", ".0e")
        return text
    if isinstance(value, int):
        return str(value)
    word = str(value)
    simple = word.replace("_", "").replace("-", "").replace(".", "").replace("/", "")
    reserved = word.lower() in ("none", "null", "true", "false", "yes", "no", "on", "off", "~")
    if simple.isalnum() and simple.isascii() and word[0].isalpha():
        return word if not reserved or word == "none" else _quoted(word)
    return _quoted(word)


def _quoted(word: str) -> str:
    """Return a text in double quotes; YAML has its own way to write what cannot be printed."""
    text = json.dumps(word, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def comment(filled: Filled) -> str:
    """Return where a field comes from: places, confidence, what else one must know."""
    lines = list(dict.fromkeys(f"{_printable(place.file)}:{place.line}" for place in filled.places))
    places = ", ".join(lines[:_PLACES]) + (", ..." if len(lines) > _PLACES else "")
    parts = [places] if places else []
    if filled.note:
        parts.append(f"({_printable(filled.note)})" if places else _printable(filled.note))
    note = " ".join(parts)
    if filled.how == "assumed":
        return f"{FILL_IN}: {note}".rstrip(": ")
    return note if filled.confidence == "certain" else f"{note} {filled.confidence}".lstrip()


def _printable(text: str) -> str:
    """Return a text of a source fit for a comment: one line, nothing that YAML forbids."""
    return "".join(c if c.isprintable() else " " for c in text)[:120]
