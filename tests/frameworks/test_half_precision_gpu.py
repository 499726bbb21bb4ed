"""The benchmark of half precision on a GPU, tried on a CPU: its logic, not its figures."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
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


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program, its page and its plan, by the end of their names."""
    monkeypatch.syspath_prepend(PROGRAM.parent)
    names = ("gpu", "page", "plan")
    return SimpleNamespace(**{name: import_module(f"half_precision_{name}") for name in names})


@exhaustive("a benchmark as a whole")
@pytest.mark.torch
def test_precisions_are_measured_on_the_same_training(tmp_path: Path) -> None:
    before = PAGE.read_text()
    small = ("--rows", 4, "--tokens", 16, "--check-windows", 3, "--windows", 1, "--rounds", 2)
    chosen = "v1-float32,v1-bfloat16,v2-float32,v2-float16,v2-bfloat16,accelerate-bfloat16"
    done = run(
        *("--device", "cpu", "--sizes", "tiny", "--variants", chosen),
        *(*small, "--json", tmp_path / "out.json"),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads((tmp_path / "out.json").read_text())
    assert results["machine"]["device"] == "cpu"
    tiny = results["sizes"]["tiny"]
    peer = tiny.pop("accelerate-bfloat16")
    if "failed" in peer:
        assert "not installed" in peer["failed"]
    else:
        assert peer["computes_in"] == ["bfloat16"]
        assert (peer["loss_difference"], peer["follows"]) == (None, "")  # other weights
    assert set(tiny) == set(chosen.split(",")[:-1])
    single = tiny["v1-float32"]
    for name, entry in tiny.items():
        assert entry["computes_in"] == [name.split("-")[1]]
        assert 0 < entry["fastest"] <= entry["seconds"] <= entry["slowest"]
        assert (entry["peak_memory"], entry["synchronisations"]) == (None, None)  # a GPU tells
        assert (len(entry["losses"]), len(entry["norms"]), entry["rounds"]) == (3, 3, 2)
        apart = [abs(a - b) for a, b in zip(single["losses"], entry["losses"], strict=True)]
        assert entry["loss_difference"] == max(apart)
        # The same weights and rows: bfloat16 has 8 bits, losses are near 1.1.
        assert max(apart) < 0.05
        if entry is not single:
            # Fused attention in float32 may round as the products do.
            assert max(apart) > 0 or entry["computes_in"] == ["float32"]
            assert entry["follows"].startswith("yes")
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
        (("--variants", "v1-float32,v1-fp8"), "v1-fp8 is not known"),
        (("--rounds", "0"), "at least 1"),
    ],
)
@pytest.mark.torch
def test_usage(arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert words in done.stderr


def test_the_page_says_what_was_measured_or_that_nothing_was(modules: Any) -> None:
    results = json.loads(DATA.read_text()) if DATA.exists() else None
    assert results is None or results["machine"]["device"] not in ("", "cpu")
    assert PAGE.read_text() == modules.page.page(results)
    assert "## Not measured" in modules.page.page(None)
    if results is None or any("v2-float32" in rows for rows in results["sizes"].values()):
        return
    text = PAGE.read_text()
    assert f"**These figures are of {results['measured']}, before there was version 2.**" in text
    absent = sum(len(modules.plan.VARIANTS) - len(rows) for rows in results["sizes"].values())
    assert text.count(" | NOT MEASURED | - |") == absent
    assert f"{absent} rows are NOT MEASURED" in text


def test_a_page_with_figures(modules: Any) -> None:
    single = {
        "seconds": 0.02,
        "fastest": 0.019,
        "slowest": 0.03,
        "peak_memory": 2**31,
        "computes_in": ["float32"],
        "loss_difference": 0.0,
        "synchronisations": 1,
        "follows": "",
        "rounds": 3,
    }
    half = single | {"seconds": 0.01, "peak_memory": 2**30, "loss_difference": 0.5}
    half["follows"] = "NO: 2.00 of the limit"
    rows = {"v1-float32": single, "v2-float16": half, "v2-bfloat16": {"failed": "out of memory"}}
    machine = {
        "device": "A GPU",
        "memory": 2**33,
        "torch": "2.0",
        "cuda": "12",
        "operation_us": 5.0,
    }
    measured = {"settings": {"rows": 1, "tokens": 2}, "windows": {"base": 4}, "measured": "1999"}
    text = modules.page.page({"machine": machine, "sizes": {"base": rows}} | measured)
    assert "Measured on 1999 on one A GPU (8 GiB)" in text
    assert "Not measured" not in text
    assert "before there was version 2" not in text
    assert "Up to 3 rounds of 4 windows" in text
    line = "| v2-float16 | 10.0 (19.0 to 30.0) | 0.50 | 1024 | 0.50 | 1 | float32 | 5.0e-01 | NO:"
    assert line in text
    assert "| v2-bfloat16 | NOT MEASURED: out of memory | - |" in text
    assert "| v1-tf32 | NOT MEASURED | - |" in text


@pytest.mark.parametrize(
    ("memory", "left_out"),
    [
        (139, set()),
        (79, {("large", f"v1-{name}-compiled") for name in ("tf32", "float16", "bfloat16")}),
    ],
)
def test_the_default_run_fits_into_ten_minutes_and_the_memory(
    modules: Any, monkeypatch: pytest.MonkeyPatch, memory: float, left_out: set[tuple[str, str]]
) -> None:
    monkeypatch.setattr(modules.gpu, "missing_for", lambda variant: "")
    options = arguments(modules, monkeypatch)
    assert options.limit < 600
    groups, rest = modules.gpu.planned(options, memory)
    assert {(size, variant.name) for size, variant in rest} == left_out
    seconds = sum(group.seconds for group in groups)
    assert seconds + modules.plan.PREPARATION <= options.limit
    assert groups[0].variants[0].name == modules.plan.REFERENCE  # of it, others are told
    planned = [(group.size, variant.name) for group in groups for variant in group.variants]
    every = {(size, name) for size in ("base", "large") for name in modules.plan.VARIANTS}
    assert len(planned) == len(set(planned))
    assert set(planned) == every - left_out
    for group in groups:
        assert len(group.variants) * modules.plan.COSTS[group.size].memory < memory
        assert len({variant.compiled for variant in group.variants}) == 1


def test_with_less_time_compiled_scripts_of_version_1_are_left_out_first(
    modules: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules.gpu, "missing_for", lambda variant: "")
    for limit in (450, 300, 100, 5):
        options = arguments(modules, monkeypatch, "--limit", str(limit))
        groups, rest = modules.gpu.planned(options, 139)
        assert sum(group.seconds for group in groups) <= limit
        kept = {(group.size, variant.name) for group in groups for variant in group.variants}
        assert rest
        if limit >= 300:
            assert ("large", "v2-float16") in kept
            assert ("base", "accelerate-float16") in kept
        assert ("large", "v1-float16-compiled") not in kept
        assert bool(kept) == (limit > 5)


def test_what_is_not_installed_is_told(modules: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    variants = modules.plan.VARIANTS
    why = modules.gpu.missing_for(variants["accelerate-float16"])
    assert why == "accelerate and transformers: not installed"
    assert modules.gpu.missing_for(variants["v2-float16"]) == ""
    groups, _ = modules.gpu.planned(arguments(modules, monkeypatch), 139)
    assert {each.family for group in groups for each in group.variants} == {"v1", "v2"}


def test_losses_follow_those_of_float32_within_the_limits_of_parity(modules: Any) -> None:
    variants = modules.plan.VARIANTS
    base = {"losses": [1.1, 1.1, 0.9], "norms": [2.0, 2.0, 3.0]}

    def said(name: str, **changes: Any) -> str:
        return str(modules.gpu.follows(variants[name], base | changes, base))

    near, far = [1.1 * (1 + 2.0**-12), 1.1, 5.0], [1.1 * (1 + 2.0**-10), 1.1, 0.9]
    assert said("v2-float16", losses=near) == "yes: 0.50 of the limit"
    assert said("v2-float16", losses=far) == "NO: 2.00 of the limit"
    assert said("v2-bfloat16", losses=far) == "yes: 0.25 of the limit"
    assert said("v2-float32", losses=near).startswith("NO")
    assert said("v2-float16", norms=[2.0, 2.1, 3.0]) == "NO: 2.50 of the limit"
    assert said("v2-tf32") == said("accelerate-float16") == ""
    assert modules.gpu.follows(variants["v1-float32"], base, base) == ""
    assert modules.gpu.follows(variants["v2-float16"], {"failed": "out of memory"}, base) == ""


def arguments(modules: Any, monkeypatch: pytest.MonkeyPatch, *given: str) -> Any:
    monkeypatch.setattr(sys, "argv", ["half_precision_gpu.py", *given])
    return modules.gpu.parse_arguments()
