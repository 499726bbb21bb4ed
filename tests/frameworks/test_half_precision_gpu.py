"""The benchmark of half precision on a GPU, tried on a CPU: its logic, not its figures."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import environment, require
from tiers import exhaustive

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "benchmarks" / "half_precision_gpu.py"
PAGE = ROOT / "docs" / "measurements" / "half-precision-gpu.md"
DATA = PAGE.with_suffix(".json")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    require("torch")
    return subprocess.run(
        [sys.executable, str(PROGRAM), *map(str, arguments)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def pages() -> Any:
    spec = importlib.util.spec_from_file_location(
        "half_precision_page", PROGRAM.with_name("half_precision_page.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@exhaustive("a benchmark as a whole")
@pytest.mark.torch
def test_precisions_are_measured_on_the_same_training(tmp_path: Path) -> None:
    before = PAGE.read_text()
    small = ("--rows", 4, "--tokens", 16, "--check-windows", 3, "--windows", 1, "--rounds", 2)
    chosen = ("--sizes", "tiny", "--precisions", "float32,bfloat16")
    done = run("--device", "cpu", *chosen, *small, "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads((tmp_path / "out.json").read_text())
    assert results["machine"]["device"] == "cpu"
    single, half = (results["sizes"]["tiny"][name] for name in ("float32", "bfloat16"))
    assert (single["computes_in"], half["computes_in"]) == (["float32"], ["bfloat16"])
    for entry in (single, half):
        assert 0 < entry["fastest"] <= entry["seconds"] <= entry["slowest"]
        assert entry["peak_memory"] is None  # only a GPU tells
        assert len(entry["losses"]) == 3
    apart = max(abs(a - b) for a, b in zip(single["losses"], half["losses"], strict=True))
    assert half["loss_difference"] == apart
    assert 0 < apart < 0.05  # the same weights and rows: bfloat16 has 8 bits, losses are near 1.1
    assert "BERT-tiny, cpu" in done.stdout
    assert PAGE.read_text() == before


@pytest.mark.torch
def test_without_a_gpu_nothing_is_written(tmp_path: Path) -> None:
    done = run("--json", tmp_path / "out.json")
    assert (done.returncode, done.stdout) == (3, "")
    assert "no CUDA device" in done.stderr
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--device", "cpu", "--docs"), "--docs is for figures of a GPU"),
        (("--sizes", "huge"), "huge is not known"),
        (("--precisions", "float32,fp8"), "fp8 is not known"),
        (("--rounds", "0"), "at least 1"),
    ],
)
@pytest.mark.torch
def test_usage(arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert words in done.stderr


def test_the_page_says_what_was_measured_or_that_nothing_was() -> None:
    results = json.loads(DATA.read_text()) if DATA.exists() else None
    assert results is None or results["machine"]["device"] not in ("", "cpu")
    assert PAGE.read_text() == pages().page(results)


def test_a_page_with_figures() -> None:
    single = {
        "seconds": 0.02,
        "fastest": 0.019,
        "slowest": 0.03,
        "peak_memory": 2**31,
        "computes_in": ["float32"],
        "loss_difference": 0.0,
    }
    half = single | {"seconds": 0.01, "peak_memory": 2**30, "loss_difference": 0.5}
    sizes = {"base": {"float32": single, "float16": half, "bfloat16": {"failed": "out of memory"}}}
    machine = {
        "device": "A GPU",
        "memory": 2**33,
        "torch": "2.0",
        "cuda": "12",
        "operation_us": 5.0,
    }
    measured = {"settings": {"rows": 1, "tokens": 2}, "rounds": {"base": [3, 4]}}
    text = pages().page({"machine": machine, "sizes": sizes} | measured)
    assert "Measured on one A GPU (8 GiB)" in text
    assert "Not measured" not in text
    assert "3 rounds of 4 windows" in text
    assert "| float16 | 10.0 (19.0 to 30.0) | 0.50 | 1024 | 0.50 | float32 | 5.0e-01 |" in text
    assert "| bfloat16 | out of memory | - |" in text
