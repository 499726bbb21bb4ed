"""Change values in the text of a recipe and preserve comments, order and layout.

Single values are replaced in place; a missing field is added at the beginning of its section, or at
the end of the file. As few fields as possible are added: the edited text is parsed again and must
equal the wanted recipe. Otherwise the recipe is written out in full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import PathKey, YamlDocument, parse

_LINE = re.compile(r".*?(?:\r\n|\r|\n|\Z)", re.DOTALL)


def edited(
    text: str,
    changes: Mapping[str, Any],
    wanted: Recipe,
    write_out: Callable[[Recipe], str],
) -> str:
    """Return the text of a recipe with other values.

    Args:
        text: A valid recipe.
        changes: New values (strings, integers, booleans) by dotted path.
        wanted: The recipe that the result must be.
        write_out: Writes a recipe in full.
    """
    document = parse(text, "")
    present = {path: value for path, value in changes.items() if _key(path) in document.keys}
    for chosen in _choices(changes, present):
        result = _with(text, document, chosen)
        if result is not None and _reads_as(result, wanted):
            return result
    return write_out(wanted)


def _choices(changes: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield sets of changes to write, smallest first: other values may be derived from them."""
    yield present
    absent = {path: value for path, value in changes.items() if path not in present}
    derived = ("accumulation.steps", "batch.micro_batch_size", "loss_scaling.mode")
    needed = {path: value for path, value in absent.items() if path not in derived}
    yield {**present, **needed}
    for path in derived:
        if path in absent:
            yield {**present, **needed, path: absent[path]}
    yield changes


def _key(path: str) -> PathKey:
    return tuple(path.split("."))


def _reads_as(text: str, wanted: Recipe) -> bool:
    try:
        return build_recipe(parse(text, "")) == wanted
    except DiagnosticError:
        return False


def _with(text: str, document: YamlDocument, changes: Mapping[str, Any]) -> str | None:
    """Return the text with the values inserted; None if one has no place."""
    lines = [match[0] for match in _LINE.finditer(text) if match[0]]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    newline = "\r\n" if "\r\n" in text else "\n"
    cuts: list[tuple[int, int, str]] = []
    sections: dict[str, list[str]] = {}
    for path, value in changes.items():
        key, shown = _key(path), _shown(value)
        span = document.values.get(key) if key in document.keys else None
        if span is not None:
            if span.end_column is None or isinstance(_value_at(document.data, key), dict | tuple):
                return None
            at = starts[span.line - 1]
            cuts.append((at + span.column - 1, at + span.end_column - 1, shown))
            continue
        section, _, name = path.rpartition(".")
        sections.setdefault(section, []).append(f"{name}: {shown}")
    for section, entries in sections.items():
        place = document.values.get(_key(section) if section else ())
        if section and _key(section) not in document.keys:  # a new section
            entries = [f"{section}: {{{', '.join(entries)}}}"]
            place = document.values.get(())
        elif section and not isinstance(_value_at(document.data, _key(section)), dict):
            return None
        if place is None:
            return None
        at = starts[place.line - 1] + place.column - 1
        if text[at] == "{":
            cuts.append((at + 1, at + 1, "".join(f"{entry}, " for entry in entries)))
        elif section and _key(section) in document.keys:
            indent = newline + " " * (place.column - 1)
            cuts.append((at, at, "".join(f"{entry}{indent}" for entry in entries)))
        else:
            gap = "" if text.endswith(("\n", "\r")) else newline
            cuts.append(
                (len(text), len(text), gap + "".join(f"{entry}{newline}" for entry in entries))
            )
    for start, end, new in sorted(cuts, key=lambda cut: cut[:2], reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _value_at(data: Any, key: PathKey) -> Any:
    for part in key:
        data = data[part]
    return data


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
