"""The classic Paddle scripts: their flags as data, what they can express, and what is emitted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan.order import verify
from crosscast.targets.capability import Evidence, Verdict, judge
from crosscast_paddle.target import BACKEND
from crosscast_paddle.target.classic_rows import CLASSIC_ROWS
from crosscast_paddle.target.classic_scripts import CLASSIC_DIALECTS, SCRIPTS, Script
from crosscast_paddle.target.classic_values import flag_text, flag_values, warmup_proportion
from launch_scripts import DYNAMIC, FITTING, FLAGS, HALF, emitted, fitting
from recipe_texts import FLOAT16

ALL = tuple(SCRIPTS)
LARK, ERNIE, MODELS = (("lark",), ("ernie",), ("models-bert",))
BERTS = (*LARK, *MODELS)
DYNAMICS = (*ERNIE, *MODELS)
ALWAYS = {"CC385", "CC387", "CC388"}
"""What is approximate for every recipe: length in epochs, data, and fresh weights."""
NO_SCALE = {"precision": FLOAT16, "loss_scaling": "{mode: none}"}
LINEAR = "name: linear, total_steps: 1000"


# the tables


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=lambda case: case.name)
def test_flags_are_those_of_the_public_script(script: Script) -> None:
    parser = FLAGS[script.name]
    assert {flag.name for flag in script.flags} | set(script.others) == set(parser)
    assert not {flag.name for flag in script.flags} & set(script.others)
    for flag in script.flags:
        assert (flag.kind, flag.default) == tuple(parser[flag.name]), flag.name
    names = [flag.name for flag in script.flags]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=lambda case: case.name)
def test_every_flag_gets_a_value_that_its_parser_reads(script: Script) -> None:
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


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=lambda case: case.name)
def test_variables_are_used_and_have_a_flag(script: Script) -> None:
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
        return {
            (diagnostic.code, diagnostic.path)
            for diagnostic in error.diagnostics
            if diagnostic.severity == "error"
        }
    return set()


def warnings(script: str, **changes: str | None) -> set[str]:
    """Return the codes of what is not exact, but for those that every recipe has."""
    (compiled,) = compile_recipe(fitting(**changes), [f"paddle@{script}"])
    assert not verify(compiled.plan)
    return {diagnostic.code for diagnostic in compiled.diagnostics} - ALWAYS


@pytest.mark.parametrize("script", ALL)
def test_a_recipe_of_the_script_is_expressed(script: str) -> None:
    tail = "{steps: 1, tail: flush_renormalized}" if script == "ernie" else FITTING["accumulation"]
    placement = {"CC395"} if script == "models-bert" else set()
    assert warnings(script, accumulation=tail) == placement
    half = {"CC389"} | placement
    assert warnings(script, accumulation=tail, **NO_SCALE) == half
    (compiled,) = compile_recipe(fitting(), [f"paddle@{script}"])
    assert {diagnostic.code for diagnostic in compiled.diagnostics} >= ALWAYS


@pytest.mark.parametrize("script", ALL)
def test_sums_in_half_are_the_choice_of_the_script(script: str) -> None:
    full = {"precision": "{mode: full, compute_dtype: float16}"}
    reported = []
    for dtype in ("float32", "compute"):
        accumulation = f"{{steps: 1, tail: carry, dtype: {dtype}}}"
        changes = NO_SCALE | full | {"accumulation": accumulation}
        (compiled,) = compile_recipe(fitting(**changes), [f"paddle@{script}"])
        reported.append({(diagnostic.code, diagnostic.path) for diagnostic in compiled.diagnostics})
    assert reported[1] - reported[0] == {("CC389", "accumulation.dtype")}


@pytest.mark.parametrize(
    ("scripts", "changes", "code", "path"),
    [
        (
            LARK,
            NO_SCALE | {"loss_scaling": "{mode: static, scale: 65536}"},
            "CC393",
            "loss_scaling.scale",
        ),
        (
            LARK,
            NO_SCALE | {"loss_scaling": "{mode: static, scale: 0.5}"},
            "CC393",
            "loss_scaling.scale",
        ),
        (LARK, NO_SCALE | {"loss_scaling": "{mode: static, scale: 8}"}, "CC394", "clipping"),
        *(
            (ALL, HALF | {"loss_scaling": f"{DYNAMIC[:-1]}, {rule}}}"}, "CC393", "loss_scaling")
            for rule in ("min_scale: 2.0", "max_scale: 131072", "hysteresis_mode: cumulative")
        ),
        (MODELS, HALF | {"loss_scaling": "{mode: dynamic}"}, "CC392", "loss_scaling"),
        (MODELS, HALF | {"loss_scaling": DYNAMIC.replace("0.8", "0.5")}, "CC392", "loss_scaling"),
        (ALL, {"precision": "{mode: mixed, compute_dtype: bfloat16}"}, "CC389", "precision"),
        (ALL, {"clipping": "{kind: none}"}, "CC394", "clipping.kind"),
        (ALL, {"clipping": "{kind: value, max_value: 1.0}"}, "CC394", "clipping"),
        (ALL, {"clipping": "{kind: global_norm, max_norm: 0.5, eps: 0.0}"}, "CC394", "clipping"),
        (ALL, {"clipping": "{kind: global_norm, max_norm: 1.0, eps: 0.1}"}, "CC394", "clipping"),
        (
            ALL,
            {"clipping": "{kind: global_norm, max_norm: 1.0, eps: 0.0, exempt: [bias]}"},
            "CC394",
            "clipping",
        ),
        *(
            (ALL, {"optimizer": f"{{learning_rate: 0.1, {optimizer}}}"}, "CC395", path)
            for optimizer, path in (
                ("name: sgd", "optimizer"),
                ("name: lamb", "optimizer"),
                ("name: lion", "optimizer"),
                ("name: adafactor", "optimizer"),
                ("name: adam, weight_decay: 0.1, no_decay: [bias, layer_norm]", "optimizer"),
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
            (ALL, {"schedule": f"{{{schedule}}}"}, "CC396", "schedule.name")
            for schedule in (
                f"{LINEAR}, warmup_steps: 9",
                f"{LINEAR}, decay_from: start",
                f"{LINEAR}, warmup_steps: 9, decay_from: start, end_lr: 1e-6",
                f"{LINEAR}, warmup_steps: 9, decay_from: start, warmup_start_lr: 1e-6",
                "name: constant, total_steps: 9, warmup_steps: 1",
                "name: cosine, total_steps: 9, warmup_steps: 1",
                "name: polynomial, total_steps: 9, warmup_steps: 1, decay_from: start, power: 2.0",
            )
        ),
        (
            ALL,
            HALF | {"schedule": FITTING["schedule"].replace("attempt", "update")},
            "CC396",
            "schedule.tick",
        ),
        (ALL, {"accumulation": "{steps: 2}"}, "CC386", "accumulation.steps"),
        (
            ALL,
            {"accumulation": "{steps: 1, normalize_by: token}"},
            "CC386",
            "accumulation.normalize_by",
        ),
        *(
            (ALL, {"loss": f"{{kind: cross_entropy, {setting}}}"}, "CC386", "loss")
            for setting in ("label_smoothing: 0.1", "class_weights: [0.5, 1.0, 2.0]")
        ),
        (ALL, {"ema": "{decay: 0.99}"}, "CC386", "ema.decay"),
        (ALL, {"activation_checkpointing": "true"}, "CC386", "activation_checkpointing"),
        (
            ERNIE,
            {"data": "{source: npz, train: a, eval: b, shuffle: false}"},
            "CC392",
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
        assert {item for item in found if item[0] == code} == {(code, path)}, script
    for script in set(ALL) - set(scripts):
        assert (code, path) not in problems(script, **changes), script


@pytest.mark.parametrize(
    ("scripts", "changes", "code"),
    [
        (DYNAMICS, HALF, "CC390"),
        (DYNAMICS, NO_SCALE | {"loss_scaling": "{mode: static, scale: 8}"}, "CC390"),
        (ERNIE, HALF, "CC391"),
        (ALL, {"clipping": "{kind: global_norm, max_norm: 1.0, eps: 1e-7}"}, "CC394"),
        (ALL, {"optimizer": "{name: adamw, learning_rate: 1e-3}"}, "CC395"),
        (ALL, {"schedule": "{name: inverse_sqrt, total_steps: 1000, warmup_steps: 10}"}, "CC396"),
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


def test_lark_has_no_dynamic_scale() -> None:
    assert problems("lark", **HALF) == {("CC393", "loss_scaling")}


def test_lark_clips_at_its_scale() -> None:
    clipping = "{kind: global_norm, max_norm: 128.0, eps: 0.0}"
    scaled = NO_SCALE | {"loss_scaling": "{mode: static, scale: 128}", "clipping": clipping}
    assert problems("lark", **scaled) == set()
    assert ("CC394", "clipping") in problems("lark", clipping=clipping)


@pytest.mark.parametrize("script", ALL)
def test_every_field_has_a_row(script: str) -> None:
    rows = [row for row in CLASSIC_ROWS if script in row.dialects]
    for changes in ({}, NO_SCALE, HALF):
        assert {judgement.row.code for judgement in judge(fitting(**changes), rows)}.isdisjoint(
            {"CC300"}
        )


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


def test_verdicts_of_rows_that_are_not_exact_are_reached() -> None:
    assert {row.verdict for row in CLASSIC_ROWS} == set(Verdict)
