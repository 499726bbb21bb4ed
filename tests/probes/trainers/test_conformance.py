"""Every trainer still answers as docs/reference/conformance.json says.

If one does not, look at what it does now, then regenerate the page with the command it names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.adapters import table
from crosscast_parity.adapters.columns import COLUMNS, Column, observe
from frameworks.subprocesses import require, warm
from tiers import cases

STORED: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "docs" / "reference" / "conformance.json").read_text(
        encoding="utf-8"
    )
)
MARKED = [
    pytest.param(column, id=column.name, marks=getattr(pytest.mark, column.framework))
    for column in COLUMNS
]


QUICK = [column for column in COLUMNS if column.name == "accelerate"]


@pytest.mark.parametrize("column", cases(MARKED, quick=QUICK, reason="what more trainers do"))
def test_answers_are_those_of_the_page(column: Column) -> None:
    require(column.framework)
    require(column.package)
    python = warm(column.framework, harness=False)
    now = table.build({column.name: observe(column, python)})
    answers = {row["key"]: row["cells"][column.name] for row in now["rows"]}
    assert answers == {row["key"]: row["cells"][column.name] for row in STORED["rows"]}
