"""The rows of moved arguments and changed defaults hold in the installed Paddle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast.migrate.paddle_two.moved_arguments import BY_NAME, DEFAULTS
from frameworks.subprocesses import paddle_2, run_python

pytestmark = pytest.mark.paddle

PROGRAM = Path(__file__).parent / "run_paddle_signatures.py"


def test_arguments_moved_where_the_rows_say() -> None:
    found: dict[str, Any] = run_python(PROGRAM, "paddle", *BY_NAME, *DEFAULTS)
    for name, row in BY_NAME.items():
        order = [parameter for parameter, _ in found[name]]
        assert order[: row.kept] == list(row.order[: row.kept]), name
        following = order[row.kept] if len(order) > row.kept else ""
        assert following == row.now, name
    for name, default in DEFAULTS.items():
        assert found[name][default.place] == [default.parameter, default.now], name


@pytest.mark.parametrize("framework", paddle_2())
def test_paddle_two_had_the_order_of_the_rows(framework: str) -> None:
    found: dict[str, Any] = run_python(PROGRAM, framework, *BY_NAME, *DEFAULTS)
    for name, row in BY_NAME.items():
        assert [parameter for parameter, _ in found[name]] == list(row.order), name
    for name, default in DEFAULTS.items():
        assert found[name][default.place] == [default.parameter, default.before], name
