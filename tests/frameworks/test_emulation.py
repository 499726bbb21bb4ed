"""Emulated half precision: it rounds where it must, and nothing else; scripts train with it."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from crosscast.plan.canonical import canonical_plan
from crosscast_parity.inputs.weights import bert_weights
from crosscast_parity.levels.machine import check_machine
from crosscast_parity.recordings.trace import read_trace
from frameworks.emitted_script import BFLOAT16, FLOAT16, emit, tiny_recipe, write_rows
from frameworks.names import MARKS, QUICK, marked
from frameworks.runner_runs import start_runner, train
from frameworks.script_runs import Run
from frameworks.subprocesses import run_python
from tiers import cases, exhaustive

PROGRAM_OF_LAYERS = Path(__file__).with_name("run_emulated_layers.py")
TINY_IN_BFLOAT16 = ["1.994240368398718e-27", "-2.9985297205047253e-24"]
EXPECTED = {
    "float16": {
        "rounded": ["1.0", "0.0", "2048.0", "inf"],
        "sum": ["4096.0"],  # summed in half it would stop at 2048
        "weight_sum": ["4096.0"],
        "overflow": ["inf"],
        "flush": ["0.0"],
        "tiny": ["0.0", "0.0"],
        "tiny_pull": ["0.0", "0.0"],
        "types": ["half", "half", "float32", "half", "float32", "float32", "half", "float32"],
    },
    "bfloat16": {
        "rounded": ["1.0", "1.0011717677116394e-08", "2048.0", "70144.0"],
        "sum": ["4096.0"],
        "weight_sum": ["4096.0"],
        "overflow": ["99840.0"],
        "flush": ["1.0011717677116394e-08"],
        "tiny": TINY_IN_BFLOAT16,
        "tiny_pull": TINY_IN_BFLOAT16,
        "types": ["half", "half", "float32", "half", "float32", "float32", "half", "float32"],
    },
}


@pytest.mark.parametrize("framework", cases(marked(), QUICK, "half sums of XLA"))
def test_layers_sum_in_float32(framework: str) -> None:
    results = run_python(PROGRAM_OF_LAYERS, framework, framework)
    for layers in results.values():
        assert len(layers) >= 5
        assert layers == {name: 1.0 if "mean" in name else 4096.0 for name in layers}


CASTS = """
import json
import numpy as np
import paddle
from crosscast_parity.inside.emulate import install

install("crosscast_paddle.inside")
rng = np.random.default_rng(0)
numbers = np.ldexp(rng.uniform(-2, 2, 9000), rng.integers(-149, 17, 9000))
half_of_the_smallest = 2.0**-25
edges = [half_of_the_smallest, -half_of_the_smallest, np.inf, -np.inf, np.nan, -0.0]
edges.append(np.nextafter(np.float32(half_of_the_smallest), 1))
numbers = np.append(numbers, edges).astype("float32")
with np.errstate(over="ignore"):
    expected = numbers.astype("float16")


def differ(half):
    array = half.numpy()
    same = array.view("uint16") == expected.view("uint16")
    return int((~(same | (np.isnan(array) & np.isnan(expected)))).sum())


x = paddle.to_tensor(numbers, stop_gradient=False)
half = x.astype("float16")
half.retain_grads()
(half.astype("float32") * paddle.to_tensor(numbers)).sum().backward()
weight = paddle.to_tensor([1e-20], stop_gradient=False)
weight.astype("float16").astype("float32").sum().backward()  # 0, but not without a gradient
print(json.dumps({
    "forward": differ(half),
    "backward": differ(half.grad),
    "back": str(half.grad.dtype).removeprefix("paddle."),
    "step": weight.grad.item(),
}))
"""


@pytest.fixture(scope="module", params=cases(marked(), QUICK, "half operations of XLA"))
def facts(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What `emulation_facts.py` computed in one framework."""
    program = Path(__file__).with_name("emulation_facts.py")
    found: dict[str, Any] = run_python(program, request.param, request.param)
    return found


