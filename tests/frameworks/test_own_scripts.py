"""A user's own scripts in a comparison: those of docs/reference/parity-contract.md, unchanged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.document import Recipe
from crosscast.recipe.load import load
from crosscast_parity.checks.kinds import Level
from crosscast_parity.compare.harness import compare
from crosscast_parity.judge.records import Pair, ParityReport
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import make_options
from crosscast_parity.planning.stages import START, own_stage
from frameworks.subprocesses import require, warm
from tiers import cases, exhaustive

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "parity-contract.md"
BLOCK = re.compile(r"^```python\n# (\w+\.py)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PARTS = dict(BLOCK.findall(PAGE.read_text()))
WINDOWS = 7
"""The sixth is short."""
RECIPE = """
version: 1
name: own
seed: 7
model:
  kind: bert
  layers: 1
  hidden_size: 32
  attention_heads: 2
  intermediate_size: 64
  vocab_size: 128
  max_positions: 16
  labels: 3
  dropout: 0.0
data: {source: synthetic, sequence_length: 12, train_rows: 89, eval_rows: 8}
batch: {micro_batch_size: 4, global_batch_size: 16}
precision: {mode: none}
accumulation: {steps: 4, normalize_by: sample}
clipping: {kind: global_norm, max_norm: 0.35}
optimizer: {name: adamw, learning_rate: 1e-3, weight_decay: 0.1, no_decay: [bias, layer_norm]}
schedule: {name: linear, warmup_steps: 3, total_steps: 16}
"""


def read_recipe(folder: Path) -> Recipe:
    path = folder / "recipe.yaml"
    path.write_text(RECIPE)
    return load(str(path))


def compile_to(recipe: Recipe, targets: Sequence[str], directory: Path) -> None:
    for target in targets:
        write_files(directory / target, compile_recipe(recipe, [target])[0].files, force=True)


MINE = {
    "torch": "\nfrom runtime.state import named_parameters\n",
    "tensorflow": """
from model import BertClassifier
from runtime.state import named_parameters

exchange_layout = BertClassifier.canonical_layout
""",
}
MINE["paddle"] = MINE["tensorflow"]
"""What the page's scripts import beside that."""


def write_script(
    framework: str, recipe: Recipe, folder: Path, change: tuple[str, str] = ("", "")
) -> Path:
    """Write the script of the page; what it calls `mine` is the code emitted for the framework."""
    compile_to(recipe, [framework], folder)
    home = folder / framework
    (home / "mine.py").write_text((home / "train.py").read_text() + MINE[framework])
    (home / "train.py").unlink()
    script = home / f"own_{framework}.py"
    assert change[0] in PARTS[script.name]
    script.write_text(PARTS[script.name].replace(*change))
    (home / "parity_io.py").write_text(PARTS["parity_io.py"])
    return script


def contestant(name: str, framework: str, recipe: Recipe, script: Path | None = None) -> Contestant:
    return Contestant(
        name=name, target=framework, recipe=recipe, script=script, python=warm(framework)
    )


def compared(framework: str, folder: Path, change: tuple[str, str] = ("", "")) -> ParityReport:
    """Compare the script with the one that is emitted for PyTorch."""
    require(framework)
    require("torch")
    recipe = read_recipe(folder)
    script = write_script(framework, recipe, folder / "own", change)
    return compare(
        [contestant("torch", "torch", recipe), contestant("mine", framework, recipe, script)],
        options=make_options(folder / "out", windows=WINDOWS, twins=1, jobs=2),
        compile_to=compile_to,
    )


def only_pair(report: ParityReport) -> Pair:
    runs = [run for run in report.runs if not run.needless]  # as the toy of another script is
    ends = {(run.contestant, run.name): run.outcome.message for run in runs}
    assert not any(ends.values()), ends
    assert len(report.pairs) == 1
    return report.pairs[0]


def failed(pair: Pair) -> set[Level]:
    return {check.level for check in pair.checks if check.result == "fail"}


def passed(pair: Pair) -> set[Level]:
    return {check.level for check in pair.checks if check.result == "pass"} - failed(pair)


PAGE_SCRIPTS = [
    pytest.param("torch", marks=pytest.mark.torch),
    pytest.param("tensorflow", marks=[pytest.mark.torch, pytest.mark.tensorflow]),
    pytest.param("paddle", marks=[pytest.mark.torch, pytest.mark.paddle]),
]


@pytest.mark.parametrize(
    "framework",
    cases(
        PAGE_SCRIPTS,
        quick=[],
        reason="the page's scripts; `make test` runs PyTorch's with a mistake",
    ),
)
def test_the_scripts_of_the_page_do_what_the_emitted_one_does(
    framework: str, tmp_path: Path
) -> None:
    found = only_pair(compared(framework, tmp_path))
    assert not failed(found), [check for check in found.checks if check.result == "fail"]
    assert {"gate", "L0a", "L0b", "L0d", "L1a", "L1b"} <= passed(found)


