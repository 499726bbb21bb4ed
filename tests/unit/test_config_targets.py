"""Configurations of layers: what is written, what is refused, which codes are reported."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.targets.backend import find_target, program_names
from crosscast.targets.capability import Verdict
from crosscast_parity.planning.contestants import of_targets, parse_contestant
from own_parts import own_backends
from recipe_strategies import COMPILED, LAYERS
from recipe_texts import FLOAT16, recipe_of

SCALING = "{{mode: dynamic, {}}}"


def compiled(target: str, **changes: str | None) -> Compiled:
    (compiled,) = compile_recipe(recipe_of(**changes), [target])
    return compiled


def settings(target: str, path: str, **changes: str | None) -> Any:
    return json.loads(compiled(target, **changes).files[path].text)


def refused(target: str, **changes: str | None) -> set[tuple[str, str]]:
    with pytest.raises(DiagnosticError) as caught:
        compiled(target, **changes)
    return {
        (diagnostic.code, diagnostic.path)
        for diagnostic in caught.value.diagnostics
        if diagnostic.severity == "error"
    }


def codes_by_path(target: str, **changes: str | None) -> dict[str, str]:
    """Return code by path of what is not exact."""
    return {
        diagnostic.path: diagnostic.code for diagnostic in compiled(target, **changes).diagnostics
    }


@pytest.mark.parametrize("name", LAYERS)
def test_a_configuration_is_no_program(name: str) -> None:
    assert not find_target(name).runs
    with pytest.raises(DiagnosticError) as caught:
        compile_recipe(recipe_of(), [name], form="step")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CC306"]


def test_programs_are_the_frameworks() -> None:
    own = {backend.name for backend in own_backends()}
    assert {*program_names()} & own == {*COMPILED}


@pytest.mark.parametrize("target", [*LAYERS, "paddle@lark", "paddle@ernie"])
def test_parity_has_nothing_to_run(target: str) -> None:
    recipe = recipe_of()
    with pytest.raises(DiagnosticError) as caught:
        of_targets(["torch", target], recipe, {})
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CC306"]
    assert caught.value.diagnostics[0].hint
    with pytest.raises(DiagnosticError):
        parse_contestant(f"mine={target}", recipe, lambda path: recipe, {})


@pytest.mark.parametrize("target", ["paddle@fleet", "torch@2.1", "tensorflow"])
def test_scripts_of_every_dialect_run(target: str) -> None:
    assert [contestant.target for contestant in of_targets([target], recipe_of(), {})] == [target]


@pytest.mark.parametrize("name", LAYERS)
def test_whoever_owns_the_model_is_told_so(name: str) -> None:
    codes = codes_by_path(name)
    assert (codes["model"], codes["data"], codes["loss"]) == ("CC333", "CC333", "CC333")


@pytest.mark.parametrize("name", LAYERS)
def test_python_that_is_emitted_is_python(name: str) -> None:
    files = compiled(name).files
    for path, file in files.items():
        if path.endswith(".py"):
            ast.parse(file.text)
            assert "crosscast" not in file.text.split('"""')[2]
        if path.endswith(".json"):
            json.loads(file.text)


def test_deepspeed_in_float32() -> None:
    found = settings("deepspeed", "ds_config.json")
    assert found["zero_optimization"] == {"stage": 0}
    assert "fp16" not in found
    assert found["gradient_clipping"] == 0.0
    assert found["optimizer"]["type"] == "AdamW"
    assert found["scheduler"]["type"] == "WarmupDecayLR"


def test_deepspeed_scales_under_zero() -> None:
    scaling = SCALING.format("init_scale: 1024.0, hysteresis: 3, hysteresis_mode: cumulative")
    found = settings("deepspeed", "ds_config.json", precision=FLOAT16, loss_scaling=scaling)
    assert found["zero_optimization"] == {"stage": 1}
    assert found["fp16"] == {
        "enabled": True,
        "loss_scale": 0,
        "initial_scale_power": 10,
        "loss_scale_window": 2000,
        "hysteresis": 3,
        "consecutive_hysteresis": False,
        "min_loss_scale": 1,
    }
    assert found["data_types"] == {"grad_accum_dtype": "fp32"}


