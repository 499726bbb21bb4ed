"""The report as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from crosscast_reading.lint.result import Result, order


def as_json(results: Sequence[Result]) -> str:
    """Return one JSON document: findings, and diagnostics about the lint run."""
    ordered = sorted(results, key=order)
    document = {
        "findings": [_result_data(result) for result in ordered if result.is_finding],
        "diagnostics": [
            result.diagnostic().to_json() for result in ordered if not result.is_finding
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _result_data(result: Result) -> dict[str, Any]:
    return {
        "code": result.code,
        "name": result.name,
        "severity": str(result.severity),
        "message": result.message,
        "hint": result.hint,
        "span": asdict(result.span) if result.span else None,
        "related": [asdict(span) for span in result.related],
        "edits": [asdict(edit) for edit in result.edits],
    }
