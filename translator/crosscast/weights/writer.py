"""Write a map of weights as `weights.yaml`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from crosscast.weights.document import VERSION, Entry, Place, WeightsMap

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off"}


def text_of(known: WeightsMap) -> str:
    """Return the text of the file."""
    lines = [f"# {line}".rstrip() for line in known.heading]
    lines += [f"version: {VERSION}", f"frameworks: {_list(known.frameworks)}", "tensors:"]
    for entry in known.entries:
        lines += _entry(entry, known.frameworks)
    left = {name: names for name, names in known.left.items() if names}
    if left:
        lines.append("left:")
        for name, names in left.items():
            lines += [f"  {name}:", *(f"    - {_scalar(other)}" for other in names)]
    return "\n".join(lines) + "\n"


def _entry(entry: Entry, frameworks: Iterable[str]) -> list[str]:
    lines = [f"  # {note}" for note in entry.notes]
    lines += [f"  - name: {_scalar(entry.name)}", f"    shape: {_list(entry.shape)}"]
    for framework in frameworks:
        if framework in entry.places:
            lines.append(f"    {framework}: {_place(entry.places[framework])}")
    return [*lines, f"    proved: {str(entry.proved).lower()}"]


def _place(place: Place) -> str:
    layout = place.layout
    fields = {}
    if place.also:
        fields["also"] = _list(place.also)
    if place.shape is not None:
        fields["shape"] = _list(place.shape)
    for name in ("expand", "axes", "part", "gates", "term"):
        value = getattr(layout, name)
        if value is not None:
            fields[name] = _list(value)
    if place.frozen:
        fields["frozen"] = "true"
    if not fields:
        return _scalar(place.name)
    parts = [f"name: {_scalar(place.name)}", *(f"{key}: {text}" for key, text in fields.items())]
    return "{" + ", ".join(parts) + "}"


def _list(values: Sequence[object]) -> str:
    return "[" + ", ".join(_scalar(value) for value in values) + "]"


def _scalar(value: object) -> str:
    """Return a number or a name; names with other characters are quoted."""
    text = str(value)
    plain = isinstance(value, int) or (_PLAIN.fullmatch(text) and text.lower() not in _WORDS)
    return text if plain else json.dumps(text, ensure_ascii=False)