def test_deepspeed_hands_groups_over() -> None:
    files = compiled("deepspeed").files
    assert "def parameter_groups(" in files["parameters.py"].text
    plain = compiled("deepspeed", optimizer="{name: adam, learning_rate: 1e-3}").files
    assert set(plain) == {"ds_config.json"}


@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_deepspeed_hands_the_rates_of_groups_over(schedule: str) -> None:
    """DeepSpeed makes the optimizer: nothing else knows of a factor."""
    groups = '[{parameters: ["*embeddings*"], rate_factor: 0.5}]'
    files = compiled(
        "deepspeed",
        optimizer=f"{{name: adamw, learning_rate: 1e-3, groups: {groups}}}",
        schedule=f"{{name: {schedule}, total_steps: 10}}",
    ).files
    text = files["parameters.py"].text
    assert "LEARNING_RATE = 0.001\n" in text
    assert '"weight_decay": decay, "lr": rate})' in text


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"loss_scaling": SCALING.format("init_scale: 1000.0")}, "loss_scaling.init_scale"),
        ({"loss_scaling": SCALING.format("growth_factor: 4.0")}, "loss_scaling.growth_factor"),
        ({"loss_scaling": SCALING.format("max_scale: 65536.0")}, "loss_scaling.max_scale"),
        ({"loss_scaling": SCALING.format("min_scale: 1.5")}, "loss_scaling.min_scale"),
        ({"clipping": "{kind: value, max_value: 1.0}"}, "clipping.kind"),
        ({"optimizer": "{name: lamb, learning_rate: 1e-3}"}, "optimizer.name"),
        ({"schedule": "{name: linear, total_steps: 9, end_lr: 1e-4}"}, "schedule.end_lr"),
        ({"schedule": "{name: inverse_sqrt, total_steps: 9, warmup_steps: 2}"}, "schedule.name"),
        ({"ema": "{decay: 0.9}"}, "ema.decay"),
    ],
)
def test_deepspeed_refuses_what_it_would_train_otherwise(
    changes: dict[str, str], path: str
) -> None:
    paths = {found for _, found in refused("deepspeed", precision=FLOAT16, **changes)}
    assert any(
        path == place or path.startswith(f"{place}.") or place.startswith(path) for place in paths
    )


def test_transformers_says_what_its_loss_scale_is() -> None:
    codes = codes_by_path(
        "transformers",
        precision=FLOAT16,
        loss_scaling=SCALING.format("init_scale: 1024.0, growth_interval: 7"),
    )
    for name in ("init_scale", "growth_interval", "min_scale"):
        assert codes[f"loss_scaling.{name}"] == "CC335"
    assert "loss_scaling.growth_factor" not in codes


def loss_of_transformers(**changes: str) -> tuple[dict[str, Any], str]:
    files = compiled("transformers", **changes).files
    _, _, function = files["training_arguments.py"].text.partition("def compute_loss(")
    return json.loads(files["arguments.json"].text), function


def test_transformers_smooths_labels_where_it_divides_by_their_number() -> None:
    given, function = loss_of_transformers(loss="{label_smoothing: 0.1}")
    assert "label_smoothing_factor" not in given
    assert "label_smoothing=0.1" in function
    given, function = loss_of_transformers(
        loss="{label_smoothing: 0.1}", accumulation="{normalize_by: microbatch}"
    )
    assert given["label_smoothing_factor"] == 0.1
    assert function == ""
    _, function = loss_of_transformers(loss="{class_weights: [0.5, 1, 2]}")
    assert "torch.tensor((0.5, 1.0, 2.0), device=logits.device)" in function


def test_transformers_has_no_function_for_other_losses() -> None:
    changes = {
        "model": "{kind: custom, factory: {torch: 'a:b'}}",
        "data": "{source: npz, train: a, eval: b}",
        "loss": "{kind: mse}",
    }
    assert loss_of_transformers(**changes)[1] == ""
    hows = {j.path: j.row.how for j in compiled("transformers", **changes).judgements}
    assert "compute_loss of training_arguments" not in " ".join(hows.values())


