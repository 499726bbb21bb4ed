"""How the emitted Paddle script is launched: its flags, launch.sh, several processes, no GPU."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from crosscast.plan import loss_scale
from crosscast.plan.operations import UpdateScale
from frameworks.emitted_script import BFLOAT16, FLOAT16
from frameworks.paddle_lab import DYNAMIC, SCALED, Lab, finished
from frameworks.subprocesses import start
from tiers import cases

pytestmark = pytest.mark.paddle

STATIC: dict[str, Any] = {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 512.0}}
HALF: dict[str, Any] = {"precision": BFLOAT16}
UNSCALED: dict[str, Any] = {"precision": FLOAT16, "loss_scaling": {"mode": "none"}}
FAULTS = tuple(f"{window}:0=inf" for window in (1, 2, 3, 9, 10))


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def flags_of(script: Path) -> list[str]:
    text = script.with_name("launch.sh").read_text()
    return re.findall(r"^  (--use\S+|--(?:init|incr|decr)\S+) \\$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({}, ["--use_fp16=false"]),
        (HALF, ["--use_bf16=true"]),
        (UNSCALED, ["--use_fp16=true"]),
        (
            STATIC,
            ["--use_fp16=true", "--use_dynamic_loss_scaling=false", "--init_loss_scaling=512.0"],
        ),
        (
            SCALED,
            [
                "--use_fp16=true",
                "--use_dynamic_loss_scaling=true",
                "--init_loss_scaling=1024.0",
                "--incr_every_n_steps=3",
                "--decr_every_n_nan_or_inf=1",
                "--incr_ratio=2.0",
                "--decr_ratio=0.5",
            ],
        ),
    ],
    ids=["float32", "bfloat16", "unscaled", "static", "dynamic"],
)
def test_launch_script_spells_the_flags_out(
    lab: Lab, sections: dict[str, Any], expected: list[str]
) -> None:
    script = lab.script("run", **sections)
    assert flags_of(script) == expected


@pytest.mark.parametrize(
    "sections",
    cases(
        [{}, HALF, UNSCALED, STATIC, SCALED], quick=[SCALED], reason="with fewer flags of precision"
    ),
    ids=["float32", "bfloat16", "unscaled", "static", "dynamic"],
)
def test_a_script_takes_the_flags_of_its_launch_script(lab: Lab, sections: dict[str, Any]) -> None:
    script = lab.script("run", **sections)
    flags = flags_of(script)
    off = [re.sub(r"=true$", "=false", flag) for flag in flags[:1]]
    (run,) = lab.ended(script, ("out", *flags, *off, "--windows", 2))
    assert [(row["scale"], row["skipped"]) for row in run.trace] == [(1.0, False)] * 2


SETTINGS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "the recipe's": ((), {}),
    "all other": (
        (
            "--init_loss_scaling=4096",
            "--incr_every_n_steps=2",
            "--decr_every_n_nan_or_inf=2",
            "--incr_ratio=4",
            "--decr_ratio=0.25",
        ),
        {
            "init_scale": 4096.0,
            "growth_interval": 2,
            "hysteresis": 2,
            "growth_factor": 4.0,
            "backoff_factor": 0.25,
        },
    ),
    "constant": (
        ("--use_dynamic_loss_scaling=F", "--init_loss_scaling=64"),
        {"init_scale": 64.0, "mode": "static"},
    ),
}


def test_flags_take_effect(lab: Lab) -> None:
    script = lab.script("run", **SCALED)
    orders = [(str(i), *flags) for i, (flags, _) in enumerate(SETTINGS.values())]
    runs = finished(lab.with_scaler(script, *orders, ("again", "--use_fp16=T"), faults=FAULTS))
    for run, (_, settings) in zip(runs, SETTINGS.values(), strict=False):
        machine = UpdateScale(**(DYNAMIC | {"min_scale": 1.0} | settings))  # type: ignore[arg-type]
        state = loss_scale.initial(machine)
        for row in run.trace:
            assert row["scale"] == state.scale
            state = loss_scale.adjust(machine, state, finite=not row["skipped"])
        assert [row["window"] for row in run.trace if row["skipped"]] == [1, 2, 3, 9, 10]
    assert runs[0].trace == runs[-1].trace


SENSELESS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "dynamic": (
        SCALED,
        (
            "--use_fp16=maybe",
            "--use_fp16=",
            "--init_loss_scaling=0.5",  # below min_scale
            "--init_loss_scaling=nan",
            "--init_loss_scaling=1e39",
            "--incr_every_n_steps=0",
            "--decr_every_n_nan_or_inf=1.5",
            "--incr_ratio=1",
            "--incr_ratio=inf",
            "--decr_ratio=1",
            "--decr_ratio=0",
        ),
    ),
    "static": (
        STATIC,
        ("--use_dynamic_loss_scaling=true", "--init_loss_scaling=0", "--incr_ratio=2.0"),
    ),
    "bfloat16": (HALF, ("--use_bf16=yes", "--use_fp16=true")),
    "float32": ({}, ("--use_fp16=true",)),
}


@pytest.mark.parametrize("name", SENSELESS)
def test_flags_that_make_no_sense_are_refused(lab: Lab, name: str) -> None:
    sections, flags = SENSELESS[name]
    runs = lab.main(lab.script("run", **sections), *((f"out-{flag}", flag) for flag in flags))
    for flag, run in zip(flags, runs, strict=True):
        run.refused(flag.split("=")[0])


@pytest.mark.parametrize(
    ("sections", "flag"),
    cases(
        [(SCALED, "--use_fp16"), (STATIC, "--use_fp16"), (HALF, "--use_bf16")],
        quick=[(SCALED, "--use_fp16")],
        reason="static scales and bfloat16, too",
    ),
    ids=["dynamic", "static", "bfloat16"],
)
def test_mixed_precision_is_not_pretended_on_cpu(
    lab: Lab, sections: dict[str, Any], flag: str
) -> None:
    (run,) = lab.main(lab.script("run", **sections), ("out",))
    assert (run.code, run.traceback) == (3, "")
    assert "AMP is not native on CPU in Paddle" in run.stderr
    assert f"run on a GPU or pass {flag}=false" in run.stderr
    assert (run.status["status"], run.status["exit_code"]) == ("cannot_run", 3)
    assert run.status["message"] in run.stderr
    assert not (run.output / "trace.jsonl").exists()


def test_a_gpu_without_half_precision_is_not_trusted(lab: Lab) -> None:
    script = lab.script("run", **HALF)
    program = script.with_name("program.py")
    # auto_cast does nothing here
    asks = "from runtime.device import require_amp\nrequire_amp('gpu', 'bfloat16', 'use_bf16')\n"
    program.write_text(asks)
    done = start(program, "paddle")
    refusal = "runtime.settings.Stop: this GPU does not compute in bfloat16"
    assert done.stderr.splitlines()[-1] == refusal


def test_there_is_no_gpu_here(lab: Lab) -> None:
    (run,) = lab.main(lab.script("run"), ("out", "--device", "gpu"))
    assert (run.code, run.status["status"]) == (3, "cannot_run")
    assert "Paddle sees no GPU" in run.stderr


def test_launch_script_and_help(lab: Lab) -> None:
    script = lab.script("run", **SCALED)
    launch = script.with_name("launch.sh")
    flags = (*lab.flags, "--output", lab.folder / "out", "--windows", 3, "--log-every", 2)
    done = lab.shell(launch, *flags, "--use_fp16=false")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[:2]] == ["window 2/3", "window 3/3"]
    assert lines[2].startswith("finished: {")
    done = lab.shell(launch, *flags)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith("cannot_run: AMP is not native on CPU")
    shown = lab.shell(launch, "--help")
    assert shown.returncode == 0
    for flag in ("--train", "--resume", "--device {auto,cpu,gpu}", *(flags_of(script))):
        assert flag.split("=")[0] in shown.stdout


TWO: dict[str, Any] = {"distributed": {"strategy": "data_parallel", "processes_per_node": 2}}
BATCH: dict[str, Any] = {"batch": {"micro_batch_size": 2, "global_batch_size": 16}}
NORM: dict[str, Any] = {"clipping": {"kind": "global_norm", "max_norm": 0.3}}


def test_two_processes_train_as_one(lab: Lab) -> None:
    initial = lab.folder / "start.safetensors"
    script = lab.script("one", **NORM)
    (first,) = lab.ended(script, ("fresh", "--windows", 1))
    first.output.joinpath("model.safetensors").rename(initial)
    (whole,) = lab.ended(script, ("out", "--weights", initial, "--windows", 12))
    launch = lab.script("two", **TWO, **BATCH, **NORM).with_name("launch.sh")
    output = lab.folder / "two" / "out"
    flags = (*lab.flags, "--device", "cpu", "--output", output, "--weights", initial)
    for more in (("--windows", 6), ("--windows", 12, "--resume")):
        done = lab.shell("bash", launch, *flags, *more)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("finished: {") == 1
    rows = [json.loads(line) for line in (output / "trace.jsonl").read_text().splitlines()]
    for key in ("window", "rows", "lr", "updates", "scale", "skipped"):
        assert [row[key] for row in rows] == [row[key] for row in whole.trace], key
    for key in ("loss", "grad_norm"):
        found, expected = (np.array([row[key] for row in some]) for some in (rows, whole.trace))
        np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=key)
    for name, array in load_file(output / "model.safetensors").items():
        np.testing.assert_allclose(array, whole.weights[name], rtol=0, atol=1e-5, err_msg=name)
    assert (lab.folder / "runs" / "tiny-paddle" / "log" / "workerlog.1").exists()


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    cases(
        [(("--device", "gpu"), 3, "sees no GPU"), (("--train", "none.npz"), 2, "none.npz")],
        quick=[(("--train", "none.npz"), 2, "none.npz")],
        reason="a second way to fail",
    ),
)
def test_processes_fail_together(lab: Lab, flags: tuple[str, ...], code: int, words: str) -> None:
    launch = lab.script("two", **TWO, **BATCH).with_name("launch.sh")
    output = lab.folder / "out"
    done = lab.shell("bash", launch, *lab.flags, "--output", output, *flags)
    assert done.returncode == code, done.stdout + done.stderr
    status = json.loads((output / "status.json").read_text())
    assert status["exit_code"] == code
    assert words in status["message"]


def test_one_process_of_two_is_refused(lab: Lab) -> None:
    (run,) = lab.main(lab.script("two", **TWO, **BATCH), ("out",))
    run.refused("made for 2 processes: start launch.sh")
