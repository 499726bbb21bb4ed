"""Notebooks: places count in the code cells, comments silence, nothing is repaired."""

from __future__ import annotations

import json

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.options import Options
from crosscast_reading.lint.result import Result

LOOP = """\
for batch in loader:
    optimizer.zero_grad()
    with torch.cuda.amp.autocast():{comment}
        loss = model(batch)
    loss.backward()
    optimizer.step()
"""


def look(comment: str) -> list[Result]:
    cells = [
        {"cell_type": "markdown", "source": "torch.cuda.amp.autocast()"},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import torch"]},
        {"cell_type": "code", "source": LOOP.format(comment=comment)},
    ]
    source = Source("a.ipynb", json.dumps({"cells": cells}))
    results = lint_sources([source], Options(codes=frozenset({"CL901", "CL990"})))
    assert all(result.is_finding for result in results)
    return results


def test_findings() -> None:
    (found,) = look("")
    assert found.code == "CL901"
    assert found.span is not None
    assert found.span.text == "    with torch.cuda.amp.autocast():"
    assert found.edits == ()


def test_comments() -> None:
    assert look("  # crosscast: ignore[CL901]") == []
    assert [
        (finding.code, finding.edits) for finding in look("  # crosscast: ignore[CL9, CL3]")
    ] == []
    codes = [finding.code for finding in look("  # crosscast: ignore[nonsense]")]
    assert codes == ["CL901", "CL990"]
