"""The benchmark of what half precision keeps: its ratios, with models of one layer."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from frameworks.subprocesses import environment, require, run_python
from tiers import exhaustive

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
PAGE = ROOT / "docs" / "measurements" / "half-memory.md"
ROWS, TOKENS, WIDTH = 4, 96, 64
MORE_TOKENS = (2, 192)
"""Of the same number of tokens in all, and twice as many scores."""
SIZES = ("--layers", 1, "--width", WIDTH, "--words", 100)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return import_module("half_memory")


def measured(program: Any, folder: Path, *cases: tuple[str, str]) -> tuple[dict[Any, Any], str]:
    """What is counted without dropout, by contestant and precision; what a plant is told."""
    sizes = (1, WIDTH, 1, 100)
    shapes = [program.Shape(ROWS, TOKENS, *sizes), program.Shape(*MORE_TOKENS, *sizes)]
    scripts = program.Scripts(folder, shapes[0])
    jobs = [
        {
            "name": name,
            "precision": precision,
            "dropout": 0.0,
            "shapes": [asdict(shape) for shape in shapes],
            "folder": str(scripts.folder_of("torch", name, precision, 0.0)),
        }
        for name, precision in cases
    ]
    answer = run_python(Path(__file__).with_name("run_half_memory.py"), "torch", json.dumps(jobs))
    return dict(zip(cases, answer["counts"], strict=True)), answer["planted"]


@pytest.mark.torch
def test_a_layer_keeps_in_pytorch_what_its_gradients_read(program: Any, tmp_path: Path) -> None:
    emitted, compute = ("emitted", "float32"), ("emitted_compute", "bfloat16")
    half, hand = ("emitted", "bfloat16"), ("hand", "bfloat16")
    counts, planted = measured(program, tmp_path, emitted, half, compute, hand)
    elements = ROWS * TOKENS * WIDTH
    for number, (rows, tokens) in enumerate(((ROWS, TOKENS), MORE_TOKENS)):
        scores = rows * tokens**2
        kept = {case: entry[number]["activations"] for case, entry in counts.items()}
        # Inputs and outputs of three LayerNorms, query, key, value, context, and GELU's.
        assert kept[emitted] == pytest.approx(4 * (18 * elements + scores), rel=0.01)
        # Products keep halves: of the input three, of the attention's output one, four of the rest.
        halves = 3 * elements + 4 * elements + elements + 4 * elements + scores
        singles = (3 + 4) * elements + scores
        assert kept[half] == pytest.approx(2 * halves + 4 * singles, rel=0.02)
        assert kept[compute] == pytest.approx(kept[emitted] / 2, rel=0.01)
        # No scores; of the embeddings, LayerNorm reads float32.
        assert kept[hand] == pytest.approx((2 * 17 + 4) * elements, rel=0.02)
    short, long = (
        counts[half][n]["activations"] / counts[emitted][n]["activations"] for n in (0, 1)
    )
    assert short < long  # scores in float32 and in half: half as much again
    dense = 4 * WIDTH**2 + 2 * 4 * WIDTH**2 + WIDTH**2 + 3 * WIDTH
    for case, entry in counts.items():
        assert entry[0]["weight_copies"] == pytest.approx(
            0 if case == emitted else 2 * dense, rel=0.02
        )
        assert (entry[0]["casts"] > 40) == (case != emitted)
        assert entry[0]["peak"] > entry[0]["standing"] + entry[0]["activations"] * 0.9
        assert entry[0]["forward"] == entry[1]["forward"]
    assert planted == "autocast on CUDA does not leave aten::exp in half"


@pytest.mark.torch
def test_half_values_that_version_2_stores_once_in_pytorch(program: Any, tmp_path: Path) -> None:
    half, hand = ("emitted_2", "bfloat16"), ("hand", "bfloat16")
    single, sdpa = ("emitted_2", "float32"), ("sdpa", "bfloat16")
    compared = [] if program.reason_not_to_measure(sdpa_of(program), "bfloat16") else [sdpa]
    counts, _ = measured(program, tmp_path, half, single, ("emitted_2", "float16"), hand, *compared)
    for number in (0, 1):
        stored, whole = counts[half][number], counts[single][number]
        statistics = stored["dtypes"]["float32"]  # of LayerNorm and softmax, the same in both
        exact = (whole["dtypes"]["float32"] - statistics) / 2 + statistics
        assert stored["dtypes"]["bfloat16"] + statistics == pytest.approx(exact, rel=0.002)
        assert statistics < 0.01 * stored["activations"]
        assert stored["activations"] <= counts[hand][number]["activations"]
        assert stored["peak"] < whole["peak"]
        # The copies of dense layers and LayerNorms, which live through the window.
        copies = 12 * WIDTH**2 + WIDTH**2 + 3 * WIDTH + 9 * WIDTH + 6 * WIDTH + WIDTH + 3
        assert stored["weight_copies"] == 2 * copies
        # Of embeddings and loss; a half gradient is added to a float32 sum without a cast.
        assert stored["casts"] <= 6
        assert stored["casts"] < counts[hand][number]["casts"] / 8
        assert stored["window_casts"] == 22 + 1  # of the first gradients, and of all weights
        assert whole["window_casts"] == 0
        total = stored["forward"] + stored["backward"]
        assert total < counts[hand][number]["forward"] + counts[hand][number]["backward"]
        for other in compared:
            figures = counts[other][number]
            assert stored["activations"] <= 0.85 * figures["activations"]
            assert total <= figures["forward"] + figures["backward"]
    names = ("activations", "weight_copies", "forward", "backward", "casts", "peak")
    assert [{name: entry[name] for name in names} for entry in counts[half]] == [
        {name: entry[name] for name in names} for entry in counts["emitted_2", "float16"]
    ]


def sdpa_of(program: Any) -> Any:
    (entry,) = (entry for entry in program.contestants("torch") if entry.name == "sdpa")
    return entry


@exhaustive("what Paddle keeps beside its own hooks")
@pytest.mark.paddle
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_program_keeps_what_autograd_of_paddle_keeps(
    program: Any, tmp_path: Path, dropout: float
) -> None:
    shape = program.Shape(ROWS, TOKENS, 2, WIDTH, 1, 100)
    folder = program.Scripts(tmp_path, shape).folder_of("paddle", "emitted", "float32", dropout)
    job = {"name": "emitted", "precision": "float32", "dropout": dropout, "folder": str(folder)}
    bytes_kept = run_python(
        Path(__file__).with_name("run_half_memory_paddle.py"),
        "paddle",
        json.dumps(job | {"shape": asdict(shape)}),
    )
    assert bytes_kept["program"] == pytest.approx(bytes_kept["autograd"], rel=1e-4)


@exhaustive("a benchmark as a whole")
@pytest.mark.torch
@pytest.mark.tensorflow
@pytest.mark.paddle
def test_all_contestants_of_all_frameworks(program: Any, tmp_path: Path) -> None:
    for framework in program.FRAMEWORKS:
        require(framework)
    before = PAGE.read_text()
    done = run(*SIZES, "--shapes", f"{ROWS}x{TOKENS},6x32", "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr[-3000:]
    assert PAGE.read_text() == before
    frameworks = json.loads((tmp_path / "out.json").read_text())["frameworks"]
    kept: dict[tuple[str, str, str], int] = {}
    for framework, found in frameworks.items():
        expected = [
            (contestant.name, precision, dropout)
            for contestant, precision, dropout in program.cases(framework)
        ]
        rows = found["rows"]
        keys = [(row["contestant"], row["precision"], row["dropout"]) for row in rows]
        assert keys == expected
        for row, (name, precision, dropout) in zip(rows, keys, strict=True):
            if "counts" in row and dropout == 0.0:
                entry = row["counts"][f"{ROWS} x {TOKENS}"]
                kept[framework, name, precision] = entry["activations"]
                assert (entry["peak"] is None) == (framework != "torch")
                assert (entry["weight_copies"] == 0) == (precision == "float32")
    unmeasured = {(row["contestant"], row["precision"]) for row in frameworks["paddle"]["rows"]}
    unmeasured -= {(name, precision) for _, name, precision in kept if _ == "paddle"}
    names = ("emitted", "emitted_compute", "emitted_2", "hand")
    assert unmeasured == {(name, "float16") for name in names}
    for name in ("emitted", "emitted_compute"):  # the same operations
        for precision in ("float32", "bfloat16"):
            if (name, precision) != ("emitted_compute", "float32"):
                both = [kept[framework, name, precision] for framework in ("torch", "paddle")]
                assert both[1] == pytest.approx(both[0], rel=0.06)
    assert kept["tensorflow", "emitted", "float32"] > kept["torch", "emitted", "float32"]
    for framework in program.FRAMEWORKS:
        whole = kept[framework, "emitted", "float32"]
        default, compute = (
            kept[framework, name, "bfloat16"] / whole for name in ("emitted", "emitted_compute")
        )
        assert 0.49 < compute < 0.65 < default < 1
        halves = kept[framework, "hand", "bfloat16"] / kept[framework, "hand", "float32"]
        assert 0.49 < halves < 0.75
        for precision in ("bfloat16", "float16"):
            if (framework, "emitted_2", precision) in kept:
                own = kept[framework, "emitted_2", "float32"]
                mine, hand = (kept[framework, name, precision] for name in ("emitted_2", "hand"))
                assert mine / own < 0.51
                assert mine <= hand


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "half_memory.py"), *map(str, arguments)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--frameworks", "jax"), "of torch, tensorflow, paddle"),
        (("--width", "100"), "a multiple of 64"),
        (("--layers", "0"), "at least 1"),
        (("--shapes", "32"), "ROWSxTOKENS"),
        (("--docs", "--layers", "2"), "BERT-base and the usual shapes"),
    ],
)
def test_usage(
    program: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["half_memory.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_what_is_not_installed_is_not_measured(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = sdpa_of(program)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    why = program.reason_not_to_measure(entry, "float32")
    assert why == "transformers is not installed"
    figures = {"contestant": "sdpa", "dropout": 0.0}
    counts = import_module("kept_bytes").Counts(2**21, 0, {}, forward=1, backward=2, casts=0)
    base = {"counts": {"1 x 2": counts.as_dict()}}
    others = [
        {"contestant": name, "dropout": 0.0, "precision": "float32"} | base
        for name in ("emitted", "emitted_2", "eager", "hand")
    ]
    rows = [*others, figures | {"precision": "float32", "not_measured": why}]
    table = import_module("half_memory_page").table("torch", {"rows": rows}, 0.0)
    assert (
        "| transformers, sdpa | float32 | NOT MEASURED: transformers is not installed | - |"
        in table
    )
    assert "| emitted, version 1 | float32 | 2 | 1.00 | 0 | 1 + 2 | 0 | 0 |" in table


def test_the_page_is_that_of_its_figures(program: Any) -> None:
    results = json.loads(PAGE.with_suffix(".json").read_text())
    assert PAGE.read_text() == program.page(results)
    for framework in program.FRAMEWORKS:
        rows = results["frameworks"][framework]["rows"]
        keys = [(row["contestant"], row["precision"], row["dropout"]) for row in rows]
        assert keys == [
            (entry.name, precision, dropout)
            for entry, precision, dropout in program.cases(framework)
        ]


def test_the_figures_of_version_2_are_those_that_it_was_made_for() -> None:
    """Of BERT-base; without dropout, whose masks are as large in every precision."""
    results = json.loads(PAGE.with_suffix(".json").read_text())["frameworks"]
    counts = {
        (framework, row["contestant"], row["precision"], row["dropout"]): row["counts"]
        for framework, measured in results.items()
        for row in measured["rows"]
        if "counts" in row
    }
    seen = set()
    for (framework, contestant, precision, dropout), shapes in counts.items():
        if contestant != "emitted_2" or precision == "float32":
            continue
        seen.add((framework, precision))
        single = counts[framework, contestant, "float32", dropout]
        hand = counts[framework, "hand", precision, dropout]
        for shape, entry in shapes.items():
            assert entry["activations"] <= hand[shape]["activations"]
            if framework == "tensorflow":  # its own float32 keeps more than one kernel would
                assert entry["activations"] <= 0.50 * single[shape]["activations"]
                assert entry["dtypes"]["float32"] < 2**22  # statistics, and of the loss
                own, theirs = (e["forward"] + e["backward"] for e in (entry, hand[shape]))
                assert own < theirs
            if framework != "torch":
                continue
            statistics = entry["dtypes"]["float32"]
            if dropout == 0.0:  # above a half are the statistics, float32 in both
                half = single[shape]["activations"] / 2
                assert entry["activations"] == pytest.approx(half + statistics / 2, rel=1e-3)
                assert round(entry["activations"] / half / 2, 2) <= 0.50
            sdpa = counts[framework, "sdpa", precision, dropout][shape]
            assert entry["activations"] <= 0.85 * sdpa["activations"]
            assert entry["peak"] < single[shape]["peak"]
            assert entry["forward"] + entry["backward"] <= sdpa["forward"] + sdpa["backward"]
            assert entry["casts"] + entry["window_casts"] / 2 <= 160  # of a window of two
    halves = {("paddle", "bfloat16")}
    halves |= {(name, half) for name in ("torch", "tensorflow") for half in ("bfloat16", "float16")}
    assert seen == halves