def test_float32_is_the_same_bit_for_bit(facts: dict[str, Any]) -> None:
    assert facts["float32_same"] is True


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_overflow_and_flush_both_ways(facts: dict[str, Any], dtype: str) -> None:
    found = facts[dtype]
    found["types"] = ["half" if kind == dtype else kind for kind in found["types"]]
    for name, expected in EXPECTED[dtype].items():
        # TensorFlow's product of a vanished gradient is -0.0 or 0.0, with oneDNN or without.
        assert ["0.0" if value == "-0.0" else value for value in found[name]] == expected, name
    assert 1e-3 < found["apart"] < 0.1  # from the product in float32: about one unit of rounding


class Lab:
    """Emits the tiny recipe and trains it through the runner, all from the same weights."""

    def __init__(self, folder: Path, name: str, **sections: Any) -> None:
        self.folder = folder / name
        self.folder.mkdir()
        self.recipe = tiny_recipe(**sections)
        write_rows(self.folder / "train.npz", 44)
        write_rows(self.folder / "eval.npz", 10, seed=1)
        self.weights = self.folder / "weights.safetensors"
        model: Any = self.recipe.model
        save_file(bert_weights(model, 3, 0.02), self.weights)

    def train(self, framework: str, *options: str, windows: int = 8) -> Run:
        """Train one framework's script for some windows."""
        script = emit(self.recipe, framework, self.folder / framework) / "train.py"
        output = self.folder / f"{framework}{''.join(options)}"
        arguments = ["--weights", self.weights, "--windows", windows]
        return train(framework, script, output, options, arguments)