@pytest.mark.torch
def test_a_script_that_forgets_to_clip_is_different_and_the_replay_says_so(tmp_path: Path) -> None:
    change = ("state.model.parameters(), 0.35", "state.model.parameters(), 1e9")
    found = only_pair(compared("torch", tmp_path, change))
    assert found.verdict == "DIFFERENT"
    assert "L1b" in failed(found)


GELU = {
    "torch": ("(x).float()), x)", "(x).float(), approximate='tanh'), x)"),
    "tensorflow": ("tf.nn.gelu(y)", "tf.nn.gelu(y, approximate=True)"),
    "paddle": ("F.gelu(hidden)", "F.gelu(hidden, approximate=True)"),
}
"""GELU by a polynomial of tanh, which half precision hides."""
MODELS = {
    "mask": ("* -1e9", "* -10.0"),
    "LayerNorm": ("LAYER_NORM_EPS = 1e-12", "LAYER_NORM_EPS = 1e-6"),
    "none": ("", ""),
}


def in_half(folder: Path) -> Recipe:
    path = folder / "recipe.yaml"
    path.write_text(RECIPE.replace("{mode: none}", "{mode: mixed, compute_dtype: float16}"))
    return load(str(path))


def half_pairs(folder: Path, scripts: Mapping[str, tuple[str, str, str]]) -> dict[str, Pair]:
    """Compare emitted float16 scripts, of framework and change by name, as scripts of a user."""
    recipe = in_half(folder)
    contestants = [
        Contestant(name="reference", target="torch", recipe=recipe, python=warm("torch"))
    ]
    for name, (framework, old, new) in scripts.items():
        compile_to(recipe, [framework], folder / name)
        home = folder / name / framework
        text = (home / "model.py").read_text()
        assert old in text
        (home / "model.py").write_text(text.replace(old, new, 1))
        script = home / "train.py"
        contestants.append(contestant(name, framework, recipe, script))
    report = compare(
        contestants,
        options=make_options(folder / "out", jobs=2),
        compile_to=compile_to,
        stages=[replace(own_stage(recipe, WINDOWS, 0), parts=START)],
    )
    return {pair.contestant: pair for pair in report.pairs}


CAST = ("torch", "(residual + x)", "((residual.half() + x.half()).float())")
"""A cast of the script's own, which leaves nothing to compare in float32."""


@exhaustive("the models of two scripts, and a cast")
@pytest.mark.torch
@pytest.mark.paddle
def test_a_model_that_half_precision_hides_is_seen_in_float32(tmp_path: Path) -> None:
    require("torch")
    require("paddle")
    scripts = {f"{name}-tanh": (name, *GELU[name]) for name in ("torch", "paddle")}
    pairs = half_pairs(tmp_path, {**scripts, "cast": CAST})
    assert failed(pairs["torch-tanh"]) == failed(pairs["paddle-tanh"]) == {"L1a"}
    of_models = [check for check in pairs["cast"].checks if check.level == "L1a"]
    assert {check.result for check in of_models} == {"not tested"}
    words = "cast: add is in half precision by a cast of the script's own"
    assert {check.wording for check in of_models} == {words}


@exhaustive("Keras without its policy")
@pytest.mark.torch
@pytest.mark.tensorflow
def test_a_keras_model_that_half_precision_hides_is_seen_in_float32(tmp_path: Path) -> None:
    require("tensorflow")
    pairs = half_pairs(tmp_path, {"tanh": ("tensorflow", *GELU["tensorflow"])})
    assert failed(pairs["tanh"]) == {"L1a"}


@exhaustive("more models, and the unchanged one, in half precision")
@pytest.mark.parametrize("framework", PAGE_SCRIPTS)
def test_what_is_changed_in_a_half_model_is_seen_and_nothing_else(
    framework: str, tmp_path: Path
) -> None:
    require(framework)
    found = half_pairs(tmp_path, {name: (framework, *MODELS[name]) for name in MODELS})
    assert failed(found["mask"]) == failed(found["LayerNorm"]) == {"L1a"}
    assert not failed(found["none"])
    assert "L1a" in passed(found["none"])


@exhaustive("scripts without the named functions")
@pytest.mark.torch
def test_without_the_named_functions_the_trace_alone_is_compared(tmp_path: Path) -> None:
    found = only_pair(compared("torch", tmp_path, ("micro_batch_loss", "my_loss")))
    assert not failed(found)
    assert {"gate", "L0a", "L0b"} <= passed(found)
    untested = {check.level for check in found.checks if check.result == "not tested"}
    assert {"L0d", "L1a", "L1b"} <= untested
