"""The report of a migration as plain data: each line of the source with its counterpart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosscast import __version__
from crosscast.carriers.text_changes import Line
from crosscast.messages.diagnostics import Diagnostic, Span
from crosscast.targets.capability import Judgement
from crosscast_migrate.across_frameworks import CrossMigration, TargetScripts
from crosscast_migrate.bugs import Fate
from crosscast_migrate.carried_fields import OF_EVENTS, field_of, reason_for
from crosscast_migrate.left_behind import left_behind
from crosscast_migrate.left_open import OTHERWISE
from crosscast_migrate.summary import across_summary
from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import printed_name, printed_value
from crosscast_reading.lift.plan_comparison import (
    COLUMNS,
    FIELDS_OF_OPERATIONS,
    beside,
    operation_places,
)
from crosscast_reading.lift.report import place

SCHEMA = 1
_SHAPE = 3
"""A field with more lines affects whole operations, whose lines are more informative."""
_UNREAD = frozenset(
    {"CC901", "CC902", "CC903", "CC904", "CC911", "CC916", "CC918", "CC920", "CC921"}
)
"""Diagnostics about code that was not read or that a recipe cannot express."""


def report(across: CrossMigration, verification: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a migration in the format of `schema/migrate-v1.json`."""
    data: dict[str, Any] = {
        "version": SCHEMA,
        "crosscast": __version__,
        "name": across.recipe.name,
        "sources": [source.name for source in across.sources],
        "targets": [_target(across, arrival) for arrival in across.arrived],
        "lines": lines(across),
        "bugs": [_bug(fate) for fate in across.fates],
        "fill_in": [_fill_in(across, path) for path in across.fill_in],
        "not_carried": list(_not_carried(across)),
        "files": sorted(across.files),
        "verification": dict(verification) if verification is not None else None,
        "diagnostics": [diagnostic.to_json() for diagnostic in across.diagnostics],
    }
    return {**data, "summary": across_summary(data).to_json()}


def _target(across: CrossMigration, arrived: TargetScripts) -> dict[str, Any]:
    compiled = arrived.compiled
    return {
        "target": compiled.target.name,
        "folder": compiled.target.folder,
        "fields": [_field(across, arrived, judgement) for judgement in compiled.judgements],
        "steps": [
            {
                "function": step.function,
                "rows": [
                    {
                        **dict(zip(COLUMNS, row, strict=True)),
                        "emitted": [_line(line) for line in arrived.operations.get(row[1], ())],
                    }
                    for row in beside(step, compiled.plan, across.lifted.fields)
                ],
            }
            for step in across.lifted.analysis.subject.steps
        ],
    }


def _field(across: CrossMigration, arrived: TargetScripts, judged: Judgement) -> dict[str, Any]:
    filled = across.fields.get(judged.path)
    value = filled.value if filled is not None else judged.value
    return {
        "field": judged.path,
        "value": _plain(value),
        "became": became(across, judged.path),
        "places": [_place(across, span) for span in filled.places] if filled else [],
        "note": filled.note if filled else "",
        "verdict": str(judged.row.verdict),
        "code": judged.row.code,
        "how": judged.row.how,
        "emitted": [_line(line) for line in emitted(arrived, judged.path)],
    }


def became(across: CrossMigration, path: str) -> str:
    """Return the fate of a field, as in `schema/migrate-v1.json`."""
    for fate in across.fates:
        if path in _paths(fate) and fate.became in ("changed on purpose", "kept"):
            return fate.became
    filled = across.fields.get(path)
    if filled is None:
        parts = [filled for name, filled in across.fields.items() if name.startswith(f"{path}.")]
        if not parts:
            return "default of the recipe"
        filled = parts[0]
    if filled.nothing:
        return "not in the source"
    return {
        "read": "carried",
        "derived": "derived",
        "default": "default made explicit",
        "assumed": "fill in",
    }[filled.how]


def _paths(fate: Fate) -> Iterator[str]:
    """Yield the fields that a mistake affects."""
    yield fate.path
    for path, part in fate.changes.items():
        yield path
        if isinstance(part, Mapping):
            yield from (f"{path}.{name}" for name in part)


