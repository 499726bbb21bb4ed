"""Emitted scripts tell the peak of a GPU's memory in their trace, and nothing on a CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscast_parity.recordings.trace import read_trace
from frameworks.emitted_script import emit, tiny_recipe, write_rows
from frameworks.script_runs import calls
from frameworks.subprocesses import run_python
from tiers import cases

FRAMEWORKS = [
    pytest.param("torch", marks=pytest.mark.torch),
    pytest.param("tensorflow", marks=pytest.mark.tensorflow),
    pytest.param("paddle", marks=pytest.mark.paddle),
]


@pytest.mark.parametrize(
    "framework", cases(FRAMEWORKS, quick=["torch"], reason="peaks in the trace of other frameworks")
)
def test_every_row_has_the_peak_where_the_device_tells_it(framework: str, tmp_path: Path) -> None:
    script = emit(tiny_recipe(), framework, tmp_path / framework) / "train.py"
    data = write_rows(tmp_path / "rows.npz", 20)
    flags = ["--train", str(data), "--eval", str(data), "--windows", "3", "--threads", "1"]
    flags += ["--device", "cpu"]
    (plain,) = calls(script, framework, [(tmp_path / "cpu", flags)])
    assert (plain.code, plain.traceback) == (0, ""), plain.stderr
    assert all("peak_memory" not in row for row in plain.trace)
    assert {row.peak_memory for row in read_trace(tmp_path / "cpu/trace.jsonl")} == {None}

    program = Path(__file__).with_name("run_peak_memory.py")
    argv = json.dumps(["--output", str(tmp_path / "gpu"), *flags])
    result = run_python(program, framework, framework, script, argv)
    assert result["code"] == 0
    # Paddle and PyTorch have no counter of a CPU's memory, TensorFlow's works: no row holds it.
    assert (result["cpu"] > 0) == (framework == "tensorflow")
    peaks = [10**9, 10**9 + 1, 10**9 + 2]
    assert [row.pop("peak_memory") for row in result["rows"]] == peaks
    assert result["rows"] == plain.trace  # and nothing else changes
    rows = read_trace(tmp_path / "gpu/trace.jsonl")
    assert [row.peak_memory for row in rows] == peaks