@pytest.mark.parametrize(
    ("target", "counted"), [("ids", "len(batch[TARGET])"), ("labels", 'len(batch["labels"])')]
)
def test_fabric_counts_the_rows_of_the_target(target: str, counted: str) -> None:
    changes = {
        "model": "{kind: custom, factory: {torch: 'a:b'}}",
        "data": "{source: npz, train: a, eval: b}",
    }
    text = compiled("fabric", loss=f"{{target: {target}}}", **changes).files["training.py"].text
    assert f"count = sum({counted} for batch in micro_batches)" in text
    assert ('TARGET = "ids"' in text) == (target == "ids")


def test_transformers_by_version() -> None:
    sgd = "{name: sgd, learning_rate: 0.1, momentum: 0.9}"
    new = settings("transformers", "arguments.json", optimizer=sgd, activation_checkpointing="true")
    assert new["optim_args"] == "momentum=0.9,nesterov=false"
    assert new["activation_checkpointing"] is True
    old = settings("transformers@4.46", "arguments.json", activation_checkpointing="true")
    assert old["gradient_checkpointing"] is True
    assert ("CC339", "optimizer.momentum") in refused("transformers@4.46", optimizer=sgd)


def test_transformers_never_decays_biases() -> None:
    every = "{name: adamw, learning_rate: 1e-3, no_decay: []}"
    assert refused("transformers", optimizer=every) == {("CC344", "optimizer.no_decay")}


def test_a_line_that_ends_above_zero_is_a_polynomial() -> None:
    schedule = "{name: linear, total_steps: 9, end_lr: 1.0e-4}"
    found = settings("transformers", "arguments.json", schedule=schedule)
    assert found["lr_scheduler_type"] == "polynomial"
    assert found["lr_scheduler_kwargs"] == {"lr_end": 1e-4, "power": 1.0}
    assert codes_by_path("transformers", schedule=schedule)["schedule.name"] == "CC367"


def test_accelerate_carries_short_windows() -> None:
    for tail, syncs in (("carry", "False"), ("flush", "True")):
        text = compiled("accelerate", accumulation=f"{{steps: 3, tail: {tail}}}").files
        assert f"sync_with_dataloader={syncs}" in text["training.py"].text


@pytest.mark.parametrize("name", ["accelerate", "lightning"])
def test_short_windows_are_said(name: str) -> None:
    data = "{source: synthetic, train_rows: 4100}"
    assert codes_by_path(name, data=data)["accumulation.tail"] == "CC337"
    even = "{source: synthetic, train_rows: 4096}"
    assert "accumulation.tail" not in codes_by_path(name, data=even)


@pytest.mark.parametrize("name", ["accelerate", "lightning", "fabric", "transformers"])
@pytest.mark.parametrize("scaling", ["{mode: static, scale: 128.0}", "{mode: none}"])
def test_a_scale_that_never_moves_is_refused(name: str, scaling: str) -> None:
    found = refused(name, precision=FLOAT16, loss_scaling=scaling)
    assert ("CC335", "loss_scaling.mode") in found


def test_lightning_moves_its_schedule_on() -> None:
    assert codes_by_path("lightning", precision=FLOAT16)["schedule.tick"] == "CC366"
    attempt = "{name: linear, total_steps: 10, tick: attempt}"
    assert "schedule.tick" not in codes_by_path("lightning", precision=FLOAT16, schedule=attempt)
    assert (
        codes_by_path("accelerate", precision=FLOAT16, schedule=attempt).get("schedule.tick")
        is None
    )


def test_paddlenlp_has_levels() -> None:
    full = "{mode: full, compute_dtype: float16}"
    found = settings("paddlenlp", "arguments.json", precision=full)
    assert (found["fp16_opt_level"], found["amp_master_grad"]) == ("O2", True)
    assert found["scale_loss"] == 65536.0


def test_what_is_exact_is_so_for_a_plain_recipe() -> None:
    built = compiled(
        "accelerate",
        accumulation="{steps: 2, normalize_by: microbatch, tail: flush}",
        clipping="{kind: global_norm, max_norm: 1.0}",
    )
    near = {j.path for j in built.judgements if j.row.verdict is not Verdict.EXACT}
    assert {path.split(".")[0] for path in near} == {"seed", "model", "data", "loss"}
