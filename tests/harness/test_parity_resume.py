"""A comparison that is killed at any moment goes on where it was, to the same result."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tiers import cases

DRIVER = """
import sys
from pathlib import Path
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.compare.harness import compare
from crosscast_parity.planning.options import make_options
from crosscast_parity.report.files import write_report
from parity_fakes import make_recipe, write_fakes

def compile_fakes(recipe, targets, folder):
    write_fakes(folder, {t: "" for t in targets})

recipe, folder = make_recipe(), Path(sys.argv[1])
programs = [Contestant(name=n, target="fake", recipe=recipe) for n in ("one", "two", "three")]
options = make_options(folder, check="model", windows=24, jobs=2, reference="one")
write_report(compare(programs, options=options, compile_to=compile_fakes), folder)
"""
ROOT = Path(__file__).parents[2]
SOURCES = ("translator", "backends", "parity", "tests")


def start(folder: Path) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join(str(ROOT / source) for source in SOURCES)
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder)],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def result(folder: Path) -> object:
    """The report without the times and cache states of runs."""
    text = (folder / "report.json").read_text()
    text = re.sub(r'"seconds": [\d.]+', '"seconds": 0', text)
    return json.loads(re.sub(r'"cached": (true|false)', '"cached": null', text))


@pytest.mark.parametrize("kills", cases([2, 10], quick=[], reason="killed comparisons"))
def test_a_killed_comparison_comes_to_the_same_result(tmp_path: Path, kills: int) -> None:
    whole = tmp_path / "whole"
    begun = time.monotonic()
    calm = start(whole)
    assert calm.wait(120) == 0
    seconds = time.monotonic() - begun
    for number in range(kills):
        folder = tmp_path / f"killed-{number}"
        killed = start(folder)
        time.sleep(random.Random(number).uniform(0.05, 0.95) * seconds)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        again = start(folder)
        assert again.wait(120) == 0
        assert result(folder) == result(whole)
        assert not list(folder.glob("runs/partial-*"))
