"""The data of a page: which lines every field and operation lights up, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from crosscast.explore.dark_lines import UNCHANGED, meaning_of
from crosscast.explore.panes import Pane
from crosscast.explore.subject import Origin, Script, Side
from crosscast.messages.terminal import escaped_in_page
from crosscast.plan.operations import OPS
from crosscast.recipe.docstrings import field_docs
from crosscast.recipe.section import Section
from crosscast.targets.capability import Verdict, leaves
from crosscast_reading.lift.annotated_yaml import scalar

SYMBOLS = {
    Verdict.EXACT: "=",
    Verdict.ADAPTED: "~",
    Verdict.APPROXIMATE: "\N{ALMOST EQUAL TO}",
    Verdict.UNSUPPORTED: "\N{MULTIPLICATION SIGN}",
}
_ORDER = tuple(Verdict)
NOT_TRIED = "The rest of this recipe allows no other value that could be compared."
NO_CHANGE = "Every other value that was tried gives the same script, or is refused by this target."


@dataclass(frozen=True, slots=True)
class Mark:
    """The verdict of one target in a row of the recipe."""

    target: str
    verdict: str
    symbol: str


@dataclass(frozen=True, slots=True)
class PaneRow:
    """A field in the column of the recipe."""

    path: str
    name: str
    values: tuple[str, ...]
    """One value, or one for each recipe if they differ; empty where there is no such field."""
    how: str
    note: str
    marks: tuple[Mark, ...]
    differs: bool

    @property
    def label(self) -> str:
        """All of the row in words."""
        verdicts = ", ".join(f"{mark.target} {mark.verdict}" for mark in self.marks)
        value = " became ".join(value or "nothing" for value in self.values)
        return "; ".join(filter(None, (f"{self.path}: {value}", self.note, verdicts)))


def rows_of(sides: Sequence[Side], panes: Sequence[Pane]) -> list[PaneRow]:
    """Return the fields of all recipes."""
    values = [dict(leaves(side.recipe)) for side in sides]
    return [_row(path, values, sides, panes) for path in _paths(values)]


def _paths(values: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return all fields, those of a section together."""
    paths = list(dict.fromkeys(path for own in values for path in own))
    sections = list(dict.fromkeys(_section(path) for path in paths))
    return sorted(paths, key=lambda path: sections.index(_section(path)))


def _section(path: str) -> str:
    return path.partition(".")[0] if "." in path else ""


def _row(
    path: str, values: Sequence[Mapping[str, Any]], sides: Sequence[Side], panes: Sequence[Pane]
) -> PaneRow:
    texts = tuple(_value_text(own[path]) if path in own else "" for own in values)
    has = next(side for side, own in zip(sides, values, strict=True) if path in own)
    origin = has.origin(path)
    return PaneRow(
        path=path,
        name=path.partition(".")[2] or path,
        values=texts if len(set(texts)) > 1 else texts[:1],
        how=origin.how,
        note=_note(origin),
        marks=tuple(mark for pane in panes for mark in _mark(path, pane)),
        differs=len(set(texts)) > 1 or any(_differs(path, pane) for pane in panes),
    )


def _value_text(value: Any) -> str:
    if isinstance(value, Section):
        value = value.model_dump()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value_text, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {_value_text(part)}' for name, part in value.items())}}}"
    return scalar(value)


def _note(origin: Origin) -> str:
    places = dict.fromkeys(f"{PurePath(p.file).name}:{p.line}" for p in origin.places)
    at = ", ".join(list(places)[:2])
    match origin.how:
        case "written":
            return ""
        case "assumed":
            return "fill in"
        case "default":
            return origin.note or "filled in"
    return at or origin.note


def _judged(path: str, pane: Pane) -> list[tuple[Script, Any]]:
    return [(s, s.judgements[path]) for s in pane.scripts if path in s.judgements]


def _mark(path: str, pane: Pane) -> list[Mark]:
    verdicts = [judged.row.verdict for _, judged in _judged(path, pane)]
    worst = max(verdicts, key=_ORDER.index, default=None)
    return [Mark(pane.title, str(worst), SYMBOLS[worst])] if worst is not None else []


def _differs(path: str, pane: Pane) -> bool:
    """Whether two dialects do different things for a field, or two recipes have other verdicts."""
    judged = _judged(path, pane)
    two = len({script.side for script, _ in judged}) > 1
    return len({(each.row.verdict, "" if two else each.row.how) for _, each in judged}) > 1


