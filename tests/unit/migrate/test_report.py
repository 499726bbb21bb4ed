"""The report of a migration: every line of the source with what carries it, and what is left."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import migration_sources
from crosscast.messages.source import Source
from crosscast_migrate.across_frameworks import CrossMigration, migrate_across
from crosscast_migrate.page import page
from crosscast_migrate.report import report
from crosscast_migrate.schema import migrate_schema, schema_text

COMMITTED = Path(__file__).parents[3] / "schema" / "migrate-v1.json"


@cache
def moved(text: str, target: str = "paddle", name: str = "train.py") -> CrossMigration:
    return migrate_across([Source(name, text)], [target])


def report_of(across: CrossMigration) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(report(across)))
    validator().validate(data)
    return data


@cache
def validator() -> jsonschema.Draft202012Validator:
    """What tests a report; `jsonschema.validate` would test the schema every time, too."""
    return jsonschema.Draft202012Validator(migrate_schema())


def says(data: dict[str, Any], line: int) -> dict[str, dict[str, Any]]:
    found = next(entry for entry in data["lines"] if entry["line"] == line)
    return {entry["operation"] or entry["field"] or entry["says"]: entry for entry in found["says"]}


def test_the_schema_is_the_committed_one() -> None:
    jsonschema.Draft202012Validator.check_schema(migrate_schema())
    assert COMMITTED.read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (migration_sources.APEX, "torch"),
        (migration_sources.KERAS, "torch"),
        (migration_sources.PADDLE, "tensorflow"),
        (migration_sources.SUMMED, "tensorflow"),
    ],
)
def test_every_report_is_what_the_schema_says(text: str, target: str) -> None:
    data = report_of(moved(text, target))
    assert page(data).startswith("# Migration of ")


def test_a_line_of_the_source_is_paired_with_the_lines_that_carry_it() -> None:
    across = moved(migration_sources.TORCH)
    data = report_of(across)
    found = says(data, 7)["optimizer.learning_rate"]
    carried = found["targets"]["paddle"]
    assert found["became"] == "carried"
    assert carried["verdict"] == "exact"
    assert carried["emitted"][0]["text"] == "LEARNING_RATE = 0.0003"
    emitted = across.files["paddle/train.py"].text.split("\n")
    assert emitted[carried["emitted"][0]["line"] - 1] == "LEARNING_RATE = 0.0003"


@pytest.mark.parametrize(
    ("line", "operation", "text"),
    [
        (15, "backward", "backward()"),
        (17, "unscale", "unscale_"),
        (18, "clip", "norm"),
        (19, "step", "step("),
        (21, "zero", "clear_grad"),
    ],
)
def test_events_are_paired_with_operations(line: int, operation: str, text: str) -> None:
    found = says(report_of(moved(migration_sources.TORCH)), line)[operation]
    assert any(text in entry["text"] for entry in found["targets"]["paddle"]["emitted"])


@pytest.mark.parametrize(("target", "text"), [("torch", "autocast("), ("paddle", "auto_cast(")])
def test_a_mode_is_paired_with_what_disappears_without_it(target: str, text: str) -> None:
    found = says(report_of(moved(migration_sources.APEX, target)), 6)["precision.mode"]
    (line,) = found["targets"][target]["emitted"]
    assert text in line["text"]


def test_every_line_is_quoted_from_its_source() -> None:
    lines = migration_sources.TORCH.splitlines()
    for entry in report_of(moved(migration_sources.TORCH))["lines"]:
        assert entry["text"] == lines[entry["line"] - 1].strip()


def test_defaults_of_the_source_are_made_explicit() -> None:
    (target,) = report_of(moved(migration_sources.APEX))["targets"]
    fields = {entry["field"]: entry for entry in target["fields"]}
    found = fields["loss_scaling.max_scale"]
    assert (found["became"], found["note"]) == ("default made explicit", "default of apex")
    assert fields["optimizer.groups"]["became"] == "not in the source"
    assert fields["schedule.total_steps"]["became"] == "fill in"


def test_no_field_of_the_recipe_is_left_out() -> None:
    across = moved(migration_sources.APEX)
    (target,) = report_of(across)["targets"]
    judged = {judgement.path for judgement in across.arrived[0].compiled.judgements}
    assert {entry["field"] for entry in target["fields"]} == judged


def test_a_corrected_mistake_is_changed_on_purpose() -> None:
    data = report_of(moved(migration_sources.CLIPS_SCALED))
    (bug,) = data["bugs"]
    assert (bug["rule"], bug["became"], bug["place"]["line"]) == ("CL301", "changed on purpose", 14)
    assert says(data, 14)["clip"]["became"] == "changed on purpose"


def test_flags_that_nobody_explains_are_not_carried() -> None:
    data = report_of(moved(migration_sources.LAUNCH, "torch", name="run.sh"))
    left = {entry["what"]: entry for entry in data["not_carried"]}
    assert "run_classifier.py" in left["--color_of_logs"]["why"]
    assert left["--color_of_logs"]["places"][0]["line"] == 9
    assert "--learning_rate" not in left


def test_a_model_that_is_not_carried_is_told_of_with_the_reason() -> None:
    text = migration_sources.OWN_MODEL
    left = {entry["what"]: entry["why"] for entry in report_of(moved(text))["not_carried"]}
    assert left == {"model, to paddle": "the model is not migrated: model_of(16) is not known"}
    assert report_of(moved(migration_sources.APEX))["not_carried"] == []


def test_what_a_recipe_cannot_say_is_not_carried() -> None:
    text = migration_sources.TORCH.replace(
        "scaler = ", "other = torch.optim.SGD(model.parameters(), lr=1.0)\nscaler = "
    ).replace("scaler.update()", "scaler.step(other)\n            scaler.update()")
    left = [entry["what"] for entry in report_of(moved(text))["not_carried"]]
    assert "CC911" in left


def test_a_page_holds_what_a_person_needs() -> None:
    text = page(report_of(moved(migration_sources.SUMMED)))
    for heading in ("Mistakes of the source", "To fill in", "Not carried", "Line by line: paddle"):
        assert f"## {heading}" in text
    assert "Nothing was run" in text


def test_a_hostile_line_does_not_break_the_table() -> None:
    text = migration_sources.APEX.replace("lr=0.05", 'lr=0.05, name="| `x` |<br>"')
    shown = page(report_of(moved(text)))
    rows = [line for line in shown.splitlines() if "torch.optim.SGD" in line]
    assert rows
    for row in rows:
        assert row.replace("\\|", "").count("|") == 5
        assert "`x`" not in row


def test_a_report_is_the_same_every_time() -> None:
    again = moved.__wrapped__(migration_sources.PADDLE)
    assert report_of(moved(migration_sources.PADDLE)) == report_of(again)
