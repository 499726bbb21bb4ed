"""The index of the package names every module that tests share."""

from __future__ import annotations

import re
from pathlib import Path

import frameworks


def test_every_module_has_its_line() -> None:
    listed = re.findall(r"^    ((?:\w+, )*\w+)(?:  |$)", frameworks.__doc__ or "", re.MULTILINE)
    named = [name for line in listed for name in line.split(", ")]
    modules = {path.stem for path in Path(__file__).parent.glob("*.py")}
    apart = {name for name in modules if name.startswith(("test_", "run_", "__"))}
    assert sorted(named) == sorted(modules - apart)