def emitted(arrived: TargetScripts, path: str) -> Sequence[Line]:
    """Return the lines that carry a field, or the first line of each operation it affects."""
    carrier_lines = arrived.carriers.get(path, ())
    section = f"{path.partition('.')[0]}."
    of = {kind: field for kind, field in FIELDS_OF_OPERATIONS.items() if kind in arrived.operations}
    kinds = [kind for kind, field in of.items() if field == path]
    if len(carrier_lines) <= _SHAPE and len(kinds) < _SHAPE:
        return carrier_lines
    kinds = kinds or [kind for kind, field in of.items() if field.startswith(section)]
    code = [_representative(arrived.operations[kind]) for kind in kinds]
    return [line for line in code if not _is_comment(line)][:_SHAPE] or carrier_lines[:_SHAPE]


def _representative(operation: Sequence[Line]) -> Line:
    """Return the first line of an operation, preferably not a comment."""
    return next((line for line in operation if not _is_comment(line)), operation[0])


def _is_comment(line: Line) -> bool:
    return line.text.lstrip().startswith("#")


def lines(across: CrossMigration) -> list[dict[str, Any]]:
    """Return every relevant line of the sources with the lines that carry it."""
    fields: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    steps = across.lifted.analysis.subject.steps
    events = list(operation_places(steps, across.arrived[0].compiled.plan))
    event_lines = {(file, line) for operation, _, file, line in events if operation}
    for fact in across.lifted.analysis.subject.profile:
        path = field_of(fact, _recipe_fields(across))
        says = printed_name(fact.field)
        entry = {"says": says, "value": _value(fact), "field": path, "operation": ""}
        for span in fact.places:
            place_ = (span.file, span.line)
            if fact.field not in OF_EVENTS or place_ not in event_lines:
                fields.setdefault(place_, {}).setdefault(path or says, entry)
    for path, filled in across.fields.items():
        entry = {"says": path, "value": _plain(filled.value), "field": path, "operation": ""}
        for span in filled.places:
            fields.setdefault((span.file, span.line), {}).setdefault(path, entry)
    for operation, event, file, line in events:
        path = FIELDS_OF_OPERATIONS.get(operation, "")
        entry = {"says": event, "value": None, "field": path, "operation": operation}
        fields.setdefault((file, line), {}).setdefault(f"{operation} {event}", entry)
    texts = {source.name: source.text.splitlines() for source in across.sources}
    return [
        {
            "file": file,
            "line": line,
            "text": _text(texts, file, line),
            "says": [_line_entry(across, filled) for filled in fields[file, line].values()],
        }
        for file, line in sorted(fields)
    ]


def _line_entry(across: CrossMigration, entry: Mapping[str, Any]) -> dict[str, Any]:
    path, operation = str(entry["field"]), str(entry["operation"])
    carried = {}
    for arrived in across.arrived:
        judged = _judged(arrived, path)
        emitted_lines = emitted(arrived, judged.path) if judged else ()
        if operation in arrived.operations:
            emitted_lines = [_representative(arrived.operations[operation])]
        carried[arrived.compiled.target.name] = {
            "verdict": str(judged.row.verdict) if judged else "not carried",
            "emitted": [_line(line) for line in emitted_lines],
        }
    end = became(across, path) if path else "not carried"
    if operation and end not in ("changed on purpose", "kept"):
        end = "carried"
    return {**entry, "became": end, "targets": carried}


def _judged(arrived: TargetScripts, path: str) -> Judgement | None:
    """Return the judgement of a field, or of the tuple or mapping that contains it."""
    for judgement in arrived.compiled.judgements:
        if path and (judgement.path == path or path.startswith(f"{judgement.path}.")):
            return judgement
    derived = {"schedule.warmup_ratio": "schedule.warmup_steps"}.get(path, "")
    return _judged(arrived, derived) if derived else None


