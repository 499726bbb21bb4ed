"""What `lift --json` prints, against its schema."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema

from crosscast.messages.diagnostics import Diagnostic, Span
from crosscast.messages.source import Source
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lift.report import lost, report
from crosscast_reading.lift.schema import lift_schema, schema_text
from reading_helpers.lift_facts import HALF, PLAIN, analysis, fact, open_fact

COMMITTED = Path(__file__).parents[3] / "schema" / "lift-v1.json"


def document(*groups: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps({"version": 1, "groups": groups, "diagnostics": []}))  # type: ignore[no-any-return]


def test_the_schema_is_a_schema_and_the_committed_one_is_current() -> None:
    jsonschema.Draft202012Validator.check_schema(lift_schema())
    assert COMMITTED.read_text(encoding="utf-8") == schema_text(), "run: make generate"


def test_reports_are_what_the_schema_says() -> None:
    full = report(
        lift(
            analysis(
                [
                    *PLAIN,
                    *HALF,
                    open_fact("accumulation.steps", "n", 3),
                    fact("clipping.kind", "global_norm", 4, under=("args.clip",)),
                    fact("clipping.value", 1.0, 4),
                    fact("clipping.value", 2.0, 5),
                ]
            )
        )
    )
    empty = report(lift(analysis([])))
    gone = lost([Source("a.py", "")], Diagnostic(code="CC956", message="died"))
    jsonschema.validate(document(full.data, empty.data, gone.data), lift_schema())


def test_the_profile_is_nested_and_keeps_what_did_not_count() -> None:
    found = report(
        lift(analysis([*PLAIN, fact("clipping.value", 1.0, 4), fact("clipping.value", 2.0, 5)]))
    ).data
    clip = found["profile"]["clip"]["value"]
    assert clip["value"] == 1.0
    assert clip["others"][0]["value"] == 2.0
    (optimizer,) = found["profile"]["optimizers"]
    assert optimizer["subject"] == "opt"
    assert optimizer["lr"]["places"] == [{"file": "train.py", "line": 41, "column": 1}]
    assert found["recipe"]["optimizer"]["learning_rate"] == 2e-5


def test_what_was_not_understood_is_listed() -> None:
    found = report(lift(analysis([*PLAIN, open_fact("clipping.value", "cfg.clip", 4)]))).data
    (open_,) = found["not_understood"]
    assert (open_["field"], open_["expression"]) == ("clip.value", "cfg.clip")
    assert "value" not in open_


def test_every_file_has_only_what_it_says_itself() -> None:
    facts = [
        fact("optimizer.name", "adam", 8, subject="opt", file="helper.py"),
        fact("clipping.value", 2.0, 4, expression="args.clip"),
        replace(fact("clipping.kind", "global_norm"), places=(), file="run.sh"),
    ]
    shared = fact("optimizer.learning_rate", 0.1, 9, subject="opt", file="helper.py")
    shared = replace(shared, places=(Span("run.sh", 3, 1), *shared.places))
    found = report(lift(analysis([*facts, shared], "train.py", "helper.py", "run.sh", "other.py")))
    by_file = found.data["by_file"]
    assert set(by_file) == {"train.py", "helper.py", "run.sh"}
    assert set(by_file["train.py"]) == {"clip"}
    assert set(by_file["helper.py"]["optimizers"][0]) == {"subject", "family", "lr"}
    assert set(by_file["run.sh"]["optimizers"][0]) == {"subject", "lr"}
    assert by_file["run.sh"]["clip"]["kind"]["files"] == ["run.sh"]
    assert found.data["profile"]["optimizers"][0]["lr"]["files"] == ["run.sh", "helper.py"]
    jsonschema.validate(document(found.data), lift_schema())
