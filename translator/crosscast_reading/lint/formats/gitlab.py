"""GitLab's report of code quality: the JSON that a job keeps as `codequality`."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint.formats.paths import relative
from crosscast_reading.lint.result import Result, order

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def gitlab(results: Sequence[Result]) -> str:
    """Return a report; a result without a place is at the first line of the project's folder.

    GitLab tells results apart by a fingerprint. It is of code, file, source line and message, not
    of the number of the line, so that a result stays the same one when lines are added above it.
    """
    seen: Counter[str] = Counter()
    entries = []
    for result in sorted(results, key=order):
        span = result.span
        path = relative(span.file)[0] if span else "."
        content = "\0".join((result.code, path, span.text.strip() if span else "", result.message))
        seen[content] += 1
        identity = f"{content}\0{seen[content]}".encode("utf-8", "backslashreplace")
        name = f"{result.code} {result.name}".strip()
        hint = f" ({result.hint})" if result.hint else ""
        entries.append(
            {
                "description": f"{name}: {result.message}{hint}",
                "check_name": result.code,
                "fingerprint": hashlib.sha256(identity).hexdigest(),
                "severity": _SEVERITIES[result.severity],
                "location": {"path": path, "lines": {"begin": max(1, span.line if span else 1)}},
            }
        )
    return json.dumps(entries, indent=2) + "\n"