def _not_carried(across: CrossMigration) -> Iterator[dict[str, Any]]:
    """Yield facts without a field, parts left to the user, and code that was not read."""
    subject = across.lifted.analysis.subject
    for fact in subject.profile:
        if fact.field.startswith("recipe.model.") and across.model is not None:
            continue  # its factory says it
        if fact.field == "run.besides":
            continue  # a diagnostic says it
        if not field_of(fact, _recipe_fields(across)) or (
            not fact.known and _is_open(across, fact)
        ):
            where = [_place(across, span) for span in fact.places]
            yield {"what": printed_name(fact.field), "places": where, "why": reason_for(fact)}
    yield from _lost_flags(across)
    yield from _model(across)
    if across.weights:
        why = "pass them as safetensors: train.py --weights FILE"
        yield {"what": f"weights of {across.weights}", "places": [], "why": why}
    for left in left_behind(subject.program):
        where = [_place(across, span) for span in left.places]
        yield {"what": left.kind.what, "places": where, "why": left.kind.instead}
    others = [d for d in across.diagnostics if d.code in OTHERWISE]
    for diagnostic in (*across.lifted.diagnostics, *others):
        if diagnostic.code in (*_UNREAD, *OTHERWISE):
            yield {
                "what": diagnostic.code,
                "places": _places(across, diagnostic),
                "why": diagnostic.message,
            }


def _model(across: CrossMigration) -> Iterator[dict[str, Any]]:
    """Yield the parts of the model and the loss that are not carried."""
    place = across.model.place if across.model is not None else None
    places = [_place(across, place)] if place is not None else []
    for name, own in across.own_models.items():
        if own.reason:
            why = f"the model is not migrated: {own.reason}"
            yield {"what": f"model, to {name}", "places": places, "why": why}
        for note in own.notes:
            yield {"what": f"model, to {name}", "places": places, "why": note}
    rows = across.rows
    for note in (*rows.notes, *rows.undone) if rows is not None else ():
        yield {"what": "data", "places": [], "why": note}
    if across.loss is not None and across.loss.note:
        yield {"what": "loss", "places": [], "why": across.loss.note}


def _lost_flags(across: CrossMigration) -> Iterator[dict[str, Any]]:
    """Yield the launch flags whose meaning is defined by a program that was not given."""
    subject = across.lifted.analysis.subject
    if subject.program.modules:
        return
    used = {(p.file, p.line, p.column) for filled in across.fields.values() for p in filled.places}
    for command in subject.commands:
        for flag in command.flags:
            places = [p for p in flag.places if (p.file, p.line, p.column) not in used]
            if places and len(places) == len(flag.places):
                why = f"its meaning is defined in {command.program}, which was not given"
                where = [_place(across, span) for span in places]
                yield {"what": flag.expression, "places": where, "why": why}


def _is_open(across: CrossMigration, fact: Fact) -> bool:
    filled = across.fields.get(field_of(fact, _recipe_fields(across)))
    return filled is None or filled.how == "assumed"


def _recipe_fields(across: CrossMigration) -> set[str]:
    """Return the fields of the recipe, including defaults."""
    judged = across.arrived[0].compiled.judgements if across.arrived else ()
    return {*across.fields, *(judgement.path for judgement in judged)}


def _places(across: CrossMigration, diagnostic: Diagnostic) -> list[dict[str, Any]]:
    return [_place(across, diagnostic.span)] if diagnostic.span else []


def _fill_in(across: CrossMigration, path: str) -> dict[str, Any]:
    filled = across.fields[path]
    return {
        "field": path,
        "value": _plain(filled.value),
        "note": filled.note,
        "places": [_place(across, span) for span in filled.places],
    }


def _bug(fate: Fate) -> dict[str, Any]:
    return {
        "rule": fate.rule,
        "name": fate.name,
        "message": fate.message,
        "place": place(fate.span) if fate.span else None,
        "field": fate.path,
        "became": fate.became,
        "instead": fate.instead,
        "changes": {path: _plain(value) for path, value in fate.changes.items()},
    }


def _place(across: CrossMigration, span: Span) -> dict[str, Any]:
    texts = {source.name: source.text.splitlines() for source in across.sources}
    return {**place(span), "text": _text(texts, span.file, span.line)}


def _text(texts: Mapping[str, Sequence[str]], file: str, line: int) -> str:
    file_lines = texts.get(file, ())
    return file_lines[line - 1].strip() if 0 < line <= len(file_lines) else ""


def _line(line: Line) -> dict[str, Any]:
    return {"file": line.file, "line": line.line, "text": line.text.strip()}


def _value(fact: Fact) -> Any:
    return _plain(printed_value(fact.field, fact.value)) if fact.known else None


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value
