"""The committed examples are what crosscast emits today, and they pass the linters."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from crosscast.recipe.load import load

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MAKEFILE = EXAMPLES.parent / "Makefile"
FIXED, DYNAMIC = 200, 260
"""Lines of train.py for PyTorch in one process: without a dynamic loss scale, and with one."""
WITH_RUNTIME = {"bert-small", "data-parallel-from-scratch"}


def run(*command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_compiled_examples_are_fresh() -> None:
    run(sys.executable, EXAMPLES / "compile.py", "--check")


def test_every_example_is_compiled_for_every_target() -> None:
    names = {path.parent.name for path in EXAMPLES.glob("*/recipe.yaml")}
    own = "data-parallel-from-scratch"
    problems = {"resnet-cifar", "gpt", "lstm-forecast"}
    assert names == {"bert-small", "apex-o1", "tf-graph-rewrite", "paddle-xnli", own} | problems
    refused = {p.relative_to(EXAMPLES).as_posix() for p in EXAMPLES.rglob("unsupported.txt")}
    of_jax = {"apex-o1", own}
    expected = {f"{own}/after/{name}/unsupported.txt" for name in ("paddle", "tensorflow")}
    assert refused == expected | {f"{name}/after/jax/unsupported.txt" for name in of_jax}
    scripts = {p.relative_to(EXAMPLES).parts[0::2] for p in EXAMPLES.glob("*/after/*/train.py")}
    assert len(scripts) == 8 * 4 - 2 - 2


def test_scripts_of_one_process_are_short() -> None:
    lengths = {}
    for path in EXAMPLES.glob("*/recipe.yaml"):
        recipe = load(str(path))
        if recipe.processes == 1:
            text = (path.parent / "after" / "torch" / "train.py").read_text()
            dynamic = recipe.scaling_on and recipe.loss_scaling.mode == "dynamic"
            lengths[path.parent.name] = (dynamic, len(text.splitlines()))
    assert {dynamic for dynamic, _ in lengths.values()} == {True, False}
    long = {n: x for n, x in lengths.items() if x[1] > (DYNAMIC if x[0] else FIXED)}
    assert long == {}


def test_the_runtime_is_kept_in_two_examples() -> None:
    kept = {path.relative_to(EXAMPLES).parts[0] for path in EXAMPLES.glob("*/after/*/runtime")}
    assert kept == WITH_RUNTIME
    named = re.search(r"only (\S+) and (\S+) have a copy", (EXAMPLES / "README.md").read_text())
    assert named
    assert set(named.groups()) == WITH_RUNTIME


def test_the_demo_trains_the_model_of_its_example_as_long_as_its_schedule() -> None:
    demo, example = (load(str(EXAMPLES / "bert-small" / f"{n}.yaml")) for n in ("demo", "recipe"))
    models = [
        recipe.model.model_dump(exclude={"vocab_size", "max_positions"})
        for recipe in (demo, example)
    ]
    assert models[0] == models[1]
    for same in ("precision", "clipping"):
        assert getattr(demo, same) == getattr(example, same)
    rate = {"learning_rate"}
    assert demo.optimizer.model_dump(exclude=rate) == example.optimizer.model_dump(exclude=rate)
    assert demo.schedule.name == example.schedule.name == "linear"
    assert demo.schedule.warmup_steps
    assert demo.accumulation.steps > 1
    command = re.search(r"bert-small/demo\.yaml[^\t]+\t[^\n]*--windows (\d+)", MAKEFILE.read_text())
    assert command
    assert int(command[1]) == demo.schedule.total_steps


def test_emitted_examples_pass_ruff_with_its_own_settings() -> None:
    folders = sorted(EXAMPLES.glob("*/after"))
    run(sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", *folders)
    run(sys.executable, "-m", "ruff", "format", "--isolated", "--no-cache", "--check", *folders)


def test_launch_scripts_pass_shellcheck() -> None:
    scripts = sorted(EXAMPLES.glob("*/after/*/launch.sh"))
    assert len(scripts) == 28
    run("bash", "-n", *scripts)
    run(Path(sys.executable).with_name("shellcheck"), *scripts)


def test_scripts_of_the_readme_have_as_many_lines_as_it_says(tmp_path: Path) -> None:
    text = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    said = re.search(r"for this one (\d+) to (\d+) lines", text)
    recipe = re.search(r"```yaml\n(.*?)```", text, re.S)
    assert said
    assert recipe
    (tmp_path / "recipe.yaml").write_text(recipe[1])
    targets = "torch,tensorflow,paddle,jax"
    compiled: list[str | Path] = [
        tmp_path / "recipe.yaml",
        "--to",
        targets,
        "--output",
        tmp_path / "out",
    ]
    run(sys.executable, "-m", "crosscast", "compile", *compiled)
    lines = [len(p.read_text().splitlines()) for p in (tmp_path / "out").glob("*/train.py")]
    assert (round(min(lines), -1), round(max(lines), -1)) == tuple(map(int, said.groups()))
