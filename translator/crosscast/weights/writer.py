"""Write a map of weights as `weights.yaml`."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast.lift.annotated_yaml import scalar
from crosscast.weights.document import VERSION, Entry, Place, WeightsMap


def text_of(known: WeightsMap) -> str:
    """Return the text of the file."""
    lines = [f"# {line}".rstrip() for line in known.heading]
    lines += [f"version: {VERSION}", f"frameworks: {scalar(known.frameworks)}", "tensors:"]
    for entry in known.entries:
        lines += _entry(entry, known.frameworks)
    left = {name: names for name, names in known.left.items() if names}
    if left:
        lines.append("left:")
        for name, names in left.items():
            lines += [f"  {name}:", *(f"    - {scalar(other)}" for other in names)]
    return "\n".join(lines) + "\n"


def _entry(entry: Entry, frameworks: Iterable[str]) -> list[str]:
    lines = [f"  # {note}" for note in entry.notes]
    lines += [f"  - name: {scalar(entry.name)}", f"    shape: {scalar(entry.shape)}"]
    for framework in frameworks:
        if framework in entry.places:
            lines.append(f"    {framework}: {_place(entry.places[framework])}")
    return [*lines, f"    proved: {str(entry.proved).lower()}"]


def _place(place: Place) -> str:
    layout = place.layout
    fields = {}
    if place.also:
        fields["also"] = scalar(place.also)
    if place.shape is not None:
        fields["shape"] = scalar(place.shape)
    for name in ("expand", "axes", "part", "gates", "term"):
        value = getattr(layout, name)
        if value is not None:
            fields[name] = scalar(value)
    if place.frozen:
        fields["frozen"] = "true"
    if not fields:
        return scalar(place.name)
    parts = [f"name: {scalar(place.name)}", *(f"{key}: {text}" for key, text in fields.items())]
    return "{" + ", ".join(parts) + "}"
