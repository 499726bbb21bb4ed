"""The report of a migration as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosscast_migrate.summary import READ_ONLY

_WIDTH = 90


def page(data: Mapping[str, Any]) -> str:
    """Return the text of report.md.

    Args:
        data: result of `crosscast_migrate.report.report`.
    """
    parts = [
        _head(data),
        _bugs(data),
        _fill_in(data),
        _not_carried(data),
        _lines(data),
        _defaults(data),
        _verified(data),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Migration of {_code(data['name'])}"
    yield ""
    yield from (
        f"- **{name.capitalize()}:** {_cell(data['summary'][name])}"
        for name in ("done", "decide", "risk")
    )
    yield ""
    yield f"From {', '.join(map(_code, data['sources']))}, with crosscast {data['crosscast']}."
    yield ""


def _bugs(data: Mapping[str, Any]) -> Iterator[str]:
    bugs = [bug for bug in data["bugs"] if bug["became"] != "of no recipe"]
    if not bugs:
        return
    yield "## Mistakes of the source"
    yield ""
    rows = [
        (bug["rule"], _at(bug["place"]), bug["message"], bug["became"], bug["instead"])
        for bug in bugs
    ]
    yield from _table(("rule", "at", "the source", "became", "the new script"), rows)


def _fill_in(data: Mapping[str, Any]) -> Iterator[str]:
    if not data["fill_in"]:
        return
    yield "## To fill in"
    yield ""
    yield "The sources do not define these fields; the values in the recipe are placeholders."
    yield ""
    rows = [
        (_code(entry["field"]), _code(entry["value"]), entry["note"] or "-")
        for entry in data["fill_in"]
    ]
    yield from _table(("field", "placeholder", "reason"), rows)


def _not_carried(data: Mapping[str, Any]) -> Iterator[str]:
    if not data["not_carried"]:
        return
    yield "## Not carried"
    yield ""
    rows = [
        (entry["what"], ", ".join(map(_at, entry["places"])) or "-", entry["why"])
        for entry in data["not_carried"]
    ]
    yield from _table(("what", "at", "why"), rows)


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    for target in data["targets"]:
        name = target["target"]
        yield f"## Line by line: {name}"
        yield ""
        rows = []
        for line in data["lines"]:
            place = f"{line['file']}:{line['line']}"
            for number, field in enumerate(line["says"]):
                to = field["targets"][name]
                where = [
                    f"{line['file']}:{line['line']} {_code(line['text'])}" for line in to["emitted"]
                ]
                rows.append(
                    (
                        "" if number else f"{place} {_code(line['text'])}",
                        field["operation"] or field["field"] or field["says"],
                        "<br>".join(where) or "-",
                        _verdict(field["became"], to["verdict"]),
                    )
                )
        yield from _table(("source", "says", "emitted", "verdict"), rows)


def _verdict(became: str, verdict: str) -> str:
    if became in ("carried", "derived"):
        return verdict
    return became if became == verdict else f"{became}, {verdict}"


def _defaults(data: Mapping[str, Any]) -> Iterator[str]:
    for target in data["targets"]:
        named = [f for f in target["fields"] if f["became"] == "default made explicit"]
        unsaid = [f for f in target["fields"] if f["became"] == "default of the recipe"]
        if named:
            yield f"## Defaults made explicit: {target['target']}"
            yield ""
            rows = [
                (_code(f["field"]), _code(f["value"]), f["note"], _emitted(f), f["verdict"])
                for f in named
            ]
            yield from _table(("field", "value", "whose", "emitted", "verdict"), rows)
        if unsaid:
            names = ", ".join(f"{_code(f['field'])} {_code(f['value'])}" for f in unsaid)
            yield f"Defaults of the recipe format, not of a library: {names}."
            yield ""


def _emitted(field: Mapping[str, Any]) -> str:
    return ", ".join(f"{line['file']}:{line['line']}" for line in field["emitted"]) or "-"


def _verified(data: Mapping[str, Any]) -> Iterator[str]:
    yield "## Proof"
    yield ""
    verification = data["verification"]
    if verification is None:
        yield "Nothing was run. To run the scripts, use `crosscast migrate ... --verify`."
        return
    for target in verification["targets"]:
        stages = [(f["stage"], f["outcome"], f["wording"]) for f in target["stages"]]
        words = f" {target['wording']}" if not stages else ""
        yield f"{_code(target['target'])}: **{target['outcome']}**.{words}"
        yield ""
        if stages:
            yield from _table(("stage", "outcome", "why"), stages)
        rows = [(_code(f["field"]), f["verdict"], f["why"]) for f in target["fields"]]
        if rows:
            yield from _table(("field", "verdict", "why"), rows)
        if target["outcome"] == "same":
            yield "The emitted script does what this recipe says (proven)."
            yield ""
    if verification["reading"] is None:
        yield f"{READ_ONLY[0].upper()}{READ_ONLY[1:]}."
        yield ""
    reading = verification["reading"]
    if reading is not None:
        sentence = reading["sentence"]
        yield f"{sentence[0].upper()}{sentence[1:]}."
        yield ""
        fields = reading["fields"].items()
        rows = [(_code(path), f["status"], f["why"]) for path, f in fields]
        yield from _table(("field", "run", "why"), rows)


def _at(place: Mapping[str, Any] | None) -> str:
    return f"{place['file']}:{place['line']}" if place else "-"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"
    yield ""


def _cell(text: str) -> str:
    """Return source text escaped for a table cell."""
    return "".join(c if c.isprintable() else " " for c in text).replace("|", "\\|") or " "


def _code(value: Any) -> str:
    """Return a value as inline code, with backquotes replaced."""
    text = value if isinstance(value, str) else _shown(value)
    text = text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
    return f"`{text.replace('`', chr(39))}`"


def _shown(value: Any) -> str:
    from crosscast_reading.lift.annotated_yaml import scalar

    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(part)}" for name, part in value.items())
    return scalar(value)