def page_data(
    rows: Sequence[PaneRow], sides: Sequence[Side], panes: Sequence[Pane], source: Pane | None
) -> dict[str, Any]:
    """Return the data of the page's script, as plain data."""
    columns = [*([source] if source is not None else []), *panes]
    printed = {kind for pane in panes for s in pane.scripts for kind in s.lines.operations}
    operations = [op.kind for op in OPS if op.kind in printed]
    reasons = list(dict.fromkeys(why for pane in columns for why in pane.dark.values() if why))
    return {
        "panes": [{"key": p.key, "title": p.title, "sides": list(p.sides)} for p in columns],
        "keys": [
            *(_field(row, sides, columns) for row in rows),
            *(_operation(kind, sides, columns) for kind in operations),
        ],
        "reasons": reasons,
        "unchanged": UNCHANGED,
        "dark": [
            {str(key): reasons.index(why) for key, why in pane.dark.items() if why}
            for pane in columns
        ],
    }


def _field(row: PaneRow, sides: Sequence[Side], columns: Sequence[Pane]) -> dict[str, Any]:
    value = " \N{RIGHTWARDS ARROW} ".join(text or "\N{EM DASH}" for text in row.values)
    return {
        "id": row.path,
        "kind": "field",
        "value": value,
        "about": _meaning(sides, row.path),
        "note": row.note,
        "ops": sorted(
            {kind for p in columns for s in p.scripts for kind in _operations(s, row.path)}
        ),
        "panes": [
            _source_lines(row.path, sides, pane) if not pane.scripts else _lines(row.path, pane)
            for pane in columns
        ],
    }


def _operations(script: Script, path: str) -> Iterable[str]:
    field_lines = script.lines.fields.get(path)
    return field_lines.operations if field_lines is not None else ()


def _source_lines(path: str, sides: Sequence[Side], pane: Pane) -> dict[str, Any]:
    places = {(p.file, p.line) for side in sides for p in side.origin(path).places}
    note = next((side.origin(path).note for side in sides if side.origin(path).note), "")
    own = pane.lines(0, places)
    none = "" if own else note or "The source does not say it."
    return {"own": own, "rel": [], "gap": [], "judged": [], "none": none}


def _lines(path: str, pane: Pane) -> dict[str, Any]:
    keys: dict[str, list[int]] = {"own": [], "rel": [], "gap": []}
    reasons = []
    for half, script in enumerate(pane.scripts):
        lines = script.lines.fields.get(path)
        if lines is None:
            continue
        keys["own"] += pane.lines(half, lines.own)
        keys["rel"] += pane.lines(half, lines.related)
        keys["gap"] += pane.lines(half, lines.gaps)
        reasons.append(NO_CHANGE if path in script.tried else NOT_TRIED)
    none = "" if any(keys.values()) or not reasons else reasons[0]
    judged = [_judgement(script, pane, judged) for script, judged in _judged(path, pane)]
    return {**keys, "judged": _merged(judged), "none": none}


def _judgement(script: Script, pane: Pane, judged: Any) -> dict[str, str]:
    return {
        "side": pane.sides[pane.scripts.index(script)],
        "verdict": str(judged.row.verdict),
        "code": judged.row.code,
        "how": judged.row.how,
        "evidence": str(judged.row.evidence),
    }


def _merged(judged: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return one record where both sides have the same."""
    if len(judged) == 2 and judged[0] | {"side": ""} == judged[1] | {"side": ""}:
        return [judged[0] | {"side": ""}]
    return judged


def _operation(kind: str, sides: Sequence[Side], columns: Sequence[Pane]) -> dict[str, Any]:
    lines = []
    for pane in columns:
        events = {place for side in sides for place in side.events.get(kind, ())}
        own = pane.lines(0, events) if not pane.scripts else []
        for half, script in enumerate(pane.scripts):
            own += pane.lines(half, script.lines.operations.get(kind, ()))
        lines.append({"own": own, "rel": [], "gap": [], "judged": [], "none": ""})
    return {
        "id": f"step:{kind}",
        "kind": "operation",
        "value": "",
        "about": meaning_of(kind),
        "note": "",
        "ops": [],
        "panes": lines,
    }


def _meaning(sides: Sequence[Side], path: str) -> str:
    """Return the meaning of a field, or else of its section."""
    for side in sides:
        section: Any = side.recipe
        *parents, last = path.split(".")
        for name in parents:
            section = getattr(section, name, None)
        if isinstance(section, Section) and last in type(section).model_fields:
            text = field_docs(type(section)).get(last, "") or type(section).__doc__ or ""
            return " ".join(text.split())
    return ""


def embedded(data: Mapping[str, Any]) -> str:
    """Return data as JSON that can stand in a script element, whatever texts are in it."""
    text = json.dumps(_escaped(data), ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _escaped(value: Any) -> Any:
    """Return data with the controls in its texts as on a terminal."""
    if isinstance(value, Mapping):
        return {name: _escaped(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(part) for part in value]
    return escaped_in_page(value)