@pytest.mark.paddle
def test_paddle_casts_to_float16_as_numpy_does(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(CASTS)
    found: dict[str, Any] = run_python(program, "paddle")
    assert found == {"forward": 0, "backward": 0, "back": "float16", "step": 1.0}


@pytest.mark.paddle
def test_paddle_casts_as_the_levels_and_lists_of_auto_cast_say() -> None:
    program = Path(__file__).with_name("paddle_autocast_facts.py")
    graph, emulated = (run_python(program, "paddle", how) for how in ("graph", "emulated"))
    assert graph.keys() == emulated.keys()
    for setting, expected in graph.items():
        assert len(expected) > 18, setting
        found = {name: emulated[setting][name] for name in expected}
        assert found == expected, setting
    assert graph["black name of no operation"] == graph["O1"]
    assert len({json.dumps(found) for found in graph.values()}) == len(graph) - 1


@exhaustive("float32 scripts under emulation")
@pytest.mark.parametrize("framework", marked())
def test_a_float32_script_is_untouched(tmp_path: Path, framework: str) -> None:
    lab = Lab(tmp_path, "float32")
    plain, emulated = lab.train(framework), lab.train(framework, "--emulate")
    assert plain.trace == emulated.trace
    assert plain.status["eval"] == emulated.status["eval"]
    for name, array in plain.weights.items():
        assert array.tobytes() == emulated.weights[name].tobytes(), name


@pytest.mark.parametrize(
    ("precision", "frameworks"),
    [
        pytest.param(FLOAT16, QUICK, marks=MARKS, id="float16"),
        pytest.param(
            BFLOAT16, QUICK, marks=[*MARKS, exhaustive("bfloat16 as float16")], id="bfloat16"
        ),
        pytest.param(FLOAT16, ("jax",), marks=[*MARKS, exhaustive("half of XLA")], id="jax"),
    ],
)
def test_emulated_scripts_agree_with_native_half_and_not_with_float32(
    tmp_path: Path, precision: dict[str, Any], frameworks: tuple[str, ...]
) -> None:
    half = Lab(tmp_path, "half", precision=precision)
    float32 = np.array(losses(Lab(tmp_path, "float32").train("torch")))
    native = np.array(losses(half.train("torch")))
    unit = 2.0**-11 if precision is FLOAT16 else 2.0**-8
    assert np.abs(native - float32).max() > 1e-7
    for framework in frameworks:
        emulated = np.array(losses(half.train(framework, "--emulate")))
        assert np.abs(emulated - native).max() < unit / 20, framework
        assert np.abs(emulated - float32).max() > 1e-7, framework


@pytest.mark.torch
def test_a_compiled_model_rounds_as_the_same_model_without_compilation(tmp_path: Path) -> None:
    overrides = {"torch": {"compile": True}}
    plain = Lab(tmp_path, "plain", precision=FLOAT16)
    compiled = Lab(tmp_path, "compiled", precision=FLOAT16, overrides=overrides)
    traces = [lab.train("torch", "--emulate", windows=2).trace for lab in (plain, compiled)]
    assert traces[0] == traces[1]


def losses(run: Run) -> list[float]:
    return [row["loss"] for row in run.trace]


@exhaustive("overflows that are not injected")
@pytest.mark.torch
@pytest.mark.tensorflow
@pytest.mark.paddle
def test_gradients_overflow_by_themselves_and_the_real_scalers_skip(tmp_path: Path) -> None:
    dynamic = {"mode": "dynamic", "init_scale": 2.0**24, "growth_interval": 3}
    lab = Lab(tmp_path, "half", precision=FLOAT16, loss_scaling=dynamic)
    runs = {name: lab.train(name, "--emulate", windows=16) for name in QUICK}
    runs["native"] = lab.train("torch", windows=16)
    machines = {
        name: [(row["scale"], row["skipped"], row["updates"]) for row in run.trace]
        for name, run in runs.items()
    }
    skipped = [machine[1] for machine in machines["native"]]
    assert skipped[0], "the scale is not high enough to overflow"
    assert not all(skipped)
    assert any(not a and b for a, b in pairwise(skipped)), "never grew"
    assert machines == dict.fromkeys(machines, machines["native"])
    plan = canonical_plan(lab.recipe)
    for run in runs.values():
        checks = check_machine(plan, read_trace(run.output / "trace.jsonl"))
        assert [check.wording for check in checks if check.result != "pass"] == []


@exhaustive("recomputed layers under emulation")
@pytest.mark.parametrize("framework", marked(*QUICK))
def test_layers_that_are_computed_anew_in_backward_round_alike(
    tmp_path: Path, framework: str
) -> None:
    plain = Lab(tmp_path, "plain", precision=FLOAT16).train(framework, "--emulate", windows=3)
    lab = Lab(tmp_path, "again", precision=FLOAT16, activation_checkpointing=True)
    again = lab.train(framework, "--emulate", windows=3)
    assert again.trace == plain.trace
    for name, array in plain.weights.items():
        assert array.tobytes() == again.weights[name].tobytes(), name


EVERYTHING = ("pointwise", "reductions", "embeddings", "losses")
OTHERS: dict[str, dict[str, Any]] = {
    "half weights": {"precision": FLOAT16 | {"mode": "full"}},
    "half operations": {"precision": FLOAT16 | {"ops": dict.fromkeys(EVERYTHING, "compute")}},
}


@exhaustive("half weights and half operations under emulation")
@pytest.mark.torch
@pytest.mark.paddle
@pytest.mark.parametrize("name", OTHERS)
def test_half_weights_and_half_operations_agree_too(tmp_path: Path, name: str) -> None:
    lab = Lab(tmp_path, "half", **OTHERS[name])
    native = np.array(losses(lab.train("torch")))
    for framework in ("torch", "paddle"):
        emulated = np.array(losses(lab.train(framework, "--emulate")))
        # The losses of "half operations" are sums of numbers that were rounded to half.
        assert np.abs(emulated - native).max() < 2.0**-9, framework


@pytest.mark.paddle
def test_without_emulation_paddle_refuses_the_cpu(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "half", precision=FLOAT16)
    with pytest.raises(AssertionError, match="AMP is not native on CPU"):
        lab.train("paddle", windows=1)


@pytest.mark.paddle
def test_a_bfloat16_auto_cast_still_turns_the_scaler_off(tmp_path: Path) -> None:
    """The emulation leaves Paddle's traps in place, so that scripts are tested against them."""
    lab = Lab(tmp_path, "half", precision=FLOAT16)
    script = emit(lab.recipe, "paddle", lab.folder / "broken") / "train.py"
    text = script.read_text()
    assert text.count('dtype="float16"') >= 2
    script.write_text(text.replace('dtype="float16"', 'dtype="bfloat16"'))
    data = ["--train", lab.folder / "train.npz", "--eval", lab.folder / "eval.npz"]
    arguments = [*data, "--output", lab.folder / "out", "--device", "cpu", "--windows", 1]
    done = start_runner("paddle", script, ["--emulate"], arguments)
    assert "GradScaler is disable" in done.stderr
