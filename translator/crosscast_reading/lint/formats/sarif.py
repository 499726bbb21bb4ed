"""The report as SARIF 2.1.0, the format of code scanning services."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crosscast import __version__
from crosscast.messages.diagnostics import Severity, Span
from crosscast_reading.edits.edit import Edit
from crosscast_reading.lint.baseline import fingerprints
from crosscast_reading.lint.formats.paths import uri
from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.result import Result, order
from crosscast_reading.lint.rule import Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_ROOT = "%SRCROOT%"


def sarif(results: Sequence[Result]) -> str:
    """Return the document."""
    ordered = sorted(results, key=order)
    findings = [result for result in ordered if result.is_finding]
    failures = [result for result in ordered if not result.is_finding]
    rules = list(all_rules().values())
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    names = fingerprints(findings, Path())
    run = {
        "tool": {
            "driver": {
                "name": "crosscast",
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not any(o.severity is Severity.ERROR for o in failures),
                "toolExecutionNotifications": [_notification(failure) for failure in failures],
            }
        ],
        "results": [
            _result(finding, numbers[finding.code], name)
            for finding, name in zip(findings, names, strict=True)
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why}\n\nWrong:\n{rule.wrong}\nRight:\n{rule.right}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.topic]},
    }


def _result(result: Result, number: int, fingerprint: str) -> dict[str, Any]:
    message = f"{result.message}\n{result.hint}" if result.hint else result.message
    entry: dict[str, Any] = {
        "ruleId": result.code,
        "ruleIndex": number,
        "level": _LEVELS[result.severity],
        "message": {"text": message},
        "locations": [_location(result.span)] if result.span else [],
        "partialFingerprints": {"crosscast/v1": fingerprint},
    }
    if result.related:
        entry["relatedLocations"] = [_location(span) for span in dict.fromkeys(result.related)]
    if result.edits:
        entry["fixes"] = [_fix(result)]
    return entry


def _location(span: Span) -> dict[str, Any]:
    region: dict[str, Any] = {
        "startLine": max(1, span.line),
        "startColumn": max(1, span.column),
    }
    if span.end_column is not None and span.end_column > span.column:
        region["endColumn"] = span.end_column
    if span.text:
        region["snippet"] = {"text": span.text}
    return {"physicalLocation": {"artifactLocation": _artifact(span.file), "region": region}}


def _artifact(file: str) -> dict[str, Any]:
    address, below = uri(file)
    return {"uri": address, "uriBaseId": _ROOT} if below else {"uri": address}


def _fix(result: Result) -> dict[str, Any]:
    by_file: dict[str, list[Edit]] = {}
    for edit in result.edits:
        by_file.setdefault(edit.file, []).append(edit)
    return {
        "description": {"text": result.hint or result.message},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(file),
                "replacements": [_replacement(edit) for edit in edits],
            }
            for file, edits in by_file.items()
        ],
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    return {
        "deletedRegion": {
            "startLine": edit.line,
            "startColumn": edit.column,
            "endLine": edit.end_line,
            "endColumn": edit.end_column,
        },
        "insertedContent": {"text": edit.text},
    }


def _notification(result: Result) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "descriptor": {"id": result.code},
        "level": _LEVELS[result.severity],
        "message": {"text": result.message},
    }
    if result.span:
        entry["locations"] = [_location(result.span)]
    return entry
