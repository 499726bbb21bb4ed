"""What is printed: text, JSON, SARIF, annotations of GitHub."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from crosscast.messages.diagnostics import Severity, Span
from crosscast.messages.source import Source
from crosscast_reading.edits.edit import Edit
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.formats.github import github
from crosscast_reading.lint.formats.gitlab import gitlab
from crosscast_reading.lint.formats.paths import relative, uri
from crosscast_reading.lint.formats.plain import as_json
from crosscast_reading.lint.formats.sarif import sarif
from crosscast_reading.lint.formats.text import summary, text
from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.result import Result
from crosscast_reading.lint.rule import Rule


def result(**changes: Any) -> Result:
    values: dict[str, Any] = {
        "code": "CL001",
        "name": "rule-cl001",
        "severity": Severity.WARNING,
        "message": "it is bad",
        "span": Span("pkg/a b.py", 3, 5, 8, "x = BAD"),
        "hint": "be good",
    }
    return Result(**(values | changes))


FAILURE = result(code="CC950", name="", severity=Severity.ERROR, span=None, message="it failed")


def test_text() -> None:
    edit = Edit(file="a.py", line=1, column=1, end_line=1, end_column=2, text="x")
    finding = result(related=(Span("b.py", 9, 1),), edits=(edit,))
    assert text([finding]).splitlines() == [
        "pkg/a b.py:3:5: warning CL001: it is bad",
        "    x = BAD",
        "        ^^^",
        "  Hint: be good",
        "  See also: b.py:9:1",
        "  Fix available: --fix applies it, --diff shows it",
    ]
    assert text([]) == ""


def test_text_cannot_steer_a_terminal() -> None:
    shown = text([result(message="\x1b[31m", span=Span("a\x1b.py", 1, 1, 2, "\x1b[2J"))])
    assert "\x1b" not in shown


def test_summary() -> None:
    assert summary([], 1) == "No findings in 1 file with training."
    found = [result(), result(severity=Severity.ERROR), result(span=Span("b.py", 1, 1))]
    assert summary(found, 7) == (
        "Found 3 findings (1 error, 2 warnings) in 2 of 7 files with training."
    )


def test_json() -> None:
    data = json.loads(as_json([result(), FAILURE]))
    assert [entry["code"] for entry in data["findings"]] == ["CL001"]
    assert data["findings"][0]["span"]["column"] == 5
    assert [entry["code"] for entry in data["diagnostics"]] == ["CC950"]


# GitHub


def test_github() -> None:
    assert github([result()]) == (
        "::warning title=crosscast CL001 rule-cl001,file=pkg/a b.py,line=3,col=5,endColumn=8"
        "::it is bad%0Abe good\n"
    )
    assert github([FAILURE]).startswith("::error title=crosscast CC950::it failed")
    note = github([result(severity=Severity.NOTE)])
    assert note.startswith("::notice ")


@pytest.mark.parametrize("name", ["a:b,c.py", "a%b.py", "a\nb.py", "a\r::error::x.py"])
def test_github_escapes(name: str) -> None:
    line = github([result(span=Span(name, 1, 1), message=f"100% of\r\n{name}: x")])
    assert line.count("\n") == 1
    command, _, message = line[2:].rstrip("\n").partition("::")
    properties = dict(part.split("=", 1) for part in command.partition(" ")[2].split(","))
    assert unquote(properties["file"]) == name
    assert set(properties) == {"title", "file", "line", "col"}
    assert unquote(message).startswith(f"100% of\r\n{name}: x")


# GitLab


def test_gitlab() -> None:
    (entry,) = json.loads(gitlab([result()]))
    assert entry.pop("fingerprint")
    assert entry == {
        "description": "CL001 rule-cl001: it is bad (be good)",
        "check_name": "CL001",
        "severity": "minor",
        "location": {"path": "pkg/a b.py", "lines": {"begin": 3}},
    }
    (entry,) = json.loads(gitlab([FAILURE]))
    assert (entry["severity"], entry["location"]["path"]) == ("major", ".")
    assert json.loads(gitlab([])) == []


def test_gitlab_knows_a_result_again_on_another_line() -> None:
    def prints(*lines: int) -> list[str]:
        found = [result(span=Span("a.py", line, 1, 2, " x = BAD")) for line in lines]
        return [entry["fingerprint"] for entry in json.loads(gitlab(found))]

    assert prints(3) == prints(30)
    assert len({*prints(3, 9)}) == 2
    assert prints(3, 9) == prints(4, 10)
    assert prints(3)[0] != json.loads(gitlab([result()]))[0]["fingerprint"]


# paths


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert relative("./a/../b.py") == ("b.py", True)
    assert relative(str(tmp_path / "x" / "a.py")) == ("x/a.py", True)
    assert relative("../a.py") == (f"{tmp_path.parent.as_posix()}/a.py", False)
    assert uri("a b/ü#?.py") == ("a%20b/%C3%BC%23%3F.py", True)
    assert uri("c:d.py") == ("c%3Ad.py", True)
    assert uri("a\udcff.py") == ("a%FF.py", True)
    assert uri("/x y/a.py") == ("file:///x%20y/a.py", False)


# SARIF: the shape that the schema of version 2.1.0 asks for


def check_sarif(data: Any) -> None:
    """Check what the schema demands of the parts that are used."""
    assert set(data) == {"$schema", "version", "runs"}
    assert data["version"] == "2.1.0"
    (run,) = data["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "crosscast"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", driver["semanticVersion"])
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    rules = driver["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        for field in ("shortDescription", "fullDescription", "help"):
            assert rule[field]["text"]
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
        assert all(isinstance(tag, str) for tag in rule["properties"]["tags"])
    for entry in run["results"]:
        assert rules[entry["ruleIndex"]]["id"] == entry["ruleId"]
        assert entry["level"] in ("note", "warning", "error")
        assert entry["message"]["text"]
        assert all(isinstance(v, str) for v in entry["partialFingerprints"].values())
        for location in (*entry["locations"], *entry.get("relatedLocations", ())):
            check_location(location)
        for fix in entry.get("fixes", ()):
            assert fix["artifactChanges"]
            for change in fix["artifactChanges"]:
                check_artifact(change["artifactLocation"])
                assert change["replacements"]
                for replacement in change["replacements"]:
                    check_region(replacement["deletedRegion"])
                    assert isinstance(replacement["insertedContent"]["text"], str)
    for invocation in run["invocations"]:
        assert isinstance(invocation["executionSuccessful"], bool)
        for notification in invocation["toolExecutionNotifications"]:
            assert notification["message"]["text"]


ALLOWED = {
    "run": {"tool", "columnKind", "invocations", "results"},
    "rule": {
        *("id", "name", "shortDescription", "fullDescription", "help", "defaultConfiguration"),
        "properties",
    },
    "result": {
        *("ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"),
        *("relatedLocations", "fixes"),
    },
    "region": {"startLine", "startColumn", "endLine", "endColumn", "snippet"},
    "notification": {"descriptor", "level", "message", "locations"},
}
"""Names that are used of those that the schema knows; it refuses every other."""


def test_sarif_of_every_example() -> None:
    """Checked once, with all of it, against the schema of OASIS (2.1.0 with errata 01) as well."""
    found = [
        finding
        for rule in all_rules().values()
        for finding in lint_sources(
            [Source(rule.example_name, rule.wrong), *(Source(*o) for o in rule.beside)]
        )
    ]
    twice = result(code="CL101", related=(Span("b.py", 9, 1), Span("b.py", 9, 1)))
    data = json.loads(sarif([*found, twice, FAILURE]))
    check_sarif(data)
    (run,) = data["runs"]
    assert set(run) <= ALLOWED["run"]
    assert all(set(rule) <= ALLOWED["rule"] for rule in run["tool"]["driver"]["rules"])
    for entry in run["results"]:
        assert set(entry) <= ALLOWED["result"]
        for name in ("locations", "relatedLocations", "fixes"):  # sets in the schema
            places = [json.dumps(o, sort_keys=True) for o in entry.get(name, ())]
            assert len(set(places)) == len(places)
        for location in (*entry["locations"], *entry.get("relatedLocations", ())):
            assert set(location["physicalLocation"]["region"]) <= ALLOWED["region"]
    for notification in run["invocations"][0]["toolExecutionNotifications"]:
        assert set(notification) <= ALLOWED["notification"]


def check_location(location: Any) -> None:
    assert set(location) == {"physicalLocation"}
    check_artifact(location["physicalLocation"]["artifactLocation"])
    check_region(location["physicalLocation"]["region"])


def check_artifact(artifact: Any) -> None:
    assert re.fullmatch(r"[!-~]+", artifact["uri"])
    assert not re.search(r'[ "<>\\^`{|}]', artifact["uri"])
    assert ("uriBaseId" in artifact) != artifact["uri"].startswith("file:///")


def check_region(region: Any) -> None:
    assert region["startLine"] >= 1
    assert region["startColumn"] >= 1
    assert region.get("endColumn", region["startColumn"]) >= 1
    if region.get("endLine", region["startLine"]) == region["startLine"]:
        assert region.get("endColumn", region["startColumn"]) >= region["startColumn"]


def test_sarif(bad: Rule) -> None:
    edit = Edit(file="pkg/a b.py", line=3, column=5, end_line=3, end_column=8, text="GOOD")
    odd = Span("/else where/ü.py", 0, 0)
    found = [result(edits=(edit,), related=(odd,)), result(span=odd), FAILURE]
    data = json.loads(sarif(found))
    check_sarif(data)
    run = data["runs"][0]
    assert len(run["tool"]["driver"]["rules"]) == len(all_rules())
    assert run["invocations"][0]["executionSuccessful"] is False
    first, second = run["results"]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("file:")
    assert second["fixes"][0]["artifactChanges"][0]["replacements"][0] == {
        "deletedRegion": {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 8},
        "insertedContent": {"text": "GOOD"},
    }


def test_an_empty_sarif() -> None:
    data = json.loads(sarif([]))
    check_sarif(data)
    assert data["runs"][0]["results"] == []
    assert data["runs"][0]["invocations"][0]["executionSuccessful"] is True
