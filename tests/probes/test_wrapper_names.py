"""CL608 knows every public attribute of the wrappers in the installed packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast_reading.lint.rules.distributed.behind_wrapper import NAMES
from frameworks.subprocesses import require, run_python

PACKAGES = [
    pytest.param("torch", 2, marks=pytest.mark.torch),
    pytest.param("paddle", 1, marks=pytest.mark.paddle),
]


@pytest.mark.parametrize(("package", "wrappers"), PACKAGES)
def test_attributes_of_wrappers(package: str, wrappers: int) -> None:
    require(package)
    answer = run_python(Path(__file__).parent / "wrapper_names.py", package, package)
    assert len(answer) == wrappers
    for wrapper, names in answer.items():
        assert {"forward", "state_dict"} <= {*names}, wrapper
        assert {*names} - NAMES == set(), wrapper
