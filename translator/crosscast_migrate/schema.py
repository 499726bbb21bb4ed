"""The JSON Schema of a migration's report.json."""

from __future__ import annotations

import json
from typing import Any

from crosscast.targets.capability import Verdict
from crosscast_migrate.chosen_proof import LEVELS
from crosscast_migrate.summary import STATES
from crosscast_reading.lift.schema import run_schema

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_BECAME = [
    *("carried", "default made explicit", "default of the recipe", "not in the source"),
    *("derived", "fill in", "changed on purpose", "kept", "not carried"),
]
_VERDICTS = [str(verdict) for verdict in Verdict]


def migrate_schema() -> dict[str, Any]:
    """Return the schema, version 1."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Report of crosscast migrate -o, version 1",
        **_object(
            version={"const": 1},
            crosscast=_TEXT,
            name=_TEXT,
            sources=_TEXTS,
            targets=_list("target"),
            lines=_list("line"),
            bugs=_list("bug"),
            fill_in=_list("fill_in"),
            not_carried=_list("left"),
            files=_TEXTS,
            verification={"anyOf": [{"type": "null"}, {"$ref": "#/$defs/verification"}]},
            diagnostics={"type": "array", "items": {"type": "object"}},
            summary=_object(done=_TEXT, decide=_TEXT, risk=_TEXT, state={"enum": [*STATES]}),
        ),
        "$defs": _definitions(),
    }


def _definitions() -> dict[str, Any]:
    place = _object(file=_TEXT, line={"type": "integer"}, column={"type": "integer"})
    quoted = _object(**place["properties"], text=_TEXT)
    emitted = _list("emitted")
    carried = _object(verdict={"enum": [*_VERDICTS, "not carried"]}, emitted=emitted)
    carried_fields = _object(
        says=_TEXT,
        value=True,
        field=_TEXT,
        operation=_TEXT,
        became={"enum": _BECAME},
        targets={"type": "object", "additionalProperties": carried},
    )
    field = _object(
        field=_TEXT,
        value=True,
        became={"enum": _BECAME},
        places=_list("quoted"),
        note=_TEXT,
        verdict={"enum": _VERDICTS},
        code=_TEXT,
        how=_TEXT,
        emitted=emitted,
    )
    row = dict.fromkeys(("part", "the plan", "the program", "at", "how"), _TEXT)
    step = _object(function=_TEXT, rows={"type": "array", "items": _object(**row, emitted=emitted)})
    fates = ["changed on purpose", "kept", "cannot be kept", "as it runs", "of no recipe"]
    verdicts = ["same", "changed on purpose", "not comparable", "different"]
    outcomes = ["same", "different", "cannot be verified here", "not executed"]
    judged = _object(field=_TEXT, verdict={"enum": verdicts}, why=_TEXT)
    stage = _object(stage=_TEXT, outcome={"enum": outcomes}, wording=_TEXT)
    verified = _object(
        target=_TEXT,
        outcome={"enum": outcomes},
        executed={"type": "boolean"},
        wording=_TEXT,
        stages={"type": "array", "items": stage},
        checks=_TEXTS,
        fields={"type": "array", "items": judged},
        proof=_object(level={"enum": list(LEVELS)}, words=_TEXT, stronger=_TEXT),
    )
    return {
        "place": place,
        "quoted": quoted,
        "emitted": _object(file=_TEXT, line={"type": "integer"}, text=_TEXT),
        "target": _object(
            target=_TEXT,
            folder=_TEXT,
            fields={"type": "array", "items": field},
            steps={"type": "array", "items": step},
        ),
        "line": _object(
            file=_TEXT,
            line={"type": "integer"},
            text=_TEXT,
            says={"type": "array", "items": carried_fields},
        ),
        "bug": _object(
            rule=_TEXT,
            name=_TEXT,
            message=_TEXT,
            place={"anyOf": [{"type": "null"}, {"$ref": "#/$defs/place"}]},
            field=_TEXT,
            became={"enum": fates},
            instead=_TEXT,
            changes={"type": "object"},
        ),
        "fill_in": _object(field=_TEXT, value=True, note=_TEXT, places=_list("quoted")),
        "left": _object(what=_TEXT, places=_list("quoted"), why=_TEXT),
        "verification": _object(
            targets={"type": "array", "items": verified},
            reading={"anyOf": [{"type": "null"}, run_schema()]},
        ),
    }


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def schema_text() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(migrate_schema(), indent=2) + "\n"
